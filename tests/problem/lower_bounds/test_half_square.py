"""Polynomials below the half square: never above it, and no weaker than simpler ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from rashomon_explorer.problem.losses.kinked import ClippedSlope
from rashomon_explorer.problem.lower_bounds import quartic as half_square
from rashomon_explorer.problem.lower_bounds.clipped_slope import blurred_slope, minorant
from rashomon_explorer.problem.lower_bounds.quartic import half_square_minorant

POLYVAL = np.polynomial.polynomial.polyval


def excess_of(place, xi):
    """½(a + ξ)₊² less its tangent at ξ = 0, without the cancellation of a far place."""
    z = place + xi
    ahead = np.where(z > 0, xi**2 / 2, -(place**2) / 2 - place * xi)
    return np.where(place > 0, ahead, np.maximum(z, 0.0) ** 2 / 2)


@given(place=st.floats(-1e4, 1e4), stretch=st.floats(-3, 5))
def test_the_minorant_is_never_above_the_half_square(place, stretch):
    xi = np.concatenate([np.linspace(-1, 1, 801) * 10.0**stretch, np.linspace(-9, 9, 801) - place])
    bound = half_square_minorant(np.array([place]))[:, 0]
    size = POLYVAL(np.abs(xi), np.abs(bound))
    assert (POLYVAL(xi, bound) <= excess_of(place, xi) + 1e-12 * (1 + size)).all()
    assert bound[4] <= 0


@pytest.mark.parametrize("place", np.linspace(-0.5, 6.0, 14))
def test_two_percent_less_than_the_lost_part_would_be_caught(place):
    xi = np.linspace(-12, 12, 4001)
    (x,), (y,) = half_square._contacts(np.array([place]))
    roots = np.array([x, x, y, y]) - place
    lost = np.polynomial.polynomial.polyfromroots(roots) / (2 * (np.sqrt(x) + np.sqrt(y)) ** 4)
    spoiled = half_square_minorant(np.array([place]))[:, 0] + 0.02 * lost
    assert (POLYVAL(xi, spoiled) > excess_of(place, xi) + 1e-9).any()


@pytest.mark.parametrize("place", [-2.0, -0.5, 0.0, 0.7, 2.0, 5.0, 20.0])
def test_its_mean_is_near_the_half_squares_and_above_simpler_bounds(place):
    bound = half_square_minorant(np.array([place]))[:, 0]
    mean = bound[0] + bound[2] + 3 * bound[4]
    above = max(place, 0.0)
    true = ((place**2 + 1) * norm.cdf(place) + place * norm.pdf(place)) / 2 - above**2 / 2
    assert true - 0.056 <= mean <= true
    if place > 0:
        assert mean >= max(0.0, 0.5 - 3 / (32 * place**2)) - 1e-6


@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.floats(1e-3, 1e3),
    low=st.floats(-3, 0),
    high=st.floats(0, 3),
)
def test_a_clipped_slopes_minorant_is_below_its_excess(seed, width, low, high):
    rng = np.random.default_rng(seed)
    shape = ClippedSlope(low, high, width)
    a = np.concatenate([rng.standard_normal(20) * width * 3, [low * width, high * width]])
    scale = width * 10.0 ** rng.uniform(-3, 2, len(a))
    b = scale * np.linspace(-30, 30, 601)[:, None]
    bound = minorant(shape, a, scale)
    below = sum(c * b**k for k, c in enumerate(bound))
    size = sum(np.abs(c * b**k) for k, c in enumerate(bound))
    excess = shape.value(a + b) - shape.value(a) - shape.slope(a) * b
    rounding = 1e-12 * (size + shape.value(a + b) + shape.value(a) + np.abs(b) * 3)
    assert (below <= excess + rounding).all()


def test_blurred_slopes_are_means_over_normal_arguments():
    shape = ClippedSlope(-0.5, 1.0, smoothing=0.8)
    a, scale = np.array([-0.7, 0.1, 0.9, 2.0]), np.array([0.3, 0.1, 0.5, 1.0])
    nodes = np.linspace(-9, 9, 20_001)
    weights = norm.pdf(nodes) / norm.pdf(nodes).sum()
    slope, curvature = blurred_slope(shape, a, scale)
    expected = weights @ shape.slope(a + scale * nodes[:, None])
    np.testing.assert_allclose(slope, expected, atol=1e-6)
    step = 1e-5
    numeric = blurred_slope(shape, a + step, scale)[0] - blurred_slope(shape, a - step, scale)[0]
    np.testing.assert_allclose(curvature, numeric / (2 * step), atol=1e-6)
