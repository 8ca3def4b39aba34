"""Gradients that noisy paths follow, each with the public constants of its certificate."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms import noisy_descent
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.langevin import batch_accounting
from rashomon_explorer.mechanisms.noisy_descent import Map
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem import thresholds
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss, chunked, clipped, scores
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class Drift:
    """Gradient on a target that reads rows, with the public constants of its certificate."""

    target: GibbsTarget

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        return self.target.beta

    @property
    def diameter(self) -> float:
        """Diameter of the domain."""
        return self.target.problem.domain.diameter

    @property
    def largest_step(self) -> float:
        """Largest step at which the noiseless path is stable; infinite if none is known."""
        raise NotImplementedError

    def sensitivity(self, n_steps: int) -> float:
        """Root mean square, over ``n_steps`` steps, of the change of gradient/β by a record."""
        raise NotImplementedError

    def contraction(self, step_size: float) -> float:
        """Factor c ≤ 1 by which a noiseless step contracts the distance of any two models."""
        raise NotImplementedError

    def path_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        """Guarantee of all states of chains of these steps."""
        return noisy_descent.path_guarantee(
            beta=self.beta,
            sensitivity=self.sensitivity(max(n_steps, 1)),
            step_size=step_size,
            n_steps=n_steps,
            n_chains=n_chains,
        )

    def last_state_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        """Guarantee of the last states only; ValueError if there is none."""
        return noisy_descent.last_iterate_guarantee(
            beta=self.beta,
            sensitivity=self.sensitivity(n_steps),
            step_size=step_size,
            n_steps=n_steps,
            n_chains=n_chains,
            contraction=self.contraction(step_size),
            diameter=self.diameter,
        )

    def run(self, rng: np.random.Generator) -> Map:
        """Gradient for one run; ``rng`` is for noise that does not depend on records."""
        raise NotImplementedError


def minimiser_inside(problem: Problem) -> bool:
    """Whether the global minimiser is in the ball for every data set."""
    if not isinstance(problem.domain, Ball):
        return False
    pull = problem.ridge * problem.domain.radius
    return pull > 0 and pull >= problem.L - pull


@dataclass(frozen=True)
class FullDrift(Drift):
    """Gradient of a hard or smooth thresholded loss over all rows."""

    @property
    def largest_step(self) -> float:
        """2/(βM'), with M' = M + L²/s the smoothness of the energy, and M for the hard one."""
        if not np.isfinite(self.target.problem.M):
            return np.inf
        bend = self.target.problem.L**2 / self.width if self.width else 0.0
        return 2 / (self.beta * (self.target.problem.M + bend))

    def sensitivity(self, n_steps: int) -> float:
        """Δ of :func:`gradient_sensitivity`, the same in every step."""
        problem = self.target.problem
        return sensitivity.gradient_sensitivity(
            problem.constants,
            self.target.psi,
            width=self.width,
            interior=minimiser_inside(problem),
            data_slope=sensitivity.data_slope(problem.constants, problem.domain),
        )

    def contraction(self, step_size: float) -> float:
        """1 for the smooth threshold, max{|1 − hβm|, |1 − hβM|} without one."""
        if isinstance(self.target.shape, thresholds.HardThreshold) or not np.isfinite(
            self.target.problem.M
        ):
            raise ValueError(
                "a hard threshold or a loss with kinks has no continuous gradient, so that steps "
                'do not contract: use threshold="smooth" and a smooth loss, ψ = 0, or shown="path"'
            )
        if step_size > self.largest_step:
            raise ValueError(f"step_size must be at most {self.largest_step:.3g}, got {step_size}")
        if isinstance(self.target.shape, thresholds.NoThreshold):
            problem, pace = self.target.problem, step_size * self.beta
            return max(abs(1 - pace * problem.m), abs(1 - pace * problem.M))
        return 1.0

    def run(self, rng: np.random.Generator) -> Map:
        objective, beta = self.target.problem.evaluator(), self.beta
        if isinstance(self.target.shape, thresholds.NoThreshold):
            return lambda theta: beta * objective.gradient(theta)
        edge = self.target.problem.minimum.value + self.target.psi

        def gradient(theta: FloatArray) -> FloatArray:
            value, slope = objective.value_and_gradient(theta)
            return slope * (beta * self.target.shape.slope(value - edge))

        return gradient

    @property
    def width(self) -> float:
        """Width of a smooth threshold, otherwise 0."""
        shape = self.target.shape
        return shape.width if isinstance(shape, thresholds.SmoothThreshold) else 0.0


@dataclass(frozen=True)
class ClippedDrift(Drift):
    """Gradient of the target's loss with clipped slopes, at ψ = 0."""

    most: float

    @cached_property
    def followed(self) -> Loss:
        """Loss with clipped slopes, whose gradient it is."""
        surrogate = clipped(self.target.problem.loss, self.most)
        if surrogate is None:
            raise ValueError(f"{self.target.problem.loss.name} loss has no form with clipped slope")
        return surrogate

    @cached_property
    def constants(self) -> Constants:
        """Public constants of the clipped loss."""
        problem = self.target.problem
        return Constants.from_loss(
            self.followed,
            n=problem.n,
            p=problem.p,
            domain=problem.domain,
            row_bound=problem.row_bound,
            ridge=problem.ridge,
        )

    @property
    def largest_step(self) -> float:
        return 2 / (self.beta * self.constants.M)

    def sensitivity(self, n_steps: int) -> float:
        """2·most·B/n, the same in every step."""
        return sensitivity.data_slope(self.constants, self.target.problem.domain)

    def contraction(self, step_size: float) -> float:
        """max{|1 − hβm|, |1 − hβM|}."""
        pace = step_size * self.beta
        return max(abs(1 - pace * self.constants.m), abs(1 - pace * self.constants.M))

    def run(self, rng: np.random.Generator) -> Map:
        problem = self.target.problem
        risk = problem.mean_loss(self.followed)
        assert isinstance(risk, scores.ScoreRisk | chunked.ChunkedRisk)
        return lambda theta: self.beta * (risk.gradient(theta) + problem.ridge * theta)


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
        problem = self.target.problem
        return sensitivity.batch_sensitivity(
            problem.constants,
            self.target.psi,
            width=FullDrift(self.target).width,
            n_batches=self.n_batches,
            n_steps=n_steps,
            data_slope=sensitivity.data_slope(problem.constants, problem.domain),
        )

    def contraction(self, step_size: float) -> float:
        """Contraction for all rows, at ψ = 0; a batch loss is as smooth and as convex."""
        if not isinstance(self.target.shape, thresholds.NoThreshold):
            raise ValueError(
                "the last state of a path of batches has a certificate at ψ = 0 only: min L reads "
                'the rows of all batches. Take ψ = 0, shown="path", or leave batch_size out'
            )
        return FullDrift(self.target).contraction(step_size)

    def last_state_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
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

    def run(self, rng: np.random.Generator) -> Map:
        """Return the gradient over the next batch, in a random order drawn here."""
        batches = cycle(self.target.problem.batches(self.n_batches, rng))
        shape = self.target.shape
        # Without a threshold the minimum is not needed, and no record changes it.
        plain = isinstance(shape, thresholds.NoThreshold)
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
        if not isinstance(self.target.shape, thresholds.NoThreshold):
            raise ValueError(
                "batches drawn anew are accounted for at ψ = 0 only: min L reads all rows in every "
                'step, and no sampling hides a record there. Take ψ = 0 or batch_order="in_turn"'
            )

    def sensitivity(self, n_steps: int) -> float:
        """2L₀/b, in a step whose batch has the record."""
        return super().sensitivity(1)

    def path_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        shift = self.sensitivity(1) * self.beta * math.sqrt(n_chains * step_size / 2)
        sampling = {"shift": shift, "rate": self.rate}
        return batch_accounting.sampled_path_guarantee(n_steps=n_steps, **sampling)

    def last_state_guarantee(self, step_size: float, n_steps: int, n_chains: int) -> Guarantee:
        return batch_accounting.last_sampled_state_guarantee(
            rate=self.rate, n_steps=n_steps, **self._in_noise(step_size, n_chains)
        )

    @property
    def rate(self) -> float:
        """Share of the rows in a batch."""
        return self.batch_size / self.target.problem.n

    def run(self, rng: np.random.Generator) -> Map:
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
    """Mean of hard-thresholded gradients at points θ + λξ (Theorem 3.2 of Ganesh et al. 2023)."""

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
        return float(np.sqrt(self.target.psi / (self.target.problem.M * self.target.problem.p)))

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

    def run(self, rng: np.random.Generator) -> Map:
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
    def _threshold(self) -> thresholds.GaussianThreshold:
        assert isinstance(self.target.shape, thresholds.GaussianThreshold)
        return self.target.shape

    @property
    def _lipschitz(self) -> float:
        problem = self.target.problem
        return problem.loss.lipschitz(np.inf, problem.row_bound)


def drift_for(
    target: GibbsTarget, batch_size: int | None = None, batch_order: str = IN_TURN
) -> Drift:
    """Return the gradient that a path to ``target`` follows; ValueError if there is none."""
    if isinstance(target.shape, thresholds.GaussianThreshold):
        if batch_size is not None:
            raise ValueError("the Gaussian threshold needs all rows: leave batch_size out")
        return GaussianDrift(target)
    if batch_size is None:
        return FullDrift(target)
    return (SampledDrift if batch_order == SAMPLED else BatchDrift)(target, batch_size)
