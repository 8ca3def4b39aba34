"""Permutation importance, and importance clouds."""

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
from rashomon_explorer.sets import PredictorSet
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
) -> pd.DataFrame:
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
    pandas.DataFrame
        Importances in units of the loss: one row per model, one column per group.

    Raises
    ------
    TypeError
        If the set holds only predictions.
    ValueError
        If a shape is wrong, a label is not one of the classes, a feature is unknown, or
        ``n_repeats`` is below 1.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> table = permutation_importance(models, X, y, random_state=0)
    >>> table.shape, bool((table["x0"] > 0).all())
    ((5, 1), True)
    """
    check_count(n_repeats=n_repeats)
    models, X = inputs.set_and_rows(models, X)
    predictors = getattr(models, "models", None)
    kind = _Predictors if hasattr(predictors, "one_fit_each") else _LinearModels
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


IMPORTANCES: dict[str, Callable[..., pd.DataFrame]] = {
    "reliance": set_reliance.model_reliance,
    "permutation": permutation_importance,
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
        As for :func:`model_reliance`.
    measure : {"reliance", "permutation", "shap"}, default="reliance"
    **options
        Passed to the measure, such as ``form="ratio"`` or ``random_state=0``.

    Returns
    -------
    pandas.DataFrame
        One row per draw, one column per group.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> importance_cloud(models, X, y, measure="shap").shape
    (5, 1)
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
