"""What a noisy gradient path needs: a gradient, and what is publicly known of it."""

from typing import Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import ArrayBackend


class Gradient(Protocol):
    """The gradient of β·energy along one run; it may remember earlier steps."""

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Gradient (p, K) at the states (p, K) of the K chains; called once a step."""
        ...


class Drift(Protocol):
    """A gradient that reads rows, and the public constants that its certificate is made of.

    Nothing but ``run`` and ``value`` reads a row.
    """

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
        """Factor c ≤ 1 by which a noiseless step brings any two models closer.

        Raises
        ------
        ValueError
            If no such factor is known; the message says what to change.
        """
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
