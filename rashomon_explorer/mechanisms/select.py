"""Choice of a mechanism for a request, from public numbers: plan all, rank, simulate last."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any, TypeVar

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import duration_text, hit_rate_text, rounded_up
from rashomon_explorer._utils.validation import plain_number
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import Mechanism
from rashomon_explorer.mechanisms.plans import WEAK_HIT_RATE, Plan, Rejected, pass_seconds
from rashomon_explorer.mechanisms.private_scaling import ColumnsPlan, with_scaling_cost
from rashomon_explorer.mechanisms.registry import CORE_MECHANISMS, MECHANISMS, get_mechanism
from rashomon_explorer.mechanisms.request import AUTO, GDP, OpenRequest, Request
from rashomon_explorer.mechanisms.simulation import feasibility
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.problem.losses import Loss, get_loss

GOALS = ("rows", "population")
"""Rows on which the excess loss of one model is bounded: those given, or new ones."""

RADII = tuple(2.0 ** (k / 2) for k in range(11))
"""Radii that the rule chooses from: 1, which holds the constant model of any mean, to 32."""

REGRESSION_BALL = 0.05
"""Share of L(0)/R that a ball of radius R costs in a regression, on simulated tables."""

MOST_DRAWS = 20
"""Default number of draws of a set."""

LEAST_HITS = 0.8
"""Guaranteed hit rate of each draw that is required before more than one draw is taken."""

LEAST_RADIUS = 4.0
"""Least radius to which a ball is shrunk to improve a hit rate."""

# Smaller balls have smaller bounds, but relative to a worse best model. By default, several draws
# are taken only in a ball that costs almost no accuracy compared with one good model.
_LEAST_AROUND = 8.0
_LEAST_AROUND_BY_DEFAULT = 16.0
_COUNTS = (MOST_DRAWS, 10, 5)
_RIDGES = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)

_UNIFORM_HIT_RATE = 0.5
"""Guaranteed hit rate from which uniform draws on the set are preferred to a higher hit rate."""

_LONGEST_COEFFICIENT = 32.0  # of draws without privacy, in units of rows scaled to row_norm

_FEW_SECONDS = 5.0
"""Seconds of one core below which less work is no reason to choose."""

_COST_TOLERANCE = 1.05
"""Expected loss, as a multiple of the least, up to which candidates count as equally good."""

_ONE_MODEL_TOLERANCE = 0.0015
"""Share of L(0) by which the expected loss of one model may exceed that, to save seconds."""

_SMALLER_RADII = (16.0, 8.0, 4.0, 2.0, 1.0)

_UNIT = {"radius": 1.0, "ridge": 0.0, "n_draws": 1}


def select(
    *,
    mechanism: str = AUTO,
    goal: str = "rows",
    columns: ColumnsPlan | None = None,
    **settings: Any,
) -> Plan:
    """Plan by a mechanism, or by the best one for the goal; reads no row, charges nothing.

    ``columns``: private centres and spreads that are released before the draws. Other arguments
    are the fields of an :class:`OpenRequest`.
    """
    # A bound in single precision would reduce the precision of all results.
    request = OpenRequest(**{name: plain_number(value) for name, value in settings.items()})
    request.with_defaults(**_UNIT).closed().check()
    if mechanism == AUTO:
        compared = tuple(kind for kind in MECHANISMS.values() if kind.traits.compared)
        return _plan_auto(request, goal, compared, columns)
    named = partial(_plan_named, get_mechanism(mechanism))
    if columns is None:
        return named(request)
    planned = plan_beside_columns(columns, request, named)
    if isinstance(planned, Rejected):
        raise ValueError(planned.reason)
    return planned


@lru_cache(maxsize=64)
def _plan_auto(
    request: OpenRequest, goal: str, mechanisms: tuple[Mechanism, ...], columns: ColumnsPlan | None
) -> Plan:
    """Best plan by the rule of docs/planning.md."""
    whole = request
    if columns is not None:
        # All are compared at one share: of one model, at that of draws that need some of δ.
        one_model = request.n_draws == 1 or request.psi == 0
        share = replace(columns, halved=one_model and not columns.ledger)
        request = replace(request, epsilon=share.left, delta=share.left_delta)
    outcomes = [plan_open(mechanism, request) for mechanism in mechanisms]
    outcomes = [_with_more_hits(outcome, outcomes) for outcome in outcomes]
    many = request.n_draws == AUTO
    candidates = sorted(outcomes, key=partial(_rank, goal=goal, many=many))
    best = candidates[0]
    candidates = _break_ties(candidates, goal)
    for plan in chain(candidates, _in_smaller_balls(candidates, request)):
        if isinstance(plan, Plan) and not (_may_give_up(plan) and feasibility.is_hopeless(plan)):
            selected: Plan | Rejected = plan
            if columns is not None:
                ball = whole if plan in candidates else replace(whole, radius=plan.request.radius)
                again = partial(plan_open, get_mechanism(plan.mechanism))
                selected = plan_beside_columns(columns, ball, again)
            if isinstance(selected, Plan):
                rival = best if plan is candidates[0] and isinstance(best, Plan) else plan
                reasons = (_reason(selected, goal, rival), selected.reason)
                selected = replace(selected, reason="; ".join(filter(None, reasons)))
                compared = tuple(selected if outcome is plan else outcome for outcome in candidates)
                return replace(selected, candidates=compared)
    failures = "; ".join(f"{one.mechanism}: {reason_not_selected(one)}" for one in candidates)
    raise SamplerError(
        f"no mechanism is expected to succeed, so nothing was charged. {failures}. "
        'To try one nevertheless, name it: mechanism="exact", patience=5_000_000'
    )


def _with_more_hits(outcome: Plan | Rejected, rivals: list[Plan | Rejected]) -> Plan | Rejected:
    """Plan a path again for the share that another set of as many models guarantees, if it can."""
    if isinstance(outcome, Rejected) or is_about_one(outcome):
        return outcome
    mechanism = get_mechanism(outcome.mechanism)
    best = max(
        plan.hit_rate_bound
        for plan in rivals
        if isinstance(plan, Plan) and plan.n_draws >= outcome.n_draws
    )
    if not mechanism.traits.free_draws or outcome.hit_rate_bound >= best:
        return outcome
    again = mechanism.plan(replace(outcome.request, share=best))
    narrower = isinstance(again, Plan) and again.hit_rate_bound >= _ROUNDED * best
    return again if narrower else outcome


def compare(request: Request) -> tuple[Plan | Rejected, ...]:
    """Plans of all private mechanisms for one request, the best first, then the rejected."""
    outcomes: list[Plan | Rejected] = []
    for mechanism in map(MECHANISMS.__getitem__, CORE_MECHANISMS):
        traits = mechanism.traits
        if not traits.curator_only and not (request.n_draws > 1 and traits.one_model):
            reason = mechanism.why_not_compared(request)
            outcomes += [Rejected(mechanism.name, reason) if reason else mechanism.plan(request)]
    return tuple(sorted(outcomes, key=_guarantee_rank))


def _guarantee_rank(outcome: Plan | Rejected) -> tuple[bool, bool, float, float]:
    if isinstance(outcome, Rejected):
        return (True, True, 0.0, math.inf)
    uniform = bool(MECHANISMS[outcome.mechanism].traits.uniform_on) and outcome.hit_rate_bound > 0
    return (False, not uniform, -outcome.hit_rate_bound, outcome.excess_bound)


def _plan_named(mechanism: Mechanism, request: OpenRequest) -> Plan:
    """Plan by one mechanism, in the default ball or a smaller one in which draws are likely."""
    traits = mechanism.traits
    open_radius = request.radius == AUTO
    if reason := mechanism.why_unsupported(request.with_defaults(**_UNIT).closed()):
        raise SamplerError(
            f"mechanism={mechanism.name!r} does not apply: {reason}. Nothing was charged; "
            'mechanism="auto" selects one that does'
        )
    request = request.with_defaults(ridge=0.0)
    if traits.curator_only and traits.stays_inside:
        request = request.with_defaults(radius=_LONGEST_COEFFICIENT * request.p**0.5)
    plan = _planned(mechanism, resolve_auto(mechanism, request))
    if not open_radius or not traits.may_give_up or feasibility.is_likely(plan):
        return plan
    assert plan.radius is not None  # every mechanism states the ball of its plan
    for radius in (size for size in _SMALLER_RADII if size < plan.radius):
        smaller = _planned(mechanism, resolve_auto(mechanism, replace(request, radius=radius)))
        if feasibility.is_likely(smaller):
            reason = (
                f"in the default ball, of radius {plan.radius:.4g}, draws are expected to "
                f"fail: this is the largest of a few smaller balls in which they are not"
            )
            return replace(smaller, reason=reason)
    return plan


def plan_open(mechanism: Mechanism, request: OpenRequest) -> Plan | Rejected:
    """Fill in a request by the default rule, and plan it."""
    unit = request.with_defaults(**_UNIT).closed(psi=0.0)
    if reason := mechanism.why_not_compared(unit):
        return Rejected(mechanism.name, reason)
    probe = _probe(mechanism, unit)
    if isinstance(probe, Rejected):
        return probe
    if mechanism.traits.may_give_up:  # a ridge changes the set: only on request
        request = request.with_defaults(ridge=0.0)
    return mechanism.plan(resolve_auto(mechanism, request))


@lru_cache(maxsize=256)
def _probe(mechanism: Mechanism, request: Request) -> Plan | Rejected:
    """Plan of one draw, which does not depend on ψ."""
    return mechanism.plan(request)


def resolve_auto(
    mechanism: Mechanism, request: OpenRequest, ball_cost: float | None = None
) -> Request:
    """Complete a request by the rule; reads no row.

    The radius R minimises B(R) + ``ball_cost``·L(0)/R. B(R) bounds the expected excess of one draw
    at ψ = 0 over the best model of the ball, and L(0) bounds the loss of the model of zeros. Both
    bounds are loose. Simulated tables, where this minimum has the best accuracy, gave
    ``ball_cost``, which is small in a regression (benchmarks/README.md).
    """
    if not request.is_open:
        return request.closed()
    loss = get_loss(request.loss)
    if ball_cost is None:
        ball_cost = bound_slack(mechanism, loss) * _ball_share(loss)
    validation.check_positive(ball_cost=ball_cost)
    traits, by_default = mechanism.traits, request.n_draws == AUTO
    n_draws = 1 if by_default or traits.free_draws else request.n_draws
    one_draw = replace(request, n_draws=n_draws, psi=0.0)
    balls = _candidate_balls(mechanism, one_draw, ball_cost, by_default=by_default)
    if traits.one_model:
        counts: tuple[int, ...] = ()
    elif by_default:
        counts = (traits.free_draws,) if traits.free_draws else _COUNTS
    else:
        counts = tuple({int(request.n_draws)} - {1})
    guaranteed = _most_guaranteed_draws(mechanism, balls, request.psi, counts)
    if guaranteed is None and traits.free_draws and counts and not by_default:
        return replace(balls[0], psi=request.psi, n_draws=counts[0])
    return guaranteed or replace(balls[-1], psi=request.psi)


def bound_slack(mechanism: Mechanism, loss: Loss, *, compared: bool = False) -> float:
    """Factor by which an excess bound exceeds the excess on typical tables, for a loss."""
    traits = mechanism.traits
    slack = traits.regression_slack if loss.link == "identity" else traits.bound_slack
    return slack if loss.outputs == 1 else slack / traits.several_scores[compared]


def expected_loss(plan: Plan, goal: str = "rows") -> float:
    """Loss of a draw that the rule expects: its excess bound over the slack, and the ball's."""
    request, mechanism = plan.request, get_mechanism(plan.mechanism)
    ridged = plan.stated_excess + request.ridge * request.radius**2 / 2
    if goal == "population":
        ridged += plan.generalisation_gap
    loss = request.loss_function
    ball = _ball_share(loss) * request.zero_loss / request.radius
    traits = mechanism.traits
    bias = traits.regression_bias if loss.link == "identity" else traits.bias
    slack = plan.details.bound_slack or bound_slack(mechanism, loss, compared=True)
    return float(ridged / slack + ball + bias)


def _ball_share(loss: Loss) -> float:
    """Share of L(0)/R that a ball costs; a class depends on the direction of a model only."""
    return REGRESSION_BALL if loss.link == "identity" else 1.0


@lru_cache(maxsize=256)
def _candidate_balls(
    mechanism: Mechanism, request: OpenRequest, ball_cost: float, *, by_default: bool
) -> tuple[Request, ...]:
    """List candidate balls at ψ = 0, up to the ball that is best for one model."""
    ridge_at_one = 0.0
    if mechanism.traits.one_model:
        request = request.with_defaults(ridge=0.0)
    elif request.ridge == AUTO:
        ridge_at_one = _best_ridge_at_unit_radius(mechanism, request)

    def ball(size: float) -> Request:
        return request.with_defaults(ridge=ridge_at_one / size).closed(psi=0.0, radius=size)

    if request.radius != AUTO:
        return (ball(float(request.radius)),)
    zero_loss = ball(1.0).zero_loss
    best, least = ball(RADII[-1]), math.inf
    for tried in map(ball, reversed(RADII)):
        cost = ball_cost * zero_loss / tried.radius
        if cost > least:
            break  # a smaller ball costs more than the best of all in itself
        bound = _ridged_excess(mechanism, tried) + cost
        if bound <= least:
            best, least = tried, bound
    smallest = LEAST_RADIUS
    if mechanism.traits.around_centre:
        smallest = _LEAST_AROUND_BY_DEFAULT if by_default else _LEAST_AROUND
    return *(ball(size) for size in RADII if smallest <= size < best.radius), best


def _most_guaranteed_draws(
    mechanism: Mechanism, balls: tuple[Request, ...], psi: float, counts: tuple[int, ...]
) -> Request | None:
    """Most draws that are guaranteed to hit the set, in the largest ball that allows them."""

    def guaranteed(ball: Request, count: int, least: float) -> Request | None:
        request = replace(ball, psi=psi, n_draws=count)
        plan = mechanism.estimate(request)
        if isinstance(plan, Rejected) or not guarantees_the_set(plan, least):
            return None
        # The steps of a path grow with the square of the radius.
        long = mechanism.traits.free_draws and _work_seconds(plan) > _FEW_SECONDS
        return None if long and (ball.in_chunks or ball is not balls[0]) else request

    if not counts or psi == 0:
        return None
    # The states of a path are planned for a share; smaller ones count in the smallest ball only.
    wanted = _ROUNDED * balls[0].share if mechanism.traits.free_draws else LEAST_HITS
    # If the fewest draws fail in the smallest ball, all other candidates fail.
    if guaranteed(balls[0], counts[-1], wanted) is None:
        few = mechanism.traits.free_draws
        return guaranteed(balls[0], counts[-1], WEAK_HIT_RATE) if few else None
    requests = (guaranteed(ball, count, wanted) for count in counts for ball in reversed(balls))
    return next((request for request in requests if request is not None), None)


_ROUNDED = 0.99


def guarantees_the_set(plan: Plan, least: float = LEAST_HITS) -> bool:
    """Whether draws have a guaranteed hit rate, or lie around a model with excess bound ≤ ψ."""
    return _is_around_the_set(plan) or plan.hit_rate_bound >= least


def _is_around_the_set(plan: Plan) -> bool:
    """Whether draws lie around a model whose mean excess is guaranteed to be within ψ."""
    return plan.centre_excess is not None and plan.centre_excess <= plan.psi


def _best_ridge_at_unit_radius(mechanism: Mechanism, request: OpenRequest) -> float:
    """Ridge with the least bound at radius 1; the bound and the bias both scale with mR."""
    # With bounded range only, as for a ledger or δ = 0, a ridge does not change the privacy cost.
    ridges = _RIDGES if request.delta > 0 and not request.ledger else (0.0,)
    tried = [request.closed(psi=0.0, radius=1.0, ridge=ridge) for ridge in ridges]
    return min(tried, key=partial(_ridged_excess, mechanism)).ridge


def _ridged_excess(mechanism: Mechanism, request: Request) -> float:
    """Bound on the expected excess of the loss without its ridge, over the best of the ball."""
    plan = mechanism.plan(request)
    if isinstance(plan, Rejected):
        return math.inf
    return float(plan.stated_excess) + request.ridge * request.radius**2 / 2


def _planned(mechanism: Mechanism, request: Request) -> Plan:
    """Plan of a named mechanism, or an error with the reason why there is none."""
    outcome = mechanism.plan(request)
    if isinstance(outcome, Rejected):
        raise ValueError(f"mechanism={mechanism.name!r}: {outcome.reason}")
    return outcome


def is_about_one(plan: Plan) -> bool:
    """Whether the plan is for one good model, not for the set."""
    return plan.n_draws == 1 or plan.psi == 0


def _may_give_up(plan: Plan) -> bool:
    return get_mechanism(plan.mechanism).traits.may_give_up


def reason_not_selected(outcome: Plan | Rejected) -> str:
    """Reason why a candidate was not selected."""
    if isinstance(outcome, Rejected):
        return outcome.reason
    return feasibility.infeasibility_message(outcome)


def _in_smaller_balls(
    candidates: list[Plan | Rejected], request: OpenRequest
) -> Iterator[Plan | Rejected]:
    """Candidates of exact draws in smaller balls than the default, where they may succeed."""
    if request.radius == AUTO:
        exact = (plan for plan in candidates if isinstance(plan, Plan) and _may_give_up(plan))
        for plan in islice(exact, 1):
            for radius in (size for size in _SMALLER_RADII if size < plan.request.radius):
                smaller = replace(request, radius=radius)
                yield plan_open(get_mechanism(plan.mechanism), smaller)


_BY_COST = 3


def _rank(outcome: Plan | Rejected, goal: str, *, many: bool = False) -> tuple[Any, ...]:
    """Sort key: sets with guarantees, then sets around a good model, then the expected loss.

    With ``many`` a path that guarantees the wanted share goes before a few draws.
    """
    if isinstance(outcome, Rejected):
        return (4,)
    hit_rate, gives_up = outcome.hit_rate_bound, _may_give_up(outcome)
    if not is_about_one(outcome):
        if MECHANISMS[outcome.mechanism].traits.uniform_on and hit_rate >= _UNIFORM_HIT_RATE:
            return (0, gives_up, -hit_rate)
        if many and _is_a_path(outcome) and hit_rate >= _ROUNDED * outcome.request.share:
            return (0, gives_up, -hit_rate)
        if hit_rate >= WEAK_HIT_RATE:  # to two significant digits
            width = outcome.details.expected_width(outcome)
            return (1, -float(f"{hit_rate:.2g}"), gives_up, -width)
        if _is_around_the_set(outcome):
            return (2, 0, outcome.centre_excess)
        if _is_expected_within(outcome):
            return (2, 1, outcome.stated_excess)
    return (_BY_COST, gives_up, expected_loss(outcome, goal))


def _is_a_path(plan: Plan) -> bool:
    return bool(MECHANISMS[plan.mechanism].traits.free_draws)


def _is_expected_within(plan: Plan) -> bool:
    """Whether the mean excess of a path's states is within ψ on ordinary tables; no guarantee."""
    slack = plan.details.bound_slack
    return _is_a_path(plan) and slack is not None and plan.stated_excess <= slack * plan.psi


def _break_ties(candidates: list[Plan | Rejected], goal: str) -> list[Plan | Rejected]:
    """Move to the front, of those about as good as the first, the one with the least work.

    Of a set the one with the least proved excess: what is expected of its draws is less certain.
    """
    first = candidates[0]
    rank = _rank(first, goal)
    if not isinstance(first, Plan) or rank[0] != _BY_COST or not math.isfinite(rank[2]):
        return candidates
    one_model, largest = is_about_one(first), _COST_TOLERANCE * rank[2]
    if one_model:
        largest += _ONE_MODEL_TOLERANCE * first.request.zero_loss
    near = [
        plan
        for plan in candidates
        if isinstance(plan, Plan)
        and _rank(plan, goal)[:2] == rank[:2]
        and expected_loss(plan, goal) <= largest
    ]
    best = min(near, key=lambda plan: _work_seconds(plan) if one_model else plan.stated_excess)
    return [best, *(outcome for outcome in candidates if outcome is not best)]


def _work_seconds(plan: Plan) -> float:
    """Seconds of one core for the mechanism's work, and for its passes over chunked rows."""
    passes = plan.passes * pass_seconds(plan.n, plan.p) if plan.request.in_chunks else 0.0
    return max(passes + plan.memory_seconds, _FEW_SECONDS)


def _reason(plan: Plan, goal: str, best: Plan) -> str:
    gives_up = _may_give_up(plan)
    success = "they are expected to succeed, except on unusual rows"
    success = success if gives_up else "it never gives up"
    if not is_about_one(plan) and plan.hit_rate_bound >= WEAK_HIT_RATE:
        uniform = MECHANISMS[plan.mechanism].traits.uniform_on
        around = plan.centre_excess is not None
        concentrated = "on a released ellipsoid" if around else "concentrated near the best model"
        where = "uniformly" if uniform else concentrated
        if _is_a_path(plan):
            where = f"{plan.n_draws:,} states of one path at one privacy cost"
        hits = f"at least {hit_rate_text(plan.hit_rate_bound)} of the draws lie in the set, {where}"
        return f"{hits}; {success}"
    if not is_about_one(plan) and _is_around_the_set(plan):
        return (
            f"the draws lie around a model whose excess is guaranteed to be at most "
            f"{rounded_up(plan.stated_excess)}, within ψ; no hit rate is proved; {success}"
        )
    if not is_about_one(plan) and _is_expected_within(plan):
        return (
            f"the mean excess of the states is proved to be at most "
            f"{rounded_up(plan.stated_excess)}; on ordinary tables it was 3 to 5 times smaller, "
            f"within ψ; {success}"
        )
    if is_about_one(plan):
        new = " on new rows" if goal == "population" else ""
        if _work_seconds(plan) < _work_seconds(best):
            quick, long = (
                f"{duration_text(_work_seconds(one))} of one core and {one.passes:,.0f} passes "
                "over the rows"
                for one in (plan, best)
            )
            more = max(expected_loss(plan, goal) - expected_loss(best, goal), 0.0)
            return (
                f"one model; its expected loss{new} is {more:.2g} above that of "
                f"{best.mechanism}, in {quick} instead of {long}; {success}"
            )
        return f"one model; this mechanism has the lowest expected loss{new}; {success}"
    return f"no mechanism guarantees a hit rate; this one has the lowest expected loss; {success}"


_LEAST = 1e-3  # least share of ε that remains for draws
_HALVINGS = 12

AnyRequest = TypeVar("AnyRequest", Request, OpenRequest)


def plan_beside_columns(
    columns: ColumnsPlan, request: AnyRequest, plan: Callable[[AnyRequest], Plan | Rejected]
) -> Plan | Rejected:
    """Plan draws with the (ε, δ) that remains after private centres and spreads.

    A Gaussian release leaves all of δ to draws of Gaussian DP, and half of it to others.
    """
    kinds = [columns]
    if columns.gaussian:
        kinds += [] if columns.ledger else [replace(columns, halved=True)]
        kinds += [replace(columns, pure=True)]

    def planned_with(kind: ColumnsPlan, epsilon: float) -> Plan | Rejected:
        drawn = plan(replace(request, epsilon=epsilon, delta=kind.left_delta))
        if isinstance(drawn, Rejected):
            return drawn
        total = with_scaling_cost(kind, drawn.guarantee)
        if drawn.guarantee.holds and not _is_within_budget(kind, total):
            return Rejected(drawn.mechanism, _NO_SHARE)
        whole = replace(drawn.request, epsilon=kind.epsilon, delta=kind.delta)
        return replace(drawn, request=whole, columns=kind, guarantee=total)

    def affords(kind: ColumnsPlan, epsilon: float) -> bool:
        return isinstance(planned_with(kind, epsilon), Plan)

    for kind in kinds:
        outcome = planned_with(kind, kind.left)
        if isinstance(outcome, Plan):
            return outcome
    for kind in kinds:
        least = _LEAST * kind.epsilon
        if affords(kind, least):
            left = bisect(partial(affords, kind), least, kind.left, halvings=_HALVINGS)
            return planned_with(kind, left)
    return outcome


_NO_SHARE = (
    "no privacy cost of draws composes with that of the columns within the budget: use "
    "standardize=None"
)


def _is_within_budget(columns: ColumnsPlan, total: Guarantee) -> bool:
    if columns.ledger == GDP:
        return Totals(accounting=GDP).plus(total).epsilon(columns.delta) <= columns.epsilon
    if not columns.ledger:
        return total.epsilon(columns.delta) <= columns.epsilon
    return adaptive_epsilon([total], columns.delta, order=columns.order) <= columns.epsilon
