"""Messages of the page, and the boundary that shows errors as messages."""

import functools
import logging
import re
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rashomon_explorer import exceptions
from rashomon_explorer._utils.files import private_opener
from rashomon_explorer._utils.formatting import left_text
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.state import Alert, ExplorerState
from rashomon_explorer.plots.text import cost_text, number, sentence


def receipt(result: str, adds: float, account: Account) -> str:
    return f"{result} for {cost_text(adds)}. Remaining: ε = {left_text(account.left)}."


def stale(state: ExplorerState) -> str:
    """Describe the settings that changed since the draws on screen."""
    drawn, now = state.drawn_settings, state.draw_settings()
    moved = [name for name in drawn if name in now and drawn[name] != now[name] and name != "psi"]
    if state.rashomon_set is None or not moved:
        return ""

    def described(values: Mapping[str, Any]) -> str:
        texts = []
        for name in moved:
            value = "any" if values[name] is None else values[name]  # no limit on the depth
            text = value if isinstance(value, str) else number(value)
            texts.append(f"{_SYMBOLS.get(name, name)} = {text}")
        return ", ".join(texts)

    before, after = described(drawn), described(now)
    return (
        f"The figures show draws made with {before}. The sliders are at {after}: the plan "
        f"follows them now, the figures after the next draw."
    )


_SYMBOLS = {
    "psi": "ψ",
    "epsilon": "ε",
    "delta": "δ",
    "n_draws": "draws",
    "max_leaves": "leaves",
    "max_depth": "depth",
    "leaf_penalty": "leaf penalty",
}


def same_rows(other_ledgers: tuple[str, ...], ledger: str) -> str:
    if not other_ledgers:
        return ""
    message = f"The same rows were charged to {', '.join(other_ledgers)} before. "
    if ledger in other_ledgers:
        message += "This copy uses the same budget. "
    if set(other_ledgers) - {ledger}:
        message += (
            f"That budget is separate from {ledger}, but for the people in the table the spent "
            f"budgets add up. Use the name that the table had there. "
        )
    return message + "(Not private: this was read from the rows.)"


LOGGER = logging.getLogger("rashomon_explorer")
LOGGER.addFilter(exceptions.without_messages)
LEDGER_READ = "Reading the ledger"
PAID_READ = "Reading the released aggregates"
STILL_THERE = "Its files are unchanged and are read again when the set is next opened."
ON_SCREEN_ONLY = "It is on screen but not saved: save the bundle before you leave."
_EXPLAINED = (
    exceptions.CuratorOnlyError,
    exceptions.DataError,
    exceptions.LedgerError,
    exceptions.MissingAnswerError,
    exceptions.SamplerError,
)
_WITHOUT_ROWS = (exceptions.CuratorOnlyError, exceptions.FitError, exceptions.LedgerError)
_WITHHELD = "The reason may quote private rows: switch to Curator to read it."


_NOT_DRAWN = "This could not be drawn."
_MOST_WORDS = 20
_CODE = re.compile(r"[\[\]{}_'\"`]|[a-z][A-Z]|\w[(=]\w")


def headline(error: BaseException) -> str:
    """State an error in at most 20 words without names of code; its full text is elsewhere."""
    if isinstance(error, exceptions.CuratorOnlyError):
        return "This was computed from private rows and is not part of a release."
    if isinstance(error, exceptions.RowsChangedError):
        return "The rows have changed since they were first read."
    clause = re.split(r"[:;\n]|\. ", str(error))[0].strip()
    clause = re.sub(r"['\"`]([^'\"`]+)['\"`]", r"“\1”", clause).replace("_", " ")
    is_plain = 0 < len(clause.split()) <= _MOST_WORDS and not _CODE.search(clause)
    return sentence(clause) if is_plain and isinstance(error, _EXPLAINED) else _NOT_DRAWN


class OfferChangedError(Exception):
    """A button showed another table, plan or cost than the page has now; nothing was charged."""


def log_failures_to(path: Path) -> None:
    log_paths = [getattr(handler, "baseFilename", None) for handler in LOGGER.handlers]
    if str(path.resolve()) not in log_paths:
        handler = _PrivateFile(path.resolve(), delay=True, encoding="utf-8")
        handler.setLevel(logging.ERROR)
        handler.addFilter(
            exceptions.without_messages
        )  # a logger's filter does not apply to its children
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        LOGGER.addHandler(handler)


class _PrivateFile(logging.FileHandler):
    """Log file that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=private_opener)


def error_boundary(
    state: ExplorerState, what: str, action: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(action)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return action(*args, **kwargs)
        except Exception as error:
            report(state, what, error)
            return None

    return call


def report(state: ExplorerState, what: str, error: BaseException, kept: str = Alert.kept) -> None:
    if isinstance(error, OfferChangedError):  # no failure
        state.message = str(error)
        return
    level = logging.INFO if isinstance(error, _EXPLAINED) else logging.ERROR
    LOGGER.log(level, "%s failed", what, exc_info=error)
    state.alert = Alert(what, _reason(error), kept, _public(error))


def _public(error: BaseException) -> str:
    """Message for the release view: only of errors that cannot quote a row."""
    return str(error) if isinstance(error, _WITHOUT_ROWS) else _WITHHELD


def _reason(error: BaseException) -> str:
    """Message of an exception; for a withheld one its detail, marked as not private."""
    if isinstance(error, exceptions.FitError) and error.detail:
        return f"{error.detail} (Not private. The privacy cost stays spent.)"
    return str(error) or type(error).__name__
