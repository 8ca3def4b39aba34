"""Privacy budget: the bar above the page, charged sets, and the ledger's entries."""

import math
from functools import partial
from html import escape
from pathlib import Path

import ipywidgets
import pandas as pd
import traitlets

from rashomon_explorer._utils.formatting import epsilon_text, left_text
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer import html
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.messages import error_boundary, report
from rashomon_explorer.explorer.panels import card
from rashomon_explorer.explorer.panels.plan import set_cost
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.explorer.widgets import files
from rashomon_explorer.plots.budget import charges_table
from rashomon_explorer.plots.text import cost_text, number, plural


class BudgetGauge(card.Panel):
    """Live gauge of the ledger; the budget can be changed until the first draw."""

    title = "Budget"
    needs = ("account", "plan", "phase", "data", "same_rows", "view")

    def __init__(self, state: ExplorerState, *below: ipywidgets.Widget) -> None:
        fixed, (epsilon, delta) = "Fixed at the first draw of this data set.", state.planned_budget
        self.epsilon = card.slider("Budget ε", "in total", fixed, (0.1, 100.0), epsilon, "log")
        self.delta = card.slider("Budget δ", "in total", "", (1e-12, 1e-3), delta, "log", "zero")
        traitlets.link((self.epsilon, "value"), (state, "budget_epsilon"))
        traitlets.link((self.delta, "value"), (state, "budget_delta"))
        self.gauge = card.styled(ui.HTML(), "rx-gauge")
        self.same_rows = card.region()
        super().__init__(state, self.same_rows, self.gauge, self.epsilon, self.delta, *below)

    def lines(self) -> tuple[str, ...]:
        if self.state.account is None or not self.state.account.exists:
            return ("explorer.budget",)
        return (
            "explorer.ledger.budget",
            "explorer.ledger.spent()",
            "explorer.ledger.remaining",
            "explorer.ledger.entries()",
        )

    def refresh(self) -> None:
        account = self.state.account
        fixed = account is not None and account.exists
        for dial in (self.epsilon, self.delta):
            ui.display(dial, account is not None and not fixed)
        warning = escape(self.state.same_rows) if self.state.view == "curator" else ""
        self.same_rows.value = warning and f'<p class="rx-band rx-none" role="alert">{warning}</p>'
        self.gauge.value = gauge_html(self.state)
        if account is not None:
            prefix = "ledger" if fixed else "is created at the first draw:"
            name = escape(account.path.name)
            self.gauge.value += f'<p class="rx-note">{prefix} <code>{name}</code></p>'


def gauge_html(state: ExplorerState, *, short: bool = False) -> str:
    account, plan = state.account, state.plan
    if account is None or (state.data is None and state.rashomon_set is None):
        return '<p class="rx-note">Each data set has its own budget.</p>'
    if not math.isfinite(account.budget):
        return (
            f'<p class="rx-note">This ledger has no budget. Spent: {cost_text(account.spent)}.</p>'
        )
    free = state.spent or bool(state.uncharged)
    spent, budget = account.spent, account.budget
    after = spent if free or plan is None else account.after(plan.guarantee)
    used = min(1.0, spent / budget)
    planned = min(1.0 - used, max(0.0, (after - spent) / budget)) if math.isfinite(after) else 0
    walks = state.spent and state.path is not None
    if walks:  # the whole path is reserved; the bar fills as it goes
        planned = min(used, max(0.0, state.path.epsilon - state.path.spent) / budget)
        used -= planned
    over = "rx-over" if after > budget * (1 + 1e-9) else ""
    left, spent_text = left_text(budget - spent), epsilon_text(spent)
    more, all_told = epsilon_text(max(0.0, after - spent)), epsilon_text(budget)
    fits = "planned, over the budget" if over and not short else "planned"
    counted = "reserved" if walks else "spent"
    if walks:
        fits, more = "so far about", epsilon_text(state.path.spent)
    summary = f"ε = {spent_text} of {all_told} spent, {left} remaining"
    in_all = f'<p class="rx-note">ε of {all_told} in all, at δ = {number(account.delta)}</p>'
    total_note = "" if short else in_all
    return (
        f'<div class="rx-meter {over}" role="meter" aria-label="Privacy budget" '
        f'aria-valuemin="0" aria-valuemax="{budget:g}" aria-valuenow="{spent:.6g}" '
        f'aria-valuetext="{summary}">'
        f'<span class="rx-spent" style="width:{100 * used:.2f}%"></span>'
        f'<span class="rx-planned" style="width:{100 * planned:.2f}%"></span></div>'
        '<div class="rx-legend">'
        f'<span><i class="rx-spent"></i>{counted} <b class="rx-spent-value">{spent_text}</b></span>'
        f'<span><i class="rx-planned"></i>{fits} <b>{more}</b></span>'
        f'<span><i class="rx-left"></i>left <b class="rx-left-value">{left}</b>'
        f"</span></div>{total_note}"
    )


_OTHER = 0


class SetPicker:
    """Chooses the set on screen; opening another set costs nothing."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.choice = ui.Dropdown(description="Set in view", options=[("", _OTHER)])
        card.styled(self.choice, "rx-unlabelled")
        self.menu = card.quiet_button("⋯", "Menu of the set in view", toggles=True)
        self.delete = card.quiet_button("Delete this set…", "Asks first; its cost stays spent")
        self.question = card.Question(
            error_boundary(
                self.state, "Deleting the set", lambda number: session.delete_saved(int(number))
            )
        )
        self._telling = False
        self.choice.observe(error_boundary(self.state, "Opening the set", self._on_choice), "value")
        self.delete.on_click(lambda _: self._ask())
        self.question.no.on_click(lambda _: setattr(self.menu, "value", False))
        self.state.observe(lambda _: setattr(self.menu, "value", False), "page")
        self.menu.observe(lambda _: self._open(), "value")
        self.state.observe(
            lambda _: self.refresh(), ["saved_sets", "in_view", "rashomon_set", "phase", "view"]
        )
        self._items = card.column([self.delete, self.question.widget], "rx-set-menu")
        self.widget = card.row([self.choice, self.menu, self._items], "rx-sets")
        self.refresh()

    def _ask(self) -> None:
        number, cost = self.state.in_view, set_cost(self.state)
        self.question.ask(
            f"Delete draw {number} and its released aggregates from this machine? {cost} stays "
            "spent. This cannot be undone.",
            f"Delete draw {number}",
            str(number),
        )

    def _open(self) -> None:
        self.question.close()
        ui.display(self._items, bool(self.menu.value))

    def refresh(self) -> None:
        state = self.state
        choices = [(saved_set.label, saved_set.number) for saved_set in reversed(state.saved_sets)]
        in_view = state.in_view if state.in_view in dict(choices).values() else _OTHER
        unsaved_choice = [] if in_view else [(_words(state), _OTHER)]
        self._telling = True
        self.choice.options = [*unsaved_choice, *choices]
        self.choice.value = in_view
        self._telling = False
        self.choice.disabled = state.busy or len(self.choice.options) < 2
        self.menu.value = False
        ui.display(self.menu, bool(state.in_view) and not state.busy)
        self._open()

    def _on_choice(self, _change: object) -> None:
        if not self._telling and self.choice.value != _OTHER:
            try:
                self.session.open_saved(self.choice.value)
            finally:
                self.refresh()


def _words(state: ExplorerState) -> str:
    models = state.rashomon_set
    if models is None or not models.n_draws:
        return "no models yet"
    if state.has_no_guarantee:
        return "models without a guarantee"
    cost = set_cost(state) if models.guarantee.holds else "no guarantee"
    return f"{plural(models.n_draws, 'model')} · {cost}"


_BRAND = Path(__file__).with_name("brand.html").read_text(encoding="utf-8")


class TopBar:
    """Bar with the data set, the remaining budget and the set in view."""

    def __init__(self, session: Session, who: ipywidgets.Widget, saver: ipywidgets.Widget) -> None:
        self.state = state = session.state
        brand = card.styled(ui.HTML(_BRAND), "rx-brand")
        self.data = ui.Button(tooltip="Choose or describe the data set")
        self.data.on_click(lambda _: setattr(state, "page", "data"))
        self.gauge = card.styled(ui.HTML(), "rx-bar-gauge")
        self.sets = SetPicker(session)
        self.theme = ui.ThemeSwitch()
        card.styled(self.data, "rx-bar-data")
        menu = ui.Fold(label="Sets, theme and Save", of=".rx-topbar", marks=["☰", "✕"])
        parts = [brand, self.data, self.gauge, menu, self.sets.widget, who, self.theme, saver]
        self.widget = card.row(parts, "rx-topbar")
        follows = ["data", "account", "plan", "phase", "mechanism", "path"]
        state.observe(lambda _: self.refresh(), follows)
        self.refresh()

    def refresh(self) -> None:
        data = self.state.data
        self.data.description = "Choose data" if data is None else str(data.name)
        self.gauge.value = gauge_html(self.state, short=True)


_HINT = "The ledger as JSON, without data-dependent values and times of day"


class LedgerPanel(card.Panel):
    """Charges of this table's ledger: time, purpose and privacy cost."""

    title = "All charges"
    needs = ("account", "data")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.charges = card.styled(ui.HTML(), "rx-charges")
        failed = partial(report, session.state, "Exporting the ledger")
        self.export = files.Download("Export the ledger", _HINT, self._export, failed)
        super().__init__(session.state, card.row([self.export], "rx-take"), self.charges)

    def lines(self) -> tuple[str, ...]:
        account = self.state.account
        if account is None or not account.exists:
            return ("explorer.budget",)
        return ("explorer.ledger.entries()", "explorer.ledger.export()")

    def refresh(self) -> None:
        account = self.state.account
        self.export.disabled = account is None or not account.exists
        if account is None or not account.exists:
            message = "No charges yet: the first draw creates the ledger."
            self.charges.value = f'<p class="rx-note">{message}</p>'
            return
        counted = sum(entry.counts for entry in account.charges)
        spent = f"{plural(counted, 'charge')}: {cost_text(account.spent)} spent"
        limit = f" of {cost_text(account.budget)}, {left_text(account.left)} remaining"
        self.charges.value = (
            f"<p>{escape(spent + limit)} (<code>{escape(account.path.name)}</code>).</p>"
            + html.table_html(_listed(account), "Charges, oldest first")
        )

    def _export(self) -> files.Making:
        ledger = self.session.ledger
        if ledger is None:
            raise LedgerError("there is no ledger yet: the first draw creates it")
        name = f"{ledger.path.stem}-ledger.json"
        return lambda: files.FileInTransit(name, ledger.export().encode(), "application/json")


def _listed(account: Account) -> pd.DataFrame:
    frame = charges_table(
        account.charges, account.delta, rule=account.totals, budget=account.budget
    )
    before = [0.0, *frame["ε in total"].iloc[:-1]]
    frame["ε added"] = frame["ε in total"] - before
    voided = [] if all(entry.counts for entry in account.charges) else ["state"]
    listed = frame[["when", "what", "ε added", "ε in total", *voided]]
    listed.attrs["rounding"] = {"ε in total": "up", "ε added": "up"}
    return listed
