"""Losses with kinks: smoothed minima, proved by a dual point of the loss itself."""

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains import Ball, Domain
from rashomon_explorer.losses.clipped_slope_risk import ClippedSlopeRisk
from rashomon_explorer.losses.of_blocks import BlockRisk
from rashomon_explorer.minimum.ball import minimise_on_ball
from rashomon_explorer.minimum.certificate import ROUNDING, Minimum
from rashomon_explorer.minimum.general import minimise_on
from rashomon_explorer.minimum.objective import Objective

_WIDEST = 0.5
_NARROWER = 0.25
_MOST_WIDTHS = 30


def minimise_kinked(
    loss: ClippedSlopeRisk | BlockRisk,
    ridge: float,
    domain: Domain,
    tolerance: float,
    start: FloatArray,
) -> Minimum:
    """Best model found, perhaps with a gap above the tolerance.

    With f(a) = max_{low ≤ α ≤ high} αa, every α of [low, high]ⁿ gives the lower bound
    mean(α_i·offset_i) + min_{ϑ in C} [g·ϑ + ½·ridge·‖ϑ‖²], g = Σ α_i·rows_i/n; the minimum over
    C is −h(−g) with its support function h, or at the projection of −g/ridge. The smoothed
    loss (Nesterov, Math. Program. 2005) has its minimum near, and its slopes are such an α; it
    is solved for narrower and narrower parabolas until the two bounds meet.
    """
    best = certify(loss, ridge, domain, start, smoothing=_WIDEST)
    smoothing, theta = _WIDEST, start
    for _ in range(_MOST_WIDTHS):
        if best.gap <= tolerance:
            break
        smooth = Objective(loss.smoothed(smoothing), ridge)
        if isinstance(domain, Ball):
            theta = minimise_on_ball(smooth, domain, tolerance / 4, theta).theta
        else:
            theta = minimise_on(smooth, domain, tolerance / 4, theta).theta
        candidate = certify(loss, ridge, domain, theta, smoothing)
        best = min(best, candidate, key=lambda one: one.gap)
        smoothing *= _NARROWER
    return best


def certify(
    loss: ClippedSlopeRisk | BlockRisk,
    ridge: float,
    domain: Domain,
    theta: FloatArray,
    smoothing: float,
) -> Minimum:
    """Minimum at ``theta`` (p,), proved by the slopes of the loss smoothed by so much."""
    mean, offset, slope = loss.dual(theta, smoothing)
    value = mean + ridge / 2 * float(theta @ theta)
    lower = offset + _linear_minimum(slope, ridge, domain)
    size = abs(value) + domain.radius_bound * float(np.linalg.norm(slope))
    gap = max(0.0, value - lower) + ROUNDING * size
    return Minimum(theta, value, gap, multiplier=0.0, slack=gap)


def _linear_minimum(slope: FloatArray, ridge: float, domain: Domain) -> float:
    """Minimum over the domain of slope·θ + ½·ridge·‖θ‖²."""
    flat = -float(domain.support(-slope[:, None])[0])
    if ridge == 0:
        return flat
    theta = domain.project(-slope[:, None] / ridge)[:, 0]
    gradient = slope + ridge * theta
    value = float(slope @ theta) + ridge / 2 * float(theta @ theta)
    # The projection is right to rounding only: less its own gap it is a lower bound for sure.
    gap = float(gradient @ theta) + float(domain.support(-gradient[:, None])[0])
    return max(flat, value - max(gap, 0.0))
