"""Memory needed for chunks within a process's limits, and errors if it is not available."""

import sys
from functools import cache

import numpy as np

from rashomon_explorer._utils.memory_limits import MemoryLimit, free_memory, memory_limits
from rashomon_explorer.exceptions import MemoryLimitError

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


def check_memory(needs: int, what: str) -> None:
    """Raise an error if this process's own limits leave too little memory for the work."""
    process_limits = [limit for limit in memory_limits() if limit.is_process]
    if not process_limits:
        return
    required = needs if _allocate_blas_buffers.cache_info().currsize else needs + 2 * _BLAS_BYTES
    for limit in process_limits:
        if limit.left < required:
            raise MemoryLimitError(_limit_message(limit, required, what))
    _allocate_blas_buffers()


@cache
def _allocate_blas_buffers() -> None:
    """Multiply once with NumPy's BLAS and SciPy's, so that each allocates its buffer now."""
    from scipy.linalg.blas import dgemm

    large = np.ones((300, 300))  # small products need no buffer
    np.matmul(large, large)
    dgemm(1.0, large, large)


def out_of_memory(needs: int, what: str) -> MemoryLimitError:
    """Error for work that ran out of memory although the estimate allowed it."""
    limits = memory_limits()
    if not limits:
        return MemoryLimitError(
            f"memory ran out: {what} takes {_mebibytes(needs)} or more, which this machine did "
            f"not have free: end other programs, or use fewer columns"
        )
    tightest = min(limits, key=lambda limit: limit.left)
    return MemoryLimitError(_limit_message(tightest, needs, what))


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
