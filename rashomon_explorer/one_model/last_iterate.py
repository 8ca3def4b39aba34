"""The last state of noisy gradient descent: what came before is hidden, and costs little."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import get_loss, loss_of_zeros
from rashomon_explorer.one_model.gradients import affordable_mu, unsuited
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.one_model.unseen import generalisation_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.last_state import LastState, plan_last_state
from rashomon_explorer.planning.ridges import best_ridged, own_cost
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers import LangevinSampler
from rashomon_explorer.target import GibbsTarget


@dataclass(frozen=True)
class LastIterate:
    """The last state of noisy gradient descent, which forgets its path (docs/theory §17).

    Under a ridge of its own where that promises more: then however many steps cost no more than
    2/(ηm) of them would with all their states.
    """

    name: ClassVar[str] = "last_iterate"
    model: ClassVar[str] = "the last state of noisy gradient descent"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = unsuited(request)
        if why:
            return declined(self, why)
        mu, zeros = affordable_mu(request), loss_of_zeros(get_loss(request.loss))

        def made(tried: Request) -> tuple[float, LastState]:
            bought = plan_last_state(tried.constants, request.radius, mu, zeros)
            return bought.excess + own_cost(request, tried.ridge), bought

        ridge, bought = best_ridged(request, made, every=3)
        excess = bought.excess + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"the last of {bought.n_steps} steps is paid for, the others are never shown",
            guarantee=bought.guarantee,
            excess=excess,
            unseen=excess + generalisation_gap(request),
            ridge=ridge,
            settings=bought,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        planned: LastState = offer.settings
        target = GibbsTarget(problem, planned.beta, psi=0.0)
        sampler = LangevinSampler(planned.step_size, planned.n_steps, n_chains=1, shown="last")
        *_, last = sampler.batches(target, rng)
        return np.asarray(last.theta[:, 0])
