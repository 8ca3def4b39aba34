"""One exact draw at ψ = 0: the exponential mechanism by its best certificate."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.one_model.method import ModelOffer
from rashomon_explorer.one_model.unseen import stable_gap
from rashomon_explorer.planning import Plan, Request, plan
from rashomon_explorer.planning.offers import ZCDP
from rashomon_explorer.planning.ridges import best_ridged, own_cost
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers import ExactSampler
from rashomon_explorer.samplers.localisation.one_draw import first_draw
from rashomon_explorer.target import GibbsTarget


@dataclass(frozen=True)
class Gibbs:
    """An exact draw from exp(−βL).

    Pure DP by bounded range; with δ > 0 the best certificate of strongly convex losses, in a ledger
    of those that prove zCDP, under a ridge that it adds where that promises more.
    """

    name: ClassVar[str] = "gibbs"
    model: ClassVar[str] = "an exact draw from exp(−βL)"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        pure = request.delta == 0 or request.ledger == ZCDP

        def made(tried: Request) -> tuple[float, Plan]:
            bought = _bought(tried, pure)
            return bought.excess_bound + own_cost(request, tried.ridge), bought

        # By bounded range alone a ridge changes no price.
        ridge, bought = (
            (request.ridge, made(request)[1]) if pure else best_ridged(request, made, every=3)
        )
        excess = bought.excess_bound + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"paid for by {bought.certificate}",
            guarantee=_sampler(request, ridge).guarantee(bought),
            excess=excess,
            unseen=excess + stable_gap(request, ridge),
            ridge=ridge,
            settings=bought,
            exact=bought,
            may_give_up=True,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        target = GibbsTarget(problem, offer.settings.beta, psi=0.0)
        return first_draw(target, ExactSampler(), rng)


def _bought(tried: Request, pure: bool) -> Plan:
    with said_elsewhere():  # who asks for a model is told once
        return plan(
            **{**tried.numbers, "psi": 0.0, "n_draws": 1},
            certificate="oscillation" if pure else "best",
        )


def _sampler(request: Request, ridge: float) -> ExactSampler:
    """Sampler that knows how much the loss may vary, for what is said of giving up."""
    steepest = replace(request, ridge=ridge).constants.L
    return ExactSampler(spread=steepest * 2 * request.radius)
