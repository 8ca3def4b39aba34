"""Hinge loss max(0, 1 − y z·θ) with labels y in {−1, +1}."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses.clipped_slope import ClippedSlope
from rashomon_explorer.losses.clipped_slope_risk import ClippedSlopeRisk
from rashomon_explorer.losses.margins import folded


@dataclass(frozen=True)
class HingeLoss:
    """Hinge loss of a linear score, for labels in {−1, +1}: convex with a kink at margin 1.

    Examples
    --------
    >>> loss = HingeLoss()
    >>> loss.oscillation(reach=0.5), loss.oscillation(reach=4.0), loss.smoothness(row_bound=1.0)
    (2.0, 10.0, inf)
    """

    name: str = "hinge"
    task: str = "classification"
    link: str = "sign"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B: the slope is 0 or −1, and −1 is reached at the score 0.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound

    def smoothness(self, row_bound: float) -> float:
        """Infinite: the gradient jumps at margin 1.

        Parameters
        ----------
        row_bound : float
            Bound on the norm of a row.
        """
        return math.inf

    def oscillation(self, reach: float) -> float:
        """Oscillation 2·min(2s, 1 + s) of the difference of two rows' losses, s = reach.

        The loss f falls in the margin v, |v| ≤ s, so that one row's loss lies in [f(s), f(−s)],
        an interval of width 1 + s − max(0, 1 − s) = min(2s, 1 + s). The difference of two has
        twice that, and opposite rows attain it at the two ends of their line.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        """
        return 2 * min(2 * reach, 1 + reach)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ClippedSlopeRisk:
        """Mean hinge loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        targets : ndarray of shape (n,)
        """
        return margin_risk(rows, targets, ClippedSlope(0.0, 1.0))


def margin_risk(rows: FloatArray, targets: FloatArray, shape: ClippedSlope) -> ClippedSlopeRisk:
    """Mean of shape(1 − y z·θ)."""
    return ClippedSlopeRisk(folded(rows, targets), np.ones(len(rows)), shape)
