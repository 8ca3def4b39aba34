"""Samplers of one model, and one exact draw, of a target or of a stage of a plan."""

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.localisation import LocalisationPlan, Stage
from rashomon_explorer.planning.regularising import RegularisedPlan
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.arithmetic import computed_on
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.localisation.local_problem import LocalProblem
from rashomon_explorer.samplers.rejection.neighbourhood import Neighbourhood
from rashomon_explorer.target import GibbsTarget

_IF_DRAWN = (
    "that a model was drawn is not counted: a sampler that gives up, or a minimum that rounding "
    "keeps from being certified, tells something of the rows"
)


class OneModelSampler(ABC):
    """One model at a pure price; another one costs as much again.

    ``plan`` uses public constants alone, and raises a ValueError where a number is out of range or
    the ridge is not what it needs. ``draw`` reads rows: that it may raise a SamplerError, where
    rejection is hopeless or a minimum cannot be certified, depends on them.
    """

    @abstractmethod
    def plan(self, problem: Problem) -> LocalisationPlan | RegularisedPlan:
        """Temperatures, prices and bounds."""

    def certificate(self, problem: Problem) -> Guarantee:
        """Pure DP of one model, and of all that is drawn on its way, if they are drawn."""
        return computed_on(if_drawn(self.plan(problem).guarantee), problem.arrays)

    @abstractmethod
    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """One model (p,), rounded to the public grid."""


def if_drawn(guarantee: Guarantee) -> Guarantee:
    """State that the guarantee is one of draws, and not of whether there is one.

    Examples
    --------
    >>> from rashomon_explorer.privacy import pure
    >>> len(if_drawn(pure(1.0)).assumptions) - len(pure(1.0).assumptions)
    1
    """
    return replace(guarantee, assumptions=(*guarantee.assumptions, _IF_DRAWN))


def draw_near(
    problem: Problem,
    middle: FloatArray,
    stage: Stage,
    sampler: ExactSampler,
    rng: np.random.Generator,
) -> FloatArray:
    """One exact draw (p,) of a stage of a plan, near the model ``middle`` (p,)."""
    if np.isfinite(stage.distance):
        near = Neighbourhood.of(problem.domain, middle, stage.distance)
        problem = LocalProblem(problem, near)
    return first_draw(GibbsTarget(problem, stage.beta, psi=0.0), sampler, rng)


def first_draw(target: GibbsTarget, sampler: ExactSampler, rng: np.random.Generator) -> FloatArray:
    """One exact draw (p,), in full precision: what is made of it may be released, not itself."""
    found = (batch.theta for batch in sampler.batches(target, rng) if batch.theta.shape[1])
    return next(found)[:, 0]
