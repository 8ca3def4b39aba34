"""Logistic loss, and logistic loss with clipped slope."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive, check_share
from rashomon_explorer.problem.losses.scores import BinaryLoss, ScoreFunction, ScoreRisk

MOST_PULL = 0.5
"""Default slope at which losses are clipped: that of the logistic loss at a score of 0."""

_SAFE_EXPONENT = 600.0  # exp of it is far below overflow, at 709
# 16 factors 1 + eᵃ a logarithm: sums are 12 times as fast as by logaddexp, gradients 7 times.
_LARGEST_GROUP = 16
_FEW = 4  # models up to which norms and a sum of all rows take longer than their scores


@dataclass(frozen=True)
class Softplus(ScoreFunction):
    """log(1 + eᵃ); for scores of known size, one logarithm serves a group of them."""

    group: int | None = None  # factors 1 + eᵃ whose product cannot overflow; None if not known
    bend: ClassVar[float] = 0.25

    def within(self, reach: float) -> "Softplus":
        group, exponent = _LARGEST_GROUP, reach + 1
        while group and group * exponent > _SAFE_EXPONENT:
            group //= 2
        return Softplus(group)

    def _group_for(self, a: Any) -> int | None:
        """Safe number of factors for these scores, if it is not known beforehand."""
        if self.group is not None:
            return self.group
        return self.within(float(a.max(initial=0.0))).group

    def value(self, a: Any) -> Any:
        """log(1 + eᵃ), for scores of any size."""
        return np.logaddexp(np.zeros_like(a), a)

    def slope(self, a: Any) -> Any:
        """σ(a)."""
        return expit(a)

    def curvature(self, a: Any) -> Any:
        """σ(1 − σ)."""
        sigma = self.slope(a)
        return sigma * (1 - sigma)

    def sums(self, a: Any, axis: int) -> Any:
        """Return sums along the axis of rows; ``a`` may be overwritten."""
        group = self._group_for(a)
        if not group:
            return np.sum(self.value(a), axis=axis)
        return _log_products(_one_plus_exp(a), group)

    def sums_and_slopes(self, a: Any, axis: int) -> tuple[Any, Any]:
        group = self._group_for(a)
        if not group:
            return super().sums_and_slopes(a, axis)
        total, rest = Softplus(group).sums_and_complements(a, axis)
        return total, 1 - rest

    def expansion(self, a: Any, axis: int) -> tuple[Any, Any, Any]:
        """Return sums along the axis of rows, σ(a) and σ(1 − σ), from one exponential."""
        total, rest = self.sums_and_complements(a, axis)
        slopes = 1 - rest
        return total, slopes, np.multiply(rest, slopes, out=rest)

    def sums_and_complements(self, a: Any, axis: int) -> tuple[Any, Any]:
        """Return sums along the axis of rows, and 1 − σ(a); may overwrite ``a``."""
        # Complements make gradients 2.5 times as fast as slopes: 1/factors needs no further pass.
        group = self._group_for(a)
        if not group:
            return self.sums(a, axis), self.slope(-a)
        factors = _one_plus_exp(a)
        # One exponential gives both the loss and the gradient.
        return _log_products(factors, group), 1 / factors

    def complements(self, a: Any) -> Any:
        """Return 1 − σ(a); may overwrite ``a``."""
        if not self._group_for(a):
            return self.slope(-a)
        return np.reciprocal(_one_plus_exp(a), out=a)


def _one_plus_exp(a: Any) -> Any:
    """1 + eᵃ, in place."""
    np.exp(a, out=a)
    return np.add(a, 1.0, out=a)


def _log_products(factors: Any, group: int) -> Any:
    """Return sums over rows of log(factors), with one logarithm per ``group``."""
    rows = factors.shape[-2]
    n_grouped = rows // group * group
    product = factors[..., :n_grouped, :]
    while group > 1:
        half = product.shape[-2] // 2
        product = product[..., :half, :] * product[..., half:, :]
        group //= 2
    total = np.log(product).sum(axis=-2)
    if n_grouped < rows:
        total += np.log(factors[..., n_grouped:, :]).sum(axis=-2)
    return np.asarray(total)


@dataclass(frozen=True)
class LogisticRisk(ScoreRisk):
    """Mean of log(1 + exp(z_i·θ)) over rows z_i = −y_i x_i."""

    function: Softplus

    def _function(self, models: Any) -> Softplus:
        if self.function.group is not None or models.shape[-1] <= _FEW:
            return self.function
        longest = (models**2).sum(axis=-2).max(initial=0.0)
        function = self.function.within(self.table.longest * float(np.sqrt(longest)))
        # One long row, as of a rare level, must not slow all batches down: they look themselves.
        return function if function.group == _LARGEST_GROUP else self.function

    def value_and_gradient(self, models: FloatArray) -> tuple[FloatArray, FloatArray]:
        if models.shape[-1] <= _FEW:
            return super().value_and_gradient(models)
        function, table = self._function(models), self.table

        def batch(part: slice) -> tuple[Any, Any]:
            total, rest = function.sums_and_complements(self._scores(models, part), -2)
            return total, table.pull(rest, part)

        total, away = table.total(batch, models)
        return total / self.n, (table.sum[:, None] - away) / self.n

    def gradient(self, models: FloatArray) -> FloatArray:
        """Return the gradient of :meth:`value_and_gradient`, without the logarithms."""
        function, table = self._function(models), self.table
        few = models.shape[-1] <= _FEW

        def batch(part: slice) -> tuple[Any]:
            rest = function.complements(self._scores(models, part))
            return (table.pull(np.subtract(1, rest, out=rest) if few else rest, part),)

        (total,) = table.total(batch, models)
        return (total if few else table.sum[:, None] - total) / self.n


@dataclass(frozen=True)
class LogisticLoss(BinaryLoss):
    """Logistic loss of a linear score, for labels in {−1, +1}."""

    name: ClassVar[str] = "logistic"
    link: ClassVar[str] = "logistic"
    third_derivative: ClassVar[float] = 1.0  # largest ratio to the second
    function: ClassVar[Softplus] = Softplus()
    risk: ClassVar[type[ScoreRisk]] = LogisticRisk

    def oscillation(self, reach: float) -> float:
        """2·reach: one row's loss has range s, and opposite rows attain twice (theory §1)."""
        return 2.0 * reach

    def clipped(self, slope_bound: float) -> "ClippedLogisticLoss":
        """Return the loss with its slope clipped to ``slope_bound``."""
        return ClippedLogisticLoss(slope_bound)


@dataclass(frozen=True)
class ClippedSoftplus(ScoreFunction):
    """log(1 + eᵃ) up to the score of slope ``most``, and its tangent beyond."""

    most: float

    @property
    def bend(self) -> float:
        """Largest σ(1 − σ) where the slope σ is at most ``most``."""
        steepest = min(self.most, 0.5)
        return steepest * (1 - steepest)

    def value(self, a: Any) -> Any:
        edge = -math.log((1 - self.most) / self.most) if self.most < 1 else math.inf
        below = np.minimum(a, edge + np.zeros_like(a))
        return Softplus().value(below) + self.most * (a - below)

    def slope(self, a: Any) -> Any:
        """min{σ(a), most}."""
        return np.minimum(Softplus().slope(a), self.most + np.zeros_like(a))

    def curvature(self, a: Any) -> Any:
        """σ(1 − σ), or 0 where the slope is clipped."""
        sigma = Softplus().slope(a)
        return np.where(sigma < self.most, sigma * (1 - sigma), np.zeros_like(a))


@dataclass(frozen=True)
class ClippedLogisticLoss(BinaryLoss):
    """Logistic loss with the slope of every row clipped to ``most`` (Song et al. 2021): convex."""

    most: float = MOST_PULL
    name: ClassVar[str] = "clipped_logistic"
    link: ClassVar[str] = "logistic"

    def __post_init__(self) -> None:
        check_positive(most=self.most)
        check_share(most=self.most)

    @property
    def function(self) -> ClippedSoftplus:
        return ClippedSoftplus(self.most)
