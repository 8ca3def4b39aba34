"""Certified lower bounds of a loss over blocks: what is a sum over rows is one over blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.logistic import LogisticBound, logistic_sums
from rashomon_explorer.envelopes.softmax import softmax_sums
from rashomon_explorer.losses.logistic import LogisticRisk
from rashomon_explorer.losses.of_blocks import BlockRisk, OfBlock
from rashomon_explorer.losses.softmax import SoftmaxRisk

Sums = tuple[FloatArray, ...]


def _of_logistic(risk: LogisticRisk, theta: FloatArray, whiten: FloatArray) -> Sums:
    return logistic_sums(risk.z @ whiten, expit(risk.z @ theta))


SUMS: dict[type, Callable[[Any, FloatArray, FloatArray], Sums]] = {
    LogisticRisk: _of_logistic,
    SoftmaxRisk: softmax_sums,
}
"""Kinds of blocks' losses whose bound follows from a largest value and three means over rows."""


def bound_of_blocks(risk: BlockRisk, theta: FloatArray, whiten: FloatArray) -> LogisticBound:
    """Bound of a loss in blocks around a model: one pass over the rows.

    Parameters
    ----------
    risk : BlockRisk
        Of a kind in ``SUMS``.
    theta : ndarray of shape (p,)
    whiten : ndarray of shape (p, p)

    Examples
    --------
    >>> from rashomon_explorer.blocks import row_blocks
    >>> from rashomon_explorer.envelopes.logistic import logistic_bound
    >>> from rashomon_explorer.losses import get_loss
    >>> rows, targets = np.array([[0.5, 1.0], [-0.2, 1.0]]), np.array([1.0, -1.0])
    >>> around, loss = (np.zeros(2), np.eye(2)), get_loss("logistic")
    >>> one = bound_of_blocks(BlockRisk(row_blocks(rows, targets), loss, 2), *around)
    >>> one.lever == logistic_bound(loss.empirical(rows, targets), *around).lever
    True
    """
    square, *means = risk.table.reduce(_Totals(risk.of_block, theta, whiten), merge=_merged)
    return LogisticBound.of_sums(square, *(part / risk.n for part in means))


@dataclass(frozen=True, eq=False)
class _Totals:
    of_block: OfBlock
    theta: FloatArray
    whiten: FloatArray

    def __call__(self, rows: FloatArray, targets: FloatArray) -> Sums:
        risk = self.of_block(rows, targets)
        square, *means = SUMS[type(risk)](risk, self.theta, self.whiten)
        return square, *(len(rows) * part for part in means)


def _merged(one: Sums, other: Sums) -> Sums:
    means = (left + right for left, right in zip(one[1:], other[1:], strict=True))
    return np.maximum(one[0], other[0]), *means
