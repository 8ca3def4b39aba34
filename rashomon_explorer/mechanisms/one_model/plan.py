"""Plan of one private model."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from rashomon_explorer._utils.formatting import Fact, ReprMixin, rounded_up
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbation
from rashomon_explorer.mechanisms.one_model.base import ModelOffer
from rashomon_explorer.mechanisms.one_model.registry import METHODS
from rashomon_explorer.mechanisms.planning.offers import Request
from rashomon_explorer.mechanisms.planning.options import LEAST_RADIUS, RADII
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan, with_scaling_cost
from rashomon_explorer.mechanisms.planning.weakness import weak_guarantee_reason
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.guarantee import epsilon_delta_text
from rashomon_explorer.problem.losses import get_loss, zero_model_loss


@dataclass(frozen=True, repr=False)
class ModelPlan(ReprMixin):
    """Plan for one private model: selected mechanism, reason, guarantees and alternatives."""

    request: Request
    offer: ModelOffer
    goal: str
    why: str
    compared: tuple[ModelOffer, ...] = field(default=(), compare=False)
    columns: ColumnsPlan | None = None

    # Attributes that `weak_guarantee_reason` reads; one model has no hit rate.
    psi: ClassVar[float] = 0.0
    beta: ClassVar[float] = 0.0
    hit_rate_bound: ClassVar[float] = 0.0
    along_path: ClassVar[bool] = False
    by_excess: ClassVar[bool] = False
    centre_excess: ClassVar[None] = None

    @cached_property
    def options(self) -> tuple[ModelOffer, ...]:
        """Candidates of all mechanisms, the least bound first, those of papers included."""
        others = [one.offer(self.request) for one in METHODS.named_only().values()]
        return tuple(
            sorted(
                (*self.compared, *others),
                key=lambda one: (not one.applies, one.bound(self.goal)),
            )
        )

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        return self.offer.name

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.request.n

    @property
    def p(self) -> int:
        """Number of parameters, including the intercept."""
        return self.request.p

    @property
    def radius(self) -> float:
        """Radius of the ball of models over which the bounds hold."""
        return self.request.radius

    @property
    def ridge(self) -> float:
        """Ridge of the model: the requested ridge, and what the mechanism adds."""
        return self.offer.ridge

    @property
    def epsilon(self) -> float:
        """Budget ε."""
        return self.request.epsilon if self.columns is None else self.columns.epsilon

    @property
    def delta(self) -> float:
        """Budget δ."""
        return self.request.delta

    @property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of the model."""
        assert self.offer.guarantee is not None  # a selected mechanism always applies
        held = with_scaling_cost(self.columns, self.offer.guarantee)
        return replace(held, requested=(self.epsilon, self.delta))

    @property
    def excess_bound(self) -> float:
        """Bound on the expected excess loss on the rows, over the best model of the ball."""
        return self.offer.excess

    @property
    def population_bound(self) -> float:
        """Bound on the expected excess loss on new rows, if rows are i.i.d."""
        return self.offer.unseen

    @property
    def zero_loss(self) -> float:
        """Bound on the loss of the model of zeros."""
        return zero_model_loss(get_loss(self.request.loss))

    @property
    def weakness(self) -> str:
        """Reason why the guarantee is weak; empty if it is not."""
        known, nothing = weak_guarantee_reason(self), self.zero_loss
        if known or self.excess_bound < nothing / 3:
            return known
        return (
            f"the loss of the model may exceed the least by {rounded_up(self.excess_bound)} on "
            f"average, and a model of zeros has at most {rounded_up(nothing)}: it may be no "
            f"better than a constant prediction"
        )

    def _title(self) -> str:
        return f"{type(self).__name__}: {self.mechanism} on {self.n:,} rows, p = {self.p}"

    def _facts(self) -> list[Fact]:
        facts = [
            ("model", self.offer.model),
            ("why", self.why),
            ("privacy cost", f"{epsilon_delta_text(self.epsilon, self.delta)}, {self.offer.why}"),
            ("excess loss", f"≤ {rounded_up(self.excess_bound)} on average"),
            ("on new rows", f"≤ {rounded_up(self.population_bound)} on average"),
            ("ball", f"radius {self.radius:.4g}, ridge {self.ridge:.4g}"),
        ]
        facts += [] if self.columns is None else [self.columns.fact]
        others = [one for one in self.options if one.name != self.mechanism]
        facts += [(one.name, _instead(one, self.goal)) for one in others]
        return facts + [("warning", self.weakness)] * bool(self.weakness)


def _instead(offer: ModelOffer, goal: str) -> str:
    if not offer.applies:
        return f"not available: {offer.why}"
    return f"≤ {rounded_up(offer.bound(goal))}: {offer.model}"


_WORTH = 1.5
_WORTH_OF_LENGTH = 0.5  # of a regression, where the norm of a model matters, not only its direction


def auto_radius(request: Request, worth: float | None = None) -> float:
    """Radius that the rule chooses for a request; reads no row."""
    loss = get_loss(request.loss)
    if worth is None:
        worth = _WORTH_OF_LENGTH if loss.link == "identity" else _WORTH
    zeros = zero_model_loss(loss)
    most = RADII[-1] if math.isfinite(request.constants.M) else LEAST_RADIUS
    balls = (replace(request, radius=radius) for radius in RADII if radius <= most)
    return min(balls, key=lambda one: _promised(one) + worth * zeros / one.radius).radius


def _promised(request: Request) -> float:
    offer = ObjectivePerturbation().offer(request)
    if offer.applies:
        return offer.excess
    return request.p * request.constants.charged_oscillation / request.epsilon
