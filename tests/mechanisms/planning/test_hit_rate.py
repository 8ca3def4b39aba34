"""What is promised of the thresholded law before any row is read."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaincc, gammaln

from rashomon_explorer.mechanisms.bounds import convex_law
from rashomon_explorer.mechanisms.bounds.hit_rate import (
    expected_excess_bound,
    guaranteed_hit_rate,
    sharp_excess_bound,
)
from rashomon_explorer.mechanisms.planning.planner import plan

P = st.integers(1, 1000)
X = st.floats(-6, 8).map(lambda power: 10.0**power)


def cone_hit_rate(p: int, x: float) -> float:
    """P(excess ≤ ψ) under exp(−β max(‖θ‖, ψ)) on ℝᵖ, x = βψ, from the incomplete gamma."""
    inside = p * math.log(x) - x - math.log(p)
    outside = math.log(gammaincc(p, x)) + gammaln(p)
    return float(1 / (1 + np.exp(min(700.0, outside - inside))))


@given(P, X.filter(lambda x: x < 500))
def test_the_cone_attains_it(p: int, x: float) -> None:
    assert guaranteed_hit_rate(p, x, 1.0) == pytest.approx(
        cone_hit_rate(p, x), rel=1e-9, abs=1e-290
    )


@given(P, X, st.floats(0.01, 100))
def test_only_the_product_of_beta_and_psi_counts(p: int, x: float, psi: float) -> None:
    assert guaranteed_hit_rate(p, x / psi, psi) == pytest.approx(
        guaranteed_hit_rate(p, x, 1.0), rel=1e-9, abs=1e-290
    )


@given(P, X)
def test_never_below_the_simple_bound(p: int, x: float) -> None:
    rate = guaranteed_hit_rate(p, x, 1.0)
    assert 0 <= rate <= 1
    assert rate >= 1 - p / x - 1e-12


@given(P, X, st.floats(1, 10))
def test_rises_with_beta_and_falls_with_p(p: int, x: float, factor: float) -> None:
    assert guaranteed_hit_rate(p, x * factor, 1.0) >= guaranteed_hit_rate(p, x, 1.0)
    assert guaranteed_hit_rate(p + 1, x, 1.0) <= guaranteed_hit_rate(p, x, 1.0)


@pytest.mark.parametrize(
    ("p", "x", "rate"),
    [(1, 10.0, 10 / 11), (1, 1.0, 1 / 2), (2, 1.0, 1 / 5), (3, 2.0, 1 / (1 + 1.5 + 1.5 + 0.75))],
)
def test_by_hand(p: int, x: float, rate: float) -> None:
    assert guaranteed_hit_rate(p, x, 1.0) == pytest.approx(rate)


@pytest.mark.parametrize(("p", "x"), [(1, 10.0), (2, 10.0), (5, 10.0), (10, 10.0), (20, 30.0)])
@pytest.mark.parametrize("power", [1.5, 2.0, 4.0])
def test_rounder_losses_hit_more_often(p: int, x: float, power: float) -> None:
    """Radial losses ‖θ‖ᵏ: P(G) by quadrature, in the excess v with density v^{p/k − 1}."""
    inside = x ** (p / power) * math.exp(-x) / (p / power)
    outside = quad(lambda v: v ** (p / power - 1) * math.exp(-v), x, np.inf)[0]
    assert inside / (inside + outside) > guaranteed_hit_rate(p, x, 1.0)


@pytest.mark.parametrize(("beta", "psi"), [(0.0, 1.0), (5.0, 0.0), (5e-324, 1e-10), (1e-300, 1.0)])
def test_nothing_is_promised_without_heat_or_room(beta: float, psi: float) -> None:
    assert guaranteed_hit_rate(1000, beta, psi) == 0.0


def test_everything_is_promised_in_the_limit() -> None:
    assert guaranteed_hit_rate(1000, 1e300, 1e300) == 1.0


@pytest.mark.parametrize("p", [1, 3, 10])
@pytest.mark.parametrize("x", [0.0, 0.5, 5.0, 50.0])
def test_the_excess_bound_covers_the_cone(p: int, x: float) -> None:
    beta = 7.0
    psi = x / beta

    def weight(r: float) -> float:
        return r ** (p - 1) * math.exp(-max(beta * r, x) + x)

    ends = (0.0, psi, psi + 60 * (p + 1) / beta)
    total = sum(quad(weight, *span)[0] for span in pairwise(ends))
    mean = sum(quad(lambda r: r * weight(r), *span)[0] for span in pairwise(ends))
    bound = expected_excess_bound(p, beta, psi)
    assert mean / total <= bound * (1 + 1e-8)
    if psi == 0:
        assert mean / total == pytest.approx(bound, rel=1e-6)
    sharp = sharp_excess_bound(p, beta, psi)
    assert mean / total == pytest.approx(sharp, rel=1e-6)
    assert sharp == pytest.approx(convex_law(p=p, beta=beta, psi=psi).mean, rel=1e-9)


def test_the_excess_is_unbounded_without_heat() -> None:
    assert expected_excess_bound(3, 0.0, 0.1) == math.inf == sharp_excess_bound(3, 0.0, 0.1)


@example(p=1, beta=1.0, psi=3e-222)
@example(p=1, beta=1.0, psi=5e-324)
@given(p=st.integers(1, 300), beta=st.floats(0.1, 1e6), psi=st.floats(0, 2))
def test_a_plan_promises_the_stronger_of_the_two_excess_bounds(p, beta, psi):
    assert sharp_excess_bound(p, beta, psi) <= expected_excess_bound(p, beta, psi)
    budget = {"epsilon": 1.0, "delta": 1e-6, "n_draws": 3, "radius": 4.0, "row_norm": 1.0}
    bought = plan(1000, p, psi, **budget)
    assert bought.excess_bound == sharp_excess_bound(p, bought.beta, psi)
