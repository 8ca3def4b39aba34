"""Messages of the page, and the boundary that turns errors into messages."""

import functools
import logging
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rashomon_explorer._utils.files import private_opener
from rashomon_explorer.exceptions import (
    BudgetExceededError,
    CuratorOnlyError,
    DataError,
    FitError,
    LedgerError,
    SamplerError,
    without_messages,
)
from rashomon_explorer.explorer.account import Account, NextDraw
from rashomon_explorer.explorer.engine import DrawJob
from rashomon_explorer.explorer.state import Alert, ExplorerState
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.plots.text import number, plural, price, what_is_left


def refuse_past_budget(account: Account, plan: Plan) -> None:
    """Raise a `BudgetExceededError` that names what is left, if the plan costs more."""
    if account.affords(plan.guarantee):
        return
    raise BudgetExceededError(
        f"The budget is {price(account.budget)} at δ = {number(account.delta)}. "
        f"{NextDraw(plan, account).remedy} Nothing was drawn and nothing was spent."
    )


def progress(job: DrawJob, state: ExplorerState) -> str:
    """Say how far a draw is."""
    asked = state.requested_draws
    if state.n_drawn:
        return f"Drawing: {state.n_drawn} of {plural(asked, 'model')}, {job.seconds:.0f} s."
    if job.looking:
        return (
            f"Looking through all rows, {job.rows_read:,} so far: one that cannot be used is named "
            "before anything is charged."
        )
    if job.rows_read:
        return (
            f"Looking for the first of {plural(asked, 'model')}, {job.seconds:.0f} s: "
            f"{job.rows_read:,} rows read, again in every pass."
        )
    return (
        f"Looking for the first of {plural(asked, 'model')}, {job.seconds:.0f} s. "
        "The sampler proposes and discards until a proposal is exact."
    )


def receipt(state: ExplorerState, got: int, asked: int) -> str:
    """Say what a draw brought and cost."""
    # The line also stands beside the release view: no hit rate and no run time, which the rows
    # decide.
    told = f"Drew {plural(got, 'model')}."
    if got < asked:
        told = f"Stopped after {got} of {plural(asked, 'model')}; the whole price stays spent."
    if state.uncharged:
        return f"{told} No guarantee, and no price: {state.uncharged}."
    account = state.account
    left = what_is_left(account.left)
    return f"{told} Spent so far: {price(account.spent)}, left: ε = {left}."


def stale(state: ExplorerState) -> str:
    """Say which settings moved since the draws on screen were made."""
    drawn, now = state.drawn_settings, state.draw_settings()
    moved = _moved(state)
    if not moved:
        return ""
    before, after = (", ".join(_setting(name, values) for name in moved) for values in (drawn, now))
    return (
        f"The figures still show the draws made with {before}. The sliders now say {after}: "
        "plan and price follow them, the figures only after the next draw."
    )


def drawn_with(state: ExplorerState) -> str:
    """Name the settings of the draws on screen that the sliders no longer show; often empty."""
    return ", ".join(_setting(name, state.drawn_settings) for name in _moved(state))


def _moved(state: ExplorerState) -> list[str]:
    if state.rashomon_set is None:
        return []
    drawn, now = state.drawn_settings, state.draw_settings()
    return [name for name in drawn if name in now and drawn[name] != now[name]]


def _setting(name: str, values: Mapping[str, Any]) -> str:
    value = values[name]
    if value is None:  # a depth, as deep as the leaves allow
        return f"{_SYMBOLS.get(name, name)} = any"
    return f"{_SYMBOLS.get(name, name)} = {value if isinstance(value, str) else number(value)}"


_SYMBOLS = {
    "psi": "ψ",
    "epsilon": "ε",
    "delta": "δ",
    "n_draws": "draws",
    "max_leaves": "leaves",
    "max_depth": "depth",
    "leaf_penalty": "price of a leaf",
}


def same_rows(others: tuple[str, ...], ledger: str) -> str:
    """Say that the rows of a table were charged to other ledgers than that of its name."""
    if not others:
        return ""
    told = f"The same rows were charged to {', '.join(others)} before. "
    if ledger in others:
        told += "Its budget is used here too, whatever this copy is called. "
    if set(others) - {ledger}:
        told += (
            f"That is another budget than {ledger}: for the people in the table what all of them "
            "spend adds up. Go on under the name that the table had there. "
        )
    return told + "(Curator: this was read from the rows.)"


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
