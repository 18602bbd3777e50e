// An arm on the page: its engine, its base pose, and its joint axes.

// `own`: each arm falls according to its own file.
const world = { gravity: [0, 0, -9.81], payload: 0, friction: 1, own: true };
const gravityOf = (actor) => (world.own ? actor.arm.gravity : world.gravity);
const configureActor = (actor) => actor.engine.configure({ gravity: [...gravityOf(actor)], payload: world.payload, friction: world.friction });

// Poses of an arm's frames in one array: base, bodies, hand; body k starts at 16 (k + 1).
const placeOf = (body) => 16 * (body + 1);

function makeActor(arm, index) {
  const engine = makeEngine(arm, typeof engineCode === "undefined" ? undefined : engineCode[index]);
  const n = arm.n, bodies = arm.bodies.length;
  const actor = {
    arm, index, engine, n,
    q: Float64Array.from(arm.home), qd: new Float64Array(n), tau: new Float64Array(n),
    voltage: null, friction: new Float64Array(n), energy: { kinetic: 0, potential: 0 },
    // Joints of the ghost, if any.
    wanted: null,
    places: new Float64Array(16 * (bodies + 2)), ghosts: new Float64Array(16 * (bodies + 2)),
    stored: { home: Float64Array.from(arm.home), A: Float64Array.from(arm.home), B: null },
    // -1 or 1 if a joint is at its stop.
    stops: new Int8Array(n),
    run: null, settings: null, target: null, pull: null,
  };
  actor.places.set(arm.base.pose);
  actor.ghosts.set(arm.base.pose);
  configureActor(actor);
  actor.axes = findAxes(actor);
  actor.places.set(engine.poses(actor.q), 16);
  return actor;
}

// Axis of each body in its own frame, from the change of its pose relative to its parent with its joint.
function findAxes(actor) {
  const { arm, engine } = actor, STEP = 0.5, A = new Float64Array(16), B = new Float64Array(16), M = new Float64Array(16);
  const first = Float64Array.from(engine.poses(actor.q)), base = Float64Array.from(arm.base.pose), q = Float64Array.from(actor.q);
  return arm.bodies.map((body, k) => {
    if (body.freedom < 0) return { point: [0, 0, 0], axis: body.axis, ratio: 0, revolute: body.revolute };
    q[body.freedom] += STEP;
    const moved = engine.poses(q), parent = (all) => (body.parent < 0 ? inverse(base) : inverse(all, 16 * body.parent));
    product(A, parent(first), first, 0, 16 * k);
    product(B, parent(moved), moved, 0, 16 * k);
    q[body.freedom] = actor.q[body.freedom];
    product(M, inverse(A), B);
    const axis = unit3(body.axis), t = origin(M);
    if (!body.revolute) return { point: [0, 0, 0], axis, ratio: dot3(t, axis) / STEP, revolute: false };
    const turn = dot3(turnBetween(IDENTITY, M), axis), flat = add3(t, axis, -dot3(t, axis));
    const side = cross3(axis, flat), point = Math.abs(turn) < 1e-9 ? [0, 0, 0] : flat.map((x, i) => 0.5 * (x + side[i] / Math.tan(turn / 2)));
    return { point: size3(point) < 1e-7 ? [0, 0, 0] : point, axis, ratio: turn / STEP, revolute: true };
  });
}

// The frames at the present joints; `q` of the ghost likewise.
function placeActor(actor) {
  actor.places.set(actor.engine.poses(actor.q), 16);
  if (actor.wanted) actor.ghosts.set(actor.engine.poses(actor.wanted), 16);
}

// Clamp joints to their limits and mark those that were stopped.
function clampJoints(actor, q) {
  actor.arm.joints.forEach((joint, j) => {
    actor.stops[j] = 0;
    if (joint.lower !== null && q[j] <= joint.lower) { q[j] = joint.lower; actor.stops[j] = -1; }
    else if (joint.upper !== null && q[j] >= joint.upper) { q[j] = joint.upper; actor.stops[j] = 1; }
  });
  return q;
}

// Mark stops of joints at their present positions, including exceeded ones.
function markStops(actor) {
  actor.arm.joints.forEach((joint, j) => {
    actor.stops[j] = joint.lower !== null && actor.q[j] <= joint.lower ? -1 : joint.upper !== null && actor.q[j] >= joint.upper ? 1 : 0;
  });
}

// Drives at rest: they hold the arm.
function holdActor(actor) {
  const { engine } = actor;
  actor.qd.fill(0);
  if (!engine.torque) return;
  actor.tau.set(engine.torque(actor.q, actor.qd, actor.qd));
  takeLoads(actor);
}

// Friction, voltage and energy for q, qd and tau.
function takeLoads(actor) {
  const { engine } = actor;
  if (engine.friction) actor.friction.set(engine.friction(actor.q, actor.qd));
  const volts = engine.voltage ? engine.voltage(actor.tau, actor.qd) : null;
  if (volts) (actor.voltage ||= new Float64Array(actor.n)).set(volts);
  if (engine.energy) actor.energy = engine.energy(actor.q, actor.qd);
}

const handOf = (actor) => 16 * (actor.arm.bodies.length + 1);

// Whether a joint moves a body: it belongs to the body or one of its parents.
function lineage(arm, body) {
  const found = [];
  for (let k = body; k >= 0; k = arm.bodies[k].parent) found.push(k);
  return found;
}

// Joint torques of a force at a point of a body: J^T F, from the present axes.
function pushTorques(actor, body, p, F, tau) {
  for (const k of lineage(actor.arm, body)) {
    const { point, axis, ratio, revolute } = actor.axes[k], o = placeOf(k), a = turned(actor.places, axis, o);
    const lever = revolute ? dot3(cross3(a, add3(p, placed(actor.places, point, o), -1)), F) : dot3(a, F);
    if (ratio) tau[actor.arm.bodies[k].freedom] += ratio * lever;
  }
  return tau;
}

// The velocity of a point of a body.
function pointVelocity(actor, body, p) {
  const v = [0, 0, 0];
  for (const k of lineage(actor.arm, body)) {
    const { point, axis, ratio, revolute } = actor.axes[k], o = placeOf(k), a = turned(actor.places, axis, o);
    if (!ratio) continue;
    const way = revolute ? cross3(a, add3(p, placed(actor.places, point, o), -1)) : a, speed = ratio * actor.qd[actor.arm.bodies[k].freedom];
    for (let i = 0; i < 3; i++) v[i] += speed * way[i];
  }
  return v;
}
