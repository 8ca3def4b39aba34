// Button that folds and unfolds content on a phone; on wider pages the style sheet hides it and
// shows all content. It works without the kernel.

function render({ model, el }) {
  el.classList.add("rx-fold");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jupyter-button";
  const words = document.createElement("span");
  const mark = document.createElement("span");
  mark.setAttribute("aria-hidden", "true");
  button.append(words, mark);
  el.append(button);
  const box = () => el.closest(model.get("of"));

  let gone = false;
  function show() {
    if (!box()) {
      if (!gone) requestAnimationFrame(show); // not on the page yet
      return;
    }
    const open = model.get("unfolded");
    box().toggleAttribute("data-open", open);
    words.textContent = model.get("words");
    mark.textContent = model.get("marks")[Number(open)];
    button.setAttribute("aria-label", model.get("label"));
    button.setAttribute("aria-expanded", String(open));
    button.title = model.get("label");
  }

  function turn(open) {
    model.set("unfolded", open);
    model.save_changes();
  }

  function leave(event) {
    if (event.key !== "Escape" || !model.get("unfolded")) return;
    if (!model.get("escapes") || !box().contains(document.activeElement)) return;
    turn(false);
    button.focus();
  }

  button.addEventListener("click", () => turn(!model.get("unfolded")));
  document.addEventListener("keydown", leave);
  model.on("change", show);
  show();
  return () => {
    gone = true;
    document.removeEventListener("keydown", leave);
    model.off("change", show);
  };
}

export default { render };
