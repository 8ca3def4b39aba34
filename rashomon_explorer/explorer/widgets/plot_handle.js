// Movable point of a figure, if the figure declares one: by pointer anywhere in the plot, or by
// arrow keys along and between its curves. It only reports its new position; Python answers with a
// figure that has the point in its final place.

const NEAR = 9; // pixels within which a pointer snaps to a curve
const A_DECADE = 40; // key steps per decade, as on the page's sliders
const PATIENCE = 1500; // milliseconds after which an unanswered move is undone

function handled(frame, gd, model, figure) {
  const knob = document.createElement("div");
  knob.className = "rx-handle";
  knob.setAttribute("role", "slider");
  knob.tabIndex = 0;
  knob.hidden = true;
  frame.append(knob);

  let pointer = null; // id of the dragging pointer
  let asked = null; // position that Python has not answered yet
  let next = null; // position to send next
  let timer = 0;

  const named = () => figure().layout?.meta?.handle;
  const axes = () => [gd._fullLayout.xaxis, gd._fullLayout.yaxis];
  const plotted = (trace) => [gd._fullData[trace].x, gd._fullData[trace].y];

  // Points of a curve in pixels within the plot.
  function line(curve) {
    const [xaxis, yaxis] = axes();
    const [x, y] = plotted(curve);
    return Array.from(x, (value, place) => [xaxis.d2p(value), yaxis.d2p(y[place])]);
  }

  // Vertical pixel position of a curve at a horizontal one; null beyond its ends.
  function height(curve, across) {
    const points = line(curve);
    const after = points.findIndex(([x]) => x >= across - 0.5);
    if (after < 0) return null;
    const [x1, y1] = points[after];
    if (after === 0) return x1 - across < 1 ? y1 : null;
    const [x0, y0] = points[after - 1];
    return x1 === x0 ? y1 : y0 + ((y1 - y0) * (across - x0)) / (x1 - x0);
  }

  function move(across, down) {
    const [xaxis, yaxis] = axes();
    knob.style.left = `${gd.offsetLeft + xaxis._offset + across}px`;
    knob.style.top = `${gd.offsetTop + yaxis._offset + down}px`;
  }

  // Place the point where the figure has it, unless it is being moved.
  function put() {
    const here = named();
    knob.hidden = !here || !gd._fullData?.[here.trace];
    clearTimeout(timer);
    asked = null;
    if (knob.hidden) return;
    const [xaxis, yaxis] = axes();
    const [[x], [y]] = plotted(here.trace);
    knob.setAttribute("aria-label", here.label);
    knob.setAttribute("aria-valuenow", String(x));
    knob.setAttribute("aria-valuemin", String(xaxis.p2d(0)));
    knob.setAttribute("aria-valuemax", String(xaxis.p2d(xaxis._length)));
    knob.setAttribute("aria-valuetext", here.words);
    knob.hidden = !(xaxis.d2p(x) >= 0 && xaxis.d2p(x) <= xaxis._length);
    if (next) ask(next);
    else if (pointer === null) move(xaxis.d2p(x), yaxis.d2p(y));
  }

  // Send one position at a time, then the latest one: a pointer is faster than the planner.
  function ask(where) {
    if (asked) {
      next = where;
      return;
    }
    next = null;
    asked = where;
    model.set("dragged", { ...where, at: Date.now() });
    model.save_changes();
    timer = setTimeout(put, PATIENCE);
  }

  function pulled(event) {
    const [xaxis, yaxis] = axes();
    const box = gd.getBoundingClientRect();
    const within = (value, most) => Math.min(Math.max(value, 0), most);
    const across = within(event.clientX - box.left - xaxis._offset, xaxis._length);
    let down = within(event.clientY - box.top - yaxis._offset, yaxis._length);
    let curve = null;
    let nearest = NEAR;
    named().curves.forEach((called, place) => {
      const level = height(place, across);
      if (level === null || Math.abs(level - down) > nearest) return;
      nearest = Math.abs(level - down);
      curve = called;
      down = level;
    });
    move(across, down);
    ask({ x: xaxis.p2d(across), y: yaxis.p2d(down), curve });
  }

  knob.addEventListener("pointerdown", (event) => {
    if (event.button || pointer !== null) return;
    event.preventDefault();
    knob.focus();
    pointer = event.pointerId;
    knob.setPointerCapture(pointer);
  });
  knob.addEventListener("pointermove", (event) => {
    if (event.pointerId === pointer && named()) pulled(event);
  });
  for (const ended of ["pointerup", "pointercancel"])
    knob.addEventListener(ended, (event) => {
      if (event.pointerId !== pointer) return;
      pointer = null;
      if (!asked) put();
    });

  // Left and right change the privacy cost; up and down move to the curve above or below.
  function stepped(key) {
    const here = named();
    const [xaxis, yaxis] = axes();
    const [[x], [y]] = plotted(here.trace);
    const from = next ?? asked ?? { x, y, curve: here.curves[here.own] };
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (sideways) return { ...from, x: from.x * 10 ** (sideways / A_DECADE) };
    const across = xaxis.d2p(from.x);
    const place = here.curves.indexOf(from.curve);
    const level = place < 0 ? yaxis.d2p(from.y) : height(place, across);
    const upwards = key === "ArrowUp" ? 1 : -1;
    const others = here.curves
      .map((curve, at) => ({ curve, rise: upwards * (level - height(at, across)), at }))
      .filter(({ rise, at }) => at !== place && height(at, across) !== null && rise > 0.5)
      .sort((one, other) => one.rise - other.rise);
    if (!others.length) return null;
    return { x: from.x, y: yaxis.p2d(height(others[0].at, across)), curve: others[0].curve };
  }

  knob.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key) || !named()) return;
    event.preventDefault();
    const where = stepped(event.key);
    if (where) ask(where);
  });

  return { put };
}

