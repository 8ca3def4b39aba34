"""Rényi divergences of Gaussian mechanisms on sampled rows, from above, summed in logs."""

import math

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import check_order

_NOTHING = 80.0  # log of what one error of the integral is below
_MOST_NODES = 2**20
_CELLS = 2**16
_LARGEST_ORDER = 2**22  # of a binomial sum
_UP = 1 + 1e-11
_SMALL = 5e-3


def poisson_renyi(sigma: float, rate: float, first: int, second: int, order: float) -> float:
    """Bound D_a of (1 − q)N(0, 1) + qN(±m, 1) and its neighbour's law, m = 1/σ, by a trapezoid sum.

    With P and Q the two laws and r = P/Q, e^((a − 1)D_a) − 1 = ∫Q·(r^a − 1 − a(r − 1))dx, whose
    integrand is positive. Both laws have no zero where |Im x| < πσ, so that the trapezoid sum of
    steps h differs from the integral by at most 2M/(e^(2πd/h) − 1) for any d < πσ, M the integral
    of the integrand's size at distance d from the real line (Trefethen and Weideman 2014,
    Theorem 5.1); docs/theory.md §4 has M and the tails, which are added.

    Parameters
    ----------
    sigma : float
        σ > 0.
    rate : float
        q in (0, 1).
    first, second : int
        Where a sampled record puts the mean, in m: 1, 0 or −1, ``first`` > ``second``.
    order : float
        a > 1.

    Examples
    --------
    >>> round(poisson_renyi(2.0, 0.01, 1, -1, 22.0), 6)
    0.001114
    """
    check_order(order)
    excess, m = order - 1, 1 / sigma
    most = order * ((first - second) * m) ** 2 / 2
    strip = 1 / math.hypot(1.0, math.sqrt(order) * m / 2)
    growth = strip**2 / 2 - excess * math.log(math.cos(m * strip / 2))
    step = 2 * math.pi * strip / (growth + _NOTHING)
    low = -m - math.sqrt(m**2 + 2 * _NOTHING)
    high = _end(order, m, rate)
    if not (high - low) / step < _MOST_NODES:
        return min(most, _binomial_renyi(m, rate, order))
    x: FloatArray = low + step * np.arange(math.ceil((high - low) / step) + 1.0)
    one, other = (_log_lift(place * m * x - m**2 / 2, place, rate) for place in (first, second))
    near = _difference(x, m, rate, first, second)
    terms = other - x**2 / 2 - math.log(2 * math.pi) / 2 + _log_bend(one - other, near, order)
    total = float(logsumexp(terms)) + math.log(step)
    beyond = 4 * (1 + 2 * order) * math.exp(-_NOTHING)
    return min(most, _UP * _log_of_one_and(total, beyond) / excess)


def batches_renyi(mu: float, rate: float, order: float) -> float:
    """Bound D_a of C_q(G(μ)), of batches of a fixed size, in both directions.

    With r = 1 − q + q·e^(μx − μ²/2), e^((a − 1)D_a) − 1 = ∫φ(x)(r^a − 1)(1 − r^(1 − a))dx over
    x > μ/2 (docs/theory.md §4). The last two factors together are convex in x and φ falls, so that
    the mass of a cell times the mean of both ends is never too small.

    Parameters
    ----------
    mu : float
        μ > 0 of the mechanism on a batch.
    rate : float
        q in (0, 1].
    order : float
        a > 1.

    Examples
    --------
    >>> round(batches_renyi(0.5, 0.2, 4.0), 5), round(batches_renyi(0.5, 1.0, 4.0), 5)
    (0.02878, 0.5)
    """
    check_order(order)
    excess = order - 1
    high = order * mu + math.sqrt(order * excess * mu**2 + 2 * _NOTHING)
    x = mu / 2 + (high - mu / 2) * (np.arange(_CELLS + 1) / _CELLS)
    exponent = mu * x - mu**2 / 2
    with np.errstate(divide="ignore"):  # at μ/2 nothing is lost, and its logarithm is −∞
        near = np.log1p(rate * np.expm1(np.minimum(exponent, 1.0)))
        loss = np.maximum(np.where(exponent < 1, near, _log_lift(exponent, 1, rate)), 0.0)
        bend = _log_expm1(order * loss) + np.log(-np.expm1(-excess * loss))
    tail = log_ndtr(-x)
    mass = tail[:-1] + np.log(-np.expm1(np.diff(tail)))
    total = float(logsumexp(mass + np.logaddexp(bend[:-1], bend[1:]))) - math.log(2)
    return min(order * mu**2 / 2, _UP * _log_of_one_and(total, math.exp(-_NOTHING)) / excess)


def _end(order: float, m: float, rate: float) -> float:
    """Where the integrand's tail is below e^(−80)/2, by r ≤ e^(2mx) or by Q ≥ (1 − q)φ."""
    ends = []
    for centre, more in (
        ((2 * order - 1) * m, 0.0),
        (order * m, -(order - 1) * math.log1p(-rate)),
    ):
        ends.append(centre + math.sqrt(centre**2 + 2 * (more + _NOTHING)))
    return min(ends)


def _log_lift(exponent: FloatArray, place: int, rate: float) -> FloatArray:
    """Logarithm of 1 − q + q·e^exponent, which is 1 where a sampled record is not there."""
    if place == 0:
        return np.zeros_like(exponent)
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    return np.asarray(np.logaddexp(rest, math.log(rate) + exponent))


def _difference(x: FloatArray, m: float, rate: float, first: int, second: int) -> FloatArray:
    """R − 1 with all its digits where r is near 1."""
    one, other = (
        np.expm1(np.minimum(place * m * x - m**2 / 2, 50.0)) if place else np.zeros_like(x)
        for place in (first, second)
    )
    return np.asarray(rate * (one - other) / (1 + rate * other))


def _log_bend(log_ratio: FloatArray, near: FloatArray, order: float) -> FloatArray:
    """Logarithm of r^a − 1 − a(r − 1), or a little more."""
    excess = order - 1
    far = order * log_ratio > 40 + math.log(2 * order)
    inside = np.where(far, 0.0, log_ratio)
    t = np.where(np.abs(inside) > 0.1, np.expm1(inside), near)
    t = np.where(far, 0.0, t)
    whole = (1 + t) * np.expm1(excess * inside) - excess * t
    series = 1 + (order - 2) / 3 * t * (1 + (order - 3) / 4 * t * (1 + (order - 4) / 5 * t))
    series = np.where(order * np.abs(t) < _SMALL, order * excess / 2 * t**2 * series, whole)
    with np.errstate(divide="ignore"):  # where r = 1
        return np.asarray(np.where(far, order * log_ratio, np.log(np.maximum(series, 0.0))))


def _log_expm1(values: FloatArray) -> FloatArray:
    """log(e^v − 1) for v ≥ 0."""
    return np.asarray(values + np.log(-np.expm1(-values)))


def _log_of_one_and(log_value: float, more: float) -> float:
    """log(1 + e^value + more)."""
    if log_value > 30:
        return log_value + math.exp(-log_value) * (1 + more)
    return math.log1p(math.exp(log_value) + more)


def _binomial_renyi(m: float, rate: float, order: float) -> float:
    """Bound D_a where steps would be too many, by Q ≥ (1 − q)φ and the next whole order.

    E(1 − q + q·e^(mX − m²/2))^n is a binomial sum; D_a rises with a.
    """
    n = math.ceil(order)
    if n > _LARGEST_ORDER:
        return math.inf
    k = np.arange(n + 1.0)
    log_choices = gammaln(n + 1.0) - gammaln(k + 1) - gammaln(n - k + 1)
    rest = math.log1p(-rate)
    total = logsumexp(log_choices + (n - k) * rest + k * math.log(rate) + k * (k - 1) * m**2 / 2)
    off = 1e-15 * (n * math.log(n) + 100)  # of the logarithms of factorials
    return (_UP * max(0.0, float(total)) + off - (n - 1) * rest) / (n - 1)
