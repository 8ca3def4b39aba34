"""Panel of a good model that is chosen by a preference, with its proof and its price."""

import asyncio
import threading
from html import escape
from typing import Any

import pandas as pd

from rashomon_explorer.audits.choice.choice import Choice, choice_at, price_table
from rashomon_explorer.audits.choice.preferences import Limits
from rashomon_explorer.explorer import background, html, messages
from rashomon_explorer.explorer.panels.card import Panel, region, row, styled
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.widgets import controls as ui

_SECONDS = 2.0  # nominal, of a search at one ψ
_MULTIPLES = (1, 1 / 8, 1 / 4, 1 / 2, 2, 4, 8)  # of ψ, that of the page first
PREFERENCES: dict[str, tuple[Any, str]] = {
    "Fewest features": ("sparse", "scores"),
    "Scorecard": ("card", "scores"),
    "Least conflict": ("robust", "scores"),
    "Least gap in scores": ("fair", "scores"),
    "Least gap in rates": ("fair", "rates"),
    "Equal opportunity": ("fair", "opportunity"),
    "Few features, then gap": (["sparse", "fair"], "scores"),
}
"""Preferences in order, and the gap that they mean, by label."""

_NO_AUDIT = "Press <b>Fit and audit (free)</b> under Estimator: this chooses among all good models."
_NO_PROOF = "Refits are a sample: choosing among all good models needs a linear model."
_NONE = "No such model was found at ψ: click a point of the price, if there is one."
_PRIVATE = "This is computed from private rows."


class ChoicePanel(Panel):
    """Chooses the good model that a preference names, in the background."""

    title = "Choose a model"
    short = "Choice"
    needs = ("audit", "view", "choice")

    def __init__(self, session: Session) -> None:
        self.session, state = session, session.state
        self._ended, self._step = threading.Event(), background.in_page_loop(self._show_step)
        self.prefer = ui.Dropdown(description="Prefer", options=["Fewest features"])
        self.stop = styled(ui.Button(description="Stop"), "rx-stop")
        self.facts, self.progress = region(), region("rx-progress")
        bar = row([self.prefer, self.stop], "rx-bar")
        super().__init__(state, bar, self.progress, self.facts, kind="rx-choice")
        self.stop.on_click(lambda _: self.end())
        self.task = background.BackgroundTask("choosing a model")
        inputs = ["audit", "audit_psi"]
        state.observe(lambda _: self._withdraw(), inputs)
        mark = self.task.repeat(state, inputs, "choose", self.find, self._show, self._withdraw)
        for follow in (lambda _: self._withdraw(), mark):
            self.prefer.observe(follow, "value")

    @property
    def audit(self) -> Any:
        """Audit on screen at the page's ψ; None if no proof chooses among its models."""
        audit, state = self.state.audit, self.state
        if audit is None or not audit.answers.any_psi or state.view == "release":
            return None
        return audit.at(float(state.audit_psi))

    def lines(self) -> tuple[str, ...]:
        choice = self.state.choice
        if choice is None:
            return ()
        call, psi = choice.code.removesuffix(")"), ""
        if choice.psi != self.state.audit.psi:
            psi = f", psi={choice.psi!r}"
        return ("found = explorer.state.audit", f"model = {call}{psi}).model")

    def menu_entries(self) -> ui.MenuEntries:
        hint = "Coefficients of the fitted and the chosen model"
        return {"Table": (hint, self._table), **super().menu_entries()}

    def _table(self) -> str:
        choice = self.state.choice
        if choice is None:
            return ""
        is_card = bool(choice.preferred[-1].multiplier)
        return html.table_html(choice.card if is_card else choice.coefficients, "The chosen model")

    def refresh(self) -> None:
        """Show the chosen model, or why there is none."""
        audit, choice = self.audit, self.state.choice
        if audit is None:
            why = _NO_AUDIT if self.state.audit is None else _NO_PROOF
            why = _PRIVATE if self.state.view == "release" else why
            self.facts.value = f'<p class="rx-note">{why}</p>'
        elif choice is None:
            self.facts.value = "" if self.state.prices is None else f"<p>{_NONE}</p>"
        else:
            proofs = {each.name: each.proof for each in choice.preferred}
            rows = [html.fact(name, text, proofs.get(name, "")) for name, text in choice.facts]
            code = html.code_block(self.lines())
            self.facts.value = f'<dl class="rx-facts">{"".join(rows)}</dl>{code}'
        options = [] if audit is None else [name for name in PREFERENCES if _suits(audit, name)]
        if options and list(self.prefer.options) != options:
            self.prefer.options = options
        ui.display(self.prefer, audit is not None)
        ui.display(self.stop, audit is not None and bool(self.progress.value))

    def find(self) -> object:
        """Choose at several ψ, that of the page first, and show each."""
        audit, ended, step = self.audit, self._ended, self._step
        if audit is None:
            return None
        names, gap = PREFERENCES[self.prefer.value]
        choices: dict[float, Choice | None] = {}
        step({}, None)
        for psi in [audit.psi * multiple for multiple in _MULTIPLES]:
            choices[psi] = choice_at(audit, psi, names, Limits(gap=gap, seconds=_SECONDS))
            if ended.is_set():
                raise asyncio.CancelledError  # no Exception, which would be shown
            step(dict(choices), price_table(choices, names))
        return None

    def _show_step(self, choices: dict[float, Choice | None], prices: pd.DataFrame | None) -> None:
        state, done, n_steps = self.state, len(choices), len(_MULTIPLES)
        with state.hold_trait_notifications():
            state.choices, state.prices = choices, prices
            state.choice = next(iter(choices.values())) if done == 1 else state.choice
        bar = f'<progress aria-label="Thresholds done" max="{n_steps}" value="{done}"></progress>'
        self.progress.value = f"{bar}<span>{done} of {n_steps} ψ</span>" * (done < n_steps)
        self.refresh()

    def _show(self, result: object) -> None:
        if isinstance(result, Exception):
            self.facts.value = f'<p class="rx-note">{escape(messages.headline(result))}</p>'

    def end(self) -> None:
        """End the search at its next step, and keep what is shown."""
        self._ended.set()
        self.progress.value = ""
        self.task.drop()
        self.refresh()

    def _withdraw(self) -> None:
        """Take what another table, set, view or preference gave from the screen."""
        self._ended.set()
        self._ended, self._step = threading.Event(), background.in_page_loop(self._show_step)
        self.progress.value = ""
        with self.state.hold_trait_notifications():
            self.state.choice, self.state.choices, self.state.prices = None, {}, None


def _suits(audit: Any, label: str) -> bool:
    """Whether a preference has a meaning for the audited model."""
    names, gap = PREFERENCES[label]
    several, classifies = len(audit.inputs.model.classes) > 2, audit.task == "classification"
    if "fair" in names and (audit.inputs.groups is None or several):
        return False
    if gap != "scores" and not audit.has_rates:
        return False
    if audit.problem is None and names == "fair" and gap == "scores":
        return False  # the labels of trees are their scores
    of_scores = names != "card" or (audit.problem is not None and not several)
    return of_scores and (names != "robust" or (classifies and not several))
