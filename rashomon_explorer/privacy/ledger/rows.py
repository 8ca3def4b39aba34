"""Charges as rows of the file, and their export."""

import getpass
import json
import math
import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import Fact, left_text, rounded_up
from rashomon_explorer.exceptions import BudgetExceededError, LedgerError
from rashomon_explorer.privacy.conversions import conversion, filter_order, zcdp_epsilon
from rashomon_explorer.privacy.guarantee import ROUNDING, Divergence, Guarantee, epsilon_delta_text
from rashomon_explorer.privacy.ledger import file, totals
from rashomon_explorer.privacy.ledger.charge import EXTENDS, LedgerEntry
from rashomon_explorer.privacy.notions import approximate, bounded_range, gdp, pure, zcdp

_CHANGES = {
    "started": "state = iif(state = 'reserved', 'started', state)",
    "committed": "state = 'committed'",
    "voided": "state = 'voided', voided_at = :now, voided_by = :who, voided_why = :why",
}


def insert_charge(
    connection: sqlite3.Connection,
    sums: totals.Totals,
    guarantee: Guarantee,
    recorded: Divergence | None,
    note: str,
    parameters: dict[str, Any],
) -> int:
    """Write a reservation and the new totals; return its number."""
    sums = sums.plus(guarantee, recorded)
    cursor = connection.execute(
        "INSERT INTO charges (reserved_at, who, note, parameters, guarantee, leaks) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (_now(), _who(), note, json_text(parameters), json.dumps(guarantee.to_dict()), sums.leaks),
    )
    number = int(cursor.lastrowid or 0)
    if recorded is not None:
        totals.write_divergence(connection, number, recorded)
    file.write_totals(connection, sums)
    return number


def json_text(parameters: dict[str, Any]) -> str:
    """JSON text of a charge's parameters; a ValueError if a value has none."""
    try:
        return json.dumps(parameters, default=_plain_value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            "parameters must be JSON values: text, finite numbers, true, false, null, lists and "
            f"dictionaries of them, got {parameters!r} ({error}). Nothing was charged"
        ) from error


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def change_state(connection: sqlite3.Connection, number: int, state: str, why: str) -> None:
    """Set the state of a charge, or raise a LedgerError with the reason."""
    entry = find_entry(connection, number)
    if not entry.counts or (state == "voided" and entry.state != "reserved"):
        raise LedgerError(
            f"charge {number} was {entry.state} and cannot become {state}: "
            + ("reserve again before anything runs" if not entry.counts else "it stays spent")
        )
    if state == "voided" and entry.extends is not None:
        if find_entry(connection, entry.extends).state == "committed":
            raise LedgerError(
                f"charge {entry.id} cannot be voided, because charge {entry.extends}, which it "
                "extends, was committed: its result may have been seen, and the cost stays spent"
            )
    connection.execute(
        f"UPDATE charges SET {_CHANGES[state]} WHERE id = :id",
        {"now": _now(), "who": _who(), "why": why, "id": number},
    )
    if state == "voided":
        recorded = totals.read_divergence(connection, number)
        sums = file.read_totals(connection).minus(entry.guarantee, recorded)
        file.write_totals(connection, sums)


def find_entry(connection: sqlite3.Connection, number: int) -> LedgerEntry:
    """Return the charge with this number, which has been reserved."""
    entries = read_entries(connection, number)
    if not entries:
        raise LedgerError(f"the ledger has no charge {number}: the file was replaced")
    return entries[0]


def read_entries(connection: sqlite3.Connection, number: int | None = None) -> list[LedgerEntry]:
    """Return all charges, oldest first, or the one with this number."""
    where, values = ("WHERE id = ?", (number,)) if number is not None else ("", ())
    rows = connection.execute(
        "SELECT id, who, reserved_at, note, parameters, guarantee, state, "
        "voided_by, voided_at, voided_why, value, steady FROM charges "
        f"LEFT JOIN divergences ON charge = id {where} ORDER BY id",
        values,
    )
    return [_entry(row) for row in rows]


def sum_entries(connection: sqlite3.Connection) -> totals.Totals:
    """Recompute the totals from all charges that count, in the caller's transaction."""
    rows = connection.execute(
        "SELECT min(id), guarantee, value, steady, count(*) FROM charges "
        "LEFT JOIN divergences ON charge = id WHERE state <> 'voided' "
        "GROUP BY guarantee, value, steady ORDER BY 1"
    )
    order, accounting = totals.read_order(connection), totals.read_accounting(connection)
    has_divergences = order is not None or accounting == "gdp"
    counted: list[totals.ChargeCount] = []
    for number, text, value, sublinear, count in rows:
        bound = None
        if has_divergences:
            bound = Divergence(math.inf if value is None else value, bool(sublinear))
        counted.append((file.read_guarantee(number, text), bound, count))
    # Whether δ covers (ε, δ) charges; None if no charge counts.
    rows = connection.execute("SELECT DISTINCT leaks FROM charges WHERE state <> 'voided'")
    leaks = [bool(value) for (value,) in rows]
    if len(leaks) > 1:
        raise LedgerError("the ledger's charges disagree on what δ covers: the file was changed")
    return totals.Totals.from_counts(counted, leaks[0] if leaks else None, order, accounting)


def checked_totals(connection: sqlite3.Connection, path: Path) -> totals.Totals:
    """Return the totals after checking that they equal the sum of the charges."""
    spent = file.read_totals(connection)
    if spent != sum_entries(connection):
        raise LedgerError(
            f"the totals of the ledger {path} are not the sum of its charges: another program "
            f"changed the file; restore a trusted copy"
        )
    return spent


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    number, who, when, note, parameters, text, state, by, voided, why, value, sublinear = row
    values, guarantee = json.loads(parameters), file.read_guarantee(number, text)
    divergence = None if value is None else Divergence(value, bool(sublinear))
    return LedgerEntry(
        number, who, when, note, values, guarantee, state, by, voided, why, divergence
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container user without a name
        user = "unknown"
    return f"{user} (process {os.getpid()})"


def checked_budget(epsilon: float | None, delta: float | None) -> totals.Budget | None:
    """Validate a budget (ε, δ); None without epsilon."""
    if epsilon is None:
        if delta is not None:
            raise ValueError("a budget needs both epsilon and delta")
        return None
    validation.check_nonnegative_or_infinite(epsilon=epsilon)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite; omit it for a ledger that only records")
    if epsilon != 0:  # 0 allows no charge
        validation.check_epsilon(epsilon)
    delta = 0.0 if delta is None else delta
    validation.check_delta(delta)
    return float(epsilon), float(delta)


def checked_rule(
    budget: totals.Budget | None, accounting: str | None, order: float | None
) -> totals.Totals:
    """Validate what a ledger is told to count; return totals of no charge by this rule."""
    if accounting is None:
        if order is not None:
            raise ValueError('order belongs to accounting="rdp": pass both, or neither')
        return totals.Totals(order=None if budget is None else filter_order(*budget))
    if accounting not in totals.ACCOUNTING:
        raise ValueError(
            f"accounting must be one of {list(totals.ACCOUNTING)} or None, got {accounting!r}"
        )
    if budget is None:
        raise ValueError("accounting needs a budget: pass epsilon, and delta unless it is 'pure'")
    if (accounting == "pure") == (budget[1] > 0):
        needs = "has no delta: omit it" if accounting == "pure" else "needs delta > 0"
        raise ValueError(f"accounting={accounting!r} {needs}, got delta={budget[1]!r}")
    if order is not None and accounting != "rdp":
        raise ValueError(f"accounting={accounting!r} has no order, got order={order!r}")
    if accounting != "rdp":
        return totals.Totals(accounting=accounting)
    order = filter_order(*budget) if order is None else order
    if order is None or not 1 < order < math.inf or conversion(order, budget[1]) >= budget[0]:
        raise ValueError(
            f"order={order!r} leaves nothing of ε={budget[0]:g} at δ={budget[1]:g} to Rényi "
            "divergences: it must be a finite number, larger, or the budget larger"
        )
    return totals.Totals(order=float(order), accounting=accounting)


def ledger_delta(budget: totals.Budget | None) -> float:
    """Return the δ at which charges add up; 0 without a budget."""
    return 0.0 if budget is None else budget[1]


def check_budget_allows(
    budget: totals.Budget,
    spent: totals.Totals,
    guarantee: Guarantee,
    recorded: Divergence | None = None,
) -> None:
    """Raise a BudgetExceededError if a charge exceeds the budget; state what remains."""
    epsilon, delta = budget
    if totals.is_approximate(guarantee) and spent.live and not spent.leaks:
        raise LedgerError(
            "this (ε, δ) charge comes after charges without δ, and the ledger's δ already covers "
            "their composition: record (ε, δ) charges in a ledger that begins with one"
        )
    after = spent.plus(guarantee, recorded).epsilon(delta)
    if not within_budget(after, budget):
        raise BudgetExceededError(
            f"this would bring the total to ε={rounded_up(after)} at δ={delta:g}, past the budget "
            f"of ε={rounded_up(epsilon)}: {_remaining_text(budget, spent, guarantee)} is left. "
            "Nothing was drawn and nothing was spent; choose a smaller epsilon or fewer draws"
        )


_NOTIONS: dict[str, tuple[str, str, Callable[[float], Guarantee]]] = {
    "pure": ("ε", "pure DP", pure),
    "bounded_range": ("η", "bounded range", bounded_range),
    "zcdp": ("ρ", "zCDP", zcdp),
    "gdp": ("μ", "Gaussian DP", gdp),
}


def _remaining_text(budget: totals.Budget, spent: totals.Totals, guarantee: Guarantee) -> str:
    """Largest costs of the same kind as a guarantee that the budget still allows, as text."""
    delta, part_delta, requested = budget[1], guarantee.approximate_delta, guarantee.requested

    def text(kind: str) -> str:
        symbol, name, charge = _NOTIONS[kind]
        largest = _largest_charge(budget, spent, charge)
        number = f"{symbol}={left_text(largest)} of {name}"
        if kind not in ("zcdp", "gdp") or not delta:
            return number
        # The ε to request of a release, which a ledger counts by its zCDP.
        if spent.accounting:
            epsilon = spent.cleared().plus(charge(largest)).epsilon(delta)
        else:
            epsilon = zcdp_epsilon(charge(largest).rho, delta)
        return f"{number} (ε={left_text(epsilon)} at δ={delta:g})"

    if spent.accounting:
        named = {"gdp": ["gdp"], "rdp": ["zcdp"], "pure": []}[spent.accounting]
        has_pure = math.isfinite(guarantee.pure_epsilon) or not named
        return " or ".join(map(text, ["pure"] * has_pure + named))
    if part_delta:
        largest = _largest_charge(budget, spent, lambda epsilon: approximate(epsilon, part_delta))
        return f"ε={left_text(largest)} at δ={part_delta:g}"
    if requested is None and guarantee.notion in _NOTIONS:
        return text(guarantee.notion)
    costs = [text("pure")] if math.isfinite(guarantee.pure_epsilon) or not delta else []
    if delta and requested is not None and requested[1] > 0:
        # A plan for a ledger costs at most zCDP with the requested ε at the requested δ.
        largest = zcdp_epsilon(_largest_charge(budget, spent, zcdp), requested[1])
        costs.append(f"ε={left_text(largest)} at δ={requested[1]:g}")
    elif delta:
        costs.append(text("zcdp"))
    return " or ".join(costs)


def _largest_charge(
    budget: totals.Budget, spent: totals.Totals, charge: Callable[[float], Guarantee]
) -> float:
    """Largest number whose charge the budget allows; 0 if there is none."""

    def allowed(number: float) -> bool:
        return within_budget(spent.plus(charge(number)).epsilon(budget[1]), budget)

    too_large = 1.0
    while allowed(too_large):
        too_large *= 2
    return bisect(allowed, 0.0, too_large, halvings=60)


def within_budget(epsilon: float, budget: totals.Budget) -> bool:
    """Whether a total is within the budget, up to rounding."""
    return epsilon <= budget[0] * (1 + ROUNDING)


def read_spending(connection: sqlite3.Connection) -> totals.Spending:
    """Return the charges that count, with the totals and the budget of the file."""
    linked = _linked_charges(connection)
    where = f"state <> 'voided' AND id NOT IN ({', '.join(map(str, linked))})"
    groups = connection.execute(
        f"SELECT min(id), guarantee, count(*) FROM charges WHERE {where} GROUP BY guarantee"
    )
    counted = [(number, file.read_guarantee(number, text), n) for number, text, n in groups]
    counted += [
        (number, totals.zcdp_part(find_entry(connection, number).guarantee), 1) for number in linked
    ]
    charges: Counter[Guarantee] = Counter()
    for _, guarantee, count in sorted(counted, key=itemgetter(0)):
        charges[guarantee] += count
    sums, budget = file.read_totals(connection), file.read_budget(connection)
    return totals.Spending(sums, tuple(charges.items()), budget)


def _linked_charges(connection: sqlite3.Connection) -> list[int]:
    """Numbers of the charges that extend another or are extended, of those that count."""
    rows = connection.execute(
        f"SELECT id, parameters FROM charges WHERE {file.HAS_EXTENDS} AND state <> 'voided'"
    )
    pairs = [(number, json.loads(parameters).get(EXTENDS)) for number, parameters in rows]
    return sorted({number for pair in pairs if pair[1] is not None for number in pair})


def ledger_facts(spending: totals.Spending) -> list[Fact]:
    """Budget, spent and remaining ε for the ledger's repr."""
    sums, budget = spending.totals, spending.budget
    charges = ("charges", f"{sums.live:,}")
    counts = [("counts", sums.notion)] if sums.accounting else []
    if budget is None:
        return [("budget", "none: all charges are accepted"), charges]
    spent = spending.epsilon()
    return [
        ("budget", epsilon_delta_text(*budget)),
        ("spent", f"ε = {rounded_up(spent)}"),
        ("left", f"ε = {left_text(budget[0] - spent)}"),
        *counts,
        charges,
    ]


def ledger_json(connection: sqlite3.Connection) -> str:
    """Export budget, spent and remaining ε and all entries as JSON, in one transaction."""
    spending = read_spending(connection)
    sums, budget, spent = spending.totals, spending.budget, spending.epsilon()
    left = math.inf if budget is None else max(0.0, budget[0] - spent)
    content = {
        "format": "rashomon-explorer ledger",
        "version": file.SCHEMA_VERSION,
        "budget": None if budget is None else {"epsilon": budget[0], "delta": budget[1]},
        "order": sums.order,
        "accounting": sums.accounting or None,
        "spent": "inf" if spent == math.inf else spent,
        "remaining": "inf" if left == math.inf else left,
        "entries": [entry.to_dict() for entry in read_entries(connection)],
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2)
