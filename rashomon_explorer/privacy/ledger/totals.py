"""Totals of a ledger's charges."""

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from rashomon_explorer._utils.validation import check_delta
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.conversions import conversion, gdp_epsilon, zcdp_epsilon
from rashomon_explorer.privacy.guarantee import (
    ROUNDING,
    Divergence,
    Guarantee,
    divergence,
    gaussian_mu,
)

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
    def from_terms(cls, terms: Iterable[tuple[float, int]]) -> "ExactSum":
        """Sum values, each a given number of times, in units of the smallest positive double."""
        units = infinite = 0
        for value, count in terms:
            if value == math.inf:
                infinite += count
                continue
            numerator, denominator = value.as_integer_ratio()
            units += count * (numerator << (_LEAST_DOUBLE_BITS - denominator.bit_length() + 1))
        return cls(Fraction(units, 1 << _LEAST_DOUBLE_BITS), infinite)

    def plus(self, value: float, times: int = 1) -> "ExactSum":
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

    def cleared(self) -> "Totals":
        """Totals of no charge, by the same rule."""
        return Totals(order=self.order, accounting=self.accounting)

    @classmethod
    def from_charges(cls, charges: Iterable[Guarantee], order: float | None = None) -> "Totals":
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
    ) -> "Totals":
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

    def plus(self, charge: Guarantee, divergence: Divergence | None = None) -> "Totals":
        """Return the totals with one more charge, whose divergence may be given."""
        leaks = self.leaks if self.live else is_approximate(charge)
        return replace(self._changed(charge, divergence, 1), leaks=leaks)

    def minus(self, charge: Guarantee, divergence: Divergence | None = None) -> "Totals":
        """Return the totals without a charge under which nothing ran."""
        leaks = self.leaks if self.live > 1 else None
        return replace(self._changed(charge, divergence, -1), leaks=leaks)

    def _changed(self, charge: Guarantee, divergence: Divergence | None, times: int) -> "Totals":
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
            return min(pure, gdp_epsilon(math.sqrt(float(self.divergences)), delta))
        if self.accounting:  # infinite without an order, in pure DP
            return min(pure, self._by_order(delta))
        return min(pure, zcdp_epsilon(rho, delta), self._by_order(delta))

    def _by_order(self, delta: float) -> float:
        """Total ε from the divergences at the one order."""
        total = float(self.divergences)
        if self.order is None or not math.isfinite(total) or (total and not delta):
            return math.inf
        if not total:
            return 0.0
        if self.n_not_sublinear or self.accounting:
            return max(0.0, total + conversion(self.order, delta))
        return zcdp_epsilon(total / self.order, delta, least_order=self.order)

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
    def from_dict(cls, values: dict[str, Any]) -> "Totals":
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


def write_order(connection: sqlite3.Connection, order: float) -> None:
    """Write the order, which cannot be changed later."""
    connection.execute("INSERT INTO renyi_order (id, value) VALUES (1, ?)", (order,))


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
