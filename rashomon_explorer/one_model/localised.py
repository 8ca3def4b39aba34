"""Two methods that first find where the minimiser is: Algorithm 4 of 002 and Algorithm 3 of 003."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.one_model.method import Method, ModelOffer, declined
from rashomon_explorer.one_model.unseen import generalisation_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.localisation import (
    LocalisationPlan,
    plan_iterated,
    plan_perturbed,
)
from rashomon_explorer.planning.ridges import best_ridged, own_cost
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers import IteratedSampler, OutputPerturbationSampler
from rashomon_explorer.samplers.localisation.one_draw import if_drawn


@dataclass(frozen=True)
class Localised:
    """Output perturbation, then an exponential mechanism on what is near; pure DP."""

    name: ClassVar[str] = "localised"
    model: ClassVar[str] = "an exact draw near a noisy minimiser"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        ridge, bought = _best(
            request, lambda one: plan_perturbed(one.constants, one.domain, epsilon=one.epsilon)
        )
        return _offered(self, request, ridge, bought)

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return OutputPerturbationSampler(offer.settings.epsilon).draw(problem, rng)


@dataclass(frozen=True)
class Iterated:
    """Exponential mechanisms on ever smaller sets; pure DP."""

    name: ClassVar[str] = "iterated"
    model: ClassVar[str] = "the last of exact draws, each near the one before"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        ridge, bought = _best(
            request, lambda one: plan_iterated(one.constants, one.domain, epsilon=one.epsilon)
        )
        if len(bought.stages) == 1:
            return declined(self, "a second draw would be no better for its price: see gibbs")
        return _offered(self, request, ridge, bought)

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return IteratedSampler(offer.settings.epsilon).draw(problem, rng)


def _best(
    request: Request, planned: Callable[[Request], LocalisationPlan]
) -> tuple[float, LocalisationPlan]:
    """Plan under the best ridge, for it needs one."""

    def made(tried: Request) -> tuple[float, LocalisationPlan | None]:
        if tried.ridge == 0:
            return float("inf"), None
        bought = planned(tried)
        return bought.excess_bound + own_cost(request, tried.ridge), bought

    ridge, bought = best_ridged(request, made)
    assert bought is not None  # a positive ridge is always tried, and its promise finite
    return ridge, bought


def _offered(
    method: Method, request: Request, ridge: float, bought: LocalisationPlan
) -> ModelOffer:
    excess = bought.excess_bound + own_cost(request, ridge)
    return ModelOffer(
        method.name,
        method.model,
        f"pure DP of {len(bought.stages) + bool(bought.noise_scale)} releases",
        guarantee=if_drawn(replace(bought.guarantee)),
        excess=excess,
        # A later stage depends on the rows through the one before: no stability is claimed.
        unseen=excess + generalisation_gap(request),
        ridge=ridge,
        settings=bought,
        may_give_up=True,
    )
