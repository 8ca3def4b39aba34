"""The page's scripts of figures, apart from the page: their library, pieces, and turns."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from rashomon_explorer._utils.assets import plotly_module
from rashomon_explorer.explorer.widgets import controls
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView

pytestmark = pytest.mark.browser

_LIBRARY = """
const [own, ours, done] = arguments;
(async () => {
  const kinds = (library) => Object.keys(library.PlotSchema.get().traces).sort().join();
  (0, eval)(own);
  const [theirs, all] = [globalThis.Plotly, kinds(globalThis.Plotly)];
  const file = URL.createObjectURL(new Blob([ours], { type: "text/javascript" }));
  const Plotly = (await import(file)).default;
  const told = { apart: Plotly !== theirs && globalThis.Plotly === theirs, first: kinds(Plotly) };
  const place = document.body.appendChild(document.createElement("div"));
  const drawn = () => place._fullData.map((trace) => trace.type).join();
  await Plotly.newPlot(place, { data: [{ y: [1, 2] }, { type: "bar", y: [1, 2] }] });
  told.drawn = [drawn()];
  told.few = Plotly.later.length;
  await Plotly.react(place, [{ type: "histogram", x: [1, 1, 2] }, { type: "nothing" }], {});
  told.drawn.push(drawn());
  const picture = { data: [{ type: "pie", values: [1, 2] }], layout: {} };
  told.picture = (await Plotly.toImage(picture, { format: "svg" })).includes("pielayer");
  return { ...told, all: kinds(Plotly) === all };
})().then(done, (error) => done({ error: String(error) }));
"""


def _told(browser, script, *arguments):
    browser.get("about:blank")
    told = browser.execute_async_script(script, *arguments)
    assert not isinstance(told, dict) or told.get("error") is None
    return told


def test_a_figure_finds_its_kinds_of_traces_when_it_is_drawn(browser):
    own = Path(str(find_spec("plotly").origin)).parent  # type: ignore[union-attr]
    own = own / "package_data" / "plotly.min.js"
    told = _told(browser, _LIBRARY, own.read_text(encoding="utf-8"), plotly_module().decode())
    assert told["apart"] and told["first"] == "scatter" and told["few"] > 40
    # What plotly draws of a kind that there is not is a line, as with its own library.
    assert told["drawn"] == ["scatter,bar", "histogram,scatter"]
    assert told["picture"] and told["all"]


_PIECES = """
const [code, state, messages, done] = arguments;
(async () => {
  const drawn = {}, sent = [], told = {};
  const say = (event, content) => (told[event] ?? []).forEach((one) => one(content));
  const model = {
    get: (name) => state[name],
    on: (event, call) => (told[event] ??= []).push(call),
    off: () => {},
    send: (content) => sent.push(content),
  };
  const Plotly = {
    purge() {},
    async react(place, data) {
      const _fullLayout = { height: 310, _size: { l: 0, r: 0, t: 0, b: 0, w: 1, h: 1 } };
      Object.assign(place, { on() {}, _fullLayout, _fullData: data });
      drawn[JSON.stringify(data)] = data; // a place that is laid out may be drawn twice
    },
  };
  globalThis.__rashomonPlotly = { [state.plotly_version]: Promise.resolve(Plotly) };
  const file = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const place = document.body.appendChild(document.createElement("div"));
  const leave = (await import(file)).default.render({ model, el: place });
  const later = () => new Promise((go) => setTimeout(go, 30));
  await later();
  for (const message of messages) {
    if (message.method === "custom") say("msg:custom", message.content);
    else { Object.assign(state, message.state); say("change:rev"); }
    await later();
  }
  leave();
  return { drawn: Object.values(drawn), asked: sent.filter((one) => one.type === "whole").length,
           revs: [...new Set(sent.filter((one) => one.type === "drawn").map((one) => one.rev))] };
})().then(done, (error) => done({ error: String(error) }));
"""
_STATE = ("label", "name", "templates", "plotly_version", "config")


def _shown(counts):
    """Return the state a page begins with, what it is sent then, and what it should draw."""
    view, got, whole = PlotlyView(), [], []
    view._send = lambda message, buffers=None: got.append(message)
    view._handle_custom_msg({"type": "shown"}, [])
    numbers = np.random.default_rng(0).random(2_000, dtype=np.float32)
    for count in counts:
        view.show(go.Figure(go.Scatter(x=numbers[:count], text=["a"] * count)))
        whole.append(view.figure["data"])
    return {**{name: getattr(view, name) for name in _STATE}, **got[0]["state"]}, got[1:], whole


def test_pieces_make_the_figure_and_one_that_was_missed_is_asked_for(browser):
    state, messages, whole = _shown([500, 510, 600, 900])
    assert [message["method"] for message in messages] == ["custom"] * 3
    told = _told(browser, _PIECES, PlotlyView._esm, state, messages)
    assert told["drawn"] == whole and told["revs"] == [1, 2, 3, 4] and told["asked"] == 0
    # The second is lost: the third fits nothing, and is not drawn.
    last = {"method": "update", "state": {"rev": 4, "figure": {"data": whole[3]}}}
    state, messages, _ = _shown([500, 510, 600])
    told = _told(browser, _PIECES, PlotlyView._esm, state, [messages[1], last])
    assert told["drawn"] == [whole[0], whole[3]] and told["asked"] == 1


_TURNS = """
const [code, state, slow, done] = arguments;
(async () => {
  const drawn = [];
  delete globalThis.__rashomonTurn;
  const Plotly = {
    purge() {},
    async react(place) {
      const [name, start] = [place.dataset.figure, performance.now()];
      drawn.push(`${name} begins`);
      if (name === slow) await new Promise(() => {});
      await new Promise((go) => setTimeout(go, 20));
      const _fullLayout = { width: place.offsetWidth, height: 310 };
      Object.assign(place, { on() {}, _fullLayout, _fullData: [] });
      drawn.push(`${name} ends`);
    },
  };
  globalThis.__rashomonPlotly = { [state.plotly_version]: Promise.resolve(Plotly) };
  const leave = await Promise.all(["first", "second", "third"].map(async (name) => {
    const file = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const own = { ...state, name };
    const model = { get: (one) => own[one], on() {}, off() {}, send() {} };
    const place = document.body.appendChild(document.createElement("div"));
    return (await import(file)).default.render({ model, el: place });
  }));
  const ended = () => ["second ends", "third ends"].every((one) => drawn.includes(one));
  while (!ended()) await new Promise((go) => setTimeout(go, 20));
  leave.forEach((one) => one());
  return [...new Set(drawn)];
})().then(done, (error) => done([String(error)]));
"""


@pytest.mark.parametrize("slow", ["", "first"])
def test_figures_take_turns_and_a_slow_one_holds_the_others_no_longer_than_a_moment(browser, slow):
    """In any order: the browser loads the three modules in whichever it likes."""
    view = PlotlyView(go.Figure(go.Scatter(y=[1, 2])))
    state = {name: getattr(view, name) for name in ("figure", "rev", *_STATE)}
    told = _told(browser, _TURNS, PlotlyView._esm, state, slow)
    if slow:
        assert "first begins" in told and "first ends" not in told
        assert {"second ends", "third ends"} < set(told)
    else:
        assert sorted(told[::2]) == ["first begins", "second begins", "third begins"]
        assert [end.replace("ends", "begins") for end in told[1::2]] == told[::2]


_SILENCE = """
const [code, words, done] = arguments;
(async () => {
  const now = performance.now.bind(performance);
  let [told, moved, kernel] = [null, 0, false];
  performance.now = () => now() + moved;
  const model = {
    get: (name) => words[name],
    on: (_, call) => { told = call; },
    off() {},
    send() { if (kernel) told(); },
  };
  const file = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const place = document.body.appendChild(document.createElement("div"));
  const leave = (await import(file)).default.render({ model, el: place });
  const shown = [];
  for (const later of [0, 20_000, 0, 0, 20_000]) {
    moved += later;
    await new Promise((go) => setTimeout(go, 600));
    shown.push(place.textContent);
    if (shown.length === 2) kernel = true;
    if (shown.length === 3) kernel = false;
  }
  leave();
  performance.now = now;
  return shown;
})().then(done, (error) => done([String(error)]));
"""


def test_a_page_without_a_kernel_says_what_to_do_and_one_that_lost_it_offers_a_reload(browser):
    watch = controls.KernelWatch()
    words = {name: getattr(watch, name) for name in ("words", "unheard", "patience")}
    lost = f"{watch.words} Reload the page"
    expected = ["", watch.unheard, "", "", lost]
    assert _told(browser, _SILENCE, controls.KernelWatch._esm, words) == expected
    assert "run the cell again" in watch.unheard
