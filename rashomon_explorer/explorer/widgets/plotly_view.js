// One figure. Python owns the figure; this file only draws the newest one, in the page's colours,
// and reports back: "mounted", "unmounted", "drawn" (so that Python sends no faster than we draw).

const isDark = () =>
  document.body.dataset.jpThemeLight === "false" || document.body.classList.contains("vscode-dark");

// One copy of plotly.js for all figures of a page. The UMD wrapper must not see an AMD `define`
// (require.js is on classic notebook and Voilà pages) and must not replace another's Plotly.
function library(model) {
  const shelf = (globalThis.__rashomonPlotly ??= {});
  return (shelf[model.get("plotly_version")] ??= (async () => {
    const id = model.get("bundle").replace(/^(IPY_MODEL_|anywidget:)/, "");
    const bundle = await model.widget_manager.get_model(id);
    const head = "const before = globalThis.Plotly;\n(function (module, exports, define) {\n";
    const tail =
      "\n}).call(globalThis);\nconst Plotly = globalThis.Plotly;\n" +
      "if (before) globalThis.Plotly = before;\nexport default Plotly;\n";
    const blob = new Blob([head, bundle.get("code"), tail], { type: "text/javascript" });
    const url = URL.createObjectURL(blob);
    try {
      return (await import(url)).default;
    } finally {
      URL.revokeObjectURL(url);
    }
  })());
}

const identity = (point) => ({
  trace: point.curveNumber,
  point: point.pointNumber ?? point.pointIndex,
  id: Array.isArray(point.customdata) ? point.customdata[0] : (point.customdata ?? null),
  x: point.x ?? null,
  y: point.y ?? null,
});

function render({ model, el }) {
  el.classList.add("rx-plot");
  const gd = document.createElement("div");
  gd.className = "rx-plot-area";
  gd.setAttribute("role", "img");
  el.append(gd);

  let Plotly = null;
  let busy = false;
  let stale = true;
  let gone = false;

  const name = () => gd.setAttribute("aria-label", model.get("label"));
  const tell = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };

  async function draw() {
    stale = true;
    if (!Plotly || busy || gone || !gd.offsetWidth) return;
    busy = true;
    try {
      while (stale && !gone) {
        stale = false;
        const rev = model.get("rev");
        const figure = structuredClone(model.get("figure"));
        const template = model.get("templates")[isDark() ? "dark" : "light"] ?? {};
        const layout = { ...figure.layout, template, width: gd.offsetWidth };
        // Without a pointer that hovers, plotly.js would show its bar over the figure for good.
        const displayModeBar = matchMedia("(hover: hover)").matches ? "hover" : false;
        await Plotly.react(gd, figure.data ?? [], layout, { ...model.get("config"), displayModeBar });
        if (gone) break;
        listen();
        gd.dataset.rev = rev;
        model.send({ type: "drawn", rev });
      }
    } finally {
      busy = false;
    }
  }

  let listening = false;
  function listen() {
    if (listening) return;
    listening = true;
    gd.on("plotly_click", (e) => tell("clicked", { ...identity(e.points[0]), at: Date.now() }));
    gd.on("plotly_hover", (e) => tell("hovered", identity(e.points[0])));
    gd.on("plotly_unhover", () => tell("hovered", {}));
    gd.on("plotly_selected", (e) => tell("selected", e?.points ? e.points.map(identity) : []));
    gd.on("plotly_deselect", () => tell("selected", []));
  }

  const resized = new ResizeObserver(() => {
    if (gd.offsetWidth && gd.offsetWidth !== gd._fullLayout?.width) draw();
  });
  const themed = new MutationObserver(draw);

  name();
  model.on("change:label", name);
  model.on("change:rev", draw);
  resized.observe(el);
  themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  model.send({ type: "mounted" });
  library(model).then(
    (loaded) => {
      Plotly = loaded;
      draw();
    },
    (error) => {
      gd.setAttribute("role", "alert");
      gd.textContent = `The figure library did not load: ${error.message}. Reload the page.`;
    },
  );

  return () => {
    gone = true;
    resized.disconnect();
    themed.disconnect();
    model.off("change:label", name);
    model.off("change:rev", draw);
    model.send({ type: "unmounted" });
    if (Plotly) Plotly.purge(gd);
  };
}

export default { render };
