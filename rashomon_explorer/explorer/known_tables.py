"""What the dashboard's folder knows of tables and ledgers; the page also works without it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rashomon_explorer.privacy.ledger.tables import TableRegistry, warn_unkept

_UNKEPT = (OSError, sqlite3.Error)


def was_noted(ledger: Path) -> bool:
    """Whether a ledger of this path was used before, so that a missing file is a lost one."""
    try:
        return TableRegistry(ledger.parent).knows(ledger.name)
    except _UNKEPT as error:
        warn_unkept(ledger.parent, error)
        return False


def charged_elsewhere(ledger: Path, *tables: Callable[[], Any]) -> tuple[str, ...]:
    """File names of other ledgers in the folder that any of the tables was charged to.

    For the person at the page, who has the rows: nothing is charged, and nothing is released.
    """
    try:
        registry = TableRegistry(ledger.parent)
        if not registry.path.exists():  # no table is made that there is nothing to compare with
            return ()
        names = {name for made in tables for name in registry.ledgers_of(made())}
    except _UNKEPT as error:
        warn_unkept(ledger.parent, error)
        return ()
    return tuple(sorted(names - {ledger.name}))


def note_table(ledger: Path, rows: Any) -> None:
    """Keep that rows are about to be charged to a ledger, as they were before any scaling."""
    try:
        TableRegistry(ledger.parent).note(ledger.name, rows)
    except _UNKEPT as error:
        warn_unkept(ledger.parent, error)
