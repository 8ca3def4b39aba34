"""Array types, and checked conversion to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]


def likeliest(scores: FloatArray) -> NDArray[np.int_]:
    """Class with the largest of the probabilities (…, n_rows) or (n_models, n_rows, n_classes)."""
    return np.asarray(scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int))


def as_numbers(values: Any, rule: str) -> FloatArray:
    """Values as floats; raise ValueError with the rule that others break."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{rule}: {error}") from error


def read_only_copy(values: Any) -> FloatArray:
    """Copy numbers to an array that cannot be changed."""
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy
