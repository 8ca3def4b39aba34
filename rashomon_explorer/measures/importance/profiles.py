"""Coefficients and partial dependence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.measures import inputs

if TYPE_CHECKING:
    from rashomon_explorer.sets import RashomonSet, ReleasedSet

_QUANTILES = {"min": 0.0, "q05": 0.05, "median": 0.5, "q95": 0.95, "max": 1.0}


def coefficient_spread(models: RashomonSet | ReleasedSet) -> pd.DataFrame:
    """Spread of each coefficient over the draws.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet

    Returns
    -------
    pandas.DataFrame
        One row per parameter, named by ``models.parameter_names``: columns min, q05, median, q95,
        max, and, for a curator's set, best: that of the certified best model.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(epsilon=200.0, random_state=0).fit(X, y).rashomon_set_
    >>> list(coefficient_spread(models).columns)
    ['min', 'q05', 'median', 'q95', 'max', 'best']
    """
    # Local import: spreads of arrays need no set.
    from rashomon_explorer.measures.reliance.set_reliance import linear_models

    models = linear_models(inputs.fitted_set(models))
    table = importance_spread(models.coef, models.parameter_names)
    if hasattr(models, "best"):
        table["best"] = models.best
    return table


def importance_spread(importances: ArrayLike, feature_names: Sequence[str]) -> pd.DataFrame:
    """Spread over the models of each feature's importance.

    Parameters
    ----------
    importances : array-like of shape (n_models, n_features)
    feature_names : sequence of str of length n_features

    Returns
    -------
    pandas.DataFrame
        One row per feature: columns min, q05, median, q95, max.

    Examples
    --------
    >>> importance_spread([[0.1, 0.5], [0.3, 0.4]], ["age", "income"]).loc["age", "max"]
    np.float64(0.3)
    """
    values = inputs.as_models_by_rows(importances, "importances")
    if len(feature_names) != values.shape[1]:
        raise ValueError(f"{len(feature_names)} names for {values.shape[1]} features")
    columns = {name: np.quantile(values, level, axis=0) for name, level in _QUANTILES.items()}
    return pd.DataFrame(columns, index=pd.Index(feature_names, name="feature"))


def partial_dependence(
    models: Any,
    X: Any,
    feature: Any,
    *,
    grid: Sequence[Any] | None = None,
    transform: Callable[[Any], Any] | None = None,
    n_points: int = 20,
    of: int | None = None,
) -> pd.DataFrame:
    """Mean prediction of every model when one feature is set to a value in every row.

    PD_f(v) = (1/n) Σ_i f(x_i with x_ij = v) of Friedman (Greedy function approximation, Annals of
    Statistics 2001, §8.2). It also evaluates models on rows that do not occur; interpret it with
    care if features are dependent. Results on private rows are not private.

    Parameters
    ----------
    models : RashomonSet, PredictorSet or ReleasedSet
    X : DataFrame or array-like of shape (n_rows, n_columns)
        The table that the estimator took, or rows in the form that ``transform`` accepts.
    feature : str or int
        A column of ``X``.
    grid : sequence, optional
        Values to set; by default ``n_points`` from the smallest to the largest value of a numeric
        column, and every value of another column.
    transform : callable, optional
        Maps such rows to those of the models; a set with a schema and a pipeline have their own. A
        category of a raw table is set as a whole.
    n_points : int, default=20
    of : int, optional
        Index of the class whose probability is used, of several; by default the last.

    Returns
    -------
    pandas.DataFrame
        One row per model, one column per value.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=3, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> rises = partial_dependence(models, X, 0, grid=[-0.5, 0.5])
    >>> bool((rises[0.5] > rises[-0.5]).all())
    True
    """
    check_count(n_points=n_points)
    transform, models = transform or inputs.preprocessing(models), inputs.fitted_set(models)
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    if feature not in table.columns:
        raise ValueError(f"X has no column {feature!r}; its columns are {[*table.columns]}")
    if not len(table):
        raise ValueError("X must have at least one row")
    values = _values(table[feature], n_points) if grid is None else list(grid)
    if not values:
        raise ValueError("grid must hold at least one value")
    column = [*table.columns].index(feature)
    means = []
    for value in values:
        rows = table.copy()
        rows.isetitem(column, [value] * len(rows))
        rows = rows if transform is None else transform(rows)
        named = isinstance(X, pd.DataFrame) or transform is not None
        scores = models.scores(rows if named else rows.to_numpy())
        if scores.ndim == 3:
            scores = scores[..., -1 if of is None else of]
        means.append(scores.mean(axis=1))
    return pd.DataFrame(np.column_stack(means), columns=pd.Index(values, name=str(feature)))


def curve_band(
    curves: pd.DataFrame,
    models: Any,
    X: Any,
    feature: Any,
    *,
    transform: Callable[[Any], Any] | None,
    of: int | None = None,
) -> pd.DataFrame:
    """Band of the models' curves on some rows, with the best model's curve."""
    grid = list(curves.columns)
    band = importance_spread(curves.to_numpy(), grid)
    if hasattr(models, "best_scores"):
        best = SimpleNamespace(scores=lambda rows: models.best_scores(rows)[None])
        options: dict[str, Any] = {"grid": grid, "transform": transform, "of": of}
        band["best"] = partial_dependence(best, X, feature, **options).iloc[0]
    return band.rename_axis(index=str(feature))


def _values(column: pd.Series, n_points: int) -> list[Any]:
    present = column.dropna()
    if pd.api.types.is_numeric_dtype(present) and present.nunique() > n_points:
        return list(np.linspace(float(present.min()), float(present.max()), n_points))
    return sorted(present.unique().tolist(), key=lambda value: (str(type(value)), value))
