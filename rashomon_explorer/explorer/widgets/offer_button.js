// Button that sells what it shows: a press sends the offer that its reader could read. A label that
// changed a moment ago was not read, so a press then means the offer before it.
const READING_MS = 250;

function render({ model, el }) {
  el.classList.add("rx-offer");
  const button = document.createElement("button");
  button.type = "button";
  el.append(button);
  let readable = model.get("offer");
  let pressed = null; // the offer at the beginning of a press
  let timer = 0;

  const read = () => {
    readable = model.get("offer");
    button.dataset.offer = readable;
  };
  const show = () => {
    const style = model.get("button_style");
    button.className = `jupyter-button widget-button ${model.get("kind")} ${style && `mod-${style}`}`;
    button.textContent = model.get("description");
    button.title = model.get("tooltip");
    button.disabled = model.get("disabled");
    clearTimeout(timer);
    if (model.get("offer") === readable) return read();
    delete button.dataset.offer;
    timer = setTimeout(read, READING_MS);
  };
  const begin = () => {
    pressed = readable;
  };
  button.addEventListener("pointerdown", begin);
  button.addEventListener("keydown", (event) => {
    if (!["Enter", " "].includes(event.key)) return;
    if (event.repeat) event.preventDefault(); // a key held down is one press
    else begin();
  });
  button.addEventListener("click", (event) => {
    const offer = pressed ?? readable;
    pressed = null;
    if (event.detail < 2) model.send({ type: "pressed", offer }); // a double click is one press
  });
  model.on("change", show);
  show();
  return () => {
    clearTimeout(timer);
    model.off("change", show);
  };
}

export default { render };
