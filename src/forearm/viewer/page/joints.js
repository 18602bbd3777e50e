// The panel Pose: a slider, a number and meters for each joint; the hand and its branches.

const joints = { rows: [], peaks: null, actor: null };

function makeJoints() {
  const actor = activeActor(), { arm } = actor;
  joints.actor = actor;
  joints.peaks = { torque: new Float64Array(arm.n), voltage: new Float64Array(arm.n), friction: new Float64Array(arm.n) };
  joints.rows = arm.joints.map((joint, j) => jointRow(actor, joint, j));
  element("joints").replaceChildren(...joints.rows.map((row) => row.box));
  makeHand();
}

// Sliders need ends; joints without limits get one turn to either side, or the arm's reach.
function endsOf(arm, joint) {
  const wide = joint.unit === "rad" ? Math.PI : arm.reach;
  return [joint.lower ?? Math.min(-wide, (joint.upper ?? 0) - wide), joint.upper ?? Math.max(wide, (joint.lower ?? 0) + wide)];
}

function jointRow(actor, joint, j) {
  const { arm } = actor, [lower, upper] = endsOf(arm, joint), id = `joint-${j}`, name = cut(joint.name);
  const slider = make("input", { type: "range", id, min: lower, max: upper, step: (upper - lower) / 2000, "aria-label": joint.name });
  const number = make("input", { type: "number", step: "any", "aria-label": `${joint.name}, value` }), unit = make("span", { class: "unit" });
  const low = make("span", { "aria-hidden": "true" }), high = make("span", { "aria-hidden": "true" });
  const moves = Boolean(actor.engine.torque), meters = moves ? [meter("torque", joint.effort, effortUnit(joint))] : [];
  if (moves && arm.has_motors) meters.push(meter("voltage", joint.voltage, "V"));
  if (moves && joint.friction) meters.push(meter("friction", joint.effort, effortUnit(joint)));
  if (moves && joint.unit === "m") meters[0].title.textContent = "force";
  const box = make("div", { class: "joint" },
    make("div", { class: "line" }, make("span", { class: "name", title: joint.name }, make("i"), make("span", {}, name)), number, unit),
    make("div", { class: "ends" }, low, slider, high), make("div", { class: "meters" }, ...meters.map((m) => m.box)));
  box.style.setProperty("--own", `var(--curve${j % look.curves})`);
  on(slider, "input", () => setJoint(actor, j, nearZero(Number(slider.value), (upper - lower) / 400)));
  const row = { box, slider, number, unit, low, high, meters, joint, shown: NaN, stop: 0 };
  on(number, "change", () => {
    row.shown = NaN; // written anew, whatever was typed
    if (number.value !== "") setJoint(actor, j, Number(number.value) / perUnit(joint));
    changed();
  });
  return row;
}
// Snap to zero with the mouse.
const nearZero = (x, slack) => (Math.abs(x) < slack ? 0 : x);

function meter(kind, limit, unit) {
  const value = make("span"), bar = make("span", { class: "bar" }), title = make("span", {}, kind);
  const has = limit !== null && limit !== undefined && limit > 0;
  const box = make("div", { class: `meter${has ? "" : " free"}`, title: has ? `limit ${short(limit)} ${unit}` : "no limit given; the bar is relative to the largest value so far" },
    make("div", { class: "words" }, title, value), make("div", { class: "track", "aria-hidden": "true" }, bar));
  return { kind, limit: has ? limit : null, unit, box, value, bar, title };
}

function showMeter(part, x, peaks, j) {
  // Without a limit, what is shown as zero draws no bar: rounding alone would fill it.
  const number = brief(x), size = part.limit ? x : Number(number), text = `${number} ${part.unit}`;
  peaks[j] = Math.max(peaks[j], Math.abs(size));
  const share = clamp(size / (part.limit || peaks[j] || 1), -1, 1);
  part.bar.style.transform = `scaleX(${share.toFixed(4)})`;
  if (part.value.textContent !== text) part.value.textContent = text;
  const over = part.limit !== null && Math.abs(x) > part.limit * (1 + 1e-9);
  if (over !== part.over) { part.over = over; part.box.classList.toggle("over", over); }
}

// Updated at most at this interval (ms) during motion; always when at rest.
let jointsShown = 0;
function showJoints(now, going) {
  const actor = activeActor();
  if (element("panel-pose").hidden || (going && now - jointsShown < (pace.level < 1 ? 160 : 80))) return;
  jointsShown = now;
  joints.rows.forEach((row, j) => {
    const { joint } = row, scale = perUnit(joint), q = actor.q[j];
    if (q !== row.shown || units.degrees !== row.degrees) {
      row.shown = q;
      const text = plain(q * scale, joint.unit === "rad" && units.degrees ? 2 : 4);
      if (document.activeElement !== row.slider || Math.abs(Number(row.slider.value) - q) > 1e-3 * (row.slider.max - row.slider.min)) row.slider.value = String(q);
      row.slider.setAttribute("aria-valuetext", `${text} ${unitOf(joint)}`);
      if (document.activeElement !== row.number || going) row.number.value = text;
      if (units.degrees !== row.degrees) {
        row.degrees = units.degrees;
        row.unit.textContent = unitOf(joint);
        const end = (x) => (x === null ? "free" : plain(x * scale, joint.unit === "rad" && units.degrees ? 1 : 2));
        row.low.textContent = end(joint.lower);
        row.high.textContent = end(joint.upper);
      }
    }
    if (row.stop !== actor.stops[j]) {
      row.stop = actor.stops[j];
      row.box.classList.toggle("stopped", row.stop !== 0);
      row.low.className = row.stop < 0 ? "at" : "";
      row.high.className = row.stop > 0 ? "at" : "";
    }
    for (const part of row.meters) {
      const values = part.kind === "torque" ? actor.tau : part.kind === "voltage" ? actor.voltage : actor.friction;
      if (values) showMeter(part, values[j], joints.peaks[part.kind], j);
    }
  });
  showHand(actor, going, now);
}

// ---- hand ------------------------------------------------------------------------------------------------------------

const hand = { fields: [], branches: "", checked: 0 };

function makeHand() {
  const labels = ["x", "y", "z", "roll", "pitch", "yaw"];
  hand.fields = labels.map((label, k) => {
    const input = make("input", { type: "number", step: "any", "aria-label": `hand ${label}` });
    on(input, "change", () => { if (input.value !== "") moveHand(k, Number(input.value)); });
    return { input, box: make("label", {}, make("span", { class: "axis" }, label), input) };
  });
  element("hand").replaceChildren(...hand.fields.map((f) => f.box));
  hand.branches = "";
}

function moveHand(k, value) {
  const actor = activeActor(), T = actor.target && actor.target.missed ? actor.target.T : handPose(actor), p = origin(T), angles = anglesOf(T);
  if (!Number.isFinite(value)) return;
  if (k < 3) p[k] = value;
  else angles[k - 3] = value * (units.degrees ? DEGREE : 1);
  toPose();
  reachHand(actor, poseOf(p, angles), true);
}

function showHand(actor, going, now) {
  const T = actor.places.subarray(handOf(actor), handOf(actor) + 16), values = [...origin(T), ...anglesOf(T)];
  hand.fields.forEach(({ input }, k) => {
    const text = k < 3 ? plain(values[k], 4) : plain(values[k] / (units.degrees ? DEGREE : 1), units.degrees ? 2 : 4);
    if (document.activeElement !== input && input.value !== text) input.value = text;
  });
  const { target } = actor, missed = Boolean(target && target.missed) && clock.mode === "pose";
  element("missed").hidden = !missed;
  if (missed) element("missed").textContent = `Not reached from here: ${short(target.distance * 1000)} mm${target.angle > 1e-4 ? `, ${short(target.angle / DEGREE)}\u00b0` : ""} away.`;
  if (!going && !gesture.active && !glide.list) showBranches(actor);
}

function showBranches(actor) {
  const key = `${clock.mode} ${Array.from(actor.q, (x) => x.toFixed(5))}`;
  if (hand.branches === key) return;
  hand.branches = key;
  const { list, chosen } = clock.mode === "pose" ? branchesNow(actor) : { list: [], chosen: -1 };
  const had = element("branches").contains(document.activeElement);
  const buttons = list.map(({ q, label }, k) => make("button", { type: "button", "aria-pressed": String(k === chosen), onclick: () => { glideTo([[actor, q]]); say(`${label}.`); } }, label || `solution ${k + 1}`));
  element("branches").replaceChildren(...buttons);
  if (had && chosen >= 0) buttons[chosen].focus();
}

// ---- which of several arms ---------------------------------------------------------------------------------------------------

function choose(k) {
  active = k;
  makeJoints();
  makeWhich();
  makeLegend();
  changed();
}

function makeWhich() {
  const different = actors.length > 1 && actors[0].arm !== actors[1].arm;
  element("which").replaceChildren(...(different ? actors.map((actor, k) => make("button", { type: "button", "aria-pressed": String(k === active), title: actor.arm.title || actor.arm.name, onclick: () => choose(k) }, cut(actor.arm.title || actor.arm.name))) : []));
}

function setDegrees(is) {
  units.degrees = is;
  element("degrees").textContent = is ? "deg" : "rad";
  element("degrees").setAttribute("aria-pressed", String(is));
  for (const listener of units.listeners) listener();
  changed();
}
