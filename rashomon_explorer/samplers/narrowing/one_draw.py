"""One exact draw, of a target or of a stage of a plan."""

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.privacy.narrowing import Stage
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.narrowing.local_problem import LocalProblem
from rashomon_explorer.samplers.rejection.neighbourhood import Neighbourhood
from rashomon_explorer.target import GibbsTarget

FloatArray = NDArray[np.float64]


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
