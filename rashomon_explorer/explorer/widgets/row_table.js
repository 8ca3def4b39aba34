// Table with sorting by headings, text search, and selection by clicks on rows.
// Sorting and searching run in the browser; Python receives only the selected rows.

function render({ model, el }) {
  el.classList.add("rx-row-table");
  const search = document.createElement("input");
  search.type = "search";
  search.autocomplete = "off";
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  count.className = "rx-note";
  const top = document.createElement("div");
  top.className = "rx-row-table-top";
  top.append(search, count);
  const box = document.createElement("div");
  box.className = "rx-row-table-box";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  const table = document.createElement("table");
  box.append(table);
  el.append(top, box);
  let here = -1; // row of the arrow keys: the table is one tab stop
  let by = null;
  let down = true;

  const tell = (id, more) => {
    const before = model.get("picked");
    const kept = more ? before.filter((one) => one !== id) : [];
    const picked = before.includes(id) && (more || before.length === 1) ? kept : [...kept, id];
    model.set("picked", picked);
    model.save_changes();
  };

  function heading(column, place) {
    const th = document.createElement("th");
    th.scope = "col";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = column.name;
    button.title = column.hint;
    button.addEventListener("click", () => {
      down = by === place ? !down : true;
      by = place;
      show();
    });
    th.setAttribute("aria-sort", by !== place ? "none" : down ? "descending" : "ascending");
    th.append(button);
    return th;
  }

  function wanted() {
    const words = search.value.trim().toLowerCase();
    const rows = model.get("rows").filter((row) => row.cells.join(" ").toLowerCase().includes(words));
    if (by === null) return rows;
    const key = (row) => row.keys[by];
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
    return rows.sort((a, b) => (down ? order(b, a) : order(a, b)));
  }

  function line(row, picked) {
    const tr = document.createElement("tr");
    tr.setAttribute("aria-selected", String(picked));
    tr.className = picked ? "rx-picked" : "";
    tr.append(
      ...row.cells.map((words, place) => {
        const cell = document.createElement(place ? "td" : "th");
        cell.textContent = words;
        return cell;
      }),
    );
    tr.addEventListener("click", (e) => tell(row.id, e.ctrlKey || e.metaKey || e.shiftKey));
    return tr;
  }

  function pressed(event) {
    const rows = [...table.querySelectorAll("tbody tr")];
    const last = rows.length - 1;
    const place = rows.findIndex((tr) => Number(tr.dataset.id) === here);
    const moves = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: last, PageDown: place + 10, PageUp: place - 10 };
    if (event.target !== box || (!(event.key in moves) && (place < 0 || ![" ", "Enter"].includes(event.key)))) return;
    event.preventDefault();
    if (!(event.key in moves)) return tell(here, event.ctrlKey || event.shiftKey);
    const row = rows[Math.max(0, Math.min(last, moves[event.key]))];
    here = Number(row?.dataset.id ?? -1);
    for (const tr of rows) tr.classList.toggle("rx-here", tr === row);
    row?.scrollIntoView({ block: "nearest" });
    count.textContent = row?.textContent ? [...row.cells].map((cell) => cell.textContent).join(", ") : "";
    return undefined;
  }

  function show() {
    const rows = wanted();
    const picked = new Set(model.get("picked"));
    search.placeholder = model.get("hint");
    search.setAttribute("aria-label", model.get("hint"));
    box.setAttribute("aria-label", `${model.get("label")}: arrow keys move, space selects`);
    const all = model.get("rows").length;
    count.textContent = rows.length < all ? `${rows.length} of ${all} shown` : model.get("note");
    const head = document.createElement("thead");
    const names = document.createElement("tr");
    names.append(...model.get("columns").map(heading));
    head.append(names);
    const body = document.createElement("tbody");
    body.append(
      ...rows.map((row) => {
        const tr = line(row, picked.has(row.id));
        tr.dataset.id = row.id;
        tr.classList.toggle("rx-here", row.id === here);
        return tr;
      }),
    );
    table.replaceChildren(head, body);
  }

  search.addEventListener("input", show);
  box.addEventListener("keydown", pressed);
  for (const trait of ["rows", "columns", "picked", "note"]) model.on(`change:${trait}`, show);
  show();
  return () => {
    for (const trait of ["rows", "columns", "picked", "note"]) model.off(`change:${trait}`, show);
  };
}

export default { render };
