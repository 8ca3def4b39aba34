"""The tables of a ledger's file, and how those of an older version become today's."""

import json
import sqlite3
from pathlib import Path

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.totals import Totals

APPLICATION_ID = 0x52617368  # "Rash": an SQLite file of another program is never taken for ours
SCHEMA_VERSION = 2

_BUDGET = "CREATE TABLE budget (id INTEGER PRIMARY KEY CHECK (id = 1), epsilon REAL, delta REAL)"

# `leaks` is what the charge was counted under, for `totals` to be computed again from charges.
# The table has another name than in version 1, so that a process which still runs version 1 on a
# migrated file fails instead of writing charges that the totals would not know.
_CHARGES = (
    """
CREATE TABLE charges (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reserved_at TEXT NOT NULL,
    started_at TEXT,
    committed_at TEXT,
    voided_at TEXT,
    voided_by TEXT,
    voided_why TEXT,
    who TEXT NOT NULL,
    note TEXT NOT NULL,
    parameters TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    leaks INTEGER NOT NULL
)""",
    "CREATE TABLE totals (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL)",
    """
CREATE TRIGGER charges_stay BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'a charge never disappears'); END""",
    """
CREATE TRIGGER charges_keep BEFORE UPDATE
    OF id, reserved_at, who, note, parameters, guarantee, leaks ON charges
BEGIN SELECT RAISE(ABORT, 'a charge never changes'); END""",
    """
CREATE TRIGGER charges_end_once BEFORE UPDATE ON charges
WHEN OLD.voided_at IS NOT NULL OR (NEW.voided_at IS NOT NULL AND OLD.started_at IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'a charge that was started or voided stays so'); END""",
)


def create(connection: sqlite3.Connection, budget: tuple[float, float] | None) -> None:
    """Make the tables of an empty ledger, within the caller's transaction."""
    for statement in (_BUDGET, *_CHARGES):
        connection.execute(statement)
    write_totals(connection, Totals())
    if budget is not None:
        write_budget(connection, budget)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def check_ours(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of a ledger; refuse any other file and any newer version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise LedgerError(f"{path} is not a privacy ledger: choose another file")
    if not 1 <= version <= SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger {path} has schema {version}, this version writes {SCHEMA_VERSION}: "
            "upgrade rashomon-explorer"
        )
    return version


def migrate(connection: sqlite3.Connection) -> None:
    """Turn version 1 into version 2, within the caller's transaction.

    Nobody can tell any more whether an open reservation had begun, so that all are taken to have
    been started: they stay spent and cannot be voided.
    """
    for statement in _CHARGES:
        connection.execute(statement)
    totals = Totals()
    old = connection.execute(
        "SELECT id, reserved_at, reserved_at, committed_at, who, note, parameters, guarantee "
        "FROM entries ORDER BY id"
    ).fetchall()
    for row in old:
        totals = totals.plus(read_guarantee(row[0], row[-1]))
        connection.execute(
            "INSERT INTO charges (id, reserved_at, started_at, committed_at, who, note, "
            "parameters, guarantee, leaks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, totals.leaks),
        )
    write_totals(connection, totals)
    connection.execute("DROP TABLE entries")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def read_budget(connection: sqlite3.Connection) -> tuple[float, float] | None:
    """Return the budget (ε, δ), or None if none was set."""
    row = connection.execute("SELECT epsilon, delta FROM budget").fetchone()
    return None if row is None else (row[0], row[1])


def write_budget(connection: sqlite3.Connection, budget: tuple[float, float]) -> None:
    """Set the budget, for good."""
    connection.execute("INSERT INTO budget (id, epsilon, delta) VALUES (1, ?, ?)", budget)


def read_totals(connection: sqlite3.Connection) -> Totals:
    """Return what the charges that count add up to."""
    (text,) = connection.execute("SELECT value FROM totals").fetchone() or ("",)
    try:
        return Totals.from_dict(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(f"the totals of the ledger cannot be read: {error}") from error


def write_totals(connection: sqlite3.Connection, totals: Totals) -> None:
    """Replace the totals, within the transaction that changes a charge."""
    connection.execute(
        "INSERT OR REPLACE INTO totals (id, value) VALUES (1, ?)", (json.dumps(totals.to_dict()),)
    )


def read_guarantee(number: int, text: str) -> Guarantee:
    """Return the guarantee of a charge; refuse what is none."""
    try:
        return Guarantee.from_dict(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(
            f"charge {number} of the ledger cannot be read, so that nothing can be added to it: "
            f"{error}"
        ) from error
