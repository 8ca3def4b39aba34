"""Cards of figures that read private rows: the curator's, and made when somebody looks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    Recipe,
    empty,
)
from rashomon_explorer.explorer.cards.said import also_said
from rashomon_explorer.explorer.marks import SAMPLED, Mark
from rashomon_explorer.plots.counted import counted, nobody_inside

NO_ROWS = "Needs the rows: <b>Explorer(models, data=data)</b>."
NO_TARGETS = "Needs the rows and their targets: <b>Explorer(models, data=data)</b>."
NO_TABLE = "Needs the table: <b>Explorer(models, data=data)</b>."
NO_CLASSES = "These models predict numbers, which have no labels that could flip."


class StudyCard(FigureCard):
    """A figure of the models on screen and of the people that are read.

    A subclass says what it needs, and `study` how it is drawn once that is there.
    """

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
    """Whether of rows in blocks it shows a fixed random sample, and not sums over all."""
    of_targets: ClassVar[bool] = False
    of_table: ClassVar[bool] = False
    of_classes: ClassVar[bool] = False
    of_inside: ClassVar[bool] = False
    """Whether it is made of the models inside alone, and says so in words where there are none."""
    of_outside: ClassVar[bool] = False
    """Whether it also shows a model that was fitted elsewhere, of which nothing is drawn."""

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
            return self.later()
        lacks = self._lacks()
        if lacks:
            return empty(self.title, lacks)
        if self.of_inside and models is not None and counted(models).nobody:
            return Recipe(partial(nobody_inside, self.title, models))
        made = self.study()
        return replace(made, of_people=made.of_people or self.of_people)

    def study(self) -> Recipe:
        """Say how it is drawn, now that what it needs is there."""
        raise TypeError(f"{type(self).__name__} must say how it is drawn")

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
        marks: tuple[Mark, ...] = (SAMPLED,),
    ) -> Recipe:
        """Make the recipe of a figure of the picked models and people, which it counts."""
        words = self.session.picked.words
        return Recipe(lambda: also_said(figure(), words), table, tuple(lines), marks)


def keep_choice(picker: object, options: Sequence[str], default: str | None = None) -> None:
    """Offer other options in a dropdown, keeping what was chosen where it still is there."""
    known = tuple(options)
    if tuple(picker.options) == known:  # type: ignore[attr-defined]
        return
    chosen = picker.value  # type: ignore[attr-defined]
    picker.options = known  # type: ignore[attr-defined]
    fallback = default if default in known else (known[0] if known else None)
    picker.value = chosen if chosen in known else fallback  # type: ignore[attr-defined]


def ringed(selection: Sequence[int]) -> str:
    """Write the argument that rings the picked models in a figure; nothing where none are."""
    return ", highlight=explorer.state.selection" if selection else ""
