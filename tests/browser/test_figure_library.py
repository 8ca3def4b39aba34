"""Figures of every kind can be drawn by the library that the page loads, as by plotly's own."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rashomon_explorer._utils.assets import plotly_module

pytestmark = pytest.mark.browser

_DRAWS = """
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


def test_a_figure_finds_its_kinds_of_traces_when_it_is_drawn(browser: Any) -> None:
    origin = find_spec("plotly").origin  # type: ignore[union-attr]
    own = Path(str(origin)).parent / "package_data" / "plotly.min.js"
    browser.get("about:blank")
    told = browser.execute_async_script(
        _DRAWS, own.read_text(encoding="utf-8"), plotly_module().decode()
    )
    assert told.get("error") is None
    assert told["apart"] and told["first"] == "scatter" and told["few"] > 40
    # What plotly draws of a kind that there is not is a line, as with its own library.
    assert told["drawn"] == ["scatter,bar", "histogram,scatter"]
    assert told["picture"] and told["all"]
