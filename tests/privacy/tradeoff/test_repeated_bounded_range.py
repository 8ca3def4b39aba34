"""Independent draws of bounded range: above every pair, below what zCDP proves."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.privacy.tradeoff import BoundedRange, Gaussian, curves
from rashomon_explorer.privacy.tradeoff.curves import RepeatedBoundedRange
from tests.privacy.analysts import adversary, any_pair, product_delta


def coins(eta, count, t, epsilon):
    """δ(ε) of k pairs with log ratios t and t − η, to fifty digits."""
    with mpmath.workdps(50):
        width, t, epsilon = mpmath.mpf(eta), mpmath.mpf(t), mpmath.mpf(epsilon)
        low = mpmath.expm1(t) / mpmath.expm1(width)
        terms = []
        for lower in range(count + 1):
            loss = count * t - lower * width
            if loss <= epsilon:
                break
            mass = mpmath.binomial(count, lower) * low**lower * (1 - low) ** (count - lower)
            terms.append(mass * (1 - mpmath.exp(epsilon - loss)))
        return float(mpmath.fsum(terms))


@pytest.mark.parametrize(
    ("eta", "count", "epsilon"),
    [(0.5, 20, 3.0), (0.5, 20, 0.0), (2.0, 7, 9.0), (0.05, 120, 1.0), (1e-3, 50, 0.0), (9, 3, 20)],
)
def test_the_maximum_over_t_is_found_exactly(eta, count, epsilon):
    ts = [*np.linspace(0.02, 0.98, 25) * eta]
    optima = eta * (epsilon / eta + np.arange(1, count)) / (count + 1)
    if count > 100:
        optima = optima[(0.45 * eta < optima) & (optima < 0.6 * eta)][::8]
    ts += [*optima]
    best = max(coins(eta, count, t, epsilon) for t in ts if 0 < t < eta)
    found = float(RepeatedBoundedRange(eta, count).delta(epsilon))
    assert best * (1 - 1e-15) <= found
    if count <= 100:
        assert found <= best * (1 + 1e-8)


@given(
    st.integers(0, 10**6), st.floats(0.05, 4.0), st.integers(1, 4), st.floats(0, 1), st.booleans()
)
def test_no_independent_pairs_get_past_it(seed, eta, count, share, same):
    rng = np.random.default_rng(seed)
    pairs = [any_pair(rng, eta, int(rng.integers(2, 6))) for _ in range(count)]
    epsilon = share * count * eta
    reached = product_delta(pairs[:1] * count if same else pairs, epsilon)
    assert reached <= float(RepeatedBoundedRange(eta, count).delta(epsilon)) + 1e-13


@pytest.mark.parametrize(("eta", "count"), [(0.3, 4), (1.0, 4), (3.0, 2)])
def test_half_the_range_is_caught(eta, count):
    rng, claimed = np.random.default_rng(0), RepeatedBoundedRange(eta / 2, count)
    reached = [product_delta([any_pair(rng, eta, 2)] * count, 0.3 * eta) for _ in range(100)]
    assert max(reached) > 1.3 * float(claimed.delta(0.3 * eta))


def test_one_draw_is_the_closed_form_from_above():
    epsilon = np.linspace(0, 1, 57)
    found, exact = RepeatedBoundedRange(1.0, 1).delta(epsilon), BoundedRange(1.0).delta(epsilon)
    assert np.all(found >= exact - 1e-17)
    assert found == pytest.approx(exact, abs=1e-11)


def test_many_small_ranges_are_gaussian():
    """μ = √k η/2: the spread of a fair coin's log ratio of width η, times √k."""
    for count in (100, 10_000):
        found = RepeatedBoundedRange(2 / math.sqrt(count), count).epsilon(1e-6)
        assert found == pytest.approx(Gaussian(1.0).epsilon(1e-6), rel=1 / count)
        assert found < 0.95 * zcdp_epsilon(0.5, 1e-6)


@given(st.floats(0.01, 2.0), st.integers(1, 60), st.floats(0, 1), st.floats(1, 2))
def test_more_draws_wider_ranges_and_smaller_epsilon_cost_more(eta, count, share, factor):
    epsilon = share * count * eta
    least = float(RepeatedBoundedRange(eta, count).delta(epsilon)) * (1 - 1e-9)
    assert RepeatedBoundedRange(eta * factor, count).delta(epsilon) >= least
    assert RepeatedBoundedRange(eta, count + 1).delta(epsilon) >= least
    assert RepeatedBoundedRange(eta, count).delta(epsilon / factor) >= least


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 4.0, 8.0])
def test_omitted_tests_are_not_the_best(monkeypatch, epsilon):
    curve = RepeatedBoundedRange(0.03, 4000)
    few, pruned = curve._candidate_tests(epsilon).size, float(curve.delta(epsilon))
    monkeypatch.setattr(curves, "_MOST_EXHAUSTIVE", 10**9)
    assert float(curve.delta(epsilon)) == pruned
    assert few < 4000 / 4


def test_the_ends():
    curve = RepeatedBoundedRange(0.5, 4)
    assert curve.epsilon(0.0) == 2.0 and curve.delta(2.0) == 0.0
    assert RepeatedBoundedRange(0.0, 3).epsilon(1e-9) == 0.0
    assert RepeatedBoundedRange(300.0, 5).epsilon(1e-6) <= 1500.0


def test_adaptive_choices_gain_something():
    """Why the optimum of independent draws must not be used for an analyst who looks."""
    fixed = float(RepeatedBoundedRange(0.5, 8).delta(2.4))
    assert adversary(0.5, 8, 2.4, steps=24) > 1.1 * fixed
