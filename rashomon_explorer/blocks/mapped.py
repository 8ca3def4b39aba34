"""Pages of mapped files that a process need not hold."""

import mmap
from typing import Any

import numpy as np

_SAFE = frozenset({"r", "r+", "w+"})  # a copy on write would lose what was written


def let_go(values: Any, low: int, high: int) -> None:
    """Give back the pages of rows low to high of a mapped array; the file keeps what they hold.

    Without it a table that is read through looks as if it were held. What is no mapped file, or
    does not lie in it row after row, is left alone.

    Examples
    --------
    >>> let_go(np.eye(3), 0, 3)
    """
    mapped = getattr(values, "_mmap", None)
    if mapped is None or values.mode not in _SAFE or not values.flags.c_contiguous:
        return
    if not hasattr(mmap, "MADV_DONTNEED"):  # where the system knows no such thing
        return
    base = np.frombuffer(mapped, dtype=np.uint8).ctypes.data
    start = values.ctypes.data - base + low * values.strides[0]
    end = start + (high - low) * values.strides[0]
    first = start - start % mmap.PAGESIZE
    if end > first >= 0:
        mapped.madvise(mmap.MADV_DONTNEED, first, end - first)
