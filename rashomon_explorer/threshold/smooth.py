"""A threshold whose edge is rounded, still uniform inside."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import namespace
from rashomon_explorer.validation import check_positive


@dataclass(frozen=True)
class SmoothThreshold:
    """0, then v²/(2s), then v − s/2 from v = s on: exactly uniform inside, and smooth.

    Its excess over the hard threshold's bound is at most s/2 (own derivation, docs/theory.md §6),
    and a gradient step needs no Monte Carlo, unlike the Gaussian convolution of Theorem 3.2 of
    Ganesh et al. (2023).

    Parameters
    ----------
    width : float
        s > 0, in units of the loss.

    Raises
    ------
    ValueError
        If ``width`` is not a finite number above 0.

    Examples
    --------
    >>> SmoothThreshold(width=1.0).energy(np.array([-1.0, 0.5, 2.0])).tolist()
    [0.0, 0.125, 1.5]
    """

    width: float
    name: str = "smooth"

    def __post_init__(self) -> None:
        """Refuse a width that smooths nothing."""
        check_positive(width=self.width)

    def energy(self, beyond: FloatArray) -> FloatArray:
        """Value at losses beyond the edge."""
        outside = np.maximum(beyond, 0.0)
        inner = np.minimum(outside, self.width)
        return inner**2 / (2 * self.width) + (outside - inner)

    def slope(self, beyond: FloatArray) -> FloatArray:
        """min(max(v, 0)/s, 1)."""
        xp, share = namespace(beyond), beyond / self.width
        if xp is np:
            return np.clip(share, 0.0, 1.0)
        slope: FloatArray = xp.minimum(xp.maximum(share, 0 * share), 1 + 0 * share)
        return slope
