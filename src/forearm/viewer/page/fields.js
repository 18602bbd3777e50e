// Fields of the panels: a slider and a number field that stay in sync.

// {label, min, max, value, unit, step, log} -> {box, get, set}; `changedTo` is called with the user's value.
function sliderField(options, changedTo) {
  const { label, min, max, unit, log } = options, id = `field-${++sliderField.count}`;
  const toSlider = (x) => (log ? Math.log(Math.max(x, min) / min) / Math.log(max / min) : (x - min) / (max - min));
  const fromSlider = (s) => (log ? min * (max / min) ** s : min + s * (max - min));
  const slider = make("input", { type: "range", min: 0, max: 1, step: 0.001, "aria-label": label });
  const number = make("input", { type: "number", id, step: "any", min: options.hard === false ? null : min });
  const round = (x) => Number(x.toPrecision(3));
  let value = options.value;
  function set(x, told = false, from = null) {
    value = x;
    if (from !== slider) slider.value = String(clamp(toSlider(x), 0, 1));
    if (from !== number) number.value = String(Number(x.toPrecision(6)));
    slider.setAttribute("aria-valuetext", `${number.value} ${unit}`);
    if (told) changedTo(x);
  }
  on(slider, "input", () => set(round(fromSlider(Number(slider.value))), true, slider));
  on(number, "input", () => { const x = Number(number.value); if (number.value !== "" && Number.isFinite(x) && (options.hard === false || x >= min)) set(x, true, number); });
  on(number, "change", () => set(value));
  const box = make("div", { class: "field" }, make("label", { for: id }, label), slider, number, make("span", { class: "unit" }, unit));
  set(value);
  return { box, get: () => value, set: (x) => set(x), number, slider };
}
sliderField.count = 0;

function checkField(label, value, changedTo) {
  const box = make("input", { type: "checkbox" });
  box.checked = value;
  on(box, "change", () => changedTo(box.checked));
  return { box: make("label", {}, box, ` ${label}`), input: box };
}
