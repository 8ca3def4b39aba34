"""The clipped gradient of a network, over all rows or one batch after the other."""

import math
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from rashomon_explorer._utils.arrays import NUMPY, ArrayBackend, FloatArray
from rashomon_explorer.mechanisms.langevin.gradients.base import Gradient
from rashomon_explorer.problem.network import NetworkTarget


@dataclass(frozen=True)
class NetworkDrift:
    """Mean of per-record gradients that are each shortened to ``clip``."""

    target: NetworkTarget
    batch_size: int | None = None

    def __post_init__(self) -> None:
        """Refuse batches that cannot be cut."""
        if self.batch_size is not None and not 1 <= self.batch_size <= self.target.n:
            raise ValueError(
                f"batch_size must be from 1 to the number of rows, {self.target.n}, got "
                f"{self.batch_size!r}"
            )

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.target.p

    @property
    def arrays(self) -> ArrayBackend:
        """The host."""
        return NUMPY

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        return self.target.beta

    @property
    def diameter(self) -> float:
        """Diameter of the ball of networks."""
        return self.target.domain.diameter

    @property
    def largest_step(self) -> float:
        """Infinity: no smoothness is known, and none is needed for privacy."""
        return math.inf

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return self.target.n // (self.batch_size or self.target.n)

    def sensitivity(self, n_steps: int) -> float:
        """2·clip/b in the ⌈N/batches⌉ steps that a record is in, as a root mean square."""
        size = self.target.n // self.n_batches
        taken = math.ceil(n_steps / self.n_batches)
        return 2 * self.target.clip / size * math.sqrt(taken / n_steps)

    def contraction(self, step_size: float) -> float:
        """Refuse: the steps of a network do not contract."""
        raise ValueError('a network\'s last state has no certificate of its own: take shown="path"')

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest points of the ball."""
        return self.target.domain.project(theta)

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the clipped gradient over the next batch."""
        if self.n_batches == 1:
            return lambda theta: self.beta * self.target.gradient(theta)
        order = rng.permutation(self.target.n)
        batches = cycle(np.array_split(order, self.n_batches))
        return lambda theta: self.beta * self.target.gradient(theta, next(batches))

    def value(self, theta: FloatArray) -> FloatArray:
        """Losses over all rows (curator)."""
        return self.target.value(theta)
