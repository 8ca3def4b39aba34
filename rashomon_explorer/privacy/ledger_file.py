"""The file of a ledger: opened, locked, flushed to the disk, brought up to date."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.ledger_schema import SCHEMA_VERSION, check_ours, create, migrate

_LOCK_SECONDS = 30.0

# New files keep SQLite's rollback journal rather than a write-ahead log: a charge is then in the
# ledger's one file when `reserve` returns, and a copy of that file holds it. Nor are there versions
# of SQLite (up to 3.51.2) in which processes that write and checkpoint together can corrupt it.
# EXTRA also flushes the folder after the journal is gone: without it a power cut could bring the
# journal back, which would undo a charge that was acknowledged. `fullfsync` is for macOS.
_DURABLE = ("PRAGMA synchronous = EXTRA", "PRAGMA fullfsync = ON")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing ledger; put reads that belong together between BEGIN and the end."""
    if not path.exists():
        raise LedgerError(
            f"there is no ledger at {path}: check the path, or create it with "
            "Ledger.open(path, epsilon=..., delta=...)"
        )
    with _connect(path, "rw") as connection:
        yield connection


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an existing ledger for one exclusive transaction, on the disk when this ends."""
    with reading(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def open_or_create(path: Path, budget: tuple[float, float] | None) -> bool:
    """Create the ledger, its budget with it, unless there is one; return whether it was made."""
    if not path.parent.is_dir():
        raise LedgerError(f"the folder {path.parent} does not exist: create it first")
    with _connect(path, "rwc") as connection:
        connection.execute("BEGIN IMMEDIATE")
        empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if empty:
            create(connection, budget)
        connection.execute("COMMIT")
    return bool(empty)


def bring_up_to_date(path: Path) -> None:
    """Refuse what is no ledger, and migrate one of an older version."""
    with reading(path) as connection:
        if check_ours(connection, path) == SCHEMA_VERSION:
            return
        connection.execute("BEGIN IMMEDIATE")
        if check_ours(connection, path) < SCHEMA_VERSION:  # another process may have been first
            migrate(connection)
        connection.execute("COMMIT")


@contextmanager
def _connect(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}", timeout=_LOCK_SECONDS, isolation_level=None, uri=True
        )
    except sqlite3.Error as error:
        raise LedgerError(f"cannot open the ledger {path}: {error}") from error
    try:
        for pragma in _DURABLE:
            connection.execute(pragma)
        yield connection
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"cannot use the ledger {path}: {error}") from error
    finally:
        connection.close()  # an open transaction is rolled back
