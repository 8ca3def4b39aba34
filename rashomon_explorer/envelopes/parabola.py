"""Parabolas below a convex function of one score, wherever the score can be."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.losses.clipped_slope import ClippedSlope

_NEAR = 1e-3  # an end of the interval nearer than this: differences would be all rounding
# Where logistic parabolas may touch: spreads from the mean score, and shares of the way from it to
# the interval's middle.
_SPREADS = np.linspace(-1.2, 1.2, 5)
_INWARD = np.linspace(0.2, 1.0, 5)
_SHARES = np.linspace(0.0, 1.0, 9)  # of the slopes that the interval has


@dataclass(frozen=True)
class Parabolas:
    """v ↦ value + slope·(v − place) + ½·bend·(v − place)², bend ≥ 0, for each of n rows (n,)."""

    place: FloatArray
    value: FloatArray
    slope: FloatArray
    bend: FloatArray

    def mean(self, middle: FloatArray, spread: FloatArray) -> FloatArray:
        """Means (n,) for scores of mean ``middle`` (n,) and standard deviation ``spread`` (n,)."""
        away = middle - self.place
        return self.value + self.slope * away + self.bend / 2 * (away**2 + spread**2)

    def where(self, better: Mask, other: "Parabolas") -> "Parabolas":
        """Those of ``other`` in the rows where ``better`` (n,) is true."""
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return Parabolas(*(np.where(better, new, old) for old, new in pairs))


def under_logistic(
    low: FloatArray, high: FloatArray, middle: FloatArray, spread: FloatArray
) -> Parabolas:
    """Parabolas below log(1 + eᵛ) for low ≤ v ≤ high, of nearly the largest means.

    One that touches at a lies below as far as an end of the interval if its bend is at most f''(a)
    and it lies below at the end: f'' rises and falls once, so that f less the parabola is 0 with
    slope 0 at a, convex first and then concave up to an end where it is not negative.

    Parameters
    ----------
    low, high : ndarray of shape (n,)
        Ends of the rows' scores.
    middle, spread : ndarray of shape (n,)
        Mean and standard deviation for which the parabolas are chosen; any will do.

    Examples
    --------
    >>> end = np.array([4.0])
    >>> found = under_logistic(-end, end, np.zeros(1), np.ones(1))
    >>> found.place.tolist(), found.bend.round(3).tolist()
    ([0.0], [0.166])
    """
    places = [np.clip(middle + k * spread, low, high) for k in _SPREADS]
    inwards = (low + high) / 2 - places[len(_SPREADS) // 2]
    places += [places[len(_SPREADS) // 2] + share * inwards for share in _INWARD]
    return _best((_logistic(place, low, high) for place in places), middle, spread)


def under_clipped_slope(
    shape: ClippedSlope, low: FloatArray, high: FloatArray, middle: FloatArray, spread: FloatArray
) -> Parabolas:
    """Parabolas below a function of clipped slope for low ≤ v ≤ high, of nearly the largest means.

    One that touches at v = s·α with slope α, s the smoothing and 0 at a kink, lies below if it does
    at both ends and its bend is at most 1/s: on either side the function bends first and is
    straight then.

    Parameters
    ----------
    shape : ClippedSlope
    low, high : ndarray of shape (n,)
        Ends of the rows' scores.
    middle, spread : ndarray of shape (n,)
        Mean and standard deviation for which the parabolas are chosen; any will do.

    Examples
    --------
    >>> end = np.array([4.0])
    >>> found = under_clipped_slope(ClippedSlope(-1.0, 1.0), -end, end, np.zeros(1), np.ones(1))
    >>> found.slope.tolist(), found.bend.tolist()
    ([0.0], [0.5])
    """
    first, last = _slopes_between(shape, low, high)
    slopes = [first + share * (last - first) for share in _SHARES]
    return _best((_clipped(shape, slope, low, high) for slope in slopes), middle, spread)


def _best(candidates: Iterable[Parabolas], middle: FloatArray, spread: FloatArray) -> Parabolas:
    """In each row the candidate of the largest mean."""
    turn = iter(candidates)
    best = next(turn)
    largest = best.mean(middle, spread)
    for one in turn:
        mean = one.mean(middle, spread)
        best, largest = best.where(mean > largest, one), np.maximum(mean, largest)
    return best


def _logistic(place: FloatArray, low: FloatArray, high: FloatArray) -> Parabolas:
    value, slope = np.logaddexp(0.0, place), expit(place)
    here = slope * (1 - slope)
    bend = here
    for end in (low, high):
        away = end - place
        near = np.abs(away) < _NEAR
        safe = np.where(near, 1.0, away)
        secant = 2 * (np.logaddexp(0.0, end) - value - slope * away) / safe**2
        # |f'''| ≤ f'': a bend of f''(a)·2(e^{−d} + d − 1)/d² ≥ f''(a)(1 − d/3) is left at d.
        bend = np.minimum(bend, np.where(near, here * (1 - np.abs(away) / 3), secant))
    return Parabolas(place, value, slope, np.maximum(bend, 0.0))


def _slopes_between(
    shape: ClippedSlope, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest slope (n,) that the interval has, at a kink both ends of the jump."""
    if shape.smoothing > 0:
        return shape.slope(low), shape.slope(high)
    first = np.where(low <= 0, shape.low, shape.high)
    return first, np.where(high >= 0, shape.high, shape.low)


def _clipped(
    shape: ClippedSlope, slope: FloatArray, low: FloatArray, high: FloatArray
) -> Parabolas:
    smoothing = shape.smoothing
    right = _bend(shape.high - slope, smoothing, high - smoothing * shape.high)
    left = _bend(slope - shape.low, smoothing, smoothing * shape.low - low)
    return Parabolas(smoothing * slope, smoothing / 2 * slope**2, slope, np.minimum(left, right))


def _bend(rise: FloatArray, smoothing: float, beyond: FloatArray) -> FloatArray:
    """Bend with which a parabola meets f at an end ``beyond`` (n,) the zone, ``rise`` (n,) steeper.

    From the place of touching the slope rises by ``rise`` over a length u = smoothing·rise and is
    constant over ``beyond``: f leaves its tangent by rise·(½u + beyond).
    """
    zone = smoothing * rise
    beyond = np.maximum(beyond, 0.0)
    length = zone + beyond
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Two ratios, each of small numbers over small ones: their squares may underflow.
        bend = (rise / length) * ((zone + 2 * beyond) / length)
    return np.where((rise > 0) & (length > 0), bend, 0.0)
