"""The shape of data without a look at a value."""

from numbers import Integral
from typing import Any


def public_shape(data: Any, dimensions: int) -> tuple[int, ...] | None:
    """Shape that data state, or that lists have by their lengths.

    None for data that would have to be converted or computed, and so read, to be measured.
    ``dimensions=1`` looks at a list's length alone, 2 at its first row's too.

    >>> public_shape([[0.1, 0.2]] * 3, 2), public_shape(["HIV", "none"], 1), public_shape("HIV", 1)
    ((3, 2), (2,), None)
    """
    shape = getattr(data, "shape", None)
    if shape is not None:
        known = all(isinstance(length, Integral) for length in shape)
        return tuple(map(int, shape)) if known else None  # a length that Dask computes is none
    if not isinstance(data, list | tuple):
        return None
    inner = public_shape(data[0], dimensions - 1) if data and dimensions > 1 else None
    return (len(data), *(inner or ()))
