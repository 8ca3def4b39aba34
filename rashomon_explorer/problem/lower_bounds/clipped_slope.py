"""Lower bounds of losses with bounded slope."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.losses.kinked import ClippedSlope, ClippedSlopeRisk
from rashomon_explorer.problem.lower_bounds import quartic, smooth

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

    def form(self, theta: FloatArray, whiten: FloatArray, radius: float) -> quartic.QuarticForm:
        """Lower bound of the excess over the tangent at ``theta``, for every step whiten·w."""
        whitened = self.rows @ whiten
        scale = self._scales(whitened, radius)
        bounds = minorant(self.shape, self._scores(theta), scale)
        return quartic.QuarticForm.from_rows(whitened, bounds / len(self.rows))

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
        bound = _same_zone(wider, moved, scale)
        bound[0] += wider.value(moved) - (smoothing - shape.smoothing) / 2 * middle**2 - value
        bound[1] += wider.slope(moved) - slope
        mean = bound[0] + bound[2] * scale**2 + 3 * bound[4] * scale**4
        better = mean > best_mean
        best[:, better], best_mean[better] = bound[:, better], mean[better]
    return best


def _same_zone(shape: ClippedSlope, a: FloatArray, scale: FloatArray) -> FloatArray:
    entered = quartic.half_square_minorant((a - shape.low * shape.smoothing) / scale)
    left = quartic.half_square_minorant((shape.high * shape.smoothing - a) / scale)
    bound = entered + left * _MIRROR
    bound[2] -= 0.5
    return np.asarray(bound * scale ** (2.0 - np.arange(5.0)[:, None]) / shape.smoothing)


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
    expansion: quartic.ExpandableRisk | None = None  # None for more than 64 parameters

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
        return cls(_useful(parts))

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound as a function of the radius only, nondecreasing; same shape as ``radius``."""
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


def _useful(parts: list[ClippedSlopeTerm]) -> tuple[ClippedSlopeTerm, ...]:
    """Terms that are the largest somewhere; the others only add computing time."""
    radius = 10.0 ** np.linspace(-4, 3, 141)
    best = np.argmax([part.radial(radius) for part in parts], axis=0)
    return tuple(parts[k] for k in np.unique(best))


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
