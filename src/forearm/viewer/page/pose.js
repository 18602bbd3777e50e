// Manual posing: joints set one by one, or all of them by inverse kinematics for a desired hand pose.

// The arm shown in the panels.
let active = 0;
const activeActor = () => actors[active];
// Two controllers of one arm move together; two different arms do not.
const linked = (actor) => (actors.length > 1 && actors.every((a) => a.arm === actor.arm) ? actors : [actor]);
const poseListeners = [];

function setPose(actor, q, announce = true) {
  if (clock.mode !== "pose") toPose();
  for (const each of linked(actor)) {
    const before = Int8Array.from(each.stops);
    each.q.set(q);
    each.touched = true;
    clampJoints(each, each.q);
    holdActor(each);
    placeActor(each);
    if (announce && each === actor) sayStops(each, before);
  }
  for (const listener of poseListeners) listener(actor);
  changed();
}

function sayStops(actor, before) {
  actor.arm.joints.forEach((joint, j) => {
    if (actor.stops[j] && actor.stops[j] !== before[j]) say(`${cut(joint.name)} is at its ${actor.stops[j] < 0 ? "lower" : "upper"} limit.`);
  });
}

function setJoint(actor, j, value) {
  if (!Number.isFinite(value)) return;
  const q = Float64Array.from(actor.q);
  q[j] = value;
  actor.target = null;
  setPose(actor, q);
}

// The joint value that brings a point of a body nearest to a pixel: Gauss-Newton on the screen.
function jointToward(actor, area, body, local, x, y) {
  const { freedom } = actor.arm.bodies[body], joint = actor.arm.joints[freedom], q = Float64Array.from(actor.q), spot = {};
  const missing = (value) => {
    q[freedom] = value;
    project(area, placed(actor.engine.poses(q), local, 16 * body), spot);
    return [spot.x - x, spot.y - y];
  };
  const step = joint.unit === "rad" ? 1e-4 : 1e-4 * actor.arm.reach, most = joint.unit === "rad" ? 0.35 : 0.2 * actor.arm.reach;
  let value = actor.q[freedom], e = missing(value);
  for (let k = 0; k < 12; k++) {
    const f = missing(value + step), dx = (f[0] - e[0]) / step, dy = (f[1] - e[1]) / step, slope = dx * dx + dy * dy;
    const change = clamp(-(dx * e[0] + dy * e[1]) / (slope + 40), -most, most), next = missing(value + change);
    if (Math.hypot(...next) >= Math.hypot(...e)) break;
    value += change;
    e = next;
    if (Math.abs(change) < 1e-6) break;
  }
  return value;
}

// ---- the hand --------------------------------------------------------------------------------------------------------

const within = (joint, x) => (joint.lower === null || x >= joint.lower - 1e-9) && (joint.upper === null || x <= joint.upper + 1e-9);

const EXACT = 1e-6;
// Configurations spread over the joints' ranges, always the same.
const spreadPosture = (actor, k) => Float64Array.from(actor.arm.joints, ({ lower, upper }, j) => {
  const low = Math.max(lower ?? -Math.PI, -Math.PI), high = Math.min(upper ?? Math.PI, Math.PI), share = (0.5 + k * 0.618033988749895 ** (j + 1)) % 1;
  return low + share * (high - low);
});
const STARTS = 24;
// Joints for a hand pose: the result of the engine's iteration from here and, if that fails and the pose was
// typed in, from other configurations. Unreachable poses are approached as closely as possible.
function reachHand(actor, T, typed = false) {
  const { arm, engine } = actor, turns = actor.n >= 6, off = (found) => found.distance / arm.reach + (turns ? found.angle : 0);
  let best = engine.reach(actor.q, T);
  for (let k = 0; typed && k < STARTS && !(off(best) < EXACT); k++) {
    const other = engine.reach(k ? spreadPosture(actor, k) : actor.stored.home, T);
    if (off(other) < EXACT) best = other;
  }
  if (!best.q.every(Number.isFinite)) return false;
  const missed = !(best.distance <= 2e-3 * arm.reach && (!turns || best.angle <= 0.01));
  for (const each of linked(actor)) each.target = { T: Float64Array.from(T), missed, distance: best.distance, angle: turns ? best.angle : 0 };
  setPose(actor, best.q);
  return !missed;
}

const handPose = (actor) => Float64Array.from(actor.places.subarray(handOf(actor), handOf(actor) + 16));

// Closed-form solutions for the present hand pose, and the one the arm is in.
function branchesNow(actor) {
  if (!actor.engine.branches) return { list: [], chosen: -1 };
  const list = actor.engine.branches(handPose(actor)).map(({ q, label }) => ({ q: Float64Array.from(q), label }));
  const apart = (q) => Math.max(...q.map((x, j) => Math.abs(actor.arm.joints[j].unit === "rad" ? Math.atan2(Math.sin(x - actor.q[j]), Math.cos(x - actor.q[j])) : x - actor.q[j])));
  let chosen = -1, least = 1e-3;
  list.forEach(({ q }, k) => { if (apart(q) < least) { least = apart(q); chosen = k; } });
  return { list, chosen };
}
