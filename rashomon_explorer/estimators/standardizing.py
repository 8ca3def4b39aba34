"""Private centres and spreads of the columns beside the draws, for one price."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from rashomon_explorer.estimators.choosing import is_about_one
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.columns import ColumnsPlan
from rashomon_explorer.planning.rule import AUTO
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon, compose
from rashomon_explorer.search import bisect

PRIVATE = "private"
"""Asks for private centres and spreads, whatever the rule says of them."""

STATED = "models are of columns mapped by centres and spreads that are released, and paid for"

Planned = TypeVar("Planned", bound=Any)

_LEAST = 1e-3  # share of ε that draws are left with at least
_HALVINGS = 12


def beside_columns(paid: ColumnsPlan, make: Callable[[float], Planned]) -> Planned:
    """Plan draws for what centres and spreads leave of a budget.

    Where the prices add up alike (μ² of Gaussian DP, or ε beside Laplace's noise), what is left is
    known; otherwise the largest ε is taken at which all together costs no more than was asked.

    Parameters
    ----------
    paid : ColumnsPlan
    make : callable
        Plan of the draws for an ε, at the same δ.

    Examples
    --------
    >>> from rashomon_explorer.planning import plan
    >>> paid = ColumnsPlan(50_000, 10, 1.0, epsilon=1.0, delta=1e-6)
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> both = beside_columns(paid, lambda epsilon: plan(**rows, epsilon=epsilon))
    >>> 0.7 < both.epsilon < 1.0, both_together(both.columns, both.guarantee).epsilon(1e-6) <= 1
    (True, True)
    """
    kinds = [paid, replace(paid, pure=True)] if paid.gaussian else [paid]
    for kind in kinds:
        planned = make(kind.left)
        if _affordable(kind, planned):
            return _with(kind, planned)
    for kind in kinds:
        least = _LEAST * kind.epsilon
        if _affordable(kind, make(least)):
            left = bisect(_affords(kind, make), least, kind.left, halvings=_HALVINGS)
            return _with(kind, make(left))
    raise ValueError("no price of draws adds up with that of the columns: take standardize=None")


def _affordable(paid: ColumnsPlan, planned: Any) -> bool:
    total = both_together(paid, planned.guarantee)
    cost = adaptive_epsilon([total], paid.delta) if paid.ledger else total.epsilon(paid.delta)
    return cost <= paid.epsilon


def _affords(paid: ColumnsPlan, make: Callable[[float], Any]) -> Callable[[float], bool]:
    return lambda epsilon: _affordable(paid, make(epsilon))


def _with(paid: ColumnsPlan, planned: Planned) -> Planned:
    both: Planned = replace(planned, columns=paid)
    return both


def both_together(paid: ColumnsPlan | None, drawn: Guarantee) -> Guarantee:
    """Guarantee of centres, spreads and what is drawn from rows that were mapped by them.

    Given the map, which is public, what is done to a row depends on that row alone, so that the
    draws keep their guarantee, and both add up (adaptive composition, prices fixed beforehand).

    Examples
    --------
    >>> from rashomon_explorer.privacy import gdp
    >>> paid = ColumnsPlan(50_000, 10, 1.0, epsilon=1.0, delta=1e-6)
    >>> round(both_together(paid, gdp(0.2)).mu ** 2 - 0.2**2 - paid.guarantee.mu**2, 12)
    0.0
    """
    if paid is None or not drawn.holds:
        return drawn
    total = compose([paid.guarantee, drawn])
    stated = tuple(dict.fromkeys((*drawn.assumptions, *total.assumptions, STATED)))
    return replace(total, assumptions=stated, asked=(paid.epsilon, paid.delta))


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
