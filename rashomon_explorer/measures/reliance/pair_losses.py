"""Mean loss over pairs of rows when one row's part of the score moves to another row."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import log_softmax

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.reliance.softplus_kernel import SoftplusKernel, softplus

RowLoss = Callable[[FloatArray, FloatArray], FloatArray]

MOST_PAIRS = 4_000_000_000
"""More pairs of rows than this, over all models, are refused: they would take minutes."""

_BLOCK = 1_000_000


def switched_mean(
    base: FloatArray, moving: FloatArray, targets: FloatArray, loss: str
) -> FloatArray:
    """Mean over i ≠ j of ℓ(y_i, b_i + a_j): e_switch of linear scores, exactly.

    (Fisher, Rudin and Dominici 2019, equation 3.3.) In O(n) for squared loss, O(n log n) for
    zero-one, absolute and hinge loss by sorting a, O(n·m) for logistic loss through
    :class:`SoftplusKernel`, O(n²) for softmax.

    ``base`` b stays with its row, ``moving`` a moves; both are (n_models, n_rows, outputs), and
    ``loss`` is a key of ``ROW_LOSSES``.

    >>> scores = np.array([[[0.0], [1.0]]])
    >>> switched_mean(np.zeros((1, 2, 1)), scores, np.array([0.0, 1.0]), "squared").tolist()
    [0.5]
    """
    if base.shape[1] < 2:
        raise ValueError(f"switching needs at least two rows, got {base.shape[1]}")
    if loss in _FAST and base.shape[2] == 1:
        pairs = zip(base[..., 0], moving[..., 0], strict=True)
        return np.array([_FAST[loss](b, a, targets) for b, a in pairs])
    return _every_pair(base, moving, targets, ROW_LOSSES[loss])


def squared(scores: FloatArray, targets: FloatArray) -> FloatArray:
    """½(y − s)² for scores (…, n, 1) and targets that broadcast to (…, n)."""
    return np.asarray((targets - scores[..., 0]) ** 2 / 2)


def absolute(scores: FloatArray, targets: FloatArray) -> FloatArray:
    """|y − s|."""
    return np.abs(targets - scores[..., 0])


def logistic(scores: FloatArray, codes: FloatArray) -> FloatArray:
    """log(1 + exp(∓s)) for codes 1 and 0."""
    return softplus(np.where(codes == 1, -1.0, 1.0) * scores[..., 0])


def hinge(scores: FloatArray, codes: FloatArray) -> FloatArray:
    """max(0, 1 ∓ s) for codes 1 and 0."""
    return np.maximum(0.0, 1.0 - np.where(codes == 1, 1.0, -1.0) * scores[..., 0])


def zero_one(scores: FloatArray, codes: FloatArray) -> FloatArray:
    """1 for a wrong label; class 0 has the score 0, and the first of equals wins."""
    rivals = np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)
    return np.asarray(rivals.argmax(axis=-1) != codes).astype(float)


def softmax(scores: FloatArray, codes: FloatArray) -> FloatArray:
    """Cross-entropy; class 0 has the score 0."""
    rivals = np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)
    own = np.broadcast_to(codes.astype(int), rivals.shape[:-1])[..., None]
    return -np.take_along_axis(log_softmax(rivals, axis=-1), own, axis=-1)[..., 0]


ROW_LOSSES: dict[str, RowLoss] = {
    "squared": squared,
    "absolute": absolute,
    "logistic": logistic,
    "hinge": hinge,
    "zero_one": zero_one,
    "softmax": softmax,
}


def _squared_pairs(b: FloatArray, a: FloatArray, y: FloatArray) -> float:
    # ½(e_or-like squares) less the covariance of moving part and residual: see model_reliance.
    residual, n = y - b, len(y)
    crossed = (residual.sum() * a.sum() - residual @ a) / (n - 1)
    return float((residual @ residual + a @ a - 2 * crossed) / (2 * n))


def _zero_one_pairs(b: FloatArray, a: FloatArray, codes: FloatArray) -> float:
    # b + a > 0 exactly if a > −b: a floating-point sum is 0 only where the real one is.
    n = len(a)
    positive = n - np.searchsorted(np.sort(a), -b, side="right")
    wrong = np.where(codes == 1, n - positive, positive).sum()
    own = ((b + a > 0) != (codes == 1)).sum()
    return float(wrong - own) / (n * (n - 1))


def _absolute_pairs(b: FloatArray, a: FloatArray, y: FloatArray) -> float:
    u = y - b
    above = _excess_sum(u, a)
    below = above - (len(a) * u - a.sum())  # (u − a)₋ = (u − a)₊ − (u − a)
    return _off_diagonal(float((above + below).sum()), np.abs(u - a))


def _hinge_pairs(b: FloatArray, a: FloatArray, codes: FloatArray) -> float:
    positive = codes == 1
    total = _excess_sum((1 - b)[positive], a).sum() + _excess_sum((1 + b)[~positive], -a).sum()
    return _off_diagonal(float(total), hinge((b + a)[:, None], codes))


def _logistic_pairs(b: FloatArray, a: FloatArray, codes: FloatArray) -> float:
    n = len(a)
    if SoftplusKernel.nodes(b, a) > n / 2:
        scores = (b[None, :, None], a[None, :, None])
        return float(_every_pair(*scores, codes, logistic)[0])
    total = SoftplusKernel.of(b, a).total(softplus)
    total -= float((n * b + a.sum()) @ codes)  # log(1 + e^{−s}) = log(1 + eˢ) − s
    return _off_diagonal(total, logistic((b + a)[:, None], codes))


_FAST: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float]] = {
    "squared": _squared_pairs,
    "absolute": _absolute_pairs,
    "logistic": _logistic_pairs,
    "hinge": _hinge_pairs,
    "zero_one": _zero_one_pairs,
}


def _excess_sum(u: FloatArray, a: FloatArray) -> FloatArray:
    """Σ_j max(0, u_i − a_j) for each i."""
    ordered = np.sort(a)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, u)
    return np.asarray(u * below - sums[below])


def _off_diagonal(total: float, own: FloatArray) -> float:
    n = len(own)
    return (total - float(own.sum())) / (n * (n - 1))


def _every_pair(
    base: FloatArray, moving: FloatArray, targets: FloatArray, loss: RowLoss
) -> FloatArray:
    models, n, _ = base.shape
    if models * n * n > MOST_PAIRS:
        raise ValueError(
            f"this loss needs every pair of rows, {models} × {n:,}² here and at most "
            f"{MOST_PAIRS:,}: pass fewer rows or models, or estimate by divided_loss"
        )
    total = np.zeros(models)
    for b, a, place in zip(base, moving, range(models), strict=True):
        for rows in _blocks(n, n * a.shape[1]):
            each = loss(b[rows, None, :] + a[None, :, :], targets[rows, None])
            total[place] += each.sum()
        total[place] -= loss(b + a, targets).sum()
    return total / (n * (n - 1))


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // width)
    for start in range(0, n, step):
        yield slice(start, start + step)
