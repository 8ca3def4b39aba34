"""Exact draws from above a normal law that is cut to a ball, few of its directions being bent."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import EnvelopeError
from rashomon_explorer.samplers.rejection.plane import cut_chi_square, log_chi_square_below
from rashomon_explorer.samplers.rejection.volumes import log_ball_volume

# Of the tangent, in units of the squared radius.
_PLACES = np.append(np.geomspace(1e-6, 0.45, 20), 1 - np.geomspace(0.5, 1e-7, 28))
_FLAT = 1e-9  # a bend that no ball of the radius feels, for each direction
_SLACK = 1e-9  # added to the bound: logarithms are right to about 1e-13 of their size


@dataclass(frozen=True)
class Rest:
    """What the directions without a pull weigh beside the others: d of them, all bent alike.

    Parameters
    ----------
    d : int
        Directions, ≥ 1.
    precision : float
        Of the normal law along each, ≥ 0.
    square : float
        Squared radius of the ball.
    """

    d: int
    precision: float
    square: float

    def log_weight(self, used: FloatArray) -> FloatArray:
        """Log of ∫ exp(−½·precision·‖s‖²) ds, ‖s‖² ≤ square − used: concave in ``used`` (K,)."""
        room = np.maximum(self.square - used, 0.0)
        if not self.precision:
            return np.asarray(xlogy(self.d / 2, room) + log_ball_volume(self.d))
        whole = self.d / 2 * math.log(2 * math.pi / self.precision)
        return whole + log_chi_square_below(self.d, self.precision * room)

    def steepness(self, used: FloatArray) -> FloatArray:
        """Minus twice the derivative (K,) of ``log_weight``, for ``used`` (K,) below ``square``."""
        room = self.square - used
        if not self.precision:
            return np.asarray(self.d / room)
        a, y = self.d / 2, self.precision * room
        log_density = (a - 1) * np.log(y / 2) - y / 2 - math.lgamma(a) - math.log(2)
        below = log_chi_square_below(self.d, y)
        return np.asarray(2 * self.precision * np.exp(log_density - below))

    def lengths(self, used: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Lengths (K,) of the rest beside ``used`` (K,), exactly."""
        room = np.maximum(self.square - used, 0.0)
        if not self.precision:
            return np.asarray(np.sqrt(room) * rng.random(len(room)) ** (1 / self.d))
        values = cut_chi_square(self.d, self.precision * room, rng) / self.precision
        return np.sqrt(np.minimum(values, room))


class CutNormal:
    """Density exp(−pull·t − ½Σ precision_j t_j² − ½·rest·‖s‖²) on ‖t‖² + ‖s‖² ≤ radius².

    s has d directions; the logarithm of its integral beside t is concave in ‖t‖² and lies below
    any of its tangents, w − ½τ(‖t‖² − x): so t is proposed from a normal law of precisions
    precision_j + τ and thinned, and s is then drawn exactly. x is the place of least mass.

    Parameters
    ----------
    pull : ndarray of shape (k,)
    precision : ndarray of shape (k,)
        ≥ 0.
    d : int
        Directions of s, ≥ 1.
    rest : float
        ≥ 0.
    radius : float

    Examples
    --------
    >>> law = CutNormal(np.array([1.0]), np.array([0.0]), d=2, rest=0.0, radius=1.0)
    >>> t, length = law.sample(1000, np.random.default_rng(0))
    >>> bool((t[0] ** 2 + length**2 <= 1).all()), round(law.log_mass, 1)
    (True, 1.8)
    """

    def __init__(
        self, pull: FloatArray, precision: FloatArray, d: int, rest: float, radius: float
    ) -> None:
        square = radius**2
        self._rest = Rest(d, rest if rest * square > _FLAT * d else 0.0, square)
        used = _PLACES * square
        tilt = self._rest.steepness(used)
        # One row for each place of the tangent.
        precisions = precision + tilt[:, None]
        masses = self._rest.log_weight(used) + tilt * used / 2
        masses += (pull**2 / precisions - np.log(precisions)).sum(axis=1) / 2
        best = int(np.argmin(masses))
        self._used, self.tilt = float(used[best]), float(tilt[best])
        self._top = float(self._rest.log_weight(used[best : best + 1])[0]) + _SLACK
        self._precision = precisions[best]
        self._middle = -pull / self._precision
        self.log_mass = float(masses[best]) + len(pull) / 2 * math.log(2 * math.pi) + _SLACK

    @property
    def middle(self) -> FloatArray:
        """Mean (k,) of t before it is thinned."""
        return self._middle

    @property
    def variances(self) -> tuple[FloatArray, float]:
        """Variances (k,) of t before it is thinned, and about that of each direction of s."""
        room = self._rest.square - min(self._used, float(self._middle @ self._middle))
        flat = room / (self._rest.d + 2)
        bent = 1 / self._rest.precision if self._rest.precision else math.inf
        return 1 / self._precision, min(flat, bent)

    def sample(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Exact t (k, K) and lengths of s (K,), K ≤ size: what is left of ``size`` proposals.

        Raises
        ------
        EnvelopeError
            If a weight is found above its tangent: the draws would not be exact.
        """
        noise = rng.standard_normal((len(self._middle), size))
        t = self._middle[:, None] + noise / np.sqrt(self._precision)[:, None]
        used = np.einsum("ij,ij->j", t, t)
        inside = used < self._rest.square
        t, used = t[:, inside], used[inside]
        tangent = self._top - self.tilt / 2 * (used - self._used)
        log_ratio = self._rest.log_weight(used) - tangent
        if (log_ratio > 0).any():
            raise EnvelopeError(
                f"a log weight lies {log_ratio.max():.2e} above its tangent: the draws would not "
                "be exact; please report the settings"
            )
        keep = np.log1p(-rng.random(len(log_ratio))) <= log_ratio
        t, used = t[:, keep], used[keep]
        return t, self._rest.lengths(used, rng)
