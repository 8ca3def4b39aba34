"""Privacy budget: the bar above the page, charged sets, and the ledger's entries."""

import math
from functools import partial
from html import escape

import ipywidgets
import pandas as pd
import traitlets

from rashomon_explorer._utils.formatting import epsilon_text
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.family import spent_delta
from rashomon_explorer.explorer.html import table_html
from rashomon_explorer.explorer.messages import error_boundary, report
from rashomon_explorer.explorer.panels.card import CodeToggle, card, hide_when_empty
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets.controls import Fold, Slider, ThemeSwitch
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, Making
from rashomon_explorer.plots.budget import charges_table
from rashomon_explorer.plots.text import cost_text, number, plural, what_is_left
from rashomon_explorer.sets import RashomonSet


class BudgetGauge:
    """Live gauge of the ledger; the budget can be changed until the first draw.

    Parameters
    ----------
    state : ExplorerState
        Its account and plan are shown.

    Attributes
    ----------
    epsilon, delta : Slider
        Budget of a ledger that does not exist yet.
    gauge : ipywidgets.HTML
        The gauge.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "Budget"

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.epsilon = Slider(
            label="Budget ε",
            unit="for ever",
            help="Fixed at the first draw of this data set.",
            low=0.1,
            high=100.0,
            log=True,
            value=state.budget_epsilon,
        )
        self.delta = Slider(
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
        state.observe(lambda _: self._show_same_rows(), ["same_rows", "view"])
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

    def _show_same_rows(self) -> None:
        told = escape(self.state.same_rows) if self.state.view == "curator" else ""
        self.same_rows.value = told and f'<p class="rx-band rx-none" role="alert">{told}</p>'

    def refresh(self) -> None:
        """Update the gauge."""
        account = self.state.account
        fixed = account is not None and account.exists
        for dial in (self.epsilon, self.delta):
            dial.layout.display = "none" if fixed or account is None else None
        self._code.refresh()
        where = "" if account is None else _where(account.path.name, fixed)
        self.gauge.value = gauge_html(self.state) + where


def gauge_html(state: ExplorerState, *, short: bool = False) -> str:
    """Return the gauge of a state's account as HTML; `short` omits the line of the budget."""
    account, plan = state.account, state.plan
    if account is None:
        return '<p class="rx-note">Each data set has its own budget.</p>'
    if not math.isfinite(account.budget):
        return (
            f'<p class="rx-note">This ledger has no budget. Spent: {cost_text(account.spent)}.</p>'
        )
    free = state.spent or bool(state.uncharged)
    after = account.spent if free or plan is None else account.after(plan.guarantee)
    return _gauge(account.spent, after, account.budget, account.delta, short=short)


def _gauge(spent: float, after: float, budget: float, delta: float, *, short: bool) -> str:
    used = min(1.0, spent / budget)
    planned = min(1.0 - used, max(0.0, (after - spent) / budget)) if math.isfinite(after) else 0
    over = "rx-over" if after > budget * (1 + 1e-9) else ""
    left, paid = what_is_left(budget - spent), epsilon_text(spent)
    more, all_told = epsilon_text(max(0.0, after - spent)), epsilon_text(budget)
    fits = "planned, over the budget" if over and not short else "planned"
    told = f"ε = {paid} of {all_told} spent, {left} remaining"
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
    told = "ledger" if fixed else "is created at the first draw:"
    return f'<p class="rx-note">{told} <code>{escape(name)}</code></p>'


_OTHER = 0


class SetPicker:
    """Chooses the set on screen; opening another set costs nothing."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.choice = ipywidgets.Dropdown(description="Set in view", options=[("", _OTHER)])
        self.choice.add_class("rx-unlabelled")
        self.delete = ipywidgets.Button(
            description="✕",
            tooltip="Delete the set in view from this machine, after a confirmation",
        )
        self.sure = ipywidgets.Button(
            description="Delete permanently", tooltip="Its privacy cost stays spent"
        )
        for button in (self.delete, self.sure):
            button.add_class("rx-quiet")
        self._telling = False
        self.choice.observe(error_boundary(self.state, "Opening the set", self._on_choice), "value")
        self.delete.on_click(lambda _: self._ask(not self._asking))
        self.sure.on_click(error_boundary(self.state, "Deleting the set", self._delete))
        self.state.observe(lambda _: self.refresh(), ["kept", "in_view", "rashomon_set", "phase"])
        self.widget = ipywidgets.HBox([self.choice, self.delete, self.sure])
        self.widget.add_class("rx-sets")
        self.refresh()

    @property
    def _asking(self) -> bool:
        return self.sure.layout.display is None

    def _ask(self, asking: bool) -> None:
        self.sure.layout.display = None if asking else "none"

    def refresh(self) -> None:
        """Update the list of sets."""
        state = self.state
        kept = [(one.label, one.number) for one in reversed(state.kept)]
        in_view = state.in_view if state.in_view in dict(kept).values() else _OTHER
        others = [] if in_view else [(_words(state.rashomon_set), _OTHER)]
        self._telling = True
        self.choice.options = [*others, *kept]
        self.choice.value = in_view
        self._telling = False
        self.choice.disabled = state.busy or len(self.choice.options) < 2
        self.delete.layout.display = "none" if state.busy or not state.in_view else None
        self._ask(False)

    def _on_choice(self, _change: object) -> None:
        if not self._telling and self.choice.value != _OTHER:
            try:
                self.session.open_saved(self.choice.value)
            finally:
                self.refresh()

    def _delete(self, _click: object) -> None:
        self.session.delete_saved(self.state.in_view)


def _words(models: RashomonSet | None) -> str:
    if models is None or not models.n_draws:
        return "no models yet"
    held = models.guarantee.holds
    paid = (
        cost_text(models.guarantee.epsilon(spent_delta(models.guarantee)))
        if held
        else "no guarantee"
    )
    return f"{plural(models.n_draws, 'model')} · {paid}"


_BRAND = """
<svg viewBox="0 0 40 40" width="28" height="28" aria-hidden="true">
  <ellipse cx="20" cy="20" rx="17" ry="11" transform="rotate(-28 20 20)" class="rx-mark-set"/>
  <circle cx="13" cy="23" r="2.4"/><circle cx="22" cy="13.5" r="2.4"/>
  <circle cx="28" cy="17" r="2.4"/><circle cx="19" cy="26" r="2.4"/>
  <path d="M17.5 17.5l5 5m0-5l-5 5" class="rx-mark-best"/>
</svg><h1>Rashomon Explorer</h1>
"""


class TopBar:
    """Bar with the data set, the remaining budget and the set in view.

    Parameters
    ----------
    session : Session
        Its data set, account and sets are shown.
    who : ipywidgets.Widget
        The switch between curator and release.
    saver : ipywidgets.Widget
        Saves the release.

    Attributes
    ----------
    data : ipywidgets.Button
        Name of the data set; opens its view.
    gauge : ipywidgets.HTML
        Budget spent, added by the next draw, and remaining.
    sets : SetPicker
        The set in view.
    theme : ThemeSwitch
        Light or dark.
    widget : ipywidgets.Widget
        The bar.
    """

    def __init__(self, session: Session, who: ipywidgets.Widget, saver: ipywidgets.Widget) -> None:
        self.state = state = session.state
        brand = ipywidgets.HTML(_BRAND)
        brand.add_class("rx-brand")
        self.data = ipywidgets.Button(tooltip="Choose or describe the data set")
        self.data.on_click(lambda _: setattr(state, "page", "data"))
        self.gauge = ipywidgets.HTML()
        self.gauge.add_class("rx-bar-gauge")
        self.sets = SetPicker(session)
        self.theme = ThemeSwitch()
        self.data.add_class("rx-bar-data")
        menu = Fold(label="Sets, theme and Save", of=".rx-topbar", marks=["☰", "✕"])
        self.widget = ipywidgets.HBox(
            [brand, self.data, self.gauge, menu, self.sets.widget, who, self.theme, saver]
        )
        self.widget.add_class("rx-topbar")
        state.observe(lambda _: self.refresh(), ["data", "account", "plan", "phase", "mechanism"])
        self.refresh()

    def refresh(self) -> None:
        """Update the name of the data set and the gauge."""
        data = self.state.data
        self.data.description = "Choose data" if data is None else str(data.name)
        self.gauge.value = gauge_html(self.state, short=True)


_HINT = "The ledger as JSON, without data-dependent values and times of day"


class LedgerPanel:
    """Charges of this table's ledger: time, purpose and privacy cost.

    Parameters
    ----------
    session : Session
        Its account is shown.

    Attributes
    ----------
    charges : ipywidgets.HTML
        One line per charge.
    export : Download
        The ledger as JSON.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "All charges"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.charges = ipywidgets.HTML()
        self.charges.add_class("rx-charges")
        failed = partial(report, self.state, "Exporting the ledger")
        self.export = Download("Export the ledger", _HINT, self._export, failed)
        self._code = CodeToggle(self.lines, self.title)
        row = ipywidgets.HBox([self.export])
        row.add_class("rx-take")
        self.widget = card("", self.title, [row, self.charges], self._code)
        self.state.observe(lambda _: self.refresh(), ["account", "data"])
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that shows the same."""
        account = self.state.account
        if account is None or not account.exists:
            return ("explorer.budget",)
        return ("explorer.ledger.entries()", "explorer.ledger.export()")

    def refresh(self) -> None:
        """Update the charges."""
        account = self.state.account
        none = account is None or not account.exists
        self.export.disabled = none
        self._code.refresh()
        if account is None or none:
            told = "No charges yet: the first draw creates the ledger."
            self.charges.value = f'<p class="rx-note">{told}</p>'
            return
        self.charges.value = _account_html(account) + table_html(
            _listed(account), "Charges, oldest first"
        )

    def _export(self) -> Making:
        ledger = self.session.ledger
        if ledger is None:
            raise LedgerError("there is no ledger yet: the first draw creates it")
        name = f"{ledger.path.stem}-ledger.json"
        return lambda: FileInTransit(name, ledger.export().encode(), "application/json")


def _account_html(account: Account) -> str:
    counted = sum(entry.counts for entry in account.charges)
    spent = f"{plural(counted, 'charge')}: {cost_text(account.spent)} spent"
    limit = f" of {cost_text(account.budget)}, {what_is_left(account.left)} remaining"
    return f"<p>{escape(spent + limit)} (<code>{escape(account.path.name)}</code>).</p>"


def _listed(account: Account) -> pd.DataFrame:
    frame = charges_table(account.charges, account.delta, order=account.totals.order)
    before = [0.0, *frame["ε in total"].iloc[:-1]]
    frame["ε added"] = frame["ε in total"] - before
    voided = [] if all(entry.counts for entry in account.charges) else ["state"]
    listed = frame[["when", "what", "ε added", "ε in total", *voided]]
    listed.attrs["rounding"] = {"ε in total": "up", "ε added": "up"}
    return listed
