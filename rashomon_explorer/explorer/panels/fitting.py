"""Panel of the estimator: drawn privately, or fitted here and audited for the curator."""

import asyncio
import threading
from functools import partial
from html import escape
from typing import Any

from rashomon_explorer.audits import Audit
from rashomon_explorer.explorer import fitting, messages
from rashomon_explorer.explorer.background import BackgroundTask, in_page_loop
from rashomon_explorer.explorer.panels.card import column, region, row, styled
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import FAMILIES, LINEAR, NETWORKS, TREES
from rashomon_explorer.explorer.table_rows import table_rows
from rashomon_explorer.explorer.widgets import controls as ui

_NETWORKS = tuple(zip(("Neural network", "Additive model"), NETWORKS, strict=True))
PRIVATE = {
    "classification": (("Logistic regression", LINEAR), ("Sparse trees", TREES), *_NETWORKS),
    "regression": (("Ridge (least squares)", LINEAR), *_NETWORKS),
}
"""Estimators that are drawn privately, and their families, by task."""

NOTEBOOK = "From a notebook…"
_FITTING, _FIT = "Fitting a model", "Fit and audit (free)"
_FREE = "For your eyes: nothing is charged, nothing can be released."
_WORDS = {
    **dict.fromkeys(FAMILIES, ""),
    NOTEBOOK: "In a notebook, <b>Explorer(audit(model, X, y))</b> opens this page on your model.",
}
_REFITS = f"Fitted here and audited by refits. {_FREE}"
_WARNING = f'<span class="rx-band rx-none">{fitting.GUESSES}</span>'
_BAR = '<progress aria-label="Fits done"{}></progress><span>{}</span>'


class FittingPanel:
    """Chooses the estimator; fits and audits it for the curator, with progress and Stop."""

    def __init__(self, session: Session) -> None:
        self.session, self.state = session, session.state
        self.facts: dict[str, list[str]] = {}  # of each estimator that was fitted to the table
        report = partial(messages.report, self.state, _FITTING)
        self.task = BackgroundTask(_FITTING, report, self.refresh)
        self._ended = threading.Event()
        self.choice = ui.Dropdown(description="Estimator", options=PRIVATE["classification"])
        self.words, self.progress = region("rx-note"), region("rx-progress")
        press = messages.error_boundary(self.state, _FITTING, self._fit)
        self.button = ui.OfferButton(press, description=_FIT, tooltip=_FREE)
        self.stop = styled(ui.Button(description="Stop"), "rx-stop")
        self.stop.on_click(lambda _: self.end())
        buttons = row([self.button, self.stop], "rx-buttons")
        self.widget = column([self.choice, self.words, self.progress, buttons], "rx-fit")
        self.choice.observe(lambda _: self._choose(), "value")
        traits = ["data", "table_number", "view", "phase", "loading", "family"]
        self.state.observe(self._follow, traits)
        self.refresh()

    def _choose(self) -> None:
        if self.choice.value in FAMILIES:
            self.state.family = self.choice.value
        self.refresh()

    def _fit(self, offer: str) -> None:
        """Fit what the button showed in a worker thread; without a loop, wait for it."""
        state, data, name = self.state, self.session.data_or_error(), self.choice.label
        if offer != self.button.offer:
            state.message = f"The table is now {data.name}: press again. Nothing was fitted."
            return
        if state.busy or state.loading or self.task.running or state.view == "release":
            return
        ended = self._ended = threading.Event()

        def show_fit(fit: int, total: int) -> None:
            if not ended.is_set():
                share = f' max="{total}" value="{fit}"'
                self.progress.value = _BAR.format(share, f"{fit} of {total}")

        show_from_thread = in_page_loop(show_fit)

        def watch(fit: int, total: int) -> None:
            if ended.is_set():
                raise asyncio.CancelledError  # no Exception, which a refit would survive
            show_from_thread(fit, total)

        def show(result: tuple[list[str], Audit]) -> None:
            self.facts[name], table_audit = result
            self.session.show_audit(table_audit, data)
            state.page = "set" if table_audit.kind == "exact" else "people"

        estimator = fitting.ESTIMATORS[name]
        self.task.start(lambda: fitting.fit_and_audit(estimator, data, watch), show)

    def end(self) -> None:
        """End the fit at its next step, and leave the page as it is."""
        self._ended.set()
        if self.task.running:
            self.task.drop()

    def _follow(self, change: Any) -> None:
        """End a fit whose table is gone, which would show in a release, or beside a draw."""
        if other_table := change.name == "table_number":
            self.facts = {}
        if other_table or self.state.busy or self.state.view == "release":
            self.end()
        self.refresh()

    def refresh(self) -> None:
        state, name = self.state, self.choice.label
        task = "classification" if state.data is None else state.data.task
        fitted = [n for n, estimator in fitting.ESTIMATORS.items() if task in estimator.models]
        alone = [name for name in fitted if name not in dict(PRIVATE[task])]
        options = (*PRIVATE[task], *((name, name) for name in (*alone, NOTEBOOK)))
        if self.choice.options != options:
            self.choice.options = options
        if self.choice.value in FAMILIES and self.choice.value != state.family:
            self.choice.value = state.family
        name, curator, running = self.choice.label, state.view == "curator", self.task.running
        in_memory = state.data is not None and not table_rows(state.data).is_chunked
        self.choice.disabled = state.busy or running
        self.button.disabled = state.busy or state.loading or running
        self.button.kind = "rx-quiet" if self.choice.value in FAMILIES else ""
        self.button.offer = f"{state.table_number}:{name}"
        ui.display(self.button, name in fitted and in_memory and curator and not running)
        ui.display(self.stop, running)
        self.progress.value = (self.progress.value or _BAR.format("", "")) * running
        facts = " · ".join(map(escape, self.facts.get(name, ())))
        words = facts.replace(fitting.GUESSES, _WARNING) or _WORDS.get(self.choice.value, _REFITS)
        self.words.value = f'<p class="rx-note">{words}</p>' if words and curator else ""
