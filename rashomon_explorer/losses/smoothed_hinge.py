"""Hinge loss with its kink replaced by a parabola."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses.clipped_slope import ClippedSlope
from rashomon_explorer.losses.clipped_slope_risk import ClippedSlopeRisk
from rashomon_explorer.losses.hinge import margin_risk


@dataclass(frozen=True)
class SmoothedHingeLoss:
    """Huberised hinge loss of the margin v = y z·θ, for labels in {−1, +1}.

    0 for v ≥ 1, (1 − v)²/(2s) for 1 − s ≤ v ≤ 1, and 1 − v − s/2 below, s the ``smoothing``: at
    most s/2 under the hinge loss.

    Parameters
    ----------
    smoothing : float, default=1.0
        Length of the parabola's zone, > 0.

    Raises
    ------
    ValueError
        If the smoothing is not a finite number above 0.

    Examples
    --------
    >>> loss = SmoothedHingeLoss(smoothing=0.5)
    >>> loss.oscillation(reach=4.0), loss.smoothness(row_bound=1.0)
    (9.5, 2.0)
    """

    smoothing: float = 1.0
    name: str = "smoothed_hinge"
    task: str = "classification"
    link: str = "sign"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def __post_init__(self) -> None:
        """Refuse a smoothing that smooths nothing."""
        if not (np.isfinite(self.smoothing) and self.smoothing > 0):
            raise ValueError(
                f"smoothing must be finite and > 0, got {self.smoothing!r}; for 0 use the "
                "hinge loss"
            )

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·min(1, (1 + reach)/smoothing): the slope grows with 1 − v.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound * min(1.0, (1 + reach) / self.smoothing)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²/smoothing.

        Parameters
        ----------
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound**2 / self.smoothing

    def oscillation(self, reach: float) -> float:
        """Oscillation 2[f(−s) − f(s)] of the difference of two rows' losses, s = reach.

        The loss f falls in the margin v, |v| ≤ s, so that one row's loss lies in [f(s), f(−s)];
        the difference of two has twice that width, and opposite rows attain it.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        """
        low, high = self._shape.value(np.array([1 - reach, 1 + reach]))
        return 2 * float(high - low)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ClippedSlopeRisk:
        """Mean smoothed hinge loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        targets : ndarray of shape (n,)
        """
        return margin_risk(rows, targets, self._shape)

    @property
    def _shape(self) -> ClippedSlope:
        return ClippedSlope(0.0, 1.0, self.smoothing)
