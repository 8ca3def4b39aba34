"""Polynomials of degree four below half the squared positive part, on the whole line."""

from functools import cache

import numpy as np

from rashomon_explorer.array_types import FloatArray

_PLACES = np.linspace(-1.5, 8.0, 191)
_ZOOMS, _SIDE, _FIRST_SPAN = 6, 15, 3.0
_FAR = (0.9, 1.2)  # beyond the table the contacts lie this far below and above the place


def half_square_minorant(place: FloatArray) -> FloatArray:
    """Coefficients (5, n) of powers 0 to 4 of ξ in a lower bound of ½(a + ξ)₊² − ½a₊² − a₊ξ.

    It holds for every real ξ, with a = place. For x, y ≥ 0, not both 0, and z = a + ξ,

        ½z₊² ≥ ½z² − (z − x)²(z − y)² / (2(√x + √y)⁴),

    with equality at z = x and z = y: for z ≥ 0 because a square is subtracted, and for z = −m
    because (m + x)(m + y) = m(m + x + y + xy/m) ≥ m(√x + √y)² (own derivation). For x = y = a it
    is the bound ξ⁴/(32a²) on what is lost beyond a distance a. The contacts are those of largest
    mean for a ξ of mean 0 and variance 1; where that is negative, the bound is 0, by convexity.

    >>> place, xi = np.array([-3.0, -0.3, 0.3, 9.0]), np.linspace(-60.0, 60.0, 1001)
    >>> start = np.maximum(place, 0.0)[:, None]
    >>> excess = np.maximum(place[:, None] + xi, 0.0) ** 2 / 2 - start**2 / 2 - start * xi
    >>> below = np.polynomial.polynomial.polyval(xi, half_square_minorant(place))
    >>> bool((below <= excess + 1e-9).all())
    True
    """
    low, high = _contacts(place)
    factor = 0.5 / (np.sqrt(low) + np.sqrt(high)) ** 4
    total, product = 2 * place - low - high, (place - low) * (place - high)
    one, zero = np.ones_like(place), np.zeros_like(place)
    lost = np.array([product**2, 2 * total * product, total**2 + 2 * product, 2 * total, one])
    behind = np.minimum(place, 0.0)  # the tangent is 0 there, else it cancels ½a² + aξ
    bound = np.array([behind**2 / 2, behind, one / 2, zero, zero]) - factor * lost
    return np.where(bound[0] + bound[2] + 3 * bound[4] > 0, bound, 0.0)


def _contacts(place: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points x and y (n,) at which the curve touches: any would be valid."""
    x, y = _best_contacts()
    far = place > _PLACES[-1]
    below, above = np.where(far, place, _PLACES[-1]) + np.array([[-_FAR[0]], [_FAR[1]]])
    return (
        np.where(far, below, np.interp(place, _PLACES, x)),
        np.where(far, above, np.interp(place, _PLACES, y)),
    )


@cache
def _best_contacts() -> tuple[FloatArray, FloatArray]:
    """Contacts of least mean loss for a standard normal ξ, by a search that zooms in."""
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


def _mean_loss(x: FloatArray, y: FloatArray, place: FloatArray) -> FloatArray:
    """Mean of (z − x)²(z − y)²/(2(√x + √y)⁴) for z normal around ``place``."""
    a, b = place - x, place - y
    mean = 3 + a**2 + 4 * a * b + b**2 + (a * b) ** 2
    return np.asarray(mean / (2 * (np.sqrt(x) + np.sqrt(y)) ** 4))
