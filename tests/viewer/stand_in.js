// A stand-in for the engine of the studio's page: any tree of revolute and sliding joints, computed the simple way.
// Bodies of its arms carry `before` (pose of the joint in the parent), `inertia` (at the centre of mass) and friction.

// One damped step of the joints toward a pose (rows: 3 for position alone, 6 for all of it), joints at stops left out.
function dampedStep(actor, q, T, rows) {
  const { n, engine, arm } = actor, J = Float64Array.from(engine.jacobian(q)), P = engine.poses(q), h = 16 * arm.bodies.length;
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

function makeEngine(arm) {
  const n = arm.n, bodies = arm.bodies, many = bodies.length, set = { gravity: arm.gravity, payload: 0, friction: 1 };
  const places = new Float64Array(16 * (many + 1)), A = new Float64Array(16), B = new Float64Array(16);
  const tauOut = new Float64Array(n), frictionOut = new Float64Array(n), voltOut = new Float64Array(n), J = new Float64Array(6 * n);

  function moved(body, q) {
    if (body.revolute) return rotationAbout(body.axis, q, B);
    B.set(IDENTITY);
    [3, 7, 11].forEach((o, i) => { B[o] = body.axis[i] * q; });
    return B;
  }
  function poses(q) {
    const T = new Float64Array(16);
    bodies.forEach((body, k) => {
      if (body.parent < 0) product(A, arm.base.pose, body.before); else product(A, places, body.before, 16 * body.parent);
      product(T, A, moved(body, q[body.freedom]));
      places.set(T, 16 * k);
    });
    product(T, places, arm.hand.pose, 16 * arm.hand.body);
    places.set(T, 16 * many);
    return places;
  }

  // Newton and Euler in base axes.
  function newtonEuler(q, qd, qdd, gravity) {
    poses(q);
    const states = [], tau = new Float64Array(n), forces = bodies.map(() => [[0, 0, 0], [0, 0, 0]]);
    bodies.forEach((body, k) => {
      const up = body.parent < 0 ? { w: [0, 0, 0], dw: [0, 0, 0], a: gravity.map((x) => -x), p: origin(arm.base.pose) } : states[body.parent];
      const z = turned(places, body.axis, 16 * k), p = origin(places, 16 * k), r = add3(p, up.p, -1), j = body.freedom;
      let w = up.w, dw = up.dw, a = add3(add3(up.a, cross3(dw, r)), cross3(w, cross3(w, r)));
      if (body.revolute) { dw = add3(add3(dw, z, qdd[j]), cross3(w, z), qd[j]); w = add3(w, z, qd[j]); }
      else a = add3(add3(a, z, qdd[j]), cross3(w, z), 2 * qd[j]);
      states.push({ w, dw, a, p, z });
    });
    for (let k = many - 1; k >= 0; k--) {
      const body = bodies[k], { w, dw, a, p, z } = states[k];
      const parts = [{ mass: body.mass, com: body.com, inertia: body.inertia }];
      if (k === arm.hand.body && set.payload > 0) parts.push({ mass: set.payload, com: origin(arm.hand.pose), inertia: [0, 0, 0] });
      const [f, m] = forces[k];
      for (const { mass, com, inertia } of parts) {
        const c = turned(places, com, 16 * k), ac = add3(add3(a, cross3(dw, c)), cross3(w, cross3(w, c))), F = ac.map((x) => x * mass);
        const R = inverse(places, 16 * k), own = (v) => turned(R, v), I = (v) => own(v).map((x, i) => x * inertia[i]), out = (v) => turned(places, v, 16 * k);
        const N = add3(out(I(dw)), cross3(w, out(I(w)))), M = add3(N, cross3(c, F));
        for (let i = 0; i < 3; i++) { f[i] += F[i]; m[i] += M[i]; }
      }
      tau[body.freedom] += body.revolute ? dot3(m, z) : dot3(f, z);
      if (body.parent >= 0) {
        const [F, M] = forces[body.parent], lever = cross3(add3(p, states[body.parent].p, -1), f);
        for (let i = 0; i < 3; i++) { F[i] += f[i]; M[i] += m[i] + lever[i]; }
      }
    }
    return tau;
  }

  const zero = new Float64Array(n);
  function friction(q, qd) {
    arm.joints.forEach((joint, j) => { frictionOut[j] = joint.friction ? set.friction * (0.4 * joint.viscous * qd[j] + joint.coulomb * Math.tanh(qd[j] / 0.02)) : 0; });
    return frictionOut;
  }
  function accelerationsAt(q, qd, tau) {
    const bias = newtonEuler(q, qd, zero, set.gravity), M = Array.from({ length: n }, () => new Float64Array(n)), unit = new Float64Array(n), f = friction(q, qd);
    for (let j = 0; j < n; j++) {
      unit.fill(0);
      unit[j] = 1;
      newtonEuler(q, zero, unit, [0, 0, 0]).forEach((x, i) => { M[i][j] = x + (i === j ? 1e-3 : 0); });
    }
    return Float64Array.from(solved(M, Array.from(tau, (x, j) => x - bias[j] - f[j])));
  }
  const engine = {
    n, poses, friction,
    configure: (part) => { Object.assign(set, part); },
    torque(q, qd, qdd) { const tau = newtonEuler(q, qd, qdd, set.gravity), f = friction(q, qd); for (let j = 0; j < n; j++) tauOut[j] = tau[j] + f[j]; return tauOut; },
    voltage(tau, qd) { if (!arm.has_motors) return null; for (let j = 0; j < n; j++) voltOut[j] = 0.2 * tau[j] + 3 * qd[j]; return voltOut; },
    energy(q, qd) {
      const tau = newtonEuler(q, zero, qd, [0, 0, 0]), kinetic = 0.5 * tau.reduce((sum, x, j) => sum + x * qd[j], 0);
      poses(q);
      let potential = 0;
      bodies.forEach((body, k) => { potential -= body.mass * dot3(set.gravity, placed(places, body.com, 16 * k)); });
      potential -= set.payload * dot3(set.gravity, origin(places, 16 * many));
      return { kinetic, potential };
    },
    jacobian(q) {
      poses(q);
      const p = origin(places, 16 * many);
      J.fill(0);
      for (let k = arm.hand.body; k >= 0; k = bodies[k].parent) {
        const z = turned(places, bodies[k].axis, 16 * k), v = bodies[k].revolute ? cross3(z, add3(p, origin(places, 16 * k), -1)) : z, j = bodies[k].freedom;
        for (let i = 0; i < 3; i++) { J[i * n + j] += v[i]; if (bodies[k].revolute) J[(i + 3) * n + j] += z[i]; }
      }
      return J;
    },
    reach(q0, T) {
      const q = Float64Array.from(q0), rows = n < 6 ? 3 : 6;
      let left = null;
      for (let k = 0; k < 200; k++) {
        left = dampedStep({ n, engine, arm }, q, T, rows);
        if (left.distance < 1e-10 && (rows < 6 || left.angle < 1e-10)) break;
      }
      return { q, ...left };
    },
    // Two solutions of three joints (turn, shoulder, elbow): the elbow up and down, found from either side.
    branches(T) {
      if (!arm.elbow) return [];
      const found = [];
      for (const [sign, label] of [[1, "elbow up"], [-1, "elbow down"]]) {
        const q = Float64Array.from(arm.elbow.map((x) => x * sign));
        q[0] = Math.atan2(T[7], T[3]);
        for (let k = 0; k < 60; k++) dampedStep({ n, engine, arm: { ...arm, joints: arm.joints.map((j) => ({ ...j, lower: null, upper: null })) } }, q, T, 3);
        const P = engine.poses(q), h = 16 * many, off = Math.hypot(T[3] - P[h + 3], T[7] - P[h + 7], T[11] - P[h + 11]);
        if (off < 1e-6 && q.every((x, j) => within(arm.joints[j], x))) found.push({ q, label });
      }
      return found;
    },
    state: (q, qd) => ({ q: Float64Array.from(q), qd: Float64Array.from(qd) }),
    copy: (state) => engine.state(state.q, state.qd),
    accelerations: (state, tau) => accelerationsAt(state.q, state.qd, tau),
    step(state, tau, h, count) {
      for (let k = 0; k < count; k++) {
        const qdd = accelerationsAt(state.q, state.qd, tau);
        for (let j = 0; j < n; j++) { state.qd[j] += h * qdd[j]; state.q[j] += h * state.qd[j]; }
      }
      return state.q.every(Number.isFinite);
    },
    substeps: (period) => Math.max(1, Math.ceil(period / 0.002)),
    // In step, with a parabola to speed up and one to slow down.
    plan(q0, q1, { velocity, acceleration }) {
      let duration = 0;
      for (let j = 0; j < n; j++) {
        const d = Math.abs(q1[j] - q0[j]), v = Math.min(velocity[j], Math.sqrt(d * acceleration[j]));
        if (!within(arm.joints[j], q1[j])) return { why: `${arm.joints[j].name}: outside of its limits` };
        if (d > 0) duration = Math.max(duration, 2 * d / v);
      }
      const at = (t) => {
        const s = duration > 0 ? clamp(t / duration, 0, 1) : 1, inside = s > 0 && s < 1, p = s < 0.5 ? 2 * s * s : 1 - 2 * (1 - s) ** 2, v = inside ? (s < 0.5 ? 4 * s : 4 * (1 - s)) : 0, a = inside ? (s < 0.5 ? 4 : -4) : 0;
        const part = (scale, from) => Float64Array.from(q0, (x, j) => (from ? x : 0) + scale * (q1[j] - x));
        return { q: part(p, true), qd: part(v / duration, false), qdd: part(a / duration ** 2, false) };
      };
      return { duration, at };
    },
    controller(name, { bandwidth: w, delay, bits, saturate }) {
      let last = new Float64Array(n);
      const seen = (x) => (bits === null ? x : Math.round((x * 2 ** bits) / (2 * Math.PI)) * 2 * Math.PI / 2 ** bits);
      return {
        reset() { last = new Float64Array(n); },
        command(k, t, q, qd, wanted) {
          const asked = Float64Array.from(wanted.qdd, (x, j) => x + w * w * (wanted.q[j] - seen(q[j])) + 2 * w * (wanted.qd[j] - qd[j]));
          const tau = name === "computed_torque" ? Float64Array.from(engine.torque(q, qd, asked)) : asked.map((x, j) => 0.3 * x);
          if (saturate) arm.joints.forEach(({ effort }, j) => { if (effort !== null) tau[j] = clamp(tau[j], -effort, effort); });
          const out = delay ? last : tau;
          last = tau;
          return out;
        },
      };
    },
  };
  return engine;
}

const pythonLine = (run) => `import forearm as fa\nfa.simulate(${run.arm.python}, q=${JSON.stringify(run.q0)})  # ${run.kind}`;
const commandLine = (run) => `forearm simulate ${run.arm.command} --time ${run.end}`;
