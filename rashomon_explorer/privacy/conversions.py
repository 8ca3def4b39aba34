"""Conversion of Gaussian, zero-concentrated and Rényi differential privacy to (epsilon, delta)."""

import math
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, expit, ndtr, ndtri

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect

_SAFE = 1e-12  # relative to ε: a root has a relative error of about 1e-15 and must not end below


def gdp_delta(mu: float, epsilon: float) -> float:
    """Least δ of μ-GDP, Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) (Dong, Roth and Su 2022, Cor. 2.13)."""
    validation.check_nonnegative_or_infinite(mu=mu, epsilon=epsilon)
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if not math.isfinite(mu):
        return 1.0
    smallest = math.ulp(0.0)  # positive, because pure DP does not follow for any δ
    if not math.isfinite(epsilon / mu):  # beyond the largest double
        return smallest
    return float(max(smallest, gaussian_profile(mu, epsilon, math.exp)))


def gaussian_profile(mu: float, epsilon: Any, exp: Callable[[Any], Any]) -> Any:
    """Return δ of :func:`gdp_delta` for a float or an array of ε, with its function exp."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    shared = exp(-near * near / 2) / 2  # e^ε·φ(far) = φ(near): without it e^ε would overflow
    above = np.where(near > 0, shared * erfcx(np.maximum(near, 0.0) / math.sqrt(2)), ndtr(-near))
    return above - shared * erfcx(far / math.sqrt(2))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Least ε such that μ-GDP implies (ε, δ)-DP; see :func:`gdp_delta`."""
    validation.check_nonnegative_or_infinite(mu=mu)
    validation.check_delta(delta)
    if mu == 0:
        return 0.0
    if delta == 0 or not math.isfinite(mu):
        return math.inf
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    # Φ(−a) ≤ exp(−a²/2)/2, so δ is attained at some a ≤ √(2 log(1/δ)).
    high = mu**2 / 2 + mu * math.sqrt(-2 * math.log(delta))
    root = brentq(lambda epsilon: gdp_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-15, rtol=1e-14)
    return float(root * (1 + _SAFE))


@lru_cache(maxsize=1024)  # a planner tries many radii and counts at one cost
def gdp_mu(epsilon: float, delta: float) -> float:
    """Largest μ such that μ-GDP implies (ε, δ)-DP."""
    validation.check_positive(epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1) for Gaussian noise, got {delta!r}")
    high = 1.0
    while gdp_delta(high, epsilon) <= delta:
        high *= 2
    root = brentq(lambda mu: gdp_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-300, rtol=1e-14)
    # Lowered by more than the error of both roots, so that converting back does not exceed ε.
    while gdp_epsilon(root, delta) > epsilon:
        root *= 1 - _SAFE
    return float(root)


def pure_mu(epsilon: float) -> float:
    """Least μ such that ε-DP implies μ-GDP, 2 Φ⁻¹(e^ε/(1 + e^ε))."""
    validation.check_nonnegative_or_infinite(epsilon=epsilon)
    if epsilon < 1e-4:  # the tangent is an upper bound; the closed form has no digits here
        return epsilon * math.sqrt(math.pi / 2) * (1 + _SAFE)
    return float(-2 * ndtri(expit(-epsilon)) * (1 + _SAFE))


def bounded_range_mu(eta: float) -> float:
    """Least μ such that η-bounded range implies μ-GDP, 2 Φ⁻¹(e^(η/2)/(1 + e^(η/2)))."""
    # On logit(1 − α) + logit(1 − β) = η the sum Φ⁻¹(1 − α) + Φ⁻¹(1 − β) is largest at α = β, as Φ⁻¹
    # of the logistic function is odd, and concave above 0 (docs/composition.md).
    validation.check_nonnegative_or_infinite(eta=eta)
    return pure_mu(eta / 2)


# Every order gives a valid bound; this grid loses less than 1e-4 of ε against the optimum.
_LOG_ORDERS = np.linspace(math.log(1e-4), math.log(1e6), 4001)
EXCESS = np.exp(_LOG_ORDERS)  # α − 1
ORDERS = 1.0 + EXCESS
# α·log(1 − 1/α) − log(α − 1), the constant term of the conversion
OFFSET = -ORDERS * np.log1p(1 / EXCESS) - _LOG_ORDERS


def zcdp_epsilon(rho: float, delta: float, *, least_order: float = 1.0) -> float:
    """Least ε of ρ-zCDP, min over α > 1 of αρ + `conversion` (Canonne et al. 2020, Cor. 13)."""
    validation.check_nonnegative_or_infinite(rho=rho)
    validation.check_delta(delta)
    if rho == 0:
        return 0.0
    if delta == 0 or not math.isfinite(rho):
        return math.inf
    with np.errstate(over="ignore"):
        bounds: NDArray[np.float64] = ORDERS * rho + (OFFSET - math.log(delta)) / EXCESS
    if least_order == 1:
        return max(0.0, float(bounds.min()))
    above = float(bounds[ORDERS > least_order].min(initial=math.inf))
    return max(0.0, min(above, least_order * rho + conversion(least_order, delta)))


def conversion(order: Any, delta: float, xp: ModuleType = math) -> Any:
    """ε − D_α = [log(1/δ) + α log(1 − 1/α) − log(α − 1)]/(α − 1) (Canonne et al. 2020)."""
    excess = order - 1
    return (-math.log(delta) - order * xp.log1p(1 / excess) - xp.log(excess)) / excess


def filter_order(epsilon: float, delta: float) -> float | None:
    """Order α at which (ε, δ) allows the largest ρ with D_α = αρ; None if none allows any."""
    if not (delta > 0 and epsilon > 0):
        return None
    left = (epsilon - (OFFSET - math.log(delta)) / EXCESS) / ORDERS
    best = int(left.argmax())
    return float(ORDERS[best]) if left[best] > 0 else None


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Least δ such that ρ-zCDP implies (ε, δ)-DP; see :func:`zcdp_epsilon`."""
    validation.check_nonnegative_or_infinite(rho=rho, epsilon=epsilon)
    if rho == 0 or epsilon == math.inf:
        return 0.0
    if not math.isfinite(rho):
        return 1.0
    with np.errstate(over="ignore"):
        log_delta = EXCESS * (ORDERS * rho - epsilon) + OFFSET
    # Positive, because pure DP does not follow for any δ.
    return min(1.0, max(math.exp(min(0.0, float(log_delta.min()))), math.ulp(0.0)))


@lru_cache(maxsize=1024)
def zcdp_rho(epsilon: float, delta: float) -> float:
    """Largest ρ such that ρ-zCDP implies (ε, δ)-DP by :func:`zcdp_epsilon`."""
    validation.check_positive(epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1) for a path, got {delta!r}")
    high = 1.0
    while zcdp_epsilon(high, delta) <= epsilon:
        high *= 2

    def over(rho: float) -> float:
        return zcdp_epsilon(rho, delta) - epsilon

    # A rough initial value suffices: an ε next to 0 belongs to a whole range of ρ.
    guess = brentq(over, 0.0, high, xtol=1e-300, maxiter=30, disp=False)
    return bisect(lambda rho: over(rho) <= 0, 0.0, high, halvings=100, about=guess)


_NARROW = 1e-6  # η below which the parabola aη²/8 is used


def renyi_epsilon(orders: ArrayLike, divergences: ArrayLike, delta: float) -> float:
    """Least ε of a Rényi curve: min over orders of D_a + `conversion` (Prop. 12 there)."""
    validation.check_delta(delta)
    orders, divergences = check_curve(orders, divergences)
    if delta == 0 or not orders.size:
        return math.inf
    return max(0.0, float((divergences + conversion(orders, delta, np)).min()))


def renyi_delta(orders: ArrayLike, divergences: ArrayLike, epsilon: float) -> float:
    """Least δ such that a Rényi curve implies (ε, δ)-DP; see :func:`renyi_epsilon`."""
    validation.check_nonnegative_or_infinite(epsilon=epsilon)
    orders, divergences = check_curve(orders, divergences)
    if epsilon == math.inf:
        return 0.0
    if not orders.size:
        return 1.0
    return float(renyi_profile(orders, divergences, np.array(epsilon)))


def renyi_profile(orders: FloatArray, divergences: FloatArray, epsilon: FloatArray) -> FloatArray:
    """δ of :func:`renyi_delta` for an array of ε."""
    if not divergences.any():
        return np.zeros_like(epsilon)
    offsets = divergences + conversion(orders, 1.0, np)
    exponents = (orders - 1) * (offsets - np.asarray(epsilon)[..., None])
    # Positive, because pure DP does not follow for any δ.
    return np.exp(np.clip(exponents.min(axis=-1), math.log(math.ulp(0.0)), 0.0))


def pure_renyi(epsilon: float, order: float) -> float:
    """D_a of ε-DP, log[(e^(aε) + e^((1 − a)ε))/(e^ε + 1)]/(a − 1) (Mironov 2017, Proposition 5)."""
    if epsilon == 0 or not math.isfinite(epsilon):
        return epsilon
    excess = order - 1
    both = np.logaddexp(order * epsilon, -excess * epsilon)
    logs = float(both - np.logaddexp(epsilon, 0.0))
    closed = (logs + _rounding(excess, epsilon)) / excess
    return max(math.ulp(0.0), min(closed, order * epsilon**2 / 2, epsilon))


def bounded_range_renyi(eta: float, order: float) -> float:
    """Largest D_a that η-bounded range allows, at most aη²/8 (Cesar and Rogers 2021) and η."""
    # The worst pairs have log ratios t and t − η, because x^a is convex: e^((a−1)D_a) =
    # r^(a−1) [e^η − r + e^((1−a)η)(r − 1)]/(e^η − 1) with r = e^t is largest at
    # r = (1 − 1/a)(e^η − e^((1−a)η))/(1 − e^((1−a)η)).
    if eta == 0 or not math.isfinite(eta):
        return eta
    if eta < _NARROW:  # the closed form cancels in doubles; the parabola is as sharp
        return max(math.ulp(0.0), min(order * eta**2 / 8, eta))
    # In u = r e^(−η) ∈ [e^(−η), 1] no term overflows.
    small, far = math.exp(-eta), math.exp((1 - order) * eta)
    best = (1 - 1 / order) * math.expm1(-order * eta) / math.expm1((1 - order) * eta)
    u = min(1.0, max(small, best))
    mass = (1 - u) + far * (u - small)
    excess = order - 1
    logs = excess * (math.log(u) + eta) + math.log(mass) - math.log(-math.expm1(-eta))
    return min((logs + _rounding(excess, eta)) / excess, order * eta**2 / 8, eta)


def check_curve(orders: ArrayLike, divergences: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return a Rényi curve as two arrays; raise a ValueError if it is not valid."""
    orders, divergences = np.asarray(orders, float), np.asarray(divergences, float)
    if orders.ndim != 1 or orders.shape != divergences.shape:
        raise ValueError(
            "orders and divergences must be two lists of the same length, got shapes "
            f"{orders.shape} and {divergences.shape}"
        )
    if not (np.all(orders > 1) and np.all(np.isfinite(orders))):
        raise ValueError(f"orders must be > 1 and finite, got {orders.tolist()!r}")
    if not np.all(divergences >= 0):
        raise ValueError(f"divergences must be >= 0, got {divergences.tolist()!r}")
    return orders, divergences


def _rounding(excess: float, width: float) -> float:
    """Upper bound on the rounding error of the logarithms in a closed form."""
    return 1e-15 * (100 + excess * (1 + width) + 10 / width)
