"""What the page says about a draw: refused, under way, done."""

from collections.abc import Mapping
from typing import Any

from rashomon_explorer.exceptions import BudgetExceededError
from rashomon_explorer.explorer.account import Account, NextDraw
from rashomon_explorer.explorer.engine import DrawJob
from rashomon_explorer.explorer.state import ExplorerState
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
