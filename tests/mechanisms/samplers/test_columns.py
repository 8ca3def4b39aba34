"""Private centres and spreads: the exact sensitivity, the noise's law, and the map."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kstest, laplace, norm

from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.data.cells import ColumnMap
from rashomon_explorer.mechanisms.private_scaling import SHARE, ColumnsPlan
from rashomon_explorer.mechanisms.scaling import exact_moments, noisy_moments, released_map
from rashomon_explorer.privacy import compose, gdp, pure
from rashomon_explorer.privacy.conversions import gdp_delta, gdp_mu
from rashomon_explorer.privacy.notions import approximate
from rashomon_explorer.problem.problem import Problem

BUDGETS = [(1.0, 1e-6), (1.0, 0.0)]


def _moved(paid, one, other):
    """How far the computed moments of two tables are apart, in the norm of their noise."""
    apart = (exact_moments(one, paid) - exact_moments(other, paid)).ravel()
    return float(np.linalg.norm(apart) if paid.gaussian else np.abs(apart).sum())


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("d", [2, 5])
def test_no_record_moves_the_moments_further_than_is_paid_for(epsilon, delta, d):
    """Searched over both records, longer ones than allowed included; attained from d = 2 on."""
    n, rng = 3, np.random.default_rng(d)
    paid = ColumnsPlan(n, d, 2.0, epsilon, delta)
    rest = rng.standard_normal((n - 1, d))

    def away(both):
        one, other = both.reshape(2, 1, d)
        return -_moved(paid, np.vstack([rest, one]), np.vstack([rest, other]))

    starts = 3 * rng.standard_normal((4, 2 * d))
    most = max(-minimize(away, start, method="Powell").fun for start in starts)
    assert most <= paid.sensitivity
    if d == 2:
        assert most > 0.999 * paid.sensitivity


def test_the_controls_are_caught(monkeypatch):
    """Moments as if one record moved them by the length of a row alone; a heavier total."""
    paid = ColumnsPlan(1, 2, 1.0, 1.0, 1e-6)
    u, w = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    assert _moved(paid, u, w) > 2 * paid.weight / paid.n
    nothing = np.zeros((1, 2))
    assert _moved(paid, u, nothing) <= paid.sensitivity
    monkeypatch.setattr(ColumnsPlan, "total_weight", 1.5)
    assert _moved(paid, u, nothing) > paid.sensitivity


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_what_is_paid_is_the_worst_neighbours_tradeoff(epsilon, delta):
    """Exact densities: the log ratio at every output, or the shift in deviations."""
    paid = ColumnsPlan(50, 4, 1.0, epsilon, delta)
    if paid.gaussian:
        assert paid.sensitivity / paid.noise == pytest.approx(paid.guarantee.mu)
        assert paid.guarantee.mu**2 == pytest.approx(SHARE * gdp_mu(epsilon, delta) ** 2)
        whole = compose([paid.guarantee, gdp(gdp_mu(paid.left, delta))])
        assert whole.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)
        return
    # At most Δ/scale, attained wherever every entry lies beyond both centres.
    assert paid.sensitivity / paid.noise == pytest.approx(paid.guarantee.epsilon(0.0))
    assert compose([paid.guarantee, pure(paid.left)]).epsilon(0.0) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (4.0, 1e-4)])
def test_with_half_of_delta_a_fifth_of_epsilon_pays(epsilon, delta):
    """The Gaussian's curve at half of δ; with draws beside it ε and δ add up to what was asked."""
    paid = ColumnsPlan(50, 4, 1.0, epsilon, delta, halved=True)
    assert gdp_delta(paid.sensitivity / paid.noise, epsilon / 5) == pytest.approx(delta / 2)
    assert gdp_delta(paid.sensitivity / paid.noise, epsilon / 5) <= delta / 2
    for drawn in (approximate(paid.left, paid.left_delta), pure(paid.left)):
        whole = compose([paid.guarantee, drawn]).epsilon(delta)
        assert epsilon * (1 - 1e-6) < whole <= epsilon
    assert compose([paid.guarantee, approximate(paid.left, delta)]).epsilon(delta) == np.inf


@pytest.mark.parametrize("delta", [1e-6, 1e-4])
def test_beside_what_takes_all_of_delta_columns_are_pure(delta):
    """They leave δ whole, and their price adds to that of draws that spend all of it."""
    paid = ColumnsPlan(50, 4, 1.0, 1.0, delta, pure=True)
    alone = ColumnsPlan(50, 4, 1.0, 1.0, 0.0)
    assert (paid.noise, paid.guarantee) == (alone.noise, alone.guarantee)
    assert paid.guarantee.pure_epsilon == pytest.approx(paid.sensitivity / paid.noise)
    assert paid.left_delta == delta
    whole = compose([paid.guarantee, approximate(paid.left, delta)])
    assert 1 - 1e-6 < whole.epsilon(delta) <= 1.0


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_noise_has_the_law_that_is_planned_on_the_public_grid(epsilon, delta):
    paid = ColumnsPlan(100, 400, 1.0, epsilon, delta)
    noisy = noisy_moments(np.zeros((100, 400)), paid, generator(3))
    np.testing.assert_array_equal(noisy * 2**20, np.round(noisy * 2**20))
    law = norm(scale=paid.noise) if paid.gaussian else laplace(scale=paid.noise)
    assert noisy.shape == (801,)
    assert kstest(noisy, law.cdf).pvalue > 1e-3
    assert kstest(noisy, lambda x: law.cdf(2 * x)).pvalue < 1e-6  # half the noise is seen


def test_columns_are_standardised_with_much_budget_and_by_their_total_where_entries_are_noise():
    rng = np.random.default_rng(0)
    rows = np.array([0.2, -0.1, 0.0]) + np.array([0.1, 0.05, 0.2]) * rng.standard_normal((4000, 3))
    found = released_map(rows, ColumnsPlan(4000, 3, 2.0, 1e4, 0.0), generator(1))
    np.testing.assert_allclose(found.centre, rows.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(found.spread * 2 / np.sqrt(3), rows.std(axis=0), rtol=0.1)
    inside = 0.4 * rng.choice([-1, 1], (500, 30)) / np.sqrt(30)  # of norm 0.4
    for delta in (0.0, 1e-6):
        paid = ColumnsPlan(500, 30, 1.0, 1.0, delta)
        assert paid.deviation > 0.4**2 / 30  # an entry's noise exceeds its value
        norms = [(released_map(inside, paid, generator(i)).spread ** 2).mean() for i in range(40)]
        assert np.sqrt(np.median(norms)) == pytest.approx(0.4, abs=0.1)


def test_models_in_both_units_score_alike_and_no_mapped_row_is_longer_than_declared():
    rng = np.random.default_rng(0)
    rows = 0.1 * rng.standard_normal((200, 3))
    scale = released_map(rows, ColumnsPlan(200, 3, 5.0, 100.0, 1e-6), generator(1))
    theta = rng.standard_normal((2, 4))
    whole = scale.original(theta)
    short = np.linalg.norm((rows - scale.centre) / scale.spread, axis=1) <= 5.0
    assert short.mean() > 0.4
    scores = scale.rows(rows) @ theta[:, :-1].T + theta[:, -1]
    np.testing.assert_allclose(scores[short], (rows @ whole[:, :-1].T + whole[:, -1])[short])
    np.testing.assert_allclose(scale.scaled(whole), theta)
    norms = np.linalg.norm(scale.rows(10 * rows), axis=1)
    assert norms.max() <= 5 * (1 + 1e-12) and (norms > 4.95).any()


def test_rows_are_mapped_block_by_block_as_one_by_one():
    """Also where a table is longer than a block, and what was longer before is what is counted."""
    X = np.random.default_rng(0).standard_normal((9_000, 3)) * 0.7
    scale = ColumnMap(np.array([0.1, 0.0, -0.2]), np.array([0.5, 1.0, 2.0]), row_norm=1.0)
    problem = Problem(X, np.sign(X[:, 0]), scale=scale)
    singly = np.vstack([scale.rows(row[None]) for row in X[::450]])
    np.testing.assert_allclose(problem.rows[::450, :-1], singly, atol=1e-15)
    assert (problem.rows[:, -1] == 1).all()
    assert problem.clipped_share == (np.linalg.norm(X, axis=1) > 1).mean()
