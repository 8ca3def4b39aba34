"""Reliance on what a feature adds to the others."""

from dataclasses import replace

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
from rashomon_explorer.progress import progress
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet


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
    task = LinearTask.of(models, X, y, loss)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
    tables = [
        reliance_table(_with_residuals(task, columns), {name: columns}, form)
        for name, columns in progress(groups.items(), "conditional reliance")
    ]
    return pd.concat(tables, axis=1)


def reliance_within(
    models: RashomonSet | ReleasedSet,
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
        As for :func:`model_reliance`.
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
    task = LinearTask.of(models, X, y, loss)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
    labels = np.asarray(strata)
    if labels.shape != task.targets.shape:
        raise ValueError(f"strata must have shape {task.targets.shape}, got {labels.shape}")
    levels, sizes = np.unique(labels, return_counts=True)
    if sizes.min() < 2:
        alone = levels[sizes.argmin()]
        raise ValueError(f"stratum {alone!r} has one row, and switching needs two: merge strata")
    total = sum(
        size / len(labels) * reliance_table(_rows(task, labels == level), groups)
        for level, size in zip(levels, sizes, strict=True)
    )
    return in_form(form, total, original_loss(task))


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
