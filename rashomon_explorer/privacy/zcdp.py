"""From zero-concentrated DP to (ε, δ)-DP and back."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rashomon_explorer.search import bisect
from rashomon_explorer.validation import check_delta, check_nonnegative_or_infinite, check_positive

# Every order gives a valid bound; a fine grid loses less than 1e-4 of ε against the optimum.
_LOG_ORDERS = np.linspace(math.log(1e-4), math.log(1e6), 4001)
EXCESS = np.exp(_LOG_ORDERS)  # α − 1
ORDERS = 1.0 + EXCESS
# α·log(1 − 1/α) − log(α − 1), the constant of the conversion
OFFSET = -ORDERS * np.log1p(1 / EXCESS) - _LOG_ORDERS


def zcdp_epsilon(rho: float, delta: float, *, least: float = 1.0) -> float:
    """Least ε such that ρ-zCDP implies (ε, δ)-DP.

    min over α > 1 of αρ + [log(1/δ) + α log(1 − 1/α) − log(α − 1)]/(α − 1)
    (Canonne, Kamath and Steinke 2020, Corollary 13).

    Infinite for δ = 0 unless ρ = 0; ρ = ∞ stands for no guarantee. With ``least`` above 1 no order
    below it is used, itself being one: for what has D_α ≤ αρ from there on.

    >>> bool(zcdp_epsilon(0.5, 1e-6) <= 0.5 + 2 * math.sqrt(0.5 * math.log(1e6)))
    True
    >>> zcdp_epsilon(0.5, 1e-6, least=2.0) < zcdp_epsilon(0.5, 1e-6, least=20.0)
    True
    """
    check_nonnegative_or_infinite(rho=rho)
    check_delta(delta)
    if rho == 0:
        return 0.0
    if delta == 0 or not math.isfinite(rho):
        return math.inf
    with np.errstate(over="ignore"):
        bounds: NDArray[np.float64] = ORDERS * rho + (OFFSET - math.log(delta)) / EXCESS
    if least == 1:
        return max(0.0, float(bounds.min()))
    beyond = float(bounds[ORDERS > least].min(initial=math.inf))
    return max(0.0, min(beyond, least * rho + conversion(least, delta)))


def conversion(order: float, delta: float) -> float:
    """Say how much more than D_α the ε is that one order α > 1 implies at δ > 0.

    [log(1/δ) + α log(1 − 1/α) − log(α − 1)]/(α − 1) (Canonne, Kamath and Steinke 2020).

    Examples
    --------
    >>> round(conversion(20.0, 1e-6), 3)
    0.518
    """
    excess = order - 1
    return (-math.log(delta) - order * math.log1p(1 / excess) - math.log(excess)) / excess


def filter_order(epsilon: float, delta: float) -> float | None:
    """Order α at which D_α may come to most beside zCDP, if all of (ε, δ) is to be spent.

    It is that of :func:`zcdp_rho`: αρ is D_α of the largest ρ, to the last of ε. None where δ = 0,
    or ε is too small for any order.

    Examples
    --------
    >>> order = filter_order(1.0, 1e-6)
    >>> round(order, 1), round(order * zcdp_rho(1.0, 1e-6) + conversion(order, 1e-6), 9)
    (22.0, 1.0)
    >>> filter_order(1.0, 0.0) is None
    True
    """
    if not (delta > 0 and epsilon > 0):
        return None
    left = (epsilon - (OFFSET - math.log(delta)) / EXCESS) / ORDERS
    best = int(left.argmax())
    return float(ORDERS[best]) if left[best] > 0 else None


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Least δ such that ρ-zCDP implies (ε, δ)-DP; see :func:`zcdp_epsilon`.

    Examples
    --------
    >>> round(zcdp_delta(0.5, zcdp_epsilon(0.5, 1e-6)) / 1e-6, 3)
    1.0
    """
    check_nonnegative_or_infinite(rho=rho, epsilon=epsilon)
    if rho == 0 or epsilon == math.inf:
        return 0.0
    if not math.isfinite(rho):
        return 1.0
    with np.errstate(over="ignore"):
        log_delta = EXCESS * (ORDERS * rho - epsilon) + OFFSET
    # Never 0: pure DP does not follow, however small δ is.
    return min(1.0, max(math.exp(min(0.0, float(log_delta.min()))), math.ulp(0.0)))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Largest ρ such that ρ-zCDP implies (ε, δ)-DP by :func:`zcdp_epsilon`.

    δ > 0: zCDP says nothing at δ = 0.

    >>> rho = zcdp_rho(1.0, 1e-6)
    >>> round(rho, 4), zcdp_epsilon(rho, 1e-6) <= 1.0
    (0.0244, True)
    """
    check_positive(epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1) for a path, got {delta!r}")
    return _rho(epsilon, delta)


@lru_cache(maxsize=1024)  # a plan is tried for many balls and counts, at one price
def _rho(epsilon: float, delta: float) -> float:
    high = 1.0
    while zcdp_epsilon(high, delta) <= epsilon:
        high *= 2

    def over(rho: float) -> float:
        return zcdp_epsilon(rho, delta) - epsilon

    # A guess, which need not be good: prices next to 0 are those of a whole range.
    guess = brentq(over, 0.0, high, xtol=1e-300, maxiter=30, disp=False)
    return bisect(lambda rho: over(rho) <= 0, 0.0, high, halvings=100, about=guess)
