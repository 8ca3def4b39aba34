// Schema as a table of text, one row per column. A value becomes a field when it is clicked, or by
// Enter; each edit is sent to Python, which answers with the new rows. Above the table stand the two
// choices that matter most: what is predicted, and which columns are sensitive.

const HEADINGS = ["Column", "Type", "Role", "Bounds or levels", "Typical range", "Unit", "If missing", "Rows", "Public?"];
const ROLES = [["feature", "feature"], ["sensitive", "sensitive"], ["target", "predicted"], ["ignore", "left out"]];
const KINDS = [["numeric", "numeric"], ["categorical", "categorical"], ["ordered", "ordered"], ["yes/no", "yes/no"], ["anything", "ignored"]];
const MISSING = [["unexpected", "none expected"], ["fill", "fill in"], ["indicator", "add a mark"], ["refuse", "error"]];
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Fields of a cell: name, label, and the options of a choice.
const BOUNDS = [["low", "Lower bound"], ["high", "Upper bound"]];
const TYPICAL = [["typical_low", "Lower end of the typical range"], ["typical_high", "Upper end of the typical range"]];
const LEVELS = [["levels", "Levels, separated by |,"]];

function cellsOf(row) {
  const numeric = row.kind === "numeric";
  const read = row.kind !== "anything";
  return [
    { marks: ["kind"], fields: [["kind", "Type", KINDS]] },
    { marks: ["role"], fields: [["role", "Role", ROLES]] },
    { marks: ["bounds", "levels"], fields: numeric ? BOUNDS : read ? LEVELS : [] },
    { marks: ["typical"], fields: numeric ? TYPICAL : [] },
    { marks: [], fields: numeric ? [["unit", "Unit"]] : [] },
    { marks: ["missing"], fields: read ? [["missing", "Missing values", MISSING]] : [] },
  ];
}

function words(row, fields) {
  const shown = fields.map(([field, , options]) => options?.find(([value]) => value === row[field])?.[1] ?? row[field]);
  return shown.some(Boolean) ? shown.join(" to ") : fields.length ? "–" : "";
}

function render({ model, el }) {
  el.classList.add("rx-table-form");
  const choices = document.createElement("div");
  choices.className = "rx-form-choices";
  const box = document.createElement("div");
  box.className = "rx-form";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "Schema of the table: arrow keys move, Enter edits");
  el.append(choices, box);
  const lines = new Map();
  let table = null;
  let count = 0;
  let here = [0, 1]; // row and column of the arrow keys: the table is one tab stop

  function send(column, field, value) {
    model.set("edit", { count: ++count, column, field, value });
    model.save_changes();
  }

  function fieldOf(row, [field, label, options]) {
    const node = document.createElement(options ? "select" : "input");
    for (const [value, shown] of options ?? []) node.append(new Option(shown, value, false, value === row[field]));
    if (!options) {
      node.type = "text";
      node.autocomplete = "off";
      node.value = row[field];
      node.size = field === "levels" ? 24 : 6;
    }
    node.dataset.field = field;
    node.setAttribute("aria-label", `${label} of ${row.name}`);
    node.addEventListener("change", () => send(row.name, field, node.value));
    return node;
  }

  function open(cell, row, fields, field) {
    if (model.get("disabled") || !fields.length || cell.querySelector("[data-field]")) return;
    const nodes = fields.map((one) => fieldOf(row, one));
    cell.replaceChildren(...nodes.flatMap((node, k) => (k ? [" to ", node] : [node])));
    const focused = nodes.find((node) => node.dataset.field === field) ?? nodes[0];
    focused.focus();
    focused.select?.();
  }

  function editable(line, row, { marks, fields }) {
    const cell = line.insertCell();
    const close = () => cell.replaceChildren(words(row, fields));
    close();
    if (row.learnt.some((one) => marks.includes(one))) {
      cell.className = "rx-learnt";
      cell.title = "Data-dependent: excluded from releases, and models that use it have no guarantee until it is confirmed";
    }
    cell.dataset.fields = fields.map(([field]) => field).join(" ");
    cell.edit = (field) => open(cell, row, fields, field);
    cell.addEventListener("click", () => cell.edit());
    cell.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !cell.contains(event.relatedTarget)) close();
    });
    cell.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      if (event.key === "Escape" || event.key === "Enter") setTimeout(() => box.focus());
    });
  }

  function confirmer(line, row) {
    const cell = line.insertCell();
    if (!row.learnt.length) {
      cell.textContent = row.role === "ignore" ? "" : "✓";
      return;
    }
    cell.className = "rx-confirm";
    cell.textContent = "Confirm";
    cell.title = "I confirm that the values in this row are public knowledge";
    cell.edit = () => model.get("disabled") || send(row.name, "confirm", "");
    cell.addEventListener("click", cell.edit);
  }

  function made(row) {
    const line = document.createElement("tr");
    line.className = `rx-role-${row.role}`;
    const head = document.createElement("th");
    head.scope = "row";
    // A long name wraps after underscores and dots, not within a word.
    const parts = row.name.split(/(?<=[_.])/);
    head.append(...parts.flatMap((part, k) => (k ? [document.createElement("wbr"), part] : [part])));
    if (row.problem) {
      const problem = document.createElement("div");
      problem.className = "rx-problem";
      problem.setAttribute("role", "alert");
      problem.textContent = row.problem;
      head.append(problem);
    }
    line.append(head);
    if (row.withheld) {
      const cell = line.insertCell();
      cell.colSpan = HEADINGS.length - 1;
      cell.textContent = "Data-dependent and not confirmed: visible only to the curator";
      return line;
    }
    for (const cell of cellsOf(row)) editable(line, row, cell);
    const shape = document.createElement("span");
    shape.className = "rx-shape";
    shape.textContent = row.shape;
    shape.setAttribute("role", "img");
    shape.setAttribute("aria-label", `Distribution of ${row.name} (curator)`);
    line.insertCell().append(shape);
    confirmer(line, row);
    return line;
  }

  function header() {
    table = document.createElement("table");
    const line = table.createTHead().insertRow();
    for (const title of HEADINGS) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = title;
      if (title === "Rows") {
        th.className = "rx-curator";
        th.title = "Curator: computed from private rows, and never part of a release";
      }
      line.append(th);
    }
    table.createTBody();
    box.replaceChildren(table);
    lines.clear();
  }

  // What is predicted, and which columns are sensitive.
  function choose(rows) {
    const known = rows.filter((row) => !row.withheld);
    const target = document.createElement("select");
    const now = known.find((row) => row.role === "target");
    if (!now) target.append(new Option("choose…", "", true, true));
    for (const row of known) target.append(new Option(row.name, row.name, false, row === now));
    target.addEventListener("change", () => target.value && send(target.value, "role", "target"));
    const sensitive = known.filter((row) => row.role === "sensitive").map((row) => row.name);
    const opener = document.createElement("button");
    opener.type = "button";
    opener.className = "jupyter-button";
    opener.textContent = `${sensitive.join(", ") || "none"} ▾`;
    const list = document.createElement("div");
    list.className = "rx-menu-list rx-form-sensitive";
    list.popover = "auto";
    opener.popoverTargetElement = list;
    for (const row of known.filter((one) => one !== now)) {
      const tick = document.createElement("input");
      tick.type = "checkbox";
      tick.checked = row.role === "sensitive";
      const without = row.kind === "anything" ? "ignore" : "feature";
      tick.addEventListener("change", () => send(row.name, "role", tick.checked ? "sensitive" : without));
      const label = document.createElement("label");
      label.append(tick, ` ${row.name}`);
      list.append(label);
    }
    list.addEventListener("toggle", ({ newState }) => {
      const { left, bottom } = opener.getBoundingClientRect();
      Object.assign(list.style, { left: `${left}px`, top: `${bottom + 4}px` });
      if (newState === "closed") choose(model.get("rows"));
    });
    target.disabled = opener.disabled = model.get("disabled");
    opener.setAttribute("aria-label", `Sensitive columns: ${sensitive.join(", ") || "none"}`);
    const labelled = (text, ...nodes) => {
      const label = document.createElement(nodes.length > 1 ? "span" : "label");
      label.append(text, ...nodes);
      return label;
    };
    choices.replaceChildren(labelled("Predicted column ", target), labelled("Sensitive columns ", opener, list));
  }

  function mark() {
    for (const cell of box.querySelectorAll(".rx-here")) cell.classList.remove("rx-here");
    const cell = table?.tBodies[0].rows[here[0]]?.cells[here[1]];
    if (document.activeElement !== box || !cell) return;
    cell.classList.add("rx-here");
    cell.scrollIntoView({ block: "nearest" });
  }

  function pressed(event) {
    if (event.target !== box || !table) return;
    const move = MOVES[event.key];
    if (move) {
      const within = (at, most) => Math.max(0, Math.min(most, at));
      here = [within(here[0] + move[0], table.tBodies[0].rows.length - 1), within(here[1] + move[1], HEADINGS.length - 1)];
      mark();
    } else if (event.key === "Enter") table.tBodies[0].rows[here[0]]?.cells[here[1]]?.edit?.();
    else return;
    event.preventDefault();
  }

  // Only changed rows are rebuilt, and the focused field keeps the focus.
  function show() {
    const rows = model.get("rows");
    const same = table && rows.length === lines.size && rows.every((row) => lines.has(row.name));
    if (!same) header();
    if (!choices.querySelector(":popover-open")) choose(rows);
    for (const row of rows) {
      const written = JSON.stringify([row, model.get("disabled")]);
      const known = lines.get(row.name);
      if (known && known.written === written) continue;
      const field = known && known.line.contains(document.activeElement) && document.activeElement.dataset.field;
      const line = made(row);
      if (known) known.line.replaceWith(line);
      else table.tBodies[0].append(line);
      lines.set(row.name, { written, line });
      if (field) line.querySelector(`[data-fields~="${field}"]`)?.edit(field);
    }
    el.hidden = !rows.length;
    mark();
  }

  box.addEventListener("keydown", pressed);
  box.addEventListener("focus", mark);
  box.addEventListener("blur", mark);
  model.on("change:rows change:disabled", show);
  show();
  return () => model.off("change:rows change:disabled", show);
}

export default { render };
