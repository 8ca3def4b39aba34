"""Thresholds of the Rashomon set: hard, smooth and Gaussian."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count, check_positive
from rashomon_explorer.exceptions import SamplerError


class Threshold(Protocol):
    """Energy of a loss above the set's edge: of slope 0 to 1, so its shape costs no privacy."""

    @property
    def name(self) -> str:
        """Key in the registry."""

    def energy(self, excess: FloatArray) -> FloatArray:
        """Energy at losses ``excess`` min L + ψ; same shape."""

    def slope(self, excess: FloatArray) -> FloatArray:
        """Return the derivative of the energy; same shape."""


@dataclass(frozen=True)
class GaussianThreshold:
    """E[max{L(θ + λξ), min L + ψ}] for a standard normal ξ, its gradient by Monte Carlo."""

    scale: float | None = None
    n_samples: int = 16
    name: str = "gaussian"

    def __post_init__(self) -> None:
        if self.scale is not None:
            check_positive(scale=self.scale)
        check_count(n_samples=self.n_samples)

    def energy(self, excess: FloatArray) -> NoReturn:
        """Raise an error: the energy is not a function of the loss at one model."""
        raise SamplerError(_ONLY_CHAINS)

    def slope(self, excess: FloatArray) -> NoReturn:
        raise SamplerError(_ONLY_CHAINS)


_ONLY_CHAINS = (
    "the Gaussian threshold has no closed form: draw from it with a LangevinSampler, or use "
    'threshold="smooth"'
)


@dataclass(frozen=True)
class HardThreshold:
    """max(v, 0): the thresholded loss of Ganesh et al. (2023), with a kink at the edge."""

    name: str = "hard"

    def energy(self, excess: FloatArray) -> FloatArray:
        return np.maximum(excess, 0.0)

    def slope(self, excess: FloatArray) -> FloatArray:
        """1 outside, 0 inside and on the edge."""
        return np.where(excess > 0, 1.0, 0.0)


@dataclass(frozen=True)
class NoThreshold:
    """v itself: the hard threshold at ψ = 0; as smooth as the loss."""

    name: str = "hard"

    def energy(self, excess: FloatArray) -> FloatArray:
        """Return max(v, 0), which equals v up to the error of the numerical minimum."""
        return np.maximum(excess, 0.0)

    def slope(self, excess: FloatArray) -> FloatArray:
        """Return 1 everywhere: the minimum is not needed."""
        return np.ones_like(excess)


@dataclass(frozen=True)
class SmoothThreshold:
    """0, then v²/(2s), then v − s/2 for v ≥ s: smooth, exactly uniform inside (theory §6)."""

    width: float
    name: str = "smooth"

    def __post_init__(self) -> None:
        check_positive(width=self.width)

    def energy(self, excess: FloatArray) -> FloatArray:
        outer = np.maximum(excess, 0.0)
        inner = np.minimum(outer, self.width)
        return inner**2 / (2 * self.width) + (outer - inner)

    def slope(self, excess: FloatArray) -> FloatArray:
        """min(max(v, 0)/s, 1)."""
        return np.clip(excess / self.width, 0.0, 1.0)


THRESHOLDS: dict[str, Callable[[float], Threshold]] = {
    "gaussian": lambda psi: GaussianThreshold(),
    "hard": lambda psi: HardThreshold(),
    "smooth": lambda psi: SmoothThreshold(width=psi / 2),
}


def get_threshold(threshold: str | Threshold, psi: float) -> Threshold:
    """Return the threshold with that name for ``psi``, or the threshold itself."""
    if isinstance(threshold, str) and threshold in THRESHOLDS:
        threshold = THRESHOLDS[threshold](psi)
    if isinstance(threshold, str) or not hasattr(threshold, "energy"):
        raise ValueError(
            f"threshold must be one of {sorted(THRESHOLDS)} or a Threshold, got {threshold!r}"
        )
    # At ψ = 0 there is no threshold: the slope is 1 for every record.
    return NoThreshold() if isinstance(threshold, HardThreshold) and psi == 0 else threshold
