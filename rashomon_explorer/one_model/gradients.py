"""Two averages of noisy gradient paths, all of which is paid for; they always come."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import get_loss, loss_of_zeros
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.one_model.unseen import generalisation_gap
from rashomon_explorer.planning import Request, plan_path
from rashomon_explorer.planning.centres import by_gradients
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.privacy import gdp
from rashomon_explorer.privacy.gaussian import gdp_mu
from rashomon_explorer.privacy.zcdp import zcdp_rho
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.ellipsoid.centre import released_centre
from rashomon_explorer.samplers.planned_path import PlannedPath
from rashomon_explorer.target import GibbsTarget

_SAFE = 1 - 1e-9  # of μ: what is charged must not pass the budget by an ulp


@dataclass(frozen=True)
class LangevinAverage:
    """A Langevin path that looks ahead, and its average with weights that grow (docs/theory §6)."""

    name: ClassVar[str] = "langevin_average"
    model: ClassVar[str] = "the average of a Langevin path"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = unsuited(request)
        if why:
            return declined(self, why)
        with said_elsewhere():
            bought = plan_path(**{**request.numbers, "psi": 0.0, "n_draws": 1})
        return ModelOffer(
            self.name,
            self.model,
            f"every state of {bought.n_steps} steps is paid for",
            guarantee=bought.guarantee,
            excess=bought.excess_bound,
            unseen=bought.excess_bound + generalisation_gap(request),
            ridge=request.ridge,
            settings=bought,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        target = GibbsTarget(problem, offer.settings.beta, psi=0.0)
        *_, last = PlannedPath(offer.settings).batches(target, rng)
        return np.asarray(last.theta[:, 0])


@dataclass(frozen=True)
class NoisyDescent:
    """Projected gradient descent with noise, and its weighted average (docs/theory §13)."""

    name: ClassVar[str] = "noisy_descent"
    model: ClassVar[str] = "the average of noisy gradient descent"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = unsuited(request)
        if why:
            return declined(self, why)
        zeros = loss_of_zeros(get_loss(request.loss))
        centre = by_gradients(request.constants, request.radius, affordable_mu(request), zeros)
        return ModelOffer(
            self.name,
            self.model,
            f"every state of {centre.n_steps} steps is paid for",
            guarantee=gdp(centre.mu),
            excess=centre.excess,
            unseen=centre.excess + generalisation_gap(request),
            ridge=request.ridge,
            settings=centre,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        *_, last = released_centre(problem, offer.settings, rng)
        assert last is not None  # the centre comes at the end
        return last.theta


def unsuited(request: Request) -> str:
    """Why no noisy gradient path serves a request; empty where one does."""
    if not request.delta > 0:
        return "needs delta > 0"
    if not math.isfinite(request.constants.M):
        return "the loss has kinks, and no largest stable step"
    return ""


def affordable_mu(request: Request) -> float:
    """Gaussian DP that a request pays for, as a ledger counts it where there is one."""
    if request.ledger:
        return _SAFE * math.sqrt(2 * zcdp_rho(request.epsilon, request.delta))
    return _SAFE * gdp_mu(request.epsilon, request.delta)
