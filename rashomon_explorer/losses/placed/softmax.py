"""Cross-entropy of several classes over rows on a device."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import to_host
from rashomon_explorer.losses.placed.risk import answered
from rashomon_explorer.losses.placed.rows import PlacedRows


@dataclass(frozen=True)
class PlacedSoftmax:
    """Mean cross-entropy of rows that stand on a device, class 0 the reference.

    Parameters
    ----------
    placed : PlacedRows
        Rows of d entries.
    own : array of shape (C − 1, n_filled)
        1 where the row is of class c = 1, …, C − 1, else 0.
    """

    placed: PlacedRows
    own: Any

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.placed.n

    @property
    def p(self) -> int:
        """Number of parameters, (C − 1)·d."""
        return self._classes * self.placed.p

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        value, gradient = answered(self.placed.arrays, self._value_and_gradient, theta)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,)."""
        models, rows = self.placed.arrays.put(theta[:, None]), self.placed.rows
        xp = self.placed.arrays.xp

        def piece(part: slice) -> tuple[Any]:
            share = self._shares(models, part)[0][:, 0, :]
            here = rows[part, :]
            blocks = [
                xp.concat([here.T @ (here * w[:, None]) for w in self._bends(share, a)], axis=1)
                for a in range(self._classes)
            ]
            return (xp.concat(blocks, axis=0),)

        return to_host(self.placed.total(piece, self.p)[0]) / self.n

    def curvature_bound(self) -> FloatArray:
        """Gram matrix/2 for each class (p, p), /4 for two classes."""
        gram = to_host(self.placed.gram()) / ((4 if self._classes == 1 else 2) * self.n)
        return np.asarray(np.kron(np.eye(self._classes), gram), dtype=np.float64)

    def within(self, reach: float, dtype: Any = np.float64) -> "PlacedSoftmax":
        """Return the loss itself: no rounding depends on ``reach``."""
        return self

    @property
    def _classes(self) -> int:
        """Classes but the reference."""
        return int(self.own.shape[0])

    def _value_and_gradient(self, theta: Any) -> tuple[Any, Any]:
        xp, count = self.placed.arrays.xp, theta.shape[1]

        def piece(part: slice) -> tuple[Any, Any]:
            share, log_total, scores = self._shares(theta, part)
            own = self.own[:, None, part]
            total = xp.sum(log_total - xp.sum(own * scores, axis=0), axis=-1)
            residual = xp.reshape(share - own, (self._classes * count, -1))
            return total, residual @ self.placed.rows[part, :]

        total, gradient = self.placed.total(piece, count * self._classes)
        value = (total - self.placed.padding * math.log(self._classes + 1)) / self.n
        by_class = xp.reshape(gradient, (self._classes, count, self.placed.p))
        gradient = xp.reshape(xp.permute_dims(by_class, (0, 2, 1)), (self.p, count))
        return value, gradient / self.n

    def _shares(self, theta: Any, part: slice) -> tuple[Any, Any, Any]:
        """π (C − 1, K, m), log Σ_c exp(score) (K, m) and the scores of a piece of m rows."""
        xp, d = self.placed.arrays.xp, self.placed.p
        models = xp.permute_dims(xp.reshape(theta, (self._classes, d, -1)), (0, 2, 1))
        flat = xp.reshape(models, (-1, d)) @ self.placed.rows[part, :].T
        scores = xp.reshape(flat, (self._classes, theta.shape[1], -1))
        highest = xp.max(scores, axis=0)
        top = xp.maximum(highest, xp.zeros_like(highest))  # the reference's score is 0
        parts = xp.exp(scores - top)
        total = xp.exp(-top) + xp.sum(parts, axis=0)
        return parts / total, top + xp.log(total), scores

    def _bends(self, share: Any, a: int) -> list[Any]:
        """Entries of row a of diag π − ππᵀ, one (m,) for each class."""
        return [
            share[a, :] * ((1.0 if a == b else 0.0) - share[b, :]) for b in range(self._classes)
        ]
