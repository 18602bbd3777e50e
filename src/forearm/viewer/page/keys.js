// Keys: on the view they move the camera; elsewhere they play and step, unless a field has the focus.

const turnBy = (dx, dy) => () => { flight.to = null; turnCamera(dx, dy); changed(); };
const panBy = (dx, dy) => () => { flight.to = null; panCamera(stage.areas[0], dx, dy); changed(); };
const zoomBy = (factor) => () => { zoomCamera(factor); changed(); };

const ON_VIEW = {
  ArrowLeft: turnBy(-0.1, 0), ArrowRight: turnBy(0.1, 0), ArrowUp: turnBy(0, -0.1), ArrowDown: turnBy(0, 0.1),
  "Shift+ArrowLeft": panBy(-24, 0), "Shift+ArrowRight": panBy(24, 0), "Shift+ArrowUp": panBy(0, -24), "Shift+ArrowDown": panBy(0, 24),
  "+": zoomBy(1.15), "=": zoomBy(1.15), "-": zoomBy(1 / 1.15), 0: () => fitView(), f: () => fitView(),
  1: () => lookAt("front"), 2: () => lookAt("back"), 3: () => lookAt("left"), 4: () => lookAt("right"), 5: () => lookAt("top"), 6: () => lookAt("below"), 7: () => lookAt("perspective"),
};
const togglePlay = () => (clock.playing ? pause() : resume());
const goHome = () => { toPose(); for (const actor of actors) actor.target = null; glideTo(actors.map((a) => [a, a.stored.home])); };
const ANYWHERE = {
  " ": togglePlay, ArrowLeft: () => stepRow(-1), ArrowRight: () => stepRow(1), Home: () => { pause(); seek(runsStart()); }, End: () => { pause(); seek(runsEnd()); },
  l: letGo, s: hold, h: goHome, a: () => store("A"), b: () => store("B"), p: () => playPlan(endsChosen(), shares), "?": () => element("keys").showModal(),
};
const KEY_WORDS = [
  ["drag a link", "move its joint; during a simulation: push the arm"], ["drag the ball or a ring at the hand", "move or rotate the hand (Shift and drag: rotate)"],
  ["drag the background", "rotate the view; right button, Shift or two fingers: pan; wheel or pinch: zoom"],
  ["arrow keys on the view", "rotate; with Shift pan; + and - zoom"], ["0 on the view", "fit the arm into view"], ["1 to 7 on the view", "front, back, left, right, top, bottom, perspective"],
  ["space", "play or pause"], ["left, right", "one step back or forward"], ["Home, End", "start and end of the run"], ["L, S", "let go, hold"], ["H", "home pose"], ["A, B, P", "store pose A or B, plan and play"],
];

on(document, "keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || element("keys").open) return;
  const target = event.target, key = event.key.length === 1 ? event.key.toLowerCase() : event.key, name = event.shiftKey && key.startsWith("Arrow") ? `Shift+${key}` : key;
  const typing = target.closest("input, select, textarea, pre"), pressing = target.closest("button, summary");
  const action = target === view && ON_VIEW[name] ? ON_VIEW[name] : !typing && !(pressing && key === " ") ? ANYWHERE[name] : null;
  if (action) { event.preventDefault(); action(); }
});

function makeKeys() {
  element("key-list").replaceChildren(...KEY_WORDS.flatMap(([keys, words]) => [make("dt", {}, make("kbd", {}, keys)), make("dd", {}, words)]));
  on("help", "click", () => element("keys").showModal());
}
