"""A problem on some of its rows."""

import numpy as np

from rashomon_explorer.array_types import FloatArray, IntArray
from rashomon_explorer.held_rows import ALL
from rashomon_explorer.minimum import Objective
from rashomon_explorer.planning.disjoint import DisjointPlan, of_fewer
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.collect import to_public_grid
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.localisation.one_draw import draw_near


class BatchProblem(Problem):
    """Some rows of a problem, with its domain and ridge.

    >>> problem = Problem([[0.5], [-0.5], [0.1]], [1, -1, 1], radius=2.0)
    >>> batch = BatchProblem(problem, np.array([0, 2]))
    >>> batch.n, round(batch.osc / problem.osc, 9)
    (2, 1.5)
    """

    def __init__(self, problem: Problem, taken: IntArray) -> None:
        known = of_fewer(problem.constants, len(taken))
        self._pose_again(problem, domain=problem.domain, ridge=problem.ridge, constants=known)
        assert problem._held is not None  # of a problem in blocks nobody asks for batches
        self._held = problem._held.some(taken)
        self._objective = Objective(self._empirical(ALL), problem.ridge)


def draw_by_batches(
    problem: Problem, planned: DisjointPlan, rng: np.random.Generator
) -> FloatArray:
    """One model (p,), rounded to the public grid: the last of draws that share no row.

    Which rows are in which batch is settled by chance, and by no row.

    Raises
    ------
    SamplerError
        If a draw does not come, or a minimum cannot be certified.
    """
    ends = np.cumsum(planned.sizes)[:-1]
    theta = np.zeros(problem.p)
    parts = np.split(rng.permutation(problem.n), ends)
    for taken, stage in zip(parts, planned.stages, strict=True):
        theta = draw_near(BatchProblem(problem, taken), theta, stage, ExactSampler(), rng)
    return to_public_grid(theta)
