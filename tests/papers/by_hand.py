"""Mechanisms of papers, set up for a problem with settings of their own."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rashomon_explorer.mechanisms.base import to_public_grid
from rashomon_explorer.papers import localisation
from rashomon_explorer.papers.localisation import Iterated, Localised, Regularised, RidgedProblem

PLANS = {
    Localised: localisation.plan_perturbed,
    Iterated: localisation.plan_iterated,
    Regularised: localisation.plan_regularised,
}


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

    def mechanism(self, problem):
        return self.kind(self.plan(problem))

    def certificate(self, problem):
        return self.mechanism(problem).certificate(problem)

    def draw(self, problem, rng):
        mechanism = self.mechanism(problem)
        if self.kind is Regularised:
            problem = RidgedProblem(problem, mechanism.settings.ridge)
        return to_public_grid(mechanism.draw(problem, rng))


def by_hand(kind, epsilon, **settings):
    """Return a mechanism at this cost, the sum of all its releases."""
    return ByHand(kind, epsilon, tuple(settings.items()))


localised, iterated, regularised = (partial(by_hand, kind) for kind in PLANS)
