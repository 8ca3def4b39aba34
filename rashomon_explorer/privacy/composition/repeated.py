"""Independent draws of bounded range: their price, and what a budget buys."""

import math
from functools import lru_cache

from scipy.optimize import brentq

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import bounded_range
from rashomon_explorer.privacy.tradeoff import RepeatedBoundedRange
from rashomon_explorer.validation import (
    check_count,
    check_delta,
    check_positive,
)

_HAIR = 1e-14  # of η: what a root may be off by, doubled until the way back fits


def repeated_bounded_range(eta: float, k: int) -> Guarantee:
    """Guarantee of k independent draws, each of η-bounded range, all together.

    As every composition it is kη-DP and kη²/8-zCDP. Because no draw is chosen after another was
    seen, its (ε, δ) are the exact optimum of Dong, Durfee and Rogers 2020; see
    :class:`~rashomon_explorer.privacy.tradeoff.RepeatedBoundedRange` and docs/composition.md. In
    :func:`~rashomon_explorer.privacy.compose` and in a ledger, beside other mechanisms, the kη and
    the kη²/8 count.

    Parameters
    ----------
    eta : float
        η ≥ 0 of one draw.
    k : int
        Number of draws, ≥ 1, fixed before the first.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from rashomon_explorer.privacy import compose
    >>> draws = repeated_bounded_range(eta=0.5, k=20)
    >>> round(draws.epsilon(1e-6), 3), round(compose([bounded_range(0.5)] * 20).epsilon(1e-6), 3)
    (5.393, 5.927)
    """
    check_count(k=k)
    one = bounded_range(eta)
    several = "draw" if k == 1 else "draws"
    return Guarantee(
        "repeated_bounded_range",
        f"exponential mechanism, {k} independent {several} of bounded range (Dong, Durfee and "
        "Rogers 2020; docs/composition.md)",
        pure_epsilon=k * one.pure_epsilon,
        rho=k * one.rho,
        assumptions=(
            *one.assumptions,
            "draws are independent, of one law, and their number was fixed beforehand",
        ),
        curve=RepeatedBoundedRange(eta, int(k)) if math.isfinite(eta) else None,
    )


def affordable_repeated_eta(epsilon: float, delta: float, k: int) -> float:
    """Largest η of each of k independent draws that together cost (ε, δ).

    Parameters
    ----------
    epsilon, delta : float
        Total budget: ε > 0 and finite, δ in [0, 1).
    k : int
        Number of draws, ≥ 1, fixed before the first.

    Returns
    -------
    float
        :func:`repeated_bounded_range` with it costs at most ε at δ.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> affordable_repeated_eta(4.0, 0.0, 20)
    0.2
    >>> eta = affordable_repeated_eta(4.0, 1e-6, 20)
    >>> round(eta, 3), repeated_bounded_range(eta, 20).epsilon(1e-6) <= 4.0
    (0.383, True)
    """
    check_positive(epsilon=epsilon)
    check_delta(delta)
    check_count(k=k)
    return _affordable(float(epsilon), float(delta), int(k))


@lru_cache(maxsize=256)  # every radius that is tried asks for the same one
def _affordable(epsilon: float, delta: float, k: int) -> float:
    eta = epsilon / k
    if delta > 0:
        eta = max(eta, _largest(epsilon, delta, k))
    hair = _HAIR
    while repeated_bounded_range(eta, k).epsilon(delta) > epsilon:
        eta, hair = min(eta * (1 - hair), math.nextafter(eta, 0.0)), 2 * hair
    return eta


def _largest(epsilon: float, delta: float, k: int) -> float:
    """Root of δ(ε; η) = δ, which grows with η."""

    def excess(eta: float) -> float:
        profile = float(RepeatedBoundedRange(eta, k).delta(epsilon))
        return math.log(max(profile, 1e-320) / delta)

    low = high = epsilon / k  # where δ(ε) is 0
    while excess(high) <= 0:
        low, high = high, 2 * high
    return float(brentq(excess, low, high, xtol=1e-16 * high, rtol=1e-13))
