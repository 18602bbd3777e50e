// The arm's own dynamics: functions that forearm generated for this arm, behind one interface. Kinematics, dynamics,
// plans and laws are generated code; this file adds the sampled loop around them: gains from a bandwidth, encoder
// resolution, saturation and delay, as in `control` in Python.

const REASONS = {
  1: "a number is not finite", 2: "a joint would have to move faster than its limit at the end", 3: "the start or the end is outside the range of a joint",
  4: "a joint would have to reverse outside its range", 5: "no common duration exists for all joints",
};
const FAR = 1e100, LARGEST = 1e30; // what stands for a range, a velocity without end

function makeEngine(arm, code) {
  const n = arm.n, own = arm.open, settings = { gravity: [...arm.gravity], payload: 0, friction: 1 };
  const held = () => (settings.friction > 0 ? arm.state.dry : arm.state.rough); // joints that friction can hold
  const p = Float64Array.from(own.values), k = {}, vector = () => new Float64Array(n), base = arm.base.pose, mounted = isMounted(base);
  const tau = vector(), friction = vector(), volts = vector(), energy = new Float64Array(2), places = new Float64Array(16 * (arm.bodies.length + 1));
  const J = new Float64Array(6 * n), zero = vector(), error = new Float64Array(2), seen = vector(), given = vector(), after = stateOf(vector(), vector());
  const lower = Float64Array.from(arm.joints, (j) => (j.lower === null ? -FAR : j.lower)), upper = Float64Array.from(arm.joints, (j) => (j.upper === null ? FAR : j.upper));

  function configure(changes) {
    Object.assign(settings, changes);
    own.gravity.forEach((place, axis) => { p[place] = settings.gravity[axis]; });
    if (own.payload.length && code.payload) code.payload.call(Float64Array.of(settings.payload)).forEach((value, i) => { p[own.payload[i]] = value; });
    own.friction.forEach((place) => { p[place] = own.values[place] * settings.friction; });
    for (const name of ["torques", "energy", "step"]) if (code[name]) k[name] = code[name].prepare(p, k[name]);
  }
  function stateOf(q, qd) {
    const made = { q: Float64Array.from(q), qd: Float64Array.from(qd) };
    if (arm.state.sticks) {
      made.friction_sign = made.qd.map(Math.sign);
      made.is_free = made.qd.map((v, j) => (held()[j] && v === 0 ? 0 : 1));
    }
    if (arm.state.loads) made.load_guess = new Float64Array(arm.state.loads);
    return made;
  }
  const parts = (state) => Object.values(state);

  // Steps of h; a joint without friction has no direction of friction and never sticks.
  function step(state, torque, h, count) {
    const length = Float64Array.of(h), arrays = parts(state), next = parts(after);
    const free = arm.state.sticks ? [...state.q.keys()].filter((j) => !held()[j]) : [];
    for (let i = 0; i < count; i++) {
      for (const j of free) { state.friction_sign[j] = 0; state.is_free[j] = 1; }
      code.step.call(...arrays, torque, length, k.step, ...next);
      for (let a = 0; a < arrays.length; a++) arrays[a].set(next[a]);
    }
    return state.q.every(Number.isFinite) && state.qd.every(Number.isFinite);
  }

  function plan(q0, q1, { velocity, acceleration }) {
    const fastest = Float64Array.from(velocity, (v) => Math.min(v, LARGEST));
    const made = code.plan.call(q0, zero, q1, zero, acceleration, fastest, lower, upper);
    if (made.status[0] !== 0) return { why: `No motion: ${REASONS[made.status[0]] || "it cannot be planned"}.` };
    const duration = made.duration[0], start = Float64Array.from(q0), end = Float64Array.from(q1), at = new Float64Array(2);
    const state = { q: vector(), qd: vector(), qdd: vector() };
    return {
      duration,
      at(t) {
        at[0] = Math.min(Math.max(t, 0), duration);
        at[1] = at[0] === duration ? 0 : duration - at[0];
        code.motion.call(start, end, made.phases, made.accelerations, at, state.q, state.qd, state.qdd);
        return state;
      },
    };
  }

  // A law between encoders and drives: one period of a sampled loop.
  function controller(name, { bandwidth, period, delay = 0, bits = null, saturate = true }) {
    const gains = gainsOf(arm, name, { bandwidth, period, delay }), call = code[name].call, most = arm.joints.map((j) => (saturate && j.effort !== null ? j.effort : Infinity));
    const steps = bits === null ? null : Float64Array.from(arm.joints, (j) => (j.unit === "rad" ? 2 * Math.PI : 1) / 2 ** bits);
    const sum = vector(), last = { t: 0, error: null, command: null }, command = vector();
    function law(t, q, qd, wanted, ahead) {
      if (name === "computed_torque") return call(q, qd, wanted.q, wanted.qd, wanted.qdd, ahead.qd, gains.kp, gains.kd, command);
      if (name === "feedforward_pd") return call(q, qd, wanted.q, wanted.qd, wanted.qdd, ahead.qd, gains.kp, gains.kd, command);
      if (name === "pd_gravity") return call(q, qd, wanted.q, wanted.qd, gains.kp, gains.kd, command);
      if (last.error) for (let j = 0; j < n; j++) sum[j] += (t - last.t) * last.error[j];
      last.t = t;
      last.error = wanted.q.map((x, j) => x - q[j]);
      return call(q, qd, wanted.q, wanted.qd, gains.kp, gains.kd, gains.ki, sum, command).tau;
    }
    return {
      reset() { sum.fill(0); last.error = last.command = null; },
      command(index, t, q, qd, wanted, ahead) {
        let asked = Float64Array.from(law(t, steps ? code.encoder.call(q, steps, seen) : q, qd, wanted, ahead));
        if (delay) { const now = asked; asked = last.command || now; last.command = now; } // the first command acts twice
        for (let j = 0; j < n; j++) given[j] = Math.min(Math.max(asked[j], -most[j]), most[j]);
        return given;
      },
    };
  }

  const engine = {
    n, settings, configure, plan,
    poses: (q) => code.poses.call(q, places),
    voltage: (torque, qd) => (code.voltage ? code.voltage.call(torque, qd, volts) : null),
    jacobian: (q) => { code.jacobian.call(q, J); return mounted ? mountedRows(base, J, n) : J; },
    reach(q, T) {
      if (!code.reach) return { q: Float64Array.from(q), distance: NaN, angle: NaN };
      const found = vector();
      code.reach.call(q, fromBase(T), found, error);
      return { q: found, distance: error[0], angle: error[1] };
    },
    branches(T) {
      if (!code.branches) return [];
      const rows = code.branches.call(fromBase(T)), made = [];
      for (let i = 0; i < rows.length; i += n) {
        const q = rows.slice(i, i + n);
        if (q.every(Number.isFinite) && !made.some((other) => other.q.every((x, j) => Math.abs(x - q[j]) < 1e-9))) made.push({ q, label: `${made.length + 1}` });
      }
      return made;
    },
    state: stateOf,
    substeps: (period) => substepsOf(arm, period),
  };
  const fromBase = (T) => (mounted ? product(new Float64Array(16), inverse(base), T) : Float64Array.from(T));
  if (code.step) { // an arm that can move by itself
    Object.assign(engine, {
      step, controller,
      torque: (q, qd, qdd) => code.torques.call(q, qd, qdd, k.torques, tau, friction).tau,
      friction: (q, qd) => code.torques.call(q, qd, zero, k.torques, volts, friction).friction,
      energy(q, qd) { code.energy.call(q, qd, k.energy, energy); return { kinetic: energy[0], potential: energy[1] }; },
    });
  }
  configure({});
  return engine;
}

// Critically damped errors; torque laws scale gains by the inertia that each joint moves, or less where the
// sampled loop would be unstable.
function gainsOf(arm, name, { bandwidth: w, period, delay }) {
  const integral = name === "pid_gravity", [kp, kd, ki] = integral ? [3 * w * w, 3 * w, w * w * w] : [w * w, 2 * w, 0];
  const d = name === "computed_torque" ? arm.joints.map(() => 1) : inertiasOf(arm, { bandwidth: w, period, delay });
  const times = (gain, less = 1) => Float64Array.from(d, (x, j) => gain * x * (less === 1 ? 1 : Math.min(1, x / arm.joints[j].inertia)));
  return { kp: times(kp), kd: times(kd), ki: times(ki, 0) };
}
const inertiasOf = (arm, { bandwidth, period, delay }) => {
  const share = (bandwidth * period) / (delay ? arm.longest_delay : 1);
  return (arm.stable.find((entry) => share <= entry.most) || arm.stable[arm.stable.length - 1]).inertias;
};

const substepsOf = (arm, period) => Math.max(1, Math.ceil(period / arm.step - 1e-9));
const isMounted = (pose) => pose.some((x, i) => x !== (i % 5 === 0 ? 1 : 0));

// Rotate the rows of a Jacobian from base axes to those of the frame of the base.
function mountedRows(base, J, n) {
  const made = new Float64Array(6 * n);
  for (let i = 0; i < 6; i++)
    for (let j = 0; j < n; j++)
      for (let m = 0; m < 3; m++) made[i * n + j] += base[4 * (i % 3) + m] * J[(3 * Math.floor(i / 3) + m) * n + j];
  return made;
}
