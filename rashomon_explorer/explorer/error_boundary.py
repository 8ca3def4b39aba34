"""No callback fails in silence: its exception becomes words, its places go to the log."""

import functools
import logging
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rashomon_explorer._utils.files import private_opener
from rashomon_explorer.exceptions import (
    CuratorOnlyError,
    DataError,
    FitError,
    LedgerError,
    SamplerError,
    without_messages,
)
from rashomon_explorer.explorer.state import Alert, ExplorerState

LOGGER = logging.getLogger("rashomon_explorer")
LOGGER.addFilter(without_messages)
LEDGER_READ = "Reading the ledger"
PAID_READ = "Reading what was paid for"
STILL_THERE = "Its files are left as they are, and read again when the set is opened next."
ON_SCREEN_ONLY = "It was paid for and is on screen, nowhere else: save the bundle before you leave."
_EXPLAINED = (CuratorOnlyError, DataError, LedgerError, SamplerError)
_WITHOUT_ROWS = (CuratorOnlyError, FitError, LedgerError)
_WITHHELD = "The reason may quote private rows: switch to Curator to read it."


def log_failures_to(path: Path) -> None:
    """Log unexpected errors to a file, which appears with the first one."""
    known = [getattr(handler, "baseFilename", None) for handler in LOGGER.handlers]
    if str(path.resolve()) not in known:
        handler = _PrivateFile(path.resolve(), delay=True, encoding="utf-8")
        handler.setLevel(logging.ERROR)
        handler.addFilter(without_messages)  # a logger's own filter does not see its children's
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        LOGGER.addHandler(handler)


class _PrivateFile(logging.FileHandler):
    """A log that its owner's account alone can read."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=private_opener)


def error_boundary(
    state: ExplorerState, what: str, action: Callable[..., Any]
) -> Callable[..., Any]:
    """Wrap a callback so that its exception is shown as the page's alert."""

    @functools.wraps(action)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return action(*args, **kwargs)
        except Exception as error:
            report(state, what, error)
            return None

    return call


def report(state: ExplorerState, what: str, error: BaseException, kept: str = Alert.kept) -> None:
    """Put an exception on the page and its type and places in the log.

    Parameters
    ----------
    state : ExplorerState
        Takes the alert.
    what : str
        What did not work.
    error : BaseException
        Why.
    kept : str
        What is still there, and what to do.
    """
    level = logging.INFO if isinstance(error, _EXPLAINED) else logging.ERROR
    LOGGER.log(level, "%s failed", what, exc_info=error)
    state.alert = Alert(what, _reason(error), kept, _public(error))


def _public(error: BaseException) -> str:
    """Words for the release: those of errors that cannot quote a row."""
    return str(error) if isinstance(error, _WITHOUT_ROWS) else _WITHHELD


def _reason(error: BaseException) -> str:
    """Words of an exception; of one whose words are withheld, its reason, marked as private."""
    if isinstance(error, FitError) and error.detail:
        return f"{error.detail} (Curator: not private. The price stays spent.)"
    return str(error) or type(error).__name__
