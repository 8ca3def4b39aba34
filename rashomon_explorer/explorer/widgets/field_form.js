// What-If form of a person: buttons to other people, sliders of the first features, the other
// features folded away. Each change is sent to Python, which answers with all fields.

const PAUSE = 120; // ms between the values that a slider sends while it is dragged
const MOVES = [["‹ Previous", ":previous"], ["Next ›", ":next"], ["Random", ":random"]];

const short = (text) => (text && Number.isFinite(Number(text)) ? String(Number(Number(text).toPrecision(3))).replace(/^-/, "−") : text || "missing");

function render({ model, el }) {
  el.classList.add("rx-fields");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", model.get("label"));
  let lines = new Map(); // by the name of the feature
  let shape = "";
  let timer = 0;

  function send(name, value) {
    model.set("edit", { at: Date.now() + Math.random(), name, value });
    model.save_changes();
  }

  function button(text, name, hint) {
    const node = document.createElement("button");
    node.type = "button";
    node.className = "rx-quiet jupyter-button";
    node.textContent = text;
    node.title = hint;
    node.addEventListener("click", () => send(name, ""));
    return node;
  }

  const head = document.createElement("div");
  const title = document.createElement("h3");
  title.textContent = model.get("label");
  const moves = MOVES.map(([text, name]) => button(text, name, `${text.replace(/[‹›]/g, "").trim()} conflicting person`));
  const reset = button("Take changes back", "", "The person as in the table");
  head.className = "rx-fields-head";
  head.append(title, ...moves, reset);
  const words = document.createElement("p");
  words.setAttribute("role", "status");
  const first = document.createElement("div");
  const more = document.createElement("details");
  const summary = document.createElement("summary");
  const rest = document.createElement("div");
  more.append(summary, rest);
  el.replaceChildren(head, words, first, more);

  function line({ name, own, options, range, hint }) {
    const label = document.createElement("label");
    const text = document.createElement("span");
    const node = document.createElement(options.length ? "select" : "input");
    const shown = document.createElement("output");
    text.textContent = name;
    text.title = `${name} ${hint}`;
    for (const one of options) node.append(new Option(one || "missing", one));
    node.dataset.field = name;
    node.title = hint;
    if (!options.length && range.length) {
      const whole = [...range, Number(own)].every(Number.isInteger);
      Object.assign(node, { type: "range", min: range[0], max: range[1], step: whole ? 1 : "any" });
      const value = () => String(Number(Number(node.value).toPrecision(3)));
      node.addEventListener("input", () => {
        shown.textContent = short(node.value);
        clearTimeout(timer);
        timer = setTimeout(() => send(name, value()), PAUSE);
      });
    } else if (!options.length) Object.assign(node, { type: "text", inputMode: "decimal" });
    if (node.type !== "range") node.addEventListener("change", () => send(name, node.value));
    label.append(text, node, ...(node.type === "range" ? [shown] : []));
    return { label, node, shown };
  }

  function show() {
    const fields = model.get("fields");
    const now = JSON.stringify(fields.map(({ name, options, range }) => [name, options, range]));
    if (now !== shape) {
      shape = now;
      lines = new Map(fields.map((field) => [field.name, line(field)]));
      const labels = [...lines.values()].map((one) => one.label);
      first.replaceChildren(...labels.slice(0, model.get("sliders")));
      rest.replaceChildren(...labels.slice(model.get("sliders")));
      summary.textContent = `${rest.childElementCount} other features`;
      more.hidden = !rest.childElementCount;
    }
    for (const field of fields) {
      const { label, node, shown } = lines.get(field.name);
      const changed = field.value !== field.own;
      if (document.activeElement !== node || node.type !== "range") node.value = field.value;
      shown.textContent = short(field.value);
      label.classList.toggle("rx-changed", changed);
      label.title = changed ? `was ${short(field.own)}` : "";
    }
    reset.hidden = fields.every(({ value, own }) => value === own);
    for (const one of moves) one.hidden = !model.get("moves");
    words.textContent = model.get("words");
    words.hidden = !model.get("words");
    el.hidden = !fields.length;
  }

  model.on("change:fields change:count change:words change:moves", show);
  show();
  return () => model.off("change:fields change:count change:words change:moves", show);
}

export default { render };
