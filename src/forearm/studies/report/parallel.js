// Rows as lines over parallel axes, coloured by a figure; ranges on axes filter the rows.

const SPACE = 84, TALL = 330, PAD = 12; // least pixels between axes, height of the plot, above and below an axis
const RAMP = 8; // colours --ramp0 to --ramp7
const CLICK = 4; // pixels of movement tolerated in a click
const STEP = 0.05; // of an axis, per key press
const parallel = { plot: element("parallel-plot"), axes: [], lines: [], ranges: new Map() };

const heightAt = (share) => PAD + (1 - share) * (TALL - 2 * PAD);
const shareAt = (height) => clamp(1 - (height - PAD) / (TALL - 2 * PAD), 0, 1);

function prepareParallel() {
  parallel.axes = study.axes.map((c) => ({ c, column: columns[c], axis: axisOf(columns[c]) }));
  const extremes = new Set(study.extremes);
  parallel.lines = study.lines.map((k) => ({ k, thick: extremes.has(k), shares: parallel.axes.map(({ column, axis }) => clamp(axis.share(column.data[k]), 0, 1)) }));
  parallel.lines.sort((a, b) => a.thick - b.thick);
  parallel.plot.style.minWidth = `${SPACE * parallel.axes.length}px`;
}

function drawParallel() {
  const { plot, axes, lines } = parallel, width = plot.clientWidth, at = (a) => ((a + 0.5) * width) / axes.length;
  for (const line of lines) {
    line.points = line.shares.map((share, a) => [at(a), heightAt(share)]);
    line.path = draw("path", { d: outline(line.points), class: line.thick ? "thick" : null });
  }
  const names = make("div", { class: "names", "aria-hidden": "true" }, ...axes.map(({ column }) => make("span", { title: column.label }, ...breakable(cut(column.label, 40)))));
  names.style.gridTemplateColumns = `repeat(${axes.length}, minmax(0, 1fr))`;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${TALL}`, role: "group", "aria-label": "parallel coordinates" },
    draw("g", { class: "lines" }, ...lines.map(({ path }) => path)), draw("path", { class: "pointed", hidden: "" }), ...axes.map((axis, a) => drawnAxis(axis, a, at(a))));
  plot.replaceChildren(names, svg);
  svg.addEventListener("pointermove", pointAtLine);
  svg.addEventListener("pointerleave", () => markLine(null));
  svg.addEventListener("click", (event) => {
    const line = event.target.closest(".handle") ? null : lineAt(event).line;
    if (line) { chooseRow("parallel-chosen", line.k); pointAtLine(event); }
  });
  colourLines();
  keepLines();
}

// A polyline, interrupted at failed values; a value between two of them is a short dash.
function outline(points) {
  const is = (k) => points[k] !== undefined && Number.isFinite(points[k][1]);
  return points.map(([x, y], k) => {
    if (!is(k)) return "";
    const at = `${x.toFixed(1)},${y.toFixed(1)}`;
    return is(k - 1) ? `L${at}` : is(k + 1) ? `M${at}` : `M${(x - 5).toFixed(1)},${y.toFixed(1)}h10`;
  }).join(" ");
}

// An axis with its labels, the filter range, and an area that receives pointer and keys.
function drawnAxis(one, a, x) {
  const { levels } = one.column, letters = Math.max(Math.floor((parallel.plot.clientWidth / parallel.axes.length - 36) / 6), 6);
  const ticks = (levels ? levelTicks(one.column, one.axis) : ticksOf(one.axis, 6)).flatMap(({ share, text }) => [
    draw("path", { class: "axis", d: `M${levels ? x : x - 4},${heightAt(share).toFixed(1)}h4` }),
    draw("text", { x: levels ? x + 8 : x - 7, y: (heightAt(share) + 4).toFixed(1), "text-anchor": levels ? "start" : "end" }, levels ? cut(text, letters) : text),
  ]);
  one.kept = draw("rect", { class: "kept", x: x - 7, width: 14, rx: 2 });
  one.group = draw("g", { class: "handle", tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-label": one.column.label, "aria-valuemin": 0, "aria-valuemax": 100 },
    draw("path", { class: "axis", d: `M${x},${PAD}V${TALL - PAD}` }), ...ticks, one.kept, draw("rect", { class: "hand", x: x - 16, y: 0, width: 32, height: TALL }));
  listenToAxis(one, a);
  return one.group;
}

// ---- colours -----------------------------------------------------------------------------------------------------

// A colour of the ramp, mixed from two neighbours, so that it follows the theme.
function rampColour(share) {
  if (!Number.isFinite(share)) return "var(--quiet)";
  const at = clamp(share, 0, 1) * (RAMP - 1), k = Math.min(Math.floor(at), RAMP - 2);
  return `color-mix(in srgb, var(--ramp${k + 1}) ${Math.round(100 * (at - k))}%, var(--ramp${k}))`;
}

function colourLines() {
  const column = columns[chosenColumn("parallel-by")], axis = axisOf(column);
  for (const { k, path } of parallel.lines) path.style.stroke = rampColour(axis.share(column.data[k]));
  const end = (share) => withUnit(short(column.base + axis.value(share), column.digits), column.unit);
  element("parallel-ramp").replaceChildren(make("span", {}, end(0)), make("i", { "aria-hidden": "true" }), make("span", {}, end(1)));
}

// ---- ranges ------------------------------------------------------------------------------------------------------

function keepLines() {
  const { ranges, lines, axes } = parallel, within = (share, [low, high]) => share >= low && share <= high;
  let kept = 0;
  for (const line of lines) {
    line.kept = [...ranges].every(([a, range]) => within(line.shares[a], range));
    line.path.classList.toggle("out", !line.kept);
    kept += line.kept;
  }
  axes.forEach(showRange);
  element("parallel-clear").disabled = !ranges.size;
  const said = [...ranges].sort(([a], [b]) => a - b).map(([a]) => `${axes[a].column.name} ${rangeSaid(a)}`);
  element("parallel-note").textContent = ranges.size ? `${grouped(kept)} of ${rowsSaid(lines.length)} kept: ${said.join("; ")}.` : `All ${rowsSaid(lines.length)} kept.`;
}

function showRange(one, a) {
  const [low, high] = parallel.ranges.get(a) || [0, 1];
  one.kept.setAttribute("y", heightAt(high).toFixed(1));
  one.kept.setAttribute("height", Math.max(heightAt(low) - heightAt(high), 2).toFixed(1));
  one.kept.toggleAttribute("hidden", !parallel.ranges.has(a));
  one.group.setAttribute("aria-valuenow", Math.round(50 * (low + high)));
  one.group.setAttribute("aria-valuetext", parallel.ranges.has(a) ? rangeSaid(a) : "all rows");
}

// The end of an axis includes everything beyond it.
function rangeSaid(a) {
  const { column, axis } = parallel.axes[a], [low, high] = parallel.ranges.get(a);
  if (column.levels) return levelTicks(column, axis).filter(({ share }) => share >= low && share <= high).map(({ text }) => text).join(", ") || "none";
  const text = (share) => short(column.base + axis.value(share), Math.max(column.digits - 1, 3));
  const said = low <= 0 ? `up to ${text(high)}` : high >= 1 ? `from ${text(low)}` : `${text(low)} to ${text(high)}`;
  return withUnit(low <= 0 && high >= 1 ? "not failed" : said, low <= 0 && high >= 1 ? "" : column.unit);
}

function setRange(a, range) {
  if (range) parallel.ranges.set(a, range);
  else parallel.ranges.delete(a);
  keepLines();
}

function listenToAxis({ group }, a) {
  let start = null, moved = false;
  const share = (event) => shareAt(event.clientY - group.ownerSVGElement.getBoundingClientRect().top);
  const far = (event) => Math.abs(share(event) - start) * (TALL - 2 * PAD) > CLICK;
  group.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    group.setPointerCapture(event.pointerId);
    start = share(event);
    moved = false;
    markLine(null);
  });
  group.addEventListener("pointermove", (event) => {
    if (start === null) return;
    moved ||= far(event);
    if (moved) setRange(a, [Math.min(start, share(event)), Math.max(start, share(event))]);
  });
  group.addEventListener("pointerup", () => {
    if (start !== null && !moved) setRange(a, null);
    start = null;
  });
  group.addEventListener("pointercancel", () => { start = null; });
  group.addEventListener("keydown", (event) => moveRange(event, a));
}

// Arrow keys select the upper or lower half of an axis, then move the range; + and - change its length.
function moveRange(event, a) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const range = parallel.ranges.get(a), up = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
  if (event.key === "Escape") setRange(a, null);
  else if (up) setRange(a, range ? shifted(range, up * STEP) : up > 0 ? [0.5, 1] : [0, 0.5]);
  else if (event.key === "+" || event.key === "=") setRange(a, stretched(range || [0.25, 0.75], STEP));
  else if (event.key === "-") setRange(a, stretched(range || [0, 1], -STEP));
  else return;
  event.preventDefault();
}

const shifted = ([low, high], by) => { const move = clamp(by, -low, 1 - high); return [low + move, high + move]; };
function stretched([low, high], by) {
  const middle = (low + high) / 2, half = Math.max((high - low) / 2 + by / 2, STEP / 4);
  return [clamp(middle - half, 0, 1), clamp(middle + half, 0, 1)];
}

// ---- pointing ------------------------------------------------------------------------------------------------------

function pointAtLine(event) {
  if (event.buttons) return;
  const { line, x, y } = lineAt(event);
  markLine(line, x, y);
}

function lineAt(event) {
  const area = event.currentTarget.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
  let found = null, best = 7;
  for (const line of parallel.lines) {
    const away = line.kept ? Math.abs(levelAt(line.points, x) - y) : NaN;
    if (away <= best) { best = away; found = line; }
  }
  return { line: found, x, y };
}

// Height of a line at x; NaN where it is interrupted or has not started.
function levelAt(points, x) {
  const k = points.findIndex(([right]) => right >= x);
  if (k < 1) return NaN;
  const [[x0, y0], [x1, y1]] = [points[k - 1], points[k]];
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}

function markLine(line, x = 0, y = 0) {
  const mark = parallel.plot.querySelector(".pointed");
  if (!mark) return; // the plot is being redrawn
  mark.toggleAttribute("hidden", !line);
  if (!line) { hideTip(parallel.plot); return; }
  mark.setAttribute("d", outline(line.points));
  showTip(parallel.plot, line.k, x, y + parallel.plot.firstElementChild.offsetHeight);
}

if (parallel.plot) {
  prepareParallel();
  element("parallel-by").addEventListener("change", colourLines);
  element("parallel-clear").addEventListener("click", () => { parallel.ranges.clear(); keepLines(); });
  drawnToFit(parallel.plot, drawParallel);
}
