"""Losses of one score per class, as scikit-learn's classifiers of several classes have them."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import NUMPY, ArrayBackend, FloatArray
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss, SoftmaxRisk
from rashomon_explorer.problem.losses.squared import SquaredRisk
from rashomon_explorer.problem.losses.tables import HostRows


@dataclass(frozen=True)
class SymmetricSoftmaxLoss(SoftmaxLoss):
    """Cross-entropy log Σ_c exp(z·θ_c) − z·θ_y for labels y in 0, …, classes − 1.

    No class has the score 0: the same change of all scores leaves the loss as it is.
    """

    name: str = "symmetric_softmax"

    @property
    def outputs(self) -> int:
        """Scores of a row: one per class."""
        return self.classes

    def empirical(
        self, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend = NUMPY
    ) -> "SymmetricSoftmaxRisk":
        """Mean cross-entropy of ``rows`` (n, d) with ``targets`` (n,), on the host."""
        return self.weighted(rows, targets, np.ones(len(rows)))

    def weighted(
        self, rows: FloatArray, targets: FloatArray, weights: FloatArray
    ) -> "SymmetricSoftmaxRisk":
        """Mean cross-entropy with weights (n,) of mean 1."""
        table = HostRows(np.ascontiguousarray(rows))
        own = [table.column((targets == c).astype(float)) for c in range(self.classes)]
        return SymmetricSoftmaxRisk(table, np.stack(own), weights)


@dataclass(frozen=True)
class SymmetricSoftmaxRisk(SoftmaxRisk):
    """Weighted mean cross-entropy of one score per class."""

    weights: FloatArray = field(default_factory=lambda: np.ones(1))  # (n,)
    reference: ClassVar[bool] = False

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,)."""
        return self.weighted_hessian(theta, self.weights) / self.n

    def _losses(self, theta: Any, part: slice) -> tuple[Any, Any]:
        share, log_total, scores = self._shares(theta, part)
        own, weights = self._own(part), self.weights[part]
        losses = log_total - (own * scores).sum(axis=0)
        return weights @ losses, weights[:, None] * (share - own)


@dataclass(frozen=True)
class SquaredLabelsLoss(SymmetricSoftmaxLoss):
    """½ Σ_c (y_c − z·θ_c)², y_c = 1 for the row's class and −1 for the others."""

    name: str = "squared_labels"
    link: str = "sign"

    def empirical(  # type: ignore[override]  # p² numbers instead of n·p
        self, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend = NUMPY
    ) -> SquaredRisk:
        """Mean loss of ``rows`` (n, d) with ``targets`` (n,) in 0, …, classes − 1."""
        return self.weighted(rows, targets, np.ones(len(rows)))

    def weighted(  # type: ignore[override]
        self, rows: FloatArray, targets: FloatArray, weights: FloatArray
    ) -> SquaredRisk:
        """Mean loss with weights (n,) of mean 1."""
        heavy, signs = rows * weights[:, None], self.signs(targets)
        gram = np.asarray(np.kron(np.eye(self.classes), rows.T @ heavy / len(rows)), dtype=float)
        moment = (signs.T @ heavy / len(rows)).ravel()
        return SquaredRisk(len(rows), gram, moment, float(self.classes))

    def signs(self, targets: FloatArray) -> FloatArray:
        """Targets (n, classes), 1 for the row's class and −1 for the others."""
        return np.where(targets[:, None] == np.arange(self.classes), 1.0, -1.0)
