"""Reliance on what a feature adds to the others."""

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import Mask
from rashomon_explorer.measures.evaluation import LinearTask
from rashomon_explorer.measures.features import Columns, Features, feature_groups
from rashomon_explorer.measures.reliance.model_reliance import (
    Form,
    in_form,
    original_loss,
    reliance_table,
)
from rashomon_explorer.measures.reliance.tree_reliance import (
    coded_rows,
    column_names,
    tree_reliance,
    trees_of,
)
from rashomon_explorer.progress import progress
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet
from rashomon_explorer.rashomon_set.models import DecisionTrees


def conditional_reliance(
    models: RashomonSet | ReleasedSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    form: Form = "difference",
    loss: str | None = None,
) -> pd.DataFrame:
    """Model reliance when only what the other features do not explain is switched.

    The features S of row i become x̂_{i,S} + (x_{j,S} − x̂_{j,S}), where x̂_S is the least-squares
    fit of x_S by all other features and a constant: the residual is switched, the fit stays
    (Fisher, Rudin and Dominici 2019, §3.2, with imputation by a linear model). A feature that the
    others determine has no conditional reliance, however large its coefficients. The switched
    rows need not be possible ones: a residual is moved whatever the rest of the row says, which
    is right if it is independent of the rest and only its mean was modelled. Within strata of a
    category use :func:`reliance_within`. Curator's, if evaluated on private rows.

    Parameters
    ----------
    models, X, y, features, form, loss
        As for :func:`model_reliance`.

    Returns
    -------
    pandas.DataFrame
        One row a draw, one column a group.

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
    >>> bool((conditional_reliance(models, X, y).abs() < 1e-9).all(axis=None))  # a twin is no news
    True
    """
    if trees_of(models) is not None:
        raise TypeError(
            "what other features explain of an answer to a question cannot be taken off it, so "
            "that trees have no conditional reliance: reliance_within(models, X, y, strata) "
            "switches a feature between rows that are alike in others, and model_reliance between "
            "all rows"
        )
    task = LinearTask.of(models, X, y, loss)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
    tables = [
        reliance_table(_with_residuals(task, columns), {name: columns}, form)
        for name, columns in progress(groups.items(), "conditional reliance")
    ]
    return pd.concat(tables, axis=1)


def reliance_within(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    strata: ArrayLike,
    *,
    features: Features = None,
    form: Form = "difference",
    loss: str | None = None,
) -> pd.DataFrame:
    """Model reliance when features are switched only between rows of one stratum.

    e_switch is Σ_s (n_s/n)·e_switch within stratum s (Fisher, Rudin and Dominici 2019, §3.2, with
    weights). Curator's, if evaluated on private rows.

    Parameters
    ----------
    models, X, y, features, form, loss
        As for :func:`model_reliance`; linear models, or a set of decision trees.
    strata : array-like of shape (n_rows,)
        Label of each row's stratum, of two rows or more.

    Returns
    -------
    pandas.DataFrame
        One row a draw, one column a group.

    Raises
    ------
    ValueError
        As :func:`model_reliance`, and if a stratum has fewer than two rows.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=3, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> reliance_within(models, X, y, strata=y).shape
    (3, 1)
    """
    if (trees := trees_of(models)) is not None:
        return _of_trees(trees, models, X, y, strata, features, form, loss)
    task = LinearTask.of(models, X, y, loss)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
    tables = [
        share * reliance_table(_rows(task, chosen), groups)
        for chosen, share in _strata(strata, len(task.targets))
    ]
    return in_form(form, reduce(add, tables), original_loss(task))


def _of_trees(
    trees: DecisionTrees,
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    strata: ArrayLike,
    features: Features,
    form: Form,
    loss: str | None,
) -> pd.DataFrame:
    if loss not in (None, "zero_one"):
        raise ValueError(f"loss must be 'zero_one' for trees, got {loss!r}")
    rows, codes = coded_rows(trees, models, X, y)
    groups = feature_groups(features, column_names(trees, rows))
    rises, before = [], np.zeros(len(trees))
    for chosen, share in _strata(strata, len(codes)):
        rise, own = tree_reliance(trees, rows[chosen], codes[chosen], groups)
        rises.append(share * rise)
        before += share * own
    return in_form(form, reduce(add, rises), before)


def _strata(strata: ArrayLike, n_rows: int) -> list[tuple[Mask, float]]:
    """Rows of each stratum, and its share of all."""
    labels = np.asarray(strata)
    if labels.shape != (n_rows,):
        raise ValueError(f"strata must have shape {(n_rows,)}, got {labels.shape}")
    levels, sizes = np.unique(labels, return_counts=True)
    if sizes.min() < 2:
        alone = levels[sizes.argmin()]
        raise ValueError(f"stratum {alone!r} has one row, and switching needs two: merge strata")
    return [(labels == level, size / n_rows) for level, size in zip(levels, sizes, strict=True)]


def _rows(task: LinearTask, chosen: Mask) -> LinearTask:
    return replace(task, rows=task.rows[chosen], targets=task.targets[chosen])


def _with_residuals(task: LinearTask, columns: Columns) -> LinearTask:
    """Rows whose columns S are residuals, and models that give them the same scores.

    θ_S·x_S + θ_R·x_R = θ_S·(x_S − Γᵀx_R) + (θ_R + Γθ_S)·x_R for the fit Γᵀx_R.
    """
    rest = np.setdiff1d(np.arange(task.rows.shape[1]), columns)
    fit, *_ = np.linalg.lstsq(task.rows[:, rest], task.rows[:, columns], rcond=None)
    rows, coef = task.rows.copy(), task.coef.copy()
    rows[:, columns] -= task.rows[:, rest] @ fit
    coef[:, :, rest] += task.coef[:, :, columns] @ fit.T
    return replace(task, rows=rows, coef=coef)
