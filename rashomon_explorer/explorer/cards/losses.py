"""Card of the losses of the draws."""

import math
from functools import partial

import ipywidgets

from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    Recipe,
    empty,
)
from rashomon_explorer.explorer.cards.picking import picks
from rashomon_explorer.explorer.panels.threshold import ThresholdControl
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import plot_losses
from rashomon_explorer.plots.tables import losses_table

_UNKNOWN = "The losses of these models are not known:<br>build the set with losses or with y."


class LossesCard(FigureCard):
    """How much worse than the best model each draw is."""

    name = "losses"
    title = "Losses of the draws against the threshold"
    label = "Histogram of the excess losses of the draws, with the threshold psi"
    selectable = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        picks(self)

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
