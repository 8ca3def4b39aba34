// Labelled native slider with a number box; supports keyboard, screen reader and touch natively.

const STEPS_PER_DECADE = 40;

const tidy = (value) => Number(value.toPrecision(2));
const shown = (value) =>
  value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)
    ? value.toExponential(value.toExponential(2).includes(".00e") ? 0 : 1).replace("e+", "e")
    : String(Number(value.toPrecision(6)));

function render({ model, el }) {
  // Each widget has its own copy of this module, so a counter here would not be unique.
  const id = `rx-dial-${Math.random().toString(36).slice(2)}`;
  el.classList.add("rx-dial");
  el.innerHTML = `
    <label for="${id}-box"></label>
    <input id="${id}-box" type="text" inputmode="decimal" autocomplete="off" aria-describedby="${id}-help">
    <input id="${id}-range" type="range" aria-describedby="${id}-help">
    <div id="${id}-help" class="rx-dial-help"></div>`;
  const label = el.querySelector("label");
  const box = el.querySelector("input[type=text]");
  const range = el.querySelector("input[type=range]");
  const help = el.querySelector(".rx-dial-help");
  let sent = null;

  const ends = () => [model.get("low"), model.get("high")];
  // A logarithmic slider that allows zero reserves its first position for zero.
  const shift = () => (model.get("zero") ? 1 : 0);
  const steps = () => {
    const [low, high] = ends();
    if (model.get("log")) return Math.round(Math.log10(high / low) * STEPS_PER_DECADE) + shift();
    return Math.round((high - low) / model.get("step"));
  };

  function toPosition(value) {
    const [low, high] = ends();
    if (!model.get("log")) return Math.round((value - low) / model.get("step"));
    if (shift() && value < low) return 0;
    const share = Math.log(value / low) / Math.log(high / low);
    return Math.round(share * (steps() - shift())) + shift();
  }

  function toValue(position) {
    const [low, high] = ends();
    if (!model.get("log")) return Number((low + position * model.get("step")).toPrecision(8));
    if (shift() && position === 0) return 0;
    const value = tidy(low * (high / low) ** ((position - shift()) / (steps() - shift())));
    const whole = model.get("integer") ? Math.round(value) : value;
    return Math.min(high, Math.max(low, whole));
  }

  function send(value) {
    sent = value;
    box.value = shown(value);
    speak(value);
    model.set("value", value);
    model.save_changes();
  }

  const speak = (value) => {
    range.setAttribute("aria-valuetext", `${shown(value)} ${model.get("unit")}`.trim());
    const share = Number(range.value) / Number(range.max || 1);
    range.style.setProperty("--rx-fill", `${100 * share}%`);
  };

  function fromModel() {
    label.textContent = model.get("label");
    const unit = model.get("unit");
    if (unit) {
      const small = document.createElement("span");
      small.className = "rx-dial-unit";
      small.textContent = ` ${unit}`;
      label.append(small);
    }
    range.setAttribute("aria-label", `${model.get("label")}${model.get("log") ? ", logarithmic" : ""}`);
    help.textContent = model.get("help");
    range.min = 0;
    range.max = steps();
    range.step = 1;
    box.disabled = range.disabled = model.get("disabled");
    const value = model.get("value");
    if (value !== sent) {
      range.value = toPosition(value);
      box.value = shown(value);
      sent = value;
    }
    speak(value);
  }

  function typed() {
    const [low, high] = ends();
    let value = Number(box.value.trim().replace(",", "."));
    const valid = box.value.trim() !== "" && Number.isFinite(value);
    if (!valid) value = model.get("value");
    if (model.get("integer")) value = Math.round(value);
    const floor = model.get("zero") && value <= 0 ? 0 : low;
    value = Math.min(high, Math.max(floor, value));
    range.value = toPosition(value);
    send(value);
  }

  // Skip steps that round to the same number, so that arrow keys always change the value.
  function moved() {
    let position = Number(range.value);
    const before = model.get("value");
    const direction = Math.sign(position - toPosition(before));
    while (toValue(position) === before && direction && position + direction >= 0 && position + direction <= steps())
      position += direction;
    range.value = position;
    send(toValue(position));
  }

  range.addEventListener("input", moved);
  box.addEventListener("change", typed);
  model.on("change", fromModel);
  fromModel();
  return () => model.off("change", fromModel);
}

export default { render };
