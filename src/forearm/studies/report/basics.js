// Shared by both plots: the study's rows, number formatting, axes, elements, the tooltip with the values of a row.

const element = (id) => document.getElementById(id);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const study = JSON.parse(element("study").textContent);
const columns = study.columns.map(readColumn);

// Little-endian 32-bit floats in base64, on machines of either byte order.
function decoded(text) {
  const bytes = bytesOf(text), view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, k) => view.getFloat32(4 * k, true));
}

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// A name with its unit, without line breaks.
function withItsUnit(name, unit) {
  return unit ? `${name}, ${unit.replaceAll(" ", "\u00a0")}` : name;
}

// A column with its values; for one that hardly varies they and its axes are differences from `base`.
function readColumn(column) {
  const { name, unit, base } = column, digits = base ? Math.ceil(Math.log10(Math.abs(base) / (column.high - column.low))) + 3 : 4;
  const title = base ? `${name} - ${base}` : name;
  return { ...column, data: decoded(column.data), digits: clamp(digits, 4, 15), label: withItsUnit(title, unit) };
}

// ---- numbers and names as text -------------------------------------------------------------------------------------

// Few digits, as in the tables: an exponent only for many zeros.
function short(x, digits = 4) {
  if (!Number.isFinite(x)) return "failed";
  const rounded = Number(x.toPrecision(digits)), size = Math.abs(rounded);
  return size !== 0 && (size >= 10 ** Math.max(digits, 5) || size < 1e-4) ? rounded.toExponential().replace("e+", "e") : String(rounded);
}

// Value of column c in row k.
function valueText(column, k) {
  const x = column.data[k];
  return column.levels ? column.levels[x] : short(column.base + x, column.digits);
}
const withUnit = (text, unit) => (unit && text !== "failed" ? `${text} ${unit}` : text);
const inWords = (column, k) => `${column.name} ${withUnit(valueText(column, k), column.unit)}`;

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, " ");
const rowsSaid = (count) => `${grouped(count)} row${count === 1 ? "" : "s"}`;

// Shorten a long name in the middle, as names often begin alike.
const cut = (name, most) => (name.length <= most ? name : `${name.slice(0, Math.ceil(most / 2) - 2)}...${name.slice(1 - Math.floor(most / 2))}`);

// ---- axes ----------------------------------------------------------------------------------------------------------

// Map values of a column to fractions from 0 to 1 and back; `wide` are additional values that the axis includes if it
// becomes at most twice as long.
function axisOf(column, wide = []) {
  const to = column.log ? Math.log10 : (x) => x, from = column.log ? (x) => 10 ** x : (x) => x;
  let low = to(column.low - column.base), high = to(column.high - column.base);
  const span = high - low, places = wide.filter(Number.isFinite).map(to);
  for (const x of [...places].sort((a, b) => Math.abs(a - low) - Math.abs(b - low)))
    if (Math.max(high, x) - Math.min(low, x) <= 2 * span) { low = Math.min(low, x); high = Math.max(high, x); }
  return { low, high, log: column.log, share: (x) => (to(x) - low) / (high - low), value: (s) => from(low + s * (high - low)) };
}

// The levels of a text column on its axis, as {share, text}.
const levelTicks = ({ levels }, axis) => levels.slice(0, -1).map((text, k) => ({ share: axis.share(k), text: text || '""' }));

// Round numbers on an axis, at most this many, as {share, text}.
function ticksOf(axis, most) {
  const found = axis.log ? logTicks(axis, most) : plainTicks(axis.low, axis.high, most);
  return found.map((x) => ({ share: axis.share(x), text: tickText(x) })).filter(({ share }) => share > -1e-6 && share < 1 + 1e-6);
}

function plainTicks(low, high, most) {
  const least = (high - low) / most, power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= least * 0.999), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length <= most + 1; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// Powers of ten, thinned out or with intermediate values.
function logTicks({ low, high }, most) {
  const within = (numbers) => numbers.filter((x) => Math.log10(x) > low - 1e-9 && Math.log10(x) < high + 1e-9);
  const powers = [];
  for (let k = Math.floor(low); k <= high; k++) powers.push(k);
  for (const digits of [[1, 2, 5], [1, 3], [1]]) {
    const found = within(powers.flatMap((k) => digits.map((m) => Number(`${m}e${k}`))));
    if (found.length <= most) return found;
  }
  const every = Math.ceil(powers.length / most);
  return within(powers.filter((k) => k % every === 0).map((k) => Number(`1e${k}`)));
}

function tickText(x) {
  const size = Math.abs(x);
  return size !== 0 && (size >= 1e5 || size < 1e-3) ? x.toExponential().replace("e+", "e") : String(x);
}

// ---- elements ------------------------------------------------------------------------------------------------------

// An element with attributes and children; names from files only ever become text or attributes.
const make = (tag, attributes, ...children) => furnished(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => furnished(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function furnished(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

// A name with optional line breaks after dots and underscores.
const breakable = (name) => name.split(/(?<=[._])(?=\w)/).flatMap((part, k) => (k ? [make("wbr"), part] : [part]));

// Draw now and whenever the width of the plot changes.
function drawnToFit(plot, action) {
  let width = 0;
  const fit = () => {
    if (plot.clientWidth === width || !plot.clientWidth) return;
    width = plot.clientWidth;
    action();
  };
  fit();
  new ResizeObserver(fit).observe(plot);
}

// ---- tooltip with the values of a row ---------------------------------------------------------------------------------

const tipOf = (plot) => plot.querySelector(".tip") || plot.appendChild(make("div", { class: "tip", hidden: "" }));

// Embedded row k, shown next to (x, y) of the plot, on the side with more room.
function showTip(plot, k, x, y) {
  const tip = tipOf(plot), lines = columns.flatMap((column) => [make("dt", {}, cut(column.name, 28)), make("dd", {}, withUnit(valueText(column, k), column.unit))]);
  tip.replaceChildren(make("b", {}, `row ${study.rows[k]}`), make("dl", { class: columns.length > 14 ? "two" : null }, ...lines));
  tip.hidden = false;
  const beside = x < plot.clientWidth / 2 ? x + 14 : x - 14 - tip.offsetWidth;
  tip.style.left = `${clamp(beside, 0, Math.max(plot.clientWidth - tip.offsetWidth, 0))}px`;
  tip.style.top = `${clamp(y - tip.offsetHeight / 2, 0, Math.max(plot.clientHeight - tip.offsetHeight, 0))}px`;
}

const hideTip = (plot) => { tipOf(plot).hidden = true; };

// ---- a clicked row ---------------------------------------------------------------------------------------------------

// Its values, the command that simulates it again, and its simulation if embedded.
function chooseRow(id, k) {
  const row = study.rows[k], command = study.command.join(row), action = (key, value, text) => make("button", { type: "button", [key]: value }, text);
  const buttons = [action("data-copy", command, "copy command")];
  if (element(`simulation-${row}`)) buttons.unshift(action("data-simulation", row, "simulation"));
  element(id).hidden = false;
  element(id).replaceChildren(make("b", {}, `Row ${row}`), `: ${columns.map((column) => inWords(column, k)).join("; ")}. `, make("code", {}, command), " ", make("span", { class: "buttons" }, ...buttons));
}
