"""Figures on the wire: one bundle, typed numbers, and an answer once they are drawn."""

import numpy as np
import plotly.graph_objects as go

from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.explorer.widgets import plotly_view
from rashomon_explorer.explorer.widgets.plotly_view import KEPT, NEW, PlotlyView

EVERYTHING_IS_SENT = True


def test_widgets_share_layout_and_style_and_are_hidden_alone():
    one, other, dial, card = (ui.HTML(), ui.HTML(), ui.Slider(), ui.own_layout(ui.VBox()))
    assert one.layout is other.layout is ui.Button().layout and one.style is other.style
    ui.display(one, False)
    ui.display(dial, False)
    assert one.layout.display == "none" == dial.layout.display and other.layout.display is None
    # What a user sizes, and a view of anywidget, which follows its first layout, share none.
    assert len({each.layout for each in (one, other, dial, card)}) == 4
    other.layout.close()
    assert ui.HTML().layout.comm is not None


def _says(view, **content):
    view._handle_custom_msg(content, [])


def test_all_figures_share_one_bundle_and_numbers_travel_typed():
    views = [PlotlyView(label=str(i)) for i in range(6)]
    bundle = plotly_view.shared_bundle()
    assert {id(view.bundle) for view in views} == {id(bundle)}
    assert bundle.code == b""  # the dashboard's page has it as a file
    _says(bundle, type="wanted")
    assert b"plotly.js" in bundle.code[:400]
    bundle.close()
    assert plotly_view.shared_bundle() is not bundle
    view, figure = views[0], go.Figure(go.Scatter(y=np.arange(3, dtype=np.float32)))
    view.show(figure)
    assert view.figure["data"][0]["y"]["dtype"] == "f4"
    assert "template" not in view.figure["layout"] and set(view.templates) == {"light", "dark"}
    assert figure.layout.template.layout is not None


def _streamed(figures, *, seen=True):
    """What a browser gets while `figures` are shown one after another: states, and pieces."""
    view, got = PlotlyView(), []
    view._send = lambda message, buffers=None: got.append(message)
    if seen:
        _says(view, type="shown")
    for figure in figures:
        view.show(figure)
    return view, got


def _of_draws(count, **layout):
    rng = np.random.default_rng(0)  # more draws begin as fewer do
    return go.Figure(go.Scatter(x=rng.random(count, dtype=np.float32)), layout)


def _put_together(known, new):
    """What the page does, in Python."""
    if not isinstance(new, dict):
        return new
    if KEPT in new:
        return known[: new[KEPT]] + new[NEW]
    known = known if isinstance(known, dict) else {}
    return {key: _put_together(known.get(key), part) for key, part in new.items()}


def test_of_more_draws_only_the_new_ones_travel():
    view, got = _streamed([_of_draws(1_000), _of_draws(1_010, title={"text": "1,010"})])
    state, content = got[0]["state"], got[1]["content"]
    assert got[0]["method"] == "update" and set(state) == {"figure", "rev"}
    assert (content["type"], content["since"], content["rev"]) == ("grown", 1, 2) and view.rev == 2
    assert plotly_view.size(content["figure"]) < 300 < 0.1 * plotly_view.size(view.figure)

    def trace(figure):
        return {**figure, "data": figure["data"][0]}

    together = _put_together(trace(state["figure"]), trace(content["figure"]))
    assert together == trace(view.figure)
    # Whoever comes later, or missed one, gets all of it.
    assert view.get_state()["figure"] == view.figure
    _says(view, type="whole")
    assert got[-1]["state"]["figure"] == view.figure and got[-1]["state"]["rev"] == 2


def test_another_figure_travels_whole_and_one_that_nobody_sees():
    other = go.Figure(go.Scatter(x=np.linspace(5, 6, 1_010, dtype=np.float32)))
    for figures, seen in (([_of_draws(1_000), other], True), ([_of_draws(1_000)] * 2, False)):
        _, got = _streamed(figures, seen=seen)
        assert [message["method"] for message in got] == ["update"] * 2
