"""Frames: the newest state wins, and none is sent before the page has drawn the last."""

import asyncio

import plotly.graph_objects as go

from rashomon_explorer.explorer.views import FRAMES_A_SECOND, Renderer
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView


class Card:
    """Counts what it was asked to draw."""

    def __init__(self):
        self.view = PlotlyView()
        self.wanted = 0
        self.shown = []
        self.is_visible, self.on_demand = True, False

    def redraw(self):
        self.shown.append(self.wanted)
        self.view.show(go.Figure())

    async def redraw_in_background(self, outdated=None):
        self.redraw()


def test_without_a_loop_marking_draws_at_once():
    card = Card()
    Renderer([card]).mark()
    assert card.shown == [0]


def test_what_is_marked_while_held_is_drawn_once_at_the_end():
    card = Card()
    renderer = Renderer([card])
    with renderer.batched():
        with renderer.batched():
            renderer.mark()
        renderer.mark()
        assert card.shown == []
    assert card.shown == [0]
    with renderer.batched():
        pass
    assert card.shown == [0]


def test_many_changes_make_few_frames_and_the_last_one_is_shown():
    async def scenario():
        card = Card()
        renderer = Renderer([card])
        clock = asyncio.get_running_loop().time
        started = clock()
        for number in range(200):
            card.wanted = number
            renderer.mark([card])
            await asyncio.sleep(0.001)
        await renderer.wait_until_idle()
        seconds = clock() - started
        assert card.shown[-1] == 199
        assert len(card.shown) <= FRAMES_A_SECOND * seconds + 2

    asyncio.run(scenario())


def test_the_next_frame_waits_for_the_page():
    async def scenario():
        card = Card()
        card.view._handle_custom_msg({"type": "shown"}, [])
        renderer = Renderer([card])
        renderer.mark()
        while not card.shown:
            await asyncio.sleep(0.01)
        renderer.mark()
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert len(card.shown) == 1
        card.view._handle_custom_msg({"type": "drawn", "rev": 1}, [])
        while len(card.shown) < 2:
            await asyncio.sleep(0.01)
        card.view._handle_custom_msg({"type": "drawn", "rev": 2}, [])
        await renderer.wait_until_idle()

    asyncio.run(scenario())
