"""The ledger's SQLite file and its schema."""

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from rashomon_explorer._utils.files import create_private, tighten
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.ledger.totals import TABLES as DIVERGENCES
from rashomon_explorer.privacy.ledger.totals import Totals, write_order

APPLICATION_ID = 0x52617368  # "Rash": an SQLite file of another program is never taken for ours
SCHEMA_VERSION = 5

_BUDGET = (
    "CREATE TABLE IF NOT EXISTS budget "
    "(id INTEGER PRIMARY KEY CHECK (id = 1), epsilon REAL, delta REAL)"
)
_TOTALS = (
    "CREATE TABLE IF NOT EXISTS totals (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL)"
)

# `leaks` is what the charge was counted under, for `totals` to be computed again from charges.
# When a charge was started and committed is not kept: between the two the rows were read, and how
# long that took is theirs. Version 1 had its charges in `entries`, so that a process which still
# runs it on a migrated file fails; version 2 looks for the columns of those times and fails too.
_CHARGES = """
CREATE TABLE charges (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reserved_at TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'reserved'
        CHECK (state IN ('reserved', 'started', 'committed', 'voided')),
    voided_at TEXT,
    voided_by TEXT,
    voided_why TEXT,
    who TEXT NOT NULL,
    note TEXT NOT NULL,
    parameters TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    leaks INTEGER NOT NULL
)"""

# By its random name a file is known again when another ledger was moved to its path.
_IDENTITY = (
    "CREATE TABLE identity (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL)",
    """
CREATE TRIGGER identity_keeps BEFORE UPDATE ON identity
BEGIN SELECT RAISE(ABORT, 'a ledger keeps its name'); END""",
)

# `charges_once` is for INSERT OR REPLACE, which deletes without firing the trigger on DELETE.
_TRIGGERS = (
    """
CREATE TRIGGER charges_stay BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'a charge never disappears'); END""",
    """
CREATE TRIGGER charges_once BEFORE INSERT ON charges
WHEN EXISTS (SELECT 1 FROM charges WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END""",
    """
CREATE TRIGGER charges_keep BEFORE UPDATE
    OF id, reserved_at, who, note, parameters, guarantee, leaks ON charges
BEGIN SELECT RAISE(ABORT, 'a charge never changes'); END""",
    """
CREATE TRIGGER charges_go_on BEFORE UPDATE ON charges
WHEN OLD.state = 'voided'
    OR (NEW.state = 'voided' AND OLD.state <> 'reserved')
    OR (NEW.state = 'reserved' AND OLD.state <> 'reserved')
    OR (NEW.state = 'started' AND OLD.state = 'committed')
BEGIN SELECT RAISE(ABORT, 'a charge that was started or voided stays so'); END""",
    """
CREATE TRIGGER budget_stays BEFORE DELETE ON budget
BEGIN SELECT RAISE(ABORT, 'a budget is set once'); END""",
    """
CREATE TRIGGER budget_once BEFORE INSERT ON budget
WHEN EXISTS (SELECT 1 FROM budget)
BEGIN SELECT RAISE(ABORT, 'a budget is set once'); END""",
    """
CREATE TRIGGER budget_keeps BEFORE UPDATE ON budget
BEGIN SELECT RAISE(ABORT, 'a budget is set once'); END""",
)


def create(connection: sqlite3.Connection, budget: tuple[float, float] | None) -> None:
    """Make the tables of an empty ledger, within the caller's transaction."""
    _make_tables(connection)
    _name(connection)
    _make_divergences(connection)
    order = None if budget is None else filter_order(*budget)
    if budget is not None:
        write_budget(connection, budget)
    if order is not None:
        write_order(connection, order)
    write_totals(connection, Totals(order=order))
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


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Turn an older version into today's, within the caller's transaction."""
    _FROM[version](connection)
    if version < 4:
        _name(connection)
    _make_divergences(connection)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _from_1(connection: sqlite3.Connection) -> None:
    """Nobody can tell any more whether an open reservation had begun, so that all are started."""
    _make_tables(connection)
    totals = Totals()
    old = connection.execute(
        "SELECT id, reserved_at, iif(committed_at IS NULL, 'started', 'committed'), who, note, "
        "parameters, guarantee FROM entries ORDER BY id"
    ).fetchall()
    for row in old:
        totals = totals.plus(read_guarantee(row[0], row[-1]))
        connection.execute(
            "INSERT INTO charges (id, reserved_at, state, who, note, parameters, guarantee, leaks) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, totals.leaks),
        )
    write_totals(connection, totals)
    connection.execute("DROP TABLE entries")


def _from_2(connection: sqlite3.Connection) -> None:
    """Of the times at which charges were started and committed, only that they were stays."""
    for trigger in ("charges_stay", "charges_keep", "charges_end_once"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("ALTER TABLE charges RENAME TO old_charges")
    _make_tables(connection)
    kept = "id, reserved_at, voided_at, voided_by, voided_why, who, note, parameters, guarantee"
    connection.execute(
        f"INSERT INTO charges ({kept}, leaks, state) SELECT {kept}, leaks, "
        "CASE WHEN voided_at IS NOT NULL THEN 'voided' WHEN committed_at IS NOT NULL THEN "
        "'committed' WHEN started_at IS NOT NULL THEN 'started' ELSE 'reserved' END "
        "FROM old_charges ORDER BY id"
    )
    connection.execute("DROP TABLE old_charges")


def _from_3(connection: sqlite3.Connection) -> None:
    """Only the name was missing."""


def _from_4(connection: sqlite3.Connection) -> None:
    """Migrate schema 4: it stores no Rényi order, so the ledger keeps the rule of its version."""


_FROM = {1: _from_1, 2: _from_2, 3: _from_3, 4: _from_4}


def _make_divergences(connection: sqlite3.Connection) -> None:
    for statement in DIVERGENCES:
        connection.execute(statement)


def _name(connection: sqlite3.Connection) -> None:
    for statement in _IDENTITY:
        connection.execute(statement)
    connection.execute("INSERT INTO identity (id, name) VALUES (1, ?)", (secrets.token_hex(16),))


def read_identity(connection: sqlite3.Connection) -> str | None:
    """Return the random name of a ledger's file, or None for older versions, which have none."""
    if connection.execute("PRAGMA user_version").fetchone()[0] < SCHEMA_VERSION:
        return None
    row = connection.execute("SELECT name FROM identity").fetchone()
    return None if row is None else str(row[0])


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in (_BUDGET, _TOTALS, _CHARGES, *_TRIGGERS):
        connection.execute(statement)


def read_budget(connection: sqlite3.Connection) -> tuple[float, float] | None:
    """Return the budget (ε, δ), or None if none was set."""
    row = connection.execute("SELECT epsilon, delta FROM budget").fetchone()
    if row is None:
        return None
    epsilon, delta = row
    if not all(isinstance(part, float) for part in row) or not (epsilon >= 0 and 0 <= delta < 1):
        raise LedgerError(
            f"the ledger's budget reads ε={epsilon!r}, δ={delta!r}, which is invalid: another "
            f"program changed the file; restore a trusted copy"
        )
    return epsilon, delta


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
        return _guarantee(text)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(
            f"charge {number} of the ledger cannot be read, so nothing can be added to the ledger: "
            f"{error}"
        ) from error


@lru_cache(maxsize=2**14)  # every reservation reads every charge again
def _guarantee(text: str) -> Guarantee:
    return Guarantee.from_dict(json.loads(text))


_LOCK_SECONDS = 30.0
_BESIDE = ("-journal", "-wal", "-shm")
_LOOKS, _BETWEEN_LOOKS = 20, 0.025  # at an empty file, in seconds: half a second in all

# New files keep SQLite's rollback journal rather than a write-ahead log: a charge is then in the
# ledger's one file when `reserve` returns, and a copy of that file holds it. Nor are there versions
# of SQLite (up to 3.51.2) in which processes that write and checkpoint together can corrupt it.
# EXTRA also flushes the folder after the journal is gone: without it a power cut could bring the
# journal back, which would undo a charge that was acknowledged. `fullfsync` is for macOS.
# `secure_delete` is for migrations: what an older version kept must not stay in unused pages.
_PRAGMAS = (
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",
    "PRAGMA secure_delete = ON",
)


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing ledger; put reads that belong together between BEGIN and the end."""
    if not path.exists():
        raise LedgerError(
            f"there is no ledger at {path}, and Ledger.open creates none: check the path (a "
            f"relative one starts in the working directory of this process), or create the ledger "
            f"with "
            "Ledger.create(path, epsilon=..., delta=...)"
        )
    if path.is_file() and path.stat().st_nlink > 1:
        raise LedgerError(
            f"the ledger {path} has another hard link: after a crash SQLite looks for its journal "
            "under one name only, so that a charge made under the other could be lost. Remove the "
            "other name, or copy the file; a symbolic link is harmless"
        )
    _keep_private(path)
    with _connect(path) as connection:
        if path.stat().st_size == 0:
            _refuse_empty(connection, path)
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing ledger for one exclusive transaction, on the disk when this ends."""
    with reading(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def create_file(path: Path, budget: tuple[float, float] | None) -> None:
    """Make a new ledger, its budget with it; refuse to touch a file that exists."""
    if not path.parent.is_dir():
        raise LedgerError(f"the folder {path.parent} does not exist: create it first")
    _refuse_remains(path)
    try:
        # Of several processes that create the same file at once, one gets it.
        create_private(path)
    except FileExistsError as error:
        raise LedgerError(
            f"there is a file at {path} already, and Ledger.create overwrites nothing: open "
            "it with Ledger.open(path), or choose another path"
        ) from error
    except OSError as error:
        raise LedgerError(f"cannot create the ledger {path}: {error}") from error
    try:
        with _connect(path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            create(connection, budget)
            connection.execute("COMMIT")
    except BaseException:
        if path.stat().st_size == 0:  # still ours: nothing was written and nobody can use it
            path.unlink()
        raise


def _keep_private(path: Path) -> None:
    """Take what an older version or a copy left readable for all; a group that may write stays."""
    # SQLite gives its journal the rights of the ledger, so that new ones need nothing.
    if tighten(path, shared=True):
        for suffix in _BESIDE:
            tighten(path.with_name(path.name + suffix), shared=True)


def _refuse_remains(path: Path) -> None:
    """Refuse a place where a ledger's journal lies: SQLite would play it back into a new file."""
    for suffix in _BESIDE[:2]:
        remains = path.with_name(path.name + suffix)
        if remains.exists():
            raise LedgerError(
                f"{remains} belongs to a ledger that is no longer here: restore that ledger from "
                f"a copy, or choose another path"
            )


def _refuse_empty(connection: sqlite3.Connection, path: Path) -> None:
    for _ in range(_LOOKS):
        connection.execute("BEGIN IMMEDIATE")  # waits for a process that is creating it
        connection.execute("ROLLBACK")
        if path.stat().st_size > 0:
            return
        time.sleep(_BETWEEN_LOOKS)  # one that has made the file may not have locked it yet
    raise LedgerError(
        f"the file {path} is empty: a ledger was lost or truncated, and the spent budget is "
        f"unknown; restore a copy. Only if it never held a charge, delete it and create a "
        "ledger with Ledger.create(path, epsilon=..., delta=...)"
    )


def bring_up_to_date(path: Path) -> str:
    """Refuse a file that is no ledger, migrate an older version, and return the ledger's name."""
    with reading(path) as connection:
        if check_ours(connection, path) < SCHEMA_VERSION:
            connection.execute("BEGIN IMMEDIATE")
            version = check_ours(connection, path)
            if version < SCHEMA_VERSION:  # another process may have been first
                migrate(connection, version)
            connection.execute("COMMIT")
        identity = read_identity(connection)
    if identity is None:
        raise LedgerError(
            f"the ledger {path} has lost its identifier: another program changed the file; "
            f"restore a trusted copy"
        )
    return identity


def check_same(connection: sqlite3.Connection, path: Path, identity: str) -> None:
    """Refuse the file of another ledger that was moved to the path after the opening."""
    check_ours(connection, path)
    if read_identity(connection) != identity:
        raise LedgerError(
            f"the file at {path} is not the ledger that was opened there, and was left unchanged: "
            f"a charge belongs to the file in which it was reserved. Restore that file; or, to "
            f"use this one, open it with Ledger.open(path) and reserve again"
        )


@contextmanager
def _connect(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", timeout=_LOCK_SECONDS, isolation_level=None, uri=True
        )
    except sqlite3.Error as error:
        raise LedgerError(f"cannot open the ledger {path}: {error}") from error
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        yield connection
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"cannot use the ledger {path}: {error}") from error
    finally:
        connection.close()  # an open transaction is rolled back
