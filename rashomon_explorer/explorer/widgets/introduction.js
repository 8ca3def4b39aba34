// What the page is about in one sentence and three steps, and a tour of four stops. The browser
// remembers that they were seen; the button ? brings them back.

const KEY = "rashomon-explorer-introduction";
const PATIENCE = 20_000; // milliseconds until a tour that found nothing to point at is given up
const WIDE = 1050; // pixels; narrower pages start no tour by themselves

const TEXT = `
<p><b>A Rashomon set is the set of all models that explain the data almost as well as the best one.</b>
ψ is how much worse a good model may be. ε is how much the drawn models may reveal about one person.</p>
<ol><li><b>Plan</b>: set ψ and ε; no row is read.</li>
<li><b>Draw</b> models from the private rows; this spends ε.</li>
<li><b>Explore</b> where they disagree, and <b>release</b>.</li></ol>`;

const STOPS = [
  [".rx-dials", "<b>Plan.</b> Three dials: how good, how private, how many. Moving one reads no row and spends nothing."],
  [".rx-draw-card .rx-draw", "<b>Draw.</b> The blue button names its cost. The ledger keeps every charge, so the budget cannot be exceeded by mistake."],
  [".rx-tabs nav", "<b>Explore.</b> Each view answers one question. Select models or people in a figure, and all views follow. ⋯ has table, Python and definition."],
  [".rx-view-switch", "<b>Release.</b> Curator shows everything and is not private. Release shows only what may be shown to others; Save exports it."],
];

const seen = {
  get: () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return "seen"; // without local storage, the tour would start at every visit
    }
  },
  set: (value) => {
    try {
      localStorage.setItem(KEY, value);
    } catch {
      // It is shown again at the next visit.
    }
  },
};

function button(words, hint, act) {
  const node = document.createElement("button");
  node.type = "button";
  node.className = "rx-quiet jupyter-button";
  node.textContent = words;
  node.title = hint;
  node.addEventListener("click", act);
  return node;
}

function render({ el }) {
  el.classList.add("rx-intro", "rx-card");
  el.innerHTML = TEXT;
  const bubble = document.createElement("div");
  bubble.className = "rx-tour";
  bubble.popover = "manual";
  bubble.setAttribute("role", "dialog");
  bubble.setAttribute("aria-label", "Tour");
  const buttons = document.createElement("div");
  buttons.className = "rx-intro-buttons";
  let target = null;
  let gone = false;

  const leave = () => {
    target?.classList.remove("rx-tour-stop");
    target = null;
    if (bubble.isConnected && bubble.matches(":popover-open")) bubble.hidePopover();
    seen.set(seen.get() ?? "seen");
  };

  function stop(number) {
    target?.classList.remove("rx-tour-stop");
    const app = el.closest(".rx-app");
    if (bubble.parentNode !== app) app.append(bubble); // not hidden with the view
    target = [...app.querySelectorAll(STOPS[number][0])].find((node) => node.checkVisibility());
    if (!target) return number < STOPS.length - 1 ? stop(number + 1) : leave();
    target.classList.add("rx-tour-stop");
    target.scrollIntoView({ block: "nearest" });
    bubble.innerHTML = `${STOPS[number][1]}<div><span>${number + 1} of ${STOPS.length}</span></div>`;
    const last = number === STOPS.length - 1;
    const next = button(last ? "Done" : "Next", "", () => (last ? leave() : stop(number + 1)));
    bubble.lastChild.append(...(last ? [] : [button("Skip", "Skip the tour", leave)]), next);
    if (!bubble.matches(":popover-open")) bubble.showPopover();
    const [at, own] = [target.getBoundingClientRect(), bubble.getBoundingClientRect()];
    const below = at.bottom + own.height + 20 < innerHeight;
    const top = below ? at.bottom + 10 : Math.max(8, at.top - own.height - 10);
    bubble.style.top = `${top < at.bottom && top + own.height > at.top ? Math.max(8, at.top) : top}px`;
    bubble.style.left = `${Math.max(8, Math.min(at.left, innerWidth - own.width - 12))}px`;
    return undefined;
  }

  const show = (shown) => {
    el.hidden = !shown;
    el.classList.toggle("rx-asked", shown); // models hide an introduction that nobody asked for
    seen.set(shown ? "seen" : "hidden");
  };
  const begin = () => {
    document.querySelector(".rx-tabs a[href='#set']")?.click();
    requestAnimationFrame(() => stop(0));
  };
  buttons.append(button("Tour", "A tour of four stops", begin), button("✕", "Hide this introduction", () => show(false)));
  buttons.lastChild.setAttribute("aria-label", "Hide this introduction");
  el.append(buttons);
  el.hidden = seen.get() === "hidden";

  const help = button("?", "What is this? Introduction and tour", () => {
    show(true);
    begin();
  });
  help.classList.add("rx-help");
  help.classList.remove("rx-quiet");
  help.setAttribute("aria-label", help.title);

  const began = Date.now();
  function settle() {
    if (gone || Date.now() - began > PATIENCE) return;
    const app = el.closest(".rx-app");
    if (app && !help.isConnected) app.querySelector(".rx-theme")?.prepend(help);
    const wanted = seen.get() === null && innerWidth > WIDE && document.body.dataset.voila === "voila";
    if (wanted && !app?.querySelector(STOPS[0][0])) setTimeout(settle, 200);
    else if (wanted) stop(0);
    else if (!help.isConnected) requestAnimationFrame(settle);
  }
  settle();
  const escape = (event) => event.key === "Escape" && target && leave();
  document.addEventListener("keydown", escape);
  return () => {
    gone = true;
    leave();
    help.remove();
    bubble.remove();
    document.removeEventListener("keydown", escape);
  };
}

export default { render };
