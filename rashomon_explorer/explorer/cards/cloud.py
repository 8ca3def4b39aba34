"""Card of two coefficients."""

from functools import partial

import ipywidgets

from rashomon_explorer.explorer.cards.base import (
    FigureCard,
    Recipe,
)
from rashomon_explorer.explorer.cards.picking import picks
from rashomon_explorer.explorer.panels.threshold import inside_only
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import (
    default_axes,
    plot_coefficients,
    plot_released_coefficients,
)
from rashomon_explorer.plots.tables import coefficients_table


class CloudCard(FigureCard):
    """One dot a model, at two of its coefficients."""

    name = "coefficients"
    title = "Two coefficients, one dot per model"
    label = "Scatter plot of two coefficients of the drawn models"
    linear = True
    needs = (*FigureCard.needs, "inside_only")
    selectable = True

    def __init__(self, session: Session) -> None:
        self._offering = False
        super().__init__(session)
        picks(self)

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._x = ipywidgets.Dropdown(description="across", options=[], disabled=True)
        self._y = ipywidgets.Dropdown(description="up", options=[], disabled=True)
        for picker in (self._x, self._y):
            picker.observe(self._moved, "value")
        return [self._x, self._y, inside_only(self.state)]

    def _moved(self, _: object) -> None:
        if not self._offering:  # what is offered is about to be drawn
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
