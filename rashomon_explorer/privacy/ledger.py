"""What has been spent on a data set: a file that is written before any row is read."""

import getpass
import json
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rashomon_explorer.exceptions import BudgetExceededError, LedgerError
from rashomon_explorer.privacy.adaptive import ROUNDING, adaptive_epsilon, takes_delta
from rashomon_explorer.privacy.checks import check_delta, check_nonnegative
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.rounding import rounded_down, rounded_up

_APPLICATION_ID = 0x52617368  # "Rash": an SQLite file of another program is never taken for ours
_SCHEMA_VERSION = 1
_LOCK_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE budget (id INTEGER PRIMARY KEY CHECK (id = 1), epsilon REAL, delta REAL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reserved_at TEXT NOT NULL,
    committed_at TEXT,
    who TEXT NOT NULL,
    note TEXT NOT NULL,
    parameters TEXT NOT NULL,
    guarantee TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class LedgerEntry:
    """One charge. ``state`` is ``"reserved"`` or ``"committed"``; both count as spent."""

    id: int
    who: str
    when: str
    note: str
    parameters: dict[str, Any]
    guarantee: Guarantee
    state: str

    @property
    def mechanism(self) -> str:
        """Notion in which the charge was proved."""
        return self.guarantee.notion


class Charge:
    """A reservation: it counts as spent from now on, whatever happens."""

    def __init__(self, ledger: "Ledger", entry_id: int) -> None:
        self._ledger = ledger
        self.id = entry_id

    def commit(self) -> None:
        """Record that the mechanism ran to its end."""
        self._ledger._commit(self.id)


class Ledger:
    """Privacy budget of one data set and every charge against it, in an SQLite file.

    Reserve, run, commit: a charge is written and refused or accepted in one transaction before
    anything reads the rows, so that a crash counts as spent and two processes cannot spend the
    same budget. Only the path is kept: a ledger may be pickled, copied and shared by threads.

    What is spent is recomputed from the entries: the less of the pure sum and the zCDP sum at
    the ledger's δ. The budget (ε, δ) holds for everything together even when each charge was
    chosen after seeing the earlier results: the pure sum bounds the privacy loss outright, the
    zCDP sum is a privacy filter, and where the former holds at the end it contributes nothing to
    δ (docs/ledger.md).

    Parameters
    ----------
    path : str or Path
        An existing ledger; use :meth:`open` to create one.

    Examples
    --------
    >>> import tempfile
    >>> from rashomon_explorer.privacy import bounded_range
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger.open(folder.name + "/lending.ledger", epsilon=2.0, delta=1e-6) as ledger:
    ...     ledger.reserve(bounded_range(eta=0.5), note="first look").commit()
    ...     ledger.spent(), ledger.remaining
    (0.5, 1.5)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        with self._connection() as connection:
            _check_ours(connection, self.path)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> "Ledger":
        """Open a ledger, creating it if there is none.

        Parameters
        ----------
        path : str or Path
            The file, beside the data set.
        epsilon, delta : float, optional
            The budget. It is set once; a ledger without a budget records and refuses nothing.

        Returns
        -------
        Ledger

        Raises
        ------
        LedgerError
            If the file is not a ledger, cannot be written, or has another budget.
        ValueError
            If the budget is out of range, or only half of it is given.
        """
        budget = _checked_budget(epsilon, delta)
        path = Path(path).absolute()
        with _connect(path, create=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                _create(connection)
            _check_ours(connection, path)
            if budget is not None:
                _set_budget(connection, budget, path)
            connection.execute("COMMIT")
        return cls(path)

    @property
    def budget(self) -> tuple[float, float] | None:
        """The budget (ε, δ), or None if none was set."""
        with self._connection() as connection:
            return _budget(connection)

    def entries(self) -> list[LedgerEntry]:
        """Every charge, oldest first."""
        with self._connection() as connection:
            return _entries(connection)

    def spent(self, delta: float | None = None) -> float:
        """Total ε spent, reservations included.

        Parameters
        ----------
        delta : float, optional
            δ at which to compose; by default the budget's, or 0 without a budget.

        Returns
        -------
        float
        """
        return self._total(delta)

    @property
    def remaining(self) -> float:
        """Budgeted ε less what is spent, at the budget's δ; infinity without a budget."""
        budget = self.budget
        return math.inf if budget is None else max(0.0, budget[0] - self.spent())

    def epsilon_after(self, guarantee: Guarantee) -> float:
        """Total ε if this were charged too, at the budget's δ.

        Parameters
        ----------
        guarantee : Guarantee

        Returns
        -------
        float
        """
        return self._total(None, guarantee)

    def can_afford(self, guarantee: Guarantee) -> bool:
        """Whether :meth:`reserve` would accept this charge now."""
        budget = self.budget
        return budget is None or _within(self.epsilon_after(guarantee), budget)

    def reserve(
        self, guarantee: Guarantee, note: str = "", parameters: dict[str, Any] | None = None
    ) -> Charge:
        """Write a charge before its mechanism runs.

        Parameters
        ----------
        guarantee : Guarantee
            What is about to run, all draws composed.
        note : str, default=""
            For people.
        parameters : dict, optional
            Public settings of the mechanism, JSON values.

        Returns
        -------
        Charge
            Call its ``commit`` when the mechanism has run.

        Raises
        ------
        BudgetExceededError
            If the budget does not allow it; nothing was written.
        LedgerError
            If the file cannot be written, or an (ε, δ) charge comes after charges without δ.
        """
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            budget = _budget(connection)
            if budget is not None:
                _refuse_past(budget, [e.guarantee for e in _entries(connection)], guarantee)
            cursor = connection.execute(
                "INSERT INTO entries (reserved_at, who, note, parameters, guarantee) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    _now(),
                    f"{_user()} (process {os.getpid()})",
                    note,
                    json.dumps(parameters or {}),
                    json.dumps(guarantee.to_dict()),
                ),
            )
            connection.execute("COMMIT")
            return Charge(self, int(cursor.lastrowid or 0))

    def close(self) -> None:
        """Nothing is held open between calls; here for symmetry with :meth:`open`."""

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _commit(self, entry_id: int) -> None:
        with self._connection() as connection:
            connection.execute(
                "UPDATE entries SET committed_at = coalesce(committed_at, ?) WHERE id = ?",
                (_now(), entry_id),
            )

    def _total(self, delta: float | None, *more: Guarantee) -> float:
        with self._connection() as connection:
            parts = [entry.guarantee for entry in _entries(connection)]
            budget = _budget(connection)
        if delta is None:
            delta = budget[1] if budget else 0.0
        return adaptive_epsilon([*parts, *more], delta)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():
            raise LedgerError(f"there is no ledger at {self.path}: create it with Ledger.open")
        with _connect(self.path, create=False) as connection:
            yield connection


@contextmanager
def _connect(path: Path, create: bool) -> Iterator[sqlite3.Connection]:
    if create and not path.parent.is_dir():
        raise LedgerError(f"the folder {path.parent} does not exist: create it first")
    mode = "rwc" if create else "rw"
    try:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}", timeout=_LOCK_SECONDS, isolation_level=None, uri=True
        )
    except sqlite3.Error as error:
        raise LedgerError(f"cannot open the ledger {path}: {error}") from error
    try:
        # EXTRA: after a power cut a reservation that was acknowledged must still be there.
        connection.execute("PRAGMA synchronous = EXTRA")
        yield connection
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"cannot use the ledger {path}: {error}") from error
    finally:
        connection.close()  # an open transaction is rolled back


def _create(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, _SCHEMA.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")


def _check_ours(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION_ID:
        raise LedgerError(f"{path} is not a privacy ledger: choose another file")
    if version != _SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger {path} has schema {version}, this version writes {_SCHEMA_VERSION}: "
            "upgrade rashomon-explorer"
        )


def _checked_budget(epsilon: float | None, delta: float | None) -> tuple[float, float] | None:
    if epsilon is None:
        if delta is not None:
            raise ValueError("a budget needs epsilon as well as delta")
        return None
    check_nonnegative(epsilon=epsilon)
    if not math.isfinite(epsilon):
        raise ValueError("epsilon must be finite; leave it out for a ledger that only records")
    delta = 0.0 if delta is None else delta
    check_delta(delta)
    return float(epsilon), float(delta)


def _set_budget(connection: sqlite3.Connection, budget: tuple[float, float], path: Path) -> None:
    old = _budget(connection)
    if old is None:
        connection.execute("INSERT INTO budget (id, epsilon, delta) VALUES (1, ?, ?)", budget)
    elif old != budget:
        raise LedgerError(
            f"the ledger {path} has the budget ε={old[0]:g}, δ={old[1]:g}, not ε={budget[0]:g}, "
            f"δ={budget[1]:g}: a budget is set once; open it without one to go on"
        )


def _budget(connection: sqlite3.Connection) -> tuple[float, float] | None:
    row = connection.execute("SELECT epsilon, delta FROM budget").fetchone()
    return None if row is None else (row[0], row[1])


def _entries(connection: sqlite3.Connection) -> list[LedgerEntry]:
    rows = connection.execute(
        "SELECT id, who, reserved_at, note, parameters, guarantee, committed_at "
        "FROM entries ORDER BY id"
    )
    return [_entry(row) for row in rows]


def _entry(row: tuple[Any, ...]) -> LedgerEntry:
    try:
        return LedgerEntry(
            id=row[0],
            who=row[1],
            when=row[2],
            note=row[3],
            parameters=json.loads(row[4]),
            guarantee=Guarantee.from_dict(json.loads(row[5])),
            state="committed" if row[6] else "reserved",
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LedgerError(
            f"charge {row[0]} of the ledger cannot be read, so that nothing can be added to it: "
            f"{error}"
        ) from error


def _refuse_past(budget: tuple[float, float], spent: list[Guarantee], guarantee: Guarantee) -> None:
    epsilon, delta = budget
    if takes_delta(guarantee) and spent and not takes_delta(spent[0]):
        raise LedgerError(
            "this (ε, δ) charge comes after charges without δ, and the ledger's δ already pays "
            "for their composition: keep (ε, δ) charges in a ledger that begins with one"
        )
    before = adaptive_epsilon(spent, delta)
    after = adaptive_epsilon([*spent, guarantee], delta)
    if not _within(after, budget):
        raise BudgetExceededError(
            f"this would bring the total to ε={rounded_up(after)} at δ={delta:g}, past the budget "
            f"of ε={epsilon:g}: ε={rounded_down(max(0.0, epsilon - before))} is left. Nothing was "
            "drawn and nothing was spent; ask for a smaller epsilon or fewer draws"
        )


def _within(epsilon: float, budget: tuple[float, float]) -> bool:
    return epsilon <= budget[0] * (1 + ROUNDING)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container user without a name
        return "unknown"
