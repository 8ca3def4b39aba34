"""Softmax loss for several classes."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.base import ALL_ROWS, TableRows

_ANGLES = 2**14


@lru_cache(maxsize=256)
def largest_and_range(classes: int, reach: float) -> tuple[float, float]:
    """Upper bounds of max f and of max f − min f, for one row's cross-entropy f."""
    n_others = classes - 1
    top = float(np.logaddexp(0.0, _log_sum(n_others, np.array(reach))))
    smallest = math.log1p(n_others * math.exp(-reach / math.sqrt(n_others)))
    own_top, own_least = _own_label(classes - 2, reach)
    return max(top, own_top), max(top - smallest, own_top - own_least)


def _own_label(n_others: int, reach: float) -> tuple[float, float]:
    """Bounds of the largest and least loss of a label other than the reference."""
    if n_others == 0:
        return float(np.logaddexp(0.0, reach)), float(np.logaddexp(0.0, -reach))
    angle = np.linspace(0.0, math.pi / 2, _ANGLES)
    along, across = reach * np.cos(angle), reach * np.sin(angle)
    between = math.sqrt(2) * reach * (angle[1] - angle[0]) / 2
    rest = np.logaddexp(0.0, _log_sum(n_others, across))
    top = float(np.logaddexp(0.0, along + rest).max()) + between
    rest = np.logaddexp(0.0, math.log(n_others) - across / math.sqrt(n_others))
    smallest = float(np.logaddexp(0.0, rest - along).min()) - between
    return top, max(smallest, 0.0)


def _log_sum(n_others: int, radius: FloatArray) -> FloatArray:
    """Logarithm of m + √m·ρ + e^ρ − 1 − ρ."""
    small = (n_others - 1 + (math.sqrt(n_others) - 1) * radius) * np.exp(-radius)
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
        return tuple(float(c) for c in range(self.classes))

    @property
    def outputs(self) -> int:
        """Scores of a row: one per class except the reference."""
        return self.classes - 1

    @property
    def third_derivative(self) -> float:
        """Largest ratio of a third to a second derivative along a step: √2, 1 for two classes."""
        return math.sqrt(2 if self.outputs > 1 else 1)

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
        table = TableRows(np.ascontiguousarray(rows, dtype=float))
        return SoftmaxRisk(table, class_indicators(targets, range(1, self.classes)))


def class_indicators(targets: FloatArray, classes: range) -> FloatArray:
    """1 for the class of each row, else 0: a column (n, 1) for each class."""
    return np.stack([(targets == label).astype(float)[:, None] for label in classes])


@dataclass(frozen=True)
class SoftmaxRisk:
    """Mean cross-entropy over rows."""

    table: TableRows
    indicators: Any  # 1 in the column of each row's class, for classes 1, 2, …
    reference: ClassVar[bool] = True  # whether one more class has the score 0

    @property
    def n(self) -> int:
        return self.table.n

    @property
    def p(self) -> int:
        """Number of parameters, (C − 1)·d."""
        return self.classes * self.table.p

    @property
    def classes(self) -> int:
        """Number of classes without the reference."""
        return int(self.indicators.shape[0])

    @property
    def rows(self) -> FloatArray:
        return np.asarray(self.table.rows)

    def hessian(self, theta: FloatArray) -> FloatArray:
        return self.weighted_hessian(theta, np.ones(self.n)) / self.n

    def weighted_hessian(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum (p, p) over rows of their Hessians times ``weights`` (n,)."""
        probability = self.probabilities(theta)
        return np.block(
            [
                [
                    (self.rows * (weights * ((a == b) * p_a - p_a * p_b))[:, None]).T @ self.rows
                    for b, p_b in enumerate(probability)
                ]
                for a, p_a in enumerate(probability)
            ]
        )

    def within(self, reach: float) -> "SoftmaxRisk":
        """Return the loss itself: its rounding does not depend on ``reach``."""
        return self

    def probabilities(self, theta: FloatArray) -> FloatArray:
        """Probabilities (C − 1, n) of classes 1, 2, … for one model (p,)."""
        return self._shares(theta[:, None], ALL_ROWS)[0][:, :, 0]

    def value(self, theta: FloatArray) -> FloatArray:
        return self.table.total(lambda part: (self._losses(theta, part)[0],), theta)[0] / self.n

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        def batch(part: slice) -> tuple[Any, Any]:
            total, residual = self._losses(theta, part)
            return total, np.reshape(self.table.pull(residual, part), (self.p, -1))

        total, gradient = self.table.total(batch, theta)
        return total / self.n, gradient / self.n

    def gradient_sum(self, theta: FloatArray, which: Any) -> FloatArray:
        """Sum (p,) of the gradients of some rows at one model (p,)."""
        rows = TableRows(self.table.rows[which])
        batch = replace(self, table=rows, indicators=self.indicators[:, which])
        residual = batch._losses(theta[:, None], ALL_ROWS)[1]
        return np.reshape(rows.pull(residual, ALL_ROWS), self.p)

    def _losses(self, theta: Any, part: slice) -> tuple[Any, Any]:
        """Sum of losses (K,), and π − e_y in the shape of scores."""
        share, log_total, scores = self._shares(theta, part)
        indicators = self.indicators[:, part, :]
        losses = log_total - np.sum(indicators * scores, axis=0)
        return np.sum(losses, axis=-2), share - indicators

    def _shares(self, theta: Any, part: slice) -> tuple[Any, Any, Any]:
        """π and scores, both (C − 1, …) in the shape of scores, and log Σ_c exp(score)."""
        models = np.reshape(theta, (self.classes, self.table.p, -1))
        scores = self.table.scores(models, part)
        top = np.max(scores, axis=0)
        if self.reference:
            top = np.maximum(top, np.zeros_like(top))
        parts = np.exp(scores - top)
        total = np.sum(parts, axis=0)
        if self.reference:
            total = np.exp(-top) + total
        return parts / total, top + np.log(total), scores
