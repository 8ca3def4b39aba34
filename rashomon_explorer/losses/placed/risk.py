"""The mean of a loss over rows on a device, for models that are there or on the host."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import ArrayBackend, is_foreign, to_host
from rashomon_explorer.losses.placed.fused import fused
from rashomon_explorer.losses.placed.pointwise import BoundedSoftplus, Pointwise, Softplus
from rashomon_explorer.losses.placed.rows import PlacedRows


def answered(arrays: ArrayBackend, work: Callable[[Any], Any], theta: Any) -> Any:
    """Work on models there; models of the host get an answer on the host."""
    if is_foreign(theta):
        return work(theta)
    found = work(arrays.put(theta))
    return tuple(map(to_host, found)) if isinstance(found, tuple) else to_host(found)


@dataclass(frozen=True)
class PlacedRisk:
    """Mean of f(rows_i·θ + offset_i) over rows that stand on a device.

    Where models come from the host, answers go there.

    Parameters
    ----------
    placed : PlacedRows
    pointwise : Pointwise
        The loss f.
    offsets : array of shape (n_filled,), optional
    """

    placed: PlacedRows
    pointwise: Pointwise
    offsets: Any = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.placed.n

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.placed.p

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        found: FloatArray = answered(self.placed.arrays, self._value, theta)
        return found

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and a (sub)gradient (p, K) for each column of ``theta`` (p, K)."""
        value, gradient = answered(self.placed.arrays, self._value_and_gradient, theta)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        models, rows = self.placed.arrays.put(theta[:, None]), self.placed.rows

        def piece(part: slice) -> tuple[Any]:
            curvature = self.pointwise.curvature(self.placed.arrays.xp, self._scores(models, part))
            return (rows[part, :].T @ (rows[part, :] * curvature.T),)

        return to_host(self.placed.total(piece, self.p)[0]) / self.n

    def curvature_bound(self) -> FloatArray | None:
        """Largest f'' times the Gram matrix (p, p); None for a loss with kinks."""
        if not np.isfinite(self.pointwise.bend):
            return None
        return to_host(self.placed.gram()) * (self.pointwise.bend / self.n)

    def within(self, reach: float, dtype: Any = np.float64) -> "PlacedRisk":
        """Return the same loss for scores up to ``reach``, in the backend's precision."""
        if not isinstance(self.pointwise, Softplus):
            return self
        quicker = BoundedSoftplus.within(reach, self.placed.arrays.dtype)
        return replace(self, pointwise=quicker)

    def _value(self, theta: Any) -> Any:
        xp = self.placed.arrays.xp

        def piece(part: slice) -> tuple[Any]:
            return (self.pointwise.losses(xp, self._scores(theta, part)),)

        return self._mean(self.placed.total(piece, theta.shape[1])[0])

    def _value_and_gradient(self, theta: Any) -> tuple[Any, Any]:
        form: Any = self.pointwise  # a frozen dataclass, which its protocol does not say
        work = fused(self.placed.arrays, form)

        def piece(part: slice) -> tuple[Any, Any]:
            total, slopes = work(self._scores(theta, part))
            return total, slopes @ self.placed.rows[part, :]

        total, gradient = self.placed.total(piece, theta.shape[1])
        return self._mean(total), gradient.T / self.n

    def _mean(self, total: Any) -> Any:
        return (total - self.placed.padding * self.pointwise.at_zero) / self.n

    def _scores(self, theta: Any, part: slice) -> Any:
        """Scores (K, m) of a piece: rows last, because they are summed over."""
        scores = theta.T @ self.placed.rows[part, :].T
        return scores if self.offsets is None else scores + self.offsets[None, part]
