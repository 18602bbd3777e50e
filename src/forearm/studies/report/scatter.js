// Two figures against each other: the sampled rows as dots, the Pareto front of all rows as a line with points.

const NEAR = 14, ROOM = 8; // pixels from a dot that count as hovering, and from the ends of axes to the frame
const MOST_TABLED = 200; // rows of the front in the table
const scatter = { plot: element("front-plot"), dots: [], front: [], step: -1 };

const chosenColumn = (id) => Number(element(id).value);

// The front of the two chosen figures, as it was computed: by the one with the lower number.
function frontOf(x, y) {
  return study.fronts[`${Math.min(x, y)},${Math.max(x, y)}`] || { count: 0, rows: [] };
}

function drawScatter() {
  const x = chosenColumn("front-x"), y = chosenColumn("front-y"), front = frontOf(x, y), { plot } = scatter;
  const width = plot.clientWidth, height = Math.round(clamp(0.55 * width, 300, 480));
  const axes = [x, y].map((c) => axisOf(columns[c], front.rows.map((k) => columns[c].data[k])));
  const yTicks = ticksOf(axes[1], 7), letters = Math.max(...yTicks.map(({ text }) => text.length), 2);
  const frame = { left: 30 + 6.6 * letters, right: width - 16, top: 10, bottom: height - 42, width, height };
  const place = (k) => placed(k, x, y, axes, frame);
  scatter.front = front.rows.map(place);
  scatter.dots = study.sample.map(place).filter((dot) => Number.isFinite(dot.x) && Number.isFinite(dot.y));
  scatter.step = Math.min(scatter.step, scatter.front.length - 1);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "application", tabindex: 0, "aria-label": `${columns[y].name} over ${columns[x].name}, arrow keys step along the front` },
    ...drawnAxes(axes, yTicks, x, y, frame), drawnDots(), ...drawnFront(x < y), draw("circle", { class: "pointed", r: 6.5, hidden: "" }));
  plot.replaceChildren(svg);
  listenToScatter(svg);
  element("front-rows").hidden = !front.rows.length;
  if (element("front-rows").open) tabulateFront();
  sayScatter();
}

// Where row k lies; what is beyond an axis is drawn at its end.
function placed(k, x, y, [across, up], { left, right, top, bottom }) {
  const a = across.share(columns[x].data[k]), b = up.share(columns[y].data[k]);
  const inside = (s) => clamp(s, 0, 1), beyond = Math.abs(a - inside(a)) > 1e-6 || Math.abs(b - inside(b)) > 1e-6;
  return { k, x: between(left, right, inside(a)), y: between(bottom, top, inside(b)), beyond };
}

// From one side of the frame to the other, with some room at both.
function between(from, to, share) {
  const room = Math.sign(to - from) * ROOM;
  return from + room + share * (to - from - 2 * room);
}

// ---- drawing ---------------------------------------------------------------------------------------------------------

function drawnAxes([across], yTicks, x, y, { left, right, top, bottom, width, height }) {
  const parts = [], line = (x1, y1, x2, y2) => draw("line", { class: "grid", x1, y1, x2, y2 });
  for (const { share, text } of yTicks) {
    const at = between(bottom, top, share);
    parts.push(line(left, at, right, at), draw("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, text));
  }
  for (const { share, text } of ticksOf(across, clamp(Math.floor(width / 90), 3, 10))) {
    const at = between(left, right, share);
    parts.push(line(at, top, at, bottom), draw("text", { x: clamp(at, left, width - 4 - 3.2 * text.length), y: bottom + 16, "text-anchor": "middle" }, text));
  }
  const middle = (top + bottom) / 2, half = (left + right) / 2;
  parts.push(
    draw("text", { class: "name", x: half, y: height - 6, "text-anchor": "middle" }, axisName(columns[x], (right - left) / 6.5)),
    draw("text", { class: "name", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, axisName(columns[y], (bottom - top) / 6.5)),
  );
  return parts;
}

function axisName({ label, better }, letters) {
  const more = ` (${better} is better)`, room = Math.floor(letters);
  return label.length + more.length <= room ? label + more : cut(label, Math.max(room, 8));
}

function drawnDots() {
  return draw("g", { class: "dots" }, ...scatter.dots.map((dot) => draw("circle", { cx: dot.x.toFixed(1), cy: dot.y.toFixed(1), r: 2.2 })));
}

// Between two points of the front lie the corners that are as bad as either: nothing is known to be better there.
function drawnFront(firstIsAcross) {
  const at = ({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`, { front } = scatter;
  const corner = (a, b) => (firstIsAcross ? { x: b.x, y: a.y } : { x: a.x, y: b.y });
  const stairs = front.map((point, k) => (k ? `L${at(corner(front[k - 1], point))} L${at(point)}` : `M${at(point)}`));
  const points = front.map((point) => `M${at(point)}h0`);
  return [draw("path", { class: "front", d: stairs.join(" ") }), draw("path", { class: "front points", d: points.join("") })];
}

// ---- pointing and stepping -----------------------------------------------------------------------------------------

function listenToScatter(svg) {
  const pointAt = (event) => {
    const area = svg.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
    const dot = nearest(scatter.front, x, y, NEAR) || nearest(scatter.dots, x, y, NEAR);
    scatter.step = scatter.front.indexOf(dot);
    markDot(dot);
    return dot;
  };
  svg.addEventListener("pointermove", pointAt);
  svg.addEventListener("pointerdown", (event) => {
    const dot = pointAt(event);
    if (dot && !event.button) chooseRow("front-chosen", dot.k);
  });
  svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") markDot(null); });
  svg.addEventListener("keydown", stepAlong);
  svg.addEventListener("blur", stopStepping);
}

function nearest(dots, x, y, most) {
  let found = null, best = most * most;
  for (const dot of dots) {
    const away = (dot.x - x) ** 2 + (dot.y - y) ** 2;
    if (away < best) { best = away; found = dot; }
  }
  return found;
}

function markDot(dot) {
  const mark = scatter.plot.querySelector(".pointed");
  if (!mark) return; // the plot is being drawn anew
  mark.toggleAttribute("hidden", !dot);
  if (!dot) { hideTip(scatter.plot); return; }
  mark.setAttribute("cx", dot.x);
  mark.setAttribute("cy", dot.y);
  showTip(scatter.plot, dot.k, dot.x, dot.y);
}

// Arrow keys go along the front from left to right, whichever way it was computed.
function stepAlong(event) {
  const last = scatter.front.length - 1, order = last > 0 && scatter.front[0].x > scatter.front[last].x ? -1 : 1;
  const steps = { ArrowRight: order, ArrowDown: order, ArrowLeft: -order, ArrowUp: -order };
  if (event.key === "Escape") { stopStepping(); return; }
  if (last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const [start, end] = order > 0 ? [0, last] : [last, 0];
  if (event.key in steps) scatter.step = scatter.step < 0 ? (steps[event.key] === order ? start : end) : clamp(scatter.step + steps[event.key], 0, last);
  else if (event.key === "Home") scatter.step = start;
  else if (event.key === "End") scatter.step = end;
  else return;
  event.preventDefault();
  const dot = scatter.front[scatter.step], two = ["front-x", "front-y"].map((id) => inWords(columns[chosenColumn(id)], dot.k));
  markDot(dot);
  chooseRow("front-chosen", dot.k);
  element("front-note").textContent = `Row ${study.rows[dot.k]}, ${order > 0 ? scatter.step + 1 : last + 1 - scatter.step} of ${last + 1} on the front: ${two.join(", ")}.`;
}

function stopStepping() {
  scatter.step = -1;
  markDot(null);
  sayScatter();
}

// ---- in words ------------------------------------------------------------------------------------------------------

function sayScatter() {
  const x = chosenColumn("front-x"), y = chosenColumn("front-y"), { count, rows } = frontOf(x, y);
  const beyond = new Set([...scatter.dots, ...scatter.front].filter((dot) => dot.beyond).map((dot) => dot.k)).size, said = [];
  if (x === y) said.push("Choose two different figures to see their front.");
  else said.push(`${rowsSaid(count)} ${count === 1 ? "is" : "are"} on the front${rows.length < count ? `, ${grouped(rows.length)} of them drawn` : ""}.`);
  if (beyond) said.push(`${rowsSaid(beyond)} beyond the ends of an axis ${beyond === 1 ? "is" : "are"} drawn at its end.`);
  element("front-note").textContent = said.join(" ");
}

// The rows of the front, from left to right, the two chosen figures first.
function tabulateFront() {
  const two = [chosenColumn("front-x"), chosenColumn("front-y")], shown = [...two, ...columns.keys()].filter((c, k, all) => all.indexOf(c) === k);
  const order = [...scatter.front].sort((a, b) => a.x - b.x), few = order.filter((_, k) => order.length <= MOST_TABLED || Math.floor((k * MOST_TABLED) / order.length) !== Math.floor(((k - 1) * MOST_TABLED) / order.length));
  const kind = (c) => (columns[c].levels ? null : "number");
  const head = make("tr", {}, make("th", { scope: "col", class: "number" }, "row"), ...shown.map((c) => make("th", { scope: "col", class: kind(c) }, ...breakable(withItsUnit(columns[c].name, columns[c].unit)))));
  const lines = few.map(({ k }) => make("tr", {}, make("th", { scope: "row", class: "number" }, String(study.rows[k])), ...shown.map((c) => make("td", { class: kind(c) }, valueText(columns[c], k)))));
  const parts = [make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines))];
  if (few.length < order.length) parts.push(make("p", {}, `${grouped(few.length)} of them, evenly spread.`));
  element("front-rows").querySelector(".wide").replaceChildren(...parts);
}

if (scatter.plot) {
  for (const id of ["front-x", "front-y"]) element(id).addEventListener("change", () => { scatter.step = -1; element("front-chosen").hidden = true; drawScatter(); });
  element("front-rows").addEventListener("toggle", () => { if (element("front-rows").open) tabulateFront(); });
  drawnToFit(scatter.plot, drawScatter);
}
