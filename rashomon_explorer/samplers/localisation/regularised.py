"""The regularised exponential mechanism: a ridge that makes a private draw generalise."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.regularising import RegularisedPlan, plan_regularised, with_ridge
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.collect import to_public_grid
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.localisation.one_draw import OneModelSampler, first_draw
from rashomon_explorer.target import GibbsTarget


@dataclass(frozen=True)
class RegularisedSampler(OneModelSampler):
    """One model of low population risk for convex losses, at a pure price.

    An exact draw from exp(−β(L + ½m‖θ‖²)) (Theorem E.4 of "On the universality of Langevin
    diffusion for private Euclidean (convex) optimization", submitted to ICLR 2023): m = 2L/(R√n)
    trades what the ridge costs against how much one row moves the draw
    (:func:`~rashomon_explorer.planning.regularising.plan_regularised`).

    Parameters
    ----------
    epsilon : float
        Price of one model.
    ridge : float, optional
        m; by default the best for the bound.
    sampler : ExactSampler, optional

    Examples
    --------
    >>> from rashomon_explorer.samplers.localisation.regularised import RegularisedSampler
    >>> problem = Problem([[0.5], [-0.5]] * 500, [1, -1] * 500)
    >>> sampler = RegularisedSampler(epsilon=8.0)
    >>> sampler.certificate(problem).epsilon(0.0)
    8.0
    >>> sampler.draw(problem, np.random.default_rng(0)).shape
    (2,)
    """

    name: ClassVar[str] = "regularised"

    epsilon: float
    ridge: float | None = None
    sampler: ExactSampler = field(default_factory=ExactSampler)

    def plan(self, problem: Problem) -> RegularisedPlan:
        """Ridge, temperature and bounds; only public constants are used."""
        return plan_regularised(
            problem.constants, problem.domain, epsilon=self.epsilon, ridge=self.ridge
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """One model (p,), rounded to the public grid."""
        plan = self.plan(problem)
        target = GibbsTarget(RidgedProblem(problem, plan.ridge), plan.beta, psi=0.0)
        return to_public_grid(first_draw(target, self.sampler, rng))


class RidgedProblem(Problem):
    """The same rows and domain with a ridge, which is added to one that the problem has.

    >>> plain = Problem([[0.5], [-0.5]], [1, -1])
    >>> theta = np.ones((2, 1))
    >>> bool(np.isclose(RidgedProblem(plain, 0.5).value(theta), plain.value(theta) + 0.5)[0])
    True
    """

    def __init__(self, problem: Problem, ridge: float) -> None:
        constants = with_ridge(problem.constants, problem.domain, ridge)
        whole = problem.ridge + ridge
        self._pose_again(problem, domain=problem.domain, ridge=whole, constants=constants)
