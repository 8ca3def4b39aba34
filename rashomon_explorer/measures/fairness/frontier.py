"""What accuracy costs in fairness, and back: the models that no other beats at both."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray


def frontier(
    gaps: ArrayLike, *, accuracy: ArrayLike | None = None, losses: ArrayLike | None = None
) -> pd.DataFrame:
    """Models that no other beats in both accuracy (or loss) and group gap.

    A model is left out if another is at least as good at both and better at one. Over sampled
    models the frontier is an inner one: the set has models on it or beyond it. It is also an
    optimistic one: chosen on the rows on which it is shown (docs/measures.md).

    Parameters
    ----------
    gaps : array-like of shape (n_models,)
        Smaller is fairer; of a ratio pass 1 − ratio. Models with NaN are on no frontier.
    accuracy : array-like of shape (n_models,), optional
        Larger is better; or else
    losses : array-like of shape (n_models,), optional
        Smaller is better.

    Returns
    -------
    pandas.DataFrame
        Index ``model``, places in the input; columns ``accuracy`` or ``loss``, and ``gap``; the
        most accurate first. Of models that are level at both only the first is listed.

    Raises
    ------
    ValueError
        If not exactly one of accuracy and losses is given, lengths differ, accuracies or losses
        are not finite, or no model has a gap.

    Examples
    --------
    >>> frontier([0.10, 0.05, 0.07, 0.02], accuracy=[0.80, 0.79, 0.78, 0.77]).index.tolist()
    [0, 1, 3]
    """
    if (accuracy is None) == (losses is None):
        raise ValueError("give either accuracy or losses, for one of the two sides")
    name, sign = ("loss", 1.0) if accuracy is None else ("accuracy", -1.0)
    quality = _numbers(losses if accuracy is None else accuracy, name)
    values = _numbers(gaps, "gaps", missing=True)
    if values.shape != quality.shape:
        raise ValueError(f"gaps has shape {values.shape} and {name} {quality.shape}")
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        raise ValueError("gaps must hold a number for at least one model")
    order = known[np.lexsort((known, values[known], sign * quality[known]))]
    below = np.minimum.accumulate(np.concatenate([[np.inf], values[order][:-1]]))
    kept = order[values[order] < below]
    table = pd.DataFrame({name: quality[kept], "gap": values[kept]})
    return table.set_index(pd.Index(kept, name="model"))


def _numbers(values: ArrayLike | None, name: str, *, missing: bool = False) -> FloatArray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, one a model: {error}") from error
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n_models,), got {array.shape}")
    wrong = np.isinf(array) if missing else ~np.isfinite(array)
    if wrong.any():
        raise ValueError(f"{name} must be finite, got {array[wrong][0]} at {int(wrong.argmax())}")
    return array
