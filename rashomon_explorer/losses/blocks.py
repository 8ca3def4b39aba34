"""Work on rows in cache-sized blocks, on the cores at hand (NumPy releases the GIL)."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

_BLOCK_CELLS = 2**15  # 256 KiB of float64: a block and its temporaries stay in the L2 cache
_SERIAL_CELLS = 2**17  # below this, handing work to threads costs more than it saves

Part = TypeVar("Part")


def map_row_blocks(
    work: Callable[[slice], Part], n_rows: int, n_columns: int, workers: int | None = None
) -> list[Part]:
    """Results of ``work`` on consecutive row blocks, in order, whatever the number of workers.

    The blocks depend on the shape alone, so that sums over the result are the same to the last
    bit on one thread and on many.

    Parameters
    ----------
    work : callable
        Takes a slice of rows.
    n_rows, n_columns : int
        Shape of the array that ``work`` makes.
    workers : int, optional
        Threads; by default the number of cores, at most four.

    Returns
    -------
    list

    Examples
    --------
    >>> sum(map_row_blocks(lambda rows: rows.stop - rows.start, n_rows=70_000, n_columns=4))
    70000
    """
    size = max(64, _BLOCK_CELLS // max(1, n_columns))
    blocks = [slice(low, min(low + size, n_rows)) for low in range(0, n_rows, size)]
    workers = min(4, os.cpu_count() or 1) if workers is None else workers
    if workers == 1 or n_rows * n_columns < _SERIAL_CELLS:
        return [work(block) for block in blocks]
    # Each block is one thread's: BLAS threads inside would fight over the same cores.
    with _controller().limit(limits=1, user_api="blas"):
        return list(_pool(workers, os.getpid()).map(work, blocks))


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    # One a process: a fork inherits the pool without its threads and would wait for ever.
    return ThreadPoolExecutor(workers, thread_name_prefix="rashomon-rows")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
