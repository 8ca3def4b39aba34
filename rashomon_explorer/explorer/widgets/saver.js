// Button that saves text as a file; the browser contacts no host.

function render({ model, el }) {
  el.classList.add("rx-saver");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jupyter-button rx-quiet";
  el.replaceChildren(button);

  function show() {
    button.textContent = model.get("label");
    button.title = model.get("name");
    button.disabled = !model.get("content");
  }

  function save() {
    const address = URL.createObjectURL(new Blob([model.get("content")], { type: "text/plain" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = model.get("name");
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  button.addEventListener("click", save);
  model.on("change", show);
  show();
  return () => model.off("change", show);
}

export default { render };
