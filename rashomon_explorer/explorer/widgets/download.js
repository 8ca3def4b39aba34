// A button behind which a file is made when somebody asks for it; the browser asks nobody else.

function render({ model, el }) {
  el.classList.add("rx-saver");
  const button = document.createElement("button");
  button.type = "button";
  el.replaceChildren(button);

  function show() {
    button.className = `jupyter-button ${model.get("primary") ? "mod-primary" : "rx-quiet"}`;
    button.textContent = model.get("making") ? "Making it…" : model.get("label");
    button.title = model.get("hint");
    button.disabled = model.get("disabled") || model.get("making");
  }

  function save(message, buffers) {
    if (message.type !== "file") return;
    const address = URL.createObjectURL(new Blob([buffers[0]], { type: message.mime }));
    const link = document.createElement("a");
    link.href = address;
    link.download = message.name;
    link.click();
    el.dataset.saved = message.name;
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  button.addEventListener("click", () => model.send({ type: "asked" }));
  model.on("change", show);
  model.on("msg:custom", save);
  show();
  return () => {
    model.off("change", show);
    model.off("msg:custom", save);
  };
}

export default { render };
