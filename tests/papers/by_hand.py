"""Mechanisms of papers, set up for a problem with settings of their own."""

from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from rashomon_explorer.mechanisms.base import to_public_grid
from rashomon_explorer.mechanisms.one_model import OneModelDetails
from rashomon_explorer.mechanisms.request import USUAL_PATIENCE
from rashomon_explorer.papers import localisation
from rashomon_explorer.papers.localisation import Iterated, Localised, Regularised
from rashomon_explorer.problem.problem import Problem

PLANS = {
    Localised: localisation.plan_perturbed,
    Iterated: localisation.plan_iterated,
    Regularised: localisation.plan_regularised,
}


class RidgedProblem(Problem):
    """Problem with the same rows and domain, and an additional ridge."""

    def __init__(self, problem, ridge):
        constants = problem.constants.with_ridge(ridge, problem.domain.radius)
        numbers = {"ridge": problem.ridge + ridge, "constants": constants}
        self._copy_rows_and_loss(problem, domain=problem.domain, **numbers)


@dataclass(frozen=True)
class ByHand:
    kind: Any
    epsilon: float
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self):
        return self.kind.name

    def costing(self, epsilon):
        return replace(self, epsilon=epsilon)

    def plan(self, problem):
        known = problem.constants, problem.domain
        return PLANS[self.kind](*known, epsilon=self.epsilon, **dict(self.settings))

    def certificate(self, problem):
        return localisation.if_drawn(self.plan(problem).guarantee)

    def full_plan(self, problem):
        request = SimpleNamespace(patience=USUAL_PATIENCE)
        return SimpleNamespace(details=OneModelDetails(self.plan(problem)), request=request)

    def noisy_minimiser(self, problem, rng):
        return self.kind().noisy_minimiser(problem, self.full_plan(problem), rng)

    def draw(self, problem, rng):
        plan = self.full_plan(problem)
        if self.kind is Regularised:
            problem = RidgedProblem(problem, plan.details.settings.ridge)
        return to_public_grid(self.kind().model(problem, plan, rng))


def by_hand(kind, epsilon, **settings):
    """Return a mechanism at this cost, the sum of all its releases."""
    return ByHand(kind, epsilon, tuple(settings.items()))


localised, iterated, regularised = (partial(by_hand, kind) for kind in PLANS)
