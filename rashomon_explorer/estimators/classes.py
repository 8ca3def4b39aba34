"""The classes of a target: declared, or taken from the labels and then treated as public."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray


def declared_classes(classes: ArrayLike) -> NDArray[Any]:
    """Sort declared labels, as scikit-learn keeps them.

    >>> declared_classes(["yes", "no"]).tolist()
    ['no', 'yes']
    """
    labels = np.asarray(classes)
    one_kind = labels.ndim == 1 and labels.dtype.kind in "biufUS"
    if not one_kind or labels.tolist() != list(classes):  # type: ignore[arg-type]
        raise ValueError(f"classes must be labels of one kind, text or numbers, got {classes!r}")
    distinct = np.unique(labels)
    if len(distinct) < 2 or len(distinct) < len(labels):
        raise ValueError(f"classes must be at least two labels, each named once, got {classes!r}")
    return distinct


def found_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Labels that occur in ``y``, in order.

    >>> found_classes(np.array([2, 0, 2])).tolist()
    [0, 2]
    """
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class, {classes.tolist()[0]!r}: two classes are needed. If others could "
            "occur, declare them all: classes=[...]"
        )
    return classes


def class_codes(y: NDArray[Any], classes: NDArray[Any]) -> FloatArray:
    """Places 0, 1, … of labels (n,) among ``classes``, as numbers that a loss takes.

    >>> class_codes(np.array(["b", "a"]), np.array(["a", "b", "c"])).tolist()
    [1.0, 0.0]
    """
    place = {label: code for code, label in enumerate(classes.tolist())}
    labels, rows = np.unique(y, return_inverse=True)
    strange = [label for label in labels.tolist() if label not in place]
    if strange:
        raise ValueError(
            f"y holds {strange[0]!r}, which is not among the declared classes {[*place]}: declare "
            "it, or leave its rows out"
        )
    codes = np.array([place[label] for label in labels.tolist()], dtype=float)
    return codes[rows.reshape(-1)]
