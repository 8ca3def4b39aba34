"""Confidence bounds of a probability from a count, exact for every number of trials."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from rashomon_explorer.array_types import FloatArray


def upper_bound(hits: ArrayLike, trials: int, failure: float) -> FloatArray:
    """Clopper–Pearson upper bound: below the true probability at most ``failure`` of the time.

    The p at which so few hits or fewer have probability ``failure``: the 1 − failure quantile of
    Beta(hits + 1, trials − hits) (Clopper and Pearson 1934).

    1 where every trial hit.

    >>> round(float(upper_bound(0, 100, 0.05)), 4)  # 1 − 0.05^(1/100)
    0.0295
    """
    hits = np.asarray(hits, dtype=float)
    misses = np.maximum(trials - hits, 1.0)
    return np.where(hits >= trials, 1.0, betaincinv(hits + 1, misses, 1 - failure))
