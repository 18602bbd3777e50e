// Tabs, and the panels World and See.

const narrow = matchMedia("(max-width: 820px), (max-height: 640px)");
const tabs = [...document.querySelectorAll('[role="tab"]')];

function openTab(name, focus = false) {
  for (const tab of tabs) {
    const is = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
    element(tab.getAttribute("aria-controls")).hidden = !is;
    if (is && focus) tab.focus();
  }
  curves.stale = true;
  changed();
}

function makeTabs() {
  for (const tab of tabs) {
    on(tab, "click", () => openTab(tab.id.slice(4)));
    on(tab, "keydown", (event) => {
      const seen = tabs.filter((t) => t.offsetParent), k = seen.indexOf(tab);
      const to = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: seen.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      openTab(seen[(to + seen.length) % seen.length].id.slice(4), true);
    });
  }
}

// If there is little room, the curves get a tab of their own.
function placeDock() {
  const dock = element("dock"), inside = narrow.matches;
  if (inside) element("panel-curves").append(dock);
  else {
    element("studio").append(dock);
    if (!element("panel-curves").hidden) openTab("pose");
  }
  curves.signature = null;
  curves.stale = true;
  layOut();
  changed();
}

// ---- world -----------------------------------------------------------------------------------------------------------

const worldFields = {};

function setWorld(part) {
  if (part.gravity) world.own = part.gravity.every((x, i) => x === data.arms[0].gravity[i]);
  Object.assign(world, part);
  for (const actor of actors) {
    configureActor(actor);
    if (clock.live && actor.run && actor.run.count > 1) actor.run.about.changed = true;
    if (clock.mode === "pose") holdActor(actor);
  }
  changed();
}

const sphere = (v) => { const size = size3(v); return { size, tilt: size ? Math.acos(clamp(-v[2] / size, -1, 1)) / DEGREE : 0, heading: Math.hypot(v[0], v[1]) > 1e-9 ? Math.atan2(v[1], v[0]) / DEGREE : 0 }; };

function makeWorld() {
  const { arm } = actors[0], mass = arm.bodies.reduce((sum, b) => sum + b.mass, 0), given = sphere(arm.gravity), now = { ...given };
  Object.assign(world, { gravity: [...arm.gravity], payload: 0, friction: 1 });
  const turn = () => {
    const t = now.tilt * DEGREE, h = now.heading * DEGREE;
    setWorld({ gravity: now.size === given.size && now.tilt === given.tilt && now.heading === given.heading ? [...arm.gravity] : [Math.sin(t) * Math.cos(h), Math.sin(t) * Math.sin(h), -Math.cos(t)].map((x) => x * now.size) });
  };
  const field = (key, options, act) => (worldFields[key] = sliderField(options, act));
  element("gravity").replaceChildren(
    field("size", { label: "magnitude", min: 0, max: 20, value: given.size, unit: "m/s\u00b2" }, (x) => { now.size = x; turn(); }).box,
    field("tilt", { label: "tilt", min: 0, max: 180, value: given.tilt, unit: "\u00b0" }, (x) => { now.tilt = x; turn(); }).box,
    field("heading", { label: "heading", min: -180, max: 180, value: given.heading, unit: "\u00b0", hard: false }, (x) => { now.heading = x; turn(); }).box);
  element("loads").replaceChildren(
    field("payload", { label: "payload", min: 0, max: Math.max(nice(0.4 * mass), 0.1), value: 0, unit: "kg" }, (x) => setWorld({ payload: x })).box,
    field("friction", { label: "friction", min: 0, max: 3, value: 1, unit: "\u00d7" }, (x) => setWorld({ friction: x })).box);
  if (arm.payload_at) worldFields.payload.box.title = arm.payload_at;
  worldFields.friction.box.hidden = !arm.joints.some((j) => j.friction);
  on("reset-world", "click", () => {
    Object.assign(now, given);
    for (const key of ["size", "tilt", "heading"]) worldFields[key].set(given[key]);
    worldFields.payload.set(0);
    worldFields.friction.set(1);
    setWorld({ gravity: [...arm.gravity], payload: 0, friction: 1 });
    say("Gravity, payload and friction are reset.");
  });
}

function showEnergy() {
  if (element("panel-world").hidden) return;
  const rows = [];
  actors.forEach((actor) => {
    const { kinetic, potential } = actor.energy;
    for (const [name, value] of [["kinetic", kinetic], ["potential", potential], ["total", kinetic + potential]])
      rows.push(make("dt", {}, name), make("dd", {}, `${short(value)} J`));
  });
  element("energy").replaceChildren(...rows);
}

// ---- view -----------------------------------------------------------------------------------------------------------

const SHOWS = [
  ["shapes", "meshes and shapes (off: skeleton)"], ["ellipsoids", "inertia ellipsoids"], ["centres", "centres of mass"], ["frames", "frames with names"],
  ["limits", "joint limits"], ["ground", "ground and shadow"], ["payload", "payload"], ["trace", "path of the hand"], ["handle", "handle to drag the hand"], ["wanted", "reference as a ghost"],
];
const showFields = {};

function makeShows() {
  const any = data.arms.some((arm) => arm.base.shapes.length || arm.bodies.some((b) => b.shapes.length));
  element("shows").replaceChildren(...SHOWS.filter(([key]) => key !== "shapes" || any).map(([key, label]) => {
    showFields[key] = checkField(label, show[key], (is) => setShow(key, is));
    return showFields[key].box;
  }));
  const missing = data.arms.flatMap((arm) => arm.missing || []), still = data.arms.find((arm) => arm.still);
  if (still) element("notes").textContent = `It cannot be simulated here: ${cut(still.still)}. `;
  if (missing.length) element("notes").textContent += `${missing.length} mesh${missing.length === 1 ? "" : "es"} not found: ${missing.slice(0, 3).map((text) => (text.length > 90 ? `${text.slice(0, 87)}...` : text)).join("; ")}${missing.length > 3 ? ", ..." : ""}`;
}

function setShow(key, is) {
  if (!(key in show)) return;
  show[key] = is;
  if (showFields[key]) showFields[key].input.checked = is;
  changed();
}
