// Light or dark theme, stored for the next visit; a theme in the address takes precedence.
const KEY = "rashomon-explorer-theme";
const dark = () => document.body.dataset.jpThemeLight === "false";

function render({ el }) {
  el.classList.add("rx-theme");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jupyter-button widget-button";
  button.innerHTML = '<span aria-hidden="true">◐</span>';
  el.append(button);

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
    try {
      localStorage.setItem(KEY, dark() ? "dark" : "light");
    } catch {
      // Without local storage, the choice is lost at the next visit.
    }
  });
  let kept = null;
  try {
    kept = localStorage.getItem(KEY);
  } catch {
    kept = null;
  }
  if (kept && !new URLSearchParams(location.search).has("theme")) turn(kept === "dark");
  else name();
}

export default { render };
