// Used by all parts of the page: elements, number formatting, theme colours.

const data = JSON.parse(document.getElementById("studio-data").textContent);
const element = (id) => document.getElementById(id);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const DEGREE = Math.PI / 180;
// Hints for canvases of lines and text: with software WebGL, dashed lines cost a tenth of a second.
const ON_CPU = { willReadFrequently: true };

// An element with attributes and children; names from files only ever become text or attributes.
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  made.append(...children);
  return made;
}

function on(target, types, action, options) {
  for (const type of types.split(" ")) (typeof target === "string" ? element(target) : target).addEventListener(type, action, options);
}

// ---- numbers as text ---------------------------------------------------------------------------------------------

function short(x) {
  if (!Number.isFinite(x)) return "-";
  const size = Math.abs(x);
  if (size < 5e-10) return "0.000";
  return size >= 1e5 || size < 1e-3 ? x.toExponential(1) : x.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

// Three digits, for meters.
function brief(x) {
  const size = Math.abs(x);
  return !(size < 1e5) ? short(x) : x.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2).replace(/^-(0\.00)$/, "$1");
}

const plain = (x, digits) => String(Number(x.toFixed(digits)));

// Shorten a long name in the middle, as names often begin alike.
const cut = (name) => (name.length <= 28 ? name : `${name.slice(0, 12)}...${name.slice(-14)}`);

function nice(x) {
  if (!(x > 0) || !Number.isFinite(x)) return 1;
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 5, 10].find((m) => m * power >= x * 0.999);
}

function ticks(low, high, count) {
  const step = nice((high - low) / count), found = [];
  for (let k = Math.ceil(low / step); k * step <= high && found.length < 50; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// Little-endian base64 numbers, on machines of either byte order.
function decoded(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), size = Kind.BYTES_PER_ELEMENT;
  const view = new DataView(bytes.buffer), numbers = new Kind(bytes.length / size);
  const read = Kind === Float32Array ? "getFloat32" : Kind === Float64Array ? "getFloat64" : Kind === Uint16Array ? "getUint16" : "getUint32";
  for (let k = 0; k < numbers.length; k++) numbers[k] = view[read](k * size, true);
  return numbers;
}

// ---- theme: follows the system, or a surrounding page; white on paper ------------------------------------------------

const look = data.look;
const theme = { inks: look.inks["light"], dark: false, asked: null, printing: false, listeners: [] };
const night = matchMedia("(prefers-color-scheme: dark)"), paper = matchMedia("print");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const colour = (i) => theme.inks[`curve${((i % look.curves) + look.curves) % look.curves}`];
const dashes = (i, width) => look.dashes[i % look.dashes.length].map((part) => part * width);

function retheme() {
  theme.dark = (theme.asked ?? night.matches) && !theme.printing && !paper.matches;
  theme.inks = look.inks[theme.dark ? "dark" : "light"];
  if (theme.asked !== null) wearInks();
  for (const listener of theme.listeners) listener();
}

// The style sheet knows the system's theme alone.
function wearInks() {
  const { style } = document.documentElement;
  style.colorScheme = theme.dark ? "dark" : "light";
  for (const [name, value] of Object.entries(theme.inks)) style.setProperty(`--${name}`, value);
}

for (const query of [night, paper]) query.addEventListener("change", retheme);
on(window, "message", ({ source, data: said }) => {
  if (source !== parent || parent === window || !["dark", "light"].includes(said?.theme)) return;
  theme.asked = said.theme === "dark";
  retheme();
});
retheme();

// "#rgb" or "#rrggbb" as numbers from 0 to 1.
function rgb(text) {
  const digits = text.length === 4 ? [...text.slice(1)].map((d) => d + d).join("") : text.slice(1, 7);
  const value = parseInt(digits, 16);
  return Number.isFinite(value) ? [((value >> 16) & 255) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255] : [0.6, 0.6, 0.6];
}
const mixed = (a, b, share) => a.map((x, i) => x + share * (b[i] - x));

// A line in the style of curve i, for legends.
function swatch(i) {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), line = document.createElementNS(space, "line");
  for (const [key, value] of Object.entries({ width: 26, height: 8, "aria-hidden": "true" })) svg.setAttribute(key, value);
  const style = { x1: 0, y1: 4, x2: 26, y2: 4, "stroke-width": 2, "stroke-dasharray": dashes(i, 2).join(" ") };
  for (const [key, value] of Object.entries(style)) line.setAttribute(key, value);
  line.style.stroke = `var(--curve${i % look.curves})`;
  svg.append(line);
  return svg;
}

// Announced to screen readers, and shown briefly if important to everyone.
function say(text, shown = false) {
  if (element("say").textContent !== text) element("say").textContent = text;
  if (!shown) return;
  const toast = element("toast");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { toast.hidden = true; }, 3200);
}

// ---- units: radians internally, degrees on request -------------------------------------------------------------------

const units = { degrees: true, listeners: [] };
const perUnit = (joint) => (joint.unit === "rad" && units.degrees ? 1 / DEGREE : 1);
const unitOf = (joint) => (joint.unit === "rad" ? (units.degrees ? "\u00b0" : "rad") : "m");
const effortUnit = (joint) => (joint.unit === "rad" ? "N m" : "N");
