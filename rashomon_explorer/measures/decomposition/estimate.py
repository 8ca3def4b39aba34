"""A number with its confidence interval, and where the intervals come from."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.privacy.audit.binomial import upper_bound


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
    replicates: FloatArray,
    drawn: Mask,
    confidence: float,
    freedom: float,
    *,
    skewed: bool = False,
) -> Estimate:
    """Student interval with the delete-one jackknife's variance, of one or two samples.

    Var = Σ over samples of (k − 1)/k·Σ_i (t_(i) − mean)² (Efron and Stein 1981; for U-statistics
    and smooth functions of them, Arvesen 1969): consistent for independent units, and for a
    single U-statistic too large rather than too small in expectation. A skewed statistic's
    interval is shifted by Johnson's (1978) a(1 + 2t²) standard errors, with a = Σl³/(6(Σl²)^{3/2})
    from the influences l_i = (k − 1)(mean − t_(i)): few misses that all raise it leave a long tail
    on one side.

    ``replicates`` (1 + n_units,): the statistic, then the statistic without each unit; ``drawn``
    says which of the two samples a unit is of. Below one degree of freedom the interval is
    infinite; the shift is at most half its half-width.

    >>> means = np.array([2.0, 2.5, 2.0, 1.5])  # of 1, 2, 3 and of each pair of them
    >>> print(jackknife(means, np.ones(3, dtype=bool), 0.95, 2))
    2 [-0.484, 4.48]
    """
    value = float(replicates[0])
    spread = sum(float(variance(replicates[1:][of])) for of in (drawn, ~drawn))
    if math.isnan(value) or math.isnan(spread) or freedom < 1:
        return Estimate(value, -math.inf, math.inf)
    t, error = float(stdtrit(freedom, 0.5 + confidence / 2)), math.sqrt(spread)
    third = sum(_third_moment(replicates[1:][of]) for of in (drawn, ~drawn))
    tilt = third / (6 * error**3) * (1 + 2 * t**2) if skewed and error else 0.0
    shift = min(max(tilt, -t / 2), t / 2)
    return Estimate(value, value + (shift - t) * error, value + (shift + t) * error)


def hit_interval(hits: int, n_draws: int, confidence: float) -> Estimate:
    """Share of independent draws that hit, with the interval of Clopper and Pearson (1934).

    Examples
    --------
    >>> print(hit_interval(100, 100, 0.95))
    1 [0.964, 1]
    """
    failure = (1 - confidence) / 2
    low = 1 - float(upper_bound(n_draws - hits, n_draws, failure))
    return Estimate(hits / n_draws, low, float(upper_bound(hits, n_draws, failure)))


def variance(without: FloatArray) -> FloatArray:
    """Jackknife's variance from the statistics without each unit, along the first axis."""
    if not len(without):
        return np.zeros(without.shape[1:])
    return (len(without) - 1) * without.var(axis=0)


def _third_moment(without: FloatArray) -> float:
    """Σ of the cubed influences over k³, whose ratio to the cubed error is six accelerations."""
    if not len(without):
        return 0.0
    influence = (len(without) - 1) * (without.mean() - without)
    return float((influence**3).sum()) / len(without) ** 3
