"""Spread over the models of their coefficients, or of any importance."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.measures.checks import as_models_by_rows
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet

_QUANTILES = {"min": 0.0, "q05": 0.05, "median": 0.5, "q95": 0.95, "max": 1.0}


def coefficient_spread(models: RashomonSet | ReleasedSet) -> pd.DataFrame:
    """Spread of each coefficient over the draws.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet

    Returns
    -------
    pandas.DataFrame
        One row a parameter, named by ``models.parameter_names``: columns min, q05, median, q95,
        max, and, for a curator's set, best: the certified best model's.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(epsilon=200.0, random_state=0).fit(X, y).rashomon_set_
    >>> list(coefficient_spread(models).columns)
    ['min', 'q05', 'median', 'q95', 'max', 'best']
    >>> list(coefficient_spread(models.release()).columns)
    ['min', 'q05', 'median', 'q95', 'max']
    """
    table = importance_spread(models.coef, models.parameter_names)
    if isinstance(models, RashomonSet):
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
        One row a feature: columns min, q05, median, q95, max.

    Raises
    ------
    ValueError
        If the lengths differ or a value is not finite.

    Examples
    --------
    >>> importance_spread([[0.1, 0.5], [0.3, 0.4]], ["age", "income"]).loc["age", "max"]
    np.float64(0.3)
    """
    values = as_models_by_rows(importances, "importances")
    if len(feature_names) != values.shape[1]:
        raise ValueError(f"{len(feature_names)} names for {values.shape[1]} features")
    columns = {name: np.quantile(values, level, axis=0) for name, level in _QUANTILES.items()}
    return pd.DataFrame(columns, index=pd.Index(feature_names, name="feature"))
