"""Card of a fitted model's exact Rashomon set."""

from functools import partial

import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import CURATOR_FIGURE, FigureCard, Recipe, empty
from rashomon_explorer.explorer.outside import OutsideModel
from rashomon_explorer.plots import plot_exact_ranges

_NOTHING = (
    "For a model that you fitted: <b>Explorer(model, data=(X, y))</b><br>"
    "shows how far each of its coefficients can go. Nothing is bought."
)


class ExactCard(FigureCard):
    """How far each coefficient can go while the model stays within ψ of its objective."""

    name = "exact"
    title = "How far each coefficient can go"
    label = "Exact range of every coefficient over the models within psi"
    linear = True
    needs = ("outside", "psi", "view")
    slow = True

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        outside, psi = self.state.outside, self.state.psi
        if outside is None:
            return empty(self.title, _NOTHING)
        if self.state.view == "release":
            return empty(self.title, CURATOR_FIGURE)
        return Recipe(
            partial(_figure, outside, psi),
            partial(outside.ranges, psi),
            (
                "from rashomon_explorer.plots import plot_exact_ranges",
                f"plot_exact_ranges(explorer.state.outside.ranges({psi!r}), "
                f"note=explorer.state.outside.told({psi!r}))",
            ),
        )


def _figure(outside: OutsideModel, psi: float) -> go.Figure:
    return plot_exact_ranges(outside.ranges(psi), note=outside.told(psi))
