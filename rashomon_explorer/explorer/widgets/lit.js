// A model or person under the pointer is ringed in every figure and table of the page, in the
// browser alone. A mark of a draw or person has its number as customdata and its kind in its hover.

const POINTED = "rashomon-pointed";
const RING = 7; // pixels of radius

const kindOf = ({ customdata, hovertemplate, hovertext }) =>
  customdata && /\b(draw|person)\b/.exec(String([hovertemplate, hovertext?.[0] ?? hovertext]))?.[1];

const point = (kind, id) => document.dispatchEvent(new CustomEvent(POINTED, { detail: { kind, id } }));

// Call `light(kind, id)` for what is under the pointer anywhere; return a function that ends it.
function lit(light) {
  const seen = ({ detail: { kind, id } }) => light(kind, id);
  document.addEventListener(POINTED, seen);
  return () => document.removeEventListener(POINTED, seen);
}

// Rings around the marks of one draw or person in a figure.
function ringed(frame, gd) {
  const rings = document.createElement("div");
  rings.className = "rx-rings";
  frame.append(rings);
  return (kind, id) => {
    const shown = kind && gd.offsetWidth ? (gd._fullData ?? []) : [];
    const marks = shown.filter((trace) => trace.visible === true && kindOf(trace) === kind);
    rings.replaceChildren(
      ...marks.flatMap(({ customdata, x, y, xaxis, yaxis }) => {
        const axis = (name) => gd._fullLayout[name[0] + "axis" + name.slice(1)];
        const [across, up] = [axis(xaxis), axis(yaxis)];
        return Array.from(customdata, (own, place) => (own === id ? place : -1))
          .filter((place) => place >= 0)
          .map((place) => {
            const ring = document.createElement("i");
            ring.style.left = `${gd.offsetLeft + across._offset + across.d2p(x[place]) - RING}px`;
            ring.style.top = `${gd.offsetTop + up._offset + up.d2p(y[place]) - RING}px`;
            return ring;
          });
      }),
    );
  };
}
