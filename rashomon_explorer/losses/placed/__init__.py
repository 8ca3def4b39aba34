"""Losses over rows on a device: each says how its rows are placed, and is entered in ``PLACED``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import ArrayBackend, to_host
from rashomon_explorer.losses.absolute import AbsoluteLoss
from rashomon_explorer.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.losses.clipped_slope import ClippedSlope
from rashomon_explorer.losses.hinge import HingeLoss
from rashomon_explorer.losses.logistic import LogisticLoss
from rashomon_explorer.losses.placed.pointwise import Clipped, Softplus
from rashomon_explorer.losses.placed.risk import PlacedRisk
from rashomon_explorer.losses.placed.rows import PlacedRows
from rashomon_explorer.losses.placed.softmax import PlacedSoftmax
from rashomon_explorer.losses.placed.squared import PlacedSquared
from rashomon_explorer.losses.smoothed_hinge import SmoothedHingeLoss
from rashomon_explorer.losses.softmax import SoftmaxLoss
from rashomon_explorer.losses.squared import SquaredLoss, SquaredRisk


def placed(
    loss: Loss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> EmpiricalLoss:
    """Mean loss of ``rows`` (n, p) with ``targets`` (n,), computed on a backend's device.

    Parameters
    ----------
    loss : Loss
        Of a type in ``PLACED``.
    rows : ndarray of shape (n, p)
    targets : ndarray of shape (n,)
    arrays : ArrayBackend

    Raises
    ------
    ValueError
        If the loss has no such form.

    Examples
    --------
    >>> from rashomon_explorer.arrays import ArrayBackend
    >>> from rashomon_explorer.losses import get_loss
    >>> there = ArrayBackend("array_api_strict")
    >>> risk = placed(get_loss("logistic"), np.eye(2), np.array([1.0, -1.0]), there)
    >>> risk.value(np.zeros((2, 1))).round(4).tolist()
    [0.6931]
    """
    if type(loss) not in PLACED:
        raise ValueError(
            f'{loss.name} loss is computed on the host only: use array_backend("numpy"), or give '
            "X as a NumPy array"
        )
    return PLACED[type(loss)](loss, rows, targets, arrays)


def _logistic(
    loss: LogisticLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    return PlacedRisk(PlacedRows.of(arrays, rows, -targets), Softplus())


def _hinge(
    loss: HingeLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    return _of_margin(ClippedSlope(0.0, 1.0), rows, targets, arrays)


def _smoothed_hinge(
    loss: SmoothedHingeLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    return _of_margin(ClippedSlope(0.0, 1.0, loss.smoothing), rows, targets, arrays)


def _of_margin(
    shape: ClippedSlope, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    there = PlacedRows.of(arrays, rows, -targets)
    return PlacedRisk(there, Clipped(shape), there.beside(np.ones(len(rows))))


def _absolute(
    loss: AbsoluteLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    there = PlacedRows.of(arrays, rows, np.full(len(rows), -1.0))
    clipped = np.clip(targets, -loss.target_bound, loss.target_bound)
    shape = ClippedSlope(2 * (loss.tau - 1), 2 * loss.tau)
    return PlacedRisk(there, Clipped(shape), there.beside(clipped))


def _softmax(
    loss: SoftmaxLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedSoftmax:
    there = PlacedRows.of(arrays, rows, None)
    own = [there.beside(targets == c) for c in range(1, loss.classes)]
    return PlacedSoftmax(there, arrays.xp.stack(own))


def _squared(
    loss: SquaredLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedSquared:
    there = PlacedRows.of(arrays, rows, None)
    clipped = np.clip(targets, -loss.target_bound, loss.target_bound)
    n = len(rows)
    moment = there.rows.T @ there.beside(clipped)[:, None] / n
    gram, energy = there.gram() / n, float(clipped @ clipped) / n
    known = SquaredRisk(n, to_host(gram), to_host(moment)[:, 0], energy)
    return PlacedSquared(arrays, known, gram, moment)


PLACED: dict[type, Callable[[Any, FloatArray, FloatArray, ArrayBackend], EmpiricalLoss]] = {
    AbsoluteLoss: _absolute,
    HingeLoss: _hinge,
    LogisticLoss: _logistic,
    SmoothedHingeLoss: _smoothed_hinge,
    SoftmaxLoss: _softmax,
    SquaredLoss: _squared,
}
