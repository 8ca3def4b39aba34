"""Selection of a mechanism for a fit."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import hit_rate_text, rounded_up
from rashomon_explorer.estimators.feasibility import (
    ALWAYS_CAME,
    infeasibility_message,
    is_hopeless,
    is_likely,
    is_tried,
    tried_on_simulated_rows,
)
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.localisation.plan import LocalisationPlan
from rashomon_explorer.mechanisms.one_model.base import ModelOffer
from rashomon_explorer.mechanisms.one_model.plan import ModelPlan, auto_radius
from rashomon_explorer.mechanisms.one_model.registry import METHODS
from rashomon_explorer.mechanisms.planning.offers import Offer, Request
from rashomon_explorer.mechanisms.planning.options import AUTO, cost, resolve_auto
from rashomon_explorer.mechanisms.planning.plan import Plan, PublicLaw
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan, with_scaling_cost
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.planning.weakness import WEAK_HIT_RATE
from rashomon_explorer.mechanisms.samplers.feasibility import is_infeasible, is_infeasible_on_ball
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS
from rashomon_explorer.privacy import adaptive_epsilon
from rashomon_explorer.problem.losses import get_loss

GOALS = {"rows": "on the rows", "population": "on new rows"}
"""Rows on which the excess loss is bounded, in words."""

_ALIKE = 1.1  # bounds within a tenth count as equal: they exceed actual losses many times over


@lru_cache(maxsize=64, typed=True)
def planned_model(*, mechanism: str, goal: str, radius: float | str, **asked: Any) -> ModelPlan:
    """Plan one model by a mechanism, or by the one with the best bound; reads no row."""
    given = 1.0 if isinstance(radius, str) else float(radius)
    # A bound in single precision would reduce the precision of all results.
    plain: dict[str, Any] = {
        name: float(x) if isinstance(x, np.floating) else x for name, x in asked.items()
    }
    request = Request(**plain, radius=given, psi=0.0, n_draws=1)
    if radius == AUTO:
        request = replace(request, radius=auto_radius(request))
    offers = {name: one.offer(request) for name, one in METHODS.compared().items()}
    if mechanism == AUTO:
        taken, why = _best(request, list(offers.values()), goal)
    else:
        named = offers[mechanism] if mechanism in offers else METHODS[mechanism].offer(request)
        taken, why = _named(named, request)
    return ModelPlan(request, taken, goal, why, tuple(offers.values()))


def _named(offer: ModelOffer, request: Request) -> tuple[ModelOffer, str]:
    name = offer.name
    if not offer.applies:
        raise SamplerError(
            f"mechanism={name!r} does not apply: {offer.why}. Nothing was charged; "
            'mechanism="auto" selects one that does'
        )
    if told := _infeasible_message(offer, request):
        raise SamplerError(
            f"{told}, so nothing was charged for mechanism={name!r}; "
            'mechanism="auto" selects one that is expected to succeed'
        )
    return offer, "it was requested"


def _infeasible_message(offer: ModelOffer, request: Request) -> str:
    """Message if draws of a named mechanism fail on all simulated rows; empty otherwise."""
    none = "exact draws failed on all kinds of simulated rows that were tried"
    if offer.exact is not None:
        away = is_tried(offer.exact) and is_infeasible(offer.exact)
        return f"{tried_on_simulated_rows(offer.exact)} So {none}" if away else ""
    if not offer.may_give_up or request.p <= ALWAYS_CAME:
        return ""
    planned: LocalisationPlan = offer.settings
    law = PublicLaw(
        get_loss(request.loss),
        *(request.n, request.p, request.psi, request.radius, request.row_norm, offer.ridge),
    )
    whole = (stage.beta for stage in planned.stages if math.isinf(stage.distance))
    return none if any(is_infeasible_on_ball(law, float(beta)) for beta in whole) else ""


def _best(request: Request, offers: list[ModelOffer], goal: str) -> tuple[ModelOffer, str]:
    good, _ = _good(offers, goal)
    if not good:
        _, hopes = _good([one.offer(request) for one in METHODS.values()], goal)
        told = "; ".join(f"{name}: {why}" for name, why in hopes.items())
        raise SamplerError(f"no mechanism is expected to succeed, so nothing was charged. {told}")
    order = list(METHODS)
    taken = min(good, key=lambda one: (one.may_give_up, order.index(one.name)))
    alike = "" if taken is good[0] else ", or within a tenth of it"
    comes = "it never gives up"
    if taken.may_give_up:
        comes = "it is expected to succeed, except on unusual rows"
    least = f"the smallest excess bound {GOALS[goal]} of any mechanism{alike}"
    if taken.looseness > 1:
        least = f"{least}, where its own bound counts for {1 / taken.looseness:.0%} of itself"
    return taken, f"{least}, {rounded_up(taken.bound(goal))}; {comes}"


def _good(offers: list[ModelOffer], goal: str) -> tuple[list[ModelOffer], dict[str, str]]:
    """Candidates near the best bound that are expected to succeed, and reasons against others."""
    hopes: dict[str, str] = {one.name: one.why for one in offers if not one.applies}
    good: list[ModelOffer] = []
    for one in sorted(offers, key=lambda one: one.weighed(goal)):
        if not one.applies or (good and one.weighed(goal) > _ALIKE * good[0].weighed(goal)):
            continue
        hopes[one.name] = _hopeless(one)
        if not hopes[one.name]:
            good.append(one)
    return good, hopes


def _hopeless(offer: ModelOffer) -> str:
    """Reason why a mechanism is expected to fail; empty if it is not."""
    if not offer.may_give_up:
        return ""
    if offer.exact is not None:
        return tried_on_simulated_rows(offer.exact)
    planned: LocalisationPlan = offer.settings
    if planned.p <= ALWAYS_CAME and math.isfinite(planned.stages[0].distance):
        return ""
    return "exact draws near a release are predicted only for few parameters and small balls"


@lru_cache(maxsize=64, typed=True)
def cached_plan(mechanism: str, **asked: Any) -> Plan:
    """Plan a mechanism, with a cache; does not warn."""
    with suppress_weak_warnings():  # the caller warns, also if the plan is cached
        settled = resolve_auto(mechanism, **asked) if AUTO in asked.values() else Request(**asked)
        planned: Plan = MECHANISMS[mechanism].plan(settled)
    return planned


_MANY = 0.5
"""Guaranteed hit rate from which uniform draws on the set are preferred to a higher hit rate"""

_LONGEST_COEFFICIENT = 32.0  # of draws without privacy, in units of rows scaled to row_norm

_ANY = {"radius": 1.0, "ridge": 0.0, "n_draws": 1}
_SMALLER = (16.0, 8.0, 4.0, 2.0, 1.0)


@dataclass(frozen=True)
class MechanismCandidate:
    """A mechanism, and its candidate for a request."""

    mechanism: str
    offer: Offer
    cost: float

    @property
    def may_give_up(self) -> bool:
        """Whether its draws may fail."""
        return SAMPLERS[self.mechanism].traits.may_give_up

    @property
    def around_the_set(self) -> bool:
        """Whether its draws lie around a model whose mean excess is guaranteed to be within ψ."""
        centre = self.offer.plan.centre_excess
        return centre is not None and centre <= self.offer.plan.psi

    @property
    def hopeless(self) -> bool:
        """Whether its draws fail on simulated rows."""
        return self.may_give_up and is_hopeless(self.offer.plan)

    @property
    def why_not(self) -> str:
        """Reason why the candidate is not selected."""
        return infeasibility_message(self.offer.plan) if self.offer.applies else self.offer.why


@lru_cache(maxsize=64, typed=True)
def select_mechanism(**asked: Any) -> Plan:
    """Select a mechanism from public numbers, and plan it; reads no row, charges nothing."""
    with suppress_weak_warnings():  # the caller warns
        ways = [
            _candidate(name, asked)
            for name, kind in SAMPLERS.compared().items()
            if kind.traits.weighed
        ]
        ways.sort(key=_rank)
        for way in chain(ways, _in_smaller_balls(ways, asked)):
            if way.offer.applies and not way.hopeless:
                return _taken(way, ways)
        told = "; ".join(f"{way.mechanism}: {way.why_not}" for way in ways)
    raise SamplerError(
        f"no mechanism is expected to succeed, so nothing was charged. {told}. "
        'To try one nevertheless, name it: mechanism="exact", patience=5_000_000'
    )


def plan_named(name: str, **asked: Any) -> Plan:
    """Plan a named mechanism, in the default ball or a smaller one in which draws are likely."""
    traits = SAMPLERS[name].traits
    asked = {**asked, **_open(asked, {"ridge": 0.0})}
    if traits.curator_only and traits.stays_inside:
        asked = {**asked, **_open(asked, {"radius": _LONGEST_COEFFICIENT * asked["p"] ** 0.5})}
    planned = cached_plan(traits.mechanism, **asked)
    assert planned.radius is not None  # every mechanism states the ball of its plan
    if asked["radius"] != AUTO or not traits.may_give_up or is_likely(planned):
        return planned
    for radius in (R for R in _SMALLER if R < planned.radius):
        smaller = cached_plan(traits.mechanism, **{**asked, "radius": radius})
        if is_likely(smaller):
            why = (
                f"in the default ball, of radius {planned.radius:.4g}, draws are expected to "
                f"fail: this is the largest of a few smaller balls in which they are not"
            )
            return replace(smaller, mechanism=name, why=why)
    return planned


def is_about_one(planned: Plan) -> bool:
    """Whether the plan is for one good model, not for the set."""
    return planned.n_draws == 1 or planned.psi == 0


def _taken(way: MechanismCandidate, ways: list[MechanismCandidate]) -> Plan:
    offers = tuple(one.offer for one in ways)
    planned: Plan = replace(way.offer.plan, mechanism=way.mechanism, why=_why(way), options=offers)
    return planned


def _candidate(name: str, asked: dict[str, Any]) -> MechanismCandidate:
    """Fill in the request of a mechanism by the default rule, and return its candidate."""
    traits = SAMPLERS[name].traits
    mechanism = traits.mechanism
    probe = MECHANISMS[mechanism].offer(Request(**{**asked, **_open(asked, _ANY)}))
    if not probe.applies and not MECHANISMS[mechanism].instead:
        return MechanismCandidate(name, probe, math.inf)
    if not probe.applies:
        mechanism = MECHANISMS[mechanism].instead
    if traits.may_give_up:  # a ridge changes the set: only on request
        asked = {**asked, **_open(asked, {"ridge": 0.0})}
    request = resolve_auto(mechanism, **asked) if AUTO in asked.values() else Request(**asked)
    offer = MECHANISMS[mechanism].offer(request)
    return MechanismCandidate(name, offer, cost(mechanism, offer.plan))


def _open(asked: dict[str, Any], taken: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in taken.items() if asked[name] == AUTO}


def _in_smaller_balls(
    ways: list[MechanismCandidate], asked: dict[str, Any]
) -> Iterator[MechanismCandidate]:
    """Candidates of exact draws in smaller balls than the default, where they may succeed."""
    if asked["radius"] == AUTO:
        found = (way for way in ways if way.may_give_up and way.offer.applies)
        for way in islice(found, 1):
            largest = way.offer.plan.radius
            for radius in (R for R in _SMALLER if R < largest):
                yield _candidate(way.mechanism, {**asked, "radius": radius})


def _rank(way: MechanismCandidate) -> tuple[Any, ...]:
    offer = way.offer
    if not offer.applies:
        return (4,)
    if not is_about_one(offer.plan):
        if offer.uniform and offer.hit_rate >= _MANY:
            return (0, way.may_give_up, -offer.hit_rate)
        if offer.hit_rate >= WEAK_HIT_RATE:
            return (1, -_two_digits(offer.hit_rate), way.may_give_up)
        if way.around_the_set:
            return (2, offer.plan.centre_excess)
    return (3, way.may_give_up, way.cost)


def _two_digits(value: float) -> float:
    """Round to two significant digits before ranking."""
    return float(f"{value:.2g}") if math.isfinite(value) else value


def _why(way: MechanismCandidate) -> str:
    offer = way.offer
    comes = "they are expected to succeed, except on unusual rows"
    comes = comes if way.may_give_up else "it never gives up"
    if not is_about_one(offer.plan) and offer.hit_rate >= WEAK_HIT_RATE:
        around = offer.plan.centre_excess is not None
        crowded = "on a released ellipsoid" if around else "crowded near the best model"
        where = "uniformly" if offer.uniform else crowded
        hits = f"at least {hit_rate_text(offer.hit_rate)} of the draws lie in the set, {where}"
        return f"{hits}; {comes}"
    if not is_about_one(offer.plan) and way.around_the_set:
        near = rounded_up(offer.plan.centre_excess)
        return (
            f"the draws lie around a model whose excess is guaranteed to be at most {near}, "
            f"within ψ; no hit rate is proved; {comes}"
        )
    if is_about_one(offer.plan):
        return f"one model; this mechanism has the lowest expected loss; {comes}"
    return f"no mechanism guarantees a hit rate; this one has the lowest expected loss; {comes}"


PRIVATE = "private"
"""Requests private centres and spreads, also where the default omits them."""

Planned = TypeVar("Planned", bound=Any)

_LEAST = 1e-3  # least share of ε that remains for draws
_HALVINGS = 12


def plan_with_private_scaling(
    paid: ColumnsPlan, make: Callable[[float, float], Planned]
) -> Planned:
    """Plan draws with the budget that remains after private centres and spreads."""
    others = [replace(paid, halved=True), replace(paid, pure=True)] if paid.gaussian else []
    kinds = [paid, *(kind for kind in others if kind.pure or not paid.ledger)]
    for kind in kinds:
        planned = make(kind.left, kind.left_delta)
        if _affordable(kind, planned):
            return _with(kind, planned)
    for kind in kinds:
        least = _LEAST * kind.epsilon
        if _affordable(kind, make(least, kind.left_delta)):
            left = bisect(_affords(kind, make), least, kind.left, halvings=_HALVINGS)
            return _with(kind, make(left, kind.left_delta))
    raise ValueError(
        "no privacy cost of draws composes with that of the columns within the "
        "budget: use standardize=None"
    )


def _affordable(paid: ColumnsPlan, planned: Any) -> bool:
    total = _with(paid, planned).guarantee
    if not paid.ledger:
        return total.epsilon(paid.delta) <= paid.epsilon
    cost = adaptive_epsilon([total], paid.delta, order=paid.order)
    return cost <= paid.epsilon


def _affords(paid: ColumnsPlan, make: Callable[[float, float], Any]) -> Callable[[float], bool]:
    return lambda epsilon: _affordable(paid, make(epsilon, paid.left_delta))


def _with(paid: ColumnsPlan, planned: Planned) -> Planned:
    """Combine both plans; a plan of one model composes its own guarantee."""
    both: Planned
    if not isinstance(planned, Plan):
        both = replace(planned, columns=paid)
        return both
    total = with_scaling_cost(paid, planned.guarantee)
    asked = paid.epsilon, paid.delta
    both = replace(planned, columns=paid, guarantee=total, epsilon=asked[0], delta=asked[1])
    return both


def wants_private_scaling(
    standardize: str | None, mechanism: str, planned: Plan, whole: ColumnsPlan
) -> bool:
    """Whether private centres and spreads are part of the plan."""
    if standardize == AUTO:
        return mechanism == AUTO and is_about_one(planned) and whole.improves_the_plan
    return standardize == PRIVATE
