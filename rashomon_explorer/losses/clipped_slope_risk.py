"""The mean over rows of a loss whose slope is clipped."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses.blocks import stack_rows, sum_row_blocks
from rashomon_explorer.losses.clipped_slope import ClippedSlope


@dataclass(frozen=True)
class ClippedSlopeRisk:
    """Mean of f(rows_i·θ + offset_i) for one :class:`ClippedSlope` f.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Rows with label and sign folded in.
    offsets : ndarray of shape (n,)
    shape : ClippedSlope
    """

    rows: FloatArray
    offsets: FloatArray
    shape: ClippedSlope

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        """Number of parameters."""
        return int(self.rows.shape[1])

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        models = np.asarray(theta, dtype=self.rows.dtype)
        (total,) = sum_row_blocks(
            lambda block: (self.shape.value(self._scores(models, block)).sum(axis=0),),
            self.n,
            models.shape[1],
            item_bytes=models.itemsize,
        )
        return total / self.n

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and a subgradient (p, K) for each column of ``theta`` (p, K).

        Where no row is at a kink it is the gradient.
        """
        models = np.asarray(theta, dtype=self.rows.dtype)

        def block(rows: slice) -> tuple[FloatArray, FloatArray]:
            scores = self._scores(models, rows)
            slope = self.shape.slope(scores)
            return self.shape.value(scores).sum(axis=-2), self.rows[rows].T @ slope

        block_size = stack_rows(self.n) if models.ndim > 2 else None
        total, gradient = sum_row_blocks(
            block,
            self.n,
            models.size // self.p,
            item_bytes=models.itemsize,
            block=block_size,
        )
        return total / self.n, gradient / self.n

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,), of the rows inside their zone."""
        curvature = self.shape.curvature(self.scores(theta)) / self.n
        curved = curvature > 0
        return (self.rows[curved] * curvature[curved, None]).T @ self.rows[curved]

    def curvature_bound(self) -> FloatArray | None:
        """Gram matrix/smoothing (p, p), at least every Hessian; None with a kink."""
        if self.shape.smoothing == 0:
            return None
        rows = self.rows.astype(np.float64, copy=False)
        return rows.T @ rows / (self.n * self.shape.smoothing)

    def within(
        self, reach: float, dtype: type[np.floating[Any]] = np.float64
    ) -> "ClippedSlopeRisk":
        """Return the same loss, computed in ``dtype``: no rounding depends on ``reach``."""
        rows = np.ascontiguousarray(self.rows, dtype=dtype)
        return replace(self, rows=rows, offsets=self.offsets.astype(dtype))

    def scores(self, theta: FloatArray) -> FloatArray:
        """Arguments rows_i·θ + offset_i (n,) of the loss at one model (p,)."""
        return np.asarray(self.rows @ theta + self.offsets)

    def smoothed(self, smoothing: float) -> "ClippedSlopeRisk":
        """Return the same loss with a parabola of at least this smoothing: never above this one."""
        return replace(
            self, shape=replace(self.shape, smoothing=max(smoothing, self.shape.smoothing))
        )

    def dual(self, theta: FloatArray, smoothing: float) -> tuple[float, float, FloatArray]:
        """Mean loss at one model (p,), and what its smoothed slopes α prove of the minimum.

        Parameters
        ----------
        theta : ndarray of shape (p,)
        smoothing : float

        Returns
        -------
        float, float, ndarray of shape (p,)
            Mean loss, mean(α_i·offset_i) and Σ α_i·rows_i/n.
        """
        scores = self.scores(theta)
        slopes = self.smoothed(smoothing).shape.slope(scores)
        return (
            float(self.shape.value(scores).mean()),
            float(slopes @ self.offsets) / self.n,
            self.rows.T @ slopes / self.n,
        )

    def _scores(self, theta: FloatArray, rows: slice) -> FloatArray:
        return np.asarray(self.rows[rows] @ theta + self.offsets[rows, None])
