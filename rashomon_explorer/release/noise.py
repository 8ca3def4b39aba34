"""Noise of one query: its law, its quantiles, and the public grid that noisy values lie on."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from rashomon_explorer._utils.arrays import FloatArray

_GRID_PER_SCALE = 1024
_HAIR = 1 + 1e-9  # sensitivities are computed in doubles: the factor covers their rounding


class Noise(Protocol):
    """Independent noise of one scale on every coordinate of a query."""

    @property
    def scale(self) -> float:
        """σ of the Gaussian, b of the Laplace law."""
        ...

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        ...

    @property
    def law(self) -> str:
        """Name of the law."""
        ...

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw independent values."""
        ...

    def quantile(self, confidence: float) -> float:
        """Bound on the absolute value of one coordinate with this probability."""
        ...


@dataclass(frozen=True)
class GaussianNoise:
    """N(0, σ²): a query of L2 sensitivity Δ becomes Δ/σ-Gaussian DP.

    (Dong, Roth and Su 2022, Theorem 2.7; for vectors by rotation, §2.4.)
    """

    scale: float
    law: str = "Gaussian"

    @property
    def deviation(self) -> float:
        """σ."""
        return self.scale

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Independent values (size,)."""
        return rng.normal(scale=self.scale, size=size)

    def quantile(self, confidence: float) -> float:
        """σ·Φ⁻¹((1 + confidence)/2)."""
        return self.scale * float(ndtri((1 + confidence) / 2))


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace law of scale b: a query of L1 sensitivity Δ becomes Δ/b-DP.

    (Dwork, McSherry, Nissim and Smith 2006, Proposition 1.)
    """

    scale: float
    law: str = "Laplace"

    @property
    def deviation(self) -> float:
        """√2·b."""
        return math.sqrt(2) * self.scale

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Independent values (size,)."""
        return rng.laplace(scale=self.scale, size=size)

    def quantile(self, confidence: float) -> float:
        """−b·log(1 − confidence)."""
        return -self.scale * math.log1p(-confidence)


def noise_scale(sensitivity: float, price: float) -> float:
    """Scale Δ/price, slightly enlarged for rounding errors."""
    return sensitivity / price * _HAIR


def on_grid(values: FloatArray, noise: Noise) -> FloatArray:
    """Values rounded to a public grid: the power of two that 1024 times over is next below scale.

    The scale is public, and so is the grid. It is fine enough to cost no accuracy (a thousandth
    of the noise) and coarse enough to hide the last bits (docs/floating-point.md).
    """
    if noise.scale == 0:
        return values
    step = 2.0 ** math.floor(math.log2(noise.scale)) / _GRID_PER_SCALE
    return np.asarray(np.round(values / step) * step + 0.0)
