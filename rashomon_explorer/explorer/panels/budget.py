"""Budget: how much of the data set's privacy budget is spent, planned and left."""

import math
from html import escape

import ipywidgets
import traitlets

from rashomon_explorer.explorer.panels.card import CodeToggle, card, hide_when_empty
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import Dial
from rashomon_explorer.plots.text import number, price, what_is_left
from rashomon_explorer.rounding import epsilon_text


class BudgetGauge:
    """A live gauge of the ledger; the budget can be chosen until the first draw.

    Parameters
    ----------
    state : ExplorerState
        Its account and plan are shown.

    Attributes
    ----------
    epsilon, delta : Dial
        Budget of a ledger that does not exist yet.
    gauge : ipywidgets.HTML
        The gauge.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "Budget"

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.epsilon = Dial(
            label="Budget ε",
            unit="for ever",
            help="Fixed at the first draw of this data set.",
            low=0.1,
            high=100.0,
            log=True,
            value=state.budget_epsilon,
        )
        self.delta = Dial(
            label="Budget δ",
            unit="for ever",
            low=1e-12,
            high=1e-3,
            log=True,
            zero=True,
            value=state.budget_delta,
        )
        traitlets.link((self.epsilon, "value"), (state, "budget_epsilon"))
        traitlets.link((self.delta, "value"), (state, "budget_delta"))
        self.gauge = ipywidgets.HTML()
        self.gauge.add_class("rx-gauge")
        self._code = CodeToggle(self.lines, self.title)
        self.same_rows = ipywidgets.HTML()
        hide_when_empty(self.same_rows)
        state.observe(lambda _: self.refresh(), ["account", "plan", "phase", "data"])
        state.observe(lambda _: self._say_same_rows(), ["same_rows", "view"])
        parts = [self.same_rows, self.gauge, self.epsilon, self.delta]
        self.widget = card("", self.title, parts, self._code)
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that shows the same numbers."""
        if self.state.account is None or not self.state.account.exists:
            return ("explorer.budget",)
        return (
            "explorer.ledger.budget",
            "explorer.ledger.spent()",
            "explorer.ledger.remaining",
            "explorer.ledger.entries()",
        )

    def _say_same_rows(self) -> None:
        told = escape(self.state.same_rows) if self.state.view == "curator" else ""
        self.same_rows.value = told and f'<p class="rx-band rx-none" role="alert">{told}</p>'

    def refresh(self) -> None:
        """Write the gauge again."""
        account = self.state.account
        fixed = account is not None and account.exists
        for dial in (self.epsilon, self.delta):
            dial.layout.display = "none" if fixed or account is None else None
        self._code.refresh()
        where = "" if account is None else _where(account.path.name, fixed)
        self.gauge.value = gauge_html(self.state) + where


def gauge_html(state: ExplorerState, *, short: bool = False) -> str:
    """Return the gauge of a state's account, on one line below its bar if it is to be short."""
    account, plan = state.account, state.plan
    if account is None:
        return '<p class="rx-note">Each data set has its own budget.</p>'
    if not math.isfinite(account.budget):
        return f'<p class="rx-note">This ledger has no budget. Spent: {price(account.spent)}.</p>'
    free = state.spent or bool(state.uncharged)
    after = account.spent if free or plan is None else account.after(plan.guarantee)
    return _gauge(account.spent, after, account.budget, account.delta, short=short)


def _gauge(spent: float, after: float, budget: float, delta: float, *, short: bool) -> str:
    used = min(1.0, spent / budget)
    planned = min(1.0 - used, max(0.0, (after - spent) / budget)) if math.isfinite(after) else 0
    over = "rx-over" if after > budget * (1 + 1e-9) else ""
    left, paid = what_is_left(budget - spent), epsilon_text(spent)
    more, all_told = epsilon_text(max(0.0, after - spent)), epsilon_text(budget)
    fits = "planned, and does not fit" if over and not short else "planned"
    told = f"ε = {paid} of {all_told} spent, {left} left"
    in_all = f'<p class="rx-note">ε of {all_told} in all, at δ = {number(delta)}</p>'
    whole = "" if short else in_all
    return (
        f'<div class="rx-meter {over}" role="meter" aria-label="Privacy budget" '
        f'aria-valuemin="0" aria-valuemax="{budget:g}" aria-valuenow="{spent:.6g}" '
        f'aria-valuetext="{told}">'
        f'<span class="rx-spent" style="width:{100 * used:.2f}%"></span>'
        f'<span class="rx-planned" style="width:{100 * planned:.2f}%"></span></div>'
        '<div class="rx-legend">'
        f'<span><i class="rx-spent"></i>spent <b class="rx-spent-value">{paid}</b></span>'
        f'<span><i class="rx-planned"></i>{fits} <b>{more}</b></span>'
        f'<span><i class="rx-left"></i>left <b class="rx-left-value">{left}</b>'
        f"</span></div>{whole}"
    )


def _where(name: str, fixed: bool) -> str:
    told = "ledger" if fixed else "will be created at the first draw:"
    return f'<p class="rx-note">{told} <code>{escape(name)}</code></p>'
