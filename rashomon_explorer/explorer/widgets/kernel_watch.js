// The page asks its program for a sign of life. Where none comes Python cannot say so any more: the
// browser does, with words that Python gave it at the start, and takes them back if an answer comes.
const EVERY = 5000;
// What was looked at, for the page that comes after this one in the same tab.
const LAST = "rashomon-explorer";

export default {
  render({ model, el }) {
    let asked = null;

    const show = () => {
      const silent = asked !== null && performance.now() - asked > 1000 * model.get("patience");
      if (silent === Boolean(el.firstChild)) return;
      if (!silent) {
        el.replaceChildren();
        return;
      }
      const region = document.createElement("div");
      region.setAttribute("role", "alert");
      region.className = "rx-kernel-lost";
      region.textContent = model.get("words");
      if (model.get("served")) region.append(" ", again());
      el.append(region);
    };
    const again = () => {
      const button = document.createElement("button");
      button.textContent = model.get("button");
      button.addEventListener("click", () => location.reload());
      return button;
    };
    const ask = () => {
      // Asked again although no answer came: a question may have been lost with its connection.
      asked ??= performance.now();
      show(); // first: where the program has ended for good, there is no way left to ask
      model.send({ kind: "alive?" });
    };
    const answered = () => {
      asked = null;
      show();
    };
    const remember = () => {
      if (model.get("served")) sessionStorage.setItem(LAST, model.get("last"));
    };
    const before = model.get("served") ? sessionStorage.getItem(LAST) : null;
    if (before) model.send({ kind: "reopen", name: before });
    else remember();
    model.on("msg:custom", answered);
    model.on("change:last", remember);
    const timer = setInterval(ask, EVERY);
    return () => {
      clearInterval(timer);
      model.off("msg:custom", answered);
      model.off("change:last", remember);
    };
  },
};
