"""Card of the importance cloud: two features against each other."""

from collections import OrderedDict
from functools import partial
from typing import Any, ClassVar

import ipywidgets
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe
from rashomon_explorer.explorer.cards.picking import picks
from rashomon_explorer.explorer.cards.study import StudyCard, keep_choice, ringed
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures import importance_cloud
from rashomon_explorer.plots import plot_importance_pair

_MEASURES = (("mean |SHAP|", "shap"), ("switching", "reliance"), ("shuffling", "permutation"))
_WIDEST = "widest"
_MOST = 400_000
"""Models times rows that switching and shuffling read: more takes longer than a moment."""


class ImportancePairCard(StudyCard):
    """How important two features are to each model: whether one stands in for the other."""

    name = "importance_cloud"
    title = "Importance of two features, one dot a model"
    short = "Two features"
    label = "Scatter plot of two features' importances over the models inside the set"
    linear = True
    selectable = True
    of_targets: ClassVar[bool] = True
    definition = (
        "The importance of two features to each model within ψ (variable importance cloud, Dong "
        "and Rudin 2020). <b>SHAP</b>: mean over people of |θ<sub>j</sub>(x<sub>j</sub> − mean)|; "
        "<b>switching</b>: rise of the loss when the feature is switched between people; "
        "<b>shuffling</b>: rise of the loss when its column is shuffled. Over draws the cloud is a "
        "sample of the set's."
    )

    def __init__(self, session: Session) -> None:
        self._offering = False
        self._clouds: OrderedDict[Any, pd.DataFrame] = OrderedDict()
        super().__init__(session)
        picks(self)

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._x = ipywidgets.Dropdown(description="across", options=[])
        self._y = ipywidgets.Dropdown(description="up", options=[])
        self._by = ipywidgets.Dropdown(description="by", options=_MEASURES)
        for picker in (self._x, self._y, self._by):
            picker.observe(self._moved, "value")
        return [self._x, self._y, self._by]

    def _moved(self, _: object) -> None:
        if not self._offering:
            self.changed()

    def _offer(self, names: tuple[str, ...]) -> None:
        self._offering = True
        try:
            for picker in (self._x, self._y):
                keep_choice(picker, (_WIDEST, *names))
        finally:
            self._offering = False

    def study(self) -> Recipe:
        """See `StudyCard.study`."""
        models, picked = self.state.rashomon_set, self.session.picked
        self._offer(_features(models))
        measure, people = self._by.value, picked.people
        if measure != "shap":
            people = people[: max(50, _MOST // models.n_draws)]
        x, y = (None if at.value == _WIDEST else at.value for at in (self._x, self._y))
        cloud = partial(self._cloud, models, measure, people.tobytes(), len(people))
        axes = "".join(f", {name}={at!r}" for name, at in (("x", x), ("y", y)) if at)
        axes += ringed(self.state.selection)
        seed = ", random_state=0" if measure == "permutation" else ""
        rows, targets = picked.names[1:]
        cut = "" if len(people) == len(picked.people) else f".iloc[:{len(people)}]"
        return self.sampled(
            lambda: _figure(models, cloud(), x, y, self.state.selection, len(people)),
            cloud,
            (
                "from rashomon_explorer.measures import importance_cloud",
                "from rashomon_explorer.plots import plot_importance_pair",
                f"cloud = importance_cloud(explorer.rashomon_set, {rows}{cut}, {targets}{cut}, "
                f"measure={measure!r}{seed})",
                f"plot_importance_pair(explorer.rashomon_set, cloud{axes})",
            ),
        )

    def _cloud(self, models: Any, measure: str, people: bytes, count: int) -> pd.DataFrame:
        """Measure every model once: another pair of axes is only another look."""
        key = id(models), measure, people
        if key not in self._clouds:
            picked = self.session.picked
            options: dict[str, Any] = {"random_state": 0} if measure == "permutation" else {}
            rows, targets = (table.iloc[:count] for table in (picked.rows, picked.targets))
            self._clouds[key] = importance_cloud(models, rows, targets, measure=measure, **options)
            while len(self._clouds) > 3:
                self._clouds.popitem(last=False)
        return self._clouds[key]


def _figure(
    models: Any, cloud: pd.DataFrame, x: str | None, y: str | None, chosen: Any, n_rows: int
) -> go.Figure:
    return plot_importance_pair(models, cloud, x, y, highlight=chosen)


def _features(models: Any) -> tuple[str, ...]:
    """Features of a set, the columns of one category together."""
    group_of = {
        column: name for name, columns in models.feature_groups.items() for column in columns
    }
    return tuple(dict.fromkeys(group_of.get(name, name) for name in models.feature_names[:-1]))
