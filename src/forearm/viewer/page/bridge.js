// window.forearmStudio: interface for tests, and for a program that sends states and plans.

// A state from outside moves an arm and is added to the curves.
function receiveState({ q, qd, tau, t, arm = 0 }) {
  const actor = actors[arm];
  if (!actor || !q || q.length !== actor.n || !Array.from(q).every(Number.isFinite)) return false;
  if (clock.kind !== "bridge") {
    toPose();
    for (const each of actors) each.run = each.sim = null;
    Object.assign(clock, { kind: "bridge", live: false, playing: false, from: performance.now() });
  }
  const now = Number.isFinite(t) ? t : (performance.now() - clock.from) / 1000;
  actor.run ||= makeRun(actor, KINDS(actor), { kind: "bridge", q0: Array.from(q), qd0: new Array(actor.n).fill(0), ...worldNow(actor) });
  // The clock was reset.
  if (actor.run.count && now < endOf(actor.run)) actor.run = makeRun(actor, KINDS(actor), actor.run.about);
  actor.q.set(q);
  if (qd && qd.length === actor.n) actor.qd.set(qd); else actor.qd.fill(0);
  if (tau && tau.length === actor.n) actor.tau.set(tau);
  else if (actor.engine.torque) actor.tau.set(actor.engine.torque(actor.q, actor.qd, new Float64Array(actor.n)));
  takeLoads(actor);
  placeActor(actor);
  markStops(actor);
  addRow(actor.run, now);
  clock.mode = "run";
  clock.t = Math.max(now, runsStart());
  changed();
  return true;
}

// A motion from outside: times and rows of joints; velocities are finite differences.
function receivePlan({ t, q, arm = 0 }) {
  const actor = actors[arm];
  if (!actor || !Array.isArray(t) || !Array.isArray(q) || t.length !== q.length || t.length < 2 || q.some((row) => row.length !== actor.n)) return false;
  toPose();
  for (const each of actors) each.run = each.sim = null;
  actor.run = makeRun(actor, KINDS(actor), { kind: "received", q0: [...q[0]], qd0: new Array(actor.n).fill(0), ...worldNow(actor) });
  const slope = (k, j) => { const a = Math.max(k - 1, 0), b = Math.min(k + 1, t.length - 1); return t[b] > t[a] ? (q[b][j] - q[a][j]) / (t[b] - t[a]) : 0; };
  t.forEach((now, k) => {
    actor.q.set(q[k]);
    for (let j = 0; j < actor.n; j++) actor.qd[j] = slope(k, j);
    if (actor.engine.torque) actor.tau.set(actor.engine.torque(actor.q, actor.qd, new Float64Array(actor.n)));
    takeLoads(actor);
    addRow(actor.run, now);
  });
  Object.assign(clock, { kind: "received", live: false });
  seek(t[0]);
  resume();
  return true;
}

function receive(message) {
  if (!message || typeof message !== "object") return false;
  if (message.type === "state") return receiveState(message);
  if (message.type === "plan") return receivePlan(message);
  return false;
}

// Columns of an arm's run by name, t first.
function runArrays(k = 0) {
  const { run } = actors[k] || {};
  if (!run) return null;
  const made = { about: run.about, t: Float64Array.from({ length: run.count }, (_, r) => timeAt(run, r)) };
  for (const panel of run.panels) {
    made[panel.column] = panel.names.map((_, j) => Float64Array.from({ length: run.count }, (_, r) => run.data[r * run.width + panel.offset + j]));
  }
  return made;
}

const api = {
  setJoints(q, arm = 0) { setPose(actors[arm], Float64Array.from(q)); return api.getJoints(arm); },
  getJoints: (arm = 0) => Array.from(actors[arm].q),
  getHand: (arm = 0) => Array.from(handPose(actors[arm])),
  reach: (T, arm = 0) => { toPose(); return reachHand(actors[arm], Float64Array.from(T), true); },
  setWorld(part) {
    setWorld(part);
    if (part.payload !== undefined) worldFields.payload.set(part.payload);
    if (part.friction !== undefined) worldFields.friction.set(part.friction);
    if (part.gravity) for (const [key, value] of Object.entries(sphere(part.gravity))) worldFields[key].set(value);
  },
  letGo, hold, pause, play: resume, step: stepRow, seek, finish, compare,
  plan: (q1, q0 = null, options = shares) => playPlan((actor) => [q0 || Float64Array.from(actor.q), q1], { ...shares, ...options }),
  track: (q1, settings = {}, q0 = null, options = shares) => {
    [].concat(settings).forEach((own, k) => lawFields[k] && lawFields[k].write(own));
    return track((actor) => [q0 || Float64Array.from(actor.q), q1], { ...shares, ...options }, lawFields.map((f) => f.read()));
  },
  show: setShow, look: lookAt, fit: fitView, tab: openTab, receive, run: runArrays, csv: (k = 0) => csvOf(actors[k].run),
  setSpeed(factor) { clock.speed = factor; },
  // Position of a body's origin (or the hand) on the page, in window pixels.
  pixelOf(body, arm = 0) {
    aimCamera();
    const area = stage.areas[arm], box = view.getBoundingClientRect();
    clipMatrix(area.clip, area.width, area.height);
    const actor = actors[arm], p = project(area, origin(actor.places, body === "hand" ? handOf(actor) : placeOf(body)));
    return { x: box.left + p.x, y: box.top + p.y };
  },
  bodyAt(x, y) { const box = view.getBoundingClientRect(), hit = pickAt(x - box.left, y - box.top); return hit && hit.item ? hit.item.hand || hit.body : null; },
  state: () => ({ mode: clock.mode, kind: clock.kind, t: clock.t, playing: clock.playing, live: clock.live, end: hasRun() ? runsEnd() : 0, renderer: stage.renderer && stage.renderer.kind, arms: actors.length }),
  frames: () => ({ perSecond: framesPerSecond(), drawn: stage.drawn, quality: pace.level }),
  engine: (arm = 0) => actors[arm].engine,
};
