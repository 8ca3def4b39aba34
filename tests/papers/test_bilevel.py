"""Repaired bilevel mechanisms pass their exact audits; what is printed, or less, does not."""

import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms.penalties import BilevelConstants
from rashomon_explorer.papers.constants import printed_bilevel_slope
from rashomon_explorer.papers.theorems import (
    gradient_norm_temperature,
    hypergradient_noise,
    regularised_temperature,
    stationary_regime,
)
from rashomon_explorer.privacy import gdp
from rashomon_explorer.privacy.audit import discrete, exact

N, EPSILON, DELTA = 1_000_000, 1.0, 1e-5


def scalar(kappa):
    """g = zy²/2 − xy, f = y − x, z in [1, κ], |x| ≤ ½: Φ = x/z̄ − x is linear."""
    return BilevelConstants(mu=1.0, f_x=1.0, f_y=1.0, g_y=kappa / 2, g_xy=1.0, g_yy=kappa)


def delta_of(kappa, slope):
    """δ(ε) of the worst neighbours' laws, integrated, at the temperature for this slope."""
    ridge = 4 * math.sqrt(math.log(1 / DELTA)) / (N * EPSILON)
    k = regularised_temperature(ridge, slope, epsilon=EPSILON, delta=DELTA)
    moved = 1 / (1 + (kappa - 1) / N) - 1

    def law(tilt):
        return lambda x: -k * (tilt * x[0] + ridge * x[0] ** 2 / 2)

    return exact(law(0.0), law(moved), box=[(-0.5, 0.5)], points=40_001).delta(EPSILON)


@pytest.mark.parametrize("kappa", [10.0, 100.0, 1000.0])
def test_the_regularised_mechanism_is_private_by_k(kappa):
    assert delta_of(kappa, scalar(kappa).gradient_sensitivity / N) <= DELTA


@pytest.mark.parametrize("kappa", [100.0, 1000.0])
def test_as_printed_it_is_not(kappa):
    """Negative control: 2G/n in place of K/n."""
    slope = printed_bilevel_slope(
        outer_x=1.0, outer_y=1.0, inner_y=kappa, inner_xy=1.0, outer_xy=0.0, mu=1.0
    )
    assert delta_of(kappa, 2 * slope / N) > 1000 * DELTA


def test_gradient_norms_use_all_of_it_where_gradients_turn():
    """∇Φ = a on one half and b on the other, one record moving both by Δ, apart."""
    sensitivity = 0.1
    k = gradient_norm_temperature(sensitivity, epsilon=EPSILON)
    first, second = np.array([0.3, 0.5]), np.array([0.4, 0.4])
    assert discrete(-k * first, -k * second).range == pytest.approx(EPSILON)


@pytest.mark.parametrize("inner_error", [0.0, 1e-4, 1e-2])
def test_noise_of_hypergradients_is_what_gaussian_dp_asks(inner_error):
    steps, moved = 4, 0.01 + 2 * 3.0 * inner_error
    sigma = hypergradient_noise(
        0.01, steps, epsilon=EPSILON, delta=DELTA, inexactness=3.0, inner_error=inner_error
    )
    together = gdp(mu=math.sqrt(steps) * moved / sigma)
    assert together.epsilon(DELTA) == pytest.approx(EPSILON, rel=1e-9)

    def law(mean):
        return lambda x: -((x[0] - mean) ** 2) / (2 * sigma**2)

    far = moved * math.sqrt(steps)  # T equal shifts are one of √T times the size
    audit = exact(law(0.0), law(far), box=[(-9 * sigma, 9 * sigma + far)])
    assert audit.delta(EPSILON) <= DELTA * (1 + 1e-3)
    if inner_error > 1e-3:  # inner errors that nobody pays for
        free = hypergradient_noise(0.01, steps, epsilon=EPSILON, delta=DELTA)
        assert gdp(mu=far / free).delta(EPSILON) > 10 * DELTA


def test_regimes_follow_each_other():
    found = [stationary_regime(100, d, 1.0) for d in (10, 11, 100, 101, 10_000, 10_001)]
    assert found == [
        "gradient norm", "warm start", "warm start", "noisy gradient", "noisy gradient", "constant",
    ]  # fmt: skip


@pytest.mark.parametrize(("sound", "holds"), [(True, True), (False, False)])
def test_a_kink_behind_a_fit_needs_more_than_what_is_printed(sound, holds):
    """g = (y − ax − z̄)²/2 and f = √(y² + w²) − w: a record moves where the kink is.

    Both losses are convex. Φ' = a·f'(ax + z̄), which a shift of z̄ by 2/n turns round where w is
    small; printed is 2G/n with G = a, and K has β_f,yy = 1/w.
    """
    n, a, width = 1000, 0.01, 1e-4
    bounds = BilevelConstants(mu=1.0, f_y=1.0, g_y=1.0, f_yy=1 / width, g_xy=a, g_yy=1.0)
    printed = printed_bilevel_slope(
        outer_x=0.0, outer_y=1.0, inner_y=1.0, inner_xy=a, outer_xy=0.0, mu=1.0
    )
    slope = bounds.gradient_sensitivity / n if sound else 2 * printed / n
    ridge = printed * math.sqrt(math.log(1 / DELTA)) / (n * EPSILON)
    k = regularised_temperature(ridge, slope, epsilon=EPSILON, delta=DELTA)

    def law(shift):
        return lambda x: -k * (np.sqrt((a * x[0] + shift) ** 2 + width**2) + ridge * x[0] ** 2 / 2)

    audit = exact(law(-1 / n), law(1 / n), box=[(-0.5, 0.5)], points=40_001)
    assert bool(audit.delta(EPSILON) <= DELTA) is holds
    assert holds or audit.delta(EPSILON) > 0.5


def test_excess_of_the_regularised_mechanism_has_the_rate_of_the_paper():
    """d/k + μD²/2 on a ball of diameter D = 1, at the best μ: n by −1, d by ½."""

    def bound(n, d):
        ridges = np.geomspace(1e-9, 10, 400)
        cold = [regularised_temperature(r, 1 / n, epsilon=EPSILON, delta=DELTA) for r in ridges]
        return float((d / np.array(cold) + ridges / 2).min())

    n, d = np.array([1e4, 1e5, 1e6]), np.array([4.0, 16.0, 64.0])
    by_n = np.polyfit(np.log(n), np.log([bound(k, 8) for k in n]), 1)[0]
    by_d = np.polyfit(np.log(d), np.log([bound(1e5, k) for k in d]), 1)[0]
    assert (by_n, by_d) == pytest.approx((-1, 0.5), abs=0.1)
