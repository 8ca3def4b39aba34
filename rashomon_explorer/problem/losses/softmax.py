"""Softmax loss for several classes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.base import sum_row_batches

_ANGLES = 2**14


@lru_cache(maxsize=256)
def largest_and_range(classes: int, reach: float) -> tuple[float, float]:
    """Upper bounds of max f and of max f − min f, for one row's cross-entropy f."""
    others = classes - 1
    top = float(np.logaddexp(0.0, _log_sum(others, np.array(reach))))
    least = math.log1p(others * math.exp(-reach / math.sqrt(others)))
    own_top, own_least = _own_label(classes - 2, reach)
    return max(top, own_top), max(top - least, own_top - own_least)


def _own_label(others: int, reach: float) -> tuple[float, float]:
    """Bounds of the largest and least loss of a label other than the reference."""
    if others == 0:
        return float(np.logaddexp(0.0, reach)), float(np.logaddexp(0.0, -reach))
    angle = np.linspace(0.0, math.pi / 2, _ANGLES)
    along, across = reach * np.cos(angle), reach * np.sin(angle)
    between = math.sqrt(2) * reach * (angle[1] - angle[0]) / 2
    rest = np.logaddexp(0.0, _log_sum(others, across))
    top = float(np.logaddexp(0.0, along + rest).max()) + between
    rest = np.logaddexp(0.0, math.log(others) - across / math.sqrt(others))
    least = float(np.logaddexp(0.0, rest - along).min()) - between
    return top, max(least, 0.0)


def _log_sum(others: int, radius: FloatArray) -> FloatArray:
    """Logarithm of m + √m·ρ + e^ρ − 1 − ρ."""
    small = (others - 1 + (math.sqrt(others) - 1) * radius) * np.exp(-radius)
    return np.asarray(radius + np.log1p(small))


@dataclass(frozen=True)
class SoftmaxLoss:
    """Cross-entropy log Σ_c exp(z·θ_c) − z·θ_y for labels y in 0, …, classes − 1, with θ_0 = 0."""

    classes: int = 3
    name: str = "softmax"
    task: str = "multiclass"
    link: str = "softmax"
    globally_lipschitz: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.classes, Integral) or self.classes < 2:
            raise ValueError(f"classes must be a whole number, at least 2, got {self.classes!r}")

    @property
    def labels(self) -> tuple[float, ...]:
        """Allowed targets: 0, …, classes − 1."""
        return tuple(float(c) for c in range(self.classes))

    @property
    def outputs(self) -> int:
        """Scores of a row: one per class except the reference."""
        return self.classes - 1

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant √2·B·(1 − e^{−W}), W the largest loss; without √2 for two classes."""
        largest = math.inf if math.isinf(reach) else largest_and_range(self.classes, reach)[0]
        steepest = 1.0 if self.classes == 2 else math.sqrt(2)
        return row_bound * steepest * -math.expm1(-largest)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²/2, B²/4 for two classes."""
        return row_bound**2 / (4 if self.classes == 2 else 2)

    def oscillation(self, reach: float) -> float:
        """Oscillation: twice the range of one row's loss; an upper bound, tight for two classes."""
        return 2 * largest_and_range(self.classes, reach)[1]

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "SoftmaxRisk":
        """Mean cross-entropy of ``rows`` (n, d) with ``targets`` (n,) in 0, …, classes − 1."""
        own = targets[None, :] == np.arange(1, self.classes)[:, None]
        return SoftmaxRisk(np.ascontiguousarray(rows), own.astype(float))


@dataclass(frozen=True)
class SoftmaxRisk:
    """Mean cross-entropy of given rows."""

    rows: FloatArray
    own: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        """Number of parameters, (C − 1)·d."""
        return int(len(self.own) * self.rows.shape[1])

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        (total,) = self._sum_blocks(lambda block: (self._losses(theta, block)[0],), theta)
        return total / self.n

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        if theta.ndim > 2:
            parts = [self.value_and_gradient(models) for models in theta]
            return np.stack([part[0] for part in parts]), np.stack([part[1] for part in parts])

        def block(rows: slice) -> tuple[FloatArray, FloatArray]:
            total, residual = self._losses(theta, rows)
            return total, np.vstack([self.rows[rows].T @ one for one in residual])

        total, gradient = self._sum_blocks(block, theta)
        return total / self.n, gradient / self.n

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,)."""
        probability = self.probabilities(theta)
        blocks = [
            [
                (self.rows * ((a == b) * one - one * other)[:, None]).T @ self.rows
                for b, other in enumerate(probability)
            ]
            for a, one in enumerate(probability)
        ]
        return np.block(blocks) / self.n

    def curvature_bound(self) -> FloatArray:
        """Gram matrix/2 per class (p, p): diag π − ππᵀ is at most ½, or ¼ for two classes."""
        rows = self.rows.astype(np.float64, copy=False)
        bend = 4 if len(self.own) == 1 else 2
        gram = rows.T @ rows / (bend * self.n)
        return np.asarray(np.kron(np.eye(len(self.own)), gram), dtype=np.float64)

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> "SoftmaxRisk":
        """Return the same loss, computed in ``dtype``: rounding does not depend on ``reach``."""
        return SoftmaxRisk(np.ascontiguousarray(self.rows, dtype=dtype), self.own.astype(dtype))

    def probabilities(self, theta: FloatArray) -> FloatArray:
        """Probabilities (C − 1, n) of classes 1, 2, … for one model (p,)."""
        return self._probabilities(theta[:, None], slice(None))[0][:, :, 0]

    def _sum_blocks(
        self, work: Callable[[slice], tuple[FloatArray, ...]], theta: FloatArray
    ) -> tuple[FloatArray, ...]:
        cells = theta.shape[1] * len(self.own)
        return sum_row_batches(work, self.n, cells, item_bytes=self.rows.itemsize)

    def _losses(self, theta: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Sum of losses (K,) and π − e_y (C − 1, m, K) of a batch of m rows."""
        probability, log_total, scores = self._probabilities(theta, rows)
        own = self.own[:, rows, None]
        return (log_total - (own * scores).sum(axis=0)).sum(axis=0), probability - own

    def _probabilities(
        self, theta: FloatArray, rows: slice
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """π (C − 1, m, K), log Σ_c exp(score) (m, K) and the scores of a batch of m rows."""
        models = np.asarray(theta, dtype=self.rows.dtype)
        parts = models.reshape(len(self.own), self.rows.shape[1], -1)
        scores = np.stack([self.rows[rows] @ part for part in parts])
        top = np.maximum(scores.max(axis=0), 0.0)  # the reference's score is 0
        parts = np.exp(scores - top)
        total = np.exp(-top) + parts.sum(axis=0)
        return parts / total, top + np.log(total), scores
