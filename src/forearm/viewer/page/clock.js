// Time: simulation, playback and inspection. In mode "pose" the user sets the joints; in mode
// "run" they follow a run at time t. A run is live while it can continue beyond its end.

const clock = { mode: "pose", t: 0, playing: false, live: false, speed: 1, repeat: false, kind: null, spent: 0 };
const actors = [], scenes = [];
// s, between rows of a fall.
const FALL_PERIOD = 1 / 250;
// ms of computation per frame; slower arms run in slow motion.
const BUDGET = 14;

const runsStart = () => Math.min(...actors.filter((a) => a.run && a.run.count).map((a) => startOf(a.run)), Infinity);
const runsEnd = () => Math.max(...actors.filter((a) => a.run && a.run.count).map((a) => endOf(a.run)), -Infinity);
const hasRun = () => Number.isFinite(runsEnd());

// Update everything to time t of the runs.
function seek(t) {
  if (!hasRun()) return;
  clock.mode = "run";
  clock.t = clamp(t, runsStart(), runsEnd());
  for (const actor of actors) if (actor.run && actor.run.count) { recall(actor.run, clock.t); placeActor(actor); }
  changed();
}

// From runs back to a pose that can be changed by hand.
function toPose() {
  clock.mode = "pose";
  clock.playing = false;
  for (const actor of actors) { actor.wanted = null; actor.pull = null; holdActor(actor); placeActor(actor); }
  changed();
}

// New runs for all actors; `about(actor)` describes them, `kinds` lists additional columns.
function beginRuns(kind, more, about) {
  actors.forEach((actor) => {
    actor.run = makeRun(actor, KINDS(actor, more), { kind, actor: actor.index, q0: Array.from(actor.q), qd0: Array.from(actor.qd), ...worldNow(actor), pushed: false, ...about(actor) });
    actor.target = null;
  });
  Object.assign(clock, { mode: "run", kind, t: 0, live: false });
}
const worldNow = (actor) => ({ gravity: [...gravityOf(actor)], payload: world.payload, friction: world.friction });

// ---- let go --------------------------------------------------------------------------------------------------------

function letGo() {
  if (!actors.every((actor) => actor.engine.step)) { say("This arm cannot be simulated here.", true); return; }
  if (clock.kind === "fall" && liveAtEnd()) { resume(); return; }
  const moving = clock.mode === "run";
  beginRuns("fall", [], () => ({}));
  for (const actor of actors) {
    if (!moving) actor.qd.fill(0);
    actor.wanted = null;
    actor.tau.fill(0);
    actor.sim = { state: actor.engine.state(actor.q, actor.qd), period: FALL_PERIOD, k: 0, end: Infinity, command: null };
    actor.sim.count = actor.engine.substeps(FALL_PERIOD);
    actor.run.about.period = FALL_PERIOD;
    takeLoads(actor);
    addRow(actor.run, 0);
  }
  clock.live = true;
  resume();
  say("The arm falls.");
}

// The brakes engage: joints stay where they are.
function hold() {
  if (clock.mode === "pose") return;
  toPose();
  say("The arm is held.");
}

// ---- motions and controllers ------------------------------------------------------------------------------------------

const planOptions = (actor, shares) => ({
  velocity: Float64Array.from(actor.arm.joints, (j) => (j.velocity === null || j.velocity === undefined ? Infinity : j.velocity * shares.velocity)),
  acceleration: Float64Array.from(actor.arm.joints, (j) => j.acceleration * shares.acceleration),
});

// Plans from q0 to q1 for each actor; errors are announced. Returns the plans, or null.
function plansFor(ends, shares) {
  const plans = [];
  for (const actor of actors) {
    const [q0, q1] = ends(actor);
    if (!q1) { say("Store a pose first: move the arm, then press Set A or Set B.", true); return null; }
    const out = actor.arm.joints.findIndex((joint, j) => !within(joint, q0[j]) || !within(joint, q1[j]));
    if (out >= 0) { say(`No motion: ${actor.arm.joints[out].name} is beyond its limits; bring it back first.`, true); return null; }
    const plan = actor.engine.plan(Float64Array.from(q0), Float64Array.from(q1), planOptions(actor, shares));
    if (plan.why) { say(plan.why, true); return null; }
    if (!(plan.duration > 0)) { say("The arm is already there.", true); return null; }
    plans.push(plan);
  }
  return plans;
}

const MOTION_ROWS = 1200;
// The complete planned motion, then played.
function playPlan(ends, shares = { velocity: 1, acceleration: 1 }) {
  const plans = plansFor(ends, shares);
  if (!plans) return false;
  beginRuns("plan", [], (actor) => { const [q0, q1] = ends(actor); return { q0: Array.from(q0), q1: Array.from(q1), shares, duration: plans[actors.indexOf(actor)].duration }; });
  actors.forEach((actor, i) => {
    const plan = plans[i], rows = clamp(Math.ceil(plan.duration * 250), 50, MOTION_ROWS);
    for (let k = 0; k <= rows; k++) {
      const t = (plan.duration * k) / rows, { q, qd, qdd } = plan.at(t);
      actor.q.set(q);
      actor.qd.set(qd);
      if (actor.engine.torque) actor.tau.set(actor.engine.torque(actor.q, actor.qd, qdd));
      takeLoads(actor);
      addRow(actor.run, t);
    }
  });
  seek(0);
  resume();
  say(`Motion of ${short(runsEnd())} s.`);
  return true;
}

// A controller tracks the plan; the plant is simulated as time advances.
function track(ends, shares, settings) {
  const plans = plansFor(ends, shares);
  if (!plans) return false;
  beginRuns("track", ["wanted", "error"], (actor) => { const [q0, q1] = ends(actor), i = actors.indexOf(actor); return { q0: Array.from(q0), q1: Array.from(q1), shares, duration: plans[i].duration, controller: { ...settings[i] } }; });
  actors.forEach((actor, i) => {
    const plan = plans[i], own = settings[i], { period } = own;
    const controller = actor.engine.controller(own.name, own);
    controller.reset();
    actor.q.set(ends(actor)[0]);
    actor.qd.fill(0);
    actor.wanted = Float64Array.from(actor.q);
    const rest = new Float64Array(actor.n), copy = (at) => ({ q: Float64Array.from(at.q), qd: Float64Array.from(at.qd), qdd: Float64Array.from(at.qdd) });
    // After its end the reference is at rest.
    const asked = (t, now) => (now > plan.duration ? { q: Float64Array.from(ends(actor)[1]), qd: rest, qdd: rest } : copy(plan.at(Math.min(t, plan.duration))));
    actor.sim = {
      state: actor.engine.state(actor.q, actor.qd), period, k: 0, count: actor.engine.substeps(period), end: plan.duration + Math.max(0.3, 0.15 * plan.duration),
      command: (k, t, q, qd) => { const wanted = asked(t, t); actor.wanted.set(wanted.q); return controller.command(k, t, q, qd, wanted, asked(t + period, t)); },
    };
    actor.run.about.period = period;
    actor.run.about.end = actor.sim.end;
  });
  clock.live = true;
  for (const actor of actors) simulate(actor, actor.sim.period / 2);
  resume();
  say("The controller tracks the motion.");
  return true;
}

// Tracked runs go on from their end for at least this many seconds, with the reference at rest.
function trackOn(seconds) {
  for (const { sim, run } of actors) run.about.end = sim.end = Math.max(sim.end, sim.k * sim.period + seconds);
  if (!liveAtEnd()) seek(runsEnd());
  clock.live = true;
}

const isUnderWay = ({ sim }) => Boolean(sim) && sim.k * sim.period < sim.end;
// Advance one actor to time t, one period at a time. The row at the start of a period has the command of that period.
function simulate(actor, t, until = Infinity) {
  const { sim, run, engine } = actor, tau = (sim.tau ||= new Float64Array(actor.n));
  while (isUnderWay(actor) && sim.k * sim.period < t && performance.now() < until) {
    const now = sim.k * sim.period;
    actor.q.set(sim.state.q);
    actor.qd.set(sim.state.qd);
    if (sim.command) tau.set(sim.command(sim.k, now, actor.q, actor.qd)); else tau.fill(0);
    if (sim.pull) { actor.places.set(engine.poses(actor.q), 16); sim.pull(actor, tau); run.about.pushed = true; }
    if (sim.k || sim.command) {
      actor.tau.set(tau);
      takeLoads(actor);
      if (sim.k || !run.count) addRow(run, now);
    }
    sim.k++;
    if (engine.step(sim.state, tau, sim.period / sim.count, sim.count) === false || !sim.state.q.every(Number.isFinite)) {
      clock.live = false;
      run.about.diverged = now;
      say(`Diverged at t = ${short(now)} s${sim.command ? "; reduce the bandwidth or the sampling period" : ""}.`, true);
      return;
    }
  }
}

// ---- advancing -------------------------------------------------------------------------------------------------------

function resume() {
  if (!hasRun()) return;
  if (!clock.live && clock.t >= runsEnd()) clock.t = runsStart();
  clock.mode = "run";
  clock.playing = true;
  changed();
}
function pause() {
  if (!clock.playing) return;
  clock.playing = false;
  changed();
}
// Rows of a live run are computed up to a period ahead, so that states between them can be shown.
const ahead = () => 1.01 * Math.max(...actors.map((a) => (a.sim ? a.sim.period : 0)));
const liveAtEnd = () => clock.mode === "run" && clock.live && clock.t >= runsEnd() - 2 * ahead();

function simulateTo(t, budget = BUDGET) {
  const until = performance.now() + budget;
  for (const actor of actors) if (actor.sim) simulate(actor, t, until);
  if (!actors.some(isUnderWay)) clock.live = false;
}

// Advance by this many seconds of real time; true while there is more to show.
function advanceClock(seconds) {
  if (!clock.playing) return false;
  let t = clock.t + Math.min(seconds, 0.1) * clock.speed;
  if (clock.live && t > runsEnd()) simulateTo(t + ahead());
  const end = Math.min(...actors.filter((a) => a.run && a.run.count).map((a) => (clock.live && isUnderWay(a) ? endOf(a.run) : runsEnd())));
  if (t >= end && !clock.live) {
    if (clock.repeat && end > runsStart()) t = runsStart();
    else { t = end; clock.playing = false; }
  }
  seek(Math.min(t, end));
  return clock.playing;
}

// One row forward or back; a live run computes another one.
function stepRow(way) {
  pause();
  const run = actors[0].run;
  if (!run) return;
  if (clock.mode !== "run") { seek(way > 0 ? runsStart() : runsEnd()); return; }
  const row = rowAt(run, clock.t + 1e-12);
  if (way > 0 && row >= run.count - 1 && clock.live) simulateTo(clock.t + 2.5 * actors[0].sim.period);
  seek(timeAt(run, clamp(row + way, 0, run.count - 1)));
}

// Run a live run to its end, or for so many seconds, at once.
function finish(seconds = Infinity) {
  if (!clock.live) return;
  const end = Math.min(Math.max(...actors.map((a) => a.sim.end)), clock.t + (Number.isFinite(seconds) ? seconds : 10));
  simulateTo(end + ahead(), 60000);
  pause();
  seek(end);
}
