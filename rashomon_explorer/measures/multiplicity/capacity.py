"""Rashomon capacity."""

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, expit, rel_entr

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import Predictions, Steps, as_probabilities
from rashomon_explorer.measures.multiplicity.measure import LOWER_BOUND, Measure, mean_over_rows
from rashomon_explorer.measures.multiplicity.scores import extremes

_TINY = 1e-300
_MOST_ROUNDS = 60  # rounds, each of which adds one model to the active ones
_MOST_STEPS = 60
_CENTRE = 0.1  # target of a step, as a share of the current complementarity
_BOUNDARY = 0.99  # largest step, as a share of the step at which a first weight is 0
_INNER = 0.25  # share of the tolerance for the inner steps; the rest is for the rounds


def channel_capacity(rows: FloatArray, tolerance: float) -> FloatArray:
    """Lower and upper bound, in nats, on each channel's capacity."""
    bounds = np.tile([0.0, np.inf], (len(rows), 1))
    todo = np.arange(len(rows))
    negentropy = np.einsum("rmc,rmc->rm", rows, np.log(np.maximum(rows, _TINY)))
    few = np.concatenate([rows.argmax(axis=1), rows.argmin(axis=1)], axis=1)
    for _ in range(_MOST_ROUNDS):
        some = rows[todo[:, None], few]
        weight = _best_weights(some, negentropy[todo[:, None], few], _INNER * tolerance)
        q = _mixture(weight, some)
        far = _divergences(rows[todo], negentropy[todo], q)
        below = (weight * np.take_along_axis(far, few, axis=1)).sum(axis=1)
        bounds[todo, 0] = np.maximum(bounds[todo, 0], below)
        bounds[todo, 1] = np.minimum(bounds[todo, 1], far.max(axis=1))
        still = bounds[todo, 1] - bounds[todo, 0] > tolerance
        if not still.any():
            break
        todo = todo[still]
        few = np.concatenate([few, far.argmax(axis=1)[:, None]], axis=1)[still]
    bounds[:, 1] = np.maximum(bounds[:, 1], bounds[:, 0])  # rounding may reverse their order
    return bounds


def _best_weights(some: FloatArray, negentropy: FloatArray, tolerance: float) -> FloatArray:
    """Weights (n_rows, k) whose information is within ``tolerance`` of the maximum."""
    best = np.full(negentropy.shape, 1 / negentropy.shape[1])
    todo, weight = np.arange(len(negentropy)), best.copy()
    far = _divergences(some, negentropy, _mixture(weight, some))
    top = far.max(axis=1, keepdims=True)
    price = top - far + 0.1 * (top - far.min(axis=1, keepdims=True)) + tolerance
    level = top[:, 0] + 0.1 * (top - far.min(axis=1, keepdims=True))[:, 0] + tolerance
    for _ in range(_MOST_STEPS):
        far = _divergences(some, negentropy, _mixture(weight, some))
        best[todo] = weight
        still = far.max(axis=1) - (weight * far).sum(axis=1) > tolerance
        if not still.any():
            break
        todo, some, negentropy, far = todo[still], some[still], negentropy[still], far[still]
        state = weight[still], price[still], level[still]
        weight, price, level = _step(some, far, *state)
    return best


def _step(
    some: FloatArray, far: FloatArray, weight: FloatArray, price: FloatArray, level: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One Newton step for: divergence = level − price, weight·price = target, Σ weight = 1."""
    k = weight.shape[1]
    target = _CENTRE * (weight * price).sum(axis=1, keepdims=True) / k
    q = np.maximum(_mixture(weight, some), _TINY)
    system = np.ones((len(weight), k + 1, k + 1))
    system[:, :k, :k] = (some / q[:, None, :]) @ some.swapaxes(1, 2)
    system[:, np.arange(k), np.arange(k)] += price / weight
    system[:, k, k] = 0.0
    right = np.empty((len(weight), k + 1))
    right[:, :k] = far - level[:, None] + target / weight
    right[:, k] = 1 - weight.sum(axis=1)
    move = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    toward, rise = move[:, :k], move[:, k]
    cheaper = target / weight - price - price / weight * toward
    reach = np.minimum(_room(weight, toward), _room(price, cheaper))
    weight = weight + reach * toward
    weight /= weight.sum(axis=1, keepdims=True)
    return weight, price + reach * cheaper, level + reach[:, 0] * rise


def _room(values: FloatArray, move: FloatArray) -> FloatArray:
    """Longest step (n_rows, 1), at most 1, that keeps every value above 0."""
    falling = np.where(move < 0, -move / values, 0.0).max(axis=1, keepdims=True)
    return np.minimum(1.0, _BOUNDARY / np.maximum(falling, _TINY))


def _mixture(weight: FloatArray, some: FloatArray) -> FloatArray:
    return np.asarray((weight[:, None, :] @ some)[:, 0, :])


def _divergences(some: FloatArray, negentropy: FloatArray, q: FloatArray) -> FloatArray:
    """KL(f ‖ q) (n_rows, k); a class with q = 0 counts as q = 1e-300."""
    return np.asarray(negentropy - (some @ np.log(np.maximum(q, _TINY))[:, :, None])[:, :, 0])


_BITS = 1 / math.log(2)
_NARROW = 1e-12  # for a narrower range the capacity is evaluated at its midpoint
_ROWS = 256  # rows per chunk: 6 MB for a thousand models and three classes


def rashomon_capacity(
    scores: ArrayLike, *, unit: str = "bits", tolerance: float = 1e-9
) -> FloatArray:
    """Capacity of the channel from the choice of a model to its prediction, for each row.

    C(x) = max_P I(f; Y | x) = min_q max_f KL(f(x) ‖ q), P over models, q over classes (Hsu and
    Calmon, NeurIPS 2022). It is 0 bits if all models give x the same probabilities, and log₂ c if
    each of c classes has probability 1 under some model. For sampled models it is a lower bound.

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
        The lower bound: information attained by some mixture of the models.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the bounds of some row differ by more than ``tolerance``.

    Notes
    -----
    Other programs define capacity differently: as the logarithm of a volume, or as 2^C.

    Examples
    --------
    Two models with opposite predicted probabilities:

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
    """Certified lower and upper bound, in bits, on each row's Rashomon capacity.

    The lower bound is the information I(P) of a mixture P of the models; the upper bound is
    max_f KL(f ‖ q) for some q. Both hold for any P and q (Arimoto 1972; Blahut 1972). Two classes
    have a closed form: the divergence is convex in the probability, so only the two extreme
    models matter, and they are equally far from q where
    logit q = (h(a) − h(b))/(b − a), h the entropy in nats.

    Parameters
    ----------
    scores
        As for :func:`rashomon_capacity`.
    tolerance : float, default=1e-9
        Difference of the bounds, in bits, at which the search stops; ≥ 1e-12.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        The lower bound, then the upper.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the search ends before reaching the tolerance; the bounds are still valid.

    Examples
    --------
    >>> capacity_bounds([[[1, 0, 0]], [[0, 1, 0]], [[0, 0, 1]]]).round(6).tolist()
    [[1.584963, 1.584963]]
    """
    if not tolerance >= 1e-12:
        raise ValueError(f"tolerance must be >= 1e-12 bits, got {tolerance!r}")
    values = as_probabilities(scores)
    if values.ndim == 2 or values.shape[2] == 2:
        positive = values if values.ndim == 2 else values[:, :, 1]
        return _two_classes(positive.min(axis=0), positive.max(axis=0))
    bounds = np.empty((values.shape[1], 2))
    for start in range(0, len(bounds), _ROWS):
        rows = np.ascontiguousarray(values[:, start : start + _ROWS].swapaxes(0, 1))
        bounds[start : start + _ROWS] = channel_capacity(rows, tolerance / _BITS)
    bounds *= _BITS
    gap = float((bounds[:, 1] - bounds[:, 0]).max())
    if gap > tolerance:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"the capacity of some row is known only to {gap:.1e} bits, not to {tolerance:.0e}; "
            "capacity_bounds returns both bounds",
            ConvergenceWarning,
            stacklevel=2,
        )
    return bounds


def _two_classes(low: FloatArray, high: FloatArray) -> FloatArray:
    """Bounds (n_rows, 2) in bits, from the extreme probabilities of one of two classes."""
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


def capacity_sums(predictions: Predictions, steps: Steps) -> FloatArray:
    """Sum over rows (n_sizes,) of the capacity in bits."""
    if predictions.values.ndim == 2:
        each = (_two_classes(low, high)[:, 0] for low, high in extremes(predictions, steps))
    else:
        sizes = (stop for _, stop, last in steps if last)
        each = (rashomon_capacity(predictions.values[:size]) for size in sizes)
    return np.array([bits.sum() for bits in each])


RASHOMON_CAPACITY = Measure(
    "rashomon_capacity",
    "probabilities",
    capacity_sums,
    mean_over_rows,
    LOWER_BOUND,
    meaning="information in bits of the choice of model about a prediction, mean over rows",
    formula="min_q max_f KL(f(x) ‖ q)",
    source="Hsu and Calmon, NeurIPS 2022",
)
