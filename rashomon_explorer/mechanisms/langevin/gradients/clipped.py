"""Gradient of a loss whose slope is clipped."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rashomon_explorer._utils.arrays import NUMPY, ArrayBackend, FloatArray
from rashomon_explorer.mechanisms.certificates.sensitivity import (
    data_slope,
)
from rashomon_explorer.mechanisms.langevin.gradients.base import GibbsDrift
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.chunked import ChunkedRisk
from rashomon_explorer.problem.losses.clipped_gradient import ClippedPullRisk, clipped


@dataclass(frozen=True)
class ClippedDrift(GibbsDrift):
    """Gradient of the target's loss with its slope clipped, at ψ = 0."""

    most: float

    @cached_property
    def followed(self) -> Loss:
        """Loss whose gradient it is."""
        found = clipped(self.target.problem.loss, self.most)
        if found is None:
            raise ValueError(f"{self.target.problem.loss.name} loss has no form with clipped slope")
        return found

    @cached_property
    def constants(self) -> Constants:
        """Public constants of that loss."""
        problem = self.target.problem
        return Constants.of(
            self.followed,
            n=problem.n,
            p=problem.p,
            domain=problem.domain,
            row_bound=problem.row_bound,
            ridge=problem.ridge,
        )

    @property
    def arrays(self) -> ArrayBackend:
        """The host: a clipped loss has no other form."""
        return NUMPY

    @property
    def largest_step(self) -> float:
        """2/(βM)."""
        return 2 / (self.beta * self.constants.M)

    def sensitivity(self, n_steps: int) -> float:
        """2·most·B/n, the same in every step."""
        return data_slope(self.constants, self.target.problem.domain)

    def contraction(self, step_size: float) -> float:
        """max{|1 − hβm|, |1 − hβM|}."""
        pace = step_size * self.beta
        return max(abs(1 - pace * self.constants.m), abs(1 - pace * self.constants.M))

    def run(self, rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
        """Return the gradient; it remembers nothing."""
        problem = self.target.problem
        risk = problem.of_loss(self.followed)
        assert isinstance(risk, ClippedPullRisk | ChunkedRisk)
        return lambda theta: self.beta * (risk.gradient(theta) + problem.ridge * theta)
