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


@dataclass(frozen=True, eq=False)
class Hashes:
    """Hashes of the rows of a table that is not in memory, in any order."""

    shape: tuple[int, ...]
    each: NDArray[np.uint64]


def fingerprint(rows: Any, key: bytes) -> bytes:
    """Keyed BLAKE2 of rows or their `Hashes`, independent of row order and column names."""
    if not isinstance(rows, Hashes):
        frame = _frame(rows)
        rows = Hashes(frame.shape, row_hashes(frame))
    digest = blake2b(repr(tuple(rows.shape)).encode(), key=key, digest_size=_DIGEST_BYTES)
    digest.update(np.sort(rows.each).astype("<u8", copy=False).data)
    return digest.digest()


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


def _frame(rows: Any) -> pd.DataFrame:
    return rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))


def _bits(column: "pd.Series[Any]") -> NDArray[np.uint64]:
    if pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return (numbers + 0.0).view(np.uint64)  # maps −0.0 to 0.0
    text_column = column.astype(object).map(str, na_action="ignore")
    codes, texts = pd.factorize(text_column.to_numpy(dtype=object))
    # A missing value has code −1, the last one.
    hashes = [blake2b(text, digest_size=8).digest() for text in (*map(str.encode, texts), b"")]
    by_code: NDArray[np.uint64] = np.frombuffer(b"".join(hashes), dtype="<u8").astype(np.uint64)
    return by_code[codes]


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
            row = connection.execute("SELECT 1 FROM ledgers WHERE name = ?", (ledger,)).fetchone()
            return row is not None

    def ledgers_charged(self, rows: Any) -> tuple[str, ...]:
        """File names of the ledgers to which this table was charged, in alphabetical order."""
        if not self.path.exists():
            return ()
        with self._open() as connection:
            return _names(connection, fingerprint(rows, _key(connection)))

    def note(self, ledger: str, rows: Any = None) -> tuple[str, ...]:
        """Record that a ledger of this name exists, and the rows charged to it."""
        # Before SQLite creates the file, which would then be readable by all users.
        with suppress(FileExistsError):
            create_private(self.path)
        with self._open() as connection:
            for statement in _TABLES:
                connection.execute(statement)
            digest = None if rows is None else fingerprint(rows, _key(connection))
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT OR IGNORE INTO ledgers VALUES (?)", (ledger,))
            if digest is not None:
                connection.execute("INSERT OR IGNORE INTO tables VALUES (?, ?)", (digest, ledger))
            names = () if digest is None else _names(connection, digest)
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


def record_charged_table(ledger: Path, rows: Any) -> tuple[str, ...]:
    """Record that a table is charged to a ledger; warn if it was also charged to another."""
    ledger = ledger.resolve()
    try:
        charged = TableRegistry(ledger.parent).note(ledger.name, rows)
    except (OSError, sqlite3.Error) as error:
        warn_unkept(ledger.parent, error)
        return ()
    other_ledgers = tuple(name for name in charged if name != ledger.name)
    if other_ledgers:
        warnings.warn(
            f"the rows charged to {ledger.name} were also charged to {', '.join(other_ledgers)}, "
            "and the budgets add up for the people in them: use one ledger for one table. "
            "(Curator: this was read from private rows.)",
            SameTableWarning,
            stacklevel=warn_stacklevel(),
        )
    return other_ledgers


def warn_unkept(folder: Path, error: Exception) -> None:
    """Warn that a folder cannot store which tables its ledgers cover."""
    warnings.warn(
        f"the folder {folder} cannot store which tables its ledgers cover ({error}): a charge of "
        f"the same table to another ledger will not be detected. The charge itself is recorded",
        LedgerWarning,
        stacklevel=warn_stacklevel(),
    )


def _names(connection: sqlite3.Connection, digest: bytes) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT ledger FROM tables WHERE fingerprint = ? ORDER BY ledger", (digest,)
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
