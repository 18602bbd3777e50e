// A run as code with the same results: Python, and shell commands.

const listed = (values) => Array.from(values, String).join(", ");
const bare = (values) => Array.from(values, String).join(",");
const LAW_CLASSES = { computed_torque: "ComputedTorque", feedforward_pd: "FeedForwardPD", pd_gravity: "PD", pid_gravity: "PID" };
const NAMES_OF_LAWS = { computed_torque: "computed torque", feedforward_pd: "feed-forward + PD", pd_gravity: "PD + gravity", pid_gravity: "PID + gravity" };

const isOther = (about, arm) => about.gravity.some((x, i) => x !== arm.gravity[i]);
const limitsOf = (arm, shares) => ({
  velocity: arm.joints.map((j) => (j.velocity === null ? null : j.velocity * shares.velocity)),
  acceleration: arm.joints.map((j) => j.acceleration * shares.acceleration),
});

// Changes of the arm by the sliders.
function changedArm(about, arm) {
  let text = "";
  if (about.payload > 0) text += `.with_payload(${about.payload})`;
  if (about.friction !== 1 && arm.open.friction.length) text += `.scale_friction(${about.friction})`;
  if (isOther(about, arm)) text += `.replace(gravity=(${listed(about.gravity)}))`;
  return text;
}
function changedByOptions(about, arm) {
  let text = about.payload > 0 ? ` --payload ${about.payload}` : "";
  if (about.friction !== 1 && arm.open.friction.length) text += ` --friction ${about.friction}`;
  if (isOther(about, arm)) text += ` --gravity=${bare(about.gravity)}`;
  return text;
}

const stepOf = ({ period, arm }) => period / substepsOf(arm, period);
const motionInPython = (about, arm) => {
  const { velocity, acceleration } = limitsOf(arm, about.shares), range = (name, none) => arm.joints.map((j) => (j[name] === null ? none : j[name]));
  return [
    `limits = fa.trajectories.MotionLimits([${listed(acceleration)}], velocity=[${velocity.map((v) => (v === null ? "float('inf')" : v)).join(", ")}],`,
    `    lower=[${listed(range("lower", "float('-inf')"))}], upper=[${listed(range("upper", "float('inf')"))}])`,
    `rest = [0.0] * ${arm.n}`,
    `motion = fa.trajectories.bang_bang([${listed(about.q0)}], rest, [${listed(about.q1)}], rest, limits)`,
  ];
};
const planCommand = (about, arm) => {
  const { velocity, acceleration } = limitsOf(arm, about.shares), limited = velocity.every((v) => v !== null) ? ` --velocity ${bare(velocity)}` : "";
  return `forearm plan ${arm.command} --q=${bare(about.q0)} --to=${bare(about.q1)} --acceleration ${bare(acceleration)}${limited}`;
};

const MADE = ["fall", "plan", "track"];
// What the code omits.
function leftOut(about) {
  const lines = [];
  if (about.pushed) lines.push("# The run was also pushed by hand; these lines do not include that.");
  if (about.changed) lines.push("# Payload, friction or gravity changed during the run; these lines do not include that.");
  if (about.kind === "track") lines.push("# The page simulates a little longer than the motion lasts.");
  return lines;
}

function pythonLine(about) {
  if (!MADE.includes(about.kind)) return "";
  const { arm } = about, lines = ["import forearm as fa", `arm = ${arm.python}`], changes = changedArm(about, arm);
  if (about.kind === "fall") {
    lines.push(`run = fa.simulate(arm${changes}, [${listed(about.q0)}], [${listed(about.qd0)}], ${about.end}, method="rk4", step=${stepOf(about)})`);
  } else if (about.kind === "plan") {
    lines.push(...motionInPython(about, arm), `tau = fa.compile(arm${changes}).inverse_dynamics(*motion.at([k / 100 * motion.duration for k in range(101)]))`);
  } else if (about.kind === "track") {
    const c = about.controller, more = [];
    if (c.bits !== null && c.bits !== undefined) more.push(`sensors=fa.control.Sensors(encoder=fa.control.Encoder(bits=${c.bits}))`);
    if (c.delay) more.push(`actuators=fa.control.Actuators(delay=${c.delay})`);
    lines.push(...motionInPython(about, arm), `plant = arm${changes}`);
    if (!c.saturate) lines.push("for joint in plant.joints:", "    plant = plant.with_joint(joint.name, max_effort=None)");
    lines.push(
      `run = fa.control.run(arm, fa.control.${LAW_CLASSES[c.name]}(arm, bandwidth=${c.bandwidth}${c.name === "computed_torque" ? "" : `, inertias=[${listed(inertiasOf(arm, c))}]`}), motion, period=${c.period}, plant=plant,`,
      `    step=${stepOf(about)}${more.map((x) => `, ${x}`).join("")})`,
    );
  }
  return [...lines, ...leftOut(about)].join("\n");
}

function commandLine(about) {
  if (!MADE.includes(about.kind)) return "";
  const { arm } = about, changes = changedByOptions(about, arm), lines = [];
  if (about.kind === "fall")
    lines.push(`forearm simulate ${arm.command} --q=${bare(about.q0)} --qd=${bare(about.qd0)} --duration ${about.end} --method rk4 --step ${stepOf(about)}${changes}`);
  else if (about.kind === "plan") {
    lines.push(planCommand(about, arm));
    if (changes) lines.push("# Torques of the plan are those of the arm's file, without the payload, friction or gravity of the page.");
  } else {
    const c = about.controller, more = [c.name === "computed_torque" ? "" : ` --inertias ${bare(inertiasOf(arm, c))}`];
    if (c.bits !== null && c.bits !== undefined) more.push(` --encoder-bits ${c.bits}`);
    if (c.delay) more.push(` --delay ${c.delay}`);
    if (!c.saturate) more.push(" --no-torque-limits");
    lines.push(
      `${planCommand(about, arm)} -o motion.json`,
      `forearm control run ${arm.command} motion.json --controller '${NAMES_OF_LAWS[c.name]}' --bandwidth ${c.bandwidth} --period ${c.period} --step ${stepOf(about)}${more.join("")}${changes}`,
    );
  }
  return [...lines, ...leftOut(about)].join("\n");
}
