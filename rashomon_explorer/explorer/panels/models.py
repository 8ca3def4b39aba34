"""Table of models, one row each."""

import math
import time
from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets
import numpy as np
import traitlets

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import family, html, selection
from rashomon_explorer.explorer.background import BackgroundTask
from rashomon_explorer.explorer.panels.card import Panel, row, styled
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import UNPAID, Epoch, ExplorerState, Favourites
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.plots.text import plural
from rashomon_explorer.sets import RashomonSet


def inside_only(state: ExplorerState) -> ipywidgets.Checkbox:
    """Return a checkbox that hides draws outside ψ in figures of single models."""
    tick = ui.Checkbox(
        description="Inside ψ only",
        indent=False,
        tooltip="Hide draws outside ψ in figures of single models",
    )
    traitlets.link((state, "inside_only"), (tick, "value"))
    state.observe(lambda _: ui.display(tick, state.view != "release"), "view")
    ui.display(tick, state.view != "release")
    return styled(tick, "rx-tick")


_OFTEN = 1.0  # seconds between updates of the table during a draw
_LARGE = "coefficients of at least a tenth of the model's largest, without intercepts"
_BAND = '<span class="rx-band rx-curator">curator: not private</span>'


class ModelsPanel(Panel):
    """Table of the models on screen, one row per model; ticked rows are the selection."""

    title, short = "Models, a row each", "Table"
    of_models = True
    needs = ("rashomon_set", "view", "phase", "page", "data")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = state = session.state
        self.table = ui.ModelTable()
        self.summary = ui.LiveText(role="status", kind="rx-note")
        self._task = BackgroundTask("the accuracy of the models")
        self._measured: tuple[Any, FloatArray | None, int] = (None, None, 0)
        self._filled = 0.0
        self._filled_for: Epoch | None = None
        self.compare: Callable[[], object] = lambda: None
        traitlets.link((state, "inside_only"), (self.table, "inside_only"))
        bar = row([self.summary, inside_only(state)], "rx-pickers")
        super().__init__(state, bar, self.table, kind="rx-models-card")
        self.table.observe(self._on_selection, "picked")
        self.table.observe(self.on("Saving stars and notes", self._edited), "edit")
        state.observe(lambda _: setattr(self.table, "picked", sorted(state.selection)), "selection")
        state.observe(lambda _: self._read(), ["in_view", "saved_sets"])
        state.observe(lambda _: self._mark(), ["favourites", "view"])
        # A selection made in the curator view may depend on private rows.
        state.observe(lambda _: setattr(state, "selection", ()), "view")

    def lines(self) -> tuple[str, ...]:
        if family.trees_in(self.state.rashomon_set) is not None:
            if self.state.view == "release":
                return ("explorer.rashomon_set.release().complexity()  # leaves",)
            return (
                "explorer.rashomon_set.excess, explorer.rashomon_set.complexity()  # leaves",
                "explorer.state.favourites.starred, explorer.state.selection",
            )
        table = "coefficients_table(explorer.rashomon_set)"
        if self.state.view == "release":
            table = "coefficients_table(explorer.rashomon_set.release())"
            return ("from rashomon_explorer.plots.coefficients import coefficients_table", table)
        return (
            "from rashomon_explorer.plots.coefficients import coefficients_table",
            "from rashomon_explorer.plots.losses import losses_table",
            f"losses_table(explorer.rashomon_set).join({table})",
            "explorer.state.favourites.starred, explorer.state.selection",
        )

    def refresh(self) -> None:
        models, state = self.state.rashomon_set, self.state
        listed = models is not None and models.n_draws > 0 and not state.has_no_guarantee
        for entry in ("Most different", "Side by side"):
            self.menu.enable(entry, listed and self._has_distances)
        if not listed:
            self._filled_for = None
            self.table.fill(0, [])
            self.summary.html = (
                UNPAID if state.has_no_guarantee else "No models yet. Press <b>Draw</b>."
            )
            return
        is_current, now = self._filled_for == state.epoch, time.monotonic()
        if state.busy and is_current and now - self._filled < _OFTEN:
            return
        self._filled, self._filled_for = now, state.epoch
        self._fill()
        if state.page == "set" and not state.busy:
            self._measure()

    def _fill(self) -> None:
        models, curator = self.state.rashomon_set, self.state.view == "curator"
        columns = _row_columns(models, self._known_accuracy()) if curator else []
        self.table.fill(models.n_draws, [*columns, *_model_columns(models, curator=curator)])
        self.summary.html = self._words()

    def _words(self) -> str:
        models = self.state.rashomon_set
        if self.state.view == "release":
            note = "which of them lie within ψ is private"
            return f"{plural(models.n_draws, 'model')}; {note} {html.marks_html(html.PAID)}"
        if math.isnan(models.least):
            return f"{plural(models.n_draws, 'model')} of unknown loss"
        inside = round(models.hit_rate * models.n_draws)
        words = f"{inside:,} of {plural(models.n_draws, 'model')} within ψ"
        accuracy = self._known_accuracy()
        if accuracy is not None and inside:
            inside_accuracy = accuracy[np.asarray(models.losses <= models.least + models.psi)]
            words += f", accuracy {inside_accuracy.min():.1%} to {inside_accuracy.max():.1%}"
            if self._measured[2] < self.session.shape[0]:
                words += f" (on {self._measured[2]:,} rows)"
        return f"{escape(words)} {_BAND} {html.marks_html(html.SAMPLED)}"

    def _known_accuracy(self) -> FloatArray | None:
        of, accuracy, _ = self._measured
        return accuracy if of is not None and of == self._key() else None

    def _key(self) -> tuple[int, ...]:
        models = self.state.rashomon_set
        return (id(getattr(models, "plan", models)), id(models.guarantee), models.n_draws)

    def _measure(self) -> None:
        models, session = self.state.rashomon_set, self.session
        rows, targets, key = session.rows, session.targets, self._key()
        needed = self.state.view == "curator" and models.task == "classification"
        if not needed or rows is None or targets is None or self._measured[0] == key:
            return
        self._measured = (key, None, 0)

        def show(result: tuple[FloatArray, int]) -> None:
            if self.state.rashomon_set is not None and self._key() == key:
                self._measured = (key, *result)
                self._fill()

        def find() -> tuple[FloatArray, int]:
            blocks = session.chunks
            if blocks is not None and isinstance(models, RashomonSet):
                return selection.chunked_accuracies(models, blocks)
            return selection.accuracies(models, rows, targets)

        self._task.start(find, show)

    @property
    def _has_distances(self) -> bool:
        if isinstance(self.state.rashomon_set, RashomonSet):
            return True
        is_curator = self.session.rows is not None and self.state.view == "curator"
        return is_curator and family.trees_in(self.state.rashomon_set) is not None

    def menu_entries(self) -> ui.MenuEntries:
        different = "Select two models that are far apart"
        compare = "The first two selected models, or one and the best"

        def select() -> None:
            self.state.selection = tuple(selection.most_different_models(self.session))

        return {
            "Most different": (different, self.on("Selecting models", select)),
            "Side by side": (compare, lambda: self.compare()),
            **super().menu_entries(),
        }

    def _on_selection(self, _change: object) -> None:
        if self.table.picked != sorted(self.state.selection):
            self.state.selection = tuple(int(draw) for draw in self.table.picked)

    def _edited(self) -> None:
        edit, state = self.table.edit, self.state
        if not edit:
            return
        if state.view == "release":
            raise DataError(
                "stars and notes are part of the curator view: switch to Curator to edit them"
            )
        draw = int(edit["draw"])
        if edit["kind"] == "star":
            state.favourites = state.favourites.toggled(draw)
        else:
            state.favourites = state.favourites.noted(draw, str(edit["text"]))
        if self.session.set_store is not None and state.in_view:
            self.session.set_store.keep_favourites(state.in_view, state.favourites)

    def _read(self) -> None:
        store, number = self.session.set_store, self.state.in_view
        is_saved = store is not None and number
        self.state.favourites = store.favourites(number) if is_saved and store else Favourites()

    def _mark(self) -> None:
        curator = self.state.view == "curator"
        favourites = self.state.favourites if curator else Favourites()
        if not curator:
            self.table.edit = {}
        self.table.starred = list(favourites.starred)
        self.table.notes = {str(draw): words for draw, words in favourites.notes.items()}


def _row_columns(models: Any, accuracy: FloatArray | None) -> list[dict[str, Any]]:
    """Columns that read private rows."""
    if math.isnan(models.least):
        return []
    inside = np.asarray(models.losses <= models.least + models.psi)
    above, within = "Loss above the minimum (not private)", "L ≤ min L + ψ (not private)"
    columns = [
        ui.table_column("excess", "excess loss", models.excess, meaning=above, curator=True),
        ui.table_column("inside", "within ψ", inside, kind="yes", meaning=within, curator=True),
    ]
    if models.task == "classification":
        shares = np.full(models.n_draws, np.nan) if accuracy is None else accuracy
        meaning = "Accuracy on the rows (not private)"
        columns.append(
            ui.table_column(
                "accuracy", "accuracy", shares, kind="share", meaning=meaning, curator=True
            )
        )
    return columns


def _model_columns(models: Any, *, curator: bool) -> list[dict[str, Any]]:
    if family.trees_in(models) is not None:
        return [
            ui.table_column(
                "leaves", "leaves", selection.leaves(models), kind="count", meaning="Leaves"
            )
        ]
    if not isinstance(models, RashomonSet):
        return []
    goal, of = (models.best, "best") if curator else (models.coef.mean(axis=0), "mean")
    away = np.linalg.norm(models.coef - goal, axis=1)
    large, meaning = selection.large_coefficients(models), f"How simple: {_LARGE}"
    length = f"Norm of the difference in coefficients from the {of} model"
    return [
        ui.table_column("large", "big coefficients", large, kind="count", meaning=meaning),
        ui.table_column("away", f"distance from\u00a0{of}", away, meaning=length, curator=curator),
    ]
