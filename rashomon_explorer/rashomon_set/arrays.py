"""Arrays that stay as they are, and places of models in a set."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray

Places = NDArray[np.intp]


def frozen(values: ArrayLike) -> FloatArray:
    """Read-only copy.

    Examples
    --------
    >>> frozen([1.0]).flags.writeable
    False
    """
    copy = np.array(values, dtype=float)
    copy.flags.writeable = False
    return copy


def places_of_mask(mask: ArrayLike, count: int) -> Places:
    """Places of the models that a mask keeps.

    >>> places_of_mask([True, False, True], 3).tolist()
    [0, 2]
    """
    kept = np.asarray(mask)
    if kept.dtype != bool or kept.shape != (count,):
        raise ValueError(
            f"a mask must hold True or False for each of {count} models, got shape {kept.shape} "
            f"of {kept.dtype}; to choose models by their places write models[[0, 2]]"
        )
    return np.flatnonzero(kept)


def places_of_key(key: object, count: int) -> Places:
    """Places that an index, slice, mask or sequence of places names.

    >>> places_of_key(-1, 3).tolist(), places_of_key(slice(2), 3).tolist()
    ([2], [0, 1])
    """
    if isinstance(key, slice):
        return np.arange(count)[key]
    given = np.asarray(key)
    if given.dtype == bool and given.ndim == 1:
        return places_of_mask(given, count)
    if given.size == 0:
        return np.zeros(0, dtype=np.intp)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise TypeError(f"models are chosen by place, slice, places or a mask, got {key!r}")
    places = np.atleast_1d(given).astype(np.intp)
    if not ((places >= -count) & (places < count)).all():
        raise IndexError(f"places must be below the {count} models of the set, got {key!r}")
    return places % count


def how_many(n: int, count: int) -> int:
    """Return ``n`` if so many of ``count`` models can be had.

    >>> how_many(2, 3)
    2
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= count:
        raise ValueError(f"n must be a whole number from 1 to the {count} models, got {n!r}")
    return int(n)
