"""Gradients that a path follows."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rashomon_explorer._utils.arrays import ArrayBackend, FloatArray, is_foreign, to_host
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem


class Gradient(Protocol):
    """The gradient of β·energy along one run; it may remember earlier steps."""

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) at the states (p, K) of the K chains; called once a step."""
        ...


class Drift(Protocol):
    """A gradient that reads rows, and the public constants that its certificate is made of."""

    @property
    def p(self) -> int:
        """Number of parameters."""
        ...

    @property
    def arrays(self) -> ArrayBackend:
        """Where states and gradients are."""
        ...

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        ...

    @property
    def diameter(self) -> float:
        """Diameter of the domain."""
        ...

    @property
    def largest_step(self) -> float:
        """Largest step at which the noiseless path is stable; infinite if none is known."""
        ...

    def sensitivity(self, n_steps: int) -> float:
        """Root mean square, over ``n_steps`` steps, of how far a record moves gradient/β."""
        ...

    def contraction(self, step_size: float) -> float:
        """Factor c ≤ 1 by which a noiseless step brings any two models closer."""
        ...

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest points of the domain to the columns of ``theta`` (p, K)."""
        ...

    def run(self, rng: np.random.Generator) -> Gradient:
        """Gradient for one run; ``rng`` is for noise that no record influences."""
        ...

    def value(self, theta: FloatArray) -> FloatArray:
        """Loss (K,) of each column of ``theta`` (p, K) (curator)."""
        ...


@dataclass(frozen=True)
class GibbsDrift:
    """The public side of a target that a path runs on; its gradient is the subclass's."""

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


@dataclass(frozen=True)
class DriftInBatches(GibbsDrift):
    """A target whose gradient is taken over one batch of rows after the other."""

    batch_size: int

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return self.target.problem.n // self.batch_size


def minimiser_inside(problem: Problem) -> bool:
    """Whether every data set has its global minimiser in the ball."""
    if not isinstance(problem.domain, Ball):
        return False
    pull = problem.ridge * problem.domain.radius
    return pull > 0 and pull >= problem.L - pull
