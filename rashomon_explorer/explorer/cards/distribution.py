"""Card of the Rashomon importance distribution: importance over resampled tables."""

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe
from rashomon_explorer.explorer.cards.said import also_said
from rashomon_explorer.explorer.cards.study import StudyCard
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.picked import some, taken
from rashomon_explorer.measures import rid
from rashomon_explorer.measures.importance import ImportanceDistribution
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.plots import plot_importance_distribution
from rashomon_explorer.plots.text import percent, short_name
from rashomon_explorer.trees.like import counted_like

MOST_ROWS = 1_000
_TABLES, _MODELS = 8, 48
_ELSEWHERE = "These trees were not drawn here: nothing says which class they are of."


class DistributionCard(StudyCard):
    """How stable importance is when the table itself is drawn again."""

    name = "importance_distribution"
    title = "Does importance survive another sample of people?"
    short = "Resampled importance"
    label = "Distribution of feature importance over good models of resampled tables"
    linear = and_trees = True
    of_targets: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "view", "phase", "data", "groups")
    definition = (
        "Rashomon importance distribution (Donnelly, Katta, Rudin and Browne 2023): the table is "
        f"drawn again {_TABLES} times with replacement; of each, {_MODELS} models within ψ are "
        "drawn by hit-and-run, or trees of the same class uniformly of all that are counted, and "
        "their reliance on each feature is measured. RID<sub>j</sub>(k) "
        "is the mean share of models with importance at most k: a steep curve is a stable "
        "importance. Nothing is bought: the curator draws."
    )

    def __init__(self, session: Any) -> None:
        self._found: dict[Any, ImportanceDistribution] = {}
        super().__init__(session)

    def _lacks(self) -> str:
        models = self.state.rashomon_set
        if trees_in(models) is None:
            return super()._lacks() or self.session.exact.why_not
        planned: Any = models.planned
        return super()._lacks() or ("" if planned and planned.questions else _ELSEWHERE)

    def study(self) -> Recipe:
        """See `StudyCard.study`."""
        return self.sampled(
            self._figure,
            lambda: _table(self._distribution()),
            (
                "from rashomon_explorer.explorer.cards.distribution import resampled_importance",
                "from rashomon_explorer.plots import plot_importance_distribution",
                "plot_importance_distribution(resampled_importance(explorer.rashomon_set, "
                f"{', '.join(self.session.picked.names[1:])}))",
            ),
        )

    def _figure(self) -> go.Figure:
        found = self._distribution()
        rows = min(MOST_ROWS, len(self.session.picked.people))
        words = f"{rows:,} rows each, {_MODELS} models within ψ of each"
        return also_said(plot_importance_distribution(found), words, _finding(found))

    def _distribution(self) -> ImportanceDistribution:
        models, picked = self.state.rashomon_set, self.session.picked
        key = id(models), picked.people.tobytes()
        if key not in self._found:
            self._found = {key: resampled_importance(models, picked.rows, picked.targets)}
        return self._found[key]


def resampled_importance(models: Any, X: Any, y: Any) -> ImportanceDistribution:
    """Measure the importance distribution on at most a thousand of some rows.

    Of drawn trees that of all trees of their class on every resampled table.
    """
    places = some(np.arange(len(X)), MOST_ROWS)
    asked: dict[str, Any] = {"psi": models.psi, "n_bootstraps": _TABLES, "n_models": _MODELS}
    if trees_in(models) is not None:
        return rid(
            lambda rows, targets: counted_like(models, rows, targets),
            models.models.rows(taken(X, places)),
            taken(y, places),
            feature_names=models.models.feature_names,
            random_state=0,
            **asked,
        )
    groups = {name: list(columns) for name, columns in models.feature_groups.items()}
    alone = [
        name
        for name in models.feature_names[:-1]
        if not any(name in columns for columns in groups.values())
    ]
    return rid(
        lambda rows, targets: set_problem(models, rows, targets, resampled=True),
        taken(X, places),
        taken(y, places),
        features={**{name: [name] for name in alone}, **groups},
        feature_names=models.feature_names[:-1],
        random_state=0,
        **asked,
    )


def _finding(found: ImportanceDistribution) -> str:
    """Name the feature that leads, and in what share of the models of all tables."""
    firsts = [sample.argmax(axis=1) for sample in found.samples]
    shares = np.mean(
        [np.bincount(first, minlength=len(found.features)) / len(first) for first in firsts], axis=0
    )
    first = int(shares.argmax())
    name = short_name(found.features[first])
    return f"{name} is the most important in {percent(float(shares[first]))} of good models"


def _table(found: ImportanceDistribution) -> pd.DataFrame:
    levels = {"5 %": 0.05, "median": 0.5, "95 %": 0.95}
    table = pd.DataFrame({name: found.quantile(level) for name, level in levels.items()})
    table.insert(0, "mean", found.mean())
    return table.rename_axis(index="feature").sort_values("mean", ascending=False)
