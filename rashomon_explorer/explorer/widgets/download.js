// Button that makes a file on request; the browser contacts no other host.

function render({ model, el }) {
  el.classList.add("rx-saver");
  const button = document.createElement("button");
  button.type = "button";
  const said = document.createElement("span");
  said.className = "rx-note rx-saved";
  said.setAttribute("role", "status");
  el.replaceChildren(button, said);

  function show() {
    button.className = `jupyter-button ${model.get("primary") ? "mod-primary" : "rx-quiet"}`;
    button.textContent = model.get("making") ? "Making the file…" : model.get("label");
    button.title = model.get("hint");
    button.disabled = model.get("disabled") || model.get("making");
    if (model.get("making")) say("");
  }

  const say = (words) => {
    said.textContent = words;
    said.title = words;
  };

  // If several pages show the button, only the page where it was pressed draws.
  let pressed = false;
  async function draw(figures) {
    if (!pressed) return;
    const hand = (name, bytes) => model.send({ type: "picture", name }, undefined, [bytes]);
    try {
      await picturesOf(figures, model, hand);
    } finally {
      model.send({ type: "picture", name: "" }); // the file is made with the pictures sent so far
    }
  }

  function save(message, buffers) {
    if (message.type === "draw") draw(message.figures);
    if (message.type !== "file" || !pressed) return;
    pressed = false;
    const address = URL.createObjectURL(new Blob([buffers[0]], { type: message.mime }));
    const link = document.createElement("a");
    link.href = address;
    link.download = message.name;
    link.click();
    el.dataset.saved = message.name;
    say(`Saved ${message.name}`);
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  button.addEventListener("click", () => {
    pressed = true;
    model.send({ type: "asked" });
  });
  const forget = () => say("");
  model.on("change:of", forget);
  model.on("change", show);
  model.on("msg:custom", save);
  show();
  return () => {
    model.off("change:of", forget);
    model.off("change", show);
    model.off("msg:custom", save);
  };
}

export default { render };
