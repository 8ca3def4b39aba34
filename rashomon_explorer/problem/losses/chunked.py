"""Mean losses of chunked rows: the sum of the losses of all chunks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import methodcaller
from typing import Any, TypeGuard

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.losses.kinked import ClippedSlopeRisk
from rashomon_explorer.problem.losses.scores import BinaryLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss, SquaredRisk
from rashomon_explorer.rows import ChunkedRows


@dataclass(frozen=True)
class ChunkLoss:
    """Function from a chunk's rows to its mean loss."""

    loss: Loss
    are_folded: bool = False  # whether labels are folded into the rows
    settings: tuple[tuple[str, Any], ...] = ()  # methods of the mean loss to apply, and arguments

    def __call__(self, rows: FloatArray, targets: FloatArray) -> Any:
        """Return the mean loss of a chunk."""
        if self.are_folded and isinstance(self.loss, BinaryLoss):
            targets = np.full(len(rows), -1.0)
        elif self.are_folded:
            rows = rows * -targets[:, None]
        risk: Any = self.loss.empirical(rows, targets)
        for method, arguments in self.settings:
            risk = getattr(risk, method)(*arguments)
        return risk

    def then(self, method: str, *arguments: Any) -> "ChunkLoss":
        """Return the function that applies a method to the mean loss as well."""
        return replace(self, settings=(*self.settings, (method, arguments)))


@dataclass(frozen=True)
class ChunkedRisk:
    """Mean loss of a chunked table for K models at once; no row is stored."""

    table: ChunkedRows
    for_chunk: ChunkLoss
    p: int

    @property
    def n(self) -> int:
        return self.table.n

    def value(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self.mean(methodcaller("value", theta))[0])

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self.mean(methodcaller("value_and_gradient", theta))
        return value, gradient

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) only, for a loss that can compute it separately."""
        return np.asarray(self.mean(methodcaller("gradient", theta))[0])

    def hessian(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self.mean(methodcaller("hessian", theta))[0])

    def second_order(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean loss, gradient (p,) and Hessian (p, p) at one model (p,), in one pass."""
        value, gradient, hessian = self.mean(partial(_second_order, theta))
        return value[0], gradient[:, 0], hessian

    def within(self, reach: float) -> "ChunkedRisk":
        return replace(self, for_chunk=self.for_chunk.then("within", reach))

    def smoothed(self, smoothing: float) -> "ChunkedRisk":
        """Return the same loss, of clipped slopes, with a parabola at each kink."""
        return replace(self, for_chunk=self.for_chunk.then("smoothed", smoothing))

    def dual(self, theta: FloatArray, smoothing: float) -> tuple[float, float, FloatArray]:
        """Compute the sums of :meth:`ClippedSlopeRisk.dual`, for a loss of clipped slopes."""
        value, offset, slope = self.mean(methodcaller("dual", theta, smoothing))
        return float(value), float(offset), slope

    def mean(self, statistic: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Mean over all rows of arrays that are means over the rows of one chunk."""
        if self.table.n_chunks == 1:  # the digits of a table in memory
            return self.table.reduce(_Means(self.for_chunk, statistic))
        total = self.table.reduce(_Totals(self.for_chunk, statistic))
        return tuple(part / self.n for part in total)

    @property
    def one_row_risk(self) -> Any:
        """Loss of one row of zeros, which has the type and settings of every chunk's loss."""
        zeros = np.zeros((1, self.p // self.for_chunk.loss.outputs))
        return self.for_chunk(zeros, np.zeros(1))


def _second_order(theta: FloatArray, risk: EmpiricalLoss) -> tuple[FloatArray, ...]:
    return *risk.value_and_gradient(theta[:, None]), risk.hessian(theta)


@dataclass(frozen=True, eq=False)
class _Means:
    for_chunk: ChunkLoss
    statistic: Callable[[Any], Any]

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[Any, ...]:
        means = self.statistic(self.for_chunk(rows, targets))
        return means if isinstance(means, tuple) else (means,)


class _Totals(_Means):
    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[Any, ...]:
        means = super().__call__(rows, targets)
        return tuple(len(rows) * np.asarray(part) for part in means)


def loss_kind(risk: EmpiricalLoss) -> type:
    """Return the type of a loss, or of each chunk's loss; it selects the lower bound."""
    return type(risk.one_row_risk if isinstance(risk, ChunkedRisk) else risk)


def is_kinked(risk: EmpiricalLoss) -> TypeGuard[ClippedSlopeRisk | ChunkedRisk]:
    """Whether a loss has kinks and clipped slopes, in memory or in chunks."""
    row_risk = risk.one_row_risk if isinstance(risk, ChunkedRisk) else risk
    return isinstance(row_risk, ClippedSlopeRisk) and row_risk.function.smoothing == 0


def chunked_risk(risk: ChunkedRisk) -> EmpiricalLoss:
    """Mean loss of a chunked table, from sufficient statistics if they exist."""
    if type(risk.for_chunk.loss) is not SquaredLoss:
        return risk
    gram, moment, energy = risk.mean(_moments)
    return SquaredRisk(risk.n, gram, moment, float(energy))


def _moments(risk: SquaredRisk) -> tuple[FloatArray, FloatArray, float]:
    return risk.gram, risk.moment, risk.energy
