"""Figures that appear together are drawn one after another, and one that is slow holds no other."""

from typing import Any

import plotly.graph_objects as go
import pytest

from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView

pytestmark = pytest.mark.browser

_DRAWN = """
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


def test_figures_take_turns(browser: Any) -> None:
    """In any order: the browser loads the three modules in whichever it likes."""
    told = _drawn(browser)
    assert sorted(told[::2]) == ["first begins", "second begins", "third begins"]
    assert [end.replace("ends", "begins") for end in told[1::2]] == told[::2]


def test_a_slow_one_holds_the_others_no_longer_than_a_moment(browser: Any) -> None:
    told = _drawn(browser, slow="first")
    assert "first begins" in told and "first ends" not in told
    assert {"second ends", "third ends"} < set(told)


def _drawn(browser: Any, slow: str = "") -> list[str]:
    """What three figures do that appear at once, of which one may never come to its end."""
    view = PlotlyView(go.Figure(go.Scatter(y=[1, 2])))
    names = ("figure", "rev", "label", "templates", "plotly_version", "config")
    state = {name: getattr(view, name) for name in names}
    browser.get("about:blank")
    told: list[str] = browser.execute_async_script(_DRAWN, PlotlyView._esm, state, slow)
    return told
