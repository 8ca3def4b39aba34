// Runs before anything of the page: when the first figure stands, how often figures are drawn anew,
// and how many bytes come and go by web socket, before they are packed.
const told = (globalThis.__told = { first: null, drawn: [], socket: 0, status: [] });
const now = () => performance.timeOrigin + performance.now();
const size = (data) => data.byteLength ?? data.size ?? data.length;

const look = () => {
  if (document.querySelector(".js-plotly-plot .main-svg .trace")) told.first = now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);

new MutationObserver((changes) => {
  for (const { target, attributeName } of changes)
    if (attributeName === "data-rev") told.drawn.push([now(), target.dataset.figure]);
  const said = document.querySelector(".rx-status")?.textContent;
  if (said && said !== told.status.at(-1)?.[1]) told.status.push([now(), said]);
}).observe(document, {
  subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["data-rev"],
});

globalThis.WebSocket = class extends WebSocket {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", ({ data }) => (told.socket += size(data)));
  }
  send(data) {
    told.socket += size(data);
    super.send(data);
  }
};
