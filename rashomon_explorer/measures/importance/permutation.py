"""Permutation importance."""

from collections.abc import Mapping, Sequence
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
from rashomon_explorer.measures.reliance import set_reliance
from rashomon_explorer.measures.reliance.pair_losses import row_losses
from rashomon_explorer.sets import PredictorSet
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
