// Button with a title and one line below it. It unfolds the content below, or leads elsewhere.
function render({ model, el }) {
  const id = `rx-step-${Math.random().toString(36).slice(2)}`;
  el.classList.add("rx-step-line");
  el.innerHTML = `<button type="button" aria-describedby="${id}"></button><div id="${id}"></div>`;
  const button = el.querySelector("button");
  const summary = el.querySelector("div");

  const show = () => {
    const opens = model.get("opens");
    button.textContent = model.get("title");
    summary.innerHTML = model.get("summary");
    if (opens) button.setAttribute("aria-expanded", String(model.get("unfolded")));
    else button.removeAttribute("aria-expanded");
  };
  button.addEventListener("click", () => {
    if (model.get("opens")) model.set("unfolded", !model.get("unfolded"));
    model.set("pressed", model.get("pressed") + 1);
    model.save_changes();
  });
  model.on("change", show);
  show();
  return () => model.off("change", show);
}

export default { render };
