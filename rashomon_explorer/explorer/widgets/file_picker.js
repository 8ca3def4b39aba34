// Native file input; supports keyboard, screen reader, and drag and drop.

function render({ model, el }) {
  // Each widget has its own copy of this module, so a counter here would not be unique.
  const id = `rx-file-${Math.random().toString(36).slice(2)}`;
  el.classList.add("rx-file");
  el.innerHTML = `<label for="${id}"></label><input id="${id}" type="file">`;
  const label = el.querySelector("label");
  const input = el.querySelector("input");

  const show = () => {
    label.textContent = model.get("label");
    input.accept = model.get("accept");
    input.disabled = model.get("disabled");
  };

  async function chosen() {
    const file = input.files[0];
    if (!file) return;
    const fits = file.size <= model.get("most_bytes");
    // The server would drop a larger message without an error.
    const content = fits ? await file.arrayBuffer() : new ArrayBuffer(0);
    model.set({
      name: file.name,
      size: file.size,
      content: new DataView(content),
      picked: model.get("picked") + 1,
    });
    model.save_changes();
  }

  input.addEventListener("change", chosen);
  model.on("change", show);
  show();
  return () => model.off("change", show);
}

export default { render };
