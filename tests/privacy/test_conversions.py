"""Conversions of zCDP and Gaussian DP to (ε, δ): valid, inverse to each other and tight."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.privacy.conversions import (
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)

EPSILONS = st.floats(0, 50)
# ε of a number and δ, δ of a number and ε, the largest number for a budget, its range, and that
# of δ, and the relative error of an inverse.
NOTIONS = {
    "zcdp": (zcdp_epsilon, zcdp_delta, zcdp_rho, (-8, 3), (-300, -0.3), 1e-6),
    "gdp": (gdp_epsilon, gdp_delta, gdp_mu, (-3, 1.3), (-14, -0.4), 1e-9),
}
each_notion = pytest.mark.parametrize("notion", NOTIONS)


@pytest.mark.parametrize(("share", "caught"), [(1.0, False), (0.9, True)])
def test_the_gaussian_mechanism_leaks_no_more_than_its_rho_and_more_than_less(share, caught):
    grid = [(mu, eps) for mu in np.geomspace(0.01, 8, 25) for eps in np.linspace(0, 30, 61)]
    violations = sum(
        gdp_delta(mu, eps) > zcdp_delta(share * mu**2 / 2, eps) * (1 + 1e-9) + 1e-300
        for mu, eps in grid
    )
    assert violations > 20 if caught else violations == 0


@each_notion
@given(st.data())
def test_epsilon_and_delta_invert_each_other_never_end_below_and_are_monotone(notion, data):
    epsilon_at, delta_at, _, numbers, deltas, error = NOTIONS[notion]
    number, delta = (10.0 ** data.draw(st.floats(*powers)) for powers in (numbers, deltas))
    epsilon = epsilon_at(number, delta)
    assert delta_at(number, epsilon) <= delta * (1 + error)
    if epsilon > 1e-6:
        assert delta_at(number, epsilon * (1 - 1e-6)) > delta * (1 - error)
    factor, other = data.draw(st.floats(1, 100)), data.draw(EPSILONS)
    back = delta_at(number, other)
    if 1e-300 < back < 0.999:
        assert epsilon_at(number, back) == pytest.approx(other, rel=1e-6, abs=1e-6)
    assert epsilon_at(number * factor, delta) >= epsilon
    assert epsilon_at(number, delta / factor) >= epsilon
    assert delta_at(number * factor, other) >= back * (1 - 1e-12)
    assert delta_at(number, other * factor) <= back


@each_notion
@given(st.floats(0.01, 30.0), st.floats(-14, -0.4))
def test_the_largest_number_fits_the_budget(notion: str, epsilon: float, power: float) -> None:
    epsilon_at, _, largest, *_ = NOTIONS[notion]
    number = largest(epsilon, 10.0**power)
    assert epsilon_at(number, 10.0**power) <= epsilon
    assert epsilon_at(number * (1 + 1e-6), 10.0**power) > epsilon * (1 - 1e-9)


@pytest.mark.parametrize("rho", [1e-8, 1.0, 1e300])
@pytest.mark.parametrize("delta", [5e-324, 1e-6, 1 - 1e-12])
def test_extremes_are_finite(rho: float, delta: float) -> None:
    assert 0 <= zcdp_epsilon(rho, delta) < math.inf
    assert 0 <= zcdp_delta(rho, 1 / rho) <= 1


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (zcdp_epsilon(0.0, 0.0), 0.0),
        (zcdp_delta(0.0, 0.0), 0.0),
        (zcdp_epsilon(0.1, 0.0), math.inf),
        (zcdp_epsilon(math.inf, 0.1), math.inf),
        (zcdp_delta(math.inf, 5.0), 1.0),
        (zcdp_delta(0.5, math.inf), 0.0),
        (zcdp_epsilon(1e-8, 0.5), 0.0),
        (gdp_delta(1e-200, 1.0), math.ulp(0.0)),  # not 0, which would be pure DP
        (gdp_delta(200.0, 0.0), pytest.approx(1.0)),
        (gdp_delta(math.inf, 1.0), 1.0),
        (gdp_delta(0.0, 0.0), 0.0),
        (gdp_epsilon(1.0, 0.0), math.inf),
        (gdp_epsilon(0.0, 0.0), 0.0),
        # The exact (1, 1e-5) of the notes on Langevin diffusion: δ(1; μ = .2681) = 1e-5.
        (gdp_delta(0.2681, 1.0), pytest.approx(1e-5, rel=5e-3)),
    ],
)
def test_edges(found: float, value: object) -> None:
    assert found == value


def test_delta_of_a_large_mu_falls() -> None:
    deltas = [gdp_delta(80.0, epsilon) for epsilon in np.linspace(0, 6000, 400)]
    assert all(later <= earlier for earlier, later in pairwise(deltas))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zcdp_epsilon(-1.0, 0.1), "rho"),
        (lambda: zcdp_epsilon(1.0, math.nan), "delta"),
        (lambda: zcdp_delta(math.nan, 1.0), "rho"),
        (lambda: zcdp_delta(1.0, math.nan), "epsilon"),
        (lambda: gdp_mu(math.inf, 1e-6), "epsilon must be finite and > 0"),
        (lambda: gdp_mu(1.0, 0.0), r"delta must be in \(0, 1\)"),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
