"""Losses with a kink, and their smoothed versions."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.problem.losses.base import folded, stack_rows, sum_row_batches


@dataclass(frozen=True)
class ClippedSlope:
    """The convex function f(a) = max_{low ≤ α ≤ high} αa − ½·smoothing·α²."""

    # low, high: smallest and largest slope, low ≤ 0 ≤ high
    low: float
    high: float
    smoothing: float = 0.0  # length of the parabola's zone per unit of slope, ≥ 0

    def value(self, a: FloatArray) -> FloatArray:
        """Return f(a), same shape as ``a``."""
        if self.smoothing == 0:
            return np.maximum(self.low * a, self.high * a)
        slope = self.slope(a)
        return np.asarray(slope * (a - self.smoothing / 2 * slope))

    def slope(self, a: FloatArray) -> FloatArray:
        """Return f'(a), with the subgradient 0 at a kink; same shape as ``a``."""
        if self.smoothing == 0:
            return np.where(a > 0, self.high, np.where(a < 0, self.low, 0.0))
        return np.asarray(np.clip(a / self.smoothing, self.low, self.high))

    def curvature(self, a: FloatArray) -> FloatArray:
        """Return f''(a), which is 0 at the ends of the zone and at a kink; same shape as ``a``."""
        if self.smoothing == 0:
            return np.zeros_like(a)
        return np.where(self.room(a) > 0, 1 / self.smoothing, 0.0)

    def room(self, a: FloatArray) -> FloatArray:
        """Distance to the nearer end of the parabola's zone; negative outside it."""
        return np.minimum(a - self.low * self.smoothing, self.high * self.smoothing - a)


@dataclass(frozen=True)
class ClippedSlopeRisk:
    """Mean of f(rows_i·θ + offset_i) for one :class:`ClippedSlope` f."""

    rows: FloatArray
    offsets: FloatArray
    shape: ClippedSlope

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        """Number of parameters."""
        return int(self.rows.shape[1])

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        models = np.asarray(theta, dtype=self.rows.dtype)
        (total,) = sum_row_batches(
            lambda block: (self.shape.value(self._scores(models, block)).sum(axis=0),),
            self.n,
            models.shape[1],
            item_bytes=models.itemsize,
        )
        return total / self.n

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and a subgradient (p, K) for each column of ``theta`` (p, K)."""
        models = np.asarray(theta, dtype=self.rows.dtype)

        def block(rows: slice) -> tuple[FloatArray, FloatArray]:
            scores = self._scores(models, rows)
            slope = self.shape.slope(scores)
            return self.shape.value(scores).sum(axis=-2), self.rows[rows].T @ slope

        block_size = stack_rows(self.n) if models.ndim > 2 else None
        total, gradient = sum_row_batches(
            block,
            self.n,
            models.size // self.p,
            item_bytes=models.itemsize,
            block=block_size,
        )
        return total / self.n, gradient / self.n

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,), from the rows inside their zone."""
        curvature = self.shape.curvature(self.scores(theta)) / self.n
        curved = curvature > 0
        return (self.rows[curved] * curvature[curved, None]).T @ self.rows[curved]

    def curvature_bound(self) -> FloatArray | None:
        """Gram matrix/smoothing (p, p), which dominates every Hessian; None with a kink."""
        if self.shape.smoothing == 0:
            return None
        rows = self.rows.astype(np.float64, copy=False)
        return rows.T @ rows / (self.n * self.shape.smoothing)

    def within(
        self, reach: float, dtype: type[np.floating[Any]] = np.float64
    ) -> "ClippedSlopeRisk":
        """Return the same loss, computed in ``dtype``: rounding does not depend on ``reach``."""
        rows = np.ascontiguousarray(self.rows, dtype=dtype)
        return replace(self, rows=rows, offsets=self.offsets.astype(dtype))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Arguments rows_i·θ + offset_i (n,) of the loss at one model (p,)."""
        return np.asarray(self.rows @ theta + self.offsets)

    def smoothed(self, smoothing: float) -> "ClippedSlopeRisk":
        """Return the same loss with at least this smoothing; it is never above this one."""
        return replace(
            self, shape=replace(self.shape, smoothing=max(smoothing, self.shape.smoothing))
        )

    def dual(self, theta: FloatArray, smoothing: float) -> tuple[float, float, FloatArray]:
        """Mean loss at one model (p,), and the dual bound from its smoothed slopes α."""
        scores = self.scores(theta)
        slopes = self.smoothed(smoothing).shape.slope(scores)
        return (
            float(self.shape.value(scores).mean()),
            float(slopes @ self.offsets) / self.n,
            self.rows.T @ slopes / self.n,
        )

    def _scores(self, theta: FloatArray, rows: slice) -> FloatArray:
        return np.asarray(self.rows[rows] @ theta + self.offsets[rows, None])


@dataclass(frozen=True)
class AbsoluteLoss:
    """Absolute error of a linear score, for targets in [−target_bound, target_bound]."""

    target_bound: float = 1.0
    tau: float = 0.5
    name: str = "absolute"
    task: str = "regression"
    link: str = "identity"
    globally_lipschitz: bool = True
    labels: None = None
    outputs: int = 1

    def __post_init__(self) -> None:
        check_positive(target_bound=self.target_bound)
        if not 0 < self.tau < 1:
            raise ValueError(f"tau must lie between 0 and 1, got {self.tau!r}")

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant 2B·max(τ, 1 − τ): B for the median."""
        return row_bound * self._steepest

    def smoothness(self, row_bound: float) -> float:
        """Infinite: the gradient jumps where the error is 0."""
        return math.inf

    def oscillation(self, reach: float) -> float:
        """Oscillation 4·max(τ, 1 − τ)·min(Y + s, 2s) of two rows' difference, s = reach."""
        return 2 * self._steepest * min(self.target_bound + reach, 2 * reach)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ClippedSlopeRisk:
        """Mean absolute error of ``rows`` (n, p) with ``targets`` (n,), clipped."""
        clipped = np.clip(targets, -self.target_bound, self.target_bound)
        shape = ClippedSlope(2 * (self.tau - 1), 2 * self.tau)
        return ClippedSlopeRisk(np.ascontiguousarray(-rows), clipped, shape)

    @property
    def _steepest(self) -> float:
        return 2 * max(self.tau, 1 - self.tau)


@dataclass(frozen=True)
class HingeLoss:
    """Hinge loss of a linear score, for labels in {−1, +1}: convex with a kink at margin 1."""

    name: str = "hinge"
    task: str = "classification"
    link: str = "sign"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B: the slope is 0 or −1, and −1 is attained at the score 0."""
        return row_bound

    def smoothness(self, row_bound: float) -> float:
        """Infinite: the gradient jumps at margin 1."""
        return math.inf

    def oscillation(self, reach: float) -> float:
        """Oscillation 2·min(2s, 1 + s) of the difference between two rows' losses, s = reach."""
        return 2 * min(2 * reach, 1 + reach)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ClippedSlopeRisk:
        """Mean hinge loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}."""
        return margin_risk(rows, targets, ClippedSlope(0.0, 1.0))


def margin_risk(rows: FloatArray, targets: FloatArray, shape: ClippedSlope) -> ClippedSlopeRisk:
    """Mean of shape(1 − y z·θ)."""
    return ClippedSlopeRisk(folded(rows, targets), np.ones(len(rows)), shape)


@dataclass(frozen=True)
class SmoothedHingeLoss:
    """Huberised hinge loss of the margin v = y z·θ, for labels in {−1, +1}."""

    smoothing: float = 1.0
    name: str = "smoothed_hinge"
    task: str = "classification"
    link: str = "sign"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def __post_init__(self) -> None:
        if not (np.isfinite(self.smoothing) and self.smoothing > 0):
            raise ValueError(
                f"smoothing must be finite and > 0, got {self.smoothing!r}; for 0 use the "
                "hinge loss"
            )

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·min(1, (1 + reach)/smoothing): the slope grows with 1 − v."""
        return row_bound * min(1.0, (1 + reach) / self.smoothing)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²/smoothing."""
        return row_bound**2 / self.smoothing

    def oscillation(self, reach: float) -> float:
        """Oscillation 2[f(−s) − f(s)] of the difference between two rows' losses, s = reach."""
        low, high = self._shape.value(np.array([1 - reach, 1 + reach]))
        return 2 * float(high - low)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ClippedSlopeRisk:
        """Mean smoothed hinge loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}."""
        return margin_risk(rows, targets, self._shape)

    @property
    def _shape(self) -> ClippedSlope:
        return ClippedSlope(0.0, 1.0, self.smoothing)
