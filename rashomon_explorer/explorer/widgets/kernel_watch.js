// The page asks the kernel regularly for a reply. Without one, the browser shows a message that
// Python sent at the start, and removes it when a reply arrives.
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
      // Ask again even without a reply: a lost connection may have dropped the last message.
      asked ??= performance.now();
      show(); // before sending, which fails if the kernel has ended
      model.send({ kind: "alive?" });
    };
    const answered = () => {
      asked = null;
      show();
    };
    model.on("msg:custom", answered);
    ask(); // the kernel then knows that a browser follows it
    const timer = setInterval(ask, EVERY);
    return () => {
      clearInterval(timer);
      model.off("msg:custom", answered);
    };
  },
};
