"""Logistic loss log(1 + exp(−y z·θ)) with labels y in {−1, +1}."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses.blocks import stack_rows, sum_row_blocks
from rashomon_explorer.losses.margins import folded

_HESSIAN_ROWS = 4096
# exp of this many units of margin stays far from the overflow at 88 in float32, 709 in float64.
_SAFE_EXPONENT = {4: 80.0, 8: 600.0}
_LARGEST_GROUP = 16


@dataclass(frozen=True)
class LogisticLoss:
    """Logistic loss of a linear score, for labels in {−1, +1}.

    Examples
    --------
    >>> loss = LogisticLoss()
    >>> loss.oscillation(reach=4.0), loss.smoothness(row_bound=1.0)
    (8.0, 0.25)
    """

    name: str = "logistic"
    task: str = "classification"
    link: str = "logistic"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·σ(reach): |f'| = σ is increasing in the margin.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound * float(expit(reach))

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²/4: f'' = σ(1 − σ) is at most 1/4.

        Parameters
        ----------
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound**2 / 4

    def oscillation(self, reach: float) -> float:
        """Oscillation 2·reach of the difference of two rows' losses.

        One row's loss lies in [f(−s), f(s)] with s = reach, an interval of width
        log(1 + eˢ) − log(1 + e⁻ˢ) = s; the difference of two has twice that, and opposite rows
        attain it. Half the generic 2·L·diameter (own derivation, docs/theory.md §1).

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        """
        return 2.0 * reach

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "LogisticRisk":
        """Mean logistic loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        targets : ndarray of shape (n,)
        """
        return LogisticRisk(folded(rows, targets))


@dataclass(frozen=True)
class LogisticRisk:
    """Mean of log(1 + exp(z_i·θ)) over rows z_i = −y_i x_i.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Rows with the label folded in, in the precision to compute in.
    reach : float, optional
        Declared bound of |z·θ|. With it, how a model's loss is rounded depends neither on the
        models beside it nor on the longest row, which one record may be.
    """

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
            # 1 − σ(margin): one exponential serves the loss and the gradient.
            np.divide(factors.dtype.type(1), factors, out=factors)
            return total, self.z[rows].T @ factors

        total, away = self._sum_blocks(block, models)
        return total / self.n, (self._sum[:, None] - away) / self.n

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        weights, total = self._curvature(theta), np.zeros((self.z.shape[1],) * 2)
        for start in range(0, len(self.z), _HESSIAN_ROWS):  # no second table is made
            part = self.z[start : start + _HESSIAN_ROWS]
            total += (part * weights[start : start + _HESSIAN_ROWS, None]).T @ part
        return total

    def curvature_bound(self) -> FloatArray:
        """Gram matrix/4 (p, p): at least every Hessian, as σ(1 − σ) ≤ ¼."""
        return np.asarray(self.z.T @ self.z / (4 * self.n), dtype=np.float64)

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> "LogisticRisk":
        """Return the same loss for scores up to ``reach``, computed in ``dtype``.

        What it gives for a model is the same to the last bit whatever models stand beside it, at
        the same place of an array of the same shape.

        Parameters
        ----------
        reach : float
            A public bound.
        dtype : type, default=numpy.float64
        """
        return LogisticRisk(np.ascontiguousarray(self.z, dtype=dtype), reach)

    def _sum_blocks(
        self, work: Callable[[slice], tuple[NDArray[Any], ...]], models: NDArray[Any]
    ) -> tuple[FloatArray, ...]:
        size, block = models.itemsize, None
        if models.ndim > 2:
            block = stack_rows(self.n)
        columns = models.size // self.p
        return sum_row_blocks(work, self.n, columns, item_bytes=size, block=block)

    def _curvature(self, theta: FloatArray) -> FloatArray:
        sigma = expit(self.z @ theta)
        return np.asarray(sigma * (1 - sigma) / self.n)

    def _group(self, models: NDArray[Any]) -> int:
        """How many factors 1 + exp(margin) one logarithm can take without overflow."""
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
    """1 + exp(margin), in place."""
    np.exp(margin, out=margin)
    return np.add(margin, margin.dtype.type(1), out=margin)


def _log_product_sum(factors: NDArray[Any], group: int) -> NDArray[Any]:
    """Column sums of log(factors), with one logarithm for ``group`` of them.

    Logarithms dominate the elementwise work, and a product of a few factors cannot overflow
    because margins are bounded by the domain. The products are of halves of the rows, and of
    halves of those: an array multiplied by its other half is quicker than a reduction.
    """
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
