// Table of check boxes: aggregates, their noise and their share of the privacy cost.

const SHARES = ["½", "1", "2", "4"];
const WEIGHTS = { "½": 0.5, 1: 1, 2: 2, 4: 4 };

function render({ model, el }) {
  el.classList.add("rx-choices");
  el.setAttribute("role", "region");
  el.setAttribute("aria-label", model.get("label"));
  el.tabIndex = 0;

  function send(name, change) {
    const ticked = new Map(Object.entries(model.get("ticked")));
    if (change === null) ticked.delete(name);
    else ticked.set(name, change);
    model.set("ticked", Object.fromEntries(ticked));
    model.save_changes();
  }

  function cell(line, words, kind) {
    const td = line.insertCell();
    td.textContent = words;
    if (kind) td.className = kind;
    return td;
  }

  function share(line, row, weight) {
    const td = line.insertCell();
    if (weight === undefined) return;
    const list = document.createElement("select");
    list.setAttribute("aria-label", `Weight of ${row.title} in the privacy cost`);
    for (const words of SHARES) {
      const option = new Option(words, words);
      option.selected = WEIGHTS[words] === weight;
      list.append(option);
    }
    list.disabled = model.get("disabled");
    list.addEventListener("change", () => send(row.name, WEIGHTS[list.value]));
    td.append(list, ` ${row.share}`);
  }

  function line(body, row) {
    const tr = body.insertRow();
    const weight = model.get("ticked")[row.name];
    const head = document.createElement("th");
    head.scope = "row";
    const box = document.createElement("label");
    const tick = document.createElement("input");
    tick.type = "checkbox";
    tick.checked = weight !== undefined;
    tick.disabled = model.get("disabled") || Boolean(row.why);
    tick.dataset.name = row.name;
    tick.addEventListener("change", () => send(row.name, tick.checked ? 1 : null));
    box.append(tick, ` ${row.title}`);
    box.title = row.why || row.definition;
    head.append(box);
    tr.append(head);
    if (row.why) tr.className = "rx-unavailable";
    cell(tr, row.noise, row.noise.includes(":") ? "" : "rx-number"); // a warning wraps
    share(tr, row, weight);
  }

  function show() {
    const held = document.activeElement?.dataset?.name;
    const inside = el.contains(document.activeElement);
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const [words, hint] of model.get("headings")) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = words;
      th.title = hint;
      head.append(th);
    }
    let group = "";
    let body = null;
    for (const row of model.get("rows")) {
      if (row.group !== group || !body) {
        body = table.createTBody();
        group = row.group;
        const th = document.createElement("th");
        th.colSpan = 3;
        th.scope = "rowgroup";
        th.textContent = group;
        th.className = "rx-choices-group";
        body.insertRow().append(th);
      }
      line(body, row);
    }
    el.replaceChildren(table);
    if (inside && held) el.querySelector(`[data-name="${held}"]`)?.focus();
  }

  model.on("change:rows change:ticked change:disabled", show);
  show();
  return () => model.off("change:rows change:ticked change:disabled", show);
}

export default { render };
