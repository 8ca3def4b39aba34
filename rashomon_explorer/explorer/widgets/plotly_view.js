// One figure. Python owns the figure; this file only draws the newest one, in the page's colours.
// It reports "shown", "hidden" and "drawn", so that Python sends no faster than the browser draws,
// and only visible figures. The title is text of the page above the figure, so that it wraps.

const isDark = () =>
  document.body.dataset.jpThemeLight === "false" || document.body.classList.contains("vscode-dark");

const identity = (point) => ({
  trace: point.curveNumber,
  point: point.pointNumber ?? point.pointIndex,
  id: Array.isArray(point.customdata) ? point.customdata[0] : (point.customdata ?? null),
  x: point.x ?? null,
  y: point.y ?? null,
});

// A bar of a histogram stands for several points, whose numbers in its trace are their ids.
const identities = (points) =>
  points.flatMap((point) =>
    (point.pointNumbers ?? [null]).map((id) => ({ ...identity(point), ...(id !== null && { id }) })),
  );

const TITLE_LINES = 50; // pixels at the top of a figure for title and subtitle
const LEAST = 150; // smallest useful height in pixels
const ROWS = 440; // a higher figure has one row per item and cannot be compressed
const PLOT = 164; // least height in pixels between the margins
const MARKS = 24; // pixels below an axis, where the marks of a card stand, if there are any
const NARROW = 480; // pixels of width
const LETTER = 6.5; // pixels of a letter of a band, about
const AXIS = 48; // pixels of ticks and axis title

// Text of a title without markup: it may contain user-defined column names, so nothing is executed.
const plain = (html) => new DOMParser().parseFromString(html, "text/html").body.textContent;

function headline(title) {
  const [first, ...rest] = (title?.text ?? "").split("<br>");
  return [plain(first), rest.map(plain).join(" ").trim()];
}

// Marks as letters: the legend is a line of the page above the figure, which wraps as text does.
const OPEN = { circle: "○", square: "□", diamond: "◇", "triangle-up": "△" };
const FULL = { circle: "●", square: "■", diamond: "◆", "triangle-up": "▲", x: "✖", cross: "✚" };
const first = (one) => (Array.isArray(one) || ArrayBuffer.isView(one) ? one[0] : one);

function glyph({ mode = "", type, marker, line, fill, fillcolor }) {
  const shape = String(first(marker?.symbol) ?? "square");
  const [form, hollow] = [shape.replace("-open", ""), shape.endsWith("-open") || marker?.color === "white"];
  if (mode.includes("markers") || !type.startsWith("scatter"))
    return [(hollow ? OPEN : FULL)[form] ?? "●", first(hollow ? marker.line?.color : (marker?.color ?? line?.color))];
  return fill && fill !== "none" ? ["▬", fillcolor] : [line?.dash === "solid" ? "━" : "┅", line?.color];
}

const listed = (trace) => trace.showlegend !== false && trace.visible !== false && trace.name;
const keyed = (data, layout) =>
  layout.showlegend !== false && (layout.showlegend || data.filter(listed).length > 1);

// Figures that appear together are drawn one after another, so that the first is visible before the
// second is drawn; a slow figure delays the next by at most WAIT. Each figure has its own copy of
// this file, so the queue is stored globally.
const WAIT = 1000; // milliseconds

async function turn() {
  const before = globalThis.__rashomonTurn;
  let leave;
  globalThis.__rashomonTurn = new Promise((resolve) => (leave = resolve));
  await Promise.race([before, new Promise((go) => setTimeout(go, WAIT))]);
  return () => {
    requestAnimationFrame(() => setTimeout(leave));
    setTimeout(leave, 100); // a hidden page has no animation frames
  };
}

// Apply a patch: for long texts and lists, it gives the length of the beginning to keep.
function merged(before, piece) {
  if (piece === null || typeof piece !== "object") return piece;
  if ("$kept" in piece) {
    const same = before.slice(0, piece.$kept);
    return typeof same === "string" ? same + piece.new : [...same, ...piece.new];
  }
  if (Array.isArray(piece)) return piece.map((part, place) => merged(before?.[place], part));
  return Object.fromEntries(
    Object.entries(piece).map(([key, part]) => [key, merged(before?.[key], part)]),
  );
}

function render({ model, el }) {
  el.classList.add("rx-plot");
  el.innerHTML = '<h3 class="rx-plot-title"></h3><p class="rx-plot-said"></p><p class="rx-plot-key"></p>';
  const [title, said, key] = el.children;
  const frame = document.createElement("div");
  frame.className = "rx-plot-frame";
  const gd = document.createElement("div");
  gd.className = "rx-plot-area";
  gd.setAttribute("role", "img");
  frame.append(gd);
  const save = document.createElement("button");
  save.type = "button";
  save.className = "rx-png jupyter-button";
  save.textContent = "PNG";
  save.disabled = true;
  const handle = handled(frame, gd, model, () => newest().figure);
  el.append(frame, save);
  const ring = ringed(frame, gd);
  const unlit = lit(ring);

  let Plotly = null;
  let busy = false;
  let stale = true;
  let gone = false;

  const name = () => {
    gd.setAttribute("aria-label", model.get("label"));
    gd.dataset.figure = model.get("name");
    save.title = save.disabled
      ? "No picture to save: nothing is drawn yet"
      : `Save this figure as a picture: ${model.get("label")}`;
  };
  const tell = (trait, value) => {
    model.set(trait, value);
    model.save_changes();
  };

  // The newest figure: that of the model, or that with later patches applied.
  let grown = null;
  const newest = () => {
    const rev = model.get("rev");
    return grown?.rev > rev ? grown : { rev, figure: model.get("figure") };
  };
  function grow({ type, since, rev, figure }) {
    if (type !== "grown") return;
    const { rev: known, figure: before } = newest();
    if (known >= rev) return;
    if (known !== since) return model.send({ type: "whole" });
    grown = { rev, figure: merged(before, figure) };
    draw();
  }
  const renew = () => {
    if (grown?.rev !== model.get("rev")) draw();
  };

  async function draw() {
    stale = true;
    if (!Plotly || busy || gone || !gd.offsetWidth) return;
    busy = true;
    const leave = "rev" in gd.dataset ? null : await turn();
    try {
      while (stale && !gone && gd.offsetWidth) {
        stale = false;
        const { rev, figure: whole } = newest();
        const figure = structuredClone(whole);
        const template = model.get("templates")[isDark() ? "dark" : "light"] ?? {};
        const layout = fitted(figure, template);
        // Without a hovering pointer, plotly.js would always show its bar over the figure.
        const displayModeBar = matchMedia("(hover: hover)").matches ? "hover" : false;
        await Plotly.react(gd, figure.data ?? [], layout, { ...model.get("config"), displayModeBar });
        if (gone) break;
        explain(keyed(figure.data ?? [], figure.layout ?? {}));
        const changes = settled();
        if (Object.keys(changes).length) await Plotly.relayout(gd, changes);
        if (gone) break;
        listen();
        gd.dataset.rev = rev;
        save.disabled = !figure.data?.length;
        name();
        handle.put();
        ring();
        // In the card's menu if there is a card, else below the figure.
        const menu = el.closest(".rx-figure")?.querySelector(".rx-menu-list");
        if (menu && save.parentNode !== menu) menu.append(save);
        look();
        model.send({ type: "drawn", rev });
      }
    } finally {
      busy = false;
      leave?.();
    }
  }

  const fits = () => getComputedStyle(frame).getPropertyValue("--rx-fits").trim() === "1";

  // The height that the view leaves free if the page requests it, else that of the figure; at least
  // what margins and the least plot need.
  let own = 0, least = LEAST, needed = 0;
  function tall() {
    if (!fits()) return Math.max(own, needed);
    const room = Math.max(least, needed, frame.clientHeight);
    return own <= ROWS - TITLE_LINES ? room : Math.max(own, room);
  }

  function explain(shows) {
    const entries = shows ? gd._fullData.filter(listed) : [];
    const named = new Map(entries.map((trace) => [plain(trace.name), glyph(trace)]));
    const called = plain(gd._fullLayout.legend?.title?.text ?? "");
    key.replaceChildren(...(called && named.size ? [called] : []));
    for (const [words, [letter, colour]] of named) {
      const entry = document.createElement("span");
      const mark = document.createElement("i");
      mark.dataset.mark = letter;
      if (typeof colour === "string") mark.style.color = colour;
      entry.append(mark, words);
      key.append(entry);
    }
  }

  function fitted({ data, layout: wanted = {} }, template) {
    [title.textContent, said.textContent] = headline(wanted.title);
    const margin = { ...wanted.margin };
    // A band of two lines is higher than the margin that remains without the title.
    const band = wanted.shapes?.find((shape) => shape.name === "band")?.y1 ?? 0;
    margin.t = Math.max(30, band + 4, (margin.t ?? 84) - TITLE_LINES);
    own = (wanted.height ?? 360) - TITLE_LINES;
    least = wanted.meta?.least ?? LEAST; // pixels below which lines of text would overlap
    marked = showsMarks();
    const below = (wanted.xaxis?.visible === false ? 4 : AXIS) + (marked ? MARKS : 0);
    margin.b = keyed(data ?? [], wanted) ? below : Math.min(margin.b ?? 56, below);
    const layout = { ...wanted, template, margin, height: tall(), width: gd.offsetWidth, showlegend: false };
    delete layout.title;
    return layout;
  }

  // Whether marks stand below the axis. They may come after the figure, which is then drawn again;
  // words that stand in their place for a moment change nothing.
  let marks = null, marked = false;
  function showsMarks() {
    if (!marks?.isConnected) {
      marks = el.closest(".rx-figure")?.querySelector(":scope > .rx-bar > .rx-kinds");
      if (marks) resized.observe(marks);
    }
    return Boolean(marks?.offsetHeight && (marked || marks.querySelector("abbr")));
  }

  // Corrections that need the margins as drawn: room for the plot, and on a narrow page a band that
  // holds its words.
  function settled() {
    const { shapes, yaxis, height, _size: { l, r, t, b, w, h } } = gd._fullLayout;
    needed = t + b + PLOT;
    frame.style.setProperty("--rx-needs", `${needed}px`);
    const changes = height === tall() ? {} : { height: tall() };
    const place = gd.offsetWidth < NARROW ? (shapes ?? []).findIndex((shape) => shape.name === "band") : -1;
    const longest = (text) => LETTER * Math.max(...text.split("<br>").map((line) => line.length));
    if (place >= 0 && longest(shapes[place].label.text) > w)
      Object.assign(changes, { [`shapes[${place}].x0`]: -l / w, [`shapes[${place}].x1`]: 1 + r / w });
    const across = plain(yaxis?.title?.text ?? "");
    if (LETTER * across.length > h) changes["yaxis.title.text"] = yaxis.title.text.replace(", ", ",<br>");
    return changes;
  }

  // The picture includes the title, which the page shows above the figure, and the band that states
  // who may see it. It always uses the light theme, for use in documents.
  async function picture() {
    const { data, layout } = structuredClone(newest().figure);
    const template = model.get("templates").light;
    const [width, height] = [Math.max(760, gd.offsetWidth), Math.max(own, tall()) + TITLE_LINES];
    const url = await Plotly.toImage(
      { data, layout: { ...layout, template, width, height, paper_bgcolor: "#fff" }, config: model.get("config") },
      { format: "png", width, height, scale: 2 },
    );
    const link = document.createElement("a");
    link.href = url;
    link.download = `${model.get("name") || "figure"}.png`;
    link.click();
    el.dataset.saved = link.download;
  }
  save.addEventListener("click", picture);

  let visible = false;
  function look() {
    const now = !gone && gd.offsetWidth > 0;
    if (now !== visible) model.send({ type: now ? "shown" : "hidden" });
    visible = now;
    frame.tabIndex = now && frame.scrollHeight > frame.clientHeight + 1 ? 0 : -1;
  }

  let listening = false;
  function listen() {
    if (listening) return;
    listening = true;
    gd.on("plotly_click", (e) => {
      const ids = identities(e.points.slice(0, 1)).map(({ id }) => id);
      tell("clicked", { ...identity(e.points[0]), ids, at: Date.now() });
    });
    gd.on("plotly_hover", ({ points: [first] }) => {
      point(kindOf(first.fullData), identity(first).id);
      tell("hovered", identity(first));
    });
    gd.on("plotly_unhover", () => {
      point();
      tell("hovered", {});
    });
    gd.on("plotly_selected", (e) => tell("selected", identities(e?.points ?? [])));
    gd.on("plotly_deselect", () => tell("selected", []));
    gd.on("plotly_relayout", handle.put);
  }

  const resized = new ResizeObserver(() => {
    look();
    const drawn = gd._fullLayout;
    if (!gd.offsetWidth) return;
    if (stale || gd.offsetWidth !== drawn?.width || drawn.height !== tall() || showsMarks() !== marked) draw();
  });
  const themed = new MutationObserver(draw);

  name();
  model.on("change:label", name);
  model.on("change:rev", renew);
  model.on("msg:custom", grow);
  resized.observe(frame);
  themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
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
    unlit();
    resized.disconnect();
    themed.disconnect();
    model.off("change:label", name);
    model.off("change:rev", renew);
    model.off("msg:custom", grow);
    look();
    save.remove();
    if (Plotly) Plotly.purge(gd);
  };
}

export default { render };
