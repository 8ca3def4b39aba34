"""The conversion from zCDP is valid, against the Gaussian mechanism, and as tight as it can be."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from rashomon_explorer.privacy.conversions import zcdp_delta, zcdp_epsilon

Conversion = Callable[[float, float], float]

RHOS = st.floats(-8, 3).map(lambda power: 10.0**power)
DELTAS = st.floats(-300, math.log10(0.5)).map(lambda power: 10.0**power)
EPSILONS = st.floats(0, 50)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Exact δ(ε) of N(0, 1) against N(μ, 1)."""
    ahead = log_ndtr(mu / 2 - epsilon / mu)
    behind = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(-np.exp(ahead) * np.expm1(behind - ahead))


def optimal_epsilon(rho: float, delta: float) -> float:
    """The conversion's minimum over orders by an independent optimiser."""

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        rest = -math.log(delta) - alpha * math.log1p(1 / excess) - log_excess
        return alpha * rho + rest / excess

    starts = np.linspace(-12, 16, 60)
    least = min(starts, key=bound)
    found = minimize_scalar(
        bound, bounds=(least - 1, least + 1), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, float(found.fun))


def violations(conversion: Conversion) -> int:
    """Pairs (μ, ε) at which the Gaussian mechanism leaks more than the conversion admits."""
    grid = [(mu, eps) for mu in np.geomspace(0.01, 8, 25) for eps in np.linspace(0, 30, 61)]
    return sum(
        gaussian_delta(mu, eps) > conversion(mu**2 / 2, eps) * (1 + 1e-9) + 1e-300
        for mu, eps in grid
    )


def test_the_gaussian_mechanism_never_leaks_more() -> None:
    assert violations(zcdp_delta) == 0


@pytest.mark.parametrize("share", [0.9, 0.5])
def test_too_small_a_rho_is_caught(share: float) -> None:
    assert violations(lambda rho, epsilon: zcdp_delta(share * rho, epsilon)) > 20


@given(RHOS, DELTAS)
def test_close_to_the_optimum_over_orders(rho: float, delta: float) -> None:
    best = optimal_epsilon(rho, delta)
    got = zcdp_epsilon(rho, delta)
    assert best * (1 - 1e-9) - 1e-12 <= got <= best * (1 + 1e-4) + 1e-9


@given(RHOS, DELTAS)
def test_never_worse_than_the_classical_conversion(rho: float, delta: float) -> None:
    classical = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert zcdp_epsilon(rho, delta) <= classical * (1 + 1e-9)


@given(RHOS, DELTAS)
def test_delta_inverts_epsilon(rho: float, delta: float) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    back = zcdp_delta(rho, epsilon)
    assert back <= delta * (1 + 1e-6)
    if epsilon > 0:
        assert back >= delta * (1 - 1e-6)


@given(RHOS, EPSILONS)
def test_epsilon_inverts_delta(rho: float, epsilon: float) -> None:
    delta = zcdp_delta(rho, epsilon)
    if 1e-300 < delta < 0.999:
        assert zcdp_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-6)


@given(RHOS, DELTAS, st.floats(1, 100))
def test_monotone(rho: float, delta: float, factor: float) -> None:
    assert zcdp_epsilon(rho * factor, delta) >= zcdp_epsilon(rho, delta)
    assert zcdp_epsilon(rho, delta / factor) >= zcdp_epsilon(rho, delta)
    epsilon = 10 * rho
    assert zcdp_delta(rho * factor, epsilon) >= zcdp_delta(rho, epsilon)
    assert zcdp_delta(rho, epsilon * factor) <= zcdp_delta(rho, epsilon)


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 1.0, 1e3, 1e300])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 1e-6, 0.5, 1 - 1e-12])
def test_extremes_are_finite(rho: float, delta: float) -> None:
    assert 0 <= zcdp_epsilon(rho, delta) < math.inf
    assert 0 <= zcdp_delta(rho, 1 / rho) <= 1


def test_edges() -> None:
    assert zcdp_epsilon(0.0, 0.0) == zcdp_delta(0.0, 0.0) == 0.0
    assert zcdp_epsilon(0.1, 0.0) == zcdp_epsilon(math.inf, 0.1) == math.inf
    assert zcdp_delta(math.inf, 5.0) == 1.0
    assert zcdp_delta(0.5, math.inf) == 0.0
    assert zcdp_epsilon(1e-8, 0.5) == 0.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: zcdp_epsilon(-1.0, 0.1), "rho"),
        (lambda: zcdp_epsilon(math.nan, 0.1), "rho"),
        (lambda: zcdp_epsilon(1.0, math.nan), "delta"),
        (lambda: zcdp_epsilon(1.0, 1.0), "delta"),
        (lambda: zcdp_delta(math.nan, 1.0), "rho"),
        (lambda: zcdp_delta(1.0, math.nan), "epsilon"),
    ],
)
def test_nonsense_is_refused_by_name(call: Callable[[], float], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        call()
