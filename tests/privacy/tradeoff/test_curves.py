"""Trade-off functions in closed form against the distributions that they are of."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy import rdp, zcdp
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.privacy.tradeoff import Approximate, BoundedRange, Gaussian, Laplace
from rashomon_explorer.privacy.tradeoff.curves import Piecewise, hull
from rashomon_explorer.privacy.tradeoff.sampled import Subsampled

SIZES = st.floats(1e-3, 6.0)
CLOSED = st.one_of(
    *(SIZES.map(kind) for kind in (Gaussian, Laplace, BoundedRange)),
    st.builds(Approximate, SIZES, st.floats(0, 0.5)),
)
ALPHAS = np.concatenate([[0.0, 1e-12, 1e-6], np.linspace(0.001, 0.999, 300), [1.0]])
EPSILONS = np.linspace(-9, 9, 181)


@pytest.mark.parametrize("mu", ["0.001", "0.5", "1.593", "5", "20"])
@pytest.mark.parametrize("epsilon", ["0", "0.001", "0.3", "4", "15"])
def test_delta_of_gaussians_against_fifty_digits(mu, epsilon):
    with mpmath.workdps(50):
        m, e = mpmath.mpf(float(mu)), mpmath.mpf(float(epsilon))
        exact = float(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))
    assert Gaussian(float(mu)).delta(float(epsilon)) == pytest.approx(exact, rel=0, abs=1e-12)
    assert gdp_delta(float(mu), float(epsilon)) == pytest.approx(exact, rel=0, abs=1e-12)
    if exact > 1e-290:
        assert gdp_delta(float(mu), float(epsilon)) == pytest.approx(exact, rel=1e-9)


def test_laplace_is_the_curve_of_two_laplace_distributions():
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


def test_an_asymmetric_curve_its_inverse_and_its_symmetric_hull():
    curve = Piecewise(((0.0, 0.9), (0.1, 0.3), (0.8, 0.0)))
    assert curve.inverse().inverse()(ALPHAS) == pytest.approx(curve(ALPHAS))
    both = curve.symmetrised()
    assert np.all(both(ALPHAS) <= np.minimum(curve(ALPHAS), curve.inverse()(ALPHAS)) + 1e-12)
    assert both.inverse()(ALPHAS) == pytest.approx(both(ALPHAS))
    assert both.delta(0.5) == max(curve.delta(0.5), curve.inverse().delta(0.5))
