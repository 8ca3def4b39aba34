"""Objective perturbation of a smoothed hinge costs √n, however much it is smoothed."""

import math

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.validation import check_count, check_inner_share, check_positive

_NODES = 41  # of Gauss and Hermite, for the mean over the noise
_HALVINGS = 60

Record = tuple[float, float, float]  # x, y and how many there are


def huberised(z: FloatArray, width: float) -> FloatArray:
    """max(z, 0) made smooth on [−h, h]: z²/4h + z/2 + h/4 there.

    Examples
    --------
    >>> huberised(np.array([-2.0, 0.0, 2.0]), 1.0).tolist()
    [0.0, 0.25, 2.0]
    """
    inside = (np.clip(z, -width, width) + width) ** 2 / (4 * width)
    return np.asarray(np.where(z > width, z, inside))


def hard_tables(n: int, width: float) -> tuple[list[Record], list[Record]]:
    """Make the tables of Theorem B.1 of Bassily et al. 2014: for much smoothing, and little.

    Examples
    --------
    >>> hard_tables(300, 0.1)[0]
    [(-1.0, 1.0, 100.0), (1.0, -1.0, 200.0)]
    """
    tilt = min(1 / (32 * width), n / 2)
    smooth = [(-1.0, 1.0, n / 3), (1.0, -1.0, 2 * n / 3)]
    return smooth, [(-1.0, 1.0, n / 2 - tilt), (1.0, 1.0, n / 2 + tilt)]


def huber_barrier(n: int, width: float, epsilon: float, delta: float) -> float:
    """Mean excess, summed over records, of objective perturbation on the worse of both tables.

    θ = argmin over [−2, 2] of Σf̂(y − xθ) + θ²/(8hε) + bθ with b ~ N(0, 8log(1/δ)/ε²), and the
    excess is that of Σmax(y − xθ, 0). On the first table θ is off by h/3, nh/9 in loss; on the
    second the ridge, which a smoothness of 1/2h asks for, holds θ near ε/4 where 1 is best, 1/16h
    in loss. The larger is about √n/12, where an exponential mechanism has 2LD/ε: smoothing a kink
    is no way round it (Theorem B.1 of Bassily et al. 2014).

    Parameters
    ----------
    n : int
    width : float
        h of the smoothing.
    epsilon, delta : float
        As printed, for the noise and the ridge.

    Examples
    --------
    >>> round(huber_barrier(900, 0.025, 1.0, 1e-6), 2)
    2.67
    """
    check_count(n=n)
    check_positive(width=width, epsilon=epsilon)
    check_inner_share(delta=delta)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    noise = nodes * math.sqrt(8 * math.log(1 / delta)) / epsilon
    tables = hard_tables(n, width)
    return max(_mean_excess(table, width, epsilon, noise, weights) for table in tables)


def least_huber_barrier(n: int, epsilon: float, delta: float) -> float:
    """Give the same with the best smoothing that there is.

    Examples
    --------
    >>> least_huber_barrier(10_000, 1.0, 1e-6) > 100 / 12 * 0.8
    True
    """
    widths = np.geomspace(0.01 / math.sqrt(n), 100 / math.sqrt(n), 41)
    return min(huber_barrier(n, float(width), epsilon, delta) for width in widths)


def _mean_excess(
    table: list[Record], width: float, epsilon: float, noise: FloatArray, weights: FloatArray
) -> float:
    theta = _perturbed(table, width, epsilon, noise)
    ends = np.array([-2.0, -1.0, 1.0, 2.0])  # kinks and ends: the least is at one of them
    excess = _hinges(table, theta) - _hinges(table, ends).min()
    return float(excess @ weights / weights.sum())


def _perturbed(table: list[Record], width: float, epsilon: float, noise: FloatArray) -> FloatArray:
    """Where the slope, which rises with θ, is 0 on [−2, 2], for every b."""
    low, high = np.full_like(noise, -2.0), np.full_like(noise, 2.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope = middle / (4 * width * epsilon) + noise
        for x, y, many in table:
            z = np.clip(y - x * middle, -width, width)
            slope = slope - many * x * (z + width) / (2 * width)
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return np.asarray((low + high) / 2)


def _hinges(table: list[Record], theta: FloatArray) -> FloatArray:
    return np.asarray(sum(many * np.maximum(y - x * theta, 0.0) for x, y, many in table))
