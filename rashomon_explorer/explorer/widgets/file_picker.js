// A native file input: keyboard, screen reader and drag and drop come with it.

function render({ model, el }) {
  // Each widget gets its own copy of this module: a counter in it would number them all alike.
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
    // A larger message would be cut off by the server without a word.
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
