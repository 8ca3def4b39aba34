"""What a table gives to counting: labels, numbers and names, or an error that says why not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import DataError


def labels_of(y: ArrayLike, n: int) -> NDArray[Any]:
    """Labels that can be told apart and sorted: not missing, not of mixed kinds, no numbers.

    >>> labels_of(["no", "yes"], 2).tolist()
    ['no', 'yes']
    """
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"{n} rows need as many labels, got shape {labels.shape}")
    missing = np.array([one is None or one != one for one in labels.tolist()])
    if missing.any():
        raise DataError(f"y holds no label in row {int(missing.argmax())}: leave such rows out")
    if labels.dtype.kind == "f" and (labels != np.rint(labels)).any():
        row = int((labels != np.rint(labels)).argmax())
        raise DataError(
            f"y holds {labels[row].item()!r} in row {row}, and trees say labels: cut the numbers "
            "into classes first"
        )
    kinds = {type(one) for one in labels.tolist()}
    if len({float if kind in (bool, int) else kind for kind in kinds}) > 1:
        raise DataError("y holds labels of several kinds: make all of them text, or all numbers")
    return labels


def numbers_of(rows: NDArray[Any]) -> FloatArray:
    """Finite numbers, or what to do with what is none.

    >>> numbers_of(np.array([["1", "2.5"]])).tolist()
    [[1.0, 2.5]]
    """
    try:
        numbers = rows.astype(float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X holds what is no number ({error}): declare the columns, schema=..., which "
            "propose_schema(table) drafts"
        ) from None
    if not np.isfinite(numbers).all():
        raise DataError(
            "X holds NaN or infinity: impute such rows, or declare the columns, schema=..., which "
            "says what a gap means"
        )
    return numbers


def names_of(X: Any, width: int, given: Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns: the given ones, a table's own, or x0, x1, ….

    >>> names_of(np.eye(2), 2, None)
    ('x0', 'x1')
    """
    if given is None:
        own = getattr(X, "columns", None)
        return tuple(f"x{j}" for j in range(width)) if own is None else tuple(map(str, own))
    if len(given) != width:
        raise DataError(f"feature_names must name {width} columns, got {len(given)}")
    return tuple(map(str, given))
