"""Automatic settings of a request, and the options that the planner compares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rashomon_explorer._utils import validation
from rashomon_explorer.mechanisms.base import Mechanism
from rashomon_explorer.mechanisms.planning import suggestions
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS, listed_mechanisms
from rashomon_explorer.mechanisms.request import Offer, Request
from rashomon_explorer.problem.losses import Loss, get_loss, zero_model_loss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss

if TYPE_CHECKING:
    from pandas import DataFrame

AUTO = "auto"
"""Marks a setting that the rule chooses."""

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
_LEAST_UNASKED = 16.0
_COUNTS = (MOST_DRAWS, 10, 5)
_RIDGES = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)


def resolve_auto(
    mechanism: str | type[Mechanism],
    *,
    n: int,
    p: int,
    psi: float,
    row_norm: float,
    epsilon: float,
    delta: float = 0.0,
    loss: str | Loss = "logistic",
    radius: float | str = AUTO,
    ridge: float | str = AUTO,
    n_draws: int | str = AUTO,
    ledger: bool | float | str = False,
    in_chunks: bool = False,
    worth: float | None = None,
) -> Request:
    """Complete a request by the rule; reads no row.

    The radius R minimises B(R) + ``worth``·L(0)/R. B(R) bounds the expected excess of one draw at
    ψ = 0 over the best model of the ball, and L(0) bounds the loss of the model of zeros. Both
    bounds are loose. Simulated tables, where this minimum has the best accuracy, gave ``worth``,
    which is small in a regression (benchmarks/README.md).
    """
    kind = MECHANISMS[mechanism] if isinstance(mechanism, str) else mechanism
    if worth is None:
        worth = kind.looseness(get_loss(loss)) * _ball_share(get_loss(loss))
    validation.check_positive(worth=worth)
    validation.check_epsilon(epsilon)
    validation.check_delta(delta)
    settings: dict[str, Any] = {
        "n": n,
        "p": p,
        "row_norm": row_norm,
        "epsilon": epsilon,
        "delta": delta,
        "ledger": ledger,
        "in_chunks": in_chunks,
    }
    one = Request(**settings, psi=0.0, loss=loss, radius=1.0, ridge=0.0, n_draws=1)
    with suggestions.suppress_weak_warnings():  # these plans are only compared
        if not isinstance(n_draws, str):
            one = replace(one, n_draws=n_draws)
        balls = _balls(kind, one, radius, ridge, worth, unasked=n_draws == AUTO)
        counts = _COUNTS if n_draws == AUTO else tuple({one.n_draws} - {1})
        counts = () if kind.traits.one_model else counts
        return _sure(kind, balls, psi, counts) or replace(balls[-1], psi=psi)


def cost(mechanism: str, planned: Plan, goal: str = "rows") -> float:
    """Loss of a draw that the rule expects: its excess bound over the looseness, and the ball's."""
    assert planned.radius is not None and planned.zero_loss is not None
    ridged = planned.weighed_excess + planned.ridge * planned.radius**2 / 2
    if goal == "population":
        ridged += planned.generalisation_gap
    kind = MECHANISMS[mechanism]
    loss = SoftmaxLoss(planned.outputs + 1) if planned.outputs > 1 else get_loss(planned.loss)
    of_the_ball = _ball_share(loss) * planned.zero_loss / planned.radius
    bias = kind.traits.regression_bias if loss.link == "identity" else kind.traits.bias
    return ridged / kind.looseness(loss, compared=True) + of_the_ball + bias


def _ball_share(loss: Loss) -> float:
    """Share of L(0)/R that a ball costs; a class depends on the direction of a model only."""
    return REGRESSION_BALL if loss.link == "identity" else 1.0


def _balls(
    mechanism: type[Mechanism],
    one: Request,
    radius: Any,
    ridge: Any,
    worth: float,
    *,
    unasked: bool,
) -> list[Request]:
    """List candidate balls at ψ = 0, up to the ball that is best for one model."""
    zeros = zero_model_loss(get_loss(one.loss))
    if ridge == AUTO and mechanism.traits.one_model:
        ridge = 0.0
    share = _share(mechanism, one) if ridge == AUTO else None

    def at(size: float) -> Request:
        own_ridge = ridge if share is None else share / size
        return replace(one, radius=size, ridge=own_ridge)

    if radius != AUTO:
        return [at(radius)]
    best, least = None, math.inf
    for tried in map(at, sorted(RADII, reverse=True)):
        of_the_ball = worth * zeros / tried.radius
        if best is not None and of_the_ball > least:
            break  # a smaller ball costs more than the best of all in itself
        bound = _excess_bound(mechanism, tried) + of_the_ball
        if best is None or bound <= least:
            best, least = tried, bound
    assert best is not None
    around = _LEAST_UNASKED if unasked else _LEAST_AROUND
    least = around if mechanism.traits.around_centre else LEAST_RADIUS
    return [*(at(size) for size in RADII if least <= size < best.radius), best]


def _sure(
    mechanism: type[Mechanism], balls: list[Request], psi: float, counts: tuple[int, ...]
) -> Request | None:
    """Most draws that are guaranteed to hit the set, in the largest ball that allows them."""

    def tried(ball: Request, count: int) -> Request | None:
        request = replace(ball, psi=psi, n_draws=count)
        return request if guarantees_the_set(mechanism.plan_for(request)) else None

    # If the fewest draws fail in the smallest ball, all other candidates fail.
    if not counts or psi == 0 or tried(balls[0], counts[-1]) is None:
        return None
    found = (tried(ball, count) for count in counts for ball in reversed(balls))
    return next((one for one in found if one is not None), None)


def guarantees_the_set(planned: Plan) -> bool:
    """Whether draws have a guaranteed hit rate, or lie around a model with excess bound ≤ ψ."""
    centre = planned.centre_excess
    around = centre is not None and centre <= planned.psi
    return around or planned.hit_rate_bound >= LEAST_HITS


def _share(mechanism: type[Mechanism], one: Request) -> float:
    """Ridge with the least bound at radius 1; the bound and the bias both scale with mR."""
    # With bounded range only, as for a ledger or δ = 0, a ridge does not change the privacy cost.
    ridges = _RIDGES if one.delta > 0 and not one.ledger else (0.0,)
    tried = [replace(one, ridge=ridge) for ridge in ridges]
    return min(tried, key=lambda request: _excess_bound(mechanism, request)).ridge


def _excess_bound(mechanism: type[Mechanism], request: Request) -> float:
    """Bound on the expected excess of the loss without its ridge, over the best of the ball."""
    excess = float(mechanism.plan_for(request).weighed_excess)
    return excess + request.ridge * request.radius**2 / 2


_BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
_DRAWS = (1, 5, 20, 100)


_Bought = tuple[Request, Offer]


def plan_options(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    epsilon: float,
    delta: float = 0.0,
    n_draws: int = 1,
    ledger: bool | str = False,
) -> tuple[Offer, ...]:
    """Options of all mechanisms for a budget, the best first; reads no row.

    Options whose hits are uniform on the set come first, then higher guaranteed hit rates, then
    smaller excess bounds. Options that do not apply come last, with the reason.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger
        As in :func:`rashomon_explorer.mechanisms.planning.plan`.

    Returns
    -------
    tuple of Offer
        One for each private mechanism; those of one model only for one draw.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "ridge": 0.1}
    >>> for one in plan_options(**rows, epsilon=4.0, delta=1e-6, n_draws=20)[:3]:
    ...     print(one.name, one.uniform, round(one.hit_rate, 3))
    exact True 0.873
    unthresholded False 1.0
    objective_perturbation False 0.956
    """
    request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger)
    validation.check_count(n_draws=n_draws)
    validation.check_delta(delta)
    suggestions.warn_large_delta(delta, n)
    return tuple(sorted(_offers(request), key=_rank))


def plan_candidates(planned: Plan) -> tuple[Offer, ...]:
    """Options of all mechanisms for the budget of a plan, the best first; reads no row."""
    if planned.law is None:
        return ()
    return tuple(sorted(_offers(replace(planned.law, psi=planned.psi)), key=_rank))


def pareto_table(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    delta: float = 0.0,
    epsilons: Sequence[float] = _BUDGETS,
    n_draws: Sequence[int] = _DRAWS,
) -> DataFrame:
    """Privacy cost and guaranteed hit rate of every option, and the Pareto front; reads no row.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, delta
        As in :func:`rashomon_explorer.mechanisms.planning.plan`.
    epsilons : sequence of float
        Budgets to try.
    n_draws : sequence of int
        Numbers of draws to try.

    Returns
    -------
    pandas.DataFrame
        A row for each budget, number of draws and option that applies: ``epsilon``, ``delta``,
        ``n_draws``, ``option``, ``uniform``, ``beta``, ``hit_rate``, ``hits`` (a lower bound on
        their expected number), ``excess``, ``n_steps``, ``time`` and ``front``. ``front`` is
        true unless another row is at least as good in privacy cost, number of draws, guaranteed
        hit rate and uniformity, and better in at least one of them.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> table = pareto_table(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilons=[1, 4])
    >>> exact = table[(table.option == "exact") & (table.n_draws == 1)]
    >>> exact[["epsilon", "hit_rate"]].round(3).values.tolist()
    [[1.0, 0.87], [4.0, 0.967]]
    """
    from pandas import DataFrame

    candidates: list[_Bought] = []
    for epsilon in epsilons:
        for count in n_draws:
            validation.check_count(n_draws=count)
            request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, count)
            candidates += [(request, offer) for offer in _offers(request) if offer.applies]
    qualities = [_qualities(one) for one in candidates]
    front = [not any(_beats(other, own) for other in qualities) for own in qualities]
    rows = [_row(*one) for one in candidates]
    return DataFrame([{**row, "front": first} for row, first in zip(rows, front, strict=True)])


def _offers(request: Request) -> list[Offer]:
    # The first mechanism applies to every budget and validates the parameters.
    with suggestions.suppress_weak_warnings():  # the table shows the hit rates
        kinds = [kind for kind in listed_mechanisms() if not kind.traits.curator_only]
        several = request.n_draws > 1
        return [kind.offer(request) for kind in kinds if not (several and kind.traits.one_model)]


def _rank(offer: Offer) -> tuple[bool, bool, float, float]:
    useful = offer.hit_rate > 0
    return (not offer.applies, not (offer.uniform and useful), -offer.hit_rate, offer.excess)


def _row(request: Request, offer: Offer) -> dict[str, object]:
    return {
        "epsilon": request.epsilon,
        "delta": request.delta,
        "n_draws": request.n_draws,
        "option": offer.name,
        "uniform": offer.uniform,
        "beta": offer.beta,
        "hit_rate": offer.hit_rate,
        "hits": request.n_draws * offer.hit_rate,
        "excess": offer.excess,
        "n_steps": offer.n_steps,
        "time": offer.time,
    }


def _qualities(candidate: _Bought) -> tuple[float, ...]:
    """Properties of an option; larger is better."""
    request, offer = candidate
    return (-request.epsilon, request.n_draws, offer.hit_rate, offer.uniform)


def _beats(other: tuple[float, ...], own: tuple[float, ...]) -> bool:
    """Whether the other is at least as good in every property, and better in one."""
    return other != own and all(theirs >= ours for theirs, ours in zip(other, own, strict=True))
