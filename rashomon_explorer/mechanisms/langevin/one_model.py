"""Methods for one model by the average of a noisy path, all of which is charged."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.ellipsoid.sampler import released_centre
from rashomon_explorer.mechanisms.langevin.accounting import plan_weighted_path
from rashomon_explorer.mechanisms.langevin.plan import PathPlan, plan_path
from rashomon_explorer.mechanisms.langevin.sampler import PlannedPath
from rashomon_explorer.mechanisms.one_model.base import ModelOffer, declined, generalisation_gap
from rashomon_explorer.mechanisms.planning.centres import Centre, by_gradients
from rashomon_explorer.mechanisms.planning.offers import Request, best_ridged, own_cost
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import gdp
from rashomon_explorer.privacy.conversions import gdp_mu, zcdp_rho
from rashomon_explorer.problem.losses import get_loss, zero_model_loss
from rashomon_explorer.problem.problem import Problem

_SAFE = 1 - 1e-9  # of μ: keeps the charge within the budget despite rounding


@dataclass(frozen=True)
class LangevinAverage:
    """The average of a Langevin path, with increasing weights.

    The path is accelerated (docs/theory §6), or, if its bound is smaller, one of small steps under
    the user's ridge or a larger one (§21).
    """

    name: ClassVar[str] = "langevin_average"
    model: ClassVar[str] = "the average of a Langevin path"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = unsuited(request)
        if why:
            return declined(self, why)
        with suppress_weak_warnings():
            bought = plan_path(**{**request.numbers, "psi": 0.0, "n_draws": 1})
        settings: PathPlan | Centre = bought
        excess, ridge, held = bought.excess_bound, request.ridge, bought.guarantee
        strong, forgetful = _forgetful(request)
        if forgetful.excess + own_cost(request, strong) < excess:
            excess, ridge = forgetful.excess + own_cost(request, strong), strong
            settings, held = forgetful, gdp(forgetful.mu)
        return ModelOffer(
            self.name,
            self.model,
            f"every state of {settings.n_steps} steps is accounted for",
            guarantee=held,
            excess=excess,
            unseen=excess + generalisation_gap(request),
            ridge=ridge,
            settings=settings,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        if isinstance(offer.settings, Centre):
            return _average(problem, offer.settings, rng)
        target = GibbsTarget(problem, offer.settings.beta, psi=0.0)
        *_, last = PlannedPath(offer.settings).batches(target, rng)
        return np.asarray(last.theta[:, 0])


@dataclass(frozen=True)
class NoisyDescent:
    """Weighted average of projected gradient descent with noise (docs/theory §13)."""

    name: ClassVar[str] = "noisy_descent"
    model: ClassVar[str] = "the average of noisy gradient descent"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = unsuited(request)
        if why:
            return declined(self, why)
        zeros = zero_model_loss(get_loss(request.loss))
        centre = by_gradients(request.constants, request.radius, affordable_mu(request), zeros)
        return ModelOffer(
            self.name,
            self.model,
            f"every state of {centre.n_steps} steps is accounted for",
            guarantee=gdp(centre.mu),
            excess=centre.excess,
            unseen=centre.excess + generalisation_gap(request),
            ridge=request.ridge,
            settings=centre,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return _average(problem, offer.settings, rng)


def _average(problem: Problem, planned: Centre, rng: np.random.Generator) -> FloatArray:
    *_, last = released_centre(problem, planned, rng)
    assert last is not None  # the centre is the last item
    return last.theta


def _forgetful(request: Request) -> tuple[float, Centre]:
    """Path of small steps under the best ridge."""
    mu, zeros = affordable_mu(request), zero_model_loss(get_loss(request.loss))

    def made(tried: Request) -> tuple[float, Centre]:
        path = plan_weighted_path(tried.constants, request.radius, mu, zeros)
        return path.excess + own_cost(request, tried.ridge), path

    return best_ridged(request, made, every=3)


def unsuited(request: Request) -> str:
    """Reason why no noisy gradient path applies to a request; empty if one does."""
    if not request.delta > 0:
        return "needs delta > 0"
    if not math.isfinite(request.constants.M):
        return "the loss has kinks, and no largest stable step"
    return ""


def affordable_mu(request: Request) -> float:
    """Gaussian DP within a request's budget, by a ledger's composition if there is one."""
    if request.ledger:
        return _SAFE * math.sqrt(2 * zcdp_rho(request.epsilon, request.delta))
    return _SAFE * gdp_mu(request.epsilon, request.delta)
