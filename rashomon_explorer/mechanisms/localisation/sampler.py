"""Draws near an earlier release."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.certificates.sensitivity import local_constants
from rashomon_explorer.mechanisms.localisation.output_plan import (
    RegularisedPlan,
)
from rashomon_explorer.mechanisms.localisation.plan import (
    LocalisationPlan,
    Stage,
    plan_perturbed,
    solver_distance,
)
from rashomon_explorer.mechanisms.rejection.envelope import Neighbourhood, round_into_domain
from rashomon_explorer.mechanisms.samplers.base import to_public_grid
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.notions import computed_on
from rashomon_explorer.problem.losses.chunked import is_kinked
from rashomon_explorer.problem.minimisation import (
    MinimisedObjective,
    Minimum,
    minimise_kinked,
    minimise_on,
)
from rashomon_explorer.problem.problem import Problem


class LocalProblem(Problem):
    """A problem on a neighbourhood: the same rows, a smaller domain and smaller constants."""

    def __init__(self, problem: Problem, domain: Neighbourhood) -> None:
        constants = local_constants(problem.constants, problem.domain, domain.diameter)
        self._pose_again(problem, domain=domain, ridge=problem.ridge, constants=constants)
        self._wide, self._near = problem, domain

    @cached_property
    def minimum(self) -> Minimum:
        """Certified minimum on the neighbourhood, mostly the whole domain's (curator)."""
        whole = self._wide.minimum
        if self.domain.contains(whole.theta[:, None])[0]:
            return refined(self, whole, self.constants.gap_tolerance)
        start = Minimum(self._near.middle, np.inf, np.inf, multiplier=0.0, slack=np.inf)
        return refined(self, start, self.constants.gap_tolerance)


def refined(problem: Problem, known: Minimum, tolerance: float) -> Minimum:
    """Minimum certified to ``tolerance``: the known one, or one found from there."""
    if known.gap <= tolerance:
        return known
    loss, domain = problem.evaluator().loss, problem.domain
    if is_kinked(loss):
        # Newton steps do not find a kink: they stopped on 24 of 25 ordinary tables.
        best = minimise_kinked(loss, problem.ridge, domain, tolerance, known.theta)
    else:
        # A problem implements the value, gradient and Hessian of an objective.
        best = minimise_on(cast(MinimisedObjective, problem), domain, tolerance, known.theta)
    if best.gap > tolerance:
        raise SamplerError(
            f"the minimum could not be certified to a duality gap of {tolerance:.2e}: use more "
            "ridge or a larger epsilon"
        )
    return best


_IF_DRAWN = (
    "whether a model was drawn is not covered: a sampler that gives up, or a minimum that rounding "
    "keeps from being certified, reveals information about the rows"
)


class OneModelSampler(ABC):
    """Sampler of one model under pure DP; each further model has the same privacy cost."""

    @abstractmethod
    def plan(self, problem: Problem) -> LocalisationPlan | RegularisedPlan:
        """Temperatures, privacy costs and bounds."""

    def certificate(self, problem: Problem) -> Guarantee:
        """Pure DP of one model, and of all intermediate draws, if they are drawn."""
        return computed_on(if_drawn(self.plan(problem).guarantee), problem.arrays)

    @abstractmethod
    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """Draw one model (p,), rounded to the public grid."""


def if_drawn(guarantee: Guarantee) -> Guarantee:
    """State that the guarantee covers draws, and not whether there is one."""
    return replace(guarantee, assumptions=(*guarantee.assumptions, _IF_DRAWN))


def draw_near(
    problem: Problem,
    middle: FloatArray,
    stage: Stage,
    sampler: ExactSampler,
    rng: np.random.Generator,
) -> FloatArray:
    """Make one exact draw (p,) of a stage of a plan, near the model ``middle`` (p,)."""
    if np.isfinite(stage.distance):
        near = Neighbourhood.of(problem.domain, middle, stage.distance)
        problem = LocalProblem(problem, near)
    return first_draw(GibbsTarget(problem, stage.beta, psi=0.0), sampler, rng)


def first_draw(target: GibbsTarget, sampler: ExactSampler, rng: np.random.Generator) -> FloatArray:
    """Make one exact draw (p,) in full precision, which must be rounded before release."""
    found = (batch.theta for batch in sampler.batches(target, rng) if batch.theta.shape[1])
    return next(found)[:, 0]


@dataclass(frozen=True)
class OutputPerturbationSampler(OneModelSampler):
    """One model of low excess for strongly convex losses, under pure DP, in two steps.

    The minimiser of a strongly convex loss moves little between neighbours. Noise hides it at ε/2,
    and the exponential mechanism at ε/2 on the part of the domain nearby replaces the noise by a
    draw of low loss (Bassily, Smith and Thakurta 2014, §4; constants in
    :func:`~rashomon_explorer.mechanisms.localisation.plan.plan_perturbed`). Its bound
    32L²pq/(mε²n²) is the smallest of this package's for strongly convex losses.

    Parameters
    ----------
    epsilon : float
        Privacy cost ε of one model.
    failure : float, optional
        Probability that the noise moves the minimiser outside the set of the second step.
    sampler : ExactSampler, optional

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.localisation.sampler import OutputPerturbationSampler
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
        """Noise, radius, temperature and bounds, from public constants only."""
        return plan_perturbed(
            problem.constants, problem.domain, epsilon=self.epsilon, failure=self.failure
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """Draw one model (p,), rounded to the public grid."""
        plan = self.plan(problem)
        theta = self.noisy_minimiser(problem, plan, rng)
        return to_public_grid(draw_near(problem, theta, plan.stages[0], self.sampler, rng))

    def noisy_minimiser(
        self, problem: Problem, plan: LocalisationPlan, rng: np.random.Generator
    ) -> FloatArray:
        """Minimiser plus noise of density ∝ exp(−‖z‖/σ), projected onto the domain; (p,).

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
        return round_into_domain(problem.domain, noisy)
