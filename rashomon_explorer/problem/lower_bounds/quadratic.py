"""Quadratic lower bounds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.problem.losses.base import EmpiricalLoss, sum_row_batches
from rashomon_explorer.problem.losses.chunked import ChunkedRisk
from rashomon_explorer.problem.losses.kinked import ClippedSlope, ClippedSlopeRisk
from rashomon_explorer.problem.losses.logistic import LogisticRisk
from rashomon_explorer.problem.losses.softmax import SoftmaxRisk
from rashomon_explorer.problem.losses.squared import SquaredRisk

_NEAR = 1e-3  # for closer ends of the interval, differences would be rounding errors
# Candidate contacts of logistic parabolas: spreads from the mean score, and shares of the distance
# from it to the middle of the interval.
_SPREADS = np.linspace(-1.2, 1.2, 5)
_INWARD = np.linspace(0.2, 1.0, 5)
_SHARES = np.linspace(0.0, 1.0, 9)  # of the range of slopes on the interval


@dataclass(frozen=True)
class Parabolas:
    """v ↦ value + slope·(v − c) + ½·bend·(v − c)² from a contact c (n,), bend ≥ 0, by row."""

    contact: FloatArray
    value: FloatArray
    slope: FloatArray
    bend: FloatArray

    def mean(self, middle: FloatArray, spread: FloatArray) -> FloatArray:
        """Means (n,) for scores of mean ``middle`` (n,) and standard deviation ``spread`` (n,)."""
        away = middle - self.contact
        return self.value + self.slope * away + self.bend / 2 * (away**2 + spread**2)

    def where(self, better: Mask, other: "Parabolas") -> "Parabolas":
        """Return parabolas of ``other`` in the rows where ``better`` (n,) is true."""
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return Parabolas(*(np.where(better, new, old) for old, new in pairs))


def under_logistic(
    low: FloatArray, high: FloatArray, middle: FloatArray, spread: FloatArray
) -> Parabolas:
    """Parabolas below log(1 + eᵛ) for low ≤ v ≤ high, with nearly maximal means."""
    contacts = [np.clip(middle + k * spread, low, high) for k in _SPREADS]
    inwards = (low + high) / 2 - contacts[len(_SPREADS) // 2]
    contacts += [contacts[len(_SPREADS) // 2] + share * inwards for share in _INWARD]
    ends = [(end, np.logaddexp(0.0, end)) for end in (low, high)]
    return _best((_logistic(contact, ends) for contact in contacts), middle, spread)


def under_clipped_slope(
    shape: ClippedSlope, low: FloatArray, high: FloatArray, middle: FloatArray, spread: FloatArray
) -> Parabolas:
    """Parabolas below a function of clipped slope on low ≤ v ≤ high, of nearly maximal mean."""
    if shape.smoothing > 0:
        first, last = shape.slope(low), shape.slope(high)
    else:  # at a kink, both ends of the jump
        first = np.where(low <= 0, shape.low, shape.high)
        last = np.where(high >= 0, shape.high, shape.low)
    slopes = [first + share * (last - first) for share in _SHARES]
    return _best((_clipped(shape, slope, low, high) for slope in slopes), middle, spread)


def _best(candidates: Iterable[Parabolas], middle: FloatArray, spread: FloatArray) -> Parabolas:
    """Candidate with the largest mean in each row."""
    turn = iter(candidates)
    best = next(turn)
    largest = best.mean(middle, spread)
    for parabolas in turn:
        mean = parabolas.mean(middle, spread)
        best, largest = best.where(mean > largest, parabolas), np.maximum(mean, largest)
    return best


def _logistic(contact: FloatArray, ends: list[tuple[FloatArray, FloatArray]]) -> Parabolas:
    """Parabolas that touch at ``contact`` (n,), below the loss between ends of known values."""
    value, slope = np.logaddexp(0.0, contact), expit(contact)
    here = slope * (1 - slope)
    bend = here
    for end, value_there in ends:
        away = end - contact
        near = np.abs(away) < _NEAR
        safe = np.where(near, 1.0, away)
        secant = 2 * (value_there - value - slope * away) / safe**2
        # |f'''| ≤ f'': a bend of f''(a)·2(e^{−d} + d − 1)/d² ≥ f''(a)(1 − d/3) remains at d.
        bend = np.minimum(bend, np.where(near, here * (1 - np.abs(away) / 3), secant))
    return Parabolas(contact, value, slope, np.maximum(bend, 0.0))


def _clipped(
    shape: ClippedSlope, slope: FloatArray, low: FloatArray, high: FloatArray
) -> Parabolas:
    smoothing = shape.smoothing
    right = _bend(shape.high - slope, smoothing, high - smoothing * shape.high)
    left = _bend(slope - shape.low, smoothing, smoothing * shape.low - low)
    return Parabolas(smoothing * slope, smoothing / 2 * slope**2, slope, np.minimum(left, right))


def _bend(rise: FloatArray, smoothing: float, distance: FloatArray) -> FloatArray:
    """Curvature with which a parabola of slope ``rise`` (n,) meets f ``distance`` (n,) the zone."""
    zone = smoothing * rise
    distance = np.maximum(distance, 0.0)
    length = zone + distance
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Product of two ratios of small numbers: their squares may underflow.
        bend = (rise / length) * ((zone + 2 * distance) / length)
    return np.where((rise > 0) & (length > 0), bend, 0.0)


_BLOCK = 4096  # rows per batch, so that temporaries stay small
_OUTWARD = 1 + 1e-12  # factor on a row's reach, for the rounding of its norm


@dataclass(frozen=True)
class Bowl:
    """The quadratic function height + slope·θ + ½θᵀ·bend·θ."""

    height: float
    slope: FloatArray
    bend: FloatArray

    def value(self, theta: FloatArray) -> FloatArray:
        """Values (K,) at models (p, K)."""
        bent = np.einsum("ij,ij->j", theta, self.bend @ theta) / 2
        return np.asarray(self.height + self.slope @ theta + bent)

    def plus(self, height: float, ridge: float) -> "Bowl":
        """Bowl with a constant and ½·ridge·‖θ‖² added."""
        return Bowl(self.height + height, self.slope, self.bend + ridge * np.eye(len(self.slope)))

    def towards(self, other: "Bowl", share: float) -> "Bowl":
        """Convex combination of two bowls: a lower bound if both are."""
        return Bowl(
            (1 - share) * self.height + share * other.height,
            (1 - share) * self.slope + share * other.slope,
            (1 - share) * self.bend + share * other.bend,
        )

    def relative_to(self, centre: FloatArray) -> "Bowl":
        """Return the same function of θ − centre."""
        height = float(self.value(centre[:, None])[0])
        return Bowl(height, self.slope + self.bend @ centre, self.bend)


@dataclass(frozen=True)
class Where:
    """Set on which a bowl must be a bound, and distribution for which it should be tight.

    The set is the ball around ``centre``, or the ellipsoid centre + radius·axes·u, ‖u‖ ≤ 1.
    """

    centre: FloatArray
    radius: float
    mean: FloatArray
    covariance: FloatArray
    axes: FloatArray | None = None  # (p, p)

    @property
    def ball(self) -> float:
        """Radius of a ball around the centre that contains the set."""
        return self.radius * (1.0 if self.axes is None else float(np.linalg.norm(self.axes, 2)))

    def reach(self, rows: FloatArray) -> FloatArray:
        """Largest distance (n,) of a row's score from that of the centre."""
        along = rows if self.axes is None else rows @ self.axes
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", along, along)) * (self.radius * _OUTWARD))


def bowl_under(risk: EmpiricalLoss, where: Where) -> Bowl:
    """Quadratic lower bound of a mean loss on a ball; the mean of the chunks' bounds is one."""
    if not isinstance(risk, ChunkedRisk):
        return BOWLS[type(risk)](risk, where)
    height, slope, bend = risk.mean(partial(_bowl_parts, where))
    return Bowl(float(height), slope, bend)


def _bowl_parts(where: Where, risk: EmpiricalLoss) -> tuple[float, FloatArray, FloatArray]:
    bowl = bowl_under(risk, where)
    return bowl.height, bowl.slope, bowl.bend


def _bowl_logistic(risk: LogisticRisk, where: Where) -> Bowl:
    return _mean_bowl(np.asarray(risk.rows, dtype=float), np.zeros(risk.n), under_logistic, where)


def _clipped_slope(risk: ClippedSlopeRisk, where: Where) -> Bowl:
    def under(*scores: FloatArray) -> Parabolas:
        return under_clipped_slope(risk.function, *scores)

    return _mean_bowl(risk.rows, risk.offsets[:, 0], under, where)


def _softmax(risk: SoftmaxRisk, where: Where) -> Bowl:
    """Second-order model at the mean with less curvature: f'' falls at most by e^{−kt} on a ray."""
    rows, classes = risk.rows, risk.classes
    parts = where.mean.reshape(classes, rows.shape[1])
    middle = where.centre.reshape(classes, rows.shape[1])
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    away = _range((parts - middle) @ rows.T)
    reach = (away + np.sqrt(2.0) * length * where.ball) * _OUTWARD
    left = 2 * _fall(reach)
    hessian = risk.weighted_hessian(where.mean, left)
    bend = (hessian + hessian.T) / (2 * risk.n)
    value, gradient = risk.value_and_gradient(where.mean[:, None])
    bent = bend @ where.mean
    height = float(value[0] - gradient[:, 0] @ where.mean + where.mean @ bent / 2)
    return Bowl(height, gradient[:, 0] - bent, bend)


BOWLS: dict[type, Callable[[Any, Where], Bowl]] = {
    LogisticRisk: _bowl_logistic,
    SoftmaxRisk: _softmax,
    SquaredRisk: lambda risk, where: Bowl(risk.energy / 2, -risk.moment, risk.gram),
    ClippedSlopeRisk: _clipped_slope,
}


def _mean_bowl(
    rows: FloatArray, offsets: FloatArray, under: Callable[..., Parabolas], where: Where
) -> Bowl:
    """Mean of the rows' parabolas in their scores rows_i·θ + offset_i."""

    def block(part: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        z = rows[part]
        centre = z @ where.centre + offsets[part]
        reach = where.reach(z)
        spread = np.sqrt(np.maximum(np.einsum("ij,ij->i", z @ where.covariance, z), 0.0))
        parabolas = under(centre - reach, centre + reach, z @ where.mean + offsets[part], spread)
        # As a function of z·θ, which is the score minus the offset.
        away = offsets[part] - parabolas.contact
        slope = parabolas.slope + parabolas.bend * away
        height = parabolas.value + parabolas.slope * away + parabolas.bend / 2 * away**2
        return height.sum(keepdims=True), slope @ z, (z * parabolas.bend[:, None]).T @ z

    n, p = rows.shape
    height, slope, bend = sum_row_batches(block, n, p, block=_BLOCK)
    return Bowl(float(height[0]) / n, slope / n, (bend + bend.T) / (2 * n))


def _range(scores: FloatArray) -> FloatArray:
    """Largest difference (n,) between two of a row's scores (C − 1, n) and the reference's 0."""
    return np.maximum(scores.max(axis=0), 0.0) - np.minimum(scores.min(axis=0), 0.0)


def _fall(k: FloatArray) -> FloatArray:
    """(e^{−k} + k − 1)/k² for k ≥ 0; uses its series near 0."""
    far = np.maximum(k, 1e-2)
    series = 0.5 - k / 6 + k**2 / 24 - k**3 / 120
    return np.where(k > 1e-2, (np.expm1(-far) + far) / far**2, series)
