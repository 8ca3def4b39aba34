"""From linear scores to predictions, and from predictions to labels."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.clipping import clip_rows
from rashomon_explorer.column_map import ColumnMap
from rashomon_explorer.problem import add_intercept


def linear_scores(
    coef: FloatArray,
    X: ArrayLike,
    row_norm: float,
    outputs: int = 1,
    scale: ColumnMap | None = None,
) -> FloatArray:
    """θ·(x, 1) of models (k, outputs·(n_features + 1)) for rows shortened to ``row_norm``.

    With a ``scale``, for what it makes of the rows. Returns shape (k, n_rows, outputs).

    Raises
    ------
    ValueError
        If the rows are not finite or have another number of columns than the models.

    Examples
    --------
    >>> linear_scores(np.array([[2.0, 0.5]]), [[0.25], [10.0]], row_norm=1.0).tolist()
    [[[1.0], [2.5]]]
    """
    rows = np.asarray(X, dtype=float)
    width = coef.shape[1] // outputs
    if rows.ndim != 2 or rows.shape[1] != width - 1:
        raise ValueError(f"X must have shape (n_rows, {width - 1}), got {rows.shape}")
    if not np.isfinite(rows).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        raise ValueError(f"X holds NaN or infinity at {place}: remove or impute the row")
    clipped = seen_rows(rows, row_norm, scale)
    scores = coef.reshape(-1, width) @ add_intercept(clipped).T
    return np.asarray(scores.reshape(len(coef), outputs, len(rows)).swapaxes(1, 2))


def seen_rows(rows: FloatArray, row_norm: float, scale: ColumnMap | None) -> FloatArray:
    """Rows (n_rows, n_features) as models look at them: shortened, and mapped where they are.

    Examples
    --------
    >>> seen_rows(np.array([[0.25], [10.0]]), 1.0, None).tolist()
    [[0.25], [1.0]]
    """
    return clip_rows(rows, row_norm)[0] if scale is None else scale.rows(rows)


def likeliest(scores: FloatArray) -> NDArray[np.int_]:
    """Class 0, 1, … of probabilities (…, n_rows) or (n_models, n_rows, n_classes); at ½ the first.

    Examples
    --------
    >>> likeliest(np.array([[0.2, 0.5, 0.7]])).tolist()
    [[0, 0, 1]]
    """
    return np.asarray(scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int))


def in_words(classes: Sequence[object]) -> tuple[str, ...]:
    """Each class in words: its label if that is text, otherwise ``"class "`` and the label.

    Examples
    --------
    >>> in_words([0, "good"])
    ('class 0', 'good')
    """
    return tuple(x if isinstance(x, str) else f"class {x}" for x in classes)


def _to_targets(margins: FloatArray, bounds: Sequence[float]) -> FloatArray:
    low, high = bounds
    return (low + high) / 2 + margins * ((high - low) / 2)


LINKS: dict[str, Callable[[FloatArray, Sequence[float]], FloatArray]] = {
    "logistic": lambda margins, _: np.asarray(expit(margins)),
    "sign": lambda margins, _: (margins > 0).astype(float),
    "softmax": lambda margins, _: np.asarray(softmax(margins, axis=-1)),
    "identity": _to_targets,
}
