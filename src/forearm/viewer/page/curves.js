// Curves over time: a panel for each quantity, with a common cursor, and the runs of other arms in wider, paler lines.

const MARGIN = { left: 48, right: 8, top: 6, bottom: 18 }, WIDTH = 1.6;
const curves = { panels: [], shown: [], drawn: 0, count: -1, end: NaN, start: 0, stale: true, mode: "some" };
const USUAL = ["position", "velocity", "torque", "voltage", "error", "energy"];

const runsNow = () => actors.map((a) => a.run).filter((run) => run && run.count);
// Whether the runs of the arms can be subtracted.
const canDiffer = () => actors.length === 2 && actors[0].n === actors[1].n;
const differing = () => element("difference").checked && canDiffer() && runsNow().length > 1;

// Panels for the quantities of the present runs.
function makePanels() {
  const runs = runsNow(), keys = [];
  for (const run of runs) for (const panel of run.panels) if (!panel.hidden && !keys.includes(panel.key)) keys.push(panel.key);
  const chosen = element("kinds").value, wanted = chosen === "" || !keys.includes(chosen) ? keys.filter((key) => chosen === "all" || USUAL.includes(key) || !KNOWN_KINDS.has(key)) : [chosen];
  const few = chosen === "" && !narrow.matches ? wanted.slice(0, 6) : wanted;
  const signature = `${keys} ${few} ${element("difference").checked}`;
  element("empty").hidden = runs.length > 0;
  if (curves.signature === signature) return;
  curves.signature = signature;
  const options = [["", "main curves"], ["all", "all curves"], ...keys.map((key) => [key, key])];
  element("kinds").replaceChildren(...options.map(([value, text]) => make("option", { value, selected: value === chosen }, text)));
  element("kinds").hidden = runs.length === 0;
  curves.panels = few.map(curvePanel);
  element("panels").replaceChildren(...curves.panels.map((p) => p.box));
  curves.stale = true;
}
const KNOWN_KINDS = new Set(["position", "velocity", "torque", "voltage", "friction", "error", "wanted", "energy"]);

function curvePanel(key) {
  const run = runsNow().find((r) => r.panels.some((p) => p.key === key)), source = run.panels.find((p) => p.key === key);
  const title = make("h2"), canvas = make("canvas", { role: "img", "aria-label": `${source.title} over time: ${source.names.join(", ")}` });
  const words = make("b"), cursor = make("i", { "aria-hidden": "true" });
  const panel = { key, canvas, words, cursor, dotted: false, still: make("canvas"), range: [-1, 1], box: make("div", { class: "panel" }, title, make("div", { class: "plot" }, canvas, cursor)) };
  title.append(words);
  if (!source.joints) source.names.forEach((name, k) => title.append(make("span", {}, swatch(k), ` ${cut(name)}`)));
  const point = (event) => {
    const area = canvas.getBoundingClientRect(), share = (event.clientX - area.left - MARGIN.left) / (area.width - MARGIN.left - MARGIN.right);
    pause();
    seek(curves.start + clamp(share, 0, 1) * (curves.end - curves.start));
  };
  on(canvas, "pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); point(event); });
  on(canvas, "pointermove", (event) => { if (event.buttons) point(event); });
  return panel;
}

// ---- legend ------------------------------------------------------------------------------------------------------------

function makeLegend() {
  const { arm } = activeActor();
  if (curves.shown.length !== arm.n) curves.shown = arm.joints.map(() => true);
  const buttons = arm.joints.map((joint, i) => make("button", {
    type: "button", title: joint.name, "aria-pressed": String(curves.shown[i]),
    onclick: (event) => { curves.shown[i] = !curves.shown[i]; event.currentTarget.setAttribute("aria-pressed", String(curves.shown[i])); curves.stale = true; changed(); },
  }, swatch(i), make("span", { class: "name" }, cut(joint.name))));
  if (arm.n > 1) buttons.push(make("button", { type: "button", onclick: () => { const all = !curves.shown.every(Boolean); curves.shown.fill(all); makeLegend(); curves.stale = true; changed(); } }, "all or none"));
  element("legend").replaceChildren(...buttons);
}

// ---- drawing ---------------------------------------------------------------------------------------------------------

function fitted(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2), width = canvas.clientWidth, height = canvas.clientHeight;
  sized(canvas, ratio, width, height);
  const pen = canvas.getContext("2d", ON_CPU);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { pen, width, height };
}

// The series of a panel: {run, column, scale, k, r}; differences have the other run's too.
function seriesOf(panel) {
  const found = [];
  runsNow().forEach((run, r) => {
    const source = run.panels.find((p) => p.key === panel.key);
    if (!source || (differing() && r)) return;
    source.names.forEach((_, k) => {
      if (source.joints && curves.shown[k] === false) return;
      const joint = source.joints ? run.actor.arm.joints[k] : null, other = differing() ? runsNow()[1] : null;
      found.push({ run, column: source.offset + k, scale: source.scaled && joint ? perUnit(joint) : 1, k, r, other, otherColumn: other && other.at[panel.key] + k });
    });
    if (!r || !panel.titled) panel.words.textContent = `${differing() ? "difference of " : ""}${source.title}${source.unit() ? `, ${source.unit()}` : ""}`;
  });
  return found;
}
const levelAt = (s, t) => s.scale * (s.other ? valueAt(s.other, s.otherColumn, t) - valueAt(s.run, s.column, t) : valueAt(s.run, s.column, t));

function rangeOf(series) {
  let low = Infinity, high = -Infinity;
  for (const s of series) {
    const { run } = s, stride = Math.max(1, Math.floor(run.count / 3000));
    for (let k = 0; k < run.count; k += stride) {
      const x = s.other ? levelAt(s, timeAt(run, k)) : s.scale * run.data[k * run.width + s.column];
      if (x < low) low = x;
      if (x > high && x < Infinity) high = x;
    }
  }
  if (!(low <= high) || !Number.isFinite(low)) return [-1, 1];
  const extra = high - low > 1e-9 * Math.max(Math.abs(high), 1e-6) ? 0.06 * (high - low) : Math.max(Math.abs(high) * 0.1, 1e-3);
  return [low - extra, high + extra];
}

function drawAxes(pen, panel, width, height, x, y) {
  const [low, high] = panel.range, right = width - MARGIN.right, bottom = height - MARGIN.bottom, { inks } = theme;
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = inks.quiet;
  pen.lineWidth = 1;
  const line = (x0, y0, x1, y1, ink) => { pen.strokeStyle = ink; pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke(); };
  pen.textAlign = "right";
  for (const v of ticks(low, high, clamp(Math.floor(height / 24), 2, 6))) {
    line(MARGIN.left, y(v), right, y(v), v === 0 ? inks.zero : inks.grid);
    const size = Math.abs(v);
    pen.fillText(size !== 0 && (size >= 1e5 || size < 1e-3) ? v.toExponential(0) : String(v), MARGIN.left - 5, y(v) + 4);
  }
  pen.textAlign = "center";
  if (curves.end > curves.start)
    for (const t of ticks(curves.start, curves.end, clamp(width / 80, 2, 10))) {
      line(x(t), MARGIN.top, x(t), bottom, inks.grid);
      pen.fillText(`${t} s`, clamp(x(t), MARGIN.left + 8, right - 12), height - 4);
    }
  pen.setLineDash([2, 3]);
  if (data.recording) for (const event of data.recording.events) line(x(event.t), MARGIN.top, x(event.t), bottom, inks.quiet);
  pen.setLineDash([]);
}

function drawStill(panel) {
  const { pen, width, height } = fitted(panel.canvas), series = (panel.series = seriesOf(panel));
  panel.range = rangeOf(series);
  const [low, high] = panel.range, right = width - MARGIN.right, bottom = height - MARGIN.bottom, span = curves.end - curves.start;
  const x = (panel.x = (t) => MARGIN.left + (span > 0 ? (t - curves.start) / span : 0) * (right - MARGIN.left));
  const y = (panel.y = (v) => bottom - ((v - low) / (high - low)) * (bottom - MARGIN.top));
  pen.clearRect(0, 0, width, height);
  drawAxes(pen, panel, width, height, x, y);
  pen.lineJoin = "round";
  for (const s of series) {
    const { run } = s, stride = Math.max(1, Math.floor(run.count / (1.5 * width)));
    pen.beginPath();
    for (let k = 0; ; k += stride) {
      const row = Math.min(k, run.count - 1), t = run.data[row * run.width];
      pen.lineTo(x(t), y(s.other ? levelAt(s, t) : s.scale * run.data[row * run.width + s.column]));
      if (k >= run.count - 1) break;
    }
    pen.strokeStyle = colour(s.k);
    pen.globalAlpha = 3 / (3 + 2 * s.r);
    pen.lineWidth = WIDTH * (1 + s.r);
    pen.setLineDash(dashes(s.k, WIDTH));
    pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
  panel.still.width = panel.canvas.width;
  panel.still.height = panel.canvas.height;
  panel.still.getContext("2d", ON_CPU).drawImage(panel.canvas, 0, 0);
}

// The cursor is a separate element, so that it moves without redrawing the curves; dots on them when time stands still.
function drawCursor(panel, going) {
  const inRun = clock.mode === "run";
  panel.cursor.hidden = !inRun;
  if (inRun) panel.cursor.style.transform = `translateX(${panel.x(clock.t).toFixed(1)}px)`;
  if (going && !panel.dotted) return;
  const { pen, width, height } = fitted(panel.canvas);
  pen.clearRect(0, 0, width, height);
  pen.drawImage(panel.still, 0, 0, width, height);
  panel.dotted = inRun && !going;
  if (!panel.dotted) return;
  const at = panel.x(clock.t);
  for (const s of panel.series) {
    const level = panel.y(levelAt(s, clock.t));
    if (!Number.isFinite(level)) continue;
    pen.beginPath();
    pen.arc(at, level, 3, 0, 2 * Math.PI);
    pen.fillStyle = colour(s.k);
    pen.fill();
  }
}

// Growing runs are redrawn a few times per second, the cursor with every displayed frame.
function showCurves(now, going) {
  if (!element("dock").offsetParent) return;
  const runs = runsNow(), many = runs.reduce((sum, run) => sum + run.count, 0), live = clock.live && going;
  const fresh = curves.stale || (many !== curves.count && (!live || now - curves.drawn > 200));
  // On slow machines every repainted area costs time.
  if (!fresh && going && pace.level < 1 && now - curves.moved < 90) return;
  curves.moved = now;
  if (!runs.length) { if (curves.signature) { curves.signature = ""; curves.panels = []; element("panels").replaceChildren(); } element("empty").hidden = false; return; }
  if (fresh) {
    makePanels();
    curves.start = runsStart();
    curves.end = clock.live ? Math.max(spanFor(runsEnd()), 1) : runsEnd();
    for (const panel of curves.panels) { drawStill(panel); panel.dotted = false; }
    Object.assign(curves, { count: many, drawn: now, stale: false });
  }
  for (const panel of curves.panels) drawCursor(panel, going);
}
const spanFor = (t) => [1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 120].find((s) => s >= t) || nice(t);
