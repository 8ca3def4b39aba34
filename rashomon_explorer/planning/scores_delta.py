"""What a Gaussian tilt tells of a record that has several scores."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaincc

from rashomon_explorer.array_types import FloatArray

_CELL, _FAR = 1 / 512, 40.0  # of lengths; beyond it no double holds what is left
_FALL = 14.0  # of a length: e^(−98), of which a sum of doubles knows nothing
_MOST_SCORES = 64  # of whose lengths a double's least is beyond all cells
_LARGEST_EXPONENT = 700.0


def several_scores_delta(ratio: float, kept: float, jump: float, outputs: int) -> float:
    """δ at ε = kept + J of the exact minimiser under Gaussian b, q scores a row.

    Its slopes c, c' are vectors, of length S/B at most, so that a record's part of b·v is at most
    (S/n)σ‖X‖, X standard normal in q dimensions, and both records' parts lie in 2q. With
    u = 2S/(nσ) the less of

        E(e^(J + u‖X‖) − e^ε)₊,   E(1 − e^(ε − J − u²/2 − uR))₊,   R of chi law with 2q degrees

    (docs/theory.md §15). Both are integrals against a survival function, which falls: they are
    summed over cells with its value at the lower end, and so never too small.

    Parameters
    ----------
    ratio : float
        u > 0.
    kept : float
        ε − J ≥ 0.
    jump : float
        J.
    outputs : int
        q; of more than 64 nothing is said, which is 1.

    Examples
    --------
    >>> from rashomon_explorer.planning.objective import perturbed_delta
    >>> one, two = (several_scores_delta(0.25, 1.0, 0.0, q) for q in (1, 2))
    >>> 1 < one / perturbed_delta(0.25, 1.0, 0.0, tails=2) < 1.02, one < two
    (True, True)
    """
    if outputs > _MOST_SCORES:
        return 1.0
    return min(_by_order(ratio, kept, jump, outputs), _by_length(ratio, kept, outputs))


def _by_order(ratio: float, kept: float, jump: float, outputs: int) -> float:
    """e^J·∫ u·e^(ur)·P(‖X‖ > r) dr from kept/u, by cells."""
    if ratio * _FAR + jump > _LARGEST_EXPONENT:
        return math.inf
    places, beyond = _weighty(min(kept / ratio, _FAR), ratio, outputs)
    grown = math.exp(jump) * np.expm1(ratio * _CELL) * np.exp(ratio * places)
    return float(grown @ beyond)


def _by_length(ratio: float, kept: float, outputs: int) -> float:
    """∫ u·e^(−u(r − r₀))·P(R > r) dr from r₀ = kept/u − u/2, by cells."""
    least = kept / ratio - ratio / 2
    if least < 0:
        return 1.0
    places, beyond = _weighty(min(least, _FAR), 0.0, 2 * outputs)
    left = -math.expm1(-ratio * _CELL) * np.exp(ratio * (least - places))
    return float(left @ beyond)


def _weighty(start: float, slope: float, degrees: int) -> tuple[FloatArray, FloatArray]:
    """Cells from ``start`` on, up to where no double holds what they add under e^(slope·r).

    The logarithm of P(‖X‖ > r) falls at a rate of at least r − √q, so that beyond the start and
    √q + slope the summand falls by e^(14²/2) within 14.
    """
    places, beyond = _survival(degrees)
    end = max(start, math.sqrt(degrees) + slope) + _FALL
    cells = slice(int(start / _CELL), math.ceil(end / _CELL))
    return places[cells], beyond[cells]


@lru_cache(maxsize=32)
def _survival(degrees: int) -> tuple[FloatArray, FloatArray]:
    """Lower ends of the cells, and what of a chi law lies beyond them."""
    places = np.arange(0.0, _FAR, _CELL)
    return places, np.asarray(gammaincc(degrees / 2, places**2 / 2))
