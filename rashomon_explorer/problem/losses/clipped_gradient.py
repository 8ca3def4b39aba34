"""Logistic and squared loss whose slope is clipped to a declared bound at each row."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive, check_share
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss, stack_rows, sum_row_batches
from rashomon_explorer.problem.losses.smooth import LogisticLoss, SquaredLoss

MOST_PULL = 0.5
"""Default slope at which :func:`clipped` clips: that of the logistic loss at a score of 0."""

_HESSIAN_ROWS = 4096


class Pull(Protocol):
    """Function of score and target whose slope is clipped."""

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Loss of each score; same shape."""
        ...

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return the derivative in the score; same shape."""
        ...

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return the second derivative in the score; same shape."""
        ...


@dataclass(frozen=True)
class ClippedLogisticLoss:
    """Logistic loss of the margin v = y z·θ whose slope σ(−v) is clipped to ``most``.

    The loss is log(1 + e⁻ᵛ) for v ≥ v₀ = log((1 − most)/most), and its tangent at v₀ below. It is
    convex and never above the logistic loss. Its gradient is the logistic gradient with that
    of every row clipped (Song, Steinke, Thakkar and Thakurta 2021: clipped gradients of linear
    models are gradients of a convex loss).
    """

    most: float = MOST_PULL
    name: str = "clipped_logistic"
    task: str = "classification"
    link: str = "logistic"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def __post_init__(self) -> None:
        check_positive(most=self.most)
        check_share(most=self.most)

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·min{most, σ(reach)}."""
        return row_bound * min(self.most, float(expit(reach)))

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²·max σ(1 − σ) where the slope σ is at most ``most``."""
        steepest = min(self.most, 0.5)
        return row_bound**2 * steepest * (1 - steepest)

    def oscillation(self, reach: float) -> float:
        """Oscillation 2[f(−s) − f(s)] of the difference of two rows' losses, s = reach."""
        low, high = self.value(np.array([reach, -reach]), np.ones(2))
        return 2 * float(high - low)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "ClippedPullRisk":
        """Mean loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}."""
        bend = self.smoothness(1.0)
        return ClippedPullRisk(rows, np.asarray(targets, dtype=float), self, bend)

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Loss of each score; same shape."""
        edge = np.log((1 - self.most) / self.most) if self.most < 1 else -np.inf
        margin = score * target
        above = np.maximum(margin, edge)
        return np.asarray(np.logaddexp(0, -above) + self.most * (above - margin))

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Return −y·min{σ(−v), most}; same shape."""
        return np.asarray(-target * np.minimum(expit(-score * target), self.most))

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """σ(1 − σ), or 0 where the slope is clipped; same shape."""
        sigma = expit(-score * target)
        return np.where(sigma < self.most, sigma * (1 - sigma), 0.0)


@dataclass(frozen=True)
class HuberLoss:
    """Half the squared error of a linear score with slope clipped to ``most``; clips targets.

    ½r² for |r| ≤ most, and most·|r| − ½most² beyond: never above the squared loss (Huber 1964).
    """

    most: float = MOST_PULL
    target_bound: float = 1.0
    name: str = "huber"
    task: str = "regression"
    link: str = "identity"
    globally_lipschitz: bool = True
    labels: None = None
    outputs: int = 1

    def __post_init__(self) -> None:
        check_positive(most=self.most, target_bound=self.target_bound)

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·min{most, Y + reach}."""
        return row_bound * min(self.most, self.target_bound + reach)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²."""
        return row_bound**2

    def oscillation(self, reach: float) -> float:
        """Bound 2[f(Y + s) − f(max(Y − s, 0))] of two rows' difference, s = reach."""
        ends = np.array([max(self.target_bound - reach, 0.0), self.target_bound + reach])
        low, high = self.value(ends, np.zeros(2))
        return 2 * float(high - low)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "ClippedPullRisk":
        """Mean loss of ``rows`` (n, p) with ``targets`` (n,), clipped."""
        clipped = np.clip(targets, -self.target_bound, self.target_bound)
        return ClippedPullRisk(rows, clipped, self, 1.0)

    def value(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Loss of each score; same shape."""
        residual = np.abs(score - target)
        held = np.minimum(residual, self.most)
        return np.asarray(held * (residual - held / 2))

    def slope(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """Clipped residual; same shape."""
        return np.asarray(np.clip(score - target, -self.most, self.most))

    def curvature(self, score: FloatArray, target: FloatArray) -> FloatArray:
        """1, or 0 where the residual is clipped; same shape."""
        return np.asarray((np.abs(score - target) < self.most).astype(float))


@dataclass(frozen=True)
class ClippedPullRisk:
    """Mean over rows of a loss of score and target; stores the rows without a copy."""

    rows: FloatArray
    targets: FloatArray
    pull: Pull
    bend: float

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
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        models = np.asarray(theta, dtype=self.rows.dtype)

        def block(some: slice) -> tuple[FloatArray, FloatArray]:
            scores, targets = self.rows[some] @ models, self.targets[some, None]
            value = self.pull.value(scores, targets).sum(axis=-2)
            return value, self.rows[some].T @ self.pull.slope(scores, targets)

        total, gradient = sum_row_batches(
            block,
            self.n,
            models.size // self.p,
            item_bytes=models.itemsize,
            block=stack_rows(self.n) if models.ndim > 2 else None,
        )
        return total / self.n, gradient / self.n

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) only, which needs no logarithm."""

        def block(some: slice) -> tuple[FloatArray]:
            scores, targets = self.rows[some] @ theta, self.targets[some, None]
            return (self.rows[some].T @ self.pull.slope(scores, targets),)

        (total,) = sum_row_batches(block, self.n, theta.shape[1])
        return total / self.n

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,)."""
        curvature = self.pull.curvature(self.rows @ theta, self.targets) / self.n
        total = np.zeros((self.p, self.p))
        for start in range(0, self.n, _HESSIAN_ROWS):  # avoids a copy of the table
            some = slice(start, start + _HESSIAN_ROWS)
            total += (self.rows[some] * curvature[some, None]).T @ self.rows[some]
        return total

    def curvature_bound(self) -> FloatArray:
        """Gram matrix times the largest curvature (p, p): dominates every Hessian."""
        return np.asarray(self.rows.T @ self.rows * (self.bend / self.n), dtype=np.float64)

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> EmpiricalLoss:
        """Return the same loss, computed in ``dtype``: rounding does not depend on ``reach``."""
        rows = np.ascontiguousarray(self.rows, dtype=dtype)
        return ClippedPullRisk(rows, self.targets.astype(dtype), self.pull, self.bend)


def clipped(loss: Loss, most: float = MOST_PULL) -> Loss | None:
    """Loss with a clipped slope for the logistic and squared losses; None for others."""
    if isinstance(loss, LogisticLoss):
        return ClippedLogisticLoss(most)
    if isinstance(loss, SquaredLoss):
        return HuberLoss(most, loss.target_bound)
    return None
