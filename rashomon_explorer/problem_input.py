"""Rows and targets as a problem takes them: numbers, of shapes that match, all finite."""

import math

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.clipping import clip_rows, warn_if_clipped
from rashomon_explorer.column_map import ColumnMap
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.losses import Loss

_BLOCK = 1024


def numbers(name: str, values: ArrayLike) -> FloatArray:
    """Return the values as float64, or say that they are no numbers."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cmM":  # complex numbers and dates would lose their meaning
            raise TypeError(f"got {given.dtype}")
        return given.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must hold numbers: {error}. Encode text, dates and classes as numbers first"
        ) from error


def check_rows(features: FloatArray, targets: FloatArray) -> None:
    """Refuse tables of other shapes than (n, d) and (n,), and what is not finite."""
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"X must be a table with rows and columns, got shape {features.shape}")
    if targets.shape != (len(features),):
        raise DataError(
            f"y must hold one target a row, got shape {targets.shape} for {len(features)} rows"
        )
    for name, values in (("X", features), ("y", targets)):
        if not np.isfinite(values).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise DataError(f"{name} holds NaN or infinity at {place}: remove or impute the row")


def beyond(loss: Loss, targets: FloatArray) -> Mask:
    """Whether targets (n,) lie beyond the bound of their loss, if it has one."""
    return np.asarray(np.abs(targets) > getattr(loss, "target_bound", math.inf))


def check_labels(loss: Loss, targets: FloatArray) -> None:
    """Refuse targets (n,) that are no labels of a loss which has labels."""
    if loss.labels is None or np.isin(targets, loss.labels).all():
        return
    if loss.labels == (-1.0, 1.0):
        raise DataError("labels must be −1 or +1 here; the estimators encode classes for you")
    strange = targets[~np.isin(targets, loss.labels)][0]
    raise DataError(
        f"labels must be whole numbers from 0 to {len(loss.labels) - 1} for {loss.name} loss with "
        f"{len(loss.labels)} classes, got {strange:g}"
    )


def say_if_clipped(loss: Loss, share: float) -> None:
    """Tell the curator if more than 1 % of the targets are beyond the loss's bound."""
    bound = getattr(loss, "target_bound", math.inf)
    warn_if_clipped(
        share,
        f"targets are outside [−{bound:g}, {bound:g}]",
        "Map them there by their public range first, or declare another bound: "
        f"{type(loss).__name__}(target_bound=...).",
    )


def as_seen(
    features: FloatArray, row_norm: float, intercept: bool, scale: ColumnMap | None
) -> tuple[FloatArray, float]:
    """Rows as the loss sees them, and the share that was longer before any map."""
    if not intercept and scale is None:
        return clip_rows(features, row_norm)
    n, d = features.shape
    whole, longer = np.ones((n, d + intercept)), 0
    for start in range(0, n, _BLOCK):  # a whole table would be copied several times
        some = slice(start, start + _BLOCK)
        block, share = clip_rows(features[some], row_norm)
        whole[some, :d] = block if scale is None else scale.rows(block)
        longer += round(share * len(block))
    return whole, longer / n
