"""Fingerprints of tables and the ledgers to which the tables are charged."""

import secrets
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer._utils.files import create_private, tighten
from rashomon_explorer.exceptions import LedgerWarning, SameTableWarning, warn_stacklevel

KEY_BYTES = 32
_DIGEST_BYTES = 16
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio
_HALF = np.uint64(32)


def fingerprint(rows: Any, key: bytes) -> bytes:
    """Keyed BLAKE2 of the rows, independent of row order and column names."""
    frame = _frame(rows)
    return of_hashes(frame.shape, row_hashes(frame), key)


def row_hashes(rows: Any) -> NDArray[np.uint64]:
    """Hash of each row (n,), from its values and their order only."""
    frame = _frame(rows)
    each = np.zeros(len(frame), dtype=np.uint64)
    for j in range(frame.shape[1]):
        # A bijection of the column's bits, so that different rows stay different; the keyed
        # hash below makes the result secret.
        each ^= _bits(frame.iloc[:, j])
        each *= _ODD
        each ^= each >> _HALF
    return each


def of_hashes(shape: tuple[int, ...], each: NDArray[np.uint64], key: bytes) -> bytes:
    """Fingerprint of a table from the hashes of its rows, in any order."""
    found = blake2b(repr(tuple(shape)).encode(), key=key, digest_size=_DIGEST_BYTES)
    found.update(np.sort(each).astype("<u8", copy=False).data)
    return found.digest()


def _frame(rows: Any) -> pd.DataFrame:
    return rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))


def _bits(column: "pd.Series[Any]") -> NDArray[np.uint64]:
    if pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return (numbers + 0.0).view(np.uint64)  # maps −0.0 to 0.0
    written = column.astype(object).map(str, na_action="ignore")
    places, texts = pd.factorize(written.to_numpy(dtype=object))
    # A missing value has code −1, the last one.
    hashes = [blake2b(text, digest_size=8).digest() for text in (*map(str.encode, texts), b"")]
    known: NDArray[np.uint64] = np.frombuffer(b"".join(hashes), dtype="<u8").astype(np.uint64)
    return known[places]


NAME = ".rashomon-tables"
"""Registry file of a folder, readable only by its owner."""

_LOCK_SECONDS = 10.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), value BLOB)",
    "CREATE TABLE IF NOT EXISTS ledgers (name TEXT PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS tables (fingerprint BLOB, ledger TEXT, "
    "PRIMARY KEY (fingerprint, ledger))",
)


class TableRegistry:
    """Ledgers of one folder and the tables charged to them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME

    def knows(self, ledger: str) -> bool:
        """Whether a ledger of this file name is recorded."""
        if not self.path.exists():
            return False
        with self._open() as connection:
            found = connection.execute("SELECT 1 FROM ledgers WHERE name = ?", (ledger,))
            return found.fetchone() is not None

    def ledgers_charged(self, rows: Any) -> tuple[str, ...]:
        """File names of the ledgers to which this table was charged, in alphabetical order."""
        if not self.path.exists():
            return ()
        with self._open() as connection:
            return _names(connection, _found(rows, _key(connection)))

    def note(self, ledger: str, rows: Any = None) -> tuple[str, ...]:
        """Record that a ledger of this name exists, and the rows charged to it."""
        # Before SQLite creates the file, which would then be readable by all users.
        with suppress(FileExistsError):
            create_private(self.path)
        with self._open() as connection:
            for statement in _TABLES:
                connection.execute(statement)
            found = None if rows is None else _found(rows, _key(connection))
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT OR IGNORE INTO ledgers VALUES (?)", (ledger,))
            if found is not None:
                connection.execute("INSERT OR IGNORE INTO tables VALUES (?, ?)", (found, ledger))
            names = () if found is None else _names(connection, found)
            connection.execute("COMMIT")
        return names

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        tighten(self.path)
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            timeout=_LOCK_SECONDS,
            isolation_level=None,
            uri=True,
        )
        with closing(connection):
            yield connection


def recognise(ledger: Path, rows: Any) -> tuple[str, ...]:
    """Record that a table is charged to a ledger; warn if it was also charged to another."""
    ledger = ledger.resolve()
    try:
        known = TableRegistry(ledger.parent).note(ledger.name, rows)
    except (OSError, sqlite3.Error) as error:
        warn_unkept(ledger.parent, error)
        return ()
    others = tuple(name for name in known if name != ledger.name)
    if others:
        warnings.warn(
            f"the rows charged to {ledger.name} were also charged to {', '.join(others)}, and the "
            "budgets add up for the people in them: use one ledger for one table. (Curator: this "
            "was read from private rows.)",
            SameTableWarning,
            stacklevel=warn_stacklevel(),
        )
    return others


@dataclass(frozen=True, eq=False)
class Hashes:
    """Hashes of the rows of a table that is not in memory, in any order."""

    shape: tuple[int, int]
    each: NDArray[np.uint64]


def _found(rows: Any, key: bytes) -> bytes:
    if isinstance(rows, Hashes):
        return of_hashes(rows.shape, rows.each, key)
    return fingerprint(rows, key)


def warn_unkept(folder: Path, error: Exception) -> None:
    """Warn that a folder cannot store which tables its ledgers cover."""
    warnings.warn(
        f"the folder {folder} cannot store which tables its ledgers cover ({error}): a charge of "
        f"the same table to another ledger will not be detected. The charge itself is recorded",
        LedgerWarning,
        stacklevel=warn_stacklevel(),
    )


def _names(connection: sqlite3.Connection, found: bytes) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT ledger FROM tables WHERE fingerprint = ? ORDER BY ledger", (found,)
    )
    return tuple(name for (name,) in rows)


def _key(connection: sqlite3.Connection) -> bytes:
    """Secret of the folder; if several processes create it at once, one value is kept."""
    row = connection.execute("SELECT value FROM secret").fetchone()
    if row is None:
        new = secrets.token_bytes(KEY_BYTES)
        connection.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (new,))
        row = connection.execute("SELECT value FROM secret").fetchone()
    return row[0]
