"""What every gradient of a thresholded Gibbs law has in common."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class GibbsDrift:
    """The public side of a target that a path runs on; its gradient is the subclass's.

    Parameters
    ----------
    target : GibbsTarget
    """

    target: GibbsTarget

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.target.problem.p

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        return self.target.beta

    @property
    def diameter(self) -> float:
        """Diameter of the domain."""
        return self.target.problem.domain.diameter

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest points of the domain."""
        return self.target.problem.domain.project(theta)

    def value(self, theta: FloatArray) -> FloatArray:
        """Losses over all rows (curator)."""
        return self.target.problem.value(theta)
