// Light or dark theme: the system's until the button is pressed, which is stored for the next
// visit; a theme in the address takes precedence, and a notebook has its own.
const KEY = "rashomon-explorer-theme";
const dark = () => document.body.dataset.jpThemeLight === "false";

function render({ el }) {
  el.classList.add("rx-theme");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jupyter-button widget-button";
  button.innerHTML = '<span aria-hidden="true">◐</span>';
  el.append(button);

  let kept = null;
  const name = () => {
    const other = dark() ? "Light page" : "Dark page";
    button.setAttribute("aria-label", other);
    button.title = other;
  };
  const turn = (toDark) => {
    document.body.dataset.jpThemeLight = String(!toDark);
    document.body.dataset.jpThemeName = `JupyterLab ${toDark ? "Dark" : "Light"}`;
    name();
  };
  button.addEventListener("click", () => {
    turn(!dark());
    kept = dark() ? "dark" : "light";
    try {
      localStorage.setItem(KEY, dark() ? "dark" : "light");
    } catch {
      // Without local storage, the choice is lost at the next visit.
    }
  });
  try {
    kept = localStorage.getItem(KEY);
  } catch {
    kept = null;
  }
  const addressed = new URLSearchParams(location.search).has("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const follows = () => !kept && !addressed && document.body.dataset.voila === "voila";
  const follow = () => {
    if (follows()) turn(system.matches);
  };
  name();
  if (kept && !addressed) turn(kept === "dark");
  else follow();
  system.addEventListener("change", follow);
  return () => system.removeEventListener("change", follow);
}

export default { render };
