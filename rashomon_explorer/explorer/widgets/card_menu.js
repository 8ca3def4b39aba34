// The ⋯ menu of a card. An entry opens its text in a box over the page, so that no figure shrinks.
// Both boxes are popovers of the browser: Escape, a click elsewhere or ✕ closes them.

const EDGE = 8; // pixels between a box and the window

function render({ model, el }) {
  el.classList.add("rx-menu");
  const make = (kind, name, words = "") => {
    const node = document.createElement(kind);
    node.className = name;
    node.textContent = words;
    if (kind === "button") node.type = "button";
    return node;
  };
  const opener = make("button", "rx-menu-opener jupyter-button", "⋯");
  const list = make("div", "rx-menu-list");
  const box = make("div", "rx-menu-box");
  const heading = make("b", "rx-menu-heading");
  const close = make("button", "rx-quiet jupyter-button", "✕");
  const body = make("div", "rx-menu-body");
  close.setAttribute("aria-label", "Close");
  box.setAttribute("role", "dialog");
  box.append(heading, close, body);
  list.popover = box.popover = "auto";
  opener.popoverTargetElement = list;
  close.popoverTargetElement = box;
  close.popoverTargetAction = "hide";
  el.append(opener, list, box);

  // Below the ⋯ button and within the window.
  function place(node) {
    const { right, bottom } = opener.getBoundingClientRect();
    const { width, height } = node.getBoundingClientRect();
    const within = (at, most) => `${Math.max(EDGE, Math.min(at, most - EDGE))}px`;
    node.style.left = within(right - width, innerWidth - width);
    node.style.top = within(bottom + 4, innerHeight - height);
  }

  const choose = (name) => {
    model.set("chosen", name);
    model.save_changes();
  };

  function show() {
    const label = model.get("label");
    opener.title = `More about “${label}”`;
    opener.setAttribute("aria-label", opener.title);
    const own = model.get("entries").map(({ name, hint, disabled }) => {
      const entry = make("button", "rx-menu-entry jupyter-button", name);
      entry.title = hint;
      entry.disabled = disabled;
      entry.addEventListener("click", () => {
        list.hidePopover();
        choose(name);
      });
      return entry;
    });
    list.querySelectorAll(".rx-menu-entry").forEach((one) => one.remove());
    list.prepend(...own);
  }

  function open() {
    const [chosen, html] = [model.get("chosen"), model.get("html")];
    heading.textContent = `${chosen} · ${model.get("label")}`;
    box.setAttribute("aria-label", heading.textContent);
    body.innerHTML = html;
    const wanted = Boolean(chosen && html) && opener.checkVisibility();
    if (wanted !== box.matches(":popover-open")) wanted ? box.showPopover() : box.hidePopover();
    if (wanted) place(box);
  }

  list.addEventListener("toggle", ({ newState }) => newState === "open" && place(list));
  box.addEventListener("toggle", ({ newState }) => newState === "closed" && model.get("chosen") && choose(""));
  model.on("change:entries change:label", show);
  model.on("change:html", open);
  show();
  return () => {
    model.off("change:entries change:label", show);
    model.off("change:html", open);
  };
}

export default { render };
