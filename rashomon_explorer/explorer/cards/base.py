"""Base classes of the figure cards."""

import asyncio
import re
import textwrap
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from html import escape, unescape
from typing import Any, ClassVar

import ipywidgets
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer.background import run_in_thread
from rashomon_explorer.explorer.html import (
    SAMPLED,
    ProvenanceBadge,
    code_block,
    definitions_html,
    marks_html,
    of_figure,
    table_html,
)
from rashomon_explorer.explorer.messages import LOGGER, drawn_with
from rashomon_explorer.explorer.panels.card import hide_when_empty
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import LINEAR, SETTINGS, TREES
from rashomon_explorer.explorer.widgets.plotly_view import PlotlyView
from rashomon_explorer.plots.text import counted, empty_set_figure
from rashomon_explorer.plots.theme import empty_figure
from rashomon_explorer.sets import PredictorSet, RashomonSet
from rashomon_explorer.sets.models.trees import DecisionTrees


def add_subtitle(figure: go.Figure, words: str, finding: str = "") -> go.Figure:
    """Add a subtitle to a figure; a finding replaces its title."""
    head, _, below = (figure.layout.title.text or "").partition("<br>")
    if words:
        below = below.replace("</span>", f" · {words}</span>") if below else words
    figure.layout.title.text = f"{finding or head}<br>{below}" if below else finding or head
    return figure


_PRESS_DRAW = "No models yet.<br>Press <b>Draw</b>."
_LATER = "Computed after the draws."
_LOOKING = "Sampling the first model…<br>Press <b>Stop</b> to cancel."
NO_PLAN = "No valid plan.<br>See <b>Plan</b> for the reason and suggestions."
NO_DATA = "No data yet.<br>Choose a data set under <b>Data</b>."
_MOMENT = 0.4
"""Seconds after which an unfinished figure shows a progress message."""

_MEASURING = '<span class="rx-kind" role="status">measuring…</span>'
NOT_LINEAR = "These models have no common coefficients<br>to compare."
INSTEAD = (
    "These models are trees,<br>which have no coefficients.<br>"
    "<b>Trees</b> and <b>Rules</b>, in the view Set,<br>show their splits."
)
NOT_EXACT = (
    "This bound holds for exact draws only;<br>see <b>Plan</b> for this mechanism's guarantee."
)
CURATOR_FIGURE = (
    "This figure reads private rows<br>and is not part of the release.<br>"
    "Switch to <b>Curator</b> to see it."
)


@dataclass(frozen=True)
class Recipe:
    """How to make a card's figure and table; safe to run in another thread."""

    figure: Callable[[], go.Figure]
    table: Callable[[], pd.DataFrame] | None = None
    lines: tuple[str, ...] = ()
    marks: tuple[ProvenanceBadge, ...] | Callable[[], tuple[ProvenanceBadge, ...]] = ()
    of_people: bool = False


def of_the_set(
    models: RashomonSet, table: Callable[[], pd.DataFrame]
) -> Callable[[], pd.DataFrame] | None:
    """Return the table of a figure of the set; None if no draw lies within psi."""
    return table if models.hit_rate > 0 else None


def empty(title: str, text: str, height: int = 360) -> Recipe:
    """Return the recipe of a figure without data."""
    return Recipe(partial(_empty_figure, title, text, height))


@lru_cache(maxsize=64)  # shown repeatedly and never modified
def _empty_figure(title: str, text: str, height: int) -> go.Figure:
    return empty_figure(title, text, height=height)


class FigureCard:
    """One figure of the dashboard."""

    name: ClassVar[str]
    """Key of the card on the page, in its tests and in ``Explorer.cards``."""

    title: ClassVar[str]
    label: ClassVar[str]
    short: ClassVar[str] = ""
    """Title in lists of figures; if empty, `title` is used."""

    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "view", "phase", "data", "selection")
    selectable: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    """Whether it shows coefficients, which only linear models have."""
    of_trees: ClassVar[bool] = False
    """Whether it shows decision trees only."""
    and_trees: ClassVar[bool] = False
    """Whether a `linear` card also supports trees."""
    slow: ClassVar[bool] = False
    """Whether it evaluates the models on the rows; slow cards do not delay the others."""

    asked: ClassVar[bool] = False
    """Whether it is computed only while it is visible, in scripts too."""

    definition: ClassVar[str] = ""
    """Definition of its numbers with the formula, as HTML."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.view = PlotlyView(label=self.label, name=self.name, selectable=self.selectable)
        self.changed: Callable[[], None] = lambda: None
        self.appeared: Callable[[], None] = lambda: None
        self.view.appeared = lambda: self.appeared()
        self.shown = True
        self.asked_for = False
        self._recipe = Recipe(go.Figure)
        self._table_button = _toggle("Table", f"Show the numbers behind “{self.title}”")
        self._code_button = _toggle("Python", f"Show the Python line of “{self.title}”")
        self._meaning_button = _toggle(
            "Definition", _plain(self.definition) or f"What the numbers of “{self.title}” are"
        )
        self._meaning_button.disabled = False
        self._kinds = ipywidgets.HTML()
        self._kinds.add_class("rx-kinds")
        self._table, self._code, self._meaning = (ipywidgets.HTML() for _ in range(3))
        self._settings = ipywidgets.HTML()
        self._settings.add_class("rx-drawn-with")
        for region in (self._kinds, self._settings, self._table, self._code, self._meaning):
            hide_when_empty(region)
        buttons = [self._table_button, self._code_button]
        buttons += [self._meaning_button] if self.definition or of_figure(self.name) else []
        for button in buttons:
            button.observe(lambda _: self._fill(), "value")
        if "rashomon_set" in self.needs:
            watched = ["rashomon_set", "drawn_settings", "data", *SETTINGS]
            self.state.observe(lambda _: self._date(), watched)
            self._date()
        asked = ipywidgets.HBox(buttons)
        asked.add_class("rx-asked")
        bar = ipywidgets.HBox([self._kinds, self._settings, *self.controls(), asked])
        bar.add_class("rx-bar")
        below = [self._table, self._code, self._meaning]
        self.widget = ipywidgets.VBox([self.view, bar, *below])
        self.widget.add_class("rx-card")
        self.widget.add_class("rx-figure")

    @classmethod
    def suits(cls, families: Collection[str]) -> bool:
        """Whether the card supports models of one of these families."""
        return not (cls.of_trees and TREES not in families) and not (
            cls.linear and not cls.and_trees and LINEAR not in families
        )

    @property
    def is_visible(self) -> bool:
        """Whether it is visible: in the view on screen, in its own cell, or in the release."""
        return self.shown or self.view.visible or self.state.view == "release"

    @property
    def lines(self) -> tuple[str, ...]:
        """Python lines that show what the card shows."""
        return self._recipe.lines

    def waiting(self) -> Recipe:
        """Recipe with the next step, for use while there are no models."""
        state = self.state
        text = NO_DATA if state.data is None else _LOOKING if state.spent else _PRESS_DRAW
        return empty(self.title, text)

    def deferred_recipe(self) -> Recipe | None:
        """Recipe of a slow figure during a draw; None keeps the figure on screen."""
        return None if self.lines else empty(self.title, _LATER)

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the card's own controls."""
        return []

    def recipe(self) -> Recipe | None:
        """Recipe for the current state; None keeps the figure on screen."""
        raise TypeError(f"{type(self).__name__} must define its recipe")

    def redraw(self) -> None:
        """Update the figure in this thread."""
        recipe = self._next()
        if recipe is None:
            return
        try:
            figure = recipe.figure()
        except Exception as error:
            self._show_error(error)
        else:
            self._show(recipe, figure)

    async def redraw_in_background(self, outdated: Callable[[], bool] = lambda: False) -> None:
        """Compute the figure in a worker thread, then show it."""
        recipe = self._next()
        if recipe is None:
            return
        made = asyncio.ensure_future(
            run_in_thread(recipe.figure, passes=self.slow and self.session.is_chunked)
        )
        if self.slow and recipe.lines and not (await asyncio.wait({made}, timeout=_MOMENT))[0]:
            self._kinds.value = _MEASURING
            if not self.lines:  # no such figure is on screen yet
                self.view.show(_empty_figure(self.title, "Measuring…", 360))
        try:
            figure = await made
        except Exception as error:
            if not outdated():
                self._show_error(error)
            return
        self._show(recipe, figure)

    def _show_error(self, error: Exception) -> None:
        recipe = _failed(self.title, error)
        self._show(recipe, recipe.figure())

    def _next(self) -> Recipe | None:
        try:
            if self.linear and isinstance(self.state.rashomon_set, PredictorSet):
                trees = isinstance(self.state.rashomon_set.models, DecisionTrees)
                if not (trees and self.and_trees):
                    return empty(self.title, INSTEAD if trees else NOT_LINEAR)
            return self.recipe()
        except Exception as error:
            return _failed(self.title, error)

    def _show(self, recipe: Recipe, figure: go.Figure) -> None:
        self._recipe = recipe
        words = self.session.sample_words if recipe.of_people and recipe.lines else ""
        told = str(figure.layout.title.text or "")
        self.view.show(add_subtitle(figure, words) if words not in told else figure)
        self._table_button.disabled = recipe.table is None
        self._code_button.disabled = not recipe.lines
        self._fill()

    def _date(self) -> None:
        """Show the settings of the draws if the sliders differ from them."""
        words = drawn_with(self.state)
        self._settings.value = f"drawn with {escape(words)}" if words else ""

    def _fill(self) -> None:
        recipe = self._recipe
        table = recipe.table if self._table_button.value else None
        try:
            self._table.value = "" if table is None else table_html(table(), self.title)
        except Exception as error:
            LOGGER.error("the table of %s failed", self.title, exc_info=error)
            self._table.value = f"<p>The table could not be made: {escape(str(error))}</p>"
        coded = self._code_button.value and recipe.lines
        self._code.value = code_block(recipe.lines) if coded else ""
        self._meaning.value = self._definition_html() if self._meaning_button.value else ""
        marks = recipe.marks() if callable(recipe.marks) else recipe.marks
        self._kinds.value = marks_html(*marks)

    def _definition_html(self) -> str:
        own = f'<p class="rx-note">{self.definition}</p>' if self.definition else ""
        numbers = of_figure(self.name)
        return own + (definitions_html(numbers) if numbers else "")


def _toggle(text: str, hint: str) -> ipywidgets.ToggleButton:
    button = ipywidgets.ToggleButton(description=text, tooltip=hint, disabled=True)
    button.add_class("rx-quiet")
    return button


def _plain(words: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", words))


def _failed(title: str, error: Exception) -> Recipe:
    words = "<br>".join(textwrap.wrap(escape(str(error) or type(error).__name__), 48)[:6])
    if isinstance(error, CuratorOnlyError):  # not a failure: private results are hidden
        return empty(title, f"Not part of a release:<br>{words}")
    if isinstance(error, DataError):  # its message states what to do
        return empty(title, words)
    LOGGER.error("%s could not be drawn", title, exc_info=error)
    return empty(title, f"This figure could not be drawn:<br>{words}")


def link_selection(card: "FigureCard") -> None:
    """Let clicks and box selections in a card's figure select draws."""

    def clicked(change: dict[str, Any]) -> None:
        draw = _draw_of(change["new"], card)
        if draw is None:
            return
        chosen = card.state.selection
        card.state.selection = (
            tuple(d for d in chosen if d != draw) if draw in chosen else (*chosen, draw)
        )

    def selected(change: dict[str, Any]) -> None:
        draws = {_draw_of(point, card) for point in change["new"]} - {None}
        card.state.selection = tuple(sorted(draw for draw in draws if draw is not None))

    card.view.observe(clicked, "clicked")
    card.view.observe(selected, "selected")


def picks_people(card: "FigureCard") -> None:
    """Let clicks and box selections in a card's figure select people."""

    def clicked(change: dict[str, Any]) -> None:
        person, chosen = _person_of(change["new"], card), card.state.people
        if person is not None:
            card.state.people = () if chosen == (person,) else (person,)

    def selected(change: dict[str, Any]) -> None:
        people = {_person_of(point, card) for point in change["new"]} - {None}
        card.state.people = tuple(sorted(one for one in people if one is not None))

    card.view.observe(clicked, "clicked")
    card.view.observe(selected, "selected")


def _person_of(point: dict[str, Any], card: "FigureCard") -> int | None:
    person, rows = point.get("id"), card.session.rows
    known = rows is not None and isinstance(person, int) and 0 <= person < len(rows)
    return person if known else None


def _draw_of(point: dict[str, Any], card: "FigureCard") -> int | None:
    models = card.state.rashomon_set
    draw = point.get("id")
    if models is None or not isinstance(draw, int) or not 0 <= draw < models.n_draws:
        return None
    return draw


NO_ROWS = "Needs the rows: <b>Explorer(models, data=data)</b>."
NO_TARGETS = "Needs the rows and their targets: <b>Explorer(models, data=data)</b>."
NO_TABLE = "Needs the table: <b>Explorer(models, data=data)</b>."
NO_CLASSES = "These models predict numbers; only labels can flip."


class PrivateDataCard(FigureCard):
    """Figure of the models on screen that is computed from private rows."""

    needs: ClassVar[tuple[str, ...]] = (
        "rashomon_set",
        "outside",
        "view",
        "phase",
        "data",
        "selection",
        "groups",
        "people",
    )
    slow: ClassVar[bool] = True
    asked: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    of_people: ClassVar[bool] = True
    """Whether it shows a fixed random sample of chunked rows, not sums over all rows."""
    of_targets: ClassVar[bool] = False
    of_table: ClassVar[bool] = False
    of_classes: ClassVar[bool] = False
    of_inside: ClassVar[bool] = False
    """Whether it uses only models within psi, and shows a message if there are none."""
    of_outside: ClassVar[bool] = False
    """Whether it also shows a model that was fitted elsewhere, without draws."""

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state = self.state
        models = state.rashomon_set
        outside = self.of_outside and state.outside is not None
        if (models is None or not models.n_draws) and not outside:
            return self.waiting()
        if state.view == "release":
            return empty(self.title, CURATOR_FIGURE)
        if state.busy:
            return self.deferred_recipe()
        lacks = self._lacks()
        if lacks:
            return empty(self.title, lacks)
        if self.of_inside and models is not None and counted(models).is_empty:
            return Recipe(partial(empty_set_figure, self.title, models))
        made = self.study()
        return replace(made, of_people=made.of_people or self.of_people)

    def study(self) -> Recipe:
        """Recipe of the figure; called when all required data are available."""
        raise TypeError(f"{type(self).__name__} must define its recipe")

    def _lacks(self) -> str:
        if self.of_rows and self.session.rows is None:
            return NO_ROWS
        if self.of_targets and self.session.targets is None:
            return NO_TARGETS
        if self.of_table and self.state.data is None:
            return NO_TABLE
        models = self.state.rashomon_set
        if self.of_classes and models is not None and models.task != "classification":
            return NO_CLASSES
        return ""

    def sampled(
        self,
        figure: Callable[[], go.Figure],
        table: Callable[[], pd.DataFrame] | None,
        lines: Sequence[str],
        marks: tuple[ProvenanceBadge, ...] = (SAMPLED,),
    ) -> Recipe:
        """Recipe of a figure of the selected models and people, with their number."""
        words = self.session.picked.words
        return Recipe(lambda: add_subtitle(figure(), words), table, tuple(lines), marks)


def keep_choice(picker: object, options: Sequence[str], default: str | None = None) -> None:
    """Replace the options of a dropdown; keep the chosen value if it is still available."""
    known = tuple(options)
    if tuple(picker.options) == known:  # type: ignore[attr-defined]
        return
    chosen = picker.value  # type: ignore[attr-defined]
    picker.options = known  # type: ignore[attr-defined]
    fallback = default if default in known else (known[0] if known else None)
    picker.value = chosen if chosen in known else fallback  # type: ignore[attr-defined]


def ringed(selection: Sequence[int]) -> str:
    """Python argument that highlights the selected models; empty without a selection."""
    return ", highlight=explorer.state.selection" if selection else ""
