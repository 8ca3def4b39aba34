"""Projected Langevin chains: noisy gradient steps towards a thresholded Gibbs law."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.domains import Ball
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.path import (
    affordable_time,
    gradient_sensitivity,
    path_guarantee,
)
from rashomon_explorer.samplers.base import Batch
from rashomon_explorer.target import GibbsTarget
from rashomon_explorer.threshold import SmoothThreshold

FloatArray = NDArray[np.float64]

_SECONDS_BETWEEN_RESTS = 5e-3


@dataclass(frozen=True)
class LangevinSampler:
    """Batched chains θ ← Π(θ − hβ∇energy(θ) + √(2h) ξ) from a start that no row has touched.

    The Euler scheme of the projected Langevin diffusion, equation (2) of Ganesh, Thakurta and
    Upadhyay (2023). Its iterates only approach the target's law; its *privacy* is exact and is
    that of the path: every state of every chain may be shown, and the chains may be stopped at
    any time, for the price of ``certificate``.

    Parameters
    ----------
    step_size : float
        h, the time of one step.
    n_steps : int
        Steps of each chain.
    n_chains : int, default=64
    thin : int, default=1
        Steps between two batches.

    Raises
    ------
    ValueError
        If a setting is out of range.

    Examples
    --------
    >>> from rashomon_explorer.problem import Problem
    >>> problem = Problem([[0.5], [-0.5]], [1, -1])
    >>> target = GibbsTarget(problem, beta=20.0, psi=0.1, threshold="smooth")
    >>> sampler = LangevinSampler(step_size=1e-3, n_steps=50, n_chains=8, thin=25)
    >>> [batch.theta.shape for batch in sampler.batches(target, np.random.default_rng(0))]
    [(2, 8), (2, 8)]
    """

    step_size: float
    n_steps: int
    n_chains: int = 64
    thin: int = 1
    name: str = "langevin"

    def __post_init__(self) -> None:
        """Refuse settings that make no chain."""
        if not (np.isfinite(self.step_size) and self.step_size > 0):
            raise ValueError(f"step_size must be finite and > 0, got {self.step_size!r}")
        for name in ("n_steps", "n_chains", "thin"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}")

    @classmethod
    def for_budget(
        cls,
        target: GibbsTarget,
        *,
        epsilon: float,
        delta: float,
        n_chains: int = 1,
        pace: float = 0.5,
    ) -> "LangevinSampler":
        """Longest chains that a budget pays for; reads no row.

        Parameters
        ----------
        target : GibbsTarget
            Only its public constants are used.
        epsilon, delta : float
            Total price of all iterates of all chains, δ > 0.
        n_chains : int, default=1
        pace : float, default=0.5
            Step size as a share of the largest stable one.

        Returns
        -------
        LangevinSampler

        Raises
        ------
        ValueError
            If a number is out of range, or the budget does not pay for a single step.
        """
        if not 0 < pace <= 1:
            raise ValueError(f"pace must be in (0, 1], got {pace!r}")
        longest = affordable_time(
            epsilon=epsilon,
            delta=delta,
            beta=target.beta,
            sensitivity=_sensitivity(target),
            n_chains=n_chains,
        )
        step_size = pace * _largest_step(target)
        n_steps = int(longest / step_size)
        if n_steps < 1:
            raise ValueError(
                f"ε={epsilon:g} at δ={delta:g} pays for a time of {longest:.3g}, less than one "
                f"step of {step_size:.3g}: lower beta, widen the threshold, or take fewer chains"
            )
        return cls(step_size=step_size, n_steps=n_steps, n_chains=n_chains, thin=n_steps)

    def certificate(self, target: GibbsTarget) -> Guarantee:
        """Privacy of all iterates of all chains together, for the steps that run."""
        return path_guarantee(
            beta=target.beta,
            sensitivity=_sensitivity(target),
            step_size=self.step_size,
            n_steps=self.n_steps,
            n_chains=self.n_chains,
        )

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """States of the chains, every ``thin`` steps and the last; ends after ``n_steps``.

        Raises
        ------
        ValueError
            If the step is too large for the chain to be stable.
        """
        for step, theta in enumerate(self.states(target, rng), start=1):
            if step % self.thin == 0 or step == self.n_steps:
                losses = target.problem.value(theta)
                yield Batch(theta, losses, evaluated=(self.thin + 1) * self.n_chains)

    def states(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[FloatArray]:
        """States (p, n_chains) after each step, ``n_steps`` of them.

        Raises
        ------
        ValueError
            If the step is too large for the chain to be stable.
        """
        self._check_stable(target)
        project = target.problem.domain.project
        theta = np.zeros((target.problem.p, self.n_chains))
        spread = np.sqrt(2 * self.step_size)
        rested = time.perf_counter()
        for _ in range(self.n_steps):
            drift = self.step_size * target.gradient(theta)
            theta = project(theta - drift + spread * rng.standard_normal(theta.shape))
            yield theta
            # Gives up the GIL, or a dashboard's event loop starves; once a step would cost a
            # third of a small step.
            if time.perf_counter() - rested > _SECONDS_BETWEEN_RESTS:
                time.sleep(0)
                rested = time.perf_counter()

    def average(
        self, target: GibbsTarget, rng: np.random.Generator, *, strong_convexity: float = 0.0
    ) -> FloatArray:
        """Weighted time average of each chain, a model each: shape (p, n_chains).

        Weights are ∝ exp(mβt). With m = 0 it is the plain average, for which the expected excess
        of an unthresholded convex loss is at most p/β + ‖θ₀ − θ*‖²/(2βT) + hβL²/2; with m the
        strong convexity, early states are forgotten exponentially fast (own derivation after
        Theorems F.1 and F.2 of the finite-time analysis, whose printed schedules do not work).
        It is computed from the path, so that ``certificate`` covers it.

        Parameters
        ----------
        target : GibbsTarget
        rng : numpy.random.Generator
        strong_convexity : float, default=0.0
            m ≥ 0.

        Returns
        -------
        ndarray of shape (p, n_chains)

        Raises
        ------
        ValueError
            If ``strong_convexity`` is negative or the step too large.
        """
        if not (np.isfinite(strong_convexity) and strong_convexity >= 0):
            raise ValueError(f"strong_convexity must be finite and >= 0, got {strong_convexity!r}")
        fade = np.exp(-strong_convexity * target.beta * self.step_size)
        mean = np.zeros((target.problem.p, self.n_chains))
        share = np.inf  # the newest state's share of all weights so far
        for theta in self.states(target, rng):
            share = 1 / (1 + fade / share)
            mean = mean + share * (theta - mean)
        return mean

    def _check_stable(self, target: GibbsTarget) -> None:
        largest = _largest_step(target)
        if self.step_size > largest:
            raise ValueError(
                f"step_size {self.step_size:.3g} is too large for the path to be stable: use at "
                f"most 2/(β·smoothness) = {largest:.3g}, or a wider threshold or smaller β"
            )


def _largest_step(target: GibbsTarget) -> float:
    """2/(βM'), with M' = M + L²/s the smoothness of the energy."""
    width = _width(target)
    smoothness = target.problem.M + (target.problem.L**2 / width if width else 0.0)
    return 2 / (target.beta * smoothness)


def _width(target: GibbsTarget) -> float:
    return target.shape.width if isinstance(target.shape, SmoothThreshold) else 0.0


def _sensitivity(target: GibbsTarget) -> float:
    problem = target.problem
    return gradient_sensitivity(
        problem.constants, target.psi, width=_width(target), interior=_minimiser_inside(target)
    )


def _minimiser_inside(target: GibbsTarget) -> bool:
    """Whether every data set has its global minimiser in the ball.

    With ridge·R ≥ the Lipschitz constant of the data part the loss rises along every ray where it
    leaves the ball, and by convexity beyond.
    """
    problem = target.problem
    if not isinstance(problem.domain, Ball):
        return False
    pull = problem.ridge * problem.domain.radius
    return pull > 0 and pull >= problem.L - pull
