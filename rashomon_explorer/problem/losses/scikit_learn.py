"""Losses of scikit-learn's linear models beyond the named ones: margins, classes, row weights."""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss, TableRows
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.scores import BinaryLoss, ScoreFunction, ScoreRisk
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss, SoftmaxRisk, class_indicators
from rashomon_explorer.problem.losses.squared import HalfSquare, SquaredLoss, SquaredRisk


@dataclass(frozen=True)
class SquaredPositivePart(ScoreFunction):
    """max(a, 0)²."""

    bend: ClassVar[float] = 2.0

    def value(self, a: Any) -> Any:
        return np.maximum(a, np.zeros_like(a)) ** 2

    def slope(self, a: Any) -> Any:
        return 2 * np.maximum(a, np.zeros_like(a))

    def curvature(self, a: Any) -> Any:
        return np.where(a > 0, 2 * np.ones_like(a), np.zeros_like(a))


@dataclass(frozen=True)
class SquaredHingeLoss(BinaryLoss):
    """max(1 − y z·θ, 0)², for labels in {−1, +1}: the loss of ``LinearSVC``."""

    name: ClassVar[str] = "squared_hinge"
    globally_lipschitz: ClassVar[bool] = False
    shift: ClassVar[float] = 1.0
    function: ClassVar[SquaredPositivePart] = SquaredPositivePart()


@dataclass(frozen=True)
class SquaredLabelLoss(BinaryLoss):
    """½(y − z·θ)², for labels in {−1, +1}: the loss of ``RidgeClassifier``."""

    name: ClassVar[str] = "squared_label"
    globally_lipschitz: ClassVar[bool] = False
    shift: ClassVar[float] = 1.0
    function: ClassVar[HalfSquare] = HalfSquare()

    def empirical(  # type: ignore[override]  # p² numbers instead of n·p
        self, rows: FloatArray, targets: FloatArray
    ) -> SquaredRisk:
        return SquaredLoss(1.0).empirical(rows, targets)


@dataclass(frozen=True)
class SymmetricSoftmaxLoss(SoftmaxLoss):
    """Cross-entropy log Σ_c exp(z·θ_c) − z·θ_y, y in 0, …, classes − 1; no reference class."""

    name: str = "symmetric_softmax"

    @property
    def outputs(self) -> int:
        return self.classes

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "SymmetricSoftmaxRisk":
        return self.weighted(rows, targets, np.ones(len(rows)))

    def weighted(
        self, rows: FloatArray, targets: FloatArray, weights: FloatArray
    ) -> "SymmetricSoftmaxRisk":
        table = TableRows(np.ascontiguousarray(rows, dtype=float))
        return SymmetricSoftmaxRisk(table, class_indicators(targets, range(self.classes)), weights)


@dataclass(frozen=True)
class SymmetricSoftmaxRisk(SoftmaxRisk):
    """Weighted mean cross-entropy of one score per class."""

    weights: FloatArray = field(default_factory=lambda: np.ones(1))  # (n,)
    reference: ClassVar[bool] = False

    def hessian(self, theta: FloatArray) -> FloatArray:
        return self.weighted_hessian(theta, self.weights) / self.n

    def _losses(self, theta: Any, part: slice) -> tuple[Any, Any]:
        share, log_total, scores = self._shares(theta, part)
        indicators, weights = self.indicators[:, part, :], self.weights[part]
        losses = log_total - (indicators * scores).sum(axis=0)
        return weights @ losses, weights[:, None] * (share - indicators)


@dataclass(frozen=True)
class SquaredLabelsLoss(SymmetricSoftmaxLoss):
    """½ Σ_c (y_c − z·θ_c)², y_c = 1 for the row's class and −1 for the others."""

    name: str = "squared_labels"
    link: str = "sign"

    def empirical(  # type: ignore[override]  # p² numbers instead of n·p
        self, rows: FloatArray, targets: FloatArray
    ) -> SquaredRisk:
        return self.weighted(rows, targets, np.ones(len(rows)))

    def weighted(  # type: ignore[override]
        self, rows: FloatArray, targets: FloatArray, weights: FloatArray
    ) -> SquaredRisk:
        heavy, signs = rows * weights[:, None], self.signs(targets)
        gram = np.asarray(np.kron(np.eye(self.classes), rows.T @ heavy / len(rows)), dtype=float)
        moment = (signs.T @ heavy / len(rows)).ravel()
        return SquaredRisk(len(rows), gram, moment, float(self.classes))

    def signs(self, targets: FloatArray) -> FloatArray:
        """Targets (n, classes), 1 for the row's class and −1 for the others."""
        return np.where(targets[:, None] == np.arange(self.classes), 1.0, -1.0)


@dataclass(frozen=True)
class WeightedRisk(ScoreRisk):
    """Mean of w_i·f(z_i·θ + offset_i), for weights of mean 1."""

    weights: FloatArray = field(default_factory=lambda: np.ones(1))  # (n,)

    def hessian(self, theta: FloatArray) -> FloatArray:
        def curvature(models: Any, part: slice) -> Any:
            return self.weights[part, None] * self.function.curvature(self._scores(models, part))

        return self.table.mean_outer(curvature, theta)

    def gradient_sum(self, theta: FloatArray, which: Any) -> FloatArray:
        """Raise an error: a weight multiplies what a row moves of the sum."""
        raise TypeError("batches of weighted rows have no privacy guarantee here")

    def value(self, models: FloatArray) -> FloatArray:
        def batch(part: slice) -> tuple[Any]:
            return (self.weights[part] @ self.function.value(self._scores(models, part)),)

        return self.table.total(batch, models)[0] / self.n

    def value_and_gradient(self, models: FloatArray) -> tuple[FloatArray, FloatArray]:
        def batch(part: slice) -> tuple[Any, Any]:
            scores, weights = self._scores(models, part), self.weights[part]
            slopes = weights[:, None] * self.function.slope(scores)
            return weights @ self.function.value(scores), self.table.pull(slopes, part)

        total, gradient = self.table.total(batch, models)
        return total / self.n, gradient / self.n


@dataclass(frozen=True)
class WeightedLogisticRisk(WeightedRisk):
    """Weighted mean of log(1 + exp(z_i·θ)) over rows z_i = −y_i x_i."""


@singledispatch
def weighted_risk(
    loss: Loss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    """Mean loss of ``rows`` (n, p) with ``targets`` (n,) and weights (n,) of mean 1."""
    raise TypeError(f"the loss {loss.name!r} takes no weights of rows: omit them")


@weighted_risk.register
def _squared(
    loss: SquaredLoss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    n, bound = len(rows), loss.target_bound
    clipped, heavy = np.clip(targets, -bound, bound), rows * weights[:, None]
    energy = float(weights @ clipped**2) / n
    return SquaredRisk(n, rows.T @ heavy / n, heavy.T @ clipped / n, energy)


@weighted_risk.register
def _squared_label(
    loss: SquaredLabelLoss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    return _squared(SquaredLoss(1.0), rows, targets, weights)


@weighted_risk.register
def _weighted_softmax(
    loss: SymmetricSoftmaxLoss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    return loss.weighted(rows, targets, weights)


@weighted_risk.register
def _weighted_margins(
    loss: LogisticLoss | SquaredHingeLoss,
    rows: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
) -> EmpiricalLoss:
    form, offsets = loss.linear_form(rows, targets)
    kind = WeightedLogisticRisk if isinstance(loss, LogisticLoss) else WeightedRisk
    table = TableRows(np.ascontiguousarray(form, dtype=float))
    column = None if offsets is None else offsets[:, None]
    return kind(table, loss.function, column, weights)
