"""The threshold of the papers, with a kink at the edge of the Rashomon set, and none at all."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import namespace


@dataclass(frozen=True)
class HardThreshold:
    """max(v, 0): the thresholded loss of Ganesh et al. (2023), with a kink at the edge.

    Examples
    --------
    >>> HardThreshold().energy(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    name: str = "hard"

    def energy(self, beyond: FloatArray) -> FloatArray:
        """max(v, 0)."""
        return np.maximum(beyond, 0.0)

    def slope(self, beyond: FloatArray) -> FloatArray:
        """1 outside, 0 inside and on the edge."""
        xp = namespace(beyond)
        steps: FloatArray = xp.where(beyond > 0, xp.ones_like(beyond), xp.zeros_like(beyond))
        return steps


@dataclass(frozen=True)
class NoThreshold:
    """v itself: what the hard threshold is at ψ = 0, smooth wherever the loss is.

    Examples
    --------
    >>> NoThreshold().energy(np.array([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    name: str = "hard"

    def energy(self, beyond: FloatArray) -> FloatArray:
        """Return max(v, 0), which is v but for the numerical minimum's error."""
        return np.maximum(beyond, 0.0)

    def slope(self, beyond: FloatArray) -> FloatArray:
        """1 everywhere: the minimum is not needed."""
        ones: FloatArray = namespace(beyond).ones_like(beyond)
        return ones
