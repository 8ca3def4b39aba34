"""Totals of a ledger's charges by its rule, and the ε that it shows as spent."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_delta
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy import conversions
from rashomon_explorer.privacy.guarantee import (
    ROUNDING,
    Divergence,
    Guarantee,
    bounded_range_draws,
    divergence,
    gaussian_mu,
)
from rashomon_explorer.privacy.ledger.charge import LedgerEntry

_LEAST_DOUBLE_BITS = 1074  # every double is an integer multiple of 2⁻¹⁰⁷⁴
_SUMMED = ("pure_epsilon", "rho", "approximate_epsilon", "approximate_delta")

ACCOUNTING = {"gdp": "Gaussian DP", "rdp": "Rényi DP", "pure": "pure DP"}
"""Notions in which a ledger may be told to count, by name."""

ChargeCount = tuple[Guarantee, Divergence | None, int]
"""A charge, its divergence if the ledger has an order, and its number of occurrences."""


@dataclass(frozen=True)
class ExactSum:
    """Exact sum of doubles, from which any of them can be subtracted again."""

    finite: Fraction = Fraction(0)  # sum of the finite terms; every double is a fraction
    infinite: int = 0  # number of infinite terms

    @classmethod
    def from_terms(cls, terms: Iterable[tuple[float, int]]) -> ExactSum:
        """Sum values, each a given number of times, in units of the smallest positive double."""
        units = infinite = 0
        for value, count in terms:
            if value == math.inf:
                infinite += count
                continue
            numerator, denominator = value.as_integer_ratio()
            units += count * (numerator << (_LEAST_DOUBLE_BITS - denominator.bit_length() + 1))
        return cls(Fraction(units, 1 << _LEAST_DOUBLE_BITS), infinite)

    def plus(self, value: float, times: int = 1) -> ExactSum:
        """Return the sum with ``value`` added; once less for −1, after it was added."""
        if value == math.inf:
            return ExactSum(self.finite, self.infinite + times)
        return ExactSum(self.finite + times * Fraction(value), self.infinite)

    def __float__(self) -> float:
        try:
            return math.inf if self.infinite else float(self.finite)
        except OverflowError:
            return math.inf


@dataclass(frozen=True)
class Totals:
    """Totals of the charges in constant space: the state that a ledger's rule needs."""

    live: int = 0
    leaks: bool | None = None
    sums: dict[str, ExactSum] = field(default_factory=lambda: dict.fromkeys(_SUMMED, ExactSum()))
    order: float | None = None
    divergences: ExactSum = field(default_factory=ExactSum)
    n_not_sublinear: int = 0
    accounting: str = ""  # name of the one notion besides pure DP; empty for the usual rule

    @property
    def notion(self) -> str:
        """Notion that was named when the ledger was created, in words."""
        order = "" if self.order is None else f" at order {self.order:.3g}"
        return ACCOUNTING[self.accounting] + order if self.accounting else ""

    def cleared(self) -> Totals:
        """Totals of no charge, by the same rule."""
        return Totals(order=self.order, accounting=self.accounting)

    @classmethod
    def from_charges(cls, charges: Iterable[Guarantee], order: float | None = None) -> Totals:
        """Sum charges in the order in which they were reserved."""
        totals = cls(order=order)
        for charge in charges:
            totals = totals.plus(charge)
        return totals

    @classmethod
    def from_counts(
        cls,
        counted: Sequence[ChargeCount],
        leaks: bool | None,
        order: float | None = None,
        accounting: str = "",
    ) -> Totals:
        """Sum charges with their numbers of occurrences; a faster form of `from_charges`."""
        sums = {
            name: ExactSum.from_terms(
                (getattr(charge, name), count) for charge, _, count in counted
            )
            for name in _SUMMED
        }
        recorded = [(bound, count) for _, bound, count in counted if bound is not None]
        return cls(
            sum(count for _, _, count in counted),
            leaks,
            sums,
            order,
            ExactSum.from_terms((bound.value, count) for bound, count in recorded),
            sum(count for bound, count in recorded if not bound.sublinear),
            accounting,
        )

    def charge_divergence(self, charge: Guarantee) -> Divergence | None:
        """Divergence, or μ² of Gaussian DP, at which a charge is recorded; None without either."""
        if self.accounting == "gdp":
            return Divergence(_rounded_up(gaussian_mu(charge) ** 2))
        return None if self.order is None else recorded_divergence(charge, self.order)

    def plus(self, charge: Guarantee, divergence: Divergence | None = None) -> Totals:
        """Return the totals with one more charge, whose divergence may be given."""
        leaks = self.leaks if self.live else is_approximate(charge)
        return replace(self._changed(charge, divergence, 1), leaks=leaks)

    def minus(self, charge: Guarantee, divergence: Divergence | None = None) -> Totals:
        """Return the totals without a charge under which nothing ran."""
        leaks = self.leaks if self.live > 1 else None
        return replace(self._changed(charge, divergence, -1), leaks=leaks)

    def _changed(self, charge: Guarantee, divergence: Divergence | None, times: int) -> Totals:
        sums = {name: total.plus(getattr(charge, name), times) for name, total in self.sums.items()}
        changed = replace(self, live=self.live + times, sums=sums)
        recorded = divergence or self.charge_divergence(charge)
        if recorded is None:
            return changed
        return replace(
            changed,
            divergences=self.divergences.plus(recorded.value, times),
            n_not_sublinear=self.n_not_sublinear + times * (not recorded.sublinear),
        )

    def epsilon(self, delta: float) -> float:
        """Total ε at δ, as :func:`adaptive_epsilon` defines it."""
        check_delta(delta)
        pure, rho, part_epsilon, part_delta = (float(self.sums[name]) for name in _SUMMED)
        if self.leaks and not self.accounting:
            # Also after those were voided, because the use of δ was fixed with them.
            return part_epsilon + pure if part_delta <= delta * (1 + ROUNDING) else math.inf
        if part_epsilon or part_delta:
            return math.inf
        if self.accounting == "gdp":  # a filter by itself
            return min(pure, conversions.gdp_epsilon(math.sqrt(float(self.divergences)), delta))
        if self.accounting:  # infinite without an order, in pure DP
            return min(pure, self._by_order(delta))
        return min(pure, conversions.zcdp_epsilon(rho, delta), self._by_order(delta))

    def _by_order(self, delta: float) -> float:
        total = float(self.divergences)
        if self.order is None or not math.isfinite(total) or (total and not delta):
            return math.inf
        if not total:
            return 0.0
        if self.n_not_sublinear or self.accounting:
            return max(0.0, total + conversions.conversion(self.order, delta))
        return conversions.zcdp_epsilon(total / self.order, delta, least_order=self.order)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; fractions are text, because no JSON number holds them."""
        sums = {name: _text(total) for name, total in self.sums.items()}
        values: dict[str, Any] = {"live": self.live, "leaks": self.leaks, "sums": sums}
        if self.accounting:
            values["accounting"] = self.accounting
        if self.order is None and self.accounting != "gdp":
            return values
        divergences = {"divergences": _text(self.divergences), "unsteady": self.n_not_sublinear}
        return {**values, "order": self.order, **divergences}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Totals:
        """Inverse of :meth:`to_dict`."""
        sums = {name: _read(text) for name, text in values["sums"].items()}
        accounting = values.get("accounting", "")
        if values.get("divergences") is None:
            return cls(values["live"], values["leaks"], sums, accounting=accounting)
        return cls(
            values["live"],
            values["leaks"],
            sums,
            values["order"],
            _read(values["divergences"]),
            values["unsteady"],
            accounting,
        )


def _text(total: ExactSum) -> list[Any]:
    return [str(total.finite), total.infinite]


def _read(text: list[Any]) -> ExactSum:
    finite, infinite = text
    return ExactSum(Fraction(finite), infinite)


def recorded_divergence(charge: Guarantee, order: float) -> Divergence:
    """Divergence at which a charge is recorded, rounded up."""
    value, sublinear = divergence(charge, order)
    return Divergence(_rounded_up(value), sublinear)


def _rounded_up(value: float) -> float:
    return math.nextafter(value, math.inf) if value else 0.0


def is_approximate(guarantee: Guarantee) -> bool:
    """Whether the guarantee has an (ε, δ) part."""
    return guarantee.approximate_delta > 0 or guarantee.approximate_epsilon > 0


def write_once_triggers(table: str, words: str) -> tuple[str, ...]:
    """Triggers that keep the one row of a table as it was first written."""
    events = {
        "stays": f"BEFORE DELETE ON {table}",
        "keeps": f"BEFORE UPDATE ON {table}",
        "once": f"BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table})",
    }
    return tuple(
        f"CREATE TRIGGER {table}_{name} {event} BEGIN SELECT RAISE(ABORT, '{words}'); END"
        for name, event in events.items()
    )


# A charge's divergence is stored and not recomputed: logarithms on another machine can differ by
# an ulp, and sums are compared for equality.
TABLES = (
    "CREATE TABLE renyi_order (id INTEGER PRIMARY KEY CHECK (id = 1), value REAL NOT NULL)",
    """
CREATE TABLE divergences (
    charge INTEGER PRIMARY KEY,
    value REAL NOT NULL,
    steady INTEGER NOT NULL
)""",
    *write_once_triggers("renyi_order", "an order is settled once"),
    """
CREATE TRIGGER divergences_stay BEFORE DELETE ON divergences
BEGIN SELECT RAISE(ABORT, 'what a charge costs never disappears'); END""",
    """
CREATE TRIGGER divergences_once BEFORE INSERT ON divergences
WHEN EXISTS (SELECT 1 FROM divergences WHERE charge = NEW.charge)
BEGIN SELECT RAISE(ABORT, 'what a charge costs is never replaced'); END""",
    """
CREATE TRIGGER divergences_keep BEFORE UPDATE ON divergences
BEGIN SELECT RAISE(ABORT, 'what a charge costs never changes'); END""",
)


ACCOUNTING_TABLES = (
    "CREATE TABLE accounting (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL)",
    *write_once_triggers("accounting", "what a ledger counts is settled once"),
)


def read_accounting(connection: sqlite3.Connection) -> str:
    """Return the name of the notion that a ledger was told to count; empty for none."""
    row = connection.execute("SELECT value FROM accounting").fetchone()
    if row is not None and row[0] not in ACCOUNTING:
        raise LedgerError(
            f"the ledger's accounting reads {row[0]!r}, which is invalid: another program changed "
            "the file; restore a trusted copy"
        )
    return "" if row is None else str(row[0])


def read_order(connection: sqlite3.Connection) -> float | None:
    """Return the order at which divergences add up, or None."""
    row = connection.execute("SELECT value FROM renyi_order").fetchone()
    if row is None:
        return None
    (order,) = row
    if not isinstance(order, float) or not order > 1:
        raise LedgerError(
            f"the ledger's Rényi order reads {order!r}, which is invalid: another program changed "
            f"the file; restore a trusted copy"
        )
    return order


def write_divergence(connection: sqlite3.Connection, charge: int, divergence: Divergence) -> None:
    """Write the divergence of a charge, which cannot be changed later."""
    connection.execute(
        "INSERT INTO divergences (charge, value, steady) VALUES (?, ?, ?)",
        (charge, divergence.value, divergence.sublinear),
    )


def read_divergence(connection: sqlite3.Connection, charge: int) -> Divergence | None:
    """Return the divergence of a charge; None in a ledger without an order."""
    row = connection.execute(
        "SELECT value, steady FROM divergences WHERE charge = ?", (charge,)
    ).fetchone()
    return None if row is None else Divergence(row[0], bool(row[1]))


_ORDERS = tuple((1 + np.geomspace(0.05, 1e4, 40)).tolist())

Budget = tuple[float, float]  # ε and δ


@dataclass(frozen=True)
class Spending:
    """Charges that count, their totals by the ledger's rule, and its budget (ledger-proofs.md)."""

    totals: Totals
    charges: tuple[tuple[Guarantee, int], ...] = ()
    """Guarantees, and how often each was charged."""
    budget: Budget | None = None

    @classmethod
    def from_entries(
        cls, entries: Sequence[LedgerEntry], totals: Totals, budget: Budget | None
    ) -> Spending:
        """Spending of a ledger's entries; voided ones do not count."""
        counted = counted_guarantees([entry for entry in entries if entry.counts])
        return cls(totals, tuple(Counter(counted).items()), budget)

    def plus(self, guarantee: Guarantee) -> Spending:
        """Return the spending after one more charge."""
        charges = (*self.charges, (guarantee, 1))
        return Spending(self.totals.plus(guarantee), charges, self.budget)

    def epsilon(self, delta: float | None = None) -> float:
        """Total ε of all charges at δ, by default the budget's; above it only if it is exceeded."""
        if delta is None:
            delta = 0.0 if self.budget is None else self.budget[1]
        if sum(count for _, count in self.charges) != self.totals.live:
            return self.totals.epsilon(delta)  # another program changed the file
        orders = _orders((charge for charge, _ in self.charges), self.totals.order)
        sums = np.zeros_like(orders)
        for guarantee, count in self.charges:
            sums += count * _divergences(guarantee, orders)
        return _spent_epsilon(self.totals, sums, orders, delta, self.budget)


def running_epsilon(
    charges: Sequence[Guarantee],
    delta: float,
    *,
    totals: Totals | None = None,
    divergences: Sequence[Divergence | None] | None = None,
    budget: float = math.inf,
) -> list[float]:
    """ε after none, one, … and all of the charges, as a ledger with this rule shows it."""
    recorded = divergences or [None] * len(charges)
    steps = accumulate(
        zip(charges, recorded, strict=True),
        lambda before, charge: before.plus(*charge),
        initial=(totals or Totals()).cleared(),
    )
    orders = _orders(charges, None if totals is None else totals.order)
    each = [np.zeros_like(orders), *(_divergences(charge, orders) for charge in charges)]
    return [
        _spent_epsilon(after, sums, orders, delta, (budget, delta))
        for after, sums in zip(steps, accumulate(each), strict=True)
    ]


def counted_guarantees(entries: Sequence[LedgerEntry]) -> list[Guarantee]:
    """Guarantees of entries as they add up: of a run with two entries only the zCDP does."""
    linked = {entry.extends for entry in entries} - {None}
    linked |= {entry.id for entry in entries if entry.extends is not None}
    return [
        zcdp_part(entry.guarantee) if entry.id in linked else entry.guarantee for entry in entries
    ]


def zcdp_part(guarantee: Guarantee) -> Guarantee:
    """Return the guarantee of which only zCDP adds up with the other entry of one run."""
    return replace(guarantee, notion="zcdp", curve=None, orders=())


def _spent_epsilon(
    totals: Totals, sums: FloatArray, orders: FloatArray, delta: float, budget: Budget | None
) -> float:
    by_rule = totals.epsilon(delta)
    if totals.leaks or totals.accounting in ("gdp", "pure"):
        return by_rule
    pure, rho = float(totals.sums["pure_epsilon"]), float(totals.sums["rho"])
    bounds = [pure, conversions.zcdp_epsilon(rho, delta)]
    if delta > 0:
        bounds.append(max(0.0, float((sums + conversions.conversion(orders, delta, np)).min())))
    if budget is None or delta != budget[1]:
        return min(by_rule, *bounds)
    if by_rule > budget[0] * (1 + ROUNDING):
        return by_rule
    return min(max(by_rule, budget[0]), *bounds)


def _orders(charges: Iterable[Guarantee], order: float | None) -> FloatArray:
    """Rényi orders to try, with that of the ledger and those of the requests."""
    requests = {charge.requested for charge in charges}
    planned = (conversions.filter_order(*request) for request in requests if request is not None)
    return np.array(sorted({*_ORDERS, order, *planned} - {None}))


def _divergences(guarantee: Guarantee, orders: FloatArray) -> FloatArray:
    return np.array([_divergence(guarantee, order) for order in orders.tolist()])


_LEAST_SHARE = 0.5  # of the requested ε that a plan costs by its own guarantee; .8 is usual
_MOST_DRAWS = 1e6  # into which a pure ε may be split


def least_charge(totals: Totals, epsilon: float, delta: float) -> Totals:
    """Return the totals after the least that a plan for (ε, δ) costs, for any number of rows."""
    pure = _LEAST_SHARE * epsilon
    rho = conversions.zcdp_rho(pure, delta) if delta else pure**2 / 8 / _MOST_DRAWS
    charge = Guarantee("composition", "least cost of a plan", pure_epsilon=pure, rho=rho)
    if totals.accounting == "gdp":
        mu = conversions.gdp_mu(pure, delta) if delta else math.sqrt(2 * rho)
        return totals.plus(charge, Divergence(mu**2))
    if totals.order is None:
        return totals.plus(charge)
    return totals.plus(charge, Divergence(min(totals.order * rho, pure)))


@lru_cache(maxsize=2**16)  # a ledger is shown many times
def _divergence(guarantee: Guarantee, order: float) -> float:
    """Bound on D_a that a plan for a ledger counts: of exact draws, pure DP and zCDP only."""
    if is_approximate(guarantee):
        return math.inf
    if guarantee.notion == "zcdp":
        return order * guarantee.rho
    if bounded_range_draws(guarantee) is not None:
        return min(order * guarantee.rho, guarantee.pure_epsilon)
    return guarantee.renyi(order)
