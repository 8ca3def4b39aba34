"""Private centres and spreads of the columns, planned together with the draws."""

from collections.abc import Callable
from dataclasses import replace

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.mechanisms.planning.options import AUTO
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.scaling import ColumnsPlan, with_scaling_cost
from rashomon_explorer.mechanisms.planning.select import is_about_one
from rashomon_explorer.privacy import adaptive_epsilon

PRIVATE = "private"
"""Requests private centres and spreads, also where the default omits them."""

_LEAST = 1e-3  # least share of ε that remains for draws
_HALVINGS = 12


def plan_with_private_scaling(paid: ColumnsPlan, make: Callable[[float, float], Plan]) -> Plan:
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


def _affordable(paid: ColumnsPlan, planned: Plan) -> bool:
    total = _with(paid, planned).guarantee
    if not paid.ledger:
        return total.epsilon(paid.delta) <= paid.epsilon
    cost = adaptive_epsilon([total], paid.delta, order=paid.order)
    return cost <= paid.epsilon


def _affords(paid: ColumnsPlan, make: Callable[[float, float], Plan]) -> Callable[[float], bool]:
    return lambda epsilon: _affordable(paid, make(epsilon, paid.left_delta))


def _with(paid: ColumnsPlan, planned: Plan) -> Plan:
    """Combine both plans."""
    total = with_scaling_cost(paid, planned.guarantee)
    return replace(planned, columns=paid, guarantee=total, epsilon=paid.epsilon, delta=paid.delta)


def wants_private_scaling(
    standardize: str | None, mechanism: str, planned: Plan, whole: ColumnsPlan
) -> bool:
    """Whether private centres and spreads are part of the plan."""
    if standardize == AUTO:
        return mechanism == AUTO and is_about_one(planned) and whole.improves_the_plan
    return standardize == PRIVATE
