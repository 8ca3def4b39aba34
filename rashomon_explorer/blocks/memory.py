"""Memory that this process may use, and pages of mapped files that it need not hold."""

import mmap
import sys
from pathlib import Path
from typing import Any

import numpy as np

_OF_CGROUP = Path("/sys/fs/cgroup/memory.max")
_SAFE = frozenset({"r", "r+", "w+"})  # a copy on write would lose what was written


def memory_limit() -> float:
    """Bytes that this process is limited to, infinite where nobody says.

    The least of ``ulimit -v`` and ``ulimit -d`` and of a container's limit.

    Examples
    --------
    >>> memory_limit() > 0
    True
    """
    found = [float("inf")]
    if sys.platform != "win32":
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            soft = resource.getrlimit(kind)[0]
            found += [float(soft)] * (soft != resource.RLIM_INFINITY)
    try:
        said = _OF_CGROUP.read_text().strip()
    except OSError:
        said = "max"
    return min([*found, *([float(said)] if said.isdigit() else [])])


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
