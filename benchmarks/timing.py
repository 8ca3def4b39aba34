"""Medians of repeated runs: machines are shared and noisy."""

import statistics
import time
from collections.abc import Callable


def median_seconds(work: Callable[[], object], seconds: float = 1.0, least: int = 3) -> float:
    """Median time of ``work`` over at least ``least`` runs and about ``seconds`` in all."""
    work()
    times: list[float] = []
    while len(times) < least or sum(times) < seconds:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
