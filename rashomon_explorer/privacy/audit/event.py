"""One event that tells two neighbours apart, and what its counts prove."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.audit.binomial import upper_bound
from rashomon_explorer.validation import check_delta


@dataclass(frozen=True)
class Event:
    """Scores beyond a level speak for the second neighbour; both errors bounded from above.

    Parameters
    ----------
    level : float
        The event is score ≥ level, or score ≤ level.
    above : bool
        Which of the two.
    false_alarm : float
        Upper confidence bound of the event's probability under the first neighbour.
    miss : float
        Upper confidence bound of the probability, under the second, that it does not happen.

    Examples
    --------
    >>> event = Event(level=0.0, above=True, false_alarm=0.1, miss=0.6)
    >>> round(event.epsilon(0.0), 4), round(event.mu, 4)  # log(0.4/0.1)
    (1.3863, 1.0282)
    """

    level: float
    above: bool
    false_alarm: float
    miss: float

    def epsilon(self, delta: float) -> float:
        """Least ε that (ε, δ)-DP in both directions leaves room for, at least 0.

        1 − δ − e^ε·false_alarm ≤ miss, and the same with the errors swapped.
        """
        check_delta(delta)
        return max(0.0, float(epsilons(self.false_alarm, self.miss, delta)))

    @property
    def mu(self) -> float:
        """Least μ that Gaussian DP leaves room for: Φ⁻¹(1 − false_alarm) − Φ⁻¹(miss), or 0."""
        return max(0.0, float(mus(self.false_alarm, self.miss)))

    def __str__(self) -> str:
        return f"score {'≥' if self.above else '≤'} {self.level:.4g}"


def epsilons(false_alarm: FloatArray | float, miss: FloatArray | float, delta: float) -> FloatArray:
    """:meth:`Event.epsilon` of many events, below 0 where they show nothing.

    Examples
    --------
    >>> epsilons(np.array([0.1, 0.5]), np.array([0.6, 0.5]), 0.0).round(4).tolist()
    [1.3863, 0.0]
    """
    one, other = np.asarray(false_alarm, dtype=float), np.asarray(miss, dtype=float)
    with np.errstate(divide="ignore"):
        ways = [
            np.log(np.maximum(1 - delta - b, 0.0)) - np.log(a)
            for a, b in ((one, other), (other, one))
        ]
    return np.asarray(np.maximum(ways[0], ways[1]))


def mus(false_alarm: FloatArray | float, miss: FloatArray | float) -> FloatArray:
    """:attr:`Event.mu` of many events, below 0 where they show nothing.

    Examples
    --------
    >>> mus(np.array([0.1, 0.8]), np.array([0.6, 0.5])).round(4).tolist()
    [1.0282, -0.8416]
    """
    # An error of 1 is allowed for anything: −∞, also where the other bound is 0.
    some = np.maximum(false_alarm, miss) < 1
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(some, -ndtri(false_alarm) - ndtri(miss), -np.inf))


def errors(
    levels: FloatArray, above: bool, first: FloatArray, second: FloatArray, failure: float
) -> tuple[FloatArray, FloatArray]:
    """Upper bounds of false alarms and misses at each level, each failing at most ``failure``.

    ``first`` and ``second`` (k,) are scores under either neighbour.

    >>> low, high = np.zeros(100), np.ones(100)
    >>> false_alarms, misses = errors(np.array([0.5]), True, low, high, failure=0.05)
    >>> false_alarms.round(4).tolist(), misses.round(4).tolist()
    ([0.0295], [0.0295])
    """
    alarms, hits = (_counts(levels, above, scores) for scores in (first, second))
    misses = len(second) - hits
    return upper_bound(alarms, len(first), failure), upper_bound(misses, len(second), failure)


def _counts(levels: FloatArray, above: bool, scores: FloatArray) -> NDArray[np.intp]:
    ordered = np.sort(scores)
    if above:
        return len(ordered) - np.searchsorted(ordered, levels, side="left")
    return np.searchsorted(ordered, levels, side="right")
