"""A polynomial below the mean of a loss with a clipped slope, around any model."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.half_square import half_square_minorant
from rashomon_explorer.envelopes.quartic_form import QuarticForm
from rashomon_explorer.losses.clipped_slope import ClippedSlope

_LEAST_SCALE = 1e-9  # times the smoothing: a row of zeros has no scale of its own
_WIDER = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0])  # times the loss's own
_MIRROR = np.array([[1.0], [-1.0], [1.0], [-1.0], [1.0]])


@dataclass(frozen=True)
class ClippedSlopeExpansion:
    """Minorants of the mean of f(rows_i·θ + offset_i) for a clipped slope f."""

    rows: FloatArray  # (n, p)
    offsets: FloatArray  # (n,)
    shape: ClippedSlope  # of a smoothing above 0

    def tangent(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Mean loss and its gradient (p,) at one model (p,)."""
        scores = self._scores(theta)
        gradient = self.shape.slope(scores) @ self.rows / len(self.rows)
        return float(self.shape.value(scores).mean()), gradient

    def blurred(
        self, theta: FloatArray, whiten: FloatArray, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient (p,) and Hessian (p, p), averaged over steps whiten·w with ‖w‖ about radius.

        Scores then change by normal amounts, nearly.
        """
        scale = self._scales(self.rows @ whiten, radius)
        slope, curvature = blurred_slope(self.shape, self._scores(theta), scale)
        n = len(self.rows)
        return slope @ self.rows / n, (self.rows.T * curvature) @ self.rows / n

    def form(self, theta: FloatArray, whiten: FloatArray, radius: float) -> QuarticForm:
        """Lower bound of the excess over the tangent at ``theta``, for every step whiten·w.

        It is best where ‖w‖ is about ``radius``: a row's score then changes by about ‖b‖ times
        radius/√p.
        """
        whitened = self.rows @ whiten
        scale = self._scales(whitened, radius)
        bounds = minorant(self.shape, self._scores(theta), scale)
        return QuarticForm.of(whitened, bounds / len(self.rows))

    def _scores(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self.rows @ theta + self.offsets)

    def _scales(self, whitened: FloatArray, radius: float) -> FloatArray:
        mean_square = np.einsum("ij,ij->i", whitened, whitened) / whitened.shape[1]
        return np.maximum(np.sqrt(mean_square) * radius, _LEAST_SCALE * self.shape.smoothing)


def minorant(shape: ClippedSlope, a: FloatArray, scale: FloatArray) -> FloatArray:
    """Coefficients (5, n) of powers of b in a lower bound of f(a + b) − f(a) − f'(a)b.

    It holds for every real b and is best for |b| about ``scale`` (n,). f is a line plus the
    difference of the half squares ½z₊²/s of z = a − low·s and of z = a − high·s, s the smoothing.
    The second is ½z² − ½(−z)₊²: :func:`half_square_minorant` bounds both. Where scores change by
    more than the zone is wide, a function of a wider zone, moved and lowered until it is below
    f, loses less: from f(a) = max αa − ½sα² over the slopes α, a zone wider by d, with
    e = −½d(low + high) and c = −⅛d(low + high)², has f(a) ≥ f_{s+d}(a − e) + c because
    ½d(α − ½(low + high))² ≥ 0. The bound of largest mean is taken (own derivation).

    Examples
    --------
    >>> from rashomon_explorer.losses.clipped_slope import ClippedSlope
    >>> f, b = ClippedSlope(0.0, 1.0, smoothing=1.0), np.linspace(-9.0, 9.0, 500)
    >>> below = minorant(f, np.array([0.4]), np.array([0.2]))
    >>> excess = f.value(0.4 + b) - f.value(np.array(0.4)) - 0.4 * b
    >>> bool((np.polynomial.polynomial.polyval(b, below[:, 0]) <= excess + 1e-12).all())
    True
    """
    value, slope = shape.value(a), shape.slope(a)
    middle = (shape.low + shape.high) / 2
    # A convex function lies above its tangent, which is best far from the zone.
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
    entered = half_square_minorant((a - shape.low * shape.smoothing) / scale)
    left = half_square_minorant((shape.high * shape.smoothing - a) / scale)
    bound = entered + left * _MIRROR
    bound[2] -= 0.5
    return np.asarray(bound * scale ** (2.0 - np.arange(5.0)[:, None]) / shape.smoothing)


def blurred_slope(
    shape: ClippedSlope, a: FloatArray, scale: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Means (n,) of f' and f'' over normal arguments around ``a`` (n,) with this deviation.

    Examples
    --------
    >>> from rashomon_explorer.losses.clipped_slope import ClippedSlope
    >>> f = ClippedSlope(0.0, 1.0, smoothing=1.0)
    >>> [part.round(3).tolist() for part in blurred_slope(f, np.array([0.5]), np.array([0.1]))]
    [[0.5], [1.0]]
    """
    means, shares = np.zeros((2, len(a))), np.zeros((2, len(a)))
    for k, end in enumerate((shape.low, shape.high)):
        place = (a - end * shape.smoothing) / scale
        shares[k] = ndtr(place)
        means[k] = scale * (place * shares[k] + np.exp(-(place**2) / 2) / np.sqrt(2 * np.pi))
    slope = shape.low + (means[0] - means[1]) / shape.smoothing
    return slope, (shares[0] - shares[1]) / shape.smoothing
