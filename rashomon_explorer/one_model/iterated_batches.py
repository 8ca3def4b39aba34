"""Exponential mechanisms on disjoint batches, for new rows: Theorems E.6 of 003 and E.4 of 000."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.one_model.unseen import batch_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.disjoint import DisjointPlan, plan_disjoint
from rashomon_explorer.planning.ridges import best_ridged, own_cost
from rashomon_explorer.privacy import pure
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.localisation.batch_problem import draw_by_batches
from rashomon_explorer.samplers.localisation.one_draw import if_drawn


@dataclass(frozen=True)
class IteratedBatches:
    """Draws on batches that share no row, each near the one before; pure DP of one of them.

    Made for new rows: the last batch knows nothing of the part of the ball that it draws from.
    """

    name: ClassVar[str] = "iterated_batches"
    model: ClassVar[str] = "the last of exact draws on disjoint batches, each near the one before"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""

        def made(tried: Request) -> tuple[float, DisjointPlan | None]:
            if tried.ridge == 0:
                return math.inf, None
            bought = plan_disjoint(tried.constants, tried.domain, epsilon=tried.epsilon)
            return _unseen(request, tried.ridge, bought), bought

        ridge, bought = best_ridged(request, made, every=3)
        assert bought is not None  # a positive ridge is always tried, and its promise finite
        if len(bought.stages) == 1:
            return declined(self, "one draw on all rows promises no less: see gibbs")
        last = bought.sizes[-1]
        excess = bought.fitted + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"pure DP of one draw: a record is in one of {len(bought.sizes)} batches",
            guarantee=if_drawn(pure(request.epsilon)),
            excess=excess + batch_gap(request, last, request.radius),
            unseen=_unseen(request, ridge, bought),
            ridge=ridge,
            settings=bought,
            may_give_up=True,
            picks_rows=True,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return draw_by_batches(problem, offer.settings, rng)


def _unseen(request: Request, ridge: float, bought: DisjointPlan) -> float:
    """Excess of the risk, over the best model for it."""
    strays = min(bought.stable, batch_gap(request, bought.sizes[-1], bought.reach))
    return bought.fitted + strays + own_cost(request, ridge)
