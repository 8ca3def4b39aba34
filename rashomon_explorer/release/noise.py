"""Noise of one query: distribution, quantiles, and the public grid of noisy values."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from rashomon_explorer._utils.arrays import FloatArray

_GRID_PER_SCALE = 1024
_HAIR = 1 + 1e-9  # sensitivities are computed in doubles: the factor covers their rounding


@dataclass(frozen=True)
class GaussianNoise:
    """N(0, σ²): ℓ₂ sensitivity Δ becomes Δ/σ-GDP (Dong, Roth and Su 2022, Theorem 2.7, §2.4)."""

    scale: float
    law: str = "Gaussian"

    @property
    def deviation(self) -> float:
        """Return σ."""
        return self.scale

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw independent values (size,)."""
        return rng.normal(scale=self.scale, size=size)

    def quantile(self, confidence: float) -> float:
        """Return σ·Φ⁻¹((1 + confidence)/2)."""
        return self.scale * float(ndtri((1 + confidence) / 2))


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace of scale b: ℓ₁ sensitivity Δ becomes Δ/b-DP (Dwork et al. 2006, Proposition 1)."""

    scale: float
    law: str = "Laplace"

    @property
    def deviation(self) -> float:
        """Return √2·b."""
        return math.sqrt(2) * self.scale

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw independent values (size,)."""
        return rng.laplace(scale=self.scale, size=size)

    def quantile(self, confidence: float) -> float:
        """Return −b·log(1 − confidence)."""
        return -self.scale * math.log1p(-confidence)


@dataclass(frozen=True)
class GumbelNoise:
    """Gumbel distribution of scale g: the place of the largest noisy utility is released, no value.

    It is place j with probability ∝ exp(u_j/g), the exponential mechanism (McSherry and Talwar
    2007). One record moves each utility by at most 1, so its range is bounded by 2/g.
    """

    scale: float
    law: str = "Gumbel"

    @property
    def deviation(self) -> float:
        """πg/√6."""
        return math.pi * self.scale / math.sqrt(6)

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw independent values (size,)."""
        return rng.gumbel(scale=self.scale, size=size)


Noise = GaussianNoise | LaplaceNoise
"""Independent noise of one scale on each coordinate of a query."""


def noise_scale(sensitivity: float, price: float) -> float:
    """Scale Δ/price, slightly enlarged for rounding errors."""
    return sensitivity / price * _HAIR


def on_grid(values: FloatArray, noise: Noise) -> FloatArray:
    """Round to a public grid: the largest power of two up to scale, /1024 (floating-point.md)."""
    if noise.scale == 0:
        return values
    step = 2.0 ** math.floor(math.log2(noise.scale)) / _GRID_PER_SCALE
    return np.asarray(np.round(values / step) * step + 0.0)
