// Buttons of the tables: a command onto the clipboard, a simulation in a new tab.

const SHOWN = 1600; // milliseconds for which a button shows its result
const opened = new Map(); // addresses of unpacked pages

// Message next to the button: in the clicked row, or above the tables.
function tellAt(button, ...parts) {
  const clicked = button.closest(".clicked"), beside = () => clicked.querySelector(".said") || clicked.appendChild(make("span", { class: "said", role: "status" }));
  (clicked ? beside() : element("simulation-note")).replaceChildren(...parts);
}

// Show a text on the button briefly, then restore it.
function flash(button, text) {
  button.dataset.usual ||= button.textContent;
  button.textContent = text;
  clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = setTimeout(() => { button.textContent = button.dataset.usual; }, SHOWN);
}

async function copyCommand(button) {
  const text = button.dataset.copy;
  const done = await navigator.clipboard.writeText(text).then(() => true, () => copiedOldWay(text)).catch(() => false);
  flash(button, done ? "copied" : "not copied");
  tellAt(button, done ? "Copied: " : "The browser does not let this page copy; the command is ", make("code", {}, text));
}

// Without clipboard access: copy from a selected field.
function copiedOldWay(text) {
  const field = make("textarea", { class: "unseen", "aria-hidden": "true" }, text), before = document.activeElement;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  before?.focus();
  return done;
}

// The address of a row's page, unpacked on first use.
async function simulationAddress(row) {
  if (!opened.has(row)) {
    const packed = new Blob([bytesOf(element(`simulation-${row}`).textContent)]);
    const page = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    opened.set(row, URL.createObjectURL(new Blob([page], { type: "text/html;charset=utf-8" })));
  }
  return opened.get(row);
}

// The tab is opened immediately, as browsers allow it only in response to the click.
async function openSimulation(button) {
  const row = button.dataset.simulation;
  if (typeof DecompressionStream !== "function") { tellAt(button, "This browser cannot unpack simulations; a newer one can."); return; }
  const tab = window.open("", "_blank");
  try {
    const address = await simulationAddress(row);
    if (tab) tab.location.replace(address);
    tellAt(button, tab ? `The simulation of row ${row} is in a new tab.` : make("a", { href: address, target: "_blank" }, `open the simulation of row ${row}`));
  } catch (error) {
    tab?.close();
    tellAt(button, `The simulation of row ${row} cannot be unpacked: ${error.message}`);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy], button[data-simulation]");
  if (!button) return;
  if (button.dataset.simulation) openSimulation(button);
  else copyCommand(button);
});
