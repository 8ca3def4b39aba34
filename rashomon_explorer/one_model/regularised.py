"""One exact draw under a ridge that makes it serve new rows (Theorem E.4 of 003)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.one_model.gibbs import Gibbs
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.planning import Request, plan
from rashomon_explorer.planning.regularising import plan_regularised
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.localisation.one_draw import if_drawn


@dataclass(frozen=True)
class Regularised:
    """The exponential mechanism under the ridge that is best for new rows; pure DP."""

    name: ClassVar[str] = "regularised"
    model: ClassVar[str] = "an exact draw under a ridge that serves new rows"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        if request.ridge > 0:
            return declined(self, "chooses the ridge itself: needs ridge = 0")
        bought = plan_regularised(request.constants, request.domain, epsilon=request.epsilon)
        numbers = {**request.numbers, "ridge": bought.ridge, "psi": 0.0, "n_draws": 1}
        with said_elsewhere():
            exact = plan(**numbers)
        return ModelOffer(
            self.name,
            self.model,
            "pure DP, by bounded range",
            guarantee=if_drawn(bought.guarantee),
            excess=bought.excess_bound,
            unseen=bought.population_bound,
            ridge=bought.ridge,
            settings=bought,
            exact=exact,
            may_give_up=True,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return Gibbs().draw(problem, offer, rng)
