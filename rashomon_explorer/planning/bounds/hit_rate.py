"""What can be promised of a thresholded Gibbs law before any row is read."""

import math

from scipy.special import gammainc, gammaincinv

from rashomon_explorer.search import bisect
from rashomon_explorer.validation import check_count, check_inner_share


def guaranteed_hit_rate(p: int, beta: float, psi: float) -> float:
    """Lower bound of the probability that a draw lies in the Rashomon set, for convex losses.

    [Σ_{j=0..p} p!/(p−j)! (βψ)^{−j}]⁻¹ ≥ 1 − p/(βψ): the cone has the least mass near its tip
    (own derivation, docs/theory.md §2; Theorem D.6 of Ganesh et al. 2023 needs p²).

    Parameters
    ----------
    p : int
        Number of parameters.
    beta : float
        Inverse temperature.
    psi : float
        Rashomon threshold.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(guaranteed_hit_rate(p=1, beta=10.0, psi=1.0), 4)
    0.9091
    """
    x = beta * psi
    if x <= 0:
        return 0.0
    total = term = 1.0
    for j in range(1, p + 1):
        term *= (p - j + 1) / x
        total += term
        if total > 1e300:
            return 0.0
    return 1 / total


def crowded_hit_rate(p: int, beta: float, psi: float) -> float:
    """Lower bound of the probability that a draw at ψ = 0 lies within ψ, for convex losses.

    β·excess of a draw from exp(−βL) is stochastically below a Gamma(p) variable (docs/theory.md
    §2), so that P(p, βψ), the regularised incomplete gamma function, bounds it from below.

    Parameters
    ----------
    p : int
        Number of parameters.
    beta : float
        Inverse temperature.
    psi : float
        Rashomon threshold of the set that is to be hit.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(crowded_hit_rate(p=1, beta=10.0, psi=1.0), 5)
    0.99995
    """
    return float(gammainc(p, beta * psi))


def expected_excess_bound(p: int, beta: float, psi: float) -> float:
    """Upper bound p/β + ψ of a draw's expected excess loss, for convex losses.

    Theorem 2.4 of Ganesh et al. (2023).

    Parameters
    ----------
    p : int
    beta : float
    psi : float

    Examples
    --------
    >>> expected_excess_bound(p=10, beta=1000.0, psi=0.02)
    0.03
    """
    return p / beta + psi if beta > 0 else math.inf


def sharp_excess_bound(p: int, beta: float, psi: float) -> float:
    """Upper bound of a draw's expected excess loss that the cone attains, for convex losses.

    p/β + ψ·p/(p + 1)·P(e ≤ ψ) with the cone's P, :func:`guaranteed_hit_rate`: never more than
    :func:`expected_excess_bound`, and what a plan promises (own derivation, docs/theory.md §8).

    Parameters
    ----------
    p : int
    beta : float
    psi : float

    Examples
    --------
    >>> round(sharp_excess_bound(p=10, beta=4000.0, psi=0.02), 4)
    0.0184
    """
    if beta <= 0:
        return math.inf
    within = guaranteed_hit_rate(p, beta, psi) if psi > 0 else 0.0
    return p / beta + psi * p / (p + 1) * within


def beta_for_crowded_hit_rate(p: int, psi: float, hit_rate: float) -> float:
    """Inverse temperature at which :func:`crowded_hit_rate` promises so much, and hardly more.

    >>> beta = beta_for_crowded_hit_rate(p=11, psi=0.02, hit_rate=0.9)
    >>> round(beta), crowded_hit_rate(11, beta, 0.02) >= 0.9
    (770, True)
    """
    beta = float(gammaincinv(p, hit_rate)) / psi
    while crowded_hit_rate(p, beta, psi) < hit_rate:  # an ulp short
        beta *= 1 + 1e-12
    return beta


def beta_for_hit_rate(p: int, psi: float, hit_rate: float) -> float:
    """Least inverse temperature at which :func:`guaranteed_hit_rate` promises so much.

    Parameters
    ----------
    p : int
        Number of parameters.
    psi : float
        Rashomon threshold, > 0: nothing can be promised of a set without width.
    hit_rate : float
        In (0, 1).

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> beta = beta_for_hit_rate(p=11, psi=0.02, hit_rate=0.9)
    >>> round(beta), guaranteed_hit_rate(11, beta, 0.02) >= 0.9
    (5445, True)
    """
    check_count(p=p)
    if not (math.isfinite(psi) and psi > 0):
        raise ValueError(f"psi must be finite and > 0 for a hit rate to be promised, got {psi!r}")
    check_inner_share(hit_rate=hit_rate)
    high = p / (1 - hit_rate)  # 1 − p/x is a lower bound of the promise
    while not guaranteed_hit_rate(p, high, 1.0) >= hit_rate:  # an ulp short
        high *= 1 + 1e-12
    high = bisect(lambda x: guaranteed_hit_rate(p, x, 1.0) >= hit_rate, high, 0.0, halvings=100)
    beta = high / psi
    while guaranteed_hit_rate(p, beta, psi) < hit_rate:
        beta = math.nextafter(beta, math.inf)
    return beta
