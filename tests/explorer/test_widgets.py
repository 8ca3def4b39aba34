"""Figures on the wire: one bundle, typed numbers, and an answer once they are drawn."""

import asyncio

import numpy as np
import plotly.graph_objects as go

from rashomon_explorer.explorer.widgets import PlotlyView
from rashomon_explorer.explorer.widgets.plotly_bundle import shared_bundle

EVERYTHING_IS_SENT = True


def _says(view, **content):
    view._handle_custom_msg(content, [])


def test_all_figures_share_one_bundle():
    views = [PlotlyView(label=str(i)) for i in range(6)]
    assert {id(view.bundle) for view in views} == {id(shared_bundle())}
    bundle = shared_bundle()
    assert bundle.code == b""  # the dashboard's page has it as a file
    _says(bundle, type="wanted")
    assert b"plotly.js" in bundle.code[:400]
    bundle.close()
    assert shared_bundle() is not bundle


def test_numbers_travel_typed_and_the_template_does_not_travel():
    view = PlotlyView()
    figure = go.Figure(go.Scatter(y=np.arange(3, dtype=np.float32)))
    view.show(figure)
    assert view.figure["data"][0]["y"]["dtype"] == "f4"
    assert "template" not in view.figure["layout"]
    assert set(view.templates) == {"light", "dark"}
    assert figure.layout.template.layout is not None


def test_drawn_waits_for_the_page():
    async def scenario():
        view = PlotlyView(go.Figure())
        assert not await view.drawn(timeout=60)  # no page shows it, so it does not wait
        _says(view, type="shown")
        assert not await view.drawn(timeout=0.02)
        waiting = asyncio.create_task(view.drawn(timeout=5))
        await asyncio.sleep(0)
        _says(view, type="drawn", rev=0)
        assert not waiting.done()
        _says(view, type="drawn", rev=1)
        assert await waiting
        assert await view.drawn(1)
        view.show(go.Figure())
        _says(view, type="hidden")
        assert not await view.drawn(timeout=60)

    asyncio.run(scenario())
