"""Reliance over independent draws: the mean with an interval, and extremes that are attained."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.measures.confidence_sequence import ConfidenceSequence
from rashomon_explorer.measures.features import Features
from rashomon_explorer.measures.reliance.model_reliance import model_reliance
from rashomon_explorer.measures.reliance.tree_reliance import trees_of


def reliance_over_draws(
    models: object,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """How much drawn trees rely on each feature, or group of columns.  Curator: not private.

    The mean over the law that the trees were drawn from, such as all within ψ alike, with an
    interval that holds whenever one looks; and the least and the most of the drawn ones, which
    are attained: the whole set relies at most as little and at least as much.

    Parameters
    ----------
    models : PredictorSet
        Independent draws of trees: ``CountedTrees.draw(...)``, or of ``RashomonTreeClassifier``.
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    features : sequence, mapping or "columns", optional
        Which columns are one feature, see :func:`feature_groups`.
    confidence : float, default=0.95
        Of each feature's interval by itself.

    Returns
    -------
    pandas.DataFrame
        A row a feature: ``mean``, ``low``, ``high``, ``least``, ``most``, and the draws
        ``draw_least`` and ``draw_most`` that attain them.

    Raises
    ------
    TypeError
        If the models are not independent draws of trees.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> X, y = [[0, 1], [1, 1], [0, 0], [1, 0]] * 25, [0, 1, 0, 1] * 25
    >>> counted = CountedTrees(X, y, max_leaves=3)
    >>> draws = counted.draw(50, psi=0.0, random_state=0)
    >>> reliance_over_draws(draws, X, y)[["mean", "least", "most"]].round(2).rename_axis(None)
        mean  least  most
    x0  0.51   0.51  0.51
    x1  0.00   0.00  0.00
    """
    if trees_of(models) is None or not getattr(models, "independent", True):
        raise TypeError(
            "intervals need independent draws of trees, as CountedTrees.draw or "
            f"RashomonTreeClassifier makes them, got {type(models).__name__}"
        )
    table = model_reliance(models, X, y, features=features)
    rows = {}
    for name, values in table.items():
        sequence = ConfidenceSequence(confidence, (-1.0, 1.0))
        sequence.update(values.to_numpy())
        low, high = int(np.argmin(values)), int(np.argmax(values))
        rows[name] = {
            "mean": float(values.mean()),
            "low": sequence.low,
            "high": sequence.high,
            "least": float(values.iloc[low]),
            "most": float(values.iloc[high]),
            "draw_least": low,
            "draw_most": high,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("feature")
