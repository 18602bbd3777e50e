// The panel Move: falls and pushes, motions between poses, controllers.

const lawFields = [];
const shares = { velocity: 1, acceleration: 1 };

function makeMove() {
  const { arm, engine } = actors[0];
  if (!engine.step) element("panel-move").querySelector(".card").hidden = element("go").hidden = true;
  on("fall", "click", letGo);
  on("hold", "click", hold);
  on("push", "click", pushHand);
  element("push-force").value = String(nice(Math.max(arm.bodies.reduce((sum, b) => sum + b.mass, 0), 0.1) * 3));
  for (const key of ["A", "B"]) {
    on(`set-${key}`, "click", () => store(key));
    on(`go-${key}`, "click", () => { toPose(); glideTo(actors.filter((a) => a.stored[key]).map((a) => [a, a.stored[key]])); });
  }
  element("to").value = "B";
  on("plan", "click", () => playPlan(endsChosen(), shares));
  element("shares").replaceChildren(
    sliderField({ label: "velocity", min: 1, max: 100, value: 100, unit: "% of limit" }, (x) => { shares.velocity = Math.min(x, 100) / 100; }).box,
    sliderField({ label: "acceleration", min: 1, max: 100, value: 100, unit: "% of limit" }, (x) => { shares.acceleration = Math.min(x, 100) / 100; }).box);
  on("track", "click", () => track(endsChosen(), shares, lawFields.map((f) => f.read())));
  on("finish", "click", () => finish());
  on("compare", "change", () => compare(element("compare").checked));
  element("compare").parentElement.hidden = data.arms.length > 1;
  makeLaws();
}

function store(key) {
  for (const actor of actors) actor.stored[key] = Float64Array.from(actor.q);
  element(`go-${key}`).disabled = false;
  say(`Pose ${key} is stored.`, true);
}

// From the chosen pose to the chosen one, for each arm.
function endsChosen() {
  const from = element("from").value, to = element("to").value;
  return (actor) => [from === "now" ? Float64Array.from(actor.q) : actor.stored[from] || actor.q, actor.stored[to]];
}

// ---- controllers -------------------------------------------------------------------------------------------------------

function lawField(actor, k) {
  const { laws } = actor.arm, id = (name) => `law-${k}-${name}`;
  const select = make("select", { id: id("name"), "aria-label": "controller" }, ...laws.map(({ name, label }) => make("option", { value: name }, label || name)));
  if (k && laws.length > 1) select.selectedIndex = 1;
  const bandwidth = sliderField({ label: "bandwidth", min: 0.5, max: 300, value: 20, unit: "rad/s", log: true }, () => {});
  const period = sliderField({ label: "sampling period", min: 0.2, max: 50, value: 1, unit: "ms", log: true }, () => {});
  const delay = make("select", { id: id("delay") }, make("option", { value: 0 }, "none"), make("option", { value: 1 }, "one period"));
  const bits = make("select", { id: id("bits") }, make("option", { value: "" }, "exact"), ...[8, 10, 12, 14, 16, 18, 20].map((b) => make("option", { value: b }, `${b} bits`)));
  const saturate = checkField("torque limits", true, () => {});
  const box = make("div", { class: "law" }, make("div", { class: "row" }, make("label", {}, actors.length > 1 ? `${k + 1}: ` : "", select)), bandwidth.box, period.box,
    make("div", { class: "row" }, make("label", {}, "delay ", delay), make("label", {}, "encoders ", bits), saturate.box));
  const gains = () => { const law = laws.find((l) => l.name === select.value); bandwidth.box.hidden = Boolean(law) && law.has_gains === false; };
  on(select, "change", gains);
  gains();
  return {
    box, select, bandwidth, period, delay, bits, saturate: saturate.input,
    read: () => ({ name: select.value, bandwidth: bandwidth.get(), period: period.get() / 1000, delay: Number(delay.value), bits: bits.value === "" ? null : Number(bits.value), saturate: saturate.input.checked }),
    write(given) {
      if (given.name !== undefined) { select.value = given.name; gains(); }
      if (given.bandwidth !== undefined) bandwidth.set(given.bandwidth);
      if (given.period !== undefined) period.set(given.period * 1000);
      if (given.delay !== undefined) delay.value = String(given.delay);
      if (given.bits !== undefined) bits.value = given.bits === null ? "" : String(given.bits);
      if (given.saturate !== undefined) saturate.input.checked = given.saturate;
    },
  };
}

function makeLaws() {
  const kept = lawFields.map((f) => f.read());
  lawFields.length = 0;
  const none = !actors[0].arm.laws || !actors[0].arm.laws.length || !actors[0].engine.controller;
  element("laws").closest(".card").hidden = none;
  if (none) return;
  actors.forEach((actor, k) => { lawFields.push(lawField(actor, k)); if (kept[k]) lawFields[k].write(kept[k]); });
  element("laws").replaceChildren(...lawFields.map((f) => f.box));
}

// A second actor of the same arm, or none.
function compare(is) {
  if (data.arms.length > 1 || is === actors.length > 1) return;
  toPose();
  if (is) {
    const second = makeActor(data.arms[0], 0);
    second.q.set(actors[0].q);
    second.stored = actors[0].stored;
    actors.push(second);
    holdActor(second);
    placeActor(second);
  } else actors.length = 1;
  for (const actor of actors) actor.run = actor.sim = null;
  active = 0;
  clock.live = false;
  element("compare").checked = is;
  element("difference-label").hidden = !canDiffer();
  makeLaws();
  makeWhich();
  showTitles();
  makeScenes();
  layOut();
  curves.stale = true;
  changed();
}

function showTitles() {
  const text = (actor, k) => (data.arms.length > 1 ? cut(actor.arm.title || actor.arm.name) : `controller ${k + 1}`);
  element("titles").replaceChildren(...(actors.length > 1 ? actors.map((a, k) => make("span", {}, text(a, k))) : []));
}

// ---- a push from the panel: a force on the hand; a controller that tracks stays in charge ------------------------------------

const PUSHED = 0.2, RECOVERY = 2; // s

function pushHand() {
  const [i, sign] = element("push-way").value.split(" ").map(Number), size = Number(element("push-force").value);
  if (!(size > 0)) return;
  const tracks = clock.mode === "run" && clock.kind === "track" && actors.every(({ run }) => run.about.diverged === undefined);
  if (tracks) trackOn(PUSHED + RECOVERY);
  else if (!liveAtEnd()) letGo();
  for (const actor of actors) {
    const { body } = actor.arm.hand, until = actor.sim.k * actor.sim.period + PUSHED, F = [0, 0, 0];
    if (body < 0) continue;
    F[i] = sign * size;
    actor.sim.pull = (who, tau) => {
      const p = origin(who.places, handOf(who)), ends = who.sim.k * who.sim.period >= until;
      if (ends) { who.sim.pull = null; who.pull = null; return; }
      pushTorques(who, body, p, F, tau);
      who.pull = { from: p, to: p.map((x, k) => x + (0.25 * who.arm.reach * F[k]) / size), size };
    };
  }
  resume();
}
