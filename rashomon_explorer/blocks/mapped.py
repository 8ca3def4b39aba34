"""Arrays that are mapped from files: read through the file, and pages that need not be held."""

import mmap
import os
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.exceptions import RowsGoneError

_SAFE = frozenset({"r", "r+", "w+"})  # a copy on write is not what its file holds
_WASTE = 4  # bytes read for each that is wanted, where that saves calls
_AT_ONCE = 2**24  # bytes that may be read for however few


def mapping_of(values: Any) -> Any:
    """Return the mapped array that values are, or are a view of; None if they are in memory.

    Examples
    --------
    >>> mapping_of(np.eye(2)) is None
    True
    """
    while isinstance(values, np.ndarray):
        if isinstance(values, np.memmap) and getattr(values, "_mmap", None) is not None:
            return values
        values = values.base
    return None


def read_mapped(values: Any) -> Any:
    """Return a mapped array as one in memory, read from its file; other data as they are.

    Raises
    ------
    RowsGoneError
        If the file was truncated. Touching its pages would end the process.

    Examples
    --------
    >>> read_mapped([1.0, 2.0])
    [1.0, 2.0]
    """
    if mapping_of(values) is None:
        return values
    return MappedRows(values).part(0, len(values))


class MappedRows:
    """Reads parts of a mapped array from its file, so that a truncated file is an error.

    A page of a mapping that its file no longer reaches ends the process (SIGBUS). An array without
    a name of its file, or with cells of its own (mode ``"c"``), is read from its pages, after a
    look at the length of the file.

    Parameters
    ----------
    values : ndarray
        A ``numpy.memmap`` or a view of one.
    """

    def __init__(self, values: NDArray[Any]) -> None:
        mapped = mapping_of(values)
        assert mapped is not None
        self._mapped, self._values = mapped, np.asarray(values)
        self._fd = _opened(mapped)
        if self._fd is not None:
            weakref.finalize(self, os.close, self._fd)
        first = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
        self._shift = first - _address(mapped)

    def part(self, low: int, high: int) -> NDArray[Any]:
        """Rows low to high."""
        part = self._values[low:high]
        if self._fd is None:
            if self._mapped._mmap.size() < _extent(part)[1] + self._shift:
                raise self._gone()
            return part
        return self._read(part)

    def _read(self, part: NDArray[Any]) -> NDArray[Any]:
        """Values that a view of the mapping shows, whatever its strides; no page is touched."""
        start, stop = _extent(part)
        if part.ndim and stop - start > max(_WASTE * part.nbytes, _AT_ONCE):
            axis = int(np.argmax(np.abs(part.strides)))
            return np.stack([self._read(each) for each in np.moveaxis(part, axis, 0)], axis=axis)
        held = self._bytes(start + self._shift, stop - start)
        offset = part.ctypes.data - start
        return np.ndarray(part.shape, part.dtype, held, offset, part.strides)

    def _bytes(self, position: int, count: int) -> bytes:
        assert self._fd is not None
        parts: list[bytes] = []
        while count:
            try:
                parts.append(os.pread(self._fd, count, position))
            except OSError as error:
                raise self._gone() from error
            if not parts[-1]:
                raise self._gone()
            position, count = position + len(parts[-1]), count - len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _gone(self) -> RowsGoneError:
        return RowsGoneError(
            f"{self._mapped.filename or 'the mapped file'} is shorter than when it was mapped, or "
            "cannot be read any more: put it back as it was, map it anew, and let nobody write "
            "there"
        )


def _opened(mapped: Any) -> int | None:
    """Open the file of a mapping; None where it is not there, or is another by now."""
    if mapped.filename is None or mapped.mode not in _SAFE or not hasattr(os, "pread"):
        return None
    try:
        fd = os.open(mapped.filename, os.O_RDONLY)
    except OSError:
        return None
    if os.fstat(fd).st_size != mapped._mmap.size():  # another file took its name
        os.close(fd)
        return None
    return fd


def _address(mapped: Any) -> int:
    return int(np.frombuffer(mapped._mmap, dtype=np.uint8).ctypes.data)


def _extent(part: NDArray[Any]) -> tuple[int, int]:
    """Addresses of a view's first byte, and of the byte after its last."""
    steps = [(length - 1) * stride for length, stride in zip(part.shape, part.strides, strict=True)]
    start = part.ctypes.data
    below, above = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)
    return start + below, start + above + part.itemsize


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
    start = values.ctypes.data - _address(values) + low * values.strides[0]
    end = start + (high - low) * values.strides[0]
    first = start - start % mmap.PAGESIZE
    if end > first >= 0:
        mapped.madvise(mmap.MADV_DONTNEED, first, end - first)
