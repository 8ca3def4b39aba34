"""Logistic and squared loss."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.problem.losses.base import folded, stack_rows, sum_row_batches

_HESSIAN_ROWS = 4096
# exp of this margin is far below overflow at 88 in float32, 709 in float64.
_SAFE_EXPONENT = {4: 80.0, 8: 600.0}
_LARGEST_GROUP = 16


@dataclass(frozen=True)
class LogisticLoss:
    """Logistic loss of a linear score, for labels in {−1, +1}."""

    name: str = "logistic"
    task: str = "classification"
    link: str = "logistic"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·σ(reach): |f'| = σ is increasing in the margin."""
        return row_bound * float(expit(reach))

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²/4: f'' = σ(1 − σ) is at most 1/4."""
        return row_bound**2 / 4

    def oscillation(self, reach: float) -> float:
        """Oscillation 2·reach of the difference between two rows' losses.

        One row's loss lies in [f(−s), f(s)] with s = reach, an interval of width
        log(1 + eˢ) − log(1 + e⁻ˢ) = s. The difference of two has twice that, which opposite rows
        attain: half the generic 2·L·diameter (own derivation, docs/theory.md §1).
        """
        return 2.0 * reach

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "LogisticRisk":
        """Mean logistic loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}."""
        return LogisticRisk(folded(rows, targets))


@dataclass(frozen=True)
class LogisticRisk:
    """Mean of log(1 + exp(z_i·θ)) over rows z_i = −y_i x_i."""

    z: NDArray[np.floating[Any]]
    reach: float | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.z.shape[0])

    @property
    def p(self) -> int:
        """Number of parameters."""
        return int(self.z.shape[1])

    @cached_property
    def _longest_row(self) -> float:
        return float(np.sqrt(np.einsum("ij,ij->i", self.z, self.z).max()))

    @cached_property
    def _sum(self) -> FloatArray:
        return np.asarray(self.z.sum(axis=0, dtype=np.float64))

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        models = np.asarray(theta, dtype=self.z.dtype)
        group = self._group(models)

        def block(rows: slice) -> tuple[NDArray[Any]]:
            margin = self.z[rows] @ models
            if group < 1:
                return (np.logaddexp(0, margin).sum(axis=-2),)
            return (_log_product_sum(_one_plus_exp(margin), group),)

        (total,) = self._sum_blocks(block, models)
        return total / self.n

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        models = np.asarray(theta, dtype=self.z.dtype)
        group = self._group(models)

        def block(rows: slice) -> tuple[NDArray[Any], NDArray[Any]]:
            margin = self.z[rows] @ models
            if group < 1:
                return np.logaddexp(0, margin).sum(axis=-2), self.z[rows].T @ expit(-margin)
            factors = _one_plus_exp(margin)
            total = _log_product_sum(factors, group)
            # 1 − σ(margin): one exponential gives both the loss and the gradient.
            np.divide(factors.dtype.type(1), factors, out=factors)
            return total, self.z[rows].T @ factors

        total, away = self._sum_blocks(block, models)
        return total / self.n, (self._sum[:, None] - away) / self.n

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        weights, total = self._curvature(theta), np.zeros((self.z.shape[1],) * 2)
        for start in range(0, len(self.z), _HESSIAN_ROWS):  # avoids a copy of the table
            part = self.z[start : start + _HESSIAN_ROWS]
            total += (part * weights[start : start + _HESSIAN_ROWS, None]).T @ part
        return total

    def curvature_bound(self) -> FloatArray:
        """Gram matrix/4 (p, p): dominates every Hessian, because σ(1 − σ) ≤ ¼."""
        return np.asarray(self.z.T @ self.z / (4 * self.n), dtype=np.float64)

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> "LogisticRisk":
        """Return the same loss for scores up to ``reach``, computed in ``dtype``."""
        return LogisticRisk(np.ascontiguousarray(self.z, dtype=dtype), reach)

    def _sum_blocks(
        self, work: Callable[[slice], tuple[NDArray[Any], ...]], models: NDArray[Any]
    ) -> tuple[FloatArray, ...]:
        size, block = models.itemsize, None
        if models.ndim > 2:
            block = stack_rows(self.n)
        columns = models.size // self.p
        return sum_row_batches(work, self.n, columns, item_bytes=size, block=block)

    def _curvature(self, theta: FloatArray) -> FloatArray:
        sigma = expit(self.z @ theta)
        return np.asarray(sigma * (1 - sigma) / self.n)

    def _group(self, models: NDArray[Any]) -> int:
        """Find how many factors 1 + exp(margin) one logarithm takes without overflow."""
        reach = self.reach
        if reach is None:
            longest = (models.astype(float) ** 2).sum(axis=-2).max(initial=0.0)
            reach = self._longest_row * float(np.sqrt(longest))
        exponent = reach + 1
        group = _LARGEST_GROUP
        while group and group * exponent > _SAFE_EXPONENT[models.itemsize]:
            group //= 2
        return group


def _one_plus_exp(margin: NDArray[Any]) -> NDArray[Any]:
    """Compute 1 + exp(margin) in place."""
    np.exp(margin, out=margin)
    return np.add(margin, margin.dtype.type(1), out=margin)


def _log_product_sum(factors: NDArray[Any], group: int) -> NDArray[Any]:
    """Column sums of log(factors), with one logarithm per ``group`` of factors."""
    rows = factors.shape[-2]
    whole = rows // group * group
    product = factors[..., :whole, :]
    while group > 1:
        half = product.shape[-2] // 2
        product = product[..., :half, :] * product[..., half:, :]
        group //= 2
    total = np.log(product).sum(axis=-2)
    if whole < rows:
        total += np.log(factors[..., whole:, :]).sum(axis=-2)
    return np.asarray(total)


@dataclass(frozen=True)
class SquaredLoss:
    """Half the squared error of a linear score, for targets in [−target_bound, target_bound]."""

    target_bound: float = 1.0
    name: str = "squared"
    task: str = "regression"
    link: str = "identity"
    globally_lipschitz: bool = False
    labels: None = None
    outputs: int = 1

    def __post_init__(self) -> None:
        check_positive(target_bound=self.target_bound)

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B(Y + reach): the residual is at most Y + reach."""
        return row_bound * (self.target_bound + reach)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²."""
        return row_bound**2

    def oscillation(self, reach: float) -> float:
        """Oscillation (Y + s)² − max(Y − s, 0)² of the difference of two rows' losses, s = reach.

        One row's loss ½(y − a)² with |a| ≤ s varies by at most
        ½(Y + s)² − ½max(Y − s, 0)² over the domain. The difference of two varies by at most
        twice that. It is attained by y = y' = Y with rows at the angle −Y/s (or opposite rows for
        s ≤ Y) (docs/theory.md §1).
        """
        return (self.target_bound + reach) ** 2 - max(self.target_bound - reach, 0.0) ** 2

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "SquaredRisk":
        """Mean squared loss of ``rows`` (n, p) with ``targets`` (n,), clipped."""
        clipped = np.clip(targets, -self.target_bound, self.target_bound)
        n = len(rows)
        return SquaredRisk(
            n=n,
            gram=rows.T @ rows / n,
            moment=rows.T @ clipped / n,
            energy=float(clipped @ clipped) / n,
        )


@dataclass(frozen=True)
class SquaredRisk:
    """Mean squared loss ½(θᵀSθ − 2 s·θ + c), from sufficient statistics only."""

    n: int
    gram: FloatArray
    moment: FloatArray
    energy: float

    @property
    def p(self) -> int:
        """Number of parameters."""
        return len(self.moment)

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        gradient = self.gram @ theta - self.moment[:, None]
        value = 0.5 * (np.sum(theta * (gradient - self.moment[:, None]), axis=-2) + self.energy)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p): the Gram matrix, for every ``theta``."""
        return self.gram

    def curvature_bound(self) -> FloatArray:
        """Return the Gram matrix, which equals every Hessian."""
        return self.gram

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> "SquaredRisk":
        """Return the loss itself: its statistics are small and stay in float64."""
        return self
