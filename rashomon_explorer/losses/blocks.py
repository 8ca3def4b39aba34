"""Work on rows in cache-sized blocks, on the cores at hand (NumPy releases the GIL)."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.cores import cores, one_blas_thread

_BLOCK_BYTES = 2**19  # a block and its temporaries stay in a core's L2 cache
STACK_COLUMNS = 256  # models of a stack that are evaluated at a time
_STACK_ROWS = 1024
_FEWEST_ROWS = 64
_MOST_SINGLE_ROWS = 1024  # what float32 sums of more rows could add to a sensitivity is too much
_LANES = 4
_SERIAL_CELLS = 2**19  # below this, handing work to threads costs more than it saves
_BLAS_CELLS = 2**12  # below this, BLAS uses one thread by itself, and telling it costs 30 µs


def sum_row_blocks(
    work: Callable[[slice], tuple[NDArray[Any], ...]],
    n_rows: int,
    n_columns: int,
    *,
    item_bytes: int = 8,
    block: int | None = None,
    workers: int | None = None,
) -> tuple[FloatArray, ...]:
    """Add up ``work`` over consecutive row blocks, in float64.

    Blocks are added up in a fixed number of lanes, each in its order, so that the sums are the
    same to the last bit on one thread and on many.

    ``work`` takes a slice of rows and returns arrays of the same shapes every time, (n_rows,
    n_columns) being what it makes on its way. Threads are the number of cores by default, at most
    four.

    >>> values = np.arange(10.0)
    >>> sum_row_blocks(lambda rows: (values[rows].sum(keepdims=True),), 10, 1)
    (array([45.]),)
    """
    size = block_rows(n_rows, n_columns, item_bytes) if block is None else block
    cells = n_rows * n_columns
    # A lane is one thread's: BLAS threads inside would fight over the same cores.
    blas = one_blas_thread() if cells > _BLAS_CELLS else nullcontext()
    if 0 < n_rows <= size:  # a small table, of which a search asks thousands of times
        with blas:
            return tuple(np.array(part, dtype=np.float64) for part in work(slice(0, n_rows)))
    blocks = [slice(low, min(low + size, n_rows)) for low in range(0, n_rows, size)]
    lanes = min(_LANES, len(blocks))
    cuts = [len(blocks) * lane // lanes for lane in range(lanes + 1)]

    def lane(low: int, high: int) -> tuple[FloatArray, ...]:
        sums = tuple(np.array(part, dtype=np.float64) for part in work(blocks[low]))
        for block in blocks[low + 1 : high]:
            for total, part in zip(sums, work(block), strict=True):
                total += part
        return sums

    workers = min(_LANES, cores()) if workers is None else workers
    with blas:
        if workers == 1 or lanes == 1 or cells < _SERIAL_CELLS:
            parts = [lane(*cut) for cut in pairwise(cuts)]
        else:
            parts = list(_pool(workers, os.getpid()).map(lane, cuts[:-1], cuts[1:]))
    return tuple(sum(sums[1:], start=sums[0]) for sums in zip(*parts, strict=True))


def stack_rows(n_rows: int) -> int:
    """Rows in a block for stacks (G, p, K) of models, whatever G is.

    Examples
    --------
    >>> stack_rows(50_000), stack_rows(100)
    (1024, 112)
    """
    return min(_STACK_ROWS, (n_rows + 15) // 16 * 16)


def block_rows(n_rows: int, n_columns: int, item_bytes: int = 8) -> int:
    """Rows in a block of :func:`sum_row_blocks`: a multiple of 16, at most 1024 of float32.

    Examples
    --------
    >>> block_rows(50_000, 64), block_rows(50_000, 8, item_bytes=4), block_rows(100, 64)
    (1024, 1024, 112)
    """
    size = min(_BLOCK_BYTES // (item_bytes * max(1, n_columns)), n_rows + 15)
    if item_bytes == 4:
        size = min(size, _MOST_SINGLE_ROWS)
    return max(_FEWEST_ROWS, size // 16 * 16)


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    # One a process: a fork inherits the pool without its threads and would wait for ever.
    return ThreadPoolExecutor(workers, thread_name_prefix="rashomon-rows")
