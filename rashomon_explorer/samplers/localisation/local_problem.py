"""A problem on the part of its domain near a known model."""

from functools import cached_property
from typing import cast

import numpy as np

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses.of_blocks import is_kinked
from rashomon_explorer.minimum import Minimum, Objective
from rashomon_explorer.minimum.general import minimise_on
from rashomon_explorer.minimum.kinked import minimise_kinked
from rashomon_explorer.planning.local_constants import local_constants
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.rejection.neighbourhood import Neighbourhood


class LocalProblem(Problem):
    """A problem on a neighbourhood: the same rows, a smaller domain and smaller constants.

    >>> problem = Problem([[0.5], [-0.5]], [1, -1], radius=2.0)
    >>> local = LocalProblem(problem, Neighbourhood.of(problem.domain, np.zeros(2), distance=0.1))
    >>> local.osc < problem.osc
    True
    >>> bool(local.domain.contains(local.minimum.theta[:, None])[0])
    True
    """

    def __init__(self, problem: Problem, domain: Neighbourhood) -> None:
        constants = local_constants(problem.constants, problem.domain, domain.diameter)
        self._pose_again(problem, domain=domain, ridge=problem.ridge, constants=constants)
        self._wide, self._near = problem, domain

    @cached_property
    def minimum(self) -> Minimum:
        """Certified minimum on the neighbourhood (curator): mostly the whole domain's.

        A gap that cannot be certified is an error.
        """
        whole = self._wide.minimum
        if self.domain.contains(whole.theta[:, None])[0]:
            return refined(self, whole, self.constants.gap_tolerance)
        start = Minimum(self._near.middle, np.inf, np.inf, multiplier=0.0, slack=np.inf)
        return refined(self, start, self.constants.gap_tolerance)


def refined(problem: Problem, known: Minimum, tolerance: float) -> Minimum:
    """Minimum known at least to ``tolerance``: the known one, or one found from there.

    The tolerance is public, because it is paid for.
    """
    if known.gap <= tolerance:
        return known
    loss, domain = problem.evaluator().loss, problem.domain
    if is_kinked(loss):
        # Newton steps do not find a kink: they stopped on 24 of 25 ordinary tables.
        best = minimise_kinked(loss, problem.ridge, domain, tolerance, known.theta)
    else:
        # A problem has the value, gradient and Hessian that the solver asks of an objective.
        best = minimise_on(cast(Objective, problem), domain, tolerance, known.theta)
    if best.gap > tolerance:
        raise SamplerError(
            f"the minimum could not be certified to a duality gap of {tolerance:.2e}: use more "
            "ridge or a larger epsilon"
        )
    return best
