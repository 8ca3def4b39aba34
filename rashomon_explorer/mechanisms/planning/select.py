"""Selection of a mechanism for a request, from public numbers only."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, cast

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import duration_text, hit_rate_text, rounded_up
from rashomon_explorer._utils.validation import plain_number
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import Mechanism
from rashomon_explorer.mechanisms.planning.options import AUTO, cost, resolve_auto
from rashomon_explorer.mechanisms.planning.plan import Plan, pass_seconds
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS, mechanism_traits
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan, with_scaling_cost
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.planning.weakness import WEAK_HIT_RATE
from rashomon_explorer.mechanisms.request import GDP, Offer, Request
from rashomon_explorer.mechanisms.samplers import feasibility
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.problem.losses import get_loss

GOALS = ("rows", "population")
"""Rows on which the excess loss of one model is bounded: those given, or new ones."""


def cached_plan(mechanism: str, **settings: Any) -> Plan:
    """Plan a mechanism, with a cache; does not warn."""
    kind: Any = MECHANISMS[mechanism]  # a class is hashable, whatever mypy says of its __hash__
    return _cached_plan(kind, mechanism, **settings)


@lru_cache(maxsize=64, typed=True)
def _cached_plan(kind: type[Mechanism], mechanism: str, **settings: Any) -> Plan:
    if why := kind.unsuited(Request(**{**settings, **_open(settings, _ANY)})):
        raise SamplerError(
            f"mechanism={mechanism!r} does not apply: {why}. Nothing was charged; "
            'mechanism="auto" selects one that does'
        )
    with suppress_weak_warnings():  # the caller warns, also if the plan is cached
        return kind.plan_for(_settled(kind, settings))


def _settled(kind: type[Mechanism], settings: dict[str, Any]) -> Request:
    return resolve_auto(kind, **settings) if AUTO in settings.values() else Request(**settings)


_MANY = 0.5
"""Guaranteed hit rate from which uniform draws on the set are preferred to a higher hit rate"""

_LONGEST_COEFFICIENT = 32.0  # of draws without privacy, in units of rows scaled to row_norm

_FEW_SECONDS = 5.0
"""Seconds of one core below which less work is no reason to choose."""

_NEAR = 1.05
"""Expected loss, as a multiple of the least, up to which candidates count as equally good."""

_ANY = {"radius": 1.0, "ridge": 0.0, "n_draws": 1}
_SMALLER = (16.0, 8.0, 4.0, 2.0, 1.0)


@dataclass(frozen=True)
class MechanismCandidate:
    """The offer of a mechanism, and the loss that the rule expects of it."""

    offer: Offer
    cost: float
    in_chunks: bool = False

    @property
    def may_give_up(self) -> bool:
        """Whether its draws may fail."""
        return mechanism_traits(self.offer.name).may_give_up

    @property
    def plan(self) -> Plan:
        """Plan of a candidate that applies."""
        assert self.offer.plan is not None
        return self.offer.plan

    @property
    def seconds(self) -> float:
        """Seconds of one core for the mechanism's work, and for its passes over chunked rows."""
        plan = self.plan
        passes = plan.passes * pass_seconds(plan.n, plan.p) if self.in_chunks else 0.0
        return max(passes + plan.memory_seconds, _FEW_SECONDS)

    @property
    def around_the_set(self) -> bool:
        """Whether its draws lie around a model whose mean excess is guaranteed to be within ψ."""
        centre = self.plan.centre_excess
        return centre is not None and centre <= self.plan.psi

    @property
    def hopeless(self) -> bool:
        """Whether its draws fail on simulated rows."""
        return self.may_give_up and feasibility.is_hopeless(self.plan)

    @property
    def why_not(self) -> str:
        """Reason why the candidate is not selected."""
        return (
            feasibility.infeasibility_message(self.plan) if self.offer.applies else self.offer.why
        )


def select(*, mechanism: str = AUTO, goal: str = "rows", **settings: Any) -> Plan:
    """Plan by a mechanism, or by the best one for the goal; reads no row, charges nothing.

    Other arguments are the fields of a :class:`Request`, of which radius, ridge and n_draws may be
    "auto".
    """
    # A bound in single precision would reduce the precision of all results.
    plain = {name: plain_number(value) for name, value in settings.items()}
    if mechanism != AUTO:
        return _named(mechanism, **plain)
    kinds = ((name, MECHANISMS[name]) for name in MECHANISMS)
    return _best(goal, tuple(one for one in kinds if one[1].traits.compared), **plain)


@lru_cache(maxsize=64, typed=True)
def _best(goal: str, compared: tuple[tuple[str, type[Mechanism]], ...], **settings: Any) -> Plan:
    with suppress_weak_warnings():  # the caller warns
        candidates = [_candidate(name, goal, settings) for name, _ in compared]
        candidates.sort(key=_rank)
        best = candidates[0]
        candidates = _break_ties(candidates)
        for candidate in chain(candidates, _in_smaller_balls(candidates, goal, settings)):
            if candidate.offer.applies and not candidate.hopeless:
                why = _why(candidate, goal, best if candidate is candidates[0] else candidate)
                return replace(
                    candidate.plan,
                    why="; ".join(filter(None, (why, candidate.plan.why))),
                    options=tuple(one.offer for one in candidates),
                )
        reasons = "; ".join(f"{one.offer.name}: {one.why_not}" for one in candidates)
    raise SamplerError(
        f"no mechanism is expected to succeed, so nothing was charged. {reasons}. "
        'To try one nevertheless, name it: mechanism="exact", patience=5_000_000'
    )


def _named(name: str, **settings: Any) -> Plan:
    """Plan a named mechanism, in the default ball or a smaller one in which draws are likely."""
    traits = MECHANISMS[name].traits
    settings = {**settings, **_open(settings, {"ridge": 0.0})}
    if traits.curator_only and traits.stays_inside:
        settings = {
            **settings,
            **_open(settings, {"radius": _LONGEST_COEFFICIENT * settings["p"] ** 0.5}),
        }
    planned = cached_plan(name, **settings)
    assert planned.radius is not None  # every mechanism states the ball of its plan
    if settings["radius"] != AUTO or not traits.may_give_up or feasibility.is_likely(planned):
        return planned
    for radius in (R for R in _SMALLER if R < planned.radius):
        smaller = cached_plan(name, **{**settings, "radius": radius})
        if feasibility.is_likely(smaller):
            why = (
                f"in the default ball, of radius {planned.radius:.4g}, draws are expected to "
                f"fail: this is the largest of a few smaller balls in which they are not"
            )
            return replace(smaller, mechanism=name, why=why)
    return planned


def is_about_one(planned: Plan) -> bool:
    """Whether the plan is for one good model, not for the set."""
    return planned.n_draws == 1 or planned.psi == 0


def _candidate(name: str, goal: str, settings: dict[str, Any]) -> MechanismCandidate:
    """Fill in a request by the default rule, and return a mechanism's offer for it."""
    kind = MECHANISMS[name]
    probe = kind.offer(Request(**{**settings, **_open(settings, _ANY)}))
    if probe.plan is None:
        return MechanismCandidate(probe, math.inf)
    kind = kind.narrowed(probe.plan)
    if kind.traits.may_give_up:  # a ridge changes the set: only on request
        settings = {**settings, **_open(settings, {"ridge": 0.0})}
    request = _settled(kind, settings)
    offer = kind.offer(request)
    if offer.plan is None:
        return MechanismCandidate(offer, math.inf)
    named = replace(offer, plan=replace(offer.plan, mechanism=name))
    return MechanismCandidate(named, cost(name, offer.plan, goal), request.in_chunks)


def _open(settings: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in defaults.items() if settings[name] == AUTO}


def _in_smaller_balls(
    candidates: list[MechanismCandidate], goal: str, settings: dict[str, Any]
) -> Iterator[MechanismCandidate]:
    """Candidates of exact draws in smaller balls than the default, where they may succeed."""
    if settings["radius"] == AUTO:
        found = (one for one in candidates if one.may_give_up and one.offer.applies)
        for candidate in islice(found, 1):
            largest = candidate.plan.radius
            for radius in (R for R in _SMALLER if largest is not None and R < largest):
                yield _candidate(candidate.offer.name, goal, {**settings, "radius": radius})


_BY_COST = 3


def _rank(candidate: MechanismCandidate) -> tuple[Any, ...]:
    offer = candidate.offer
    if not offer.applies:
        return (4,)
    if not is_about_one(candidate.plan):
        if offer.uniform and offer.hit_rate >= _MANY:
            return (0, candidate.may_give_up, -offer.hit_rate)
        if offer.hit_rate >= WEAK_HIT_RATE:
            return (1, -_two_digits(offer.hit_rate), candidate.may_give_up)
        if candidate.around_the_set:
            return (2, candidate.plan.centre_excess)
    return (_BY_COST, candidate.may_give_up, candidate.cost)


def _break_ties(candidates: list[MechanismCandidate]) -> list[MechanismCandidate]:
    """Move to the front, of those about as good as the first, the one with the least work.

    Of a set the one with the least proved excess: what is expected of its draws is less certain.
    """
    rank = _rank(candidates[0])
    if rank[0] != _BY_COST or not math.isfinite(rank[2]):
        return candidates
    near = [one for one in candidates if _rank(one)[:2] == rank[:2] and one.cost <= _NEAR * rank[2]]
    one_model = is_about_one(candidates[0].plan)
    best = min(near, key=lambda one: one.seconds if one_model else one.plan.weighed_excess)
    return [best, *(one for one in candidates if one is not best)]


def _two_digits(value: float) -> float:
    """Round to two significant digits before ranking."""
    return float(f"{value:.2g}") if math.isfinite(value) else value


def _why(candidate: MechanismCandidate, goal: str, best: MechanismCandidate) -> str:
    offer = candidate.offer
    success = "they are expected to succeed, except on unusual rows"
    success = success if candidate.may_give_up else "it never gives up"
    if not is_about_one(candidate.plan) and offer.hit_rate >= WEAK_HIT_RATE:
        around = candidate.plan.centre_excess is not None
        concentrated = "on a released ellipsoid" if around else "concentrated near the best model"
        where = "uniformly" if offer.uniform else concentrated
        hits = f"at least {hit_rate_text(offer.hit_rate)} of the draws lie in the set, {where}"
        return f"{hits}; {success}"
    if not is_about_one(candidate.plan) and candidate.around_the_set:
        near = rounded_up(cast(float, candidate.plan.centre_excess))
        return (
            f"the draws lie around a model whose excess is guaranteed to be at most {near}, "
            f"within ψ; no hit rate is proved; {success}"
        )
    if is_about_one(candidate.plan):
        new = " on new rows" if goal == "population" else ""
        if best.offer.applies and candidate.seconds < best.seconds:
            quick, long = (
                f"{duration_text(one.seconds)} of one core and {one.plan.passes:,.0f} passes over "
                "the rows"
                for one in (candidate, best)
            )
            return (
                f"one model; its expected loss{new} is within 5 % of that of {best.offer.name}, in "
                f"{quick} instead of {long}; {success}"
            )
        return f"one model; this mechanism has the lowest expected loss{new}; {success}"
    return f"no mechanism guarantees a hit rate; this one has the lowest expected loss; {success}"


PRIVATE = "private"
"""Requests private centres and spreads, also where the default omits them."""

_LEAST = 1e-3  # least share of ε that remains for draws
_HALVINGS = 12


def wants_private_scaling(
    standardize: str | None,
    mechanism: str,
    planned: Plan,
    scaling: ColumnsPlan,
    *,
    shares: tuple[float, float] | None = None,
) -> bool:
    """Whether private centres and spreads are part of the plan."""
    if standardize != AUTO:
        return standardize == PRIVATE
    regression = get_loss(planned.loss).link == "identity"
    useful = scaling.improves(regression=regression, shares=shares)
    return mechanism == AUTO and is_about_one(planned) and useful


def plan_with_private_scaling(
    scaling: ColumnsPlan, unscaled: Guarantee, make: Callable[[float, float], Plan]
) -> Plan:
    """Plan draws with the (ε, δ) that remains after private centres and spreads.

    Draws that spend all of δ by themselves leave none to a Gaussian release: halves come first.
    """
    others = [replace(scaling, halved=True), replace(scaling, pure=True)]
    others = others if scaling.gaussian else []
    kinds = [scaling, *(kind for kind in others if kind.pure or not scaling.ledger)]
    if unscaled.approximate_delta > 0:
        kinds.sort(key=lambda kind: not kind.halved)

    def plan_at(kind: ColumnsPlan, epsilon: float) -> Plan:
        return _with_scaling(kind, make(epsilon, kind.left_delta))

    if not unscaled.holds:  # draws for the curator only
        return plan_at(scaling, scaling.left)

    def affords(kind: ColumnsPlan, epsilon: float) -> bool:
        return _affordable(kind, plan_at(kind, epsilon).guarantee)

    for kind in kinds:
        if affords(kind, kind.left):
            return plan_at(kind, kind.left)
    for kind in kinds:
        least = _LEAST * kind.epsilon
        if affords(kind, least):
            left = bisect(partial(affords, kind), least, kind.left, halvings=_HALVINGS)
            return plan_at(kind, left)
    raise ValueError(
        "no privacy cost of draws composes with that of the columns within the "
        "budget: use standardize=None"
    )


def _affordable(scaling: ColumnsPlan, total: Guarantee) -> bool:
    if scaling.ledger == GDP:
        return Totals(accounting=GDP).plus(total).epsilon(scaling.delta) <= scaling.epsilon
    if not scaling.ledger:
        return total.epsilon(scaling.delta) <= scaling.epsilon
    return adaptive_epsilon([total], scaling.delta, order=scaling.order) <= scaling.epsilon


def _with_scaling(scaling: ColumnsPlan, planned: Plan) -> Plan:
    """Plan of the draws with the private centres and spreads, and the cost of both."""
    total = with_scaling_cost(scaling, planned.guarantee)
    epsilon, delta = scaling.epsilon, scaling.delta
    return replace(planned, columns=scaling, guarantee=total, epsilon=epsilon, delta=delta)
