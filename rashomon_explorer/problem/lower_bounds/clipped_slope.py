"""Lower bounds of losses with bounded slope."""

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.losses.kinked import ClippedSlope, ClippedSlopeRisk
from rashomon_explorer.problem.lower_bounds import smooth

_POINTS_AT_ONCE = 1024  # so that p² numbers per point stay in the cache
_SUM_ROUNDING = 1e-12  # of the sum of all terms' sizes; errors of sums are about 1e-14 of it


@dataclass(frozen=True)
class QuarticForm:
    """P(w) = constant + linear·w + wᵀ·quadratic·w + third(w) − fourth(w)."""

    constant: float
    linear: FloatArray  # (p,)
    quadratic: FloatArray  # (p, p)
    third: smooth.ThirdMoment
    fourth: smooth.FourthMoment  # with nonnegative weights, so that P decreases for long steps
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
            third=smooth.ThirdMoment.from_rows(rows, coefficients[3]),
            fourth=smooth.FourthMoment.from_rows(rows, -coefficients[4]),
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
        squares = smooth.outer_squares(points)
        value = self.linear @ points + np.einsum("ij,ij->j", points, self.quadratic @ points)
        value += self.constant + self.third.at(points, squares) - self.fourth.at(points, squares)
        return np.asarray(value - self._rounding(np.sqrt(np.einsum("ij,ij->j", points, points))))

    def least(self, radius: FloatArray) -> FloatArray:
        """Lower bound of P over all steps of each length (docs/theory.md §3); as ``radius``."""
        # m of the cubic form's m·w‖w‖² joins the linear part, which it may cancel.
        trace, rest = self.third.split()
        along = self.linear[:, None] + trace[:, None] * radius**2
        odd = np.linalg.norm(along, axis=0) * radius + rest.supremum() * radius**3
        even = float(np.linalg.eigvalsh(self.quadratic)[0]) * radius**2
        even -= self.fourth.supremum() * radius**4
        return np.asarray(self.constant + even - odd - self._rounding(radius))

    def _rounding(self, radius: FloatArray) -> FloatArray:
        return np.asarray(_SUM_ROUNDING * np.polynomial.polynomial.polyval(radius, self.sizes))


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
    def from_risk(
        cls, risk: "ClippedSlopeExpansion", minimum: Minimised, level: float
    ) -> "ShiftedBound":
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
    risk: "ClippedSlopeExpansion", minimum: Minimised, reach: float
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
        x, y, mean = np.exp(log_x), np.exp(log_y), _PLACES[:, None, None]
        a, b = mean - x, mean - y
        # Mean of (z − x)²(z − y)²/(2(√x + √y)⁴) for z normal around the mean.
        product_mean = 3 + a**2 + 4 * a * b + b**2 + (a * b) ** 2
        loss = product_mean / (2 * (np.sqrt(x) + np.sqrt(y)) ** 4)
        best = loss.reshape(len(_PLACES), -1).argmin(axis=1)
        centre = centre + span * np.array([shift[best // _SIDE], shift[best % _SIDE]])
        span /= 3
    return np.exp(centre[0]), np.exp(centre[1])


_LEAST_SCALE = 1e-9  # times the smoothing: a row of zeros has scale 0
_WIDER = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0])  # times the loss's own
_MIRROR = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]])


@dataclass(frozen=True)
class ClippedSlopeExpansion:
    """Minorants of the mean of f(rows_i·θ + offset_i) for a clipped slope f."""

    rows: FloatArray  # (n, p)
    offsets: FloatArray  # (n,)
    shape: ClippedSlope  # with smoothing > 0

    def tangent(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Mean loss and its gradient (p,) at one model (p,)."""
        scores = self._scores(theta)
        gradient = self.shape.slope(scores) @ self.rows / len(self.rows)
        return float(self.shape.value(scores).mean()), gradient

    def blurred(
        self, theta: FloatArray, whiten: FloatArray, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient (p,) and Hessian (p, p), averaged over steps whiten·w with ‖w‖ near radius."""
        scale = self._scales(self.rows @ whiten, radius)
        slope, curvature = blurred_slope(self.shape, self._scores(theta), scale)
        n = len(self.rows)
        return slope @ self.rows / n, (self.rows.T * curvature) @ self.rows / n

    def form(self, theta: FloatArray, whiten: FloatArray, radius: float) -> QuarticForm:
        """Lower bound of the excess over the tangent at ``theta``, for every step whiten·w."""
        whitened = self.rows @ whiten
        scale = self._scales(whitened, radius)
        bounds = minorant(self.shape, self._scores(theta), scale)
        return QuarticForm.from_rows(whitened, bounds / len(self.rows))

    def _scores(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self.rows @ theta + self.offsets)

    def _scales(self, whitened: FloatArray, radius: float) -> FloatArray:
        mean_square = np.einsum("ij,ij->i", whitened, whitened) / whitened.shape[1]
        return np.maximum(np.sqrt(mean_square) * radius, _LEAST_SCALE * self.shape.smoothing)


def minorant(shape: ClippedSlope, a: FloatArray, scale: FloatArray) -> FloatArray:
    """Coefficients (5, n) of powers of b in a lower bound of f(a + b) − f(a) − f'(a)b."""
    value, slope = shape.value(a), shape.slope(a)
    middle = (shape.low + shape.high) / 2
    # The tangent of a convex function is a minorant, and the best one far from the zone.
    best, best_mean = np.zeros((5, len(a))), np.zeros(len(a))
    for smoothing in _WIDER * shape.smoothing:
        wider = replace(shape, smoothing=smoothing)
        moved = a + (smoothing - shape.smoothing) * middle
        entered = half_square_minorant((moved - wider.low * smoothing) / scale)
        left = half_square_minorant((wider.high * smoothing - moved) / scale)
        bound = entered + left * _MIRROR
        bound[2] -= 0.5
        bound = bound * scale ** (2.0 - np.arange(5.0)[:, None]) / smoothing
        bound[0] += wider.value(moved) - (smoothing - shape.smoothing) / 2 * middle**2 - value
        bound[1] += wider.slope(moved) - slope
        mean = bound[0] + bound[2] * scale**2 + 3 * bound[4] * scale**4
        better = mean > best_mean
        best[:, better], best_mean[better] = bound[:, better], mean[better]
    return best


def blurred_slope(
    shape: ClippedSlope, a: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Means (n,) of f' and f'' for normal arguments around ``a`` (n,) with this deviation."""
    means, shares = np.zeros((2, len(a))), np.zeros((2, len(a)))
    for k, end in enumerate((shape.low, shape.high)):
        standardised = (a - end * shape.smoothing) / scale
        shares[k] = ndtr(standardised)
        means[k] = scale * (
            standardised * shares[k] + np.exp(-(standardised**2) / 2) / np.sqrt(2 * np.pi)
        )
    slope = shape.low + (means[0] - means[1]) / shape.smoothing
    return slope, (shares[0] - shares[1]) / shape.smoothing


_ROUNDING = 1 + 1e-9  # eigenvalues and sums have errors of about 1e-14: keeps upper bounds valid
_CUTS = (0.0, *(2.0**-k for k in range(6, 0, -1)))  # shares of the largest room


@dataclass(frozen=True)
class ClippedSlopeTerm:
    """One bound: the excess is at least ½(r² − uᵀDu) − Q(u), continued linearly."""

    dropped: FloatArray  # (p, p): D = Σ w b_i b_iᵀ over the omitted rows
    # Q(u) = Σ w (b_i·u)⁴/(32 t_i²) over the others; None for more than 64 parameters
    fourth: smooth.FourthMoment | None
    # largest_dropped, largest_fourth: upper bounds of uᵀDu and Q(u) over unit vectors
    largest_dropped: float
    largest_fourth: float

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound as a function of the radius only."""
        return _bent(radius, self.largest_dropped, self.largest_fourth)

    def at(self, unit: FloatArray, radius: FloatArray) -> FloatArray:
        """Lower bound (K,) at radius·unit, for unit vectors (p, K)."""
        if self.fourth is None:
            return self.radial(radius)
        dropped = np.einsum("ij,ij->j", unit, self.dropped @ unit) * _ROUNDING + 1e-12
        fourth = self.fourth.at(unit) * _ROUNDING + 1e-12 * self.largest_fourth
        return _bent(radius, dropped, fourth)


@dataclass(frozen=True)
class ClippedSlopeBound(smooth.ExcessBound):
    """Lower bound of the excess from rows on the parabola and their distance to its ends."""

    parts: tuple[ClippedSlopeTerm, ...]  # one per limit
    expansion: ClippedSlopeExpansion | None = None  # None for more than 64 parameters

    @classmethod
    def from_rows(cls, rows: FloatArray, room: FloatArray, weight: float) -> "ClippedSlopeBound":
        """Bound from the whitened rows (m, p) on the parabola, their room (m,) > 0 and w."""
        p = rows.shape[1]
        limits = np.array(_CUTS) * room.max(initial=0.0)
        bins = np.searchsorted(limits, room, side="right") - 1
        quartic = weight / (32 * room**2)
        dropped, parts = np.zeros((p, p)), []
        fourths = _tails(rows, quartic, bins)
        longest = np.einsum("ij,ij->i", rows, rows) / (32 * room**2)
        for cut in range(len(_CUTS)):
            if cut:
                left_out = rows[bins == cut - 1]
                dropped = dropped + weight * left_out.T @ left_out
            # Σ w b_i b_iᵀ is at most the identity, so Q is at most its largest factor.
            largest = float(longest[bins >= cut].max(initial=0.0)) * _ROUNDING
            fourth = fourths[cut] if fourths else None
            if fourth is not None:
                largest = min(largest, fourth.supremum())
            top = float(np.linalg.eigvalsh(dropped)[-1]) * _ROUNDING
            parts.append(ClippedSlopeTerm(dropped, fourth, max(top, 0.0), largest))
        # The others only add computing time.
        radius = 10.0 ** np.linspace(-4, 3, 141)
        largest_somewhere = np.unique(np.argmax([part.radial(radius) for part in parts], axis=0))
        return cls(tuple(parts[k] for k in largest_somewhere))

    def radial(self, radius: FloatArray) -> FloatArray:
        radius = np.asarray(radius, dtype=float)
        return np.asarray(np.max([part.radial(radius) for part in self.parts], axis=0))

    def along(self, unit: FloatArray, radius: FloatArray) -> FloatArray:
        """Lower bound (K,) at radius·unit: the largest of all limits."""
        return np.asarray(np.max([part.at(unit, radius) for part in self.parts], axis=0))


def clipped_slope_bound(
    risk: ClippedSlopeRisk, theta: FloatArray, whiten: FloatArray
) -> ClippedSlopeBound:
    """Bound around the model ``theta`` (p,) in the metric whitened by ``whiten`` (p, p)."""
    if risk.function.smoothing == 0:
        raise SamplerError(
            "a loss with kinks has no certified quadratic bound: use a smoothed loss "
            "(smoothed_hinge), or proposals from tangent planes, which need none"
        )
    room = risk.function.room(risk.scores(theta))
    inside = room > 0
    rows = risk.rows[inside] @ whiten
    bound = ClippedSlopeBound.from_rows(rows, room[inside], 1 / (risk.n * risk.function.smoothing))
    if risk.p > smooth.LARGEST_SPECTRUM:
        return bound
    return replace(
        bound, expansion=ClippedSlopeExpansion(risk.rows, risk.offsets[:, 0], risk.function)
    )


def _tails(
    rows: FloatArray, weights: FloatArray, bins: NDArray[np.intp]
) -> list[smooth.FourthMoment]:
    """Fourth moments of the rows of bin ≥ cut, for every cut; empty for many parameters."""
    if rows.shape[1] > smooth.LARGEST_SPECTRUM:
        return []
    tails: list[smooth.FourthMoment] = []
    for cut in reversed(range(len(_CUTS))):
        moments = smooth.FourthMoment.from_rows(rows[bins == cut], weights[bins == cut])
        gram = moments.gram + tails[-1].gram if tails else moments.gram
        tails.append(smooth.FourthMoment(gram, moments.p))
    return tails[::-1]


def _bent(
    radius: FloatArray, dropped: FloatArray | float, fourth: FloatArray | float
) -> FloatArray:
    """½(1 − dropped)r² − fourth·r⁴ up to the maximum of its ratio to r, then linear."""
    half = np.maximum(1 - np.asarray(dropped, dtype=float), 0.0) / 2
    fourth = np.asarray(fourth, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(fourth > 0, np.sqrt(half / (3 * fourth)), np.inf)
    inner = np.minimum(radius, turn)
    return np.asarray(radius * np.maximum(half * inner - fourth * inner**3, 0.0))
