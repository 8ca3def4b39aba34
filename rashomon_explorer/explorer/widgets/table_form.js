// Schema as a table of native inputs, one row per column; each edit is sent to Python, which
// answers with the new rows.

const HEADINGS = ["Column", "Holds", "Role", "Bounds or levels", "Most values", "Unit", "Missing", "Rows", "Public?"];
const ROLES = [["feature", "feature"], ["sensitive", "sensitive"], ["target", "target"], ["ignore", "leave out"]];
const KINDS = ["numeric", "categorical", "ordered", "yes/no", "anything"];
const MISSING = [["unexpected", "unexpected"], ["fill", "fill in"], ["indicator", "mark"], ["refuse", "refuse"]];

function render({ model, el }) {
  el.classList.add("rx-form");
  el.setAttribute("role", "region");
  el.setAttribute("aria-label", "Declaration of the table");
  const lines = new Map();
  let table = null;
  let count = 0;

  function send(column, field, value) {
    model.set("edit", { count: ++count, column, field, value });
    model.save_changes();
  }

  function input(row, field, label, value) {
    const node = document.createElement("input");
    node.type = "text";
    node.value = value;
    node.autocomplete = "off";
    return wired(node, row, field, label);
  }

  function select(row, field, label, options) {
    const node = document.createElement("select");
    for (const [value, words] of options) {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = words;
      option.selected = value === row[field];
      node.append(option);
    }
    return wired(node, row, field, label);
  }

  function wired(node, row, field, label) {
    node.dataset.field = field;
    node.setAttribute("aria-label", `${label} of ${row.name}`);
    node.disabled = model.get("disabled");
    node.addEventListener("change", () => send(row.name, field, node.value));
    return node;
  }

  function cell(line, row, marks, ...nodes) {
    const td = line.insertCell();
    const learnt = row.learnt.some((one) => marks.includes(one));
    if (learnt) {
      td.className = "rx-learnt";
      td.title = "Data-dependent: excluded from releases, and models that use it have no guarantee until it is confirmed";
    }
    td.append(...nodes);
  }

  function bounds(row) {
    if (row.kind === "numeric") {
      return [input(row, "low", "Lower bound", row.low), " to ", input(row, "high", "Upper bound", row.high)];
    }
    return row.kind === "anything" ? [] : [input(row, "levels", "Levels, separated by |,", row.levels)];
  }

  function typical(row) {
    if (row.kind !== "numeric") return [];
    return [
      input(row, "typical_low", "Lower end of most values", row.typical_low),
      " to ",
      input(row, "typical_high", "Upper end of most values", row.typical_high),
    ];
  }

  function confirmer(row) {
    if (!row.learnt.length) return [row.role === "ignore" ? "" : "✓"];
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Confirm";
    button.dataset.field = "confirm";
    button.disabled = model.get("disabled");
    button.title = "I confirm that the values in this row are public knowledge";
    button.setAttribute("aria-label", `Confirm ${row.name}: it is public knowledge`);
    button.addEventListener("click", () => send(row.name, "confirm", ""));
    return [button];
  }

  function made(row) {
    const line = document.createElement("tr");
    line.className = `rx-role-${row.role}`;
    const head = document.createElement("th");
    head.scope = "row";
    // A long name wraps after underscores and dots, not within a word.
    const words = row.name.split(/(?<=[_.])/);
    head.append(...words.flatMap((word, k) => (k ? [document.createElement("wbr"), word] : [word])));
    if (row.problem) {
      const problem = document.createElement("div");
      problem.className = "rx-problem";
      problem.setAttribute("role", "alert");
      problem.textContent = row.problem;
      head.append(problem);
    }
    line.append(head);
    if (row.withheld) {
      const words = line.insertCell();
      words.colSpan = HEADINGS.length - 1;
      words.textContent = "Data-dependent and not confirmed: visible only to the curator";
      return line;
    }
    cell(line, row, ["kind"], select(row, "kind", "Kind", KINDS.map((kind) => [kind, kind])));
    cell(line, row, ["role"], select(row, "role", "Role", ROLES));
    cell(line, row, ["bounds", "levels"], ...bounds(row));
    cell(line, row, ["typical"], ...typical(row));
    cell(line, row, [], ...(row.kind === "numeric" ? [input(row, "unit", "Unit", row.unit)] : []));
    cell(line, row, ["missing"], ...(row.kind === "anything" ? [] : [select(row, "missing", "Missing values", MISSING)]));
    const shape = document.createElement("span");
    shape.className = "rx-shape";
    shape.textContent = row.shape;
    shape.setAttribute("role", "img");
    shape.setAttribute("aria-label", `Distribution of ${row.name} (curator)`);
    cell(line, row, [], shape);
    cell(line, row, [], ...confirmer(row));
    return line;
  }

  function header() {
    table = document.createElement("table");
    table.createCaption().textContent = "What is public about each column";
    const line = table.createTHead().insertRow();
    for (const words of HEADINGS) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = words;
      if (words === "Rows") {
        th.className = "rx-curator";
        th.title = "Curator: computed from private rows, and never part of a release";
      }
      line.append(th);
    }
    table.createTBody();
    el.replaceChildren(table);
    el.tabIndex = 0;
    lines.clear();
  }

  // Only changed rows are rebuilt, and the focused input keeps the focus.
  function show() {
    const rows = model.get("rows");
    const same = table && rows.length === lines.size && rows.every((row) => lines.has(row.name));
    if (!same) header();
    for (const row of rows) {
      const written = JSON.stringify([row, model.get("disabled")]);
      const known = lines.get(row.name);
      if (known && known.written === written) continue;
      const field = known && known.line.contains(document.activeElement) && document.activeElement.dataset.field;
      const line = made(row);
      if (known) known.line.replaceWith(line);
      else table.tBodies[0].append(line);
      lines.set(row.name, { written, line });
      if (field) (line.querySelector(`[data-field="${field}"]`) ?? line.querySelector("select"))?.focus();
    }
    el.hidden = !rows.length;
  }

  model.on("change:rows change:disabled", show);
  show();
  return () => model.off("change:rows change:disabled", show);
}

export default { render };
