"""Quartic lower bounds around a shifted centre."""

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.problem.lower_bounds import smooth
from rashomon_explorer.problem.lower_bounds.smooth import FourthMoment, ThirdMoment, outer_squares

_POINTS_AT_ONCE = 1024  # so that p² numbers per point stay in the cache
_ROUNDING = 1e-12  # relative to the sum of all terms' sizes; errors of sums are about 1e-14 of it


@dataclass(frozen=True)
class QuarticForm:
    """P(w) = constant + linear·w + wᵀ·quadratic·w + third(w) − fourth(w)."""

    constant: float
    linear: FloatArray  # (p,)
    quadratic: FloatArray  # (p, p)
    third: ThirdMoment
    fourth: FourthMoment  # with nonnegative weights, so that P decreases for long steps
    # (5,): sums of |terms| of each power for a unit step: they bound the rounding errors
    sizes: FloatArray

    @classmethod
    def from_rows(cls, rows: FloatArray, coefficients: FloatArray) -> "QuarticForm":
        """Form Σ_i c_i0 + … + c_i4 (b_i·w)⁴ of rows b_i (n, p), c (5, n), c_i4 ≤ 0."""
        used = np.flatnonzero(coefficients.any(axis=0))
        rows, coefficients = rows[used], coefficients[:, used]
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return cls(
            constant=float(coefficients[0].sum()),
            linear=coefficients[1] @ rows,
            quadratic=(rows.T * coefficients[2]) @ rows,
            third=ThirdMoment.from_rows(rows, coefficients[3]),
            fourth=FourthMoment.from_rows(rows, -coefficients[4]),
            sizes=np.array([np.abs(c) @ length**k for k, c in enumerate(coefficients)]),
        )

    def plus(self, constant: float, linear: FloatArray, quadratic: FloatArray) -> "QuarticForm":
        """Form with these terms added."""
        added = [abs(constant), float(np.linalg.norm(linear)), float(np.linalg.norm(quadratic))]
        return QuarticForm(
            self.constant + constant,
            self.linear + linear,
            self.quadratic + quadratic,
            self.third,
            self.fourth,
            self.sizes + np.array([*added, 0.0, 0.0]),
        )

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) of P at steps (p, K); differs from P only by rounding."""
        parts = range(0, max(points.shape[1], 1), _POINTS_AT_ONCE)
        with one_blas_thread():
            return np.concatenate([self._at(points[:, k : k + _POINTS_AT_ONCE]) for k in parts])

    def _at(self, points: FloatArray) -> FloatArray:
        squares = outer_squares(points)
        value = self.linear @ points + np.einsum("ij,ij->j", points, self.quadratic @ points)
        value += self.constant + self.third.at(points, squares) - self.fourth.at(points, squares)
        return np.asarray(value - self._rounding(np.sqrt(np.einsum("ij,ij->j", points, points))))

    def least(self, radius: FloatArray) -> FloatArray:
        """Lower bound of P over all steps of each length; same shape as ``radius``.

        A cubic form is the sum of m·w‖w‖², m = 3/(p + 2) times its trace, and a traceless form,
        which the largest singular value of its unfolding bounds. The vector m is combined with
        the linear part, which it may cancel (own derivation, docs/theory.md §3).
        """
        trace, rest = self.third.split()
        along = self.linear[:, None] + trace[:, None] * radius**2
        odd = np.linalg.norm(along, axis=0) * radius + rest.supremum() * radius**3
        even = float(np.linalg.eigvalsh(self.quadratic)[0]) * radius**2
        even -= self.fourth.supremum() * radius**4
        return np.asarray(self.constant + even - odd - self._rounding(radius))

    def _rounding(self, radius: FloatArray) -> FloatArray:
        return np.asarray(_ROUNDING * np.polynomial.polynomial.polyval(radius, self.sizes))


_NEWTON_STEPS = 12
_NODES = 10.0 ** np.linspace(-0.6, 0.6, 600)  # times the radius in use; 0.5 % apart
_LONGEST = 1.25  # times the radius in use: a cone replaces the form beyond


class ActiveConstraint(Protocol):
    """The active constraint of the domain at a minimiser θ*."""

    @property
    def multiplier(self) -> float:
        """λ ≥ 0."""

    @property
    def centre(self) -> FloatArray:
        """Centre (p,) of the ball of the constraint."""

    @property
    def radius(self) -> float:
        """R."""

    @property
    def pull(self) -> FloatArray:
        """Remaining gradient (p,) at θ*, after the multiplier."""

    @property
    def gap(self) -> float:
        """Largest amount by which the pull's linear form is below 0 in the domain."""


@dataclass(frozen=True)
class Minimised:
    """The loss L = data loss + ½·ridge·‖θ‖² and properties of its minimum on a domain."""

    theta: FloatArray  # (p,): θ*
    value: float  # L*
    ridge: float
    constraint: ActiveConstraint
    pad: float  # τ ≥ 0, added to the metric so that it is definite
    whiten: FloatArray  # (p, p): A^{-1/2} for the Lagrangian's Hessian at θ*, pad included


class ExpandableRisk(Protocol):
    """A mean loss of scores with a polynomial lower bound around any model."""

    def tangent(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Mean loss and its gradient (p,) at one model (p,)."""

    def blurred(
        self, theta: FloatArray, whiten: FloatArray, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient (p,) and Hessian (p, p), averaged over steps whiten·w with ‖w‖ near radius."""

    def form(self, theta: FloatArray, whiten: FloatArray, radius: float) -> QuarticForm:
        """Lower bound of the excess over the tangent at ``theta``, for every step whiten·w."""


@dataclass(frozen=True)
class ShiftedBound(smooth.ExcessBound):
    """Lower bounds of L(θ) − L* + ½τ‖θ − c‖² for θ = c + whiten·w in the domain."""

    # (p,): c: zero of the gradient averaged over steps of the radius in use
    centre: FloatArray
    # vectors, curvature: (p, p) and (p,): eigenvectors and eigenvalues of the averaged Hessian,
    # without the pad
    vectors: FloatArray
    curvature: FloatArray
    free: QuarticForm
    constrained: QuarticForm
    # free_start, constrained_start: exact values that the forms bound at w = 0
    free_start: float
    constrained_start: float
    reach: float  # radius in use
    _slopes: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        nodes = self.reach * _NODES
        slopes = np.maximum.accumulate(
            (self.constrained.least(nodes) - self.constrained_start) / nodes
        )
        object.__setattr__(self, "_slopes", np.concatenate([[0.0], np.maximum(slopes, 0.0)]))

    @classmethod
    def from_risk(cls, risk: ExpandableRisk, minimum: Minimised, level: float) -> "ShiftedBound":
        """Bound that is nearly optimal where the excess is about ``level``."""
        constraint, ridge, pad = minimum.constraint, minimum.ridge, minimum.pad
        reach = math.sqrt(2 * level)
        centre, hessian = _middle(risk, minimum, reach)
        curvature, vectors = np.linalg.eigh(hessian)
        curvature = np.maximum(curvature, 0.0)
        whiten = vectors / np.sqrt(curvature + pad)
        gram = whiten.T @ whiten

        value, slope = risk.tangent(centre)
        start = value + ridge / 2 * float(centre @ centre) - minimum.value
        linear = whiten.T @ (slope + ridge * centre)
        free = risk.form(centre, whiten, reach).plus(start, linear, (ridge + pad) / 2 * gram)

        outward = centre - constraint.centre
        correction = constraint.multiplier / 2 * (constraint.radius**2 - float(outward @ outward))
        correction += float(constraint.pull @ (centre - minimum.theta)) + constraint.gap
        linear = whiten.T @ (constraint.multiplier * outward - constraint.pull)
        constrained = free.plus(-correction, linear, constraint.multiplier / 2 * gram)
        limit = start - correction
        return cls(centre, vectors, curvature, free, constrained, start, limit, reach)

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound as a function of ‖w‖, nondecreasing and ≥ 0; same shape as ``radius``."""
        radius = np.asarray(radius, dtype=float)
        slope = self._slopes[np.searchsorted(self.reach * _NODES, radius, side="right")]
        bound = np.maximum(self.constrained_start + radius * slope, 0.0)
        return np.where(slope > 0, bound, 0.0)

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) at whitened steps (p, K) from the centre."""
        radius = np.sqrt(np.einsum("ij,ij->j", points, points))
        stretch = np.maximum(radius / (_LONGEST * self.reach), 1.0)
        inner = self.free.at(points / stretch)
        return np.asarray(self.free_start + stretch * (inner - self.free_start))


def _middle(
    risk: ExpandableRisk, minimum: Minimised, reach: float
) -> tuple[FloatArray, FloatArray]:
    """Zero (p,) of the Lagrangian's averaged gradient, and its Hessian (p, p) there."""
    constraint, unit = minimum.constraint, np.eye(len(minimum.theta))
    square = minimum.ridge + constraint.multiplier
    centre, hessian = minimum.theta, unit
    for _ in range(_NEWTON_STEPS):
        gradient, hessian = risk.blurred(centre, minimum.whiten, reach)
        hessian = hessian + square * unit
        gradient = gradient + square * centre - constraint.multiplier * constraint.centre
        gradient = gradient - constraint.pull
        step = np.linalg.solve(hessian + minimum.pad * unit, gradient)
        # Limit the step to the averaging radius where the averaged loss is far from quadratic.
        length = math.sqrt(max(float(step @ gradient), 0.0))
        centre = centre - step * min(1.0, reach / max(length, 1e-300))
    return centre, hessian


_PLACES = np.linspace(-1.5, 8.0, 191)
_ZOOMS, _SIDE, _FIRST_SPAN = 6, 15, 3.0
_FAR = (0.9, 1.2)  # beyond the table, distances of the contacts below and above the place


def half_square_minorant(mean: FloatArray) -> FloatArray:
    """Coefficients (5, n) of powers 0 to 4 of ξ in a lower bound of ½(a + ξ)₊² − ½a₊² − a₊ξ."""
    low, high = _contacts(mean)
    factor = 0.5 / (np.sqrt(low) + np.sqrt(high)) ** 4
    total, product = 2 * mean - low - high, (mean - low) * (mean - high)
    ones, zero = np.ones_like(mean), np.zeros_like(mean)
    lost = np.array([product**2, 2 * total * product, total**2 + 2 * product, 2 * total, ones])
    behind = np.minimum(mean, 0.0)  # tangent is 0 for a < 0, else it cancels ½a² + aξ
    bound = np.array([behind**2 / 2, behind, ones / 2, zero, zero]) - factor * lost
    return np.where(bound[0] + bound[2] + 3 * bound[4] > 0, bound, 0.0)


def _contacts(mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Contact points x and y (n,) of the curve; any points are valid."""
    x, y = _best_contacts()
    far = mean > _PLACES[-1]
    below, above = np.where(far, mean, _PLACES[-1]) + np.array([[-_FAR[0]], [_FAR[1]]])
    return (
        np.where(far, below, np.interp(mean, _PLACES, x)),
        np.where(far, above, np.interp(mean, _PLACES, y)),
    )


@cache
def _best_contacts() -> tuple[FloatArray, FloatArray]:
    """Contacts of least mean loss for a standard normal ξ, by a successively refined search."""
    shift = np.linspace(-1.0, 1.0, _SIDE)
    centre = np.log(np.array([np.full(len(_PLACES), 1.0), np.full(len(_PLACES), 3.0)]))
    span = _FIRST_SPAN
    for _ in range(_ZOOMS):
        log_x = centre[0][:, None, None] + span * shift[:, None]
        log_y = centre[1][:, None, None] + span * shift
        loss = _mean_loss(np.exp(log_x), np.exp(log_y), _PLACES[:, None, None])
        best = loss.reshape(len(_PLACES), -1).argmin(axis=1)
        centre = centre + span * np.array([shift[best // _SIDE], shift[best % _SIDE]])
        span /= 3
    return np.exp(centre[0]), np.exp(centre[1])


def _mean_loss(x: FloatArray, y: FloatArray, mean: FloatArray) -> FloatArray:
    """Mean of (z − x)²(z − y)²/(2(√x + √y)⁴) for z normal around ``mean``."""
    a, b = mean - x, mean - y
    product_mean = 3 + a**2 + 4 * a * b + b**2 + (a * b) ** 2
    return np.asarray(product_mean / (2 * (np.sqrt(x) + np.sqrt(y)) ** 4))
