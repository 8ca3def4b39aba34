"""Types of arrays and of attributes, and checked conversion to arrays."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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


def scale_targets(targets: Any, bounds: Sequence[float]) -> FloatArray:
    """Targets with their bounds mapped to −1 and 1."""
    low, high = bounds
    return np.asarray((targets - (low + high) / 2) / ((high - low) / 2))


def unscale_targets(scaled: Any, bounds: Sequence[float]) -> FloatArray:
    """Targets of which :func:`scale_targets` gives ``scaled``."""
    low, high = bounds
    return np.asarray((low + high) / 2 + scaled * ((high - low) / 2))


def read_only_copy(values: Any) -> FloatArray:
    """Copy numbers to an array that cannot be changed."""
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy


Value = TypeVar("Value")


class Delegated(property, Generic[Value]):
    """Read-only attribute at the end of a path: ``n = Delegated[int]("request.n", "Rows.")``.

    ``kind`` converts it, or computes it from what is there: ``Delegated("rows", "Rows.", len)``.
    """

    def __init__(
        self, path: str, doc: str = "", kind: Callable[[Any], Value] | None = None
    ) -> None:
        find: Callable[[Any], Any] = attrgetter(path)
        super().__init__(find if kind is None else lambda holder: kind(find(holder)), doc=doc)

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, instance: Any, owner: type | None = None
        ) -> Value: ...
