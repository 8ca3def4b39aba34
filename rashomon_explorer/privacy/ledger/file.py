"""The file of a ledger: opened, locked, flushed to the disk, brought up to date."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.ledger.schema import (
    SCHEMA_VERSION,
    check_ours,
    create,
    migrate,
    read_identity,
)
from rashomon_explorer.private_files import create_private, tighten

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
            f"there is no ledger at {path}, and none is made by opening one: check the path (a "
            "relative one starts in the folder of this process), or create the ledger with "
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
            f"there is a file at {path} already, and creating a ledger overwrites nothing: open "
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
                f"{remains} is left of a ledger that was here and is gone: restore that ledger "
                "from a copy, or choose another path"
            )


def _refuse_empty(connection: sqlite3.Connection, path: Path) -> None:
    for _ in range(_LOOKS):
        connection.execute("BEGIN IMMEDIATE")  # waits for a process that is creating it
        connection.execute("ROLLBACK")
        if path.stat().st_size > 0:
            return
        time.sleep(_BETWEEN_LOOKS)  # one that has made the file may not have locked it yet
    raise LedgerError(
        f"the file {path} is empty: a ledger was lost or truncated, and what was spent is "
        "unknown; restore a copy. Only if it never held a charge, delete it and create a "
        "ledger with Ledger.create(path, epsilon=..., delta=...)"
    )


def bring_up_to_date(path: Path) -> str:
    """Refuse what is no ledger, migrate one of an older version, and return the file's name."""
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
            f"the ledger {path} has lost the name by which it is known again: something else "
            "changed the file; go back to a copy you trust"
        )
    return identity


def check_same(connection: sqlite3.Connection, path: Path, identity: str) -> None:
    """Refuse another ledger's file, which was moved to the path since it was opened."""
    check_ours(connection, path)
    if read_identity(connection) != identity:
        raise LedgerError(
            f"the file at {path} is another ledger's than the one that was opened there, and was "
            "left as it is: a charge belongs to the file it was reserved in. Put that file back; "
            "or, if this one is meant, open it with Ledger.open(path) and reserve anew"
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
