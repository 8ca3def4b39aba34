"""How far above the minimum a draw of a convex thresholded law may lie."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainccinv, gammaln


def excess_quantile(p: int, beta: float, level: float, failure: float) -> float:
    """Excess L − min L that a draw is above with probability at most ``failure``.

    For convex L and the hard threshold at ``level``, x = β·level and z = β·excess, a draw is
    stochastically below the law of density ∝ z^(p−1)·exp(−max(z − x, 0)), a cone's (by
    Brunn–Minkowski and a monotone likelihood ratio, docs/theory.md §2), so that for y ≥ 0

        P(z > x + y) ≤ e^(−y)·T_{p−1}(x + y)/T_p(x),   T_k(z) = Σ_{j≤k} z^j/j!.

    At ``level`` = 0 this is the Gamma(p) tail. Never less than ``level``.

    Parameters
    ----------
    p : int
        Number of parameters.
    beta : float
        Inverse temperature.
    level : float
        Height of the threshold above the minimum, ≥ 0.
    failure : float
        In (0, 1).

    Returns
    -------
    float

    Examples
    --------
    >>> round(excess_quantile(1, beta=10.0, level=0.0, failure=1e-6), 4)
    1.3816
    >>> excess_quantile(2, beta=1e4, level=0.1, failure=1e-6) < 0.1015
    True
    """
    x = beta * level
    wanted = math.log(failure)
    least = _log_exponential_sum(p, x)

    def surplus(y: float) -> float:
        return _log_exponential_sum(p - 1, x + y) - y - least - wanted

    if surplus(0.0) <= 0:
        return level
    # The Gamma law, of level 0, has the larger tail above its threshold.
    high = float(gammainccinv(p, failure)) * (1 + 1e-9) + 1e-9
    y = brentq(surplus, 0.0, high, xtol=1e-12, rtol=1e-13)
    return level + float(y) * (1 + 1e-10) / beta


def mean_above(p: int, beta: float, level: float, least: float) -> tuple[float, float]:
    """Mass of the cone's law above an excess ``least`` ≤ ``level``, and its mean excess there.

    With H = x^p/p!/T_p(x) the mass below ``level``, r = ``least``/``level`` and the law of
    :func:`excess_quantile`: 1 − H·r^p, and [p/β + H·level·p/(p+1)·(1 − r^(p+1))]/(1 − H·r^p).

    Returns
    -------
    mass, mean : float

    Examples
    --------
    >>> mean_above(1, beta=10.0, level=0.0, least=0.0)
    (1.0, 0.1)
    >>> [round(value, 4) for value in mean_above(1, beta=10.0, level=1.0, least=0.0)]
    [1.0, 0.5545]
    """
    x = beta * level
    if x <= 0:
        return 1.0, p / beta
    inside = math.exp(p * math.log(x) - float(gammaln(p + 1)) - _log_exponential_sum(p, x))
    share = least / level
    mass = max(1 - inside * share**p, 1e-12)  # more mass only raises what is built on it
    total = p / beta + inside * level * p / (p + 1) * (1 - share ** (p + 1))
    return mass, total / mass


def _log_exponential_sum(k: int, z: float) -> float:
    """Logarithm of T_k(z)."""
    if z <= 0 or k == 0:
        return 0.0
    powers = np.arange(k + 1)
    terms = powers * math.log(z) - gammaln(powers + 1)
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))
