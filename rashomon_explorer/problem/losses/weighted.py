"""Mean losses of rows with weights, on the host."""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.margins import SquaredHingeLoss, SquaredLabelLoss
from rashomon_explorer.problem.losses.scores import ScoreRisk
from rashomon_explorer.problem.losses.several import SymmetricSoftmaxLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss, SquaredRisk
from rashomon_explorer.problem.losses.tables import HostRows


@dataclass(frozen=True)
class WeightedRisk(ScoreRisk):
    """Mean of w_i·f(z_i·θ + offset_i), for weights of mean 1."""

    weights: FloatArray = field(default_factory=lambda: np.ones(1))  # (n,)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""

        def curvature(models: Any, part: slice) -> Any:
            return self.weights[part, None] * self.function.curvature(self._scores(models, part))

        return self.table.mean_outer(curvature, theta)

    def _value(self, models: Any) -> Any:
        def batch(part: slice) -> tuple[Any]:
            return (self.weights[part] @ self.function.value(self._scores(models, part)),)

        return self.table.total(batch, models)[0] / self.n

    def _value_and_gradient(self, models: Any) -> tuple[Any, Any]:
        def batch(part: slice) -> tuple[Any, Any]:
            scores, weights = self._scores(models, part), self.weights[part]
            slopes = weights[:, None] * self.function.slope(scores)
            return weights @ self.function.value(scores), self.table.pull(slopes, part)

        total, gradient = self.table.total(batch, models)
        return total / self.n, gradient / self.n


@dataclass(frozen=True)
class WeightedLogisticRisk(WeightedRisk):
    """Weighted mean of log(1 + exp(z_i·θ)) over rows z_i = −y_i x_i."""


def weighted_risk(
    loss: Loss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    """Mean loss of ``rows`` (n, p) with ``targets`` (n,) and weights (n,) of mean 1.

    Examples
    --------
    >>> rows, targets = np.eye(2), np.array([1.0, -1.0])
    >>> risk = weighted_risk(LogisticLoss(), rows, targets, np.array([2.0, 0.0]))
    >>> float(risk.value(np.array([[1.0], [5.0]]))[0]) == float(np.log1p(np.exp(-1.0)))
    True
    """
    return _weighted(loss, rows, targets, weights)


@singledispatch
def _weighted(
    loss: Loss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    raise TypeError(f"the loss {loss.name!r} takes no weights of rows: omit them")


@_weighted.register
def _squared(
    loss: SquaredLoss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    n, bound = len(rows), loss.target_bound
    clipped, heavy = np.clip(targets, -bound, bound), rows * weights[:, None]
    energy = float(weights @ clipped**2) / n
    return SquaredRisk(n, rows.T @ heavy / n, heavy.T @ clipped / n, energy)


@_weighted.register
def _squared_label(
    loss: SquaredLabelLoss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    return _squared(SquaredLoss(1.0), rows, targets, weights)


@_weighted.register
def _of_classes(
    loss: SymmetricSoftmaxLoss, rows: FloatArray, targets: FloatArray, weights: FloatArray
) -> EmpiricalLoss:
    return loss.weighted(rows, targets, weights)


@_weighted.register
def _of_margins(
    loss: LogisticLoss | SquaredHingeLoss,
    rows: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
) -> EmpiricalLoss:
    form, offsets = loss.linear_form(rows, targets)
    kind = WeightedLogisticRisk if isinstance(loss, LogisticLoss) else WeightedRisk
    table = HostRows(np.ascontiguousarray(form))
    column = None if offsets is None else table.column(offsets)
    return kind(table, loss.function, column, weights)
