// Draw each figure from the JSON next to it, in the colours of the page, and again for print.
(() => {
  const looks = JSON.parse(document.getElementById("looks").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 34rem)");
  const paperWidth = 660;
  const lettersALine = 54;
  const lineHeight = 15;
  const leastPlot = 220; // pixels between the axes, whatever the legend takes
  const options = {
    responsive: true,
    displaylogo: false,
    modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
  };
  const drawn = [];

  // The policy names the hash of the unpacked script, so that no other one runs.
  async function unpackPlotly() {
    const text = document.getElementById("plotly").textContent;
    const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  function look() {
    return looks[dark.matches ? "dark" : "light"];
  }

  // Plotly truncates a subtitle that is wider than the figure.
  function wrapSubtitle(layout) {
    const [whole, head, text, tail] = /^(.*?<span[^>]*>)(.*)(<\/span>)$/s.exec(layout.title.text) ?? [];
    if (!whole) return;
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (longer.length > lettersALine) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    const more = lineHeight * (lines.length - 1);
    layout.title.text = head + lines.join("<br>") + tail;
    layout.margin.t += more;
    layout.height += more;
  }

  function draw(source) {
    const place = document.getElementById(source.dataset.figure);
    const figure = JSON.parse(source.textContent);
    figure.layout.template = look();
    figure.layout.dragmode = figure.layout.dragmode === "select" ? "zoom" : figure.layout.dragmode;
    if (narrow.matches) {
      figure.layout.margin.r = 10;
      options.displayModeBar = false;
      wrapSubtitle(figure.layout);
    }
    place.style.height = `${figure.layout.height}px`;
    return plotly
      .then(() => Plotly.newPlot(place, figure.data, figure.layout, options))
      .then(() => heighten(place))
      .then(() => drawn.push(place))
      .catch((error) => {
        place.textContent = "This figure could not be drawn; its numbers are in the table below.";
        place.style.height = "auto";
        console.error(error);
      });
  }

  // A table drawn as a figure has lines of text, whose number is its height.
  function heighten(place) {
    const { _size, height, meta } = place._fullLayout;
    const missing = meta?.least ? 0 : Math.ceil(leastPlot - _size.h);
    if (missing <= 0) return;
    place.style.height = `${height + missing}px`;
    return Plotly.relayout(place, { height: height + missing });
  }

  function redraw(changes) {
    return Promise.all(
      drawn.map((place) => Plotly.relayout(place, changes).then(() => heighten(place))),
    );
  }

  dark.addEventListener("change", () => redraw({ template: look() }));
  addEventListener("beforeprint", () => redraw({ template: looks.light, width: paperWidth }));
  addEventListener("afterprint", () => redraw({ template: look(), width: null, autosize: true }));

  const plotly = unpackPlotly();
  const sources = [...document.querySelectorAll("script[data-figure]")];
  Promise.all(sources.map(draw)).then(() => {
    document.body.dataset.figures = `${drawn.length} of ${sources.length}`;
  });
})();
