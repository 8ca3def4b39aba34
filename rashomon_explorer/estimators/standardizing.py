"""Private centres and spreads of the columns beside the draws, for one price."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from rashomon_explorer.estimators.choosing import is_about_one
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.columns import ColumnsPlan, both_together
from rashomon_explorer.planning.rule import AUTO
from rashomon_explorer.privacy import adaptive_epsilon
from rashomon_explorer.search import bisect

PRIVATE = "private"
"""Asks for private centres and spreads, whatever the rule says of them."""

Planned = TypeVar("Planned", bound=Any)

_LEAST = 1e-3  # share of ε that draws are left with at least
_HALVINGS = 12


def beside_columns(paid: ColumnsPlan, make: Callable[[float, float], Planned]) -> Planned:
    """Plan draws for what centres and spreads leave of a budget.

    Where the prices add up alike (μ² of Gaussian DP, ε beside Laplace's noise, or ε and δ), what is
    left is known; otherwise the largest ε is taken at which all together costs no more than was
    asked.

    Parameters
    ----------
    paid : ColumnsPlan
    make : callable
        Plan of the draws for an ε and a δ.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> paid = ColumnsPlan(50_000, 10, 1.0, epsilon=1.0, delta=1e-6)
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> both = beside_columns(paid, lambda epsilon, delta: plan(**rows, epsilon=epsilon))
    >>> both.columns is not None, 0.9 < both.guarantee.epsilon(1e-6) <= 1
    (True, True)
    """
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
    raise ValueError("no price of draws adds up with that of the columns: take standardize=None")


def _affordable(paid: ColumnsPlan, planned: Any) -> bool:
    total = _with(paid, planned).guarantee
    if not paid.ledger:
        return total.epsilon(paid.delta) <= paid.epsilon
    cost = adaptive_epsilon([total], paid.delta, order=paid.order)
    return cost <= paid.epsilon


def _affords(paid: ColumnsPlan, make: Callable[[float, float], Any]) -> Callable[[float], bool]:
    return lambda epsilon: _affordable(paid, make(epsilon, paid.left_delta))


def _with(paid: ColumnsPlan, planned: Planned) -> Planned:
    """Plan both; a plan of one model adds up by itself."""
    both: Planned
    if not isinstance(planned, Plan):
        both = replace(planned, columns=paid)
        return both
    total = both_together(paid, planned.guarantee)
    asked = paid.epsilon, paid.delta
    both = replace(planned, columns=paid, guarantee=total, epsilon=asked[0], delta=asked[1])
    return both


def columns_wanted(
    standardize: str | None, sampler: str, planned: Plan, whole: ColumnsPlan
) -> bool:
    """Whether centres and spreads are to be paid for.

    ``"auto"`` takes them for one good model by a way that is left open too, where the rule says
    that they win: a set that is asked for stays a set of models of the declared columns.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> planned = plan(50_000, 11, 0.0, radius=4.0, row_norm=1.5, epsilon=1.0)
    >>> paid = ColumnsPlan(50_000, 10, 1.0, epsilon=1.0, delta=1e-6)
    >>> [columns_wanted("auto", sampler, planned, paid) for sampler in ("auto", "exact")]
    [True, False]
    """
    if standardize == AUTO:
        return sampler == AUTO and is_about_one(planned) and whole.worth_it
    return standardize == PRIVATE
