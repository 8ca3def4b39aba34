"""The variable importance cloud: every model's importances, side by side."""

from collections.abc import Callable
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.measures.features import Features
from rashomon_explorer.measures.importance.conditional import conditional_reliance
from rashomon_explorer.measures.importance.permutation import permutation_table
from rashomon_explorer.measures.importance.shap import shap_importance
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.reliance.model_reliance import model_reliance
from rashomon_explorer.problem import Problem


def _shap(models: Any, X: ArrayLike, y: ArrayLike, **options: Any) -> pd.DataFrame:
    return shap_importance(models, X, **options)


IMPORTANCES: dict[str, Callable[..., pd.DataFrame]] = {
    "reliance": model_reliance,
    "conditional": conditional_reliance,
    "permutation": permutation_table,
    "shap": _shap,
}
"""Importances by name: functions of models, X, y, features and options of their own."""


def importance_cloud(
    models: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    measure: str = "reliance",
    features: Features = None,
    **options: Any,
) -> pd.DataFrame:
    """Measure every feature's importance to every model: the variable importance cloud.

    {(MR_1(f), …, MR_p(f)) : f in the set} of Dong and Rudin (Exploring the cloud of variable
    importance for the set of all good models, Nature Machine Intelligence 2020). Its
    projections onto two columns are their diagram, drawn by ``plots.plot_importance_cloud``.
    Over draws it is a sample of the cloud, and its extent is a lower bound. Curator's, if
    evaluated on private rows.

    Parameters
    ----------
    models : RashomonSet, ReleasedSet, or a set of decision trees
        Trees have no ``"conditional"`` importance.
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    measure : {"reliance", "conditional", "permutation", "shap"}, default="reliance"
    features : sequence, mapping or "columns", optional
        Features or groups of them, see :func:`feature_groups`; by default each feature once,
        the columns of one category together.
    **options
        Passed to the measure, such as ``form="ratio"`` or ``random_state=0``.

    Returns
    -------
    pandas.DataFrame
        One row a draw, one column a group.

    Raises
    ------
    ValueError
        If the measure is unknown, or as the measure.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9, 0.1], [0.6, 0.2], [-0.7, 0.1], [-0.5, 0.2]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> importance_cloud(models, X, y).shape
    (5, 2)
    """
    if measure not in IMPORTANCES:
        raise ValueError(f"measure must be one of {list(IMPORTANCES)}, got {measure!r}")
    if isinstance(models, Problem | PenalisedProblem):
        raise TypeError(
            f"models must be a set of models, got a {type(models).__name__}, which is a loss "
            "without draws: give RashomonClassifier(...).fit(X, y).rashomon_set_, or take "
            "model_class_reliance(problem) for the range over all good models"
        )
    return IMPORTANCES[measure](models, X, y, features=features, **options)


def importance_tradeoffs(cloud: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation over the models of every two features' importances.

    Near −1, models that lean less on the one lean more on the other: each can stand in for the
    other. Spearman's, with mean ranks for ties.

    Parameters
    ----------
    cloud : pandas.DataFrame
        One row a model, one column a feature, of at least three models.

    Returns
    -------
    pandas.DataFrame
        Square; NaN for a feature that is equally important to every model.

    Raises
    ------
    ValueError
        If there are fewer than three models or a value is not finite.

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
        raise ValueError("cloud must hold a number for every model and feature")
    return cloud.rank().corr()
