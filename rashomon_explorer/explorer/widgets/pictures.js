// Pictures of figures for a file that Python makes: light theme, with the title and the band that
// states who may see them, as PNG for slides and as SVG for print.

const WIDTH = 760;

async function picturesOf(figures, model, hand) {
  const Plotly = await library(model);
  for (const [name, { data, layout }] of Object.entries(figures)) {
    const size = { width: WIDTH, height: layout.height ?? 420 };
    const figure = { data, layout: { ...layout, ...size, paper_bgcolor: "#fff", plot_bgcolor: "#fff" } };
    const png = await Plotly.toImage(figure, { format: "png", ...size, scale: 2 });
    hand(`${name}.png`, Uint8Array.from(atob(png.split(",")[1]), (letter) => letter.charCodeAt(0)));
    const svg = await Plotly.toImage(figure, { format: "svg", ...size });
    hand(`${name}.svg`, new TextEncoder().encode(decodeURIComponent(svg.slice(svg.indexOf(",") + 1))));
  }
}

