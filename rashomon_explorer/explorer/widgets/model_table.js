// Table with one row per model; only visible rows are in the document, so thousands of rows scroll
// well. Columns are sent once as binary numbers; search, sort and selection need no kernel.

const ROW = 27; // pixels of a row, as in the style sheet
const SPARE = 6; // rows beyond the visible ones

function render({ model, el }) {
  el.classList.add("rx-models");
  el.innerHTML = `
    <div class="rx-models-bar">
      <input type="search" placeholder="Search: 17, ★, a note, loss < 0.01" aria-label="Search the models: a number, ★, a note, or loss < 0.01">
      <span class="rx-models-count" role="status"></span>
    </div>
    <div class="rx-models-scroll" tabindex="0" role="region" aria-label="Table of models: arrow keys move, space selects, s stars, n writes a note">
      <table><thead><tr></tr></thead><tbody></tbody></table>
    </div>`;
  const search = el.querySelector("input[type=search]");
  const count = el.querySelector(".rx-models-count");
  const scroll = el.querySelector(".rx-models-scroll");
  const table = el.querySelector("table");
  const head = el.querySelector("thead tr");
  const body = el.querySelector("tbody");
  let columns = [];
  let order = [];
  let sorted = { name: "model", down: false };
  let focus = -1; // model with the keyboard focus
  let pointed = -1; // model under the pointer, here or in a figure
  let edits = 0;

  const floats = (view) => new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  const value = (column, draw) => (column ? column.numbers[draw] : draw);
  const named = (name) => columns.find((one) => one.name === name);
  const picked = () => new Set(model.get("picked"));
  const stars = () => new Set(model.get("starred"));
  const noteOf = (draw) => model.get("notes")[draw] ?? "";
  const count_of = () => model.get("count");

  function send(kind, draw, text) {
    model.set("edit", { count: ++edits, kind, draw, text: text ?? "" });
    model.save_changes();
  }

  function pick(draw) {
    const now = picked();
    now.has(draw) ? now.delete(draw) : now.add(draw);
    model.set("picked", [...now].sort((a, b) => a - b));
    model.save_changes();
  }

  // "loss < 0.01", "accuracy >= .8", the number of a model, ★, or text of a note.
  function wanted(words) {
    if (words === "★") {
      const marked = stars();
      return (draw) => marked.has(draw);
    }
    const rule = words.match(/^(.+?)\s*(<=|>=|<|>|=)\s*([-+.\d]+)\s*(%?)$/);
    if (rule) {
      const key = rule[1].trim().toLowerCase();
      const column = columns.find((one) => one.title.toLowerCase().startsWith(key) || one.name === key);
      const limit = Number(rule[3]) / (rule[4] ? 100 : 1);
      if (column && Number.isFinite(limit))
        return (draw) => {
          const own = value(column, draw);
          return { "<": own < limit, ">": own > limit, "<=": own <= limit, ">=": own >= limit, "=": own === limit }[rule[2]];
        };
    }
    const plain = words.toLowerCase().replace(/^draw\s+/, "");
    if (/^\d+$/.test(plain)) return (draw) => String(draw) === plain || noteOf(draw).includes(plain);
    return (draw) => noteOf(draw).toLowerCase().includes(plain);
  }

  function arrange() {
    const words = search.value.trim();
    const fits = words ? wanted(words) : () => true;
    const inside = named("inside");
    const hide = model.get("inside_only") && inside;
    order = [];
    for (let draw = 0; draw < count_of(); draw += 1)
      if (fits(draw) && !(hide && !inside.numbers[draw])) order.push(draw);
    const column = named(sorted.name);
    const sign = sorted.down ? -1 : 1;
    order.sort((a, b) => {
      const [first, second] = [value(column, a), value(column, b)];
      if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second) || a - b;
      return sign * (first - second) || a - b;
    });
    const all = count_of();
    count.textContent = order.length === all ? `${all.toLocaleString("en")} models` : `${order.length.toLocaleString("en")} of ${all.toLocaleString("en")} models shown`;
    headings();
    show();
  }

  function headings() {
    const cells = [["★", "", "Star: kept with the set"], ["model", "model", "Number of the draw"]];
    for (const one of columns) cells.push([one.title, one.name, one.help]);
    cells.push(["note", "", "Kept with the set"]);
    head.replaceChildren(
      ...cells.map(([title, name, help]) => {
        const th = document.createElement("th");
        th.scope = "col";
        th.title = help;
        if (named(name)?.curator) th.className = "rx-curator";
        if (!name) {
          th.textContent = title;
          return th;
        }
        const own = sorted.name === name;
        th.setAttribute("aria-sort", own ? (sorted.down ? "descending" : "ascending") : "none");
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = `${title}${own ? (sorted.down ? "\u00a0↓" : "\u00a0↑") : ""}`;
        button.setAttribute("aria-label", `Sort by ${title}`);
        button.addEventListener("click", () => {
          sorted = { name, down: own ? !sorted.down : false };
          scroll.scrollTop = 0;
          arrange();
          [...head.querySelectorAll("button")].find((b) => b.getAttribute("aria-label") === `Sort by ${title}`)?.focus();
        });
        th.append(button);
        return th;
      }),
    );
  }

  function row(draw, place, now, marked) {
    const tr = document.createElement("tr");
    tr.setAttribute("aria-rowindex", place + 2);
    tr.setAttribute("aria-selected", now.has(draw));
    tr.classList.toggle("rx-here", draw === focus);
    tr.classList.toggle("rx-lit", draw === pointed);
    tr.dataset.draw = draw;
    tr.addEventListener("mouseenter", () => point("draw", draw));
    tr.addEventListener("mouseleave", () => point());
    tr.addEventListener("click", (event) => {
      if (!event.target.closest("[data-own]")) pick(draw);
    });
    const star = own(tr.insertCell(), marked.has(draw) ? "★" : "☆", "Star: kept with the set");
    star.addEventListener("click", () => send("star", draw));
    const name = document.createElement("th");
    name.scope = "row";
    name.textContent = `draw ${draw}`;
    tr.append(name);
    for (const column of columns) tr.insertCell().textContent = written(column, column.numbers[draw]);
    const note = own(tr.insertCell(), noteOf(draw), "Note: click to write");
    note.className = "rx-models-note";
    note.addEventListener("click", () => write(note, draw));
    return tr;
  }

  function own(cell, words, hint) {
    cell.textContent = words;
    cell.title = hint;
    cell.dataset.own = "";
    return cell;
  }

  // A note is text that becomes a field.
  function write(cell, draw) {
    if (cell.querySelector("input")) return;
    const field = document.createElement("input");
    field.type = "text";
    field.value = noteOf(draw);
    field.maxLength = 200;
    field.setAttribute("aria-label", `Note on draw ${draw}`);
    field.addEventListener("change", () => send("note", draw, field.value));
    field.addEventListener("keydown", (event) => ["Enter", "Escape"].includes(event.key) && scroll.focus());
    field.addEventListener("blur", () => setTimeout(show));
    cell.replaceChildren(field);
    field.focus();
  }

  function written(column, number) {
    if (column.kind === "yes") return number ? "inside" : "outside";
    if (Number.isNaN(number)) return "…";
    if (column.kind === "share") return `${(100 * number).toFixed(1)}%`;
    if (column.kind === "count") return number.toLocaleString("en");
    const text = Math.abs(number) < 1e-3 && number !== 0 ? number.toExponential(1) : String(Number(number.toPrecision(3)));
    return text.replace(/^-/, "−");
  }

  function spacer(height) {
    const tr = document.createElement("tr");
    tr.setAttribute("aria-hidden", "true");
    tr.className = "rx-models-space";
    const cell = tr.insertCell();
    cell.style.height = `${height}px`;
    cell.colSpan = columns.length + 3;
    return tr;
  }

  // Reason why the table is empty, and what to do.
  function nothing() {
    const inside = named("inside");
    const hidden = model.get("inside_only") && inside && !inside.numbers.some(Boolean);
    const cell = document.createElement("tr").insertCell();
    cell.colSpan = columns.length + 3;
    cell.className = "rx-models-none";
    cell.textContent = hidden
      ? "No model lies within ψ. Clear “Inside ψ only” to see all models."
      : "No model matches the search.";
    return cell.parentNode;
  }

  function show() {
    if (body.contains(document.activeElement) && document.activeElement.type === "text") return;
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - SPARE);
    const last = Math.min(order.length, first + Math.ceil((scroll.clientHeight || 300) / ROW) + 2 * SPARE);
    const [now, marked] = [picked(), stars()];
    const rows = order.slice(first, last).map((draw, k) => row(draw, first + k, now, marked));
    if (!order.length && count_of()) rows.push(nothing());
    body.replaceChildren(spacer(first * ROW), ...rows, spacer((order.length - last) * ROW));
    table.setAttribute("aria-rowcount", order.length + 1);
  }

  function bring(draw) {
    const place = order.indexOf(draw);
    if (place < 0) return;
    const [top, bottom] = [place * ROW, (place + 2) * ROW];
    if (top < scroll.scrollTop || bottom > scroll.scrollTop + scroll.clientHeight - ROW)
      scroll.scrollTop = Math.max(0, top - scroll.clientHeight / 2 + ROW);
  }

  function pressed(event) {
    if (event.target !== scroll) return;
    const place = Math.max(-1, order.indexOf(focus));
    const moves = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: order.length - 1, PageDown: place + 10, PageUp: place - 10 };
    if (event.key in moves) {
      focus = order[Math.min(order.length - 1, Math.max(0, moves[event.key]))] ?? -1;
      bring(focus);
      count.textContent = spoken(focus);
    } else if (event.key === " " && focus >= 0) pick(focus);
    else if (event.key === "s" && focus >= 0) send("star", focus);
    else if (event.key === "n" && focus >= 0) {
      const cell = body.querySelector(".rx-here .rx-models-note");
      if (cell) setTimeout(() => write(cell, focus));
    }
    else return;
    event.preventDefault();
    show();
  }

  const spoken = (draw) =>
    [`draw ${draw}`, ...columns.map((one) => `${one.title} ${written(one, one.numbers[draw])}`), picked().has(draw) ? "selected" : ""]
      .filter(Boolean)
      .join(", ");

  function load() {
    columns = model.get("columns").map((one) => ({ ...one, numbers: floats(one.values) }));
    arrange();
  }

  search.addEventListener("input", () => {
    scroll.scrollTop = 0;
    arrange();
  });
  scroll.addEventListener("scroll", show);
  scroll.addEventListener("keydown", pressed);
  const unlit = lit((kind, id) => {
    pointed = kind === "draw" ? id : -1;
    for (const tr of body.rows) tr.classList.toggle("rx-lit", tr.dataset.draw === String(pointed));
  });
  const sized = new ResizeObserver(show);
  sized.observe(scroll);
  const followed = () => {
    bring(model.get("picked")[0] ?? -1);
    show();
  };
  model.on("change:columns change:count", load);
  model.on("change:inside_only change:starred", arrange);
  model.on("change:notes", show);
  model.on("change:picked", followed);
  load();
  return () => {
    unlit();
    sized.disconnect();
    model.off("change:columns change:count", load);
    model.off("change:inside_only change:starred", arrange);
    model.off("change:notes", show);
    model.off("change:picked", followed);
  };
}

export default { render };
