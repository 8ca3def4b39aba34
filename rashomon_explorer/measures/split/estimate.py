"""A number with its confidence interval, and where the intervals come from."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from rashomon_explorer.privacy.audit.binomial import upper_bound

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number and its confidence interval.

    Parameters
    ----------
    value, low, high : float
        NaN and infinite ends where nothing is known.

    Examples
    --------
    >>> print(Estimate(0.031, 0.028, 0.034))
    0.031 [0.028, 0.034]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Value and ends with three digits."""
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def clipped(self, least: float, most: float) -> "Estimate":
        """Keep the ends between values that the number cannot pass."""
        return Estimate(self.value, max(self.low, least), min(self.high, most))


def jackknife(
    replicates: FloatArray, drawn: NDArray[np.bool_], level: float, freedom: float
) -> Estimate:
    """Student interval with the delete-one jackknife's variance, of one or two samples.

    Var = Σ over samples of (k − 1)/k·Σ_i (t_(i) − mean)² (Efron and Stein 1981; for U-statistics
    and smooth functions of them, Arvesen 1969): consistent for independent units, and for a
    single U-statistic too large rather than too small in expectation.

    Parameters
    ----------
    replicates : ndarray of shape (1 + n_units,)
        The statistic, then the statistic without each unit.
    drawn : ndarray of bool, shape (n_units,)
        Which of two independent samples each unit belongs to.
    level : float
    freedom : float
        Degrees of freedom; below 1 the interval is infinite.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> means = np.array([2.0, 2.5, 2.0, 1.5])  # of 1, 2, 3 and of each pair of them
    >>> print(jackknife(means, np.ones(3, dtype=bool), 0.95, 2))
    2 [-0.484, 4.48]
    """
    value = float(replicates[0])
    spread = sum(float(variance(replicates[1:][of])) for of in (drawn, ~drawn))
    if math.isnan(value) or math.isnan(spread) or freedom < 1:
        return Estimate(value, -math.inf, math.inf)
    half = float(stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(spread)
    return Estimate(value, value - half, value + half)


def hit_interval(hits: int, n_draws: int, level: float) -> Estimate:
    """Share of independent draws that hit, with the interval of Clopper and Pearson (1934).

    Examples
    --------
    >>> print(hit_interval(100, 100, 0.95))
    1 [0.964, 1]
    """
    failure = (1 - level) / 2
    low = 1 - float(upper_bound(n_draws - hits, n_draws, failure))
    return Estimate(hits / n_draws, low, float(upper_bound(hits, n_draws, failure)))


def variance(without: FloatArray) -> FloatArray:
    """Jackknife's variance from the statistics without each unit, along the first axis."""
    if not len(without):
        return np.zeros(without.shape[1:])
    return (len(without) - 1) * without.var(axis=0)


def check_level(level: float) -> None:
    """Refuse a level that no interval has."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
