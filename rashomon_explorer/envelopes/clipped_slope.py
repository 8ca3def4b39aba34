"""Certified lower bounds of the excess of a loss with a clipped slope around a model."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.clipped_slope_expansion import ClippedSlopeExpansion
from rashomon_explorer.envelopes.moments import LARGEST_SPECTRUM, FourthMoment
from rashomon_explorer.envelopes.shifted import ExpandableRisk
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses.clipped_slope_risk import ClippedSlopeRisk

_ROUNDING = 1 + 1e-9  # eigenvalues and sums are right to about 1e-14: keep the bounds above
_CUTS = (0.0, *(2.0**-k for k in range(6, 0, -1)))  # shares of the largest room


@dataclass(frozen=True)
class Part:
    """One bound: the excess is at least ½(r² − uᵀDu) − Q(u), going on linearly."""

    dropped: FloatArray  # (p, p): D = Σ w b_i b_iᵀ over the rows that are left out
    # Q(u) = Σ w (b_i·u)⁴/(32 t_i²) over the others; None for more than 64 parameters
    fourth: FourthMoment | None
    # largest_dropped, largest_fourth: upper bounds of uᵀDu and Q(u) over unit vectors
    largest_dropped: float
    largest_fourth: float

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound by the radius alone."""
        return _bent(radius, self.largest_dropped, self.largest_fourth)

    def at(self, unit: FloatArray, radius: FloatArray) -> FloatArray:
        """Lower bound (K,) at radius·unit, for unit vectors (p, K)."""
        if self.fourth is None:
            return self.radial(radius)
        dropped = np.einsum("ij,ij->j", unit, self.dropped @ unit) * _ROUNDING + 1e-12
        fourth = self.fourth.at(unit) * _ROUNDING + 1e-12 * self.largest_fourth
        return _bent(radius, dropped, fourth)


@dataclass(frozen=True)
class ClippedSlopeBound:
    """Lower bound of the excess by the rows on the parabola and their room to its ends.

    A row on the parabola at distance t from the nearer end has, for a change b of its score, an
    excess over the tangent of at least w·b²/2 for |b| ≤ t and w(t|b| − t²/2) beyond, w = 1/(n·
    smoothing): its curvature may vanish only there. Other rows have at least 0. As
    (|b| − t)²/2 ≤ b⁴/(32t²), attained at |b| = 2t, a row's excess is at least
    w·b²/2 − w·b⁴/(32t²), and it is at least 0 = w·b²/2 − w·b²/2. The first is used for rows with
    much room and the second for the others, for several limits between the two; the largest of
    the bounds is taken. Each goes on linearly from where it grows less than proportionally,
    because a convex function that is 0 at 0 does not (own derivation).
    """

    parts: tuple[Part, ...]  # one for each limit
    # what a bound around another centre can be made of; None for more than 64 parameters
    expansion: ExpandableRisk | None = None

    @classmethod
    def of(cls, rows: FloatArray, room: FloatArray, weight: float) -> "ClippedSlopeBound":
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
            # Σ w b_i b_iᵀ is at most the identity, so that Q is at most its largest factor.
            largest = float(longest[bins >= cut].max(initial=0.0)) * _ROUNDING
            fourth = fourths[cut] if fourths else None
            if fourth is not None:
                largest = min(largest, fourth.supremum())
            top = float(np.linalg.eigvalsh(dropped)[-1]) * _ROUNDING
            parts.append(Part(dropped, fourth, max(top, 0.0), largest))
        return cls(_useful(parts))

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound by the radius alone, nondecreasing; same shape as ``radius``."""
        radius = np.asarray(radius, dtype=float)
        return np.asarray(np.max([part.radial(radius) for part in self.parts], axis=0))

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) at whitened points (p, K)."""
        radius = np.sqrt(np.einsum("ij,ij->j", points, points))
        unit = points / np.maximum(radius, 1e-300)
        along = [part.at(unit, radius) for part in self.parts]
        return np.maximum(self.radial(radius), np.max(along, axis=0))


def clipped_slope_bound(
    risk: ClippedSlopeRisk, theta: FloatArray, whiten: FloatArray
) -> ClippedSlopeBound:
    """Bound around the model ``theta`` (p,) in the metric whitened by ``whiten`` (p, p).

    A loss with a kink has no curvature that an envelope could be made of, and is refused.
    """
    if risk.shape.smoothing == 0:
        raise SamplerError(
            "a loss with kinks has no certified quadratic bound: use a smoothed loss "
            "(smoothed_hinge), or proposals under a plane, which need none"
        )
    room = risk.shape.room(risk.scores(theta))
    inside = room > 0
    rows = risk.rows[inside] @ whiten
    bound = ClippedSlopeBound.of(rows, room[inside], 1 / (risk.n * risk.shape.smoothing))
    if risk.p > LARGEST_SPECTRUM:
        return bound
    return replace(bound, expansion=ClippedSlopeExpansion(risk.rows, risk.offsets, risk.shape))


def _tails(rows: FloatArray, weights: FloatArray, bins: NDArray[np.intp]) -> list[FourthMoment]:
    """Fourth moments of the rows of bin ≥ cut, for every cut; none for many parameters."""
    if rows.shape[1] > LARGEST_SPECTRUM:
        return []
    tails: list[FourthMoment] = []
    for cut in reversed(range(len(_CUTS))):
        own = FourthMoment.of(rows[bins == cut], weights[bins == cut])
        gram = own.gram + tails[-1].gram if tails else own.gram
        tails.append(FourthMoment(gram, own.p))
    return tails[::-1]


def _useful(parts: list[Part]) -> tuple[Part, ...]:
    """Those that are the best somewhere: the others only cost time."""
    radius = 10.0 ** np.linspace(-4, 3, 141)
    best = np.argmax([part.radial(radius) for part in parts], axis=0)
    return tuple(parts[k] for k in np.unique(best))


def _bent(
    radius: FloatArray, dropped: FloatArray | float, fourth: FloatArray | float
) -> FloatArray:
    """½(1 − dropped)r² − fourth·r⁴ up to where it grows less than r, then linear.

    The ratio to r, ½(1 − dropped)r − fourth·r³, is largest at r² = (1 − dropped)/(6·fourth).
    """
    half = np.maximum(1 - np.asarray(dropped, dtype=float), 0.0) / 2
    fourth = np.asarray(fourth, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(fourth > 0, np.sqrt(half / (3 * fourth)), np.inf)
    inner = np.minimum(radius, turn)
    return np.asarray(radius * np.maximum(half * inner - fourth * inner**3, 0.0))
