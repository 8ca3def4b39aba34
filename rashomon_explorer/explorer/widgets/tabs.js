// Links to the views of one page. A view has an address on a page of its own; in a notebook, where
// the address belongs to the notebook and several explorers may stand, it has none.
// Views are shown and hidden here, so that they can be read on when the program has ended.
const LANDMARKS = { "rx-skips": "navigation", "rx-topbar": "banner", "rx-rail": "complementary", "rx-main": "main" };

function render({ model, el }) {
  el.classList.add("rx-tabs");
  const nav = document.createElement("nav");
  nav.setAttribute("aria-label", model.get("label"));
  el.append(nav);
  const addressed = document.body.dataset.voila === "voila";
  const names = model.get("options").map(([name]) => name);

  const choose = (name) => {
    if (!names.includes(name) || name === model.get("value")) return;
    model.set("value", name);
    model.save_changes();
  };
  const fromAddress = () => choose(location.hash.slice(1));

  const links = model.get("options").map(([name, title]) => {
    const link = document.createElement("a");
    link.href = `#${name}`;
    // A phone has room for the first word; the whole name stays what the link is called.
    const [first, ...rest] = title.split(" & ");
    link.append(first);
    if (rest.length) {
      const more = document.createElement("span");
      more.className = "rx-tab-rest";
      more.textContent = ` & ${rest.join(" & ")}`;
      link.append(more);
    }
    link.addEventListener("click", (event) => {
      event.preventDefault();
      choose(name);
    });
    nav.append(link);
    return link;
  });

  // The address stays the view's, so the link moves the focus by itself.
  const skipTo = (app) => {
    const skip = app.querySelector(".rx-skip");
    if (!skip) return;
    skip.onclick = (event) => {
      event.preventDefault();
      // Of the set's and the one model's, the one in sight.
      const draws = [...app.querySelectorAll(".rx-draw-card .rx-draw")];
      const draw = draws.find((button) => button.offsetWidth) ?? draws[0];
      const card = draw.closest(".rx-draw-card");
      card.tabIndex = -1; // says why where the button cannot be pressed
      (draw.disabled ? card : draw).focus();
    };
    const target = app.querySelector(".rx-rail");
    if (target) target.id = "rx-draw"; // where the link leads without scripts
  };

  let gone = false;
  function show() {
    const app = el.closest(".rx-app");
    if (!app) {
      if (!gone) requestAnimationFrame(show); // not on the page yet
      return;
    }
    const value = model.get("value");
    app.dataset.page = value;
    links.forEach((link, place) => {
      if (names[place] === value) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    if (!addressed) return;
    for (const [kind, role] of Object.entries(LANDMARKS))
      app.querySelector(`.${kind}`)?.setAttribute("role", role);
    app.querySelector(".rx-skips")?.setAttribute("aria-label", "Shortcut");
    skipTo(app);
    app.querySelector(".rx-rail")?.setAttribute("aria-label", "Data, model, plan and draw");
    if (location.hash !== `#${value}`)
      history[location.hash ? "pushState" : "replaceState"](null, "", `#${value}`);
  }

  model.on("change:value", show);
  if (addressed) {
    addEventListener("hashchange", fromAddress);
    addEventListener("popstate", fromAddress);
    fromAddress();
  }
  show();
  return () => {
    gone = true;
    model.off("change:value", show);
    removeEventListener("hashchange", fromAddress);
    removeEventListener("popstate", fromAddress);
  };
}

export default { render };
