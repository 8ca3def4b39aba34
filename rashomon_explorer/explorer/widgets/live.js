// Live region: its element stays while its text changes, so that screen readers announce it.
export default {
  render({ model, el }) {
    el.classList.add("rx-live");
    const region = document.createElement("div");
    const show = () => {
      region.setAttribute("role", model.get("role"));
      region.className = model.get("kind");
      region.innerHTML = model.get("html");
      region.hidden = !model.get("html");
    };
    model.on("change", show);
    el.append(region);
    show();
    return () => model.off("change", show);
  },
};
