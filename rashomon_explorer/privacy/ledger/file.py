"""The ledger's SQLite file and its schema."""

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from rashomon_explorer._utils.files import create_private, tighten
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.ledger.charge import EXTENDS
from rashomon_explorer.privacy.ledger.totals import ACCOUNTING_TABLES, Totals, write_once_triggers
from rashomon_explorer.privacy.ledger.totals import TABLES as DIVERGENCES

APPLICATION_ID = 0x52617368  # "Rash": distinguishes ledgers from SQLite files of other programs
SCHEMA_VERSION = 6

_BUDGET = "CREATE TABLE budget (id INTEGER PRIMARY KEY CHECK (id = 1), epsilon REAL, delta REAL)"
_TOTALS = "CREATE TABLE totals (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL)"

# `leaks` is the rule under which the charge was counted, so that `totals` can be recomputed.
# The times of start and commit are not stored: rows were read between them, so the duration
# depends on the rows.
_CHARGES = Path(__file__).with_name("charges.sql").read_text(encoding="utf-8")

# With these, what is spent is read without a look at every charge.
HAS_EXTENDS = f"instr(parameters, '\"{EXTENDS}\"')"
_INDEXES = (
    "CREATE INDEX charges_counts ON charges (guarantee, id) WHERE state <> 'voided'",
    f"CREATE INDEX charges_linked ON charges (id) WHERE {HAS_EXTENDS}",
)

# The random name identifies a file if another ledger is moved to its path.
_IDENTITY = (
    "CREATE TABLE identity (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL)",
    """
CREATE TRIGGER identity_keeps BEFORE UPDATE ON identity
BEGIN SELECT RAISE(ABORT, 'a ledger keeps its name'); END""",
)

# `charges_once` covers INSERT OR REPLACE, which deletes without firing the trigger on DELETE.
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
    *write_once_triggers("budget", "a budget is set once"),
)


_TABLES = (_BUDGET, _TOTALS, _CHARGES, *_INDEXES, *_TRIGGERS)


def create(
    connection: sqlite3.Connection, budget: tuple[float, float] | None, totals: Totals
) -> None:
    """Create the tables of a ledger with the rule of ``totals``, in the caller's transaction."""
    for statement in (*_TABLES, *_IDENTITY, *DIVERGENCES, *ACCOUNTING_TABLES):
        connection.execute(statement)
    connection.execute("INSERT INTO identity (id, name) VALUES (1, ?)", (secrets.token_hex(16),))
    if budget is not None:
        connection.execute("INSERT INTO budget (id, epsilon, delta) VALUES (1, ?, ?)", budget)
    if totals.order is not None:
        connection.execute("INSERT INTO renyi_order (id, value) VALUES (1, ?)", (totals.order,))
    if totals.accounting:
        connection.execute("INSERT INTO accounting VALUES (1, ?)", (totals.accounting,))
    write_totals(connection, totals)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def read_identity(connection: sqlite3.Connection, path: Path) -> str:
    """Return the file's random name; raise a LedgerError for other files and versions."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise LedgerError(f"{path} is not a privacy ledger: choose another file")
    if version != SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger {path} has schema {version}, this version reads {SCHEMA_VERSION}: open it "
            "with the version of rashomon-explorer that wrote it"
        )
    row = connection.execute("SELECT name FROM identity").fetchone()
    if row is None:
        raise LedgerError(
            f"the ledger {path} has lost its identifier: another program changed the file; "
            f"restore a trusted copy"
        )
    return str(row[0])


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


def read_totals(connection: sqlite3.Connection) -> Totals:
    """Return the totals of all charges that are not voided."""
    (text,) = connection.execute("SELECT value FROM totals").fetchone() or ("",)
    try:
        return Totals.from_dict(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(f"the totals of the ledger cannot be read: {error}") from error


def write_totals(connection: sqlite3.Connection, totals: Totals) -> None:
    """Replace the totals, in the transaction that changes a charge."""
    connection.execute(
        "INSERT OR REPLACE INTO totals (id, value) VALUES (1, ?)", (json.dumps(totals.to_dict()),)
    )


def read_guarantee(number: int, text: str) -> Guarantee:
    """Return the guarantee of a charge; raise a LedgerError if the text is invalid."""
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
_JOURNAL_SUFFIXES = ("-journal", "-wal", "-shm")
_EMPTY_RETRIES, _RETRY_SECONDS = 20, 0.025  # retries on an empty file, and seconds between them

# New files use SQLite's rollback journal, not a write-ahead log: when `reserve` returns, a charge
# is in the ledger's one file, and a copy of that file contains it. In write-ahead mode, SQLite up
# to 3.51.2 can corrupt a file if processes write and checkpoint at the same time.
# EXTRA also syncs the folder after the journal is deleted: without it a power cut could restore
# the journal, which would undo an acknowledged charge. `fullfsync` is for macOS.
_PRAGMAS = ("PRAGMA synchronous = EXTRA", "PRAGMA fullfsync = ON", "PRAGMA secure_delete = ON")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing ledger; put reads that belong together in one transaction."""
    status = _status(path)
    if path.is_file() and status.st_nlink > 1:
        raise LedgerError(
            f"the ledger {path} has another hard link: after a crash SQLite looks for its journal "
            "under one name only, so that a charge made under the other could be lost. Remove the "
            "other name, or copy the file; a symbolic link is harmless"
        )
    # Read access of other users that an older version or a copy left is removed; group writes stay.
    # SQLite gives its journal the permissions of the ledger, so new journals need no change.
    if tighten(path, shared=True):
        for suffix in _JOURNAL_SUFFIXES:
            tighten(path.with_name(path.name + suffix), shared=True)
    with _connect(path) as connection:
        if _status(path).st_size == 0:
            _check_not_empty(connection, path)
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing ledger for one exclusive transaction, which is on disk at the end."""
    with reading(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def create_file(path: Path, budget: tuple[float, float] | None, totals: Totals) -> None:
    """Create a new ledger with its budget and rule; raise a LedgerError if the file exists."""
    if not path.parent.is_dir():
        raise LedgerError(f"the folder {path.parent} does not exist: create it first")
    _check_no_journal(path)
    try:
        # If several processes create the same file at once, only one succeeds.
        create_private(path)
    except FileExistsError as error:
        raise LedgerError(
            f"there is a file at {path} already, and Ledger.create does not overwrite it: open "
            "it with Ledger.open(path), or choose another path"
        ) from error
    except OSError as error:
        raise LedgerError(f"cannot create the ledger {path}: {error}") from error
    try:
        with _connect(path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            create(connection, budget, totals)
            connection.execute("COMMIT")
    except BaseException:
        if path.stat().st_size == 0:  # still empty, so no process can use it
            path.unlink()
        raise


def _status(path: Path) -> os.stat_result:
    """Status of the ledger's file; raise a LedgerError if it is missing."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LedgerError(
            f"there is no ledger at {path}, and Ledger.open does not create one: check the path (a "
            f"relative one starts in the working directory of this process), or create the ledger "
            f"with Ledger.create(path, epsilon=..., delta=...)"
        ) from error


def _check_no_journal(path: Path) -> None:
    """Raise a LedgerError if a journal exists at the path: SQLite would apply it to a new file."""
    for suffix in _JOURNAL_SUFFIXES[:2]:
        remains = path.with_name(path.name + suffix)
        if remains.exists():
            raise LedgerError(
                f"{remains} belongs to a ledger that is no longer here: restore that ledger from "
                f"a copy, or choose another path"
            )


def _check_not_empty(connection: sqlite3.Connection, path: Path) -> None:
    for _ in range(_EMPTY_RETRIES):
        connection.execute("BEGIN IMMEDIATE")  # waits for a process that is creating it
        connection.execute("ROLLBACK")
        if _status(path).st_size > 0:
            return
        time.sleep(_RETRY_SECONDS)  # another process may not have locked its new file yet
    raise LedgerError(
        f"the file {path} is empty: a ledger was lost or truncated, and the spent budget is "
        f"unknown; restore a copy. Only if it never held a charge, delete it and create a "
        "ledger with Ledger.create(path, epsilon=..., delta=...)"
    )


def check_identity(connection: sqlite3.Connection, path: Path, identity: str) -> None:
    """Raise a LedgerError if another ledger's file was moved to the path after opening."""
    if read_identity(connection, path) != identity:
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
