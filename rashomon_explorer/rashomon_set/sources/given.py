"""What a source was given beside its models: labels, names and a threshold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.validation import check_nonnegative_or_infinite


def sort_labels(*parts: ArrayLike) -> tuple[Any, ...]:
    """Every label once, sorted, as plain values.

    >>> sort_labels(["b", "a"], ["c"])
    ('a', 'b', 'c')
    """
    arrays = [np.ravel(np.asarray(part)) for part in parts]
    texts = [array for array in arrays if array.dtype.kind in "SU"]
    others = [array for array in arrays if array.dtype.kind in "biuf"]
    if texts and others:
        raise ValueError(
            f"labels must all be text or all be numbers, got {_few(texts[0])} and "
            f"{_few(others[0])}: write all in the same way"
        )
    return tuple(np.unique(np.concatenate(arrays)).tolist())


def threshold(psi: float | None, losses: FloatArray, least: float) -> float:
    """ψ as asked for, or the largest excess there is, which puts all models inside.

    Examples
    --------
    >>> threshold(None, np.array([1.0, 1.5]), 1.0), threshold(0.1, np.array([1.0]), 1.0)
    (0.5, 0.1)
    """
    if psi is not None:
        check_nonnegative_or_infinite(psi=psi)
        return float(psi)
    excess = losses - least
    largest = float(excess.max())
    # least + (loss − least) may round to just below the loss, and that model has to be inside.
    while (losses > least + largest).any():
        largest = float(np.nextafter(largest, np.inf))
    return largest


def names_of(count: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the models, by default their places.

    >>> names_of(2, None)
    ('model 0', 'model 1')
    """
    if names is None:
        return tuple(f"model {place}" for place in range(count))
    if isinstance(names, str) or len(names) != count:
        raise ValueError(f"names must hold one for each of {count} models, got {names!r}")
    return tuple(str(name) for name in names)


def _few(labels: NDArray[Any]) -> list[Any]:
    return list(np.unique(labels)[:3].tolist())
