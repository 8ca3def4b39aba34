"""The minimiser plus noise."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import get_loss, loss_of_zeros
from rashomon_explorer.one_model.gradients import affordable_mu
from rashomon_explorer.one_model.method import ModelOffer
from rashomon_explorer.one_model.unseen import stable_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.perturbing import NoisyMinimiser, plan_noisy_minimiser
from rashomon_explorer.planning.ridges import best_ridged, own_cost
from rashomon_explorer.privacy import gdp, pure
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.localisation.local_problem import refined
from rashomon_explorer.samplers.radial_noise import radial_noise

CERTIFIED = (
    "the minimum was certified as closely as the noise allows for: where it is not, an error tells "
    "something of the rows"
)


@dataclass(frozen=True)
class OutputPerturbation:
    """The certified minimiser under a ridge, hidden in noise, and put back into the ball.

    Pure DP with noise of density ∝ exp(−‖z‖/σ), or Gaussian DP where δ > 0 and that promises more.
    """

    name: ClassVar[str] = "output_perturbation"
    model: ClassVar[str] = "the minimiser plus noise"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        prices = [None, affordable_mu(request)] if request.delta > 0 else [None]
        zeros = loss_of_zeros(get_loss(request.loss))

        def made(tried: Request) -> tuple[float, NoisyMinimiser | None]:
            if tried.ridge == 0:
                return math.inf, None
            known, budget = (tried.constants, tried.radius, zeros), tried.epsilon
            both = [plan_noisy_minimiser(*known, epsilon=budget, mu=mu) for mu in prices]
            best = min(both, key=lambda one: one.excess)
            return best.excess + own_cost(request, tried.ridge), best

        ridge, best = best_ridged(request, made)
        assert best is not None  # a positive ridge is always tried, and its promise finite
        excess = best.excess + own_cost(request, ridge)
        paid, held = "pure DP", pure(request.epsilon)
        if best.gaussian:
            paid, held = "Gaussian DP", gdp(affordable_mu(request))
        return ModelOffer(
            self.name,
            self.model,
            f"{paid} of the noise",
            guarantee=replace(held, assumptions=(*held.assumptions, CERTIFIED)),
            excess=excess,
            unseen=excess + stable_gap(request, ridge, 2 * best.solver),
            ridge=ridge,
            settings=best,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        best: NoisyMinimiser = offer.settings
        known = refined(problem, problem.minimum, problem.m * best.solver**2 / 2)
        noise = radial_noise(problem.p, best.scale, rng, gaussian=best.gaussian)
        return np.asarray(problem.domain.project((known.theta + noise)[:, None])[:, 0])
