"""The one order of a ledger's file, and what each charge was entered at there."""

import sqlite3

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.divergence import Divergence

# A charge's divergence is kept and not computed again: another machine's logarithms differ by an
# ulp, and sums are compared for equality.
TABLES = (
    "CREATE TABLE renyi_order (id INTEGER PRIMARY KEY CHECK (id = 1), value REAL NOT NULL)",
    """
CREATE TABLE divergences (
    charge INTEGER PRIMARY KEY,
    value REAL NOT NULL,
    steady INTEGER NOT NULL
)""",
    """
CREATE TRIGGER renyi_order_stays BEFORE DELETE ON renyi_order
BEGIN SELECT RAISE(ABORT, 'an order is settled once'); END""",
    """
CREATE TRIGGER renyi_order_once BEFORE INSERT ON renyi_order
WHEN EXISTS (SELECT 1 FROM renyi_order)
BEGIN SELECT RAISE(ABORT, 'an order is settled once'); END""",
    """
CREATE TRIGGER renyi_order_keeps BEFORE UPDATE ON renyi_order
BEGIN SELECT RAISE(ABORT, 'an order is settled once'); END""",
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


def read_order(connection: sqlite3.Connection) -> float | None:
    """Return the order at which divergences are added up, None where they are not."""
    row = connection.execute("SELECT value FROM renyi_order").fetchone()
    if row is None:
        return None
    (order,) = row
    if not isinstance(order, float) or not order > 1:
        raise LedgerError(
            f"the ledger's Rényi order reads {order!r}, which is none: something else changed the "
            "file; go back to a copy you trust"
        )
    return order


def write_order(connection: sqlite3.Connection, order: float) -> None:
    """Settle the order, for good."""
    connection.execute("INSERT INTO renyi_order (id, value) VALUES (1, ?)", (order,))


def write_divergence(connection: sqlite3.Connection, charge: int, told: Divergence) -> None:
    """Keep what a charge is entered at, for good."""
    connection.execute(
        "INSERT INTO divergences (charge, value, steady) VALUES (?, ?, ?)",
        (charge, told.value, told.steady),
    )


def read_divergence(connection: sqlite3.Connection, charge: int) -> Divergence | None:
    """Return what a charge was entered at, None in a ledger without an order."""
    row = connection.execute(
        "SELECT value, steady FROM divergences WHERE charge = ?", (charge,)
    ).fetchone()
    return None if row is None else Divergence(row[0], bool(row[1]))
