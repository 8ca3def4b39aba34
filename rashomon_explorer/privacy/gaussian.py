"""From Gaussian DP to (ε, δ)-DP and back, exactly."""

import math
from functools import lru_cache

from scipy.optimize import brentq
from scipy.special import erfcx, expit, ndtr, ndtri

from rashomon_explorer.validation import (
    check_delta,
    check_nonnegative_or_infinite,
    check_positive,
)

_SAFE = 1e-12  # of ε: a root is found to about 1e-15 of it, and must not end below


def gdp_delta(mu: float, epsilon: float) -> float:
    """Least δ such that μ-GDP implies (ε, δ)-DP.

    δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) (Dong, Roth and Su 2022, Corollary 2.13), which a
    Gaussian mechanism attains. Both terms share the factor exp(−a²/2), a = ε/μ − μ/2, so that
    nothing overflows.

    μ = ∞ stands for no guarantee.

    >>> round(gdp_delta(1.0, 1.0), 6)
    0.126937
    """
    check_nonnegative_or_infinite(mu=mu, epsilon=epsilon)
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if not math.isfinite(mu):
        return 1.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    least = math.ulp(0.0)  # never 0: pure DP does not follow, however small δ is
    if not math.isfinite(near):  # ε/μ is beyond the largest double
        return least
    shared = math.exp(-near * near / 2) / 2  # e^ε·φ(far) = φ(near)
    below = shared * erfcx(far / math.sqrt(2))
    above = shared * erfcx(near / math.sqrt(2)) if near > 0 else ndtr(-near)
    return float(max(least, above - below))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Least ε such that μ-GDP implies (ε, δ)-DP; see :func:`gdp_delta`.

    Infinite for δ = 0 unless μ = 0; μ = ∞ stands for no guarantee.

    >>> round(gdp_epsilon(1.0, 1e-5), 4)
    4.3772
    """
    check_nonnegative_or_infinite(mu=mu)
    check_delta(delta)
    if mu == 0:
        return 0.0
    if delta == 0 or not math.isfinite(mu):
        return math.inf
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    # Φ(−a) ≤ exp(−a²/2)/2, so that δ is reached by a = √(2 log(1/δ)).
    high = mu**2 / 2 + mu * math.sqrt(-2 * math.log(delta))
    root = brentq(lambda epsilon: gdp_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-15, rtol=1e-14)
    return float(root * (1 + _SAFE))


def gdp_mu(epsilon: float, delta: float) -> float:
    """Largest μ such that μ-GDP implies (ε, δ)-DP.

    δ > 0: Gaussian DP says nothing at δ = 0.

    >>> mu = gdp_mu(1.0, 1e-5)
    >>> round(mu, 4), gdp_epsilon(mu, 1e-5) <= 1.0
    (0.2681, True)
    """
    check_positive(epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta must be in (0, 1) for Gaussian noise, got {delta!r}")
    return _mu(epsilon, delta)


@lru_cache(maxsize=1024)  # a plan is tried for many balls and counts, at one price
def _mu(epsilon: float, delta: float) -> float:
    high = 1.0
    while gdp_delta(high, epsilon) <= delta:
        high *= 2
    root = brentq(lambda mu: gdp_delta(mu, epsilon) - delta, 0.0, high, xtol=1e-300, rtol=1e-14)
    # Lowered by more than both roots may be off, so that the way back does not pass ε.
    while gdp_epsilon(root, delta) > epsilon:
        root *= 1 - _SAFE
    return float(root)


def pure_mu(epsilon: float) -> float:
    """Least μ such that ε-DP implies μ-GDP, 2 Φ⁻¹(e^ε/(1 + e^ε)).

    The trade-off of randomised response has one corner, at (a, a) with a = 1/(1 + e^ε); a convex
    curve that passes below it, as G(μ) does from a = Φ(−μ/2) on, is below all of it.

    Examples
    --------
    >>> round(pure_mu(1.0), 4)
    1.232
    """
    check_nonnegative_or_infinite(epsilon=epsilon)
    if epsilon < 1e-4:  # Φ⁻¹ of the logistic function is below its tangent, and has no digits here
        return epsilon * math.sqrt(math.pi / 2) * (1 + _SAFE)
    return float(-2 * ndtri(expit(-epsilon)) * (1 + _SAFE))


def bounded_range_mu(eta: float) -> float:
    """Least μ such that η-bounded range implies μ-GDP, 2 Φ⁻¹(e^(η/2)/(1 + e^(η/2))).

    What bounded range leaves open is logit(1 − α) + logit(1 − β) = η; on that curve Φ⁻¹(1 − α) +
    Φ⁻¹(1 − β) is largest at α = β, because Φ⁻¹ of the logistic function is odd, and concave
    above 0 (docs/composition.md).

    Examples
    --------
    >>> round(bounded_range_mu(1.0), 4)
    0.6239
    """
    check_nonnegative_or_infinite(eta=eta)
    return pure_mu(eta / 2)
