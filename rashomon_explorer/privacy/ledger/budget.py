"""The budget of a ledger: set once, and a charge past it is refused."""

import math
import sqlite3
from pathlib import Path

from rashomon_explorer.exceptions import BudgetExceededError, LedgerError
from rashomon_explorer.privacy.divergence import Divergence
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.label import price_of
from rashomon_explorer.privacy.ledger.rows import settle_order
from rashomon_explorer.privacy.ledger.schema import read_budget, write_budget
from rashomon_explorer.privacy.ledger.totals import ROUNDING, Totals, takes_delta
from rashomon_explorer.privacy.zcdp import filter_order
from rashomon_explorer.rounding import left_text, rounded_up
from rashomon_explorer.shown import Fact
from rashomon_explorer.validation import check_delta, check_epsilon, check_nonnegative_or_infinite

Budget = tuple[float, float]  # ε and δ


def checked_budget(epsilon: float | None, delta: float | None) -> Budget | None:
    """Return what may be a budget; ε and δ belong together, and no ε is no budget."""
    if epsilon is None:
        if delta is not None:
            raise ValueError("a budget needs epsilon as well as delta")
        return None
    check_nonnegative_or_infinite(epsilon=epsilon)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite; leave it out for a ledger that only records")
    if epsilon != 0:  # 0 allows no charge
        check_epsilon(epsilon)
    delta = 0.0 if delta is None else delta
    check_delta(delta)
    return float(epsilon), float(delta)


def set_once(connection: sqlite3.Connection, budget: Budget, path: Path) -> None:
    """Write the budget where there is none; the same one again is no change."""
    old = read_budget(connection)
    if old is None:
        write_budget(connection, budget)
        order = filter_order(*budget)
        if order is not None:
            settle_order(connection, order)
    elif old != budget:
        raise LedgerError(
            f"the ledger {path} has the budget ε={old[0]:g}, δ={old[1]:g}, not ε={budget[0]:g}, "
            f"δ={budget[1]:g}: a budget is set once"
        )


def delta_of(budget: Budget | None) -> float:
    """Return the δ at which charges are added up, 0 without a budget."""
    return 0.0 if budget is None else budget[1]


def refuse_past(
    budget: Budget, spent: Totals, guarantee: Guarantee, told: Divergence | None = None
) -> None:
    """Refuse a charge that the budget does not allow, and name what is left.

    ``told`` is the divergence it would be entered at, where that is not the guarantee's own.
    """
    epsilon, delta = budget
    if takes_delta(guarantee) and spent.live and not spent.leaks:
        raise LedgerError(
            "this (ε, δ) charge comes after charges without δ, and the ledger's δ already pays "
            "for their composition: keep (ε, δ) charges in a ledger that begins with one"
        )
    before = spent.epsilon(delta)
    after = spent.plus(guarantee, told).epsilon(delta)
    if not within(after, budget):
        raise BudgetExceededError(
            f"this would bring the total to ε={rounded_up(after)} at δ={delta:g}, past the budget "
            f"of ε={rounded_up(epsilon)}: ε={left_text(epsilon - before)} is left. Nothing was "
            "drawn and nothing was spent; ask for a smaller epsilon or fewer draws"
        )


def within(epsilon: float, budget: Budget) -> bool:
    """Whether a total is within the budget, but for what rounding adds."""
    return epsilon <= budget[0] * (1 + ROUNDING)


def facts_of(budget: Budget | None, totals: Totals) -> list[Fact]:
    """Say what is budgeted, spent and left, for a ledger to show itself."""
    charges = ("charges", f"{totals.live:,}")
    if budget is None:
        return [("budget", "none: it records and refuses nothing"), charges]
    spent = totals.epsilon(budget[1])
    return [
        ("budget", price_of(*budget)),
        ("spent", f"ε = {rounded_up(spent)}"),
        ("left", f"ε = {left_text(budget[0] - spent)}"),
        charges,
    ]
