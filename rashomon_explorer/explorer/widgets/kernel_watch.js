// The page asks its program for a sign of life. Where none comes Python cannot say so any more: the
// browser does, with words that Python gave it at the start, and takes them back if an answer comes.
const EVERY = 5000;

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
      el.append(region);
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
    model.on("msg:custom", answered);
    const timer = setInterval(ask, EVERY);
    return () => {
      clearInterval(timer);
      model.off("msg:custom", answered);
    };
  },
};
