"""One table has one budget: a word where it is charged to a second ledger."""

import sqlite3
import warnings
from pathlib import Path
from typing import Any

from rashomon_explorer.exceptions import LedgerWarning, SameTableWarning
from rashomon_explorer.privacy.table_registry import TableRegistry
from rashomon_explorer.users_line import users_line


def recognise(ledger: Path, rows: Any) -> tuple[str, ...]:
    """Note that a table is charged to a ledger; warn if it was charged to another beside it.

    It reads the rows, so that the charge must have been started, and what it says is the
    curator's.

    Parameters
    ----------
    ledger : Path
        File of the ledger.
    rows : DataFrame or array-like of shape (n_rows, n_features)

    Returns
    -------
    tuple of str
        File names of the other ledgers.

    Warns
    -----
    SameTableWarning
        If there are others.
    LedgerWarning
        If the folder cannot keep it; nothing else depends on that.
    """
    ledger = ledger.resolve()
    try:
        known = TableRegistry(ledger.parent).note(ledger.name, rows)
    except (OSError, sqlite3.Error) as error:
        warn_unkept(ledger.parent, error)
        return ()
    others = tuple(name for name in known if name != ledger.name)
    if others:
        warnings.warn(same_table(others, ledger.name), SameTableWarning, stacklevel=users_line())
    return others


def same_table(others: tuple[str, ...], ledger: str) -> str:
    """Say what it means that a table was charged to other ledgers.

    Examples
    --------
    >>> same_table(("clinic.ledger",), "clinic-1.ledger")[:61]
    'the rows charged to clinic-1.ledger were charged to clinic.le'
    """
    return (
        f"the rows charged to {ledger} were charged to {', '.join(others)} too, and for the people "
        "in them the budgets add up: keep one ledger for one table. (Curator: this was read from "
        "private rows.)"
    )


def warn_unkept(folder: Path, error: Exception) -> None:
    """Warn that a folder cannot keep which tables its ledgers guard."""
    warnings.warn(
        f"the folder {folder} cannot keep which tables its ledgers guard ({error}): the same table "
        "under another ledger will not be noticed. The charge itself is written",
        LedgerWarning,
        stacklevel=users_line(),
    )
