"""The cores that this process may use: how many, BLAS on one of them, and a pause for others."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_PAUSE_SECONDS = 0.01


@cache
def cores() -> int:
    """Cores that this process may use.

    At most the machine's, the process's affinity mask's, a container's quota (joblib reads it)
    and the environment variable ``LOKY_MAX_CPU_COUNT``; asked once.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    from joblib import cpu_count  # of scikit-learn's, and slow to import

    return max(1, int(cpu_count()))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread until the end of the block.

    The products here are small, or cut into row blocks that run on the cores already. BLAS's own
    threads wait for each other by spinning: where other processes keep the cores busy, a product
    waits a hundred times longer than it takes. Inner blocks of a thread cost nothing; of several
    threads the first holds the limit for the process.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_blas_thread():
    ...     {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    {1}
    """
    if getattr(_here, "held", False):
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        _here.held = True
        try:
            yield
        finally:
            _here.held = False


def pause() -> None:
    """Let another thread have the interpreter, a hundred times a second at most.

    Without it a dashboard's event loop starves. More often would give a busy machine's other
    processes a time slice after each step of a few hundred microseconds.
    """
    now = time.monotonic()
    if now - getattr(_here, "paused", 0.0) >= _PAUSE_SECONDS:
        time.sleep(0)
        _here.paused = time.monotonic()


_here = threading.local()  # what this thread holds, and when it last paused


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
