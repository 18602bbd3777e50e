// Assembles the page: creates arms from the data, fills panels, draws the first frame.

function showTime(now, going) {
  const end = hasRun() ? runsEnd() : 0, start = hasRun() ? runsStart() : 0, slider = element("time"), inRun = clock.mode === "run" && hasRun();
  if (going && now - showTime.last < (pace.level < 1 ? 160 : 50)) return;
  showTime.last = now;
  const text = inRun ? `${clock.t.toFixed(3)} / ${end.toFixed(3)} s` : hasRun() ? `run of ${end.toFixed(3)} s` : "0.000 s";
  if (element("clock").textContent !== text) element("clock").textContent = text;
  slider.disabled = !hasRun();
  slider.min = String(start);
  slider.max = String(Math.max(end, start + 1e-9));
  slider.value = String(inRun ? clock.t : end);
  slider.setAttribute("aria-valuetext", text);
  const playing = clock.playing ? "pause" : "play";
  if (element("play").getAttribute("aria-label") !== playing) {
    element("play").setAttribute("aria-label", playing);
    element("play").textContent = clock.playing ? "\u275a\u275a" : "\u25b6\ufe0e";
  }
  element("play").disabled = element("back").disabled = element("next").disabled = !hasRun();
  element("speeds").textContent = going && stage.frames > 10 ? `${framesPerSecond().toFixed(0)} frames per second` : "";
}
showTime.last = 0;

function makeTransport() {
  on("go", "click", letGo);
  on("play", "click", togglePlay);
  on("back", "click", () => stepRow(-1));
  on("next", "click", () => stepRow(1));
  on("time", "input", () => { pause(); seek(Number(element("time").value)); });
  on("speed", "change", () => { clock.speed = Number(element("speed").value); });
  on("repeat", "change", () => { clock.repeat = element("repeat").checked; });
  on("look", "change", () => { lookAt(element("look").value); element("look").value = ""; });
  on("fit", "click", () => fitView());
  on("home", "click", goHome);
  on("degrees", "click", () => setDegrees(!units.degrees));
  on("kinds", "change", () => { curves.stale = true; changed(); });
  on("difference", "change", () => { curves.stale = true; changed(); });
  units.listeners.push(() => { curves.stale = true; });
  stage.listeners.push(showTime, showJoints, showCurves, showEnergy, showTake);
  theme.listeners.push(() => { for (const scene of scenes) scene.stale = true; curves.stale = true; drawStage(1); changed(); });
  new ResizeObserver(() => { layOut(); changed(); }).observe(view);
  new ResizeObserver(() => { curves.stale = true; changed(); }).observe(element("dock"));
  narrow.addEventListener("change", placeDock);
}

// A recorded simulation: its run, its events, and time at its start.
function loadRecording(recording) {
  const actor = actors[0], list = element("happened");
  actor.run = recordedRun(actor, recording);
  clock.kind = "recording";
  list.hidden = !recording.events.length;
  const many = recording.happened ?? recording.events.length;
  list.querySelector("summary").textContent = `${many} event${many === 1 ? "" : "s"}`;
  list.querySelector("ol").replaceChildren(...recording.events.map((event) => make("li", {}, make("button", { type: "button", onclick: () => { pause(); seek(event.t); } },
    [`${event.t.toFixed(4)} s`, event.kind, event.joint, event.text].filter(Boolean).join(" \u00b7 ")))));
  seek(recording.start);
}

// The initial view requested by the author of the page.
function start(ask) {
  if (ask.show) for (const [key, is] of Object.entries(ask.show)) setShow(key, is);
  if (ask.degrees === false) setDegrees(false);
  if (ask.q) api.setJoints(ask.q);
  if (ask.payload || ask.gravity || ask.friction !== undefined) api.setWorld(Object.fromEntries(["payload", "gravity", "friction"].filter((k) => ask[k] !== undefined).map((k) => [k, ask[k]])));
  if (ask.view) lookAt(ask.view);
  if (ask.tab) openTab(ask.tab);
  // No motion without user action if the reader prefers reduced motion.
  const mode = calm.matches ? "" : ask.mode;
  if (mode === "fall") letGo();
  else if (mode === "play" && hasRun()) { clock.repeat = element("repeat").checked = true; resume(); }
  else if (mode === "plan" && ask.q1) api.plan(ask.q1);
  else if (mode === "track" && ask.q1) api.track(ask.q1, ask.controller || {});
}

function open() {
  Object.assign(world, { gravity: [...data.arms[0].gravity] });
  data.arms.forEach((arm, k) => actors.push(makeActor(arm, k)));
  for (const actor of actors) { holdActor(actor); placeActor(actor); markStops(actor); }
  makeTabs();
  makeWorld();
  makeShows();
  makeMove();
  makeTake();
  makeKeys();
  makeTransport();
  makeStage();
  showTitles();
  element("difference-label").hidden = !canDiffer();
  makeJoints();
  makeWhich();
  makeLegend();
  if (data.recording) loadRecording(data.recording);
  openTab("pose");
  layOut();
  placeDock();
  fitView(false);
  drawStage(1);
  if (data.ask) start(data.ask);
}

window.forearmStudio = { ...api, ready: new Promise((resolve) => { open(); requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))); }) };
