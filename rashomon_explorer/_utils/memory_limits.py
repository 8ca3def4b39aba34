"""Memory limits of this process, its current use of them, and messages where they are too low."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from ctypes import CDLL
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

_GROUPS = (  # root of a container's group, its limit, its usage, and its page-cache entries
    ("/sys/fs/cgroup", "memory.max", "memory.current", ("inactive_file", "active_file")),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
)
_MEMBER = Path("/proc/self/cgroup")  # groups of this process
_ADDRESSES = "ulimit -v"
_NOBODY_SAYS = 2**60  # older kernels report no limit as a large number
_STATUS, _MACHINE = Path("/proc/self/status"), Path("/proc/meminfo")


class MemoryLimit(NamedTuple):
    """A memory limit of this process, and its current use."""

    name: str
    allowed: int
    used: int
    is_process: bool

    @property
    def left(self) -> int:
        """Bytes that may still be allocated."""
        return max(0, self.allowed - self.used)


def memory_limits() -> list[MemoryLimit]:
    """Limits of this process, ``ulimit -v`` and ``ulimit -d``, and of its container."""
    return [*_process_limits(), *_container_limits()]


def spare_addresses() -> None:
    """Under ``ulimit -v``, make Arrow use the system allocator if it is not imported yet."""
    if "pyarrow" not in sys.modules and any(
        limit.name == _ADDRESSES for limit in _process_limits()
    ):
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _process_limits() -> Iterator[MemoryLimit]:
    try:
        import resource
    except ImportError:  # on Windows and in a browser
        return

    for kind, name, line in (
        (resource.RLIMIT_AS, _ADDRESSES, "VmSize"),
        (resource.RLIMIT_DATA, "ulimit -d", "VmData"),
    ):
        soft = resource.getrlimit(kind)[0]
        if soft != resource.RLIM_INFINITY:
            yield MemoryLimit(name, soft, _status_bytes(line), is_process=True)


def _container_limits() -> Iterator[MemoryLimit]:
    for root, limit_file, current, files in _GROUPS:
        for folder in _groups_within(root):
            try:
                limit = (folder / limit_file).read_text().strip()
                if not limit.isdigit() or int(limit) >= _NOBODY_SAYS:
                    continue
                used = int((folder / current).read_text())
                lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
                cached = sum(int(size) for name, size in lines if name in files)
            except OSError:
                continue
            yield MemoryLimit("the container", int(limit), max(0, used - cached), is_process=False)


def _groups_within(root: str) -> list[Path]:
    """Return the groups of this process below a root, and the root; all their limits apply."""
    try:
        lines = [line.split(":", 2) for line in _MEMBER.read_text().splitlines()]
    except OSError:
        lines = []
    folders = [Path(root)]
    for _, kinds, path in (line for line in lines if len(line) == 3):
        if kinds in ("", "memory"):  # the unified hierarchy, or the older one for memory
            group = Path(path.strip("/"))
            folders += [Path(root, part) for part in (group, *group.parents) if part != Path()]
    return folders


def free_memory() -> int:
    """Bytes of the machine's memory that programs may still take; 0 if unknown."""
    return _status_bytes("MemAvailable", _MACHINE)


def _status_bytes(name: str, path: Path | None = None) -> int:
    """Bytes in a line of a status file on Linux, the process's by default; 0 on other systems."""
    try:
        lines = (path or _STATUS).read_text().splitlines()
    except OSError:
        return 0
    sizes = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(next(sizes, "0")) * 1024


def release_freed_memory() -> None:
    """Return memory that was freed to the operating system; glibc keeps it otherwise."""
    with suppress(OSError, AttributeError):  # another C library, such as that of macOS
        CDLL(None).malloc_trim(0)


_MIB = 2**20
_BLAS_BYTES = 36 * _MIB  # allocated by a thread's first matrix product; failure ends the process
_THREAD_BYTES = 136 * _MIB  # a stack, and the addresses that malloc reserves for a thread
_LEAST_CACHE = 2**29
_COPIES = 8  # of a chunk: read, encoded, clipped, folded, and temporaries of a loss


def chunk_bytes(rows: int, columns: int) -> int:
    """Approximate bytes that one thread needs for the work on a chunk."""
    return _COPIES * 8 * rows * columns


def available_memory() -> float:
    """Bytes that this process may still allocate; infinite without a limit."""
    return min((float(limit.left) for limit in memory_limits()), default=float("inf"))


def cache_bytes() -> float:
    """Bytes for kept chunks: max(½ GiB, ⅛ of free memory), at most ¼ of what limits leave."""
    return min(max(_LEAST_CACHE, free_memory() / 8), available_memory() / 4)


def threads_within(count: int, needs: int) -> int:
    """Return the number of threads, at least one, that have enough memory."""
    if count == 1:
        return 1
    return max(1, int(min(count, available_memory() // (needs + _THREAD_BYTES + _BLAS_BYTES))))


def memory_shortage(needs: int, what: str) -> str:
    """Message if this process's own limits leave too little memory for the work; else empty."""
    process_limits = [limit for limit in memory_limits() if limit.is_process]
    if not process_limits:
        return ""
    required = needs if _allocate_blas_buffers.cache_info().currsize else needs + 2 * _BLAS_BYTES
    for limit in process_limits:
        if limit.left < required:
            return _limit_message(limit, required, what)
    _allocate_blas_buffers()
    return ""


@cache
def _allocate_blas_buffers() -> None:
    """Multiply once with NumPy's BLAS and SciPy's, so that each allocates its buffer now."""
    from scipy.linalg.blas import dgemm

    large = np.ones((300, 300))  # small products need no buffer
    np.matmul(large, large)
    dgemm(1.0, large, large)


def out_of_memory(needs: int, what: str) -> str:
    """Message for work that ran out of memory although the estimate allowed it."""
    limits = memory_limits()
    if not limits:
        return (
            f"memory ran out: {what} takes {_mebibytes(needs)} or more, which this machine did "
            f"not have free: end other programs, or use fewer columns"
        )
    tightest = min(limits, key=lambda limit: limit.left)
    return _limit_message(tightest, needs, what)


def _limit_message(limit: MemoryLimit, needs: int, what: str) -> str:
    # Only limits and shapes: the current memory use may depend on values of rows.
    enough = _mebibytes(limit.allowed + needs)
    return (
        f"{what} takes {_mebibytes(needs)} or more, and {limit.name} leaves less of the "
        f"{_mebibytes(limit.allowed)} that it allows: allow {enough} or more, or take fewer columns"
        f"{_arrows_share()}"
    )


def _arrows_share() -> str:
    arrow = sys.modules.get("pyarrow")
    if arrow is None or arrow.default_memory_pool().backend_name == "system":
        return ""
    return (
        ". Arrow reserves a gibibyte of addresses unless the environment variable "
        "ARROW_DEFAULT_MEMORY_POOL is system when Python starts"
    )


def _mebibytes(size: float) -> str:
    return f"{-(-int(size) // _MIB):,} MiB"
