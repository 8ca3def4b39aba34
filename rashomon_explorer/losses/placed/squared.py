"""Squared loss from sufficient statistics that were summed up on a device, and stay there."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import ArrayBackend
from rashomon_explorer.losses.placed.risk import answered
from rashomon_explorer.losses.squared import SquaredRisk


@dataclass(frozen=True)
class PlacedSquared:
    """Mean squared loss of models on a device or on the host.

    Parameters
    ----------
    arrays : ArrayBackend
    known : SquaredRisk
        Statistics on the host.
    gram, moment : array of shape (p, p) and (p, 1)
        The same on the device.
    """

    arrays: ArrayBackend
    known: SquaredRisk
    gram: Any
    moment: Any

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.known.n

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.known.p

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        value, gradient = answered(self.arrays, self._value_and_gradient, theta)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p): the Gram matrix, whatever ``theta``."""
        return self.known.gram

    def curvature_bound(self) -> FloatArray:
        """Return the Gram matrix, which is every Hessian."""
        return self.known.gram

    def within(self, reach: float, dtype: Any = np.float64) -> "PlacedSquared":
        """Return the loss itself."""
        return self

    def _value_and_gradient(self, theta: Any) -> tuple[Any, Any]:
        gradient = self.gram @ theta - self.moment
        both = self.arrays.xp.sum(theta * (gradient - self.moment), axis=0)
        return 0.5 * (both + self.known.energy), gradient
