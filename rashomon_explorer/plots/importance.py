"""Figures of feature importances over the set, one for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer._utils.containers import take_rows
from rashomon_explorer.measures import importance_cloud, importance_spread, rid
from rashomon_explorer.measures.importance import ImportanceDistribution, importance_tradeoffs
from rashomon_explorer.measures.inputs import Features, set_and_rows
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.measures.reliance.set_reliance import find_trees
from rashomon_explorer.networks.sets import NetworkSet
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.sets import PredictorSet, RashomonSet
from rashomon_explorer.sets.models.fitted import FittedModels
from rashomon_explorer.trees.private import counted_like

_MOST_CURVES = len(theme.CATEGORIES)
_STEPS = 200


def plot_importance_distribution(distribution: ImportanceDistribution) -> go.Figure:
    """Plot the Rashomon importance distribution of the most important features.

    Parameters
    ----------
    distribution : ImportanceDistribution
        Computed from private rows (curator only).

    Returns
    -------
    plotly.graph_objects.Figure
        For each feature, the share of good models over resampled rows with an importance of at
        most the value on the axis.
    """
    mean = distribution.mean()
    names = mean.sort_values(ascending=False, kind="stable").index[:_MOST_CURVES]
    cut = f"{len(names)} most important of {len(mean)}" if len(names) < len(mean) else ""
    note = text.plural(distribution.n_bootstraps, "resampled table")
    count = len(distribution.features)
    firsts = [sample.argmax(axis=1) for sample in distribution.samples]
    first_shares = np.mean([np.bincount(j, minlength=count) / len(j) for j in firsts], axis=0)
    first = int(first_shares.argmax())
    share = text.percent(float(first_shares[first]))
    top = text.short_name(distribution.features[first])
    title = f"{top} is the most important in {share} of good models"
    figure = theme.new_figure(title, text.join_notes(note, cut))
    columns = [distribution.features.index(name) for name in names]
    every = np.concatenate(distribution.samples)[:, columns]
    grid = np.linspace(every.min(), every.max(), _STEPS)
    shares = distribution.cdf(grid)
    for name, label, colour in zip(names, text.short_names(names), theme.CATEGORIES, strict=False):
        words = "%{y:.0%} of good models have at most %{x:.4g}"
        line, y = {"shape": "hv", "width": 2, "color": colour}, shares[name].to_numpy(np.float32)
        hover = f"<b>{escape(str(name))}</b><br>{words}"
        marks.add_marks(figure, grid.astype(np.float32), y, label, hover, mode="lines", line=line)
    figure.update_layout(
        xaxis={"title": "importance", "zeroline": True},
        yaxis={"title": "share of good models", "range": [0, 1.02], "tickformat": ".0%"},
    )
    return theme.curator_band(figure)


def plot_class_reliance(
    table: pd.DataFrame, draws: pd.DataFrame | None = None, *, note: str = ""
) -> go.Figure:
    """Plot the range of reliance on each feature over the whole set, and the draws inside ψ.

    Parameters
    ----------
    table : pandas.DataFrame
        Result of ``measures.model_class_reliance`` (curator only).
    draws : pandas.DataFrame, optional
        Reliance of draws in the set: one row per draw, one column per feature of the table.
    note : str, optional
        Text to add to the line below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per feature: a dark bar for attained values, a light bar for proved bounds, dots
        for draws, × for the best model.

    Raises
    ------
    ValueError
        If a feature of the table is missing from the draws.
    """
    missing = [] if draws is None else [name for name in table.index if name not in draws]
    if missing:
        raise ValueError(f"draws has no column {missing[0]!r}, a feature of the table")
    ordered = table.iloc[::-1]
    dots = "dots: draws, whose range is a lower bound" if draws is not None else ""
    figure = theme.new_figure(
        _reliance_finding(table), text.join_notes(text.plural(len(table), "feature"), dots, note)
    )
    bars = [
        ("lower", "upper", theme.SKY, 0.30, "no model exceeds"),
        ("lower_attained", "upper_attained", theme.BLUE, 0.52, "some model attains"),
    ]
    hover = [_limits(str(name), row) for name, row in ordered.iterrows()]
    marks.nested_bars(figure, ordered, bars, hover)
    if draws is not None:
        positions, _ = text.subsample_points(len(draws))
        points = draws[list(ordered.index)].iloc[positions].to_numpy(np.float32)
        # Vertical jitter with fixed positions, because dots on one line would hide their number.
        jitter = np.random.default_rng(0).uniform(-0.18, 0.18, points.shape)
        at, rows = points.T.ravel(), (np.arange(points.shape[1]) + jitter).T.ravel()
        marker = {"size": 4, "color": "white", "line": {"width": 0.8, "color": theme.GREY}}
        marks.add_marks(figure, at, rows, "draws", "draw: %{x:.4g}", marker=marker)
    marks.best_in_rows(figure, ordered["best"])
    names, height = text.short_names(ordered.index), max(360, 150 + 24 * len(ordered))
    marks.lay_out_rows(figure, names, height, title="model reliance", zeroline=True)
    return theme.curator_band(figure)


def _reliance_finding(table: pd.DataFrame) -> str:
    """Count the features that every good model uses and those that some good model ignores."""
    needed = int((table["lower"] > 0).sum())
    ignored = int((table["lower_attained"] <= 0).sum())
    ignored_text = f"each of {ignored} others"
    if ignored == len(table):
        ignored_text = "it" if ignored == 1 else f"any of these {ignored}"
    parts = [f"every good model uses {text.plural(needed, 'feature')}"] * (needed > 0)
    parts += [f"some good model ignores {ignored_text}"] * (ignored > 0)
    words = "; ".join(parts) or "it is not proved whether a feature can be ignored"
    return words[0].upper() + words[1:]


def _limits(name: str, row: pd.Series) -> str:
    words = (
        f"<b>{escape(name)}</b><br>attained: {text.number(row['lower_attained'])} to "
        f"{text.number(row['upper_attained'])}<br>no model beyond "
        f"{text.number(row['lower'], rounding='down')} or "
        f"{text.number(row['upper'], rounding='up')}"
    )
    if "shortfall" not in row or not np.isfinite(row["shortfall"]):
        return words
    return f"{words}<br>the draws miss {100 * row['shortfall']:.0f} % of the attained width"


_CELLS = 30_000_000
"""Losses of linear models or trees that are computed in about a second."""
_CELLS_OF_OTHERS = 600_000
"""Losses of models of other kinds, such as boosting."""
_SHUFFLED_ROWS, _MOST_REPEATS = 100_000, 5
_PARTS, _FEWEST_ROWS = 8, 1_600
_SURE = 2.365  # 97.5 % quantile of Student's t with _PARTS − 1 degrees of freedom

_IMPORTANCES_TITLE = "How much the models rely on each feature"


def importances(
    models: RashomonSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    max_rows: int | None = None,
) -> pd.DataFrame:
    """Permutation importances of models inside ψ and the best; a sample has its ``margin``."""
    models, X = set_and_rows(models, X)
    inside = text.need_inside(models)
    if (trees := find_trees(inside)) is not None:
        X = trees.rows(X)
    table: Any = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    y, every = np.asarray(y), _with_best(inside)
    is_other_kind = isinstance(getattr(every, "models", None), FittedModels)
    repeats = 1 if is_other_kind else int(np.clip(_SHUFFLED_ROWS // len(table), 1, _MOST_REPEATS))
    if max_rows is None:
        cells = _CELLS_OF_OTHERS if is_other_kind else _CELLS
        max_rows = max(_FEWEST_ROWS, cells // (len(every) * table.shape[1] * repeats))
    rows = text.sample_rows(len(table), max_rows)
    parts = [rows]
    if len(rows) < len(table) and len(rows) >= _FEWEST_ROWS:
        parts = np.array_split(np.random.default_rng(0).permutation(rows), _PARTS)
    options: dict[str, Any] = {"measure": "permutation", "features": features, "random_state": 0}
    tables = [
        importance_cloud(every, take_rows(table, part), y[part], n_repeats=repeats, **options)
        for part in parts
    ]
    values = np.array([part_table.to_numpy() for part_table in tables])
    values = values / _unit(models)
    table_of_means = pd.DataFrame(values.mean(axis=0), tables[0].index, tables[0].columns)
    if len(parts) > 1:
        table_of_means.attrs["margin"] = _SURE * values.std(axis=0, ddof=1) / np.sqrt(_PARTS)
    read = f"{len(rows):,} of {len(table):,} rows read"
    table_of_means.attrs["rows"] = f"all {len(table):,} rows" if len(rows) == len(table) else read
    return table_of_means


def _unit(models: Any) -> float:
    """Squared loss of the targets for a loss of 1 of the set, whose targets are scaled to ±1."""
    is_scaled = isinstance(models, RashomonSet) and models.task == "regression"
    return float(np.diff(models.target_bounds)[0] / 2) ** 2 if is_scaled else 1.0


def _with_best(models: Any) -> Any:
    if (trees := find_trees(models)) is not None:
        best = replace(models, models=models.reference, losses=np.zeros(1), names=("best",))
        every: Any = replace(trees, trees=(*trees.trees, *best.decision_trees.trees))
    elif isinstance(models, PredictorSet) and isinstance(models.models, FittedModels):
        best, one_fit = getattr(models.reference, "estimators", ()), models.models.one_fit_each()
        every = replace(one_fit, estimators=(*one_fit.estimators, *best))
    elif isinstance(models, NetworkSet):
        reference: Any = models.reference
        both = np.vstack([models.parameters, reference.theta])
        every = replace(models.models, theta=both)
        models = replace(models, released_losses=np.append(models.released_losses, np.nan))
    else:
        losses = np.append(models.losses, models.minimum.value)
        return replace(models, coef=np.vstack([models.coef, models.best]), losses=losses)
    names, losses = (*models.names, "best"), np.append(models.losses, models.least)
    return replace(models, models=every, losses=losses, names=names)


def importance_ranges(found: pd.DataFrame) -> pd.DataFrame:
    """Summarise the result of :func:`importances`, with the best model in a separate column."""
    every = found.to_numpy()
    table = importance_spread(every[:-1], list(found.columns))
    table["best"] = every[-1]
    if "margin" in found.attrs:  # of a sample of the rows
        table["best ±"] = found.attrs["margin"][-1]
    return table


def plot_importance(
    models: RashomonSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    max_rows: int | None = None,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the importance of each feature to the models of the set.

    Parameters
    ----------
    models : RashomonSet, or PredictorSet of decision trees
        Draws (curator only); only those inside the set count.
    X : array-like of shape (n_rows, n_features)
        Private rows, scaled as for fitting the draws.
    y : array-like of shape (n_rows,)
        Targets, as passed to the estimator.
    features : sequence, mapping or "columns", optional
        Features or groups of features, see ``measures.feature_groups``; by default each feature,
        with the columns of one category together.
    max_rows : int, optional
        Maximum number of rows; by default so many that they take about a second. A larger table
        is subsampled: the figure then states so and has 95 % intervals.
    highlight : sequence of int
        Row numbers of draws to mark with rings; those outside the set are not shown.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per feature: range, 5–95 % range and median over the draws inside the set; a
        message if there are none.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, because importances are computed from private rows.
    """
    models, X = set_and_rows(models, X)
    models = text.need_curator(models, "plot_importance")
    if text.models_within_psi(models).is_empty:
        return text.empty_set_figure(_IMPORTANCES_TITLE, models)
    values = importances(models, X, y, features=features, max_rows=max_rows)
    return importance_figure(models, values, highlight)


def importance_figure(models: Any, found: pd.DataFrame, highlight: Sequence[int] = ()) -> go.Figure:
    """Plot the result of :func:`importances` for the models inside ψ, at least one."""
    counts, table = text.models_within_psi(models), importance_ranges(found)
    title = _importances_finding(found.iloc[:-1])
    unit = "loss increase when shuffled"
    notes = counts.words, found.attrs["rows"], _unclear(found)
    figure = marks.range_bars(table, title, unit, *notes, over=counts.span)
    if "best ±" in table:  # the 95 % interval of the best model, from a sample of the rows
        rows = table.loc[figure.layout.meta["features"]]
        best, half = rows["best"].to_numpy(float), rows["best ±"].to_numpy(float)
        error = marks.whiskers(best, best - half, best + half, 1.5)
        look = {"marker": {"size": 1, "color": theme.GREY}, "error_x": error}
        at, name = best.astype(np.float32), "95 % interval of the best model"
        marks.add_marks(figure, at, np.arange(len(best)), name, **look)
    marks.ring(figure, table, found.to_numpy()[counts.highlighted(highlight)])
    return text.models_band(figure, models)


def _unclear(found: pd.DataFrame) -> str:
    """Count the models whose two most important features a sample of rows does not order."""
    margin = found.attrs.get("margin")
    if margin is None or found.shape[1] < 2:
        return ""
    values = found.to_numpy()[:-1]
    order = np.argsort(-values, axis=1, kind="stable")[:, :2]
    first, second = np.take_along_axis(values, order, 1).T
    unclear = int((first - second < np.hypot(*np.take_along_axis(margin[:-1], order, 1).T)).sum())
    return f"{text.plural(unclear, 'model')} too close to order" if unclear else ""


def _importances_finding(values: pd.DataFrame) -> str:
    """State the most important features, with ties, and the share of models that agree."""
    top = values.to_numpy() == values.max(axis=1).to_numpy()[:, None]
    counts = pd.Series(top.sum(axis=0), index=values.columns).sort_values(
        ascending=False, kind="stable"
    )
    counts = counts[counts > 0]
    tied = counts.index[counts == counts.iloc[0]]
    names = [text.short_name(str(name)) for name in tied[:_MOST_TIED]]
    more = len(tied) - len(names)
    listed = ", ".join(names) + f" and {more} more" * (more > 0)
    if len(names) > 1 and not more:
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
    if counts.iloc[0] == len(values):
        return f"Every model relies most on {listed}{' alike' * (len(tied) > 1)}"
    share, n_others = text.percent(counts.iloc[0] / len(values)), len(counts) - len(tied)
    rest = f", the rest on {n_others} other{'s' * (n_others > 1)}" if n_others else ""
    if len(tied) > 1:
        return f"{listed} tie: each is first for {share} of models{rest}"
    return f"{share} of models rely most on {listed}{rest}"


_MOST_TIED = 3


def importance_table(models: RashomonSet, X: ArrayLike, y: ArrayLike) -> pd.DataFrame:
    """Tabulate the spread of the permutation importance of every feature."""
    return importance_ranges(importances(models, X, y))


RESAMPLED_ROWS = 1_000
RESAMPLED_TABLES, MODELS_OF_A_TABLE = 8, 48


def resampled_importance(models: Any, X: Any, y: Any) -> ImportanceDistribution:
    """Rashomon importance distribution of resampled tables, on at most 1,000 of the rows."""
    models, X = set_and_rows(models, X)
    rows = text.sample_rows(len(X), RESAMPLED_ROWS)
    X, y = take_rows(X, rows), take_rows(y, rows)
    options: dict[str, Any] = {
        "psi": models.psi,
        "n_bootstraps": RESAMPLED_TABLES,
        "n_models": MODELS_OF_A_TABLE,
        "random_state": 0,
    }
    if (trees := find_trees(models)) is not None:
        X = trees.rows(X)
        return rid(
            partial(counted_like, models), X, y, feature_names=trees.feature_names, **options
        )
    names = models.feature_names[:-1]
    groups = {name: list(columns) for name, columns in models.feature_groups.items()}
    grouped = {column for columns in groups.values() for column in columns}
    features = {name: [name] for name in names if name not in grouped} | groups
    problem = partial(set_problem, models, resampled=True)
    return rid(problem, X, y, features=features, feature_names=names, **options)


def importance_quantiles(distribution: ImportanceDistribution) -> pd.DataFrame:
    """Mean and quantiles of a Rashomon importance distribution, the most important first."""
    levels = {"5 %": 0.05, "median": 0.5, "95 %": 0.95}
    table = pd.DataFrame({name: distribution.quantile(level) for name, level in levels.items()})
    table.insert(0, "mean", distribution.mean())
    return table.rename_axis(index="feature").sort_values("mean", ascending=False)


_PAIR_TITLE = "Importance of two features, one dot per model"
_TRADED, _TOGETHER = -0.5, 0.5


def plot_importance_pair(
    models: Any,
    cloud: pd.DataFrame,
    x: str | None = None,
    y: str | None = None,
    *,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the importances of two features over the set (Dong and Rudin 2020).

    Parameters
    ----------
    models : RashomonSet
        Draws with their losses (curator only); only those inside the set are shown.
    cloud : pandas.DataFrame
        Importances of all these models, from ``measures.importance_cloud``: one row per model, one
        column per feature.
    x, y : str, optional
        Two of its columns; by default the two that vary most.
    highlight : sequence of int
        Row numbers of models to mark with rings; the others fade.

    Returns
    -------
    plotly.graph_objects.Figure
        One dot per model inside, coloured by excess loss; the title states whether one feature can
        replace the other. A message if no model lies inside.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, because importances are computed from private rows.
    ValueError
        If the cloud has only one feature, or not one row per model.
    """
    models = text.need_curator(models, "plot_importance_pair")
    counts = text.models_within_psi(models)
    if counts.is_empty:
        return text.empty_set_figure(_PAIR_TITLE, models)
    if len(cloud) != models.n_draws or cloud.shape[1] < 2:
        raise ValueError(
            f"cloud must have two features or more for each of {models.n_draws} models, got shape "
            f"{cloud.shape}"
        )
    widths = (cloud.max() - cloud.min()).to_numpy()
    widest = [str(cloud.columns[column]) for column in np.argsort(-widths, kind="stable")[:2]]
    first, second = x or widest[0], y or widest[1]
    pair = cloud.iloc[counts.indices][[first, second]]
    positions, note = text.subsample_points(len(pair))
    names = text.short_name(first), text.short_name(second)
    title, correlation = _PAIR_TITLE, ""
    if len(pair) > 2 and first != second:
        rank = float(importance_tradeoffs(pair).to_numpy()[0, 1])
        correlation = f"rank correlation {text.number(rank, 2)}"
        title = _pair_finding(rank, *names)
    figure = theme.new_figure(title, text.join_notes(counts.words, correlation, note))
    draws = counts.indices[positions]
    across, up = pair.iloc[positions].to_numpy(np.float32).T
    excess = np.asarray(counts.models.excess, dtype=np.float32)[positions]
    psi = float(counts.models.psi)
    top = max(float(excess.max(initial=0.0)), psi if np.isfinite(psi) else 0.0)
    size = 5 if len(positions) > marks.MANY else 8
    marker = text.selection_look(text.selection_mask(draws, highlight), size)
    hover = "%{x:.4g}, %{y:.4g}"
    figure.add_trace(marks.excess_dots(across, up, draws, excess, top, hover, **marker))
    figure.update_layout(
        xaxis={"title": f"importance of {names[0]}", "zeroline": True},
        yaxis={"title": f"importance of {names[1]}", "zeroline": True},
        showlegend=False,
        uirevision=f"{first},{second}",
    )
    return text.models_band(figure, models)


def model_importances(
    models: RashomonSet,
    X: ArrayLike,
    targets: ArrayLike,
    *,
    measure: str = "shap",
    features: Features = None,
) -> pd.DataFrame:
    """Return the importance of every feature to every model; permutations have a fixed seed."""
    options: dict[str, Any] = {"random_state": 0} if measure == "permutation" else {}
    cloud = importance_cloud(models, X, targets, measure=measure, features=features, **options)
    return cloud if measure == "shap" else cloud / _unit(models)


def _pair_finding(rank: float, first: str, second: str) -> str:
    if np.isnan(rank):
        return _PAIR_TITLE
    if rank <= _TRADED:
        return f"Models that rely less on {first} rely more on {second}"
    if rank >= _TOGETHER:
        return f"Models that rely more on {first} rely more on {second} too"
    return f"Reliance on {first} is not clearly related to reliance on {second}"


FIGURES = (
    registry.FigureSpec(
        name="importance",
        title="How much the models rely on each feature",
        short="Importance",
        label="Ranges over the draws inside the set, one row per feature",
        definition=(
            "Permutation importance: the rise of the loss when one feature is shuffled between "
            "people, over the models within ψ; the columns of one category are shuffled together. "
            "All rows count if a second is enough; for a sample, × has its 95 % interval."
        ),
        terms=("importance", "coefficient"),
        measure=importances,
        result="found",
        plot=importance_figure,
        table=importance_ranges,
        code=plot_importance,
        families=("linear", "trees", "other"),
        needs=("models", "selection", "people", "rows", "targets", "inside"),
        marks=("sampled",),
        slow=True,
        of_people=True,
    ),
    registry.on_demand_figure(
        name="class_reliance",
        title="Which features can a good model do without?",
        short="Exact reliance",
        label="Certified range of model reliance over all models within ψ, one row per feature",
        definition=(
            "Model class reliance (Fisher, Rudin and Dominici 2019): the least and the greatest "
            "rise of the loss, over all models within ψ, when a feature is switched between "
            "people. Each end is a bracket: <b>dark</b>, attained by some model; <b>light</b>, a "
            "proved bound for all. Reliance 0: a good model can ignore the feature. All rows are "
            "used, regardless of the selection."
        ),
        plot=plot_class_reliance,
        table=lambda table: table,
        families=registry.LINEAR,
        needs=("models", "rows", "targets", "exact"),
        marks=("exact",),
        of_people=True,
    ),
    registry.on_demand_figure(
        name="importance_distribution",
        title="Does importance survive another sample of people?",
        short="Resampled importance",
        label="Distribution of feature importance over good models of resampled tables",
        definition=(
            "Rashomon importance distribution (Donnelly, Katta, Rudin and Browne 2023): the table "
            f"is resampled {RESAMPLED_TABLES} times with replacement. For each, "
            f"{MODELS_OF_A_TABLE} models within ψ are drawn by hit-and-run (trees: uniformly from "
            "all counted trees of the same class), and their reliance on each feature is "
            "measured. RID<sub>j</sub>(k) is the mean share of models with importance at most k: "
            "a steep curve is a stable importance. Nothing is charged: these draws are not "
            "private."
        ),
        measure=resampled_importance,
        result="distribution",
        plot=plot_importance_distribution,
        table=importance_quantiles,
        families=("linear", "trees"),
        needs=("models", "people", "rows", "targets"),
        of_people=True,
    ),
    registry.on_demand_figure(
        name="importance_cloud",
        title="Importance of two features, one dot per model",
        short="Two features",
        label="Scatter plot of two features' importances over the models inside the set",
        definition=(
            "The importance of two features to each model within ψ (variable importance cloud, "
            "Dong and Rudin 2020). <b>SHAP</b>: mean over people of "
            "|θ<sub>j</sub>(x<sub>j</sub> − mean)|; <b>switching</b>: rise of the loss when the "
            "feature is switched between people; <b>shuffling</b>: rise of the loss when its "
            "column is shuffled. The cloud of the draws is a sample of that of the set."
        ),
        measure=model_importances,
        result="cloud",
        plot=plot_importance_pair,
        table=lambda cloud: cloud,
        families=registry.LINEAR,
        needs=("models", "selection", "people", "rows", "targets"),
        selects="models",
        of_people=True,
    ),
)
