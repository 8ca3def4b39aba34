"""A noisy minimiser, and noisy descent from there: Appendix C of 002 with a sound σ."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import get_loss, loss_of_zeros
from rashomon_explorer.one_model.gradients import affordable_mu
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.one_model.noisy_sgd import average_of_steps
from rashomon_explorer.one_model.output_perturbation import CERTIFIED
from rashomon_explorer.one_model.unseen import generalisation_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.centres import Centre, average_weights
from rashomon_explorer.planning.localised_descent import LocalisedDescent, plan_localised_descent
from rashomon_explorer.planning.ridges import best_ridged, own_cost
from rashomon_explorer.privacy import gdp
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.ellipsoid.centre import descent
from rashomon_explorer.samplers.localisation.local_problem import refined
from rashomon_explorer.samplers.radial_noise import radial_noise


@dataclass(frozen=True)
class LocalisedGaussian:
    """Noisy descent that starts at a noisy minimiser; Gaussian DP of both (docs/theory §19)."""

    name: ClassVar[str] = "localised_gaussian"
    model: ClassVar[str] = "the average of noisy descent from a noisy minimiser"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        if not request.delta > 0:
            return declined(self, "needs delta > 0")
        mu, zeros = affordable_mu(request), loss_of_zeros(get_loss(request.loss))

        def made(tried: Request) -> tuple[float, LocalisedDescent | None]:
            if tried.ridge == 0:
                return math.inf, None
            bought = plan_localised_descent(tried.constants, request.radius, mu, zeros)
            return bought.excess + own_cost(request, tried.ridge), bought

        ridge, bought = best_ridged(request, made)
        assert bought is not None  # a positive ridge is always tried, and its promise finite
        excess, held = bought.excess + own_cost(request, ridge), gdp(bought.mu)
        return ModelOffer(
            self.name,
            self.model,
            f"Gaussian DP of the minimiser and of every state of {bought.then.n_steps} steps",
            guarantee=replace(held, assumptions=(*held.assumptions, CERTIFIED)),
            excess=excess,
            unseen=excess + generalisation_gap(request),
            ridge=ridge,
            settings=bought,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        planned: LocalisedDescent = offer.settings
        start = noisy_start(problem, planned, rng)
        if not isinstance(planned.then, Centre):
            return average_of_steps(problem, planned.then, start, rng)
        mean = np.zeros(problem.p)
        weights = average_weights(planned.then, problem.constants)
        for weight, ahead in zip(weights, descent(problem, planned.then, rng, start), strict=True):
            mean += weight * problem.domain.project(ahead[:, None])[:, 0]
        return mean


def noisy_start(
    problem: Problem, planned: LocalisedDescent, rng: np.random.Generator
) -> FloatArray:
    """Minimiser (p,) plus Gaussian noise, put back into the ball."""
    known = refined(problem, problem.minimum, problem.m * planned.solver**2 / 2)
    noise = radial_noise(problem.p, planned.scale, rng, gaussian=True)
    return np.asarray(problem.domain.project((known.theta + noise)[:, None])[:, 0])
