"""Number of cores, limit of BLAS to one thread, and yielding to other threads."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_PAUSE_SECONDS = 0.01


@cache
def cores() -> int:
    """Return the number of cores that this process may use."""
    from joblib import cpu_count  # of scikit-learn's, and slow to import

    return max(1, int(cpu_count()))


@contextmanager
def thread_map(max_threads: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Yield `map` on at most so many threads; on one core, as in a browser, that of Python."""
    workers = min(max_threads, cores())
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in this context."""
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
    """Let another thread run, at most a hundred times a second."""
    now = time.monotonic()
    if now - getattr(_here, "paused", 0.0) >= _PAUSE_SECONDS:
        time.sleep(0)
        _here.paused = time.monotonic()


_here = threading.local()  # state of this thread: BLAS limit and time of the last pause

_controller = cache(ThreadpoolController)
