"""What to expect, and what is promised, of exact draws on an ellipsoid around a good model."""

import math
from collections.abc import Callable

import numpy as np

from rashomon_explorer.planning.bounds.hit_rate import guaranteed_hit_rate
from rashomon_explorer.search import bisect

WIDEST = 4.0
"""Largest a: an ellipsoid of twice the Rashomon set's axes holds what there is of it."""

_HITS, _KEPT = 0.9, 0.05
_CELLS = 400
_LEAST_SAID = 0.01  # a smaller promise is none
_FAILURES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


def expected_margin(p: int, steepness: float, share: float) -> float:
    """Largest a at which a quadratic loss lets nine in ten draws hit, and one in twenty come.

    On the ellipsoid of heights up to aψ, with the centre ``share``·ψ above the least loss, the
    height tψ of a uniform model has the density t^{p/2−1}, and the law on it that times
    exp(−βψ(t − t₀)₊), t₀ = 1 − ``share``. With many columns nearly all of its volume is near its
    surface: unless βψ is above p/2 or so, a larger ellipsoid holds nothing but worse models. It is
    a guess by which a size is chosen, and no promise.

    Parameters
    ----------
    p : int
        Number of parameters.
    steepness : float
        βψ.
    share : float
        The centre's excess over ψ, ≥ 0.

    Returns
    -------
    float
        At most ``WIDEST``; 0 where the centre itself is not expected in the set.

    Examples
    --------
    >>> [round(expected_margin(92, steep, 0.2), 2) for steep in (0, 40, 100, 1000)]
    [0.8, 0.8, 0.8, 0.85]
    >>> round(expected_margin(8, 40.0, 0.0), 2)
    2.17
    """
    top = 1 - share
    if top <= 0:
        return 0.0

    def good(margin: float) -> bool:
        hits, kept = _shares(p, steepness * top, margin / top)
        return hits >= _HITS and kept >= _KEPT

    return WIDEST if good(WIDEST) else bisect(good, top, WIDEST, halvings=30)


def promised_hits(p: int, beta: float, psi: float, excess: Callable[[float], float]) -> float:
    """Lower bound of the probability that an exact draw on the ellipsoid lies in the set.

    The centre is one of the ellipsoid's models, so that the least loss there is at most e above
    the least, e the centre's excess. The law has its threshold at ψ − e above the least loss on
    the ellipsoid, which is convex: given e the bound is that of docs/theory.md §2 at ψ − e. It is
    less by the probability q that e is larger than is known; the best of several q.

    Parameters
    ----------
    p : int
        Number of parameters.
    beta, psi : float
        Inverse temperature and Rashomon threshold.
    excess : callable
        Bound of the centre's excess but for a probability q.

    Examples
    --------
    >>> round(promised_hits(10, 2_000.0, 0.05, lambda q: 0.0005 / q), 3)
    0.833
    >>> promised_hits(10, 2_000.0, 0.05, lambda q: 0.05)
    0.0
    """
    found = max((1 - q) * guaranteed_hit_rate(p, beta, psi - excess(q)) for q in _FAILURES)
    return found if found >= _LEAST_SAID else 0.0


def _shares(p: int, steepness: float, reach: float) -> tuple[float, float]:
    """Shares of hits among draws, and of draws among uniform models, heights in units of t₀."""
    if reach <= 1:
        return 1.0, 1.0
    ends = np.linspace(1.0, reach, _CELLS + 1)
    middle = (ends[1:] + ends[:-1]) / 2
    # t^{p/2−1}, relative to its value at the surface, or it overflows.
    dense = np.exp((p / 2 - 1) * np.log(middle / reach))
    beyond = dense * np.exp(-steepness * (middle - 1)) * np.diff(ends) / reach
    inside = math.exp(-p / 2 * math.log(reach)) * 2 / p
    total = inside + float(beyond.sum())
    return inside / total, total * p / 2
