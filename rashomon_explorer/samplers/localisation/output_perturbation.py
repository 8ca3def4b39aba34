"""Output perturbation, then the exponential mechanism near the noisy minimiser."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.localisation import (
    LocalisationPlan,
    plan_perturbed,
    solver_distance,
)
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.collect import to_public_grid
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.localisation.local_problem import refined
from rashomon_explorer.samplers.localisation.one_draw import OneModelSampler, draw_near
from rashomon_explorer.samplers.rejection.neighbourhood import settled


@dataclass(frozen=True)
class OutputPerturbationSampler(OneModelSampler):
    """One model of low excess for strongly convex losses, at a pure price, in two steps.

    The minimiser of a strongly convex loss moves little between neighbours: noise hides it for ε/2,
    and the exponential mechanism for ε/2 on the part of the domain nearby replaces the noise by a
    draw of low loss (Bassily, Smith and Thakurta 2014, §4; constants in
    :func:`~rashomon_explorer.planning.localisation.plan_perturbed`). Its bound 32L²pq/(mε²n²) is
    the smallest of this package's for strongly convex losses.

    Parameters
    ----------
    epsilon : float
        Price of one model.
    failure : float, optional
        Probability with which the noise may hide the minimiser from the second step.
    sampler : ExactSampler, optional

    Examples
    --------
    >>> from rashomon_explorer.samplers import OutputPerturbationSampler
    >>> problem = Problem([[0.5], [-0.5]] * 500, [1, -1] * 500, ridge=0.5)
    >>> sampler = OutputPerturbationSampler(epsilon=8.0)
    >>> sampler.certificate(problem).epsilon(0.0)
    8.0
    >>> sampler.draw(problem, np.random.default_rng(0)).shape
    (2,)
    """

    name: ClassVar[str] = "output_perturbation"

    epsilon: float
    failure: float | None = None
    sampler: ExactSampler = field(default_factory=ExactSampler)

    def plan(self, problem: Problem) -> LocalisationPlan:
        """Noise, radius, temperature and bounds; only public constants are used."""
        return plan_perturbed(
            problem.constants, problem.domain, epsilon=self.epsilon, failure=self.failure
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """One model (p,), rounded to the public grid."""
        plan = self.plan(problem)
        theta = self.noisy_minimiser(problem, plan, rng)
        return to_public_grid(draw_near(problem, theta, plan.stages[0], self.sampler, rng))

    def noisy_minimiser(
        self, problem: Problem, plan: LocalisationPlan, rng: np.random.Generator
    ) -> FloatArray:
        """Minimiser plus noise of density ∝ exp(−‖z‖/σ), put back into the domain; (p,).

        Raises
        ------
        SamplerError
            As for :meth:`draw`.
        """
        near = solver_distance(problem.constants, problem.domain)
        known = refined(problem, problem.minimum, problem.m * near**2 / 2)
        direction = rng.standard_normal(problem.p)
        length = plan.noise_scale * rng.standard_gamma(problem.p)
        noisy = known.theta + direction * (length / np.linalg.norm(direction))
        return settled(problem.domain, noisy)
