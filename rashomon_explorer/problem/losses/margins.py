"""Squared losses of the margin of two classes, which scikit-learn's classifiers minimise."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import NUMPY, ArrayBackend, FloatArray
from rashomon_explorer.problem.losses.scores import BinaryLoss, ScoreFunction
from rashomon_explorer.problem.losses.squared import HalfSquare, SquaredLoss, SquaredRisk


@dataclass(frozen=True)
class SquaredPositivePart(ScoreFunction):
    """max(a, 0)²."""

    bend: ClassVar[float] = 2.0

    def value(self, a: Any, xp: Any = np) -> Any:
        """max(a, 0)²."""
        return xp.maximum(a, xp.zeros_like(a)) ** 2

    def slope(self, a: Any, xp: Any = np) -> Any:
        """2·max(a, 0)."""
        return 2 * xp.maximum(a, xp.zeros_like(a))

    def curvature(self, a: Any, xp: Any = np) -> Any:
        """2 for a > 0, and 0 elsewhere."""
        return xp.where(a > 0, 2 * xp.ones_like(a), xp.zeros_like(a))


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
        self, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend = NUMPY
    ) -> SquaredRisk:
        """Mean loss of ``rows`` (n, p) with ``targets`` (n,)."""
        return SquaredLoss(1.0).empirical(rows, targets, arrays)
