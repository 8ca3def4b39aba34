"""Card of what differs between the models: importances, or coefficients."""

from functools import partial
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    Recipe,
    empty,
    of_the_set,
)
from rashomon_explorer.explorer.cards.study import ringed
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.marks import PAID, SAMPLED
from rashomon_explorer.explorer.remembered import Remembered
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.feature_groups import groups_by_name
from rashomon_explorer.measures.features import COLUMNS
from rashomon_explorer.plots import (
    plot_coefficient_spread,
    plot_importance,
    plot_released_spread,
)
from rashomon_explorer.plots.counted import counted
from rashomon_explorer.plots.importances import MOST_ROWS, importance_figure, importances
from rashomon_explorer.plots.tables import importance_table, spread_table

_CHOICES = (("importance", "importance"), ("coefficients", "coef"))
_MOST, _FEWEST_ROWS = 1_000_000, 100
_COLUMNS = ("importance of single columns", COLUMNS)


class SpreadCard(FigureCard):
    """How far the models disagree about each feature."""

    name = "importance"
    title = "How much the models rely on each feature"
    short = "Importance"
    label = "Ranges over the draws inside the set, one row a feature"
    linear = True
    and_trees = True
    slow = True
    needs = (*FigureCard.needs, "groups", "people")
    definition = (
        "Permutation importance: the rise of the loss when one feature is shuffled between people, "
        "over the models within ψ; the columns of one category are shuffled together."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._found = Remembered()

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._what = ipywidgets.Dropdown(description="show", options=_CHOICES)
        self._what.observe(lambda _: self.changed(), "value")
        return [self._what]

    def _offer(self, models: Any) -> None:
        """Offer single columns where several are one feature, and coefficients where there are."""
        trees = trees_in(models) is not None
        groups = groups_by_name(models.models.feature_names) if trees else models.feature_groups
        columns = [_COLUMNS] if groups else []
        choices = (_CHOICES[0], *columns, *([] if trees else [_CHOICES[1]]))
        if tuple(self._what.options) != choices:
            value = self._what.value
            self._what.options = choices
            self._what.value = value if value in dict(choices).values() else _CHOICES[0][1]

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state = self.state
        models = state.rashomon_set
        if models is None or not models.n_draws:
            return self.waiting()
        self._offer(models)
        if self._what.value == "coef":
            return self._coefficients()
        if state.view == "release":
            others = "" if trees_in(models) else "<br>Or show <b>coefficients</b>."
            return empty(self.title, f"{CURATOR_FIGURE}{others}")
        if state.busy:
            return self.later()
        if state.data is None:
            return empty(self.title, "Needs the rows: <b>Explorer(clf, data=data)</b>.")
        picked = self.session.picked
        inputs = models, picked.rows, picked.targets
        _, rows, targets = picked.names
        most = min(MOST_ROWS, max(_FEWEST_ROWS, _MOST // models.n_draws))
        features = COLUMNS if self._what.value == COLUMNS else None
        ringing = state.selection
        asked = f", features={COLUMNS!r}" if features else ""
        asked += ringed(state.selection)
        asked += f", max_rows={most}" if most < MOST_ROWS else ""
        options: dict[str, Any] = {"features": features, "max_rows": most}
        key = picked.people.tobytes(), features, most
        of = models, self.session.rows

        def figure() -> go.Figure:
            kept = counted(models)
            if kept.nobody:
                return plot_importance(*inputs, **options)
            found = self._found.of(
                of, key, lambda: importances(kept.models, *inputs[1:], **options)
            )
            return importance_figure(models, found, len(picked.people), ringing)

        return Recipe(
            figure,
            of_the_set(models, partial(importance_table, *inputs, **options)),
            (
                "from rashomon_explorer.plots import plot_importance",
                f"plot_importance(explorer.rashomon_set, {rows}, {targets}{asked})",
            ),
            (SAMPLED,),
            of_people=True,
        )

    def _coefficients(self) -> Recipe:
        models = self.state.rashomon_set
        if self.state.view == "release":
            released = models.release()
            return Recipe(
                partial(plot_released_spread, released),
                partial(spread_table, released),
                (
                    "from rashomon_explorer.plots import plot_released_spread",
                    "plot_released_spread(explorer.rashomon_set.release())",
                ),
                marks=(PAID,),
            )
        return Recipe(
            partial(plot_coefficient_spread, models, highlight=self.state.selection),
            of_the_set(models, partial(spread_table, models)),
            (
                "from rashomon_explorer.plots import plot_coefficient_spread",
                "plot_coefficient_spread(explorer.rashomon_set)",
            ),
            marks=(SAMPLED,),
        )
