// Poses by hand: joints set one by one, or all of them by inverse kinematics so that the hand is where it is asked to be.

// The arm that the panels speak of.
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

// The value of a joint that brings a point of a body nearest to a pixel: Gauss and Newton on the screen.
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

// One damped step of the joints toward a pose (rows: 3 for position alone, 6 for all of it), joints at stops left out.
function dampedStep(actor, q, T, rows) {
  const { n, engine, arm } = actor, J = Float64Array.from(engine.jacobian(q)), P = engine.poses(q), h = handOf(actor) - 16;
  // That a radian counts for.
  const length = 0.35 * arm.reach;
  const w = turnBetween(P, T, h), e = [T[3] - P[h + 3], T[7] - P[h + 7], T[11] - P[h + 11], ...w.map((x) => x * length)].slice(0, rows);
  const free = arm.joints.map(() => true), dq = new Float64Array(n);
  for (let tries = 0; tries <= n; tries++) {
    const A = Array.from({ length: rows }, () => new Float64Array(rows)), at = (r, j) => (free[j] ? J[r * n + j] * (r > 2 ? length : 1) : 0);
    for (let r = 0; r < rows; r++)
      for (let s = 0; s < rows; s++) {
        for (let j = 0; j < n; j++) A[r][s] += at(r, j) * at(s, j);
        if (r === s) A[r][s] += 1.5e-3 * arm.reach ** 2;
      }
    const y = solved(A, [...e]);
    let worst = -1;
    for (let j = 0; j < n; j++) {
      dq[j] = 0;
      for (let r = 0; r < rows; r++) dq[j] += at(r, j) * y[r];
      const { lower, upper } = arm.joints[j], next = q[j] + dq[j];
      if (free[j] && ((lower !== null && next < lower - 1e-12) || (upper !== null && next > upper + 1e-12))) worst = j;
    }
    if (worst < 0) break;
    free[worst] = false;
  }
  const largest = Math.max(...dq.map(Math.abs)), share = largest > 0.3 ? 0.3 / largest : 1;
  for (let j = 0; j < n; j++) q[j] += share * dq[j];
  return { distance: Math.hypot(e[0], e[1], e[2]), angle: size3(w) };
}

// Gauss's elimination with pivots; A and b are used up.
function solved(A, b) {
  const m = b.length;
  for (let k = 0; k < m; k++) {
    let best = k;
    for (let i = k + 1; i < m; i++) if (Math.abs(A[i][k]) > Math.abs(A[best][k])) best = i;
    [A[k], A[best]] = [A[best], A[k]];
    [b[k], b[best]] = [b[best], b[k]];
    for (let i = k + 1; i < m; i++) {
      const f = A[i][k] / (A[k][k] || 1e-300);
      for (let j = k; j < m; j++) A[i][j] -= f * A[k][j];
      b[i] -= f * b[k];
    }
  }
  for (let k = m - 1; k >= 0; k--) {
    for (let j = k + 1; j < m; j++) b[k] -= A[k][j] * b[j];
    b[k] /= A[k][k] || 1e-300;
  }
  return b;
}

const within = (joint, x) => (joint.lower === null || x >= joint.lower - 1e-9) && (joint.upper === null || x <= joint.upper + 1e-9);

// The joints for a pose of the hand: the engine's answer where it is near, else as close as damped steps come.
function reachHand(actor, T, rows = actor.n < 6 ? 3 : 6) {
  const q = Float64Array.from(actor.q), { arm, engine } = actor, EXACT = 1e-6;
  let left = { distance: Infinity, angle: Infinity };
  for (let k = 0; k < 30; k++) {
    left = dampedStep(actor, q, T, rows);
    if (left.distance < EXACT * arm.reach && (rows < 6 || left.angle < EXACT)) break;
  }
  if (rows === 6 && left.distance < 0.02 * arm.reach) {
    // From close by: the same branch, exactly.
    const found = engine.reach(q, T);
    const ok = found.distance < EXACT * arm.reach && found.angle < 1e-5 && found.q.every((x, j) => within(arm.joints[j], x) && Math.abs(x - q[j]) < 0.5);
    if (ok) { q.set(found.q); left = found; }
  }
  const missed = left.distance > 2e-3 * arm.reach || (rows === 6 && left.angle > 0.01);
  for (const each of linked(actor)) each.target = { T: Float64Array.from(T), missed, distance: left.distance, angle: rows === 6 ? left.angle : 0 };
  setPose(actor, q);
  return !missed;
}

const handPose = (actor) => Float64Array.from(actor.places.subarray(handOf(actor), handOf(actor) + 16));

// Closed-form solutions for where the hand is, and which of them the arm is in.
function branchesNow(actor) {
  if (!actor.engine.branches) return { list: [], chosen: -1 };
  const list = actor.engine.branches(handPose(actor)).map(({ q, label }) => ({ q: Float64Array.from(q), label }));
  const apart = (q) => Math.max(...q.map((x, j) => Math.abs(actor.arm.joints[j].unit === "rad" ? Math.atan2(Math.sin(x - actor.q[j]), Math.cos(x - actor.q[j])) : x - actor.q[j])));
  let chosen = -1, least = 1e-3;
  list.forEach(({ q }, k) => { if (apart(q) < least) { least = apart(q); chosen = k; } });
  return { list, chosen };
}
