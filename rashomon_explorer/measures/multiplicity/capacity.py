"""Rashomon capacity: how many classes' worth of answers the models give one person."""

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, expit, rel_entr
from sklearn.exceptions import ConvergenceWarning

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.checks import as_probabilities
from rashomon_explorer.measures.multiplicity.channel import channel_capacity
from rashomon_explorer.measures.multiplicity.spread import Range
from rashomon_explorer.measures.nested import blocks

_BITS = 1 / math.log(2)
_NARROW = 1e-12  # width of a range at whose middle the capacity is bounded well enough
_ROWS = 256  # with a thousand models of three classes 6 MB


def rashomon_capacity(
    scores: ArrayLike, *, unit: str = "bits", tolerance: float = 1e-9
) -> FloatArray:
    """Capacity, row by row, of the channel from the choice of a model to its prediction.

    C(x) = max_P I(f; Y | x) = min_q max_f KL(f(x) ‖ q), P over models, q over classes (Hsu and
    Calmon, NeurIPS 2022): 0 bits when all models give x the same probabilities, log₂ c when they
    put each of c classes beyond doubt. Over sampled models a lower bound of the set's.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Probabilities of the positive class, or of each class. 0 and 1 are allowed.
    unit : {"bits", "classes"}, default="bits"
        ``"classes"`` gives 2^C, from 1 to the number of classes.
    tolerance : float, default=1e-9
        Largest difference in bits between the bounds of :func:`capacity_bounds`.

    Returns
    -------
    ndarray of shape (n_rows,)
        The lower bound: information that some mixture of the models does carry.

    Raises
    ------
    ValueError
        If a shape is wrong, a score is no probability, or an argument is out of range.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the bounds of some row stay further apart than ``tolerance``.

    Notes
    -----
    Other programs call other things capacity: a logarithm of a volume, or 2^C.

    Examples
    --------
    Two models that contradict each other nine times in ten:

    >>> rashomon_capacity([[0.1], [0.9]]).round(6).tolist()
    [0.531004]
    >>> rashomon_capacity([[0.0, 0.3], [1.0, 0.3]], unit="classes").tolist()
    [2.0, 1.0]
    """
    if unit not in ("bits", "classes"):
        raise ValueError(f"unit must be 'bits' or 'classes', got {unit!r}")
    bits = capacity_bounds(scores, tolerance=tolerance)[:, 0]
    return bits if unit == "bits" else np.asarray(np.exp2(bits))


def capacity_bounds(scores: ArrayLike, *, tolerance: float = 1e-9) -> FloatArray:
    """Certified lower and upper bound, in bits, of each row's Rashomon capacity.

    Below: the information I(P) of some mixture P of the models. Above: max_f KL(f ‖ q) for some
    q. Whatever P and q are, the capacity lies between (Arimoto 1972; Blahut 1972). Two classes
    have a closed form: the divergence is convex in the probability, so that only the two extreme
    models count, and they are equally far from q where
    logit q = (h(a) − h(b))/(b − a), h the entropy in nats.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    tolerance : float, default=1e-9
        Bits between the two at which the search stops, ≥ 1e-12.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        The lower bound, then the upper.

    Raises
    ------
    ValueError
        If a shape is wrong, a score is no probability, or the tolerance is below 1e-12.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the search ends before the bounds are that near; they are bounds all the same.

    Examples
    --------
    >>> capacity_bounds([[[1, 0, 0]], [[0, 1, 0]], [[0, 0, 1]]]).round(6).tolist()
    [[1.584963, 1.584963]]
    """
    if not tolerance >= 1e-12:
        raise ValueError(f"tolerance must be >= 1e-12 bits, got {tolerance!r}")
    values = as_probabilities(scores)
    if values.ndim == 3 and values.shape[2] != 2:
        return _several_classes(values, tolerance)
    seen = Range()
    for block in blocks(values if values.ndim == 2 else values[:, :, 1]):
        seen.add(block)
    return _two_classes(*seen.ends())


def _two_classes(low: FloatArray, high: FloatArray) -> FloatArray:
    """Bounds (n_rows, 2) in bits from the extreme probabilities of one of two classes."""
    width = high - low
    narrow = width < _NARROW
    entropy = [entr(end) + entr(1 - end) for end in (low, high)]
    q = expit((entropy[0] - entropy[1]) / np.where(narrow, 1.0, width))
    q = np.where(narrow, (low + high) / 2, np.clip(q, low, high))
    share = np.where(narrow, 0.5, (high - q) / np.where(narrow, 1.0, width))
    below = entr(q) + entr(1 - q) - share * entropy[0] - (1 - share) * entropy[1]
    far = [rel_entr(end, q) + rel_entr(1 - end, 1 - q) for end in (low, high)]
    above = np.maximum(*far)
    below = np.clip(below, 0.0, above)
    return np.asarray(np.column_stack([below, above]) * _BITS)


def _several_classes(values: FloatArray, tolerance: float) -> FloatArray:
    bounds = np.empty((values.shape[1], 2))
    for start in range(0, len(bounds), _ROWS):
        rows = np.ascontiguousarray(values[:, start : start + _ROWS].swapaxes(0, 1))
        bounds[start : start + _ROWS] = channel_capacity(rows, tolerance / _BITS)
    bounds *= _BITS
    gap = float((bounds[:, 1] - bounds[:, 0]).max())
    if gap > tolerance:
        warnings.warn(
            f"the capacity of some row is known to {gap:.1e} bits only, not to {tolerance:.0e}; "
            "capacity_bounds gives both bounds",
            ConvergenceWarning,
            stacklevel=3,
        )
    return bounds


class TwoClassCapacity(Range):
    """Mean capacity in bits of models of two classes: their extremes suffice."""

    def value(self) -> float:
        """Mean over rows."""
        return float(_two_classes(*self.ends())[:, 0].mean())


class SeveralClassCapacity:
    """Mean capacity in bits of the models seen."""

    def __init__(self) -> None:
        self.models: list[FloatArray] = []

    def add(self, block: FloatArray) -> None:
        """See more models."""
        self.models.append(block)

    def value(self) -> float:
        """Mean over rows."""
        return float(rashomon_capacity(np.concatenate(self.models)).mean())


def capacity_tally(scores: FloatArray) -> TwoClassCapacity | SeveralClassCapacity:
    """Tally of the mean of :func:`rashomon_capacity`."""
    return TwoClassCapacity() if scores.ndim == 2 else SeveralClassCapacity()
