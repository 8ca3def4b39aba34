"""Budget and plan: numbers, never rows."""

import pytest

from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.plots import plot_budget
from rashomon_explorer.plots.budget import budget_bar
from rashomon_explorer.privacy import Ledger, bounded_range, compose


def _plan(epsilon=4.0, n_draws=20):
    return plan(
        5000,
        11,
        0.02,
        radius=4.0,
        row_norm=1.5,
        epsilon=epsilon,
        delta=1e-6,
        n_draws=n_draws,
    )


def _traces(figure):
    return {trace.name: trace for trace in figure.data}


def test_bar_ends_where_the_ledger_says(tmp_path):
    with Ledger.create(tmp_path / "a.ledger", epsilon=8.0, delta=1e-6) as ledger:
        for _ in range(3):
            ledger.reserve(bounded_range(eta=0.8)).commit()
        figure = plot_budget(ledger, _plan())
        spent = [trace for trace in figure.data if trace.name == "spent"]
        assert len(spent) == 3
        assert spent[-1].base[0] + spent[-1].x[0] == pytest.approx(ledger.spent())
        planned = _traces(figure)["planned"]
        after = planned.base[0] + planned.x[0]
        assert after == pytest.approx(ledger.epsilon_after(_plan().guarantee))
        assert _traces(figure)["left"].x[0] == pytest.approx(8.0 - after)


def test_over_the_budget_is_named_in_words_not_by_colour_alone():
    figure = budget_bar([bounded_range(eta=7.0)], 8.0, 1e-6, _plan().guarantee)
    assert "planned: over the budget" in _traces(figure)
    assert _traces(figure)["left"].x[0] == 0


def test_a_ledger_without_a_budget_says_so(tmp_path):
    with Ledger.create(tmp_path / "a.ledger") as ledger:
        assert plot_budget(ledger).layout.annotations[0].text == "This ledger has no budget."


def test_composition_is_not_a_sum():
    """Negative control of the bar: adding prices up would be dearer."""
    parts = [bounded_range(eta=0.3)] * 30
    figure = budget_bar(parts, 20.0, 1e-6)
    end = figure.data[29].base[0] + figure.data[29].x[0]
    assert end == pytest.approx(compose(parts).epsilon(1e-6))
    assert end < 30 * 0.3 - 1
