"""A figure is made when it is first seen, measured once, and drawn while somebody would notice."""

import asyncio
from dataclasses import replace
from functools import wraps

import numpy as np
import plotly.graph_objects as go
import pytest

from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.background import FRAMES_A_SECOND
from rashomon_explorer.explorer.views import Renderer
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView
from rashomon_explorer.plots import plot_map

OPENS_ON_PLAN = True


@pytest.fixture(scope="module")
def page(cancer, tmp_path_factory):
    return Explorer(data=cancer, home=tmp_path_factory.mktemp("gallery"))


def test_a_view_makes_what_stands_in_it_and_keeps_it(page):
    assert not page.cards._made  # the way to a draw stands first
    page.state.page = "plan"
    assert set(page.cards._made) == {"plan", "promise"}
    assert len(page.cards) > 20 and "gaps" in page.cards and "no such" not in page.cards
    with pytest.raises(KeyError):
        page.cards["no such"]
    slow = [name for name, spec in page.cards.specs.items() if spec.slow]
    # A slow figure has a renderer of its own, and holds no other.
    assert {"gaps", "ranges"} <= {*slow} and len(page.cards.renderers) == 1 + len(slow)
    page.state.page = "data"
    assert "columns" not in page.cards._made  # behind the form, which was chosen
    page.show("columns")
    card = page.cards._made["columns"]
    assert card.shown and card.view.figure["data"]
    page.state.page = "plan"
    page.show("columns")
    assert page.cards._made["columns"] is card


def test_out_of_sight_a_figure_waits_until_somebody_looks_or_asks(page):
    page.state.page = "plan"
    card = page.cards._made["plan"]
    page.state.epsilon = 2.0
    seen = card.view.rev
    page.state.page = "release"
    page.state.epsilon = 3.0
    assert card.view.rev == seen
    page.state.page = "plan"
    assert card.view.rev == seen + 1
    page.state.page = "release"
    assert page.cards["plan"] is card and card.view.rev == seen + 1
    page.state.epsilon = 4.0  # a program asked for it, and finds it as it is now
    assert card.view.rev == seen + 2


@pytest.mark.slow
def test_a_brush_measures_nothing_again(loans, monkeypatch):
    measured, cards = [], [loans.cards[name] for name in ("importance", "profile", "gaps")]

    def counting(measure):
        @wraps(measure)
        def counted(*args, **kwargs):
            measured.append(measure.__name__)
            return measure(*args, **kwargs)

        return counted

    for card in cards:
        monkeypatch.setattr(card, "spec", replace(card.spec, measure=counting(card.spec.measure)))
        card.redraw()  # what is measured for another test's page ends here
    measured.clear()
    loans.state.page = "people"
    rows = loans.people_table.table.rows
    for selection in ((1, 2), (3,), ()):
        loans.state.selection = selection
        for card in cards:
            card.redraw()
            assert card.lines, card.spec.name
        dots = plot_map(loans.rashomon_set, highlight=selection).data[0]
        assert np.flatnonzero(np.asarray(dots.marker.line.color)).tolist() == list(selection)
    assert not measured and loans.people_table.table.rows == rows
    loans.state.groups = (("sex", "f"),)
    for card in cards:
        card.redraw()
    assert sorted(measured) == ["importances", "profiles"]  # gaps are between all groups


class Card:
    """Counts what it was asked to draw."""

    def __init__(self):
        self.view, self.wanted, self.shown = PlotlyView(), 0, []
        self.is_visible, self.on_demand = True, False

    def redraw(self):
        self.shown.append(self.wanted)
        self.view.show(go.Figure())

    async def redraw_in_background(self, outdated=None):
        self.redraw()


def test_many_changes_make_few_frames_and_the_last_one_is_shown():
    async def scenario():
        card, clock = Card(), asyncio.get_running_loop().time
        renderer, started = Renderer([card]), clock()
        for number in range(200):
            card.wanted = number
            renderer.mark([card])
            await asyncio.sleep(0.001)
        await renderer.wait_until_idle()
        assert card.shown[-1] == 199
        assert len(card.shown) <= FRAMES_A_SECOND * (clock() - started) + 2

    asyncio.run(scenario())


def test_the_next_frame_waits_for_the_page():
    async def scenario():
        card = Card()
        renderer = Renderer([card])

        async def drawn(count):
            while len(card.shown) < count:
                await asyncio.sleep(0.01)

        card.view._handle_custom_msg({"type": "shown"}, [])
        renderer.mark()
        await drawn(1)
        renderer.mark()
        await asyncio.sleep(0.2)
        assert len(card.shown) == 1
        for rev in (1, 2):
            card.view._handle_custom_msg({"type": "drawn", "rev": rev}, [])
            await drawn(2)
        await renderer.wait_until_idle()

    asyncio.run(scenario())
