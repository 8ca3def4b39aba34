"""Cards of models and their losses."""

import math
from functools import partial
from typing import Any, ClassVar

import ipywidgets

from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    Recipe,
    empty,
    link_selection,
)
from rashomon_explorer.explorer.html import PAID, SAMPLED
from rashomon_explorer.explorer.panels.models import ThresholdControl, inside_only
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import (
    plot_coefficients,
    plot_losses,
    plot_pair,
    plot_released_coefficients,
    plot_two_sets,
)
from rashomon_explorer.plots.coefficients import coefficients_table, default_axes
from rashomon_explorer.plots.comparison import pair_table, two_sets_table
from rashomon_explorer.plots.losses import losses_table


class CloudCard(FigureCard):
    """Scatter plot of two coefficients, one dot per model."""

    name = "coefficients"
    title = "Two coefficients, one dot per model"
    label = "Scatter plot of two coefficients of the drawn models"
    linear = True
    needs = (*FigureCard.needs, "inside_only")
    selectable = True

    def __init__(self, session: Session) -> None:
        self._offering = False
        super().__init__(session)
        link_selection(self)

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._x = ipywidgets.Dropdown(description="across", options=[], disabled=True)
        self._y = ipywidgets.Dropdown(description="up", options=[], disabled=True)
        for picker in (self._x, self._y):
            picker.observe(self._moved, "value")
        return [self._x, self._y, inside_only(self.state)]

    def _moved(self, _: object) -> None:
        if not self._offering:  # the caller draws the new options
            self.changed()

    def _offer(self, names: tuple[str, ...]) -> None:
        if tuple(self._x.options) == names:
            return
        axes = default_axes(self.state.rashomon_set) if names else (None, None)
        self._offering = True
        try:
            for picker, name in zip((self._x, self._y), axes, strict=True):
                picker.options = names
                picker.value = name
                picker.disabled = not names
        finally:
            self._offering = False

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        state = self.state
        models = state.rashomon_set
        if models is None or not models.n_draws:
            self._offer(())
            return self.waiting()
        self._offer(models.parameter_names)
        x, y = self._x.value, self._y.value
        if state.view == "release":
            return Recipe(
                partial(
                    plot_released_coefficients, models.release(), x, y, highlight=state.selection
                ),
                partial(coefficients_table, models.release()),
                (
                    "from rashomon_explorer.plots import plot_released_coefficients",
                    f"plot_released_coefficients(explorer.rashomon_set.release(), {x!r}, {y!r})",
                ),
            )
        only = ", inside_only=True" if state.inside_only else ""
        return Recipe(
            partial(
                plot_coefficients,
                models,
                x,
                y,
                highlight=state.selection,
                inside_only=state.inside_only,
            ),
            partial(coefficients_table, models),
            (
                "from rashomon_explorer.plots import plot_coefficients",
                f"plot_coefficients(explorer.rashomon_set, {x!r}, {y!r}{only})",
            ),
        )


_UNKNOWN = "The losses of these models are unknown:<br>build the set with losses or with y."


class LossesCard(FigureCard):
    """Histogram of the excess losses of the draws."""

    name = "losses"
    title = "Losses of the draws against the threshold"
    label = "Histogram of the excess losses of the draws, with the threshold psi"
    selectable = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        link_selection(self)

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self.threshold = ThresholdControl(self.state)
        return [self.threshold.widget]

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        state = self.state
        models = state.rashomon_set
        if models is None or not models.n_draws:
            return self.waiting()
        if state.view == "release":
            return empty(self.title, CURATOR_FIGURE)
        if math.isnan(models.least):
            return empty(self.title, _UNKNOWN)
        return Recipe(
            partial(plot_losses, models, highlight=state.selection),
            partial(losses_table, models),
            (
                "from rashomon_explorer.plots import plot_losses",
                "plot_losses(explorer.rashomon_set)",
            ),
        )


_PICK = "Select one or two models:<br>tick them in the table, or click their dots."
_PICK_TWO = "Select two models:<br>the release has no best model to compare with."
_ONE_SET = "All sets drawn from this table are saved.<br>With two sets, this figure compares them."


class PairCard(FigureCard):
    """Coefficients of two selected models, or of one and the best."""

    name = "pair"
    title = "Two models side by side"
    label = "Coefficients of two models side by side, the largest differences first"
    linear = True
    slow = True
    asked = True
    definition: ClassVar[str] = (
        "The first two selected models, or one and the best. <b>Answer differently</b>: share of "
        "the rows with different labels, #{i : ŷ<sub>a</sub>(x<sub>i</sub>) ≠ "
        "ŷ<sub>b</sub>(x<sub>i</sub>)}/n."
    )

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        models, chosen = self.state.rashomon_set, self.state.selection[:2]
        if models is None or not models.n_draws:
            return self.waiting()
        released = self.state.view == "release"
        if not chosen or max(chosen) >= models.n_draws or (released and len(chosen) < 2):
            return empty(self.title, _PICK_TWO if released else _PICK)
        line = "from rashomon_explorer.plots import plot_pair"
        first, second = chosen[0], (chosen[1] if len(chosen) > 1 else None)
        if released:
            paid = models.release()
            return Recipe(
                partial(plot_pair, paid, first, second),
                partial(pair_table, paid, first, second),
                (line, f"plot_pair(explorer.rashomon_set.release(), {first}, {second})"),
                (PAID,),
            )
        rows = self.session.rows
        return Recipe(
            partial(plot_pair, models, first, second, rows, self.session.targets),
            partial(pair_table, models, first, second),
            (
                line,
                f"plot_pair(explorer.rashomon_set, {first}, {second}, explorer.rows, "
                "explorer.targets)",
            ),
            (SAMPLED,),
            of_people=True,
        )


class SetsCard(FigureCard):
    """Comparison of the set in view with another saved set of the same table."""

    name = "sets"
    title = "Two sets compared"
    label = "Range and mean of every coefficient over two sets"
    linear = True
    slow = True
    asked = True
    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "view", "phase", "kept", "in_view")
    definition: ClassVar[str] = (
        "Ranges of the draws inside ψ (of a release: of all draws). <b>Wide</b>: mean length of "
        "the coefficients' ranges. <b>Overlap</b>: length of the intersection of both ranges over "
        "that of their union, averaged over the coefficients. A set with more draws has wider "
        "ranges by chance."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._other = ipywidgets.Dropdown(description="compare with", options=[], disabled=True)
        self._offering = False
        self._other.observe(lambda _: None if self._offering else self.changed(), "value")
        return [self._other]

    def _offer(self) -> None:
        others = [k for k in reversed(self.state.kept) if k.number != self.state.in_view]
        options = [(kept.label, kept.number) for kept in others]
        if tuple(self._other.options) == tuple(options):
            return
        chosen = self._other.value
        self._offering = True
        self._other.options = options
        numbers = [number for _, number in options]
        self._other.value = chosen if chosen in numbers else (numbers[0] if numbers else None)
        self._other.disabled = not options
        self._offering = False

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state, models = self.state, self.state.rashomon_set
        self._offer()
        if models is None or not models.n_draws:
            return self.waiting()
        sets, number = self.session.set_store, self._other.value
        if sets is None or number is None:
            return empty(self.title, _ONE_SET)
        names = (f"draw {state.in_view}" if state.in_view else "the set in view", f"draw {number}")
        other: Any = sets.open(number)
        released = state.view == "release"
        if released:
            models, other = models.release(), other.release()
        end = ".release()" if released else ""
        return Recipe(
            partial(plot_two_sets, models, other, names),
            partial(two_sets_table, models, other, names),
            (
                "from rashomon_explorer.plots import plot_two_sets",
                f"other = explorer.session.set_store.open({number}){end}",
                f"plot_two_sets(explorer.rashomon_set{end}, other, {names!r})",
            ),
            (PAID,) if released else (SAMPLED,),
        )
