"""The gradient over one batch of rows after the other."""

from dataclasses import dataclass
from itertools import cycle

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.sensitivity import batch_sensitivity, data_slope
from rashomon_explorer.samplers.drift.base import Gradient
from rashomon_explorer.samplers.drift.full import FullDrift
from rashomon_explorer.samplers.drift.gibbs import GibbsDrift
from rashomon_explorer.threshold import NoThreshold, SmoothThreshold


@dataclass(frozen=True)
class BatchDrift(GibbsDrift):
    """Gradient of φ(L_b(θ) − min L − ψ) for the mean loss L_b of one batch of rows.

    Batches are cut once, from an order of the rows that no row influences, and come in turn. A
    step costs a batch instead of all rows, and moves n/b times as far when a record of the batch
    is replaced: for the same certificate it takes (n/b)² times the passes, so that batches serve
    those who cannot wait for a pass, not those who save on privacy.

    Parameters
    ----------
    target : GibbsTarget
    batch_size : int
        Rows in a batch, at least; the batches are of almost equal size.

    Raises
    ------
    ValueError
        If ``batch_size`` is not between 1 and n.
    """

    batch_size: int

    def __post_init__(self) -> None:
        """Refuse batches that cannot be cut."""
        if not 1 <= self.batch_size <= self.target.problem.n:
            raise ValueError(
                f"batch_size must be from 1 to the number of rows, {self.target.problem.n}, got "
                f"{self.batch_size!r}"
            )

    @property
    def largest_step(self) -> float:
        """As over all rows: a batch's loss has the same smoothness."""
        return FullDrift(self.target).largest_step

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return self.target.problem.n // self.batch_size

    def sensitivity(self, n_steps: int) -> float:
        """Root mean square of :func:`batch_sensitivity`."""
        problem, shape = self.target.problem, self.target.shape
        return batch_sensitivity(
            problem.constants,
            self.target.psi,
            width=shape.width if isinstance(shape, SmoothThreshold) else 0.0,
            n_batches=self.n_batches,
            n_steps=n_steps,
            data_slope=data_slope(problem.constants, problem.domain),
        )

    def contraction(self, step_size: float) -> float:
        """As over all rows, at ψ = 0: every batch's loss is as smooth and as convex.

        Raises
        ------
        ValueError
            With a threshold: min L is in the gradients of all batches, so that a record moves steps
            of others too, which the last state's price does not count; and for a step that is not
            stable.
        """
        if not isinstance(self.target.shape, NoThreshold):
            raise ValueError(
                "the last state of a path of batches has a certificate at ψ = 0 only: min L reads "
                'the rows of all batches. Take ψ = 0, shown="path", or leave batch_size out'
            )
        return FullDrift(self.target).contraction(step_size)

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the gradient over the next batch, in a random order drawn here."""
        batches = cycle(self.target.problem.batches(self.n_batches, rng))
        shape = self.target.shape
        # Without a threshold the minimum is not needed, and no record moves it.
        plain = isinstance(shape, NoThreshold)
        edge = 0.0 if plain else self.target.problem.minimum.value + self.target.psi

        def gradient(theta: FloatArray) -> FloatArray:
            value, gradients = next(batches).value_and_gradient(theta)
            return gradients * (self.beta * shape.slope(value - edge))

        return gradient
