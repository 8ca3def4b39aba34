"""What can be promised of a thresholded Gibbs law before any row is read."""

import math


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


def expected_excess_bound(p: int, beta: float, psi: float) -> float:
    """Upper bound p/β + ψ of a draw's expected excess loss, for convex losses.

    Theorem 2.4 of Ganesh et al. (2023).

    Parameters
    ----------
    p : int
    beta : float
    psi : float

    Returns
    -------
    float

    Examples
    --------
    >>> expected_excess_bound(p=10, beta=1000.0, psi=0.02)
    0.03
    """
    return p / beta + psi if beta > 0 else math.inf
