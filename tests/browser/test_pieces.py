"""Figures that come in pieces are drawn as they would be had they come whole."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView

pytestmark = pytest.mark.browser

_DRAWN = """
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
      Object.assign(place, { on() {}, _fullLayout: {}, _fullData: data });
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


def _shown(counts: list[int]) -> tuple[dict[str, Any], list[dict[str, Any]], list[Any]]:
    """Return the state a page begins with, what it is sent then, and what it should draw."""
    view, got, whole = PlotlyView(), [], []
    view._send = lambda message, buffers=None: got.append(message)
    view._handle_custom_msg({"type": "shown"}, [])
    numbers = np.random.default_rng(0).random(2_000, dtype=np.float32)
    for count in counts:
        view.show(go.Figure(go.Scatter(x=numbers[:count], text=["a"] * count)))
        whole.append(view.figure["data"])
    names = ("label", "name", "templates", "plotly_version", "config")
    known = {name: getattr(view, name) for name in names}
    return {**known, **got[0]["state"]}, got[1:], whole


def test_pieces_make_the_figure_and_one_that_was_missed_is_asked_for(browser: Any) -> None:
    state, messages, whole = _shown([500, 510, 600, 900])
    assert [message["method"] for message in messages] == ["custom"] * 3
    browser.get("about:blank")
    told = browser.execute_async_script(_DRAWN, PlotlyView._esm, state, messages)
    assert told.get("error") is None
    assert told["drawn"] == whole and told["revs"] == [1, 2, 3, 4] and told["asked"] == 0
    # The second is lost: the third fits nothing, and is not drawn.
    last = {"method": "update", "state": {"rev": 4, "figure": {"data": whole[3]}}}
    state, messages, _ = _shown([500, 510, 600])
    told = browser.execute_async_script(_DRAWN, PlotlyView._esm, state, [messages[1], last])
    assert told["drawn"] == [whole[0], whole[3]] and told["asked"] == 1
