"""Rows of a mean loss, with the products and sums over them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.base import batch_rows, stack_rows, sum_row_batches

ALL_ROWS = slice(None)
_HESSIAN_ROWS = 4096


@dataclass(frozen=True)
class TableRows:
    """Rows (n, p) in NumPy; scores have shape (..., m, K) for m rows and K models."""

    rows: NDArray[np.floating[Any]]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        """Number of entries of a row."""
        return int(self.rows.shape[1])

    @property
    def dtype(self) -> Any:
        """Precision of the rows."""
        return self.rows.dtype

    @cached_property
    def longest(self) -> float:
        """Norm of the longest row."""
        return float(np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows).max()))

    @cached_property
    def sum(self) -> FloatArray:
        """Sum (p,) of the rows."""
        return np.asarray(self.rows.sum(axis=0, dtype=np.float64))

    def column(self, values: FloatArray) -> FloatArray:
        """Column of one number per row (n,), which scores (m, K) can be added to."""
        return values[:, None].astype(self.rows.dtype, copy=False)

    def within(self, dtype: Any) -> "TableRows":
        """Return the same rows in a precision."""
        return TableRows(np.ascontiguousarray(self.rows, dtype=dtype))

    def evaluate(self, work: Callable[[Any], Any], theta: FloatArray) -> Any:
        """Evaluate models in the precision of the rows."""
        return work(np.asarray(theta, dtype=self.rows.dtype))

    def scores(self, models: NDArray[Any], part: slice) -> NDArray[Any]:
        """Scores of models (..., p, K) on a part of the rows."""
        return np.asarray(self.rows[part] @ models)

    def pull(self, weights: NDArray[Any], part: slice) -> NDArray[Any]:
        """Return sums (..., p, K) of a part's rows with weights in the shape of scores."""
        return np.asarray(self.rows[part].T @ weights)

    def total(
        self, work: Callable[[slice], tuple[NDArray[Any], ...]], models: NDArray[Any]
    ) -> tuple[FloatArray, ...]:
        """Sum ``work`` over batches of rows, in float64."""
        width = models.size // self.p
        if models.ndim > 2:
            block = stack_rows(self.n, models.shape[-1], models.itemsize, self.p)
        else:
            block = batch_rows(self.n, width, models.itemsize, self.p)
        return sum_row_batches(work, self.n, width, item_bytes=models.itemsize, block=block)

    def mean_outer(self, weights: Callable[[Any, slice], Any], theta: FloatArray) -> FloatArray:
        """Mean (p, p) of w_i·z_i·z_iᵀ, for weights in the shape of scores of one model (p,)."""
        every = weights(theta[:, None], ALL_ROWS)[:, 0] / self.n
        total = np.zeros((self.p, self.p))
        for start in range(0, self.n, _HESSIAN_ROWS):  # avoids a copy of the table
            part = self.rows[start : start + _HESSIAN_ROWS]
            total += (part * every[start : start + _HESSIAN_ROWS, None]).T @ part
        return total

    def gram(self) -> FloatArray:
        """Sum of z_i·z_iᵀ (p, p), in float64."""
        return np.asarray(self.rows.T @ self.rows, dtype=np.float64)
