"""Trade-off functions in closed form: duals of each other, and of laws that are known."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy import rdp, zcdp
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.privacy.tradeoff import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    Piecewise,
    Subsampled,
    from_profile,
    from_samples,
)
from rashomon_explorer.privacy.tradeoff.curves import from_dict
from rashomon_explorer.privacy.tradeoff.piecewise import hull

SIZES = st.floats(1e-3, 6.0)
SMOOTH = st.one_of(SIZES.map(Gaussian), SIZES.map(Laplace), SIZES.map(BoundedRange))
CLOSED = st.one_of(SMOOTH, st.builds(Approximate, SIZES, st.floats(0, 0.5)))
CURVES = st.one_of(CLOSED, st.builds(Subsampled, CLOSED, st.floats(0.001, 1)))
ALPHAS = np.concatenate([[0.0, 1e-12, 1e-6], np.linspace(0.001, 0.999, 300), [1.0]])
EPSILONS = np.linspace(-9, 9, 181)


def conjugate(curve, epsilon):
    """max over α of 1 − f(α) − e^ε α, on a grid refined where the curve is steep."""
    alpha = np.concatenate([[0.0], np.logspace(-12, 0, 20001), np.linspace(0, 1, 20001)])
    return float(np.max(1 - curve(alpha) - math.exp(epsilon) * alpha))


@given(CURVES)
def test_every_curve_is_a_trade_off_function(curve):
    beta = curve(ALPHAS)
    assert np.all(beta >= 0) and np.all(beta <= 1 - ALPHAS + 1e-12)
    assert np.all(np.diff(beta) <= 1e-12)
    slopes = np.diff(beta) / np.diff(ALPHAS)
    assert np.all(np.diff(slopes[2:]) >= -1e-7)


@given(CLOSED)
def test_delta_is_the_dual_of_f(curve):
    for epsilon in (-3.0, -0.4, 0.0, 0.2, 1.0, 4.0):
        best = conjugate(curve, epsilon)
        assert best <= curve.delta(epsilon) + 1e-12
        assert best == pytest.approx(float(curve.delta(epsilon)), abs=2e-3)


@given(CURVES)
def test_a_profile_falls_is_convex_in_exp_epsilon_and_symmetric(curve):
    delta = curve.delta(EPSILONS)
    assert np.all(np.diff(delta) <= 1e-14)
    slopes = np.diff(delta) / np.diff(np.exp(EPSILONS))
    assert np.all(np.diff(slopes) >= -1e-9 * np.maximum(1, np.abs(slopes[1:])))
    mirrored = 1 - np.exp(-EPSILONS) * (1 - delta)
    assert curve.delta(-EPSILONS) == pytest.approx(mirrored, rel=1e-9, abs=1e-11)


@given(CURVES, st.floats(-9, -0.5).map(lambda power: 10.0**power))
def test_epsilon_inverts_delta_from_above(curve, delta):
    epsilon = curve.epsilon(delta)
    if math.isfinite(epsilon):
        assert curve.delta(epsilon) <= delta * (1 + 1e-9) + 1e-14
    if 1e-6 < epsilon < math.inf:
        assert curve.delta(epsilon * (1 - 1e-6)) >= delta * (1 - 1e-9)


@pytest.mark.parametrize("mu", ["0.001", "0.05", "0.5", "1.593", "5", "20"])
@pytest.mark.parametrize("epsilon", ["0", "0.001", "0.3", "1", "4", "15"])
def test_delta_of_gaussians_against_fifty_digits(mu, epsilon):
    with mpmath.workdps(50):
        m, e = mpmath.mpf(float(mu)), mpmath.mpf(float(epsilon))
        exact = float(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))
    assert Gaussian(float(mu)).delta(float(epsilon)) == pytest.approx(exact, rel=0, abs=1e-12)
    assert gdp_delta(float(mu), float(epsilon)) == pytest.approx(exact, rel=0, abs=1e-12)
    if exact > 1e-290:
        assert gdp_delta(float(mu), float(epsilon)) == pytest.approx(exact, rel=1e-9)


def test_laplace_is_the_law_of_two_laplaces():
    shift = 1.3
    cuts = np.linspace(-8, 8, 4001)
    below = np.where(cuts < 0, np.exp(cuts) / 2, 1 - np.exp(-cuts) / 2)
    moved = cuts - shift
    beta = np.where(moved < 0, np.exp(moved) / 2, 1 - np.exp(-moved) / 2)
    assert Laplace(shift)(1 - below) == pytest.approx(beta, abs=1e-12)


def test_bounded_range_is_below_every_two_valued_pair_and_touches_them():
    eta = 1.7
    least = np.ones_like(ALPHAS)
    for t in np.linspace(1e-6, eta - 1e-6, 400):
        second = (math.exp(-t) - math.exp(-eta)) / (1 - math.exp(-eta))
        first = second * math.exp(t)  # mass of the outcome whose log ratio is t
        pair = np.interp(ALPHAS, [0, second, 1], [1, 1 - first, 0])
        assert np.all(BoundedRange(eta)(ALPHAS) <= pair + 1e-12)
        least = np.minimum(least, pair)
    assert least == pytest.approx(BoundedRange(eta)(ALPHAS), abs=2e-3)
    assert np.all(BoundedRange(eta)(ALPHAS) >= Approximate(eta)(ALPHAS) - 1e-12)
    assert np.any(BoundedRange(eta)(ALPHAS) > BoundedRange(eta * 1.01)(ALPHAS) + 1e-4)


@settings(max_examples=25, deadline=None)
@given(CLOSED, st.floats(0.01, 1.0))
def test_subsampling_is_the_hull_of_f_q_and_its_inverse(curve, rate):
    alpha = np.concatenate([[0.0], np.logspace(-9, 0, 500), np.linspace(0, 1, 500)])
    one_sided = rate * curve(alpha) + (1 - rate) * (1 - alpha)
    built = hull(np.concatenate([alpha, one_sided]), np.concatenate([one_sided, alpha]))
    claimed = Subsampled(curve, rate)
    for epsilon in (0.0, 0.1, 0.7, 2.0):
        # The hull of finitely many points is above the curve, so its δ is below.
        assert built.delta(epsilon) <= claimed.delta(epsilon) + 1e-12
        assert built.delta(epsilon) == pytest.approx(float(claimed.delta(epsilon)), abs=5e-3)
    assert np.all(claimed(ALPHAS) <= built(ALPHAS) + 1e-12)


def test_subsampling_at_the_ends():
    assert Subsampled(Gaussian(2.0), 0.0).delta(0.0) == 0
    whole = Subsampled(Gaussian(2.0), 1.0)
    assert whole.delta(EPSILONS) == pytest.approx(Gaussian(2.0).delta(EPSILONS), abs=1e-14)


def test_what_zcdp_and_renyi_prove_is_below_the_truth():
    truth, orders = Gaussian(0.7), np.linspace(1.05, 100, 3000)
    for proved in (zcdp(truth.rho), rdp(orders, orders * truth.rho)):
        assert np.all(proved.tradeoff(ALPHAS) <= truth(ALPHAS) + 1e-12)
        assert proved.delta(1.0) < 10 * truth.delta(1.0)
    assert not np.all(zcdp(truth.rho / 4).tradeoff(ALPHAS) <= truth(ALPHAS))


@given(CLOSED)
def test_pairs_on_a_grid_prove_a_curve_below_the_truth(curve):
    epsilon = np.linspace(0, 12, 60)
    proved = from_profile(epsilon, curve.delta(epsilon))
    assert np.all(proved(ALPHAS) <= curve(ALPHAS) + 1e-9)
    assert proved.delta(epsilon) == pytest.approx(curve.delta(epsilon), abs=1e-9)


def test_an_asymmetric_curve_its_inverse_and_its_symmetric_hull():
    curve = Piecewise(((0.0, 0.9), (0.1, 0.3), (0.8, 0.0)))
    assert curve.inverse().inverse()(ALPHAS) == pytest.approx(curve(ALPHAS))
    both = curve.symmetrised()
    assert np.all(both(ALPHAS) <= np.minimum(curve(ALPHAS), curve.inverse()(ALPHAS)) + 1e-12)
    assert both.inverse()(ALPHAS) == pytest.approx(both(ALPHAS))
    assert both.delta(0.5) == max(curve.delta(0.5), curve.inverse().delta(0.5))


def test_samples_estimate_the_curve_and_their_band_covers_it():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=40_000), rng.normal(size=40_000) + 1
    truth = Gaussian(1.0)(ALPHAS)
    assert from_samples(first, second)(ALPHAS) == pytest.approx(truth, abs=0.02)
    assert np.all(from_samples(first, second, confidence=0.999)(ALPHAS) >= truth - 1e-9)
    assert not np.all(from_samples(first, second + 0.3, confidence=0.999)(ALPHAS) >= truth)


@given(CURVES)
def test_curves_go_through_plain_values(curve):
    assert from_dict(curve.to_dict()) == curve


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(-1.0), "mu must be >= 0"),
        (lambda: Laplace(math.nan), "shift must be >= 0"),
        (lambda: Approximate(1.0, 1.5), "slack must be in"),
        (lambda: Subsampled(Gaussian(1.0), 1.1), "rate must be in"),
        (lambda: Piecewise(((0.0, 1.0), (0.5, 0.6), (1.0, 0.0))), "below 1 - α"),
        (lambda: Piecewise(((0.0, 0.5), (0.4, 0.4), (0.5, 0.0))), "convex"),
        (lambda: from_profile([1.0, 0.5], [0.1, 0.2]), "increasing"),
        (lambda: from_samples([], [1.0]), "at least one score"),
        (lambda: from_dict({"kind": "magic"}), "known trade-off"),
        (lambda: Gaussian(1.0).renyi(1.0), "order must be > 1"),
        (lambda: BoundedRange(1.0).epsilon(1.0), "delta must be in"),
        (lambda: Subsampled(Gaussian(1.0), 0.5)(1.5), "alpha must be in"),
    ],
)
def test_what_is_no_trade_off_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("alpha", [-0.1, 1.5, [0.1, 2.0], float("nan")])
@pytest.mark.parametrize(
    "curve",
    [Gaussian(1.0), Laplace(1.0), Approximate(1.0, 1e-3), BoundedRange(1.0), zcdp(0.5).tradeoff],
)
def test_no_curve_answers_beyond_its_ends(curve, alpha):
    with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\], got"):
        curve(alpha)
