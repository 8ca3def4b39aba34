"""Gradients of batches and with Gaussian smoothing, and the choice of a path's gradient."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.langevin import batch_accounting
from rashomon_explorer.mechanisms.langevin.gradients import Drift, FullDrift, Gradient
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.thresholds import GaussianThreshold, NoThreshold, SmoothThreshold

IN_TURN, SAMPLED = "in_turn", "sampled"


@dataclass(frozen=True)
class BatchDrift(Drift):
    """Gradient of φ(L_b(θ) − min L − ψ) for the mean loss L_b of one batch of rows."""

    batch_size: int

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= self.target.problem.n:
            raise ValueError(
                f"batch_size must be from 1 to the number of rows, {self.target.problem.n}, got "
                f"{self.batch_size!r}"
            )

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return self.target.problem.n // self.batch_size

    @property
    def largest_step(self) -> float:
        """Largest step for all rows; a batch loss has the same smoothness."""
        return FullDrift(self.target).largest_step

    def sensitivity(self, n_steps: int) -> float:
        """Root mean square sensitivity, by :func:`batch_sensitivity`."""
        problem, shape = self.target.problem, self.target.shape
        return sensitivity.batch_sensitivity(
            problem.constants,
            self.target.psi,
            width=shape.width if isinstance(shape, SmoothThreshold) else 0.0,
            n_batches=self.n_batches,
            n_steps=n_steps,
            data_slope=sensitivity.data_slope(problem.constants, problem.domain),
        )

    def contraction(self, step_size: float) -> float:
        """Contraction for all rows, at ψ = 0; a batch loss is as smooth and as convex."""
        if not isinstance(self.target.shape, NoThreshold):
            raise ValueError(
                "the last state of a path of batches has a certificate at ψ = 0 only: min L reads "
                'the rows of all batches. Take ψ = 0, shown="path", or leave batch_size out'
            )
        return FullDrift(self.target).contraction(step_size)

    def last_state_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        """See :func:`last_batch_state_guarantee`."""
        return batch_accounting.last_batch_state_guarantee(
            n_batches=self.n_batches, n_steps=n_steps, **self._in_noise(step_size, n_chains)
        )

    def _in_noise(self, step_size: float, n_chains: int) -> dict[str, float]:
        """Shift and diameter of all chains together, in units of their noise, and contraction."""
        unit = math.sqrt(n_chains / (2 * step_size))
        return {
            "shift": step_size * self.beta * self.sensitivity(1) * unit,
            "diameter": self.diameter * unit,
            "contraction": self.contraction(step_size),
        }

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the gradient over the next batch, in a random order drawn here."""
        batches = cycle(self.target.problem.batches(self.n_batches, rng))
        shape = self.target.shape
        # Without a threshold the minimum is not needed, and no record changes it.
        plain = isinstance(shape, NoThreshold)
        edge = 0.0 if plain else self.target.problem.minimum.value + self.target.psi

        def gradient(theta: FloatArray) -> FloatArray:
            value, gradients = next(batches).value_and_gradient(theta)
            return gradients * (self.beta * shape.slope(value - edge))

        return gradient


@dataclass(frozen=True)
class SampledDrift(BatchDrift):
    """Gradient of the mean loss of a batch that is drawn anew in each step, at ψ = 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.target.shape, NoThreshold):
            raise ValueError(
                "batches drawn anew are accounted for at ψ = 0 only: min L reads all rows in every "
                'step, and no sampling hides a record there. Take ψ = 0 or batch_order="in_turn"'
            )

    def sensitivity(self, n_steps: int) -> float:
        """2L₀/b, in a step whose batch has the record."""
        return super().sensitivity(1)

    def path_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        """See :func:`sampled_path_guarantee`."""
        shift = self.sensitivity(1) * self.beta * math.sqrt(n_chains * step_size / 2)
        known = {"shift": shift, "rate": self.rate}
        return batch_accounting.sampled_path_guarantee(n_steps=n_steps, **known)

    def last_state_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        """See :func:`last_sampled_state_guarantee`."""
        return batch_accounting.last_sampled_state_guarantee(
            rate=self.rate, n_steps=n_steps, **self._in_noise(step_size, n_chains)
        )

    @property
    def rate(self) -> float:
        """Share of the rows in a batch."""
        return self.batch_size / self.target.problem.n

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the gradient over a batch that ``rng`` draws anew in every call."""
        problem = self.target.problem

        def gradient(theta: FloatArray) -> FloatArray:
            rows = rng.choice(problem.n, self.batch_size, replace=False, shuffle=False)
            mean = MinimisedObjective(problem.data.objective(problem.loss, rows), problem.ridge)
            return self.beta * mean.value_and_gradient(theta)[1]

        return gradient


_MEAN_DEVIATION = (2 / np.pi) ** 0.5  # E|ξ| of a standard normal


@dataclass(frozen=True)
class GaussianDrift(Drift):
    """Mean, over a few points θ + λξ, of the hard-thresholded gradient there.

    An unbiased gradient of E[max{L(θ + λξ), min L + ψ}] (Theorem 3.2 of Ganesh, Thakurta and
    Upadhyay, 2023). The points are noise that does not depend on records. Given the points, one
    record changes the mean by at most as much as one thresholded gradient: the sensitivity is that
    of the hard threshold, on all of ℝᵖ because the points leave the domain.
    """

    def __post_init__(self) -> None:
        problem = self.target.problem
        if not problem.loss.globally_lipschitz or problem.ridge > 0:
            raise ValueError(
                "the Gaussian threshold evaluates the loss outside the domain, where only a loss "
                "that is Lipschitz everywhere, without a ridge, has a bounded gradient: use "
                'threshold="smooth"'
            )
        if self._threshold.scale is None and not (np.isfinite(problem.M) and self.target.psi > 0):
            raise ValueError(
                "scale must be given for a loss with kinks and for ψ = 0: the default is √(ψ/(Mp))"
            )

    @property
    def scale(self) -> float:
        """λ: the scale of the threshold, or √(ψ/(Mp))."""
        if self._threshold.scale is not None:
            return self._threshold.scale
        return float(np.sqrt(self.target.psi / (self.target.problem.M * self.p)))

    @property
    def largest_step(self) -> float:
        """2λ/(β·√(2/π)·L): an averaged gradient of norm at most L has slope at most E|ξ|·L/λ."""
        return 2 * self.scale / (self.beta * _MEAN_DEVIATION * self._lipschitz)

    def sensitivity(self, n_steps: int) -> float:
        """L on all of ℝᵖ, or 2L/n at ψ = 0."""
        problem = self.target.problem
        if self.target.psi == 0:
            return 2 * self._lipschitz / problem.n
        within = sensitivity.gradient_sensitivity(problem.constants, self.target.psi, width=0.0)
        return max(within, self._lipschitz)

    def contraction(self, step_size: float) -> float:
        """Raise, because a Monte Carlo gradient has jumps."""
        raise ValueError(
            "the Gaussian threshold's Monte Carlo gradient has jumps, so steps do not contract: "
            'use threshold="smooth" or shown="path"'
        )

    def run(self, rng: np.random.Generator) -> Gradient:
        """Return the gradient at points drawn from ``rng``."""
        count, scale = self._threshold.n_samples, self.scale

        def gradient(theta: FloatArray) -> FloatArray:
            p, chains = theta.shape
            points = theta[:, None, :] + scale * rng.standard_normal((p, count, chains))
            value, gradients = self.target.problem.value_and_gradient(
                points.reshape(p, count * chains)
            )
            masked = np.where(value > self._edge, gradients, 0.0)
            mean: FloatArray = masked.reshape(p, count, chains).mean(axis=1)
            return self.beta * mean

        return gradient

    @cached_property
    def _edge(self) -> float:
        # At ψ = 0 there is no threshold, and the minimum must not be read.
        psi = self.target.psi
        return self.target.problem.minimum.value + psi if psi > 0 else -np.inf

    @property
    def _threshold(self) -> GaussianThreshold:
        assert isinstance(self.target.shape, GaussianThreshold)
        return self.target.shape

    @property
    def _lipschitz(self) -> float:
        problem = self.target.problem
        return problem.loss.lipschitz(np.inf, problem.row_bound)


def drift_for(
    target: GibbsTarget,
    *,
    batch_size: int | None,
    precision: str,
    lazy: bool,
    batch_order: str = IN_TURN,
) -> Drift:
    """Return the gradient that a path to ``target`` follows; ValueError if there is none."""
    smoothed = isinstance(target.shape, GaussianThreshold)
    batches = "batches" if batch_size is not None else ""
    what = "the Gaussian threshold" if smoothed else batches
    if smoothed and batch_size is not None:
        raise ValueError("the Gaussian threshold needs all rows: leave batch_size out")
    if what and precision != "double":
        raise ValueError(
            f'rounding in single precision is not accounted for with {what}: use precision="double"'
        )
    if smoothed:
        return GaussianDrift(target)
    if batch_size is None:
        return FullDrift(target, precision, lazy)
    return (SampledDrift if batch_order == SAMPLED else BatchDrift)(target, batch_size)
