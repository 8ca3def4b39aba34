"""Slow work in threads beside the page; passes over rows in blocks wait for each other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_PASSES = ThreadPoolExecutor(2, thread_name_prefix="rashomon-passes")
"""However many figures ask for passes, memory is that of two, and nothing else waits for them."""


async def aside(work: Callable[[], T], *, passes: bool = False) -> T:
    """Do something in another thread.

    Parameters
    ----------
    work : callable
    passes : bool, default=False
        Whether it may read all rows in blocks.

    Examples
    --------
    >>> asyncio.run(aside(lambda: 6 * 7))
    42
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_PASSES if passes else None, work)
