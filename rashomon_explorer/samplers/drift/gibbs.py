"""What every gradient of a thresholded Gibbs law has in common."""

from dataclasses import dataclass

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import ArrayBackend, is_foreign, to_host
from rashomon_explorer.domains import Ball
from rashomon_explorer.target import GibbsTarget


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
    def arrays(self) -> ArrayBackend:
        """Where states and gradients are: with the rows."""
        return self.target.problem.arrays

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        return self.target.beta

    @property
    def diameter(self) -> float:
        """Diameter of the domain."""
        return self.target.problem.domain.diameter

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest points of the domain, of any but the ball by way of the host."""
        domain = self.target.problem.domain
        if is_foreign(theta) and not isinstance(domain, Ball):
            nearest: FloatArray = self.arrays.put(domain.project(to_host(theta)))
            return nearest
        return domain.project(theta)

    def value(self, theta: FloatArray) -> FloatArray:
        """Losses over all rows (curator)."""
        return self.target.problem.value(theta)
