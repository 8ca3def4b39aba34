"""Mechanisms that buy one model at a time, each at its share of a pure price."""

from typing import ClassVar

from rashomon_explorer.planning.localisation import (
    LocalisationPlan,
    plan_iterated,
    plan_perturbed,
)
from rashomon_explorer.planning.offers import Mechanism, Offer, Request, declined
from rashomon_explorer.planning.regularising import RegularisedPlan, plan_regularised
from rashomon_explorer.privacy.composition import compose
from rashomon_explorer.rounding import rounded_up

OneModelPlan = LocalisationPlan | RegularisedPlan


class OneModelMechanism(Mechanism):
    """A mechanism whose plan is of one draw; prices of more add up."""

    instead: ClassVar[str] = ""
    uniform: ClassVar[bool] = False

    def plan(self, request: Request) -> OneModelPlan:
        """Plan of one draw, at an equal share of ε."""
        raise NotImplementedError

    def offer(self, request: Request) -> Offer:
        """See :class:`Mechanism`."""
        why = self.why_not(request)
        if why:
            return declined(self, why)
        one = self.plan(request)
        return Offer(
            self.name,
            self.draws,
            uniform=self.uniform,
            why=self.why(one),
            plan=one,
            beta=one.beta,
            hit_rate=one.hit_rate(request.psi),
            excess=one.excess_bound,
            guarantee=compose([one.guarantee] * request.n_draws),
        )

    def why_not(self, request: Request) -> str:
        """Why it does not apply; empty where it does."""
        return "" if request.ridge > 0 else "needs ridge > 0"

    def why(self, one: OneModelPlan) -> str:
        """Why it applies."""
        return "pure DP"


class Localisation(OneModelMechanism):
    """Output perturbation, and an exponential mechanism on what is near."""

    name: ClassVar[str] = "localisation"
    draws: ClassVar[str] = "an exact draw near a noisy minimiser"

    def plan(self, request: Request) -> LocalisationPlan:
        """See :class:`Mechanism`."""
        return plan_perturbed(request.constants, request.domain, epsilon=_share(request))


class Iterated(OneModelMechanism):
    """Exponential mechanisms on ever smaller sets, the last one's draw is the model."""

    name: ClassVar[str] = "iterated"
    draws: ClassVar[str] = "the last of exact draws, each near the one before"

    def plan(self, request: Request) -> LocalisationPlan:
        """See :class:`Mechanism`."""
        return plan_iterated(request.constants, request.domain, epsilon=_share(request))

    def why_not(self, request: Request) -> str:
        """Decline also where one stage is best, which is a dearer "unthresholded"."""
        why = super().why_not(request)
        if not why and len(self.plan(request).stages) == 1:
            return "a second draw would be no better for its price than one: see unthresholded"
        return why


class Regularised(OneModelMechanism):
    """The exponential mechanism under a ridge of its own choice, for losses without one."""

    name: ClassVar[str] = "regularised"
    draws: ClassVar[str] = "an exact draw under a ridge that serves new rows"

    def plan(self, request: Request) -> RegularisedPlan:
        """See :class:`Mechanism`."""
        return plan_regularised(request.constants, request.domain, epsilon=_share(request))

    def why_not(self, request: Request) -> str:
        """Decline where the loss has a ridge already."""
        return "chooses the ridge itself: needs ridge = 0" if request.ridge > 0 else ""

    def why(self, one: OneModelPlan) -> str:
        """Say what it is made for: a promise on rows that were not seen."""
        assert isinstance(one, RegularisedPlan)
        return f"pure DP; mean excess on new rows at most {rounded_up(one.population_bound)}"


def _share(request: Request) -> float:
    return request.epsilon / request.n_draws
