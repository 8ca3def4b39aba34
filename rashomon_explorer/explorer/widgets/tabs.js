// Links to the views of one page. On the dashboard's own page each view has an address; in a
// notebook, which has its own address and may show several explorers, views have none.
// Views are shown and hidden in the browser, so that they stay readable after the kernel has ended.
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
    // A phone shows only the first word; the accessible name stays the whole title.
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

  // The address must stay that of the view, so the link moves the focus itself.
  const skipTo = (app) => {
    const skip = app.querySelector(".rx-skip");
    if (!skip) return;
    skip.onclick = (event) => {
      event.preventDefault();
      // The visible one of the two Draw buttons (set, single model).
      const draws = [...app.querySelectorAll(".rx-draw-card .rx-draw")];
      const draw = draws.find((button) => button.offsetWidth) ?? draws[0];
      const card = draw.closest(".rx-draw-card");
      card.tabIndex = -1; // the card states why the button is disabled
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
