// A run: rows of numbers over time, one column per quantity and joint, and the curve panels made from them.

// Longer runs keep every second row.
const MOST_ROWS = 120000;

function makeRun(actor, kinds, about = {}) {
  const { joints } = actor.arm, n = actor.n, run = { actor, about, count: 0, width: 1, every: 1, seen: 0, panels: [], at: {} };
  const sliding = joints.some((j) => j.unit === "m"), turning = joints.some((j) => j.unit === "rad");
  const words = (a, b) => [turning && a, sliding && b].filter(Boolean).join(" or ");
  const all = {
    position: { title: "position", unit: () => words(units.degrees ? "\u00b0" : "rad", "m"), scaled: true, column: "q" },
    velocity: { title: "velocity", unit: () => words(units.degrees ? "\u00b0/s" : "rad/s", "m/s"), scaled: true, column: "qd" },
    torque: { title: words("torque", "force"), unit: () => words("N m", "N"), column: "tau" },
    voltage: { title: "voltage", unit: () => "V", column: "voltage" },
    friction: { title: "friction", unit: () => words("N m", "N"), column: "friction" },
    error: { title: "error", unit: () => words(units.degrees ? "\u00b0" : "rad", "m"), scaled: true, column: "error" },
    wanted: { title: "reference position", unit: () => words(units.degrees ? "\u00b0" : "rad", "m"), scaled: true, column: "wanted", hidden: true },
    energy: { title: "energy", unit: () => "J", names: ["kinetic", "potential", "total"], column: "energy" },
  };
  for (const kind of kinds) {
    const made = { key: kind, joints: !all[kind].names, names: joints.map((j) => j.name), ...all[kind], offset: run.width };
    run.at[kind] = run.width;
    run.width += made.names.length;
    run.panels.push(made);
  }
  run.data = new Float64Array(run.width * 1024);
  run.n = n;
  return run;
}

const KINDS = (actor, more = []) => [
  "position", "velocity", ...(actor.engine.torque ? ["torque"] : []), ...(actor.engine.voltage && actor.arm.has_motors ? ["voltage"] : []),
  ...(actor.engine.friction ? ["friction"] : []), ...(actor.engine.energy ? ["energy"] : []), ...more,
];

const timeAt = (run, k) => run.data[run.width * k];
const endOf = (run) => (run.count ? timeAt(run, run.count - 1) : 0);
const startOf = (run) => (run.count ? timeAt(run, 0) : 0);

// Append the actor's present state as a row.
function addRow(run, t) {
  const { actor, at } = run;
  if (run.seen++ % run.every) return;
  if (run.count === MOST_ROWS) thin(run);
  if ((run.count + 1) * run.width > run.data.length) {
    const more = new Float64Array(run.data.length * 2);
    more.set(run.data);
    run.data = more;
  }
  const o = run.count++ * run.width, d = run.data;
  d[o] = t;
  d.set(actor.q, o + at.position);
  d.set(actor.qd, o + at.velocity);
  if (at.torque) d.set(actor.tau, o + at.torque);
  if (at.voltage && actor.voltage) d.set(actor.voltage, o + at.voltage);
  if (at.friction) d.set(actor.friction, o + at.friction);
  if (at.energy) {
    const { kinetic, potential } = actor.energy;
    d[o + at.energy] = kinetic; d[o + at.energy + 1] = potential; d[o + at.energy + 2] = kinetic + potential;
  }
  if (at.wanted) {
    d.set(actor.wanted, o + at.wanted);
    for (let j = 0; j < run.n; j++) d[o + at.error + j] = actor.wanted[j] - actor.q[j];
  }
}

function thin(run) {
  run.count >>= 1;
  run.every *= 2;
  for (let k = 1; k < run.count; k++) run.data.copyWithin(k * run.width, 2 * k * run.width, (2 * k + 1) * run.width);
}

// The last row whose time is not after t.
function rowAt(run, t) {
  let low = 0, high = run.count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (timeAt(run, middle) <= t) low = middle; else high = middle - 1;
  }
  return low;
}

// Column c at time t, linearly interpolated.
function valueAt(run, c, t, k = rowAt(run, t)) {
  const d = run.data, w = run.width, o = k * w + c;
  if (k + 1 >= run.count) return d[o];
  const span = d[(k + 1) * w] - d[k * w], s = span > 0 ? clamp((t - d[k * w]) / span, 0, 1) : 0;
  return s === 0 ? d[o] : d[o] + s * (d[o + w] - d[o]);
}

// Set the actor to the run's state at time t.
function recall(run, t) {
  const { actor, at, n } = run, k = rowAt(run, t), into = (values, first) => { for (let j = 0; j < n; j++) values[j] = valueAt(run, first + j, t, k); };
  into(actor.q, at.position);
  if (at.velocity) into(actor.qd, at.velocity);
  if (at.torque) into(actor.tau, at.torque);
  if (at.voltage) into(actor.voltage ||= new Float64Array(n), at.voltage);
  if (at.friction) into(actor.friction, at.friction);
  else if (actor.engine.friction) actor.friction.set(actor.engine.friction(actor.q, actor.qd));
  if (at.energy && run.n_energy !== 0)
    actor.energy = { kinetic: valueAt(run, at.energy, t, k), potential: valueAt(run, at.energy + 1, t, k) };
  if (at.wanted) into(actor.wanted ||= new Float64Array(n), at.wanted);
  else actor.wanted = null;
  markStops(actor);
}

// A recorded simulation as a run, in single precision; its panels keep their titles.
const COLUMNS = { position: "q", velocity: "qd", torque: "tau" };
function recordedRun(actor, recording) {
  const known = [["position", /^position/], ["velocity", /^velocity/], ["torque", /^(torque|force)/], ["voltage", /^voltage/], ["error", /^error/], ["energy", /^energy/]];
  const run = { actor, about: { kind: "recording" }, count: recording.frames, width: 1, every: 1, seen: 0, panels: [], at: {}, n: actor.n };
  for (const panel of recording.panels) {
    const [title, unit] = panel.title.split(", "), key = (known.find(([, like]) => like.test(title)) || [title])[0];
    const scaled = ["position", "velocity", "error"].includes(key), angle = (text) => text.replace(/rad/g, units.degrees ? "\u00b0" : "rad");
    run.panels.push({ key, title, unit: () => (scaled ? angle(unit || "") : unit || ""), scaled, joints: panel.joints, names: panel.names, column: COLUMNS[key] || key, offset: run.width });
    run.at[key] = run.width;
    run.width += panel.names.length;
  }
  run.data = new Float64Array(run.width * run.count);
  const span = recording.end - recording.start;
  for (let k = 0; k < run.count; k++) run.data[k * run.width] = run.count > 1 ? recording.start + (span * k) / (run.count - 1) : recording.start;
  recording.panels.forEach((panel, p) => {
    const values = decoded(panel.data, Float32Array), first = run.panels[p].offset;
    panel.names.forEach((_, j) => { for (let k = 0; k < run.count; k++) run.data[k * run.width + first + j] = values[j * run.count + k]; });
  });
  if (run.at.energy && run.panels.find((p) => p.key === "energy").names.length < 2) run.n_energy = 0;
  return run;
}

// All rows as CSV, with the shortest exact decimals.
function csvOf(run) {
  const names = ["t"], short = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  for (const panel of run.panels) for (const name of panel.names) names.push(short(`${panel.column}_${name}`));
  const lines = [names.join(",")];
  for (let k = 0; k < run.count; k++) lines.push(Array.from(run.data.subarray(k * run.width, (k + 1) * run.width), String).join(","));
  return `${lines.join("\n")}\n`;
}
