"""The iterated exponential mechanism: each draw narrows the domain of the next."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.localisation import LocalisationPlan, plan_iterated
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.collect import to_public_grid
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.localisation.one_draw import OneModelSampler, draw_near


@dataclass(frozen=True)
class IteratedSampler(OneModelSampler):
    """One model of low excess for strongly convex losses, at a pure price.

    Algorithm 3 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization" (submitted to ICLR 2023): θ_i is drawn from exp(−β_i L) on the part of the domain
    within r_{i−1} of θ_{i−1}, which is smaller and so allows a larger β_i. Radii, β_i and the
    number of stages are public (:func:`~rashomon_explorer.planning.localisation.plan_iterated`),
    and every draw is exact, so that the whole is pure DP. The expected excess falls as 1/n² and
    rises as p², up to logarithms; the plain exponential mechanism has p/n.

    Parameters
    ----------
    epsilon : float
        Price of one model, all its stages together.
    failure : float, optional
        Probability with which a stage may lose sight of the minimiser; by default the best.
    n_stages : int, optional
        By default the number of least bound.
    sampler : ExactSampler, optional

    Examples
    --------
    >>> from rashomon_explorer.samplers.localisation.iterated import IteratedSampler
    >>> problem = Problem([[0.5], [-0.5]] * 500, [1, -1] * 500, ridge=0.5)
    >>> sampler = IteratedSampler(epsilon=8.0)
    >>> plan = sampler.plan(problem)
    >>> len(plan.stages), sampler.certificate(problem).epsilon(0.0)
    (3, 8.0)
    >>> sampler.draw(problem, np.random.default_rng(0)).shape
    (2,)
    """

    name: ClassVar[str] = "iterated"

    epsilon: float
    failure: float | None = None
    n_stages: int | None = None
    sampler: ExactSampler = field(default_factory=ExactSampler)

    def plan(self, problem: Problem) -> LocalisationPlan:
        """Radii, temperatures, prices and bounds; only public constants are used."""
        return plan_iterated(
            problem.constants,
            problem.domain,
            epsilon=self.epsilon,
            failure=self.failure,
            n_stages=self.n_stages,
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """One model (p,), rounded to the public grid."""
        theta = np.zeros(problem.p)
        for stage in self.plan(problem).stages:
            theta = draw_near(problem, theta, stage, self.sampler, rng)
        return to_public_grid(theta)
