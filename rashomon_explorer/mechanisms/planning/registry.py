"""Registry of the mechanisms for several draws that the planner compares."""

import math
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from rashomon_explorer._utils.lazy import LazyRegistry
from rashomon_explorer.mechanisms.bounds.hit_rate import unthresholded_hit_rate
from rashomon_explorer.mechanisms.ellipsoid.exact_plan import (
    EllipsoidExactPlan,
    plan_ellipsoid_exact,
)
from rashomon_explorer.mechanisms.ellipsoid.plan import EllipsoidPlan, plan_ellipsoid
from rashomon_explorer.mechanisms.langevin.plan import (
    ClippedPathPlan,
    PathPlan,
    plan_clipped_path,
    plan_path,
)
from rashomon_explorer.mechanisms.objective_perturbation.plan import (
    ObjectivePerturbationPlan,
    plan_objective_perturbation,
)
from rashomon_explorer.mechanisms.planning.offers import ZCDP, Mechanism, Offer, Request, declined
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.problem.losses import clipped, get_loss

P = TypeVar("P", bound=Plan)


class Exact:
    """Exact draws from the thresholded law, certified by bounded range only."""

    name: ClassVar[str] = "exact"
    instead: ClassVar[str] = ""
    draws: ClassVar[str] = "an exact draw from the thresholded law"
    uniform: ClassVar[bool] = True

    def plan(self, request: Request) -> Plan:
        """See :class:`Mechanism`."""
        return plan(**request.numbers)

    def offer(self, request: Request) -> Offer:
        """See :class:`Mechanism`."""
        bought = self.plan(request)
        return _offered(self, bought, why=bought.certificate, hit_rate=bought.hit_rate_bound)


class ExactBest(Exact):
    """Exact draws from the thresholded law, certified by the best certificate that applies."""

    name: ClassVar[str] = "exact_best"
    instead: ClassVar[str] = "exact"

    def plan(self, request: Request) -> Plan:
        """See :class:`Mechanism`."""
        return _by_the_best(request)

    def offer(self, request: Request) -> Offer:
        """Decline if this equals ``"exact"``."""
        if request.ledger == ZCDP:
            return declined(self, "a ledger without a Rényi order accepts bounded range only")
        bought = self.plan(request)
        if bought.by_bounded_range:
            return declined(
                self,
                "no certificate is better than bounded range: it needs more ridge, and delta > 0",
            )
        return _offered(self, bought, why=bought.certificate, hit_rate=bought.hit_rate_bound)


class Unthresholded:
    """Exact draws at ψ = 0: β·excess is at most a Gamma(p) variable (docs/theory.md §2)."""

    name: ClassVar[str] = "unthresholded"
    instead: ClassVar[str] = ""
    draws: ClassVar[str] = "an exact draw at ψ = 0"
    uniform: ClassVar[bool] = False

    def plan(self, request: Request) -> Plan:
        """See :class:`Mechanism`."""
        bought = _by_the_best(replace(request, psi=0.0))
        within = unthresholded_hit_rate(request.p, bought.beta, request.psi)
        return _of_the_set(bought, request, within)

    def offer(self, request: Request) -> Offer:
        """See :class:`Mechanism`."""
        bought = self.plan(request)
        return _offered(self, bought, why=bought.certificate, hit_rate=bought.hit_rate_bound)


class Path:
    """Noisy gradient chains with the smooth threshold; no hit rate is known."""

    name: ClassVar[str] = "path"
    instead: ClassVar[str] = ""
    draws: ClassVar[str] = "the average of a Langevin chain"
    uniform: ClassVar[bool] = False

    def plan(self, request: Request) -> PathPlan:
        """See :class:`Mechanism`."""
        return plan_path(**request.numbers)

    def offer(self, request: Request) -> Offer:
        """See :class:`Mechanism`."""
        if not request.delta > 0:
            return declined(self, "needs delta > 0")
        if not math.isfinite(request.constants.M):
            return declined(self, "the loss has kinks, and no largest stable step")
        bought = self.plan(request)
        return _offered(
            self,
            bought,
            why="every state is accounted for",
            hit_rate=bought.hit_rate_bound,
            n_steps=bought.n_steps,
            time=bought.n_steps * bought.step_size,
        )


class PathAverage(Path):
    """The chains at ψ = 0; Markov's inequality on the expected excess gives the hit rate."""

    name: ClassVar[str] = "path_average"
    draws: ClassVar[str] = "the average of a Langevin chain at ψ = 0"

    def plan(self, request: Request) -> PathPlan:
        """See :class:`Mechanism`."""
        bought = plan_path(**{**request.numbers, "psi": 0.0})
        within = max(0.0, 1 - bought.excess_bound / request.psi) if request.psi else 0.0
        return replace(_of_the_set(bought, request, within), mechanism="langevin_average")


class PathClipped(Path):
    """Chains at ψ = 0 on the loss with clipped slopes; only the clipped loss has a bound."""

    name: ClassVar[str] = "path_clipped"
    draws: ClassVar[str] = "the average of a Langevin chain with clipped slopes"

    def plan(self, request: Request) -> ClippedPathPlan:
        """See :class:`Mechanism`."""
        return plan_clipped_path(**request.numbers)

    def offer(self, request: Request) -> Offer:
        """Decline losses without a clipped form."""
        if clipped(get_loss(request.loss)) is None:
            return declined(self, "needs logistic or squared loss")
        return super().offer(request)


class ObjectivePerturbationMechanism:
    """Objective perturbation: the sampler always returns a model, also under pure DP."""

    name: ClassVar[str] = "objective_perturbation"
    instead: ClassVar[str] = ""
    draws: ClassVar[str] = "the minimiser of a randomly perturbed objective"
    uniform: ClassVar[bool] = False

    def plan(self, request: Request) -> ObjectivePerturbationPlan:
        """See :class:`Mechanism`."""
        return plan_objective_perturbation(**{**request.numbers, "ledger": request.ledger})

    def offer(self, request: Request) -> Offer:
        """See :class:`Mechanism`."""
        if not math.isfinite(request.constants.M):
            return declined(self, "the loss has kinks, where the perturbation has no density")
        if request.ledger and request.delta > 0 and not self._counted(request):
            return declined(self, "pure DP costs more in zCDP, which the ledger composes")
        try:
            bought = self.plan(request)
        except ValueError:
            return declined(self, "needs a larger epsilon, fewer draws or more rows")
        why = "Gaussian noise" if bought.gaussian else "pure DP"
        return _offered(self, bought, why=why, hit_rate=bought.hit_rate_bound)

    def _counted(self, request: Request) -> bool:
        """Whether a ledger with δ composes Gaussian objective perturbation."""
        return request.cost_at_order is not None and get_loss(request.loss).outputs == 1


class Ellipsoid:
    """A private centre and Hessian, released once; models drawn near them cost nothing more."""

    name: ClassVar[str] = "ellipsoid"
    instead: ClassVar[str] = ""
    draws: ClassVar[str] = "a uniform model of a private ellipsoid, one privacy cost for any number"
    # Uniform on the ellipsoid, and so on the part of the set inside it, not on the whole set.
    uniform: ClassVar[bool] = False
    why: ClassVar[str] = "a centre and its Hessian are accounted for"

    def plan(self, request: Request) -> EllipsoidPlan:
        """See :class:`Mechanism`."""
        return plan_ellipsoid(**request.numbers)

    def offer(self, request: Request) -> Offer:
        """See :class:`Mechanism`."""
        if not request.delta > 0:
            return declined(self, "needs delta > 0")
        if not math.isfinite(request.constants.M):
            return declined(self, "the loss has kinks, and no Hessian")
        bought = self.plan(request)
        return _offered(self, bought, why=self.why, hit_rate=bought.hit_rate_bound)


class EllipsoidExact(Ellipsoid):
    """A private ellipsoid and exact draws on it; each draw has a privacy cost."""

    name: ClassVar[str] = "ellipsoid_exact"
    draws: ClassVar[str] = "an exact draw on a private ellipsoid"
    why: ClassVar[str] = "an ellipsoid and each draw on it are accounted for"

    def plan(self, request: Request) -> EllipsoidExactPlan:
        """See :class:`Mechanism`."""
        return plan_ellipsoid_exact(**request.numbers)


_PAPERS = "rashomon_explorer.papers.localisation"

# Samplers name a mechanism in their traits. Strings are statements of papers, listed as options.
MECHANISMS: LazyRegistry[Mechanism] = LazyRegistry(
    {
        "exact": Exact(),
        "exact_best": ExactBest(),
        "unthresholded": Unthresholded(),
        "localisation": f"{_PAPERS}:Localisation",
        "iterated": f"{_PAPERS}:IteratedMechanism",
        "regularised": f"{_PAPERS}:RegularisedMechanism",
        "path": Path(),
        "path_average": PathAverage(),
        "path_clipped": PathClipped(),
        "objective_perturbation": ObjectivePerturbationMechanism(),
        "ellipsoid": Ellipsoid(),
        "ellipsoid_exact": EllipsoidExact(),
    },
    instances=True,
)


def _by_the_best(request: Request) -> Plan:
    # A certificate improves only with a ridge and δ; a ledger without an order leaves no δ.
    gains = request.ridge > 0 and request.delta > 0 and request.ledger != ZCDP
    return plan(**request.numbers, certificate="best" if gains else "oscillation")


def _of_the_set(bought: P, request: Request, hit_rate: float) -> P:
    """Restate a plan of draws at ψ = 0 for the set at ψ, with the hit rate there."""
    return replace(bought, psi=request.psi, law_psi=0.0, hit_rate_bound=hit_rate)


def _offered(mechanism: Mechanism, bought: Plan, **said: Any) -> Offer:
    return Offer(
        mechanism.name,
        mechanism.draws,
        mechanism.uniform,
        plan=bought,
        beta=bought.beta,
        excess=bought.excess_bound,
        guarantee=bought.guarantee,
        **said,
    )
