"""Mean losses of chunked rows: the sum of the losses of all chunks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, cast

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.losses.clipped_gradient import ClippedPullRisk
from rashomon_explorer.problem.losses.kinked import ClippedSlopeRisk
from rashomon_explorer.problem.losses.smooth import SquaredLoss, SquaredRisk
from rashomon_explorer.rows import ChunkedRows


@dataclass(frozen=True)
class ChunkedRisk:
    """Mean loss of a chunked table for K models at once; no row is stored."""

    table: ChunkedRows
    loss: Loss
    p: int
    reach: float | None = None
    dtype: type[np.floating[Any]] = np.float64

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.table.n

    @property
    def for_chunk(self) -> "ChunkLoss":
        """Function from a chunk's rows to its loss, for reductions other than means."""
        return ChunkLoss(self.loss, self.reach, self.dtype)

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        (total,) = self.mean(_Value(theta))
        return np.asarray(total)

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) of each column of ``theta`` (p, K), or of a stack."""
        value, gradient = self.mean(_ValueAndGradient(theta))
        return value, gradient

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) only, for a loss that can compute it separately."""
        (gradient,) = self.mean(_Gradient(theta))
        return np.asarray(gradient)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        (total,) = self.mean(_Hessian(theta))
        return np.asarray(total)

    def curvature_bound(self) -> FloatArray | None:
        """Matrix (p, p) that dominates every Hessian; None for a loss with kinks."""
        if not np.isfinite(self.loss.smoothness(1.0)):
            return None
        (total,) = self.mean(_curvature_bound)
        return np.asarray(total)

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> "ChunkedRisk":
        """Return the same loss for scores up to ``reach``, computed in ``dtype``."""
        return replace(self, reach=reach, dtype=dtype)

    def smoothed(self, smoothing: float) -> "ChunkedRisk":
        """Return the same loss, of clipped slopes, with a parabola at each kink."""
        return replace(self, loss=cast(Loss, _Smoothed(self.loss, smoothing)))

    def dual(self, theta: FloatArray, smoothing: float) -> tuple[float, float, FloatArray]:
        """Compute the sums of :meth:`ClippedSlopeRisk.dual`, for a loss of clipped slopes."""
        value, offset, slope = self.mean(_Dual(theta, smoothing))
        return float(value), float(offset), slope

    def mean(self, of: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Mean over all rows of a quantity that is a mean over the rows of one chunk."""
        total = self.table.reduce(_Total(self.loss, self.reach, self.dtype, of))
        return tuple(part / self.n for part in total)


@dataclass(frozen=True)
class ChunkLoss:
    """Function from the rows of a chunk to their loss, as in :class:`ChunkedRisk`."""

    loss: Loss
    reach: float | None
    dtype: type[np.floating[Any]]

    def __call__(self, rows: FloatArray, targets: FloatArray) -> Any:
        """Return the mean loss of a chunk."""
        risk = self.loss.empirical(rows, targets)
        return risk if self.reach is None else risk.within(self.reach, self.dtype)


@dataclass(frozen=True)
class _Total(ChunkLoss):
    of: Callable[[Any], tuple[Any, ...]]

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[Any, ...]:
        risk = super().__call__(rows, targets)
        return tuple(len(rows) * np.asarray(part) for part in self.of(risk))


@dataclass(frozen=True, eq=False)
class _AtModels:
    theta: FloatArray


class _Value(_AtModels):
    def __call__(self, risk: EmpiricalLoss) -> tuple[FloatArray]:
        return (risk.value(self.theta),)


class _ValueAndGradient(_AtModels):
    def __call__(self, risk: EmpiricalLoss) -> tuple[FloatArray, FloatArray]:
        return risk.value_and_gradient(self.theta)


class _Gradient(_AtModels):
    def __call__(self, risk: ClippedPullRisk) -> tuple[FloatArray]:
        return (risk.gradient(self.theta),)


class _Hessian(_AtModels):
    def __call__(self, risk: EmpiricalLoss) -> tuple[FloatArray]:
        return (risk.hessian(self.theta),)


@dataclass(frozen=True, eq=False)
class _Dual:
    theta: FloatArray
    smoothing: float

    def __call__(self, risk: ClippedSlopeRisk) -> tuple[float, float, FloatArray]:
        return risk.dual(self.theta, self.smoothing)


@dataclass(frozen=True)
class _Smoothed:
    """Loss with parabolas at its kinks; supports only means."""

    loss: Loss
    smoothing: float

    @property
    def outputs(self) -> int:
        return self.loss.outputs

    def smoothness(self, row_bound: float) -> float:
        return row_bound**2 / self.smoothing

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ClippedSlopeRisk:
        risk = self.loss.empirical(rows, targets)
        assert isinstance(risk, ClippedSlopeRisk)
        return risk.smoothed(self.smoothing)


def _curvature_bound(risk: EmpiricalLoss) -> tuple[FloatArray]:
    bound = risk.curvature_bound()
    assert bound is not None  # smooth, by its constants
    return (bound,)


def loss_kind(risk: EmpiricalLoss) -> type:
    """Return the type of a loss, or of each chunk's loss; it selects the lower bound."""
    if type(risk) is not ChunkedRisk:
        return type(risk)
    one = np.zeros((1, risk.p // risk.loss.outputs))
    return type(risk.for_chunk(one, np.zeros(1)))


def is_kinked(risk: EmpiricalLoss) -> TypeGuard[ClippedSlopeRisk | ChunkedRisk]:
    """Whether a loss has kinks and clipped slopes, in memory or in chunks."""
    if isinstance(risk, ChunkedRisk):
        if loss_kind(risk) is not ClippedSlopeRisk:
            return False
        risk = risk.for_chunk(np.zeros((1, risk.p // risk.loss.outputs)), np.zeros(1))
    return isinstance(risk, ClippedSlopeRisk) and risk.shape.smoothing == 0


def chunked_risk(loss: Loss, table: ChunkedRows, p: int) -> EmpiricalLoss:
    """Mean loss of a chunked table; uses sufficient statistics if they exist."""
    if type(loss) is not SquaredLoss:
        return ChunkedRisk(table, loss, p)
    gram, moment, energy = ChunkedRisk(table, loss, p).mean(_moments)
    return SquaredRisk(table.n, gram, moment, float(energy))


def _moments(risk: SquaredRisk) -> tuple[FloatArray, FloatArray, float]:
    return risk.gram, risk.moment, risk.energy
