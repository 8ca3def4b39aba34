"""Promise, price and draws, any two of which give the third: against plans made one by one."""

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.plots import plot_costs
from rashomon_explorer.plots.prices import draws_at, guarantee_at, guarantee_curves

TABLE = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}


def _planned(epsilon, n_draws):
    with suppress_weak_warnings():
        return plan(**TABLE, epsilon=epsilon, n_draws=n_draws)


@pytest.fixture(scope="module")
def bought():
    return _planned(4.0, 20)


@pytest.mark.parametrize("epsilon", [0.3, 4.0, 31.0])
@pytest.mark.parametrize("n_draws", [1, 7, 64])
def test_the_promise_of_another_price_and_number_is_that_of_its_plan(bought, epsilon, n_draws):
    once = _planned(epsilon, n_draws)
    known = once.hit_rate_at(once.eta) if once.by_bounded_range else None
    told = guarantee_at(bought, epsilon, n_draws)
    assert told <= once.hit_rate_bound + 2e-3  # other certificates promise more, never less
    if known is not None:
        assert told == pytest.approx(known, abs=2e-3)


def test_the_curves_are_made_of_the_same_promises(bought):
    for row in guarantee_curves(bought, (5, 50)).iloc[::9].itertuples():
        assert guarantee_at(bought, row.epsilon, row.n_draws) == pytest.approx(
            row.promise, abs=1e-6
        )


@pytest.mark.parametrize(("epsilon", "promise"), [(4.0, 0.5), (1.0, 0.8), (20.0, 0.9), (4.0, 0.83)])
def test_as_many_draws_as_are_promised_so_much_and_no_more(bought, epsilon, promise):
    found = draws_at(bought, epsilon, promise)
    by_counting = [n for n in range(1, 101) if guarantee_at(bought, epsilon, n) >= promise]
    assert found == max(by_counting)
    assert guarantee_at(bought, epsilon, found + 1) < promise


def test_beyond_the_curves_the_outermost_is_taken(bought):
    assert draws_at(bought, 0.05, 0.99) == 1
    assert draws_at(bought, 100.0, 0.01) == 100


def test_a_promised_excess_is_the_better_the_smaller_it_is():
    clf = RashomonClassifier(epsilon=4.0, delta=1e-6, n_draws=5, mechanism="langevin_clipped")
    with suppress_weak_warnings():
        cold = clf.plan(50_000, 10)
    at = [guarantee_at(cold, 4.0, count) for count in (1, 5, 20, 100)]
    assert np.all(np.diff(at) > 0)
    middle = draws_at(cold, 4.0, (at[1] + at[2]) / 2)
    assert 5 < middle < 20
    assert guarantee_at(cold, 4.0, middle) <= (at[1] + at[2]) / 2


def test_the_figure_names_its_own_point_and_curve(bought):
    figure = plot_costs(bought)
    handle = figure.layout.meta["handle"]
    point, curve = figure.data[handle["trace"]], figure.data[handle["own"]]
    assert (point.name, curve.name) == ("this plan", "20 draws")
    assert handle["curves"][handle["own"]] == bought.n_draws
    assert point.x[0] == bought.epsilon and point.y[0] == bought.hit_rate_bound
