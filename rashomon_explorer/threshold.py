"""Shapes of the threshold: how the energy rises outside the Rashomon set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Threshold(Protocol):
    """Energy of a model by its loss above the edge of the Rashomon set.

    Nondecreasing with slope at most 1 and 0 inside, so that a draw's price does not depend on
    the shape (docs/theory.md §1).
    """

    @property
    def name(self) -> str:
        """Key in the registry."""
        ...

    def energy(self, beyond: FloatArray) -> FloatArray:
        """Energy at losses ``beyond`` min L + ψ; same shape."""
        ...

    def slope(self, beyond: FloatArray) -> FloatArray:
        """Differentiate the energy; same shape."""
        ...


@dataclass(frozen=True)
class HardThreshold:
    """max(v, 0): the thresholded loss of Ganesh et al. (2023), with a kink at the edge.

    Examples
    --------
    >>> HardThreshold().energy(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    name: str = "hard"

    def energy(self, beyond: FloatArray) -> FloatArray:
        """max(v, 0)."""
        return np.maximum(beyond, 0.0)

    def slope(self, beyond: FloatArray) -> FloatArray:
        """1 outside, 0 inside and on the edge."""
        return (beyond > 0).astype(float)


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
        if not (np.isfinite(self.width) and self.width > 0):
            raise ValueError(f"width must be finite and > 0, got {self.width!r}")

    def energy(self, beyond: FloatArray) -> FloatArray:
        """Value at losses beyond the edge."""
        outside = np.maximum(beyond, 0.0)
        inner = np.minimum(outside, self.width)
        return inner**2 / (2 * self.width) + (outside - inner)

    def slope(self, beyond: FloatArray) -> FloatArray:
        """min(max(v, 0)/s, 1)."""
        return np.clip(beyond / self.width, 0.0, 1.0)


THRESHOLDS: dict[str, Callable[[float], Threshold]] = {
    "hard": lambda psi: HardThreshold(),
    "smooth": lambda psi: SmoothThreshold(width=psi / 2),
}


def get_threshold(threshold: str | Threshold, psi: float) -> Threshold:
    """Shape of that name for a Rashomon threshold ``psi``, or the shape itself.

    Parameters
    ----------
    threshold : str or Threshold
        A key of ``THRESHOLDS``; ``"smooth"`` is ψ/2 wide.
    psi : float

    Returns
    -------
    Threshold

    Raises
    ------
    ValueError
        If the name is unknown, or ``"smooth"`` is asked for with ψ = 0.

    Examples
    --------
    >>> get_threshold("smooth", psi=0.02)
    SmoothThreshold(width=0.01, name='smooth')
    """
    if not isinstance(threshold, str):
        return threshold
    if threshold not in THRESHOLDS:
        raise ValueError(
            f"threshold must be one of {sorted(THRESHOLDS)} or a Threshold, got {threshold!r}"
        )
    return THRESHOLDS[threshold](psi)
