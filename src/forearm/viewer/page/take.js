// The panel Export: a picture, the run as CSV, and the same run as Python and as a command.

function save(name, content, type) {
  const address = content instanceof Blob ? URL.createObjectURL(content) : URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A file name from an arm's name: letters and digits only.
const fileName = (actor, ending) => `${(actor.arm.name || "arm").replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 60) || "arm"}${actors.length > 1 ? `_${actors.indexOf(actor) + 1}` : ""}.${ending}`;

function makeTake() {
  on("take-picture", "click", () => picture().toBlob((blob) => { save(fileName(actors[0], "png"), blob); say("Picture saved."); }));
  on("take-csv", "click", () => { for (const actor of actors) if (actor.run && actor.run.count) save(fileName(actor, "csv"), csvOf(actor.run), "text/csv"); say("Run saved."); });
  on("take-print", "click", () => window.print());
}

function textBlock(title, text, saved) {
  const copy = make("button", { type: "button" }, "Copy"), pre = make("pre", { tabindex: 0, "aria-label": title }, text);
  on(copy, "click", async () => {
    try { await navigator.clipboard.writeText(text); } catch {
      // Without clipboard access: selected, and copied the old way.
      const range = document.createRange();
      range.selectNodeContents(pre);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    say("Copied.", true);
  });
  const buttons = [copy];
  if (saved) buttons.push(make("button", { type: "button", onclick: () => save(saved, text, "text/plain") }, "Save"));
  return make("div", { class: "text" }, make("div", { class: "row between" }, make("b", {}, title), make("span", { class: "row" }, ...buttons)), pre);
}

// Everything that defines the run of an actor, for the code that reproduces it.
function aboutRun(actor) {
  const base = actor.run && actor.run.count ? actor.run.about : { kind: "pose", q0: Array.from(actor.q), qd0: new Array(actor.n).fill(0), ...worldNow(actor) };
  return { ...base, arm: actor.arm, end: base.end ?? (actor.run && actor.run.count ? endOf(actor.run) : 0) };
}

let taken = "";
function showTake() {
  if (element("panel-take").hidden) return;
  element("take-csv").disabled = !hasRun();
  const blocks = [];
  for (const actor of actors) {
    const about = aboutRun(actor), which = actors.length > 1 ? `, ${actors.indexOf(actor) + 1}` : "";
    blocks.push([`Python${which}`, pythonLine(about)]);
    blocks.push([`Command${which}`, commandLine(about)]);
    if (actor.arm.file) blocks.push(["Arm file", actor.arm.file, fileName(actor, "toml")]);
    if (actor.arm.request) blocks.push(["Request", actor.arm.request, fileName(actor, "request.toml")]);
  }
  const key = JSON.stringify(blocks);
  if (key === taken || element("texts").contains(document.activeElement)) return;
  taken = key;
  element("texts").replaceChildren(...blocks.filter(([, text]) => text).map((block) => textBlock(...block)));
}

// ---- paper: a picture of the view and a table of the joints ---------------------------------------------------------------

function makeSheet() {
  const image = make("img", { alt: "the arm", src: picture(1600).toDataURL("image/png") });
  const parts = [make("h1", {}, data.arms.map((arm) => arm.title || arm.name).join(" and ")), image];
  for (const actor of actors) {
    const head = ["joint", "position", "velocity", "torque or force", ...(actor.voltage ? ["voltage"] : []), "limits"];
    const rows = actor.arm.joints.map((joint, j) => {
      const scale = perUnit(joint), unit = unitOf(joint), end = (x) => (x === null ? "none" : plain(x * scale, 2));
      const cells = [joint.name, `${plain(actor.q[j] * scale, 4)} ${unit}`, `${plain(actor.qd[j] * scale, 4)} ${unit}/s`, `${short(actor.tau[j])} ${effortUnit(joint)}`,
        ...(actor.voltage ? [`${short(actor.voltage[j])} V`] : []), `${end(joint.lower)} to ${end(joint.upper)} ${unit}`];
      return make("tr", {}, ...cells.map((text) => make("td", {}, text)));
    });
    parts.push(make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", {}, text)))), make("tbody", {}, ...rows)));
  }
  const { gravity, payload, friction } = world;
  parts.push(make("p", {}, `gravity ${gravity.map((x) => plain(x, 3)).join(", ")} m/s\u00b2, payload ${plain(payload, 3)} kg, friction factor ${plain(friction, 3)}${clock.mode === "run" ? `, t = ${plain(clock.t, 4)} s` : ""}`));
  element("sheet").replaceChildren(...parts);
}
on(window, "beforeprint", () => { theme.printing = true; retheme(); makeSheet(); });
paper.addEventListener("change", () => { if (paper.matches && !theme.printing) makeSheet(); });
on(window, "afterprint", () => { theme.printing = false; retheme(); });
