// One copy of plotly.js for all figures of a page.
function library(model) {
  const shelf = (globalThis.__rashomonPlotly ??= {});
  return (shelf[model.get("plotly_version")] ??= loaded(model));
}

// The dashboard's page names a file, which is loaded while the kernel starts; in a notebook the
// kernel sends it.
async function loaded(model) {
  const file = document.querySelector("link[data-rashomon-plotly]");
  if (file) {
    try {
      return (await import(file.href)).default;
    } catch {
      // A proxy may block files; the kernel can send it too.
    }
  }
  const id = model.get("bundle").replace(/^(IPY_MODEL_|anywidget:)/, "");
  const code = await asked(await model.widget_manager.get_model(id));
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return (await import(url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}

function asked(bundle) {
  return new Promise((resolve) => {
    const look = () => {
      if (!bundle.get("code")?.byteLength) return false;
      bundle.off("change:code", look);
      resolve(bundle.get("code"));
      return true;
    };
    bundle.on("change:code", look);
    if (!look()) bundle.send({ type: "wanted" });
  });
}

