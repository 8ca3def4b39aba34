"""Rényi divergences of what is pure or of bounded range, and their way to (ε, δ)-DP."""

import math

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.validation import check_delta, check_nonnegative_or_infinite

_NARROW = 1e-6  # a bounded range


def renyi_epsilon(orders: ArrayLike, divergences: ArrayLike, delta: float) -> float:
    """Least ε such that a Rényi curve known at some orders implies (ε, δ)-DP.

    min over orders a of D_a + [log(1/δ) + a log(1 − 1/a) − log(a − 1)]/(a − 1) (Canonne, Kamath
    and Steinke 2020, Proposition 12).

    ``divergences`` hold in both directions. Infinite for δ = 0, or without orders.

    >>> orders = np.linspace(1.1, 60, 600)
    >>> round(renyi_epsilon(orders, orders / 2, 1e-5), 3)
    4.728
    """
    check_delta(delta)
    orders, divergences = check_curve(orders, divergences)
    if delta == 0 or not orders.size:
        return math.inf
    bounds = divergences + (_offset(orders) - math.log(delta)) / (orders - 1)
    return max(0.0, float(bounds.min()))


def renyi_delta(orders: ArrayLike, divergences: ArrayLike, epsilon: float) -> float:
    """Least δ such that a Rényi curve implies (ε, δ)-DP; see :func:`renyi_epsilon`.

    Examples
    --------
    >>> round(renyi_delta([2.0, 8.0], [1.0, 4.0], 5.0), 6)
    4.5e-05
    """
    check_nonnegative_or_infinite(epsilon=epsilon)
    orders, divergences = check_curve(orders, divergences)
    if epsilon == math.inf:
        return 0.0
    if not orders.size:
        return 1.0
    exponents = (orders - 1) * (divergences - epsilon) + _offset(orders)
    return math.exp(min(0.0, float(exponents.min())))


def pure_renyi(epsilon: float, order: float) -> float:
    """Largest D_a that pure ε-DP leaves open, that of randomised response.

    D_a = log[(e^(aε) + e^((1 − a)ε))/(e^ε + 1)]/(a − 1) (Mironov 2017, Proposition 5).

    Examples
    --------
    >>> round(pure_renyi(1.0, 2.0), 4), pure_renyi(1.0, 1e9) <= 1.0
    (0.7353, True)
    """
    if epsilon == 0 or not math.isfinite(epsilon):
        return epsilon
    excess = order - 1
    both = np.logaddexp(order * epsilon, -excess * epsilon)
    logs = float(both - np.logaddexp(epsilon, 0.0))
    closed = (logs + _rounding(excess, epsilon)) / excess
    return max(math.ulp(0.0), min(closed, order * epsilon**2 / 2, epsilon))


def bounded_range_renyi(eta: float, order: float) -> float:
    """Largest D_a that η-bounded range leaves open.

    A pair with log ratios t and t − η has e^((a−1)D_a) = r^(a−1) [e^η − r + e^((1−a)η)(r − 1)]/
    (e^η − 1) with r = e^t, which is largest at r = (1 − 1/a)(e^η − e^((1−a)η))/(1 − e^((1−a)η));
    convexity of x^a makes these pairs the worst. At most aη²/8 (Cesar and Rogers 2021, Lemma 3.5)
    and at most η.

    Examples
    --------
    >>> round(bounded_range_renyi(0.5, 2.0), 5), 2 * 0.5**2 / 8
    (0.06186, 0.0625)
    """
    if eta == 0 or not math.isfinite(eta):
        return eta
    if eta < _NARROW:  # of which doubles leave no closed form, and the parabola is as good
        return max(math.ulp(0.0), min(order * eta**2 / 8, eta))
    # In u = r e^(−η), from e^(−η) to 1, nothing overflows.
    small, far = math.exp(-eta), math.exp((1 - order) * eta)
    best = (1 - 1 / order) * math.expm1(-order * eta) / math.expm1((1 - order) * eta)
    u = min(1.0, max(small, best))
    mass = (1 - u) + far * (u - small)
    excess = order - 1
    logs = excess * (math.log(u) + eta) + math.log(mass) - math.log(-math.expm1(-eta))
    return min((logs + _rounding(excess, eta)) / excess, order * eta**2 / 8, eta)


def check_curve(orders: ArrayLike, divergences: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return a Rényi curve as arrays; refuse one that is none.

    Examples
    --------
    >>> check_curve([2.0], [0.5])
    (array([2.]), array([0.5]))
    """
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


def _offset(orders: FloatArray) -> FloatArray:
    return np.asarray(orders * np.log1p(-1 / orders) - np.log(orders - 1))


def _rounding(excess: float, width: float) -> float:
    """More than the logarithms of a closed form can be off by."""
    return 1e-15 * (100 + excess * (1 + width) + 10 / width)
