"""Permutation importance, conditional reliance, and importance clouds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.containers import column_labels
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.measures import inputs
from rashomon_explorer.measures.importance.shap import shap_importance
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.reliance import set_reliance
from rashomon_explorer.measures.reliance.pair_losses import row_losses
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import PredictorSet, RashomonSet, ReleasedSet
from rashomon_explorer.sets.models.fitted import FittedModels
from rashomon_explorer.sets.models.trees import DecisionTrees, tree_columns
from rashomon_explorer.sets.predictions import ROW_LOSSES
from rashomon_explorer.sets.predictions import row_losses as predicted_losses


class _Arrays:
    """Models, and rows as an array, whose columns are shuffled."""

    models: Any
    rows: Any

    def using(self, columns: inputs.Columns) -> inputs.Columns:
        """Models that use some columns: all."""
        return np.arange(self.models.n_draws)

    def shuffled(self, order: inputs.Columns, columns: inputs.Columns) -> Any:
        """Rows with some columns in another order."""
        rows = self.rows.copy()
        rows[:, columns] = self.rows[np.ix_(order, columns)]
        return rows


class _LinearModels(_Arrays):
    """Losses of linear models on rows with targets."""

    def __init__(self, models: Any, X: ArrayLike, y: ArrayLike) -> None:
        models = set_reliance.linear_models(models)
        self.models, self.names = models, models.feature_names[:-1]
        self.rows, self.targets = set_reliance.checked_rows(models, X, y)
        self.groups: Mapping[str, Sequence[str]] | None = models.feature_groups

    def losses(self, rows: FloatArray, members: inputs.Columns) -> FloatArray:
        """Mean loss of all models on the rows."""
        models = self.models
        # From margins, because 1 − p loses a small p to rounding.
        scores = models.scores(rows) if models.task == "regression" else models.margins(rows)
        each = scores[..., 1:] if models.link == "softmax" else scores[..., None]
        return row_losses(set_reliance.LOSS_OF_LINK[models.link], each, self.targets).mean(axis=1)


class _Predictors(_Arrays):
    """Losses of any models that predict, on rows in the form that they take."""

    groups = None

    def __init__(self, models: PredictorSet, X: Any, y: ArrayLike) -> None:
        one_fit_each = models.models.one_fit_each()  # type: ignore[union-attr]  # fitted models
        self.models, self.targets = replace(models, models=one_fit_each), y
        self.rows: Any = X if hasattr(X, "iloc") else np.asarray(X)
        labels = column_labels(self.rows)
        self.names = [f"x{j}" for j in range(self.rows.shape[1])] if labels is None else labels

    def losses(self, rows: Any, members: inputs.Columns) -> FloatArray:
        """Mean loss of all models: log loss, share of wrong labels, or half the squared error."""
        predictors = self.models
        scores, certain = predictors.scores(rows), getattr(predictors.models, "certain", False)
        loss = predictors.loss if predictors.loss in ROW_LOSSES else None
        return predicted_losses(
            scores, self.targets, classes=predictors.classes, loss=loss, certain=certain
        )[0].mean(axis=1)

    def shuffled(self, order: inputs.Columns, columns: inputs.Columns) -> Any:
        """Rows with some columns in another order."""
        if not hasattr(self.rows, "iloc"):
            return super().shuffled(order, columns)
        rows = self.rows.copy()
        for column in columns:
            moved = self.rows.iloc[order, column]
            rows[rows.columns[column]] = moved.set_axis(rows.index)
        return rows


class _Trees(_Arrays):
    """Losses of trees on rows with labels."""

    def __init__(self, models: Any, X: ArrayLike, y: ArrayLike) -> None:
        self.task, self.groups = set_reliance.TreeTask.from_models(models, X, y), None
        self.rows, self.names = self.task.rows, self.task.names
        self.columns = [tree_columns(tree) for tree in self.task.trees.trees]

    def losses(self, rows: FloatArray, members: inputs.Columns) -> FloatArray:
        """Share of rows that each of some trees labels wrongly."""
        labels = self.task.trees.take(members).labels(rows)
        return np.asarray((labels != self.task.targets).mean(axis=1))

    def using(self, columns: inputs.Columns) -> inputs.Columns:
        """Trees that ask about some of the columns."""
        moved = set(columns.tolist())
        return np.array([k for k, used in enumerate(self.columns) if used & moved], dtype=np.intp)


@inputs.by_index
def permutation_importance(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: inputs.Features = None,
    n_repeats: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Increase of each model's loss when one feature is shuffled between rows.

    The loss is the log loss (nats per row) for classification, the share of wrong labels for
    models without probabilities (a sign link, trees), and half the mean squared error for
    regression. For fitted models the columns of the table that they take are shuffled. All models
    share the same shuffles and are comparable. The mean over all shuffles is (n − 1)/n of
    :func:`model_reliance` if no shuffled row is longer than the row norm. Results on private rows
    are not private.

    Parameters
    ----------
    models, X, y, features
        As for :func:`model_reliance`; a set of any models, without problems.
    n_repeats : int, default=5
        Number of shuffles to average over.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of shape (n_draws, n_groups)
        Importances in units of the loss.

    Raises
    ------
    TypeError
        If the set holds only predictions.
    ValueError
        If a shape is wrong, a label is not one of the classes, a feature is unknown, or
        ``n_repeats`` is below 1.
    """
    table = permutation_table(
        models, X, y, features=features, n_repeats=n_repeats, random_state=random_state
    )
    return table.to_numpy()


@inputs.by_index
def permutation_table(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: inputs.Features = None,
    n_repeats: int = 5,
    random_state: int | np.random.RandomState | None = None,
) -> pd.DataFrame:
    """Table of :func:`permutation_importance` with one column per group."""
    check_count(n_repeats=n_repeats)
    models, X = inputs.set_and_rows(models, X)
    predictors = getattr(models, "models", None)
    kind = _Predictors if isinstance(predictors, FittedModels) else _LinearModels
    task: Any = (_Trees if isinstance(predictors, DecisionTrees) else kind)(models, X, y)
    groups = inputs.feature_groups(features, task.names, task.groups)
    using = {name: task.using(columns) for name, columns in groups.items()}
    rng = check_random_state(random_state)
    every = np.arange(len(models))
    before = task.losses(task.rows, every)
    rise = np.zeros((len(every), len(groups)))
    for _ in progress(range(n_repeats), "permutation importance"):
        order = rng.permutation(len(task.rows))
        for group, (name, columns) in enumerate(groups.items()):
            if not len(using[name]):
                continue
            after = task.losses(task.shuffled(order, columns), using[name])
            rise[using[name], group] += after - before[using[name]]
    table = pd.DataFrame(rise / n_repeats, columns=list(groups))
    return table.rename_axis(index="model", columns="feature")


@inputs.by_index
def conditional_reliance(
    models: RashomonSet | ReleasedSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: inputs.Features = None,
    form: set_reliance.Form = "difference",
    loss: str | None = None,
) -> pd.DataFrame:
    """Model reliance when only the part unexplained by other features is switched.

    The features S of row i become x̂_{i,S} + (x_{j,S} − x̂_{j,S}), where x̂_S is the least-squares
    fit of x_S by all other features and a constant: the residual is switched, the fit is kept
    (Fisher, Rudin and Dominici 2019, §3.2, with imputation by a linear model). A feature that is
    determined by the others has no conditional reliance, regardless of its coefficients. Switched
    rows may be impossible: a residual is moved without regard to the other features. This is
    valid if it is independent of them, as only its mean is modelled. Within strata of a category
    use :func:`reliance_within`. Results on private rows are not private.

    Parameters
    ----------
    models, X, y, features, form, loss
        As for :func:`model_reliance`.

    Returns
    -------
    pandas.DataFrame
        One row per draw, one column per group.

    Raises
    ------
    TypeError
        If the models are not linear.
    ValueError
        As :func:`model_reliance`.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X = [[0.6, 0.6], [0.4, 0.4], [-0.5, -0.5], [-0.3, -0.3]] * 50
    >>> y = [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(epsilon=200, random_state=0).fit(X, y).rashomon_set_
    >>> bool((conditional_reliance(models, X, y).abs() < 1e-9).all(axis=None))  # equal columns
    True
    """
    models, X = inputs.set_and_rows(models, X)
    if set_reliance.find_trees(models) is not None:
        raise TypeError(
            "conditional reliance is not defined for trees: a linear fit cannot be subtracted from "
            "the answer to a question. Use reliance_within(models, X, y, strata), which "
            "switches a feature between rows of one stratum, or model_reliance, between "
            "all rows"
        )
    models = set_reliance.linear_models(models)
    task = set_reliance.LinearTask.from_models(models, X, y, loss)
    groups = inputs.feature_groups(features, models.feature_names[:-1], models.feature_groups)
    tables = [
        set_reliance.reliance_table(_with_residuals(task, columns), {name: columns}, form)
        for name, columns in progress(groups.items(), "conditional reliance")
    ]
    return pd.concat(tables, axis=1)


@inputs.by_index
def reliance_within(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    strata: ArrayLike,
    *,
    features: inputs.Features = None,
    form: set_reliance.Form = "difference",
    loss: str | None = None,
) -> pd.DataFrame:
    """Model reliance when features are switched only between rows of one stratum.

    e_switch is Σ_s (n_s/n)·e_switch within stratum s (Fisher, Rudin and Dominici 2019, §3.2, with
    weights). Results on private rows are not private.

    Parameters
    ----------
    models, X, y, features, form, loss
        As for :func:`model_reliance`; linear models, or a set of decision trees.
    strata : array-like of shape (n_rows,)
        Label of each row's stratum; every stratum needs at least two rows.

    Returns
    -------
    pandas.DataFrame
        One row per draw, one column per group.

    Raises
    ------
    ValueError
        As :func:`model_reliance`, and if a stratum has fewer than two rows.
    """
    task: Any
    task, names, own_groups = set_reliance.reliance_task(models, X, y, loss)
    groups = inputs.feature_groups(features, names, own_groups)
    labels, n_rows = np.asarray(strata), len(task.targets)
    if labels.shape != (n_rows,):
        raise ValueError(f"strata must have shape {(n_rows,)}, got {labels.shape}")
    levels, sizes = np.unique(labels, return_counts=True)
    if sizes.min() < 2:
        level = levels[sizes.argmin()]
        raise ValueError(f"stratum {level!r} has one row, but switching needs two: merge strata")
    rise: Any = 0.0
    before: Any = 0.0
    for level, share in zip(levels, sizes / n_rows, strict=True):
        mask = labels == level
        part = replace(task, rows=task.rows[mask], targets=task.targets[mask])
        rise_within, before_within = set_reliance.reliance_rises(part, groups)
        rise, before = rise + share * rise_within, before + share * before_within
    return set_reliance.in_form(form, rise, before)


def _with_residuals(
    task: set_reliance.LinearTask, columns: inputs.Columns
) -> set_reliance.LinearTask:
    """Task with residuals in the columns S, and coefficients that keep the scores the same."""
    rest = np.setdiff1d(np.arange(task.rows.shape[1]), columns)
    fit, *_ = np.linalg.lstsq(task.rows[:, rest], task.rows[:, columns], rcond=None)
    rows, coef = task.rows.copy(), task.coef.copy()
    rows[:, columns] -= task.rows[:, rest] @ fit
    coef[:, :, rest] += task.coef[:, :, columns] @ fit.T
    return replace(task, rows=rows, coef=coef)


IMPORTANCES: dict[str, Callable[..., pd.DataFrame]] = {
    "reliance": set_reliance.model_reliance,
    "conditional": conditional_reliance,
    "permutation": permutation_table,
    "shap": lambda models, X, y, **options: shap_importance(models, X, **options),
}
"""Importances by name: functions of models, X, y, features and their own options."""


@inputs.by_index
def importance_cloud(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    measure: str = "reliance",
    features: inputs.Features = None,
    **options: Any,
) -> pd.DataFrame:
    """Variable importance cloud: the importance of every feature to every model.

    {(MR_1(f), …, MR_p(f)) : f in the set} of Dong and Rudin (Exploring the cloud of variable
    importance for the set of all good models, Nature Machine Intelligence 2020). Its
    projection onto two columns is drawn by ``plots.plot_importance_pair``.
    Draws give a sample of the cloud, whose extent is a lower bound. Results on private rows are
    not private.

    Parameters
    ----------
    models, X, y, features
        As for :func:`model_reliance`; ``"conditional"`` importance is not available for trees.
    measure : {"reliance", "conditional", "permutation", "shap"}, default="reliance"
    **options
        Passed to the measure, such as ``form="ratio"`` or ``random_state=0``.

    Returns
    -------
    pandas.DataFrame
        One row per draw, one column per group.
    """
    if measure not in IMPORTANCES:
        raise ValueError(f"measure must be one of {list(IMPORTANCES)}, got {measure!r}")
    if isinstance(models, Problem | PenalisedProblem):
        raise TypeError(
            f"models must be a set of models, got a {type(models).__name__}, which has no "
            "draws: pass RashomonClassifier(...).fit(X, y).rashomon_set_, or use "
            "model_class_reliance(problem) for the range over all good models"
        )
    return IMPORTANCES[measure](models, X, y, features=features, **options)


def importance_tradeoffs(cloud: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation over the models of every pair of features' importances.

    Near −1, models that rely less on one feature rely more on the other, so the two can
    substitute for each other. Spearman's correlation with mean ranks for ties.

    Parameters
    ----------
    cloud : pandas.DataFrame
        One row per model, at least three; one column per feature.

    Returns
    -------
    pandas.DataFrame
        Square matrix; NaN for a feature that is equally important to every model.

    Examples
    --------
    >>> cloud = pd.DataFrame({"age": [0.1, 0.2, 0.4], "years": [0.5, 0.3, 0.2]})
    >>> float(importance_tradeoffs(cloud).loc["age", "years"])
    -1.0
    """
    if len(cloud) < 3:
        raise ValueError(f"a correlation needs at least three models, got {len(cloud)}")
    numbers = cloud.map(pd.api.types.is_number)
    if not (numbers & cloud.notna()).all(axis=None):
        raise ValueError("cloud must hold a finite number for every model and feature")
    return cloud.rank().corr()
