// Features of a person as fields in lines that wrap. Each change is sent to Python, which answers
// with all fields; changed ones are marked, and one button takes all changes back.

function render({ model, el }) {
  el.classList.add("rx-fields");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", model.get("label"));

  function send(name, value) {
    model.set("edit", { at: Date.now(), name, value });
    model.save_changes();
  }

  function control({ name, value, options, hint }) {
    const node = document.createElement(options.length ? "select" : "input");
    for (const one of options) node.append(new Option(one || "missing", one));
    if (!options.length) {
      node.type = "text";
      node.inputMode = "decimal";
      node.size = Math.max(4, value.length);
    }
    node.value = value;
    node.title = hint;
    node.dataset.field = name;
    node.addEventListener("change", () => send(name, node.value));
    return node;
  }

  function show() {
    const focused = el.contains(document.activeElement) && document.activeElement.dataset.field;
    const fields = model.get("fields");
    const lines = fields.map((field) => {
      const line = document.createElement("label");
      line.classList.toggle("rx-changed", field.value !== field.own);
      if (field.value !== field.own) line.title = `was ${field.own || "missing"}`;
      line.append(`${field.name} `, control(field));
      return line;
    });
    const reset = document.createElement("button");
    reset.type = "button";
    reset.className = "rx-quiet jupyter-button";
    reset.textContent = "Take changes back";
    reset.hidden = fields.every(({ value, own }) => value === own);
    reset.addEventListener("click", () => send("", ""));
    el.replaceChildren(...lines, reset);
    el.hidden = !fields.length;
    [...el.querySelectorAll("[data-field]")].find((one) => one.dataset.field === focused)?.focus();
  }

  model.on("change:fields change:count", show);
  show();
  return () => model.off("change:fields change:count", show);
}

export default { render };
