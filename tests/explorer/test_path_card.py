"""A path on the page: released states while it walks, the meter with them, and Stop."""

import asyncio

import numpy as np
import pytest

from rashomon_explorer.explorer.panels.budget import gauge_html
from rashomon_explorer.mechanisms import MECHANISMS
from rashomon_explorer.mechanisms.langevin.states import plan_states
from rashomon_explorer.plots.map import plane
from rashomon_explorer.plots.path import PathView, plot_path, plot_share_and_width, share_table
from tests.explorer.pages import held_page, set_state
from tests.mechanisms.builders import request_of


def view_of(states, step=50):
    return PathView(states, ("a", "b", "intercept"), 40, step, 100, 0.3, 0.5)


def test_the_plane_is_of_released_states_and_keeps_its_sides():
    rng = np.random.default_rng(0)
    states = rng.standard_normal((30, 3)) * [5.0, 2.0, 0.1]
    first, more = plane(states[:20]), plane(states)
    assert abs(more[0] @ [1, 0, 0]) > 0.95 and abs(more[1] @ [0, 1, 0]) > 0.95
    assert (np.einsum("ij,ij->i", first, more) > 0).all()
    figure = plot_path(view_of(states))
    title = figure.layout.title.text
    assert "30 of 40 models of one path" in title and "ε = 0.3 of ε = 0.5 spent" in title
    assert figure.layout.meta["view"] == "release"
    assert "mostly a" in figure.layout.xaxis.title.text
    assert [note.text for note in figure.layout.annotations] == ["start", "newest"]
    assert plot_path(view_of(states), "b", "a").layout.xaxis.title.text == "coefficient of b"
    for few in (0, 1, 2):
        assert len(plot_path(view_of(states[:few])).data) >= 2


@pytest.fixture
def page(tmp_path):
    page = held_page(tmp_path)
    set_state(page, mechanism="langevin", n_draws=40, epsilon=1.0, page="set")
    return page


def test_a_path_is_shown_as_it_walks_and_no_figure_of_rows_is(page):
    seen, meter = [], []

    def look(_change):
        state = page.state
        seen.append((len(state.path.states), state.rashomon_set, state.chains, state.path.spent))
        meter.append(gauge_html(state, short=True))

    page.state.observe(look, "path")
    before = page.state.account.spent

    async def run():
        page.draw()
        await page.wait_until_idle()

    asyncio.run(run())
    state = page.state
    assert state.phase == "done" and state.n_drawn == 40
    assert seen and all(models is None and chains == () for _, models, chains, _ in seen)
    assert [spent for *_, spent in seen] == sorted(spent for *_, spent in seen)
    assert all("so far about" in shown and "reserved <b" in shown for shown in meter)
    filled = [float(shown.split('rx-spent" style="width:')[1].split("%")[0]) for shown in meter]
    whole = 100 * state.path.spent / state.account.budget  # the last look may be before the end
    assert filled == sorted(filled) and 0 <= filled[-1] <= whole + 0.3
    assert "spent <b" in gauge_html(page.state)
    assert len(state.path.states) == 40 and state.path.step == state.path.n_steps
    np.testing.assert_array_equal(state.path.states, state.rashomon_set.coef)
    assert state.account.spent - before == pytest.approx(1.0, abs=0.02)
    names = [trace["name"] for trace in page.cards["map"].view.figure["data"]]
    assert names == ["exact outline", "path", "draw", "best model"]
    page.state.view = "release"  # the same states, and nothing that was read off the rows
    shown = page.cards["map"].view.figure
    assert [trace["name"] for trace in shown["data"]] == ["path", "draw"]
    assert [note["text"] for note in shown["layout"]["annotations"]] == ["start"]
    assert "excess loss" not in str(shown)


def test_stop_ends_a_path_and_charges_the_parts_that_began(page, monkeypatch):
    before = page.state.account.spent
    job = page.drawing.prepare(page.drawing.offer)
    monkeypatch.setattr(type(job), "stopped", property(lambda job: job.beats >= 3))
    job.run()
    monkeypatch.undo()
    job.stop()
    while page.drawing.pump():
        pass
    state = page.state
    assert state.phase == "stopped" and 0 < state.n_drawn < 40
    spent = state.account.spent - before
    assert 0 < spent < 0.9 and state.charged == pytest.approx(spent)
    assert {entry.state for entry in state.account.charges} == {"committed", "voided"}
    assert "Stopped after" in state.message


def test_a_warmer_path_is_wider_and_guarantees_less_until_the_budget_ends():
    public = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "delta": 1e-6}
    planned = plan_states(request_of(**public, epsilon=1.0, n_draws=400))
    table = share_table(planned)
    assert table["width"].is_monotonic_decreasing and table["share"].is_monotonic_increasing
    reached = table[:-1]
    np.testing.assert_allclose(reached["guaranteed"], reached["share"], atol=0.02)
    assert table["guaranteed"].iloc[-1] < table["share"].iloc[-1] * 0.9  # the most that ε allows
    figure = plot_share_and_width(planned)
    assert "At least 50% of the states in the set" in figure.layout.title.text
    plan = figure.data[1]
    assert plan.x[0] == planned.details.expected_width(planned)
    with pytest.raises(ValueError, match="only one Langevin path"):
        plot_share_and_width(MECHANISMS["exact"].plan(request_of(**public)))
