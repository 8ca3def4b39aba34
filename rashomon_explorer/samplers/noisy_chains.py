"""Chains of noisy gradient steps under a drift: their states, and their time averages."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import to_host
from rashomon_explorer.cores import pause
from rashomon_explorer.progress import progress
from rashomon_explorer.samplers.drift import Drift

_SECONDS_BETWEEN_RESTS = 5e-3


@dataclass(frozen=True, kw_only=True)
class NoisyChains:
    """Steps θ ← Π(θ − h·gradient(θ) + √(2h) ξ) side by side; what they cost is not known here."""

    drift: Drift  # what the steps follow, and the domain Π projects onto
    step_size: float  # h
    n_steps: int
    n_chains: int
    burn_in: int
    start: tuple[float, ...] | None  # model (p,) at which every chain begins, 0 by default

    def states(
        self, rng: np.random.Generator, first: FloatArray | None = None
    ) -> Iterator[FloatArray]:
        """States (p, n_chains) after each step, from ``first`` or from the start.

        They are where the drift's ``arrays`` are.
        """
        self._check_stable()
        if first is None:
            first = self._beginning()
        theta = self.drift.arrays.put(np.array(to_host(first), dtype=float))
        if tuple(theta.shape) != (self.drift.p, self.n_chains):
            raise ValueError(
                f"first must hold one state a chain, shape ({self.drift.p}, {self.n_chains}), got "
                f"{tuple(theta.shape)}"
            )
        return self._steps(self.drift.project(theta), rng)

    def averages(self, rng: np.random.Generator, fade: float) -> Iterator[FloatArray]:
        """Weighted averages (p, n_chains) after each step; a step earlier weighs ``fade`` as much.

        Of the states that a gradient was taken at: the start counts, the last state does not.
        During the burn-in they are 0.
        """
        here = self.drift.arrays.put(self._beginning())
        mean = 0 * here
        share = np.inf  # of all weights so far, the newest state's
        for step, theta in enumerate(self.states(rng)):
            if step >= self.burn_in:
                share = 1 / (1 + fade / share)
                mean = mean + share * (here - mean)
            here = theta
            yield mean

    def _steps(self, theta: FloatArray, rng: np.random.Generator) -> Iterator[FloatArray]:
        gradient, arrays, shape = self.drift.run(rng), self.drift.arrays, tuple(theta.shape)
        spread = np.sqrt(2 * self.step_size)
        rested = time.perf_counter()
        for _ in progress(range(self.n_steps), "steps"):
            # Drawn before the gradient is asked for: a device is still at the step before.
            noise = arrays.put(spread * rng.standard_normal(shape))
            theta = self.drift.project(theta + (noise - self.step_size * gradient(theta)))
            yield theta
            # Gives up the GIL, or a dashboard's event loop starves; once a step would cost a
            # third of a small step.
            if time.perf_counter() - rested > _SECONDS_BETWEEN_RESTS:
                pause()
                rested = time.perf_counter()

    def _beginning(self) -> FloatArray:
        start = np.zeros(self.drift.p) if self.start is None else np.array(self.start)
        if start.shape != (self.drift.p,):
            raise ValueError(f"start must hold {self.drift.p} parameters, got {len(start)}")
        return np.repeat(self.drift.project(start[:, None]), self.n_chains, axis=1)

    def _check_stable(self) -> None:
        largest = self.drift.largest_step
        if self.step_size > largest:
            raise ValueError(
                f"step_size {self.step_size:.3g} is too large for the path to be stable: use at "
                f"most 2/(β·smoothness) = {largest:.3g}, or a wider threshold or smaller β"
            )
