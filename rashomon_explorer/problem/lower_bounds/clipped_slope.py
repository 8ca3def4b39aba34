"""Lower bounds of losses with bounded slope."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.losses.kinked import ClippedSlopeRisk
from rashomon_explorer.problem.lower_bounds import smooth

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
    return ClippedSlopeBound.from_rows(rows, room[inside], 1 / (risk.n * risk.function.smoothing))


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
