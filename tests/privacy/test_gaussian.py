"""Gaussian DP: exact conversions, composition, and what a ledger makes of it."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.privacy import gdp, zcdp
from rashomon_explorer.privacy.conversions import gdp_delta, gdp_epsilon, gdp_mu

MU = st.floats(1e-3, 20.0)
DELTAS = st.floats(-14, -0.4).map(lambda power: 10.0**power)


def test_a_published_value() -> None:
    # The exact (1, 1e-5) of the notes on Langevin diffusion: δ(1; μ = .2681) = 1e-5.
    assert gdp_delta(0.2681, 1.0) == pytest.approx(1e-5, rel=5e-3)


@given(MU, DELTAS)
def test_epsilon_inverts_delta_and_never_ends_below(mu: float, delta: float) -> None:
    epsilon = gdp_epsilon(mu, delta)
    assert gdp_delta(mu, epsilon) <= delta * (1 + 1e-9)
    if epsilon > 1e-6:
        assert gdp_delta(mu, epsilon * (1 - 1e-6)) > delta * (1 - 1e-9)


@given(st.floats(0.01, 30.0), DELTAS)
def test_the_largest_mu_keeps_the_budget(epsilon: float, delta: float) -> None:
    mu = gdp_mu(epsilon, delta)
    assert gdp_epsilon(mu, delta) <= epsilon
    assert gdp_epsilon(mu * (1 + 1e-6), delta) > epsilon * (1 - 1e-9)


@given(MU, DELTAS)
def test_gaussian_dp_is_never_worse_than_the_zcdp_it_implies(mu: float, delta: float) -> None:
    assert gdp(mu).epsilon(delta) <= zcdp(mu * mu / 2).epsilon(delta) * (1 + 1e-9)


def test_extremes_neither_overflow_nor_promise_too_much() -> None:
    assert gdp_delta(1e-200, 1.0) == math.ulp(0.0)  # not 0, which would be pure DP
    assert gdp_delta(200.0, 0.0) == pytest.approx(1.0)
    assert gdp_delta(100.0, 1.0) == pytest.approx(1.0)
    assert gdp_delta(math.inf, 1.0) == 1.0
    assert gdp_delta(0.0, 0.0) == 0.0
    assert gdp_epsilon(1.0, 0.0) == math.inf
    assert gdp_epsilon(0.0, 0.0) == 0.0
    deltas = [gdp_delta(80.0, epsilon) for epsilon in np.linspace(0, 6000, 400)]
    assert all(later <= earlier for earlier, later in pairwise(deltas))


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (0.0, 1e-6, "epsilon must be finite and > 0"),
        (math.inf, 1e-6, "epsilon must be finite and > 0"),
        (1.0, 0.0, r"delta must be in \(0, 1\)"),
    ],
)
def test_budgets_that_no_gaussian_keeps_are_refused(
    epsilon: float, delta: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gdp_mu(epsilon, delta)
