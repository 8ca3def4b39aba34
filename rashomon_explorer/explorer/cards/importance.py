"""Cards of feature importance."""

import math
from collections import OrderedDict
from functools import partial
from typing import Any, ClassVar

import ipywidgets
import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.background import SingleEntryCache
from rashomon_explorer.explorer.cards.base import (
    PrivateDataCard,
    Recipe,
    add_subtitle,
    keep_choice,
    link_selection,
    of_the_set,
    ringed,
)
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.html import EXACT
from rashomon_explorer.explorer.selection import some, taken
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures import importance_cloud, rid
from rashomon_explorer.measures.importance import ImportanceDistribution
from rashomon_explorer.measures.inputs import feature_groups
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.plots import (
    plot_class_reliance,
    plot_importance_distribution,
    plot_importance_pair,
    plot_profile,
)
from rashomon_explorer.plots.profile import MOST_ROWS as profile_MOST_ROWS
from rashomon_explorer.plots.profile import profile_figure, profiles
from rashomon_explorer.plots.text import counted, percent, plural, short_name
from rashomon_explorer.trees.private import counted_like

MOST_ROWS = 1_000
_TABLES, _MODELS = 8, 48
_ELSEWHERE = "The class of these imported trees is unknown."


class DistributionCard(PrivateDataCard):
    """Stability of feature importance over resampled tables."""

    name = "importance_distribution"
    title = "Does importance survive another sample of people?"
    short = "Resampled importance"
    label = "Distribution of feature importance over good models of resampled tables"
    linear = and_trees = True
    of_targets: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "view", "phase", "data", "groups")
    definition = (
        "Rashomon importance distribution (Donnelly, Katta, Rudin and Browne 2023): the table is "
        f"resampled {_TABLES} times with replacement. For each, {_MODELS} models within ψ are "
        "drawn by hit-and-run (trees: uniformly from all counted trees of the same class), and "
        "their reliance on each feature is measured. RID<sub>j</sub>(k) "
        "is the mean share of models with importance at most k: a steep curve is a stable "
        "importance. Nothing is charged: these draws are not private."
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
        """See `PrivateDataCard.study`."""
        return self.sampled(
            self._figure,
            lambda: _table(self._distribution()),
            (
                "from rashomon_explorer.explorer.cards.importance import resampled_importance",
                "from rashomon_explorer.plots import plot_importance_distribution",
                "plot_importance_distribution(resampled_importance(explorer.rashomon_set, "
                f"{', '.join(self.session.picked.names[1:])}))",
            ),
        )

    def _figure(self) -> go.Figure:
        found = self._distribution()
        rows = min(MOST_ROWS, len(self.session.picked.people))
        words = f"{rows:,} rows each, {_MODELS} models within ψ of each"
        return add_subtitle(plot_importance_distribution(found), words, _finding(found))

    def _distribution(self) -> ImportanceDistribution:
        models, picked = self.state.rashomon_set, self.session.picked
        key = id(models), picked.people.tobytes()
        if key not in self._found:
            self._found = {key: resampled_importance(models, picked.rows, picked.targets)}
        return self._found[key]


def resampled_importance(models: Any, X: Any, y: Any) -> ImportanceDistribution:
    """Return the importance distribution on at most 1,000 of the rows."""
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
    """Name the most important feature, with its share of the models of all tables."""
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


_MEASURES = (("mean |SHAP|", "shap"), ("switching", "reliance"), ("shuffling", "permutation"))
_WIDEST = "widest"
_MOST = 400_000
"""Limit on models times rows for switching and shuffling, to keep them fast."""


class ImportancePairCard(PrivateDataCard):
    """Importance of two features to each model; shows whether one replaces the other."""

    name = "importance_cloud"
    title = "Importance of two features, one dot per model"
    short = "Two features"
    label = "Scatter plot of two features' importances over the models inside the set"
    linear = True
    selectable = True
    of_targets: ClassVar[bool] = True
    definition = (
        "The importance of two features to each model within ψ (variable importance cloud, Dong "
        "and Rudin 2020). <b>SHAP</b>: mean over people of |θ<sub>j</sub>(x<sub>j</sub> − mean)|; "
        "<b>switching</b>: rise of the loss when the feature is switched between people; "
        "<b>shuffling</b>: rise of the loss when its column is shuffled. The cloud of the draws is "
        "a sample of that of the set."
    )

    def __init__(self, session: Session) -> None:
        self._offering = False
        self._clouds: OrderedDict[Any, pd.DataFrame] = OrderedDict()
        super().__init__(session)
        link_selection(self)

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
        """See `PrivateDataCard.study`."""
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
        """Return the importances of all models, cached so that other axes need no computation."""
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
    """Features of a set, with the columns of one category grouped."""
    group_of = {
        column: name for name, columns in models.feature_groups.items() for column in columns
    }
    return tuple(dict.fromkeys(group_of.get(name, name) for name in models.feature_names[:-1]))


_MOST_ANSWERS, _FEWEST_ROWS = 500_000, 100


class ProfileCard(PrivateDataCard):
    """Partial dependence of the models on one feature."""

    name = "profile"
    title = "Partial dependence of all good models"
    short = "Profile of a feature"
    label = "Band of partial dependence on one feature over the models inside the set"
    definition = (
        "Partial dependence: PD<sub>f</sub>(v) = mean over people of f(x with x<sub>j</sub> = v), "
        "for every model f within ψ; the band covers the models. It also evaluates people who do "
        "not exist: interpret correlated features with care."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._found = SingleEntryCache()

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._offering = False
        self._feature = ipywidgets.Dropdown(description="feature", options=[])
        self._feature.observe(self._moved, "value")
        return [self._feature]

    def _moved(self, _: object) -> None:
        if not self._offering:
            self.changed()

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        models, picked = self.state.rashomon_set, self.session.picked
        table, encode = picked.table, picked.encode
        self._offering = True
        keep_choice(self._feature, picked.features)
        self._offering = False
        feature = next(name for name in table.columns if str(name) == self._feature.value)
        asked: dict[str, Any] = {"transform": encode, "highlight": self.state.selection}
        asked["answer"] = picked.answer
        through = "" if encode is None else ", transform=explorer.selected.encode"
        through += ", answer=explorer.selected.answer" if picked.answer else ""
        through += ringed(self.state.selection)
        of, key = (models, self.session.rows), (picked.people.tobytes(), feature)
        n_people = len(picked.people)
        most = min(profile_MOST_ROWS, max(_FEWEST_ROWS, _MOST_ANSWERS // models.n_draws))
        asked["max_rows"] = most
        through += f", max_rows={most}" if most < profile_MOST_ROWS else ""

        def found() -> Any:
            inside = counted(models).models
            return self._found.of(
                of, key, lambda: profiles(inside, table, feature, encode, max_rows=most)
            )

        def figure() -> go.Figure:
            if counted(models).is_empty or not n_people:
                return plot_profile(models, table, feature, **asked)
            return profile_figure(models, found(), feature, asked["answer"], asked["highlight"])

        return self.sampled(
            figure,
            of_the_set(models, lambda: found()[1]),
            (
                "from rashomon_explorer.plots import plot_profile",
                "plot_profile(explorer.rashomon_set, explorer.selected.table, "
                f"{feature!r}{through})",
            ),
        )


_SECONDS_A_ROW = 2e-4
_AT_ONCE = 20.0
"""Time limit in seconds of the first computation."""


class ClassRelianceCard(PrivateDataCard):
    """Certified range of the reliance on each feature over the whole set."""

    name = "class_reliance"
    title = "Which features can a good model do without?"
    short = "Exact reliance"
    label = "Certified range of model reliance over all models within psi, one row per feature"
    linear = True
    of_targets: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "view", "phase", "data")
    definition = (
        "Model class reliance (Fisher, Rudin and Dominici 2019): the least and the greatest rise "
        "of the loss, over all models within ψ, when a feature is switched between people. Each "
        "end is a bracket: <b>dark</b>, attained by some model; <b>light</b>, a proved bound for "
        "all. Reliance 0: a good model can ignore the feature. All rows are used, regardless of "
        "the selection."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._all = ipywidgets.ToggleButton(description="All features", value=False)
        self._all.add_class("rx-quiet")
        self._all.observe(lambda _: self.changed(), "value")
        return [self._all]

    def _lacks(self) -> str:
        why = super()._lacks() or self.session.exact.why_not
        if not why and self.state.rashomon_set.link not in ("logistic", "identity"):
            return "Class reliance is available for squared loss and for two classes."
        return why

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        features, left_out = self._features_in_time()
        return Recipe(
            partial(self._figure, features, left_out),
            partial(self.session.exact.class_reliance, features),
            (
                "from rashomon_explorer.plots import plot_class_reliance",
                f"plot_class_reliance(explorer.exact.class_reliance({features!r}))",
            ),
            (EXACT,),
        )

    def _features_in_time(self) -> tuple[tuple[str, ...], int]:
        """Features with the largest coefficients within the time limit; number of the others."""
        models = self.state.rashomon_set
        groups = feature_groups(None, models.feature_names[:-1], models.feature_groups)
        size = {name: float(np.abs(models.best[places]).max()) for name, places in groups.items()}
        ranked = sorted(size, key=lambda name: -size[name])
        each = 0.5 + _SECONDS_A_ROW * len(self.session.rows)
        most = max(1, int(_AT_ONCE / each))
        self._all.layout.display = "none" if most >= len(ranked) else None
        wait = math.ceil(each * len(ranked) / 60)
        self._all.tooltip = f"All {len(ranked)} features: about {plural(wait, 'minute')}"
        kept = ranked if self._all.value else ranked[:most]
        return tuple(kept), len(ranked) - len(kept)

    def _figure(self, features: tuple[str, ...], left_out: int) -> go.Figure:
        table = self.session.exact.class_reliance(features)
        more = f"{plural(left_out, 'feature')} of smaller coefficients not measured yet"
        return add_subtitle(
            plot_class_reliance(table), more if left_out else "", _reliance_finding(table)
        )


def _reliance_finding(table: pd.DataFrame) -> str:
    """Count the features that every good model uses and those that some good model ignores."""
    needed = int((table["lower"] > 0).sum())
    ignored = int((table["lower_attained"] <= 0).sum())
    parts = [
        f"every good model uses {plural(needed, 'feature')}" if needed else "",
        f"some good model ignores {_each(ignored, len(table))}" if ignored else "",
    ]
    words = "; ".join(filter(None, parts)) or "it is not proved whether a feature can be ignored"
    return words[0].upper() + words[1:]


def _each(count: int, among: int) -> str:
    return (
        ("it" if among == 1 else f"any of these {among}")
        if count == among
        else f"each of {count} others"
    )
