// The page asks the kernel regularly for a reply. Without one, the browser shows a message that
// Python sent at the start, and removes it when a reply arrives.
const EVERY = 500;
const AT_FIRST = 10; // seconds in which a page that loads may be silent

export default {
  render({ model, el }) {
    let asked = null;
    let heard = false;

    const show = () => {
      const patience = heard ? model.get("patience") : AT_FIRST;
      const silent = asked !== null && performance.now() - asked > 1000 * patience;
      if (silent === Boolean(el.firstChild)) return;
      if (!silent) {
        el.replaceChildren();
        return;
      }
      const region = document.createElement("div");
      region.setAttribute("role", "alert");
      region.className = "rx-kernel-lost";
      region.textContent = model.get(heard ? "words" : "unheard");
      el.append(region);
      if (!heard) return; // such as the HTML of a notebook, which a reload does not help
      const reload = document.createElement("button");
      reload.type = "button";
      reload.className = "jupyter-button mod-primary";
      reload.textContent = "Reload the page";
      reload.addEventListener("click", () => location.reload());
      region.append(" ", reload);
    };
    const ask = () => {
      // Ask again even without a reply: a lost connection may have dropped the last message.
      asked ??= performance.now();
      show(); // before sending, which fails if the kernel has ended
      model.send({ kind: "alive?" });
    };
    const answered = () => {
      asked = null;
      heard = true;
      show();
    };
    model.on("msg:custom", answered);
    const timer = setInterval(ask, EVERY);
    ask(); // the kernel then knows that a browser follows it
    return () => {
      clearInterval(timer);
      model.off("msg:custom", answered);
    };
  },
};
