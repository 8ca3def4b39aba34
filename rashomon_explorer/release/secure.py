"""Exact noise for a release."""

import importlib
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.imports import missing_package
from rashomon_explorer._utils.validation import check_count, check_positive
from rashomon_explorer.privacy import Guarantee, zcdp
from rashomon_explorer.release import statistic
from rashomon_explorer.release.query import Sensitivity

GAUSSIAN = "discrete Gaussian noise (Canonne, Kamath and Steinke 2020, Theorem 4)"
LAPLACE = "discrete Laplace noise (Ghosh, Roughgarden and Sundararajan 2012)"
ROUNDED_BEFORE = "the values under it are computed in double precision"
"""Assumption that remains with exact noise."""

_FINER = 2.0**-20  # relative to the sensitivity: bound on what rounding to the default grid adds
_FINEST = -1000  # exponent of a grid: doubles end at 2^-1074
_ULPS = 1 + 2.0**-48  # margin for a few rounding errors
_LOCK = threading.Lock()


@dataclass(frozen=True)
class SecureNoise:
    """Independent noise on each coordinate of a vector, exact on the multiples of a grid."""

    size: int
    sensitivity: float
    scale: float
    grid: float | None = None
    order: ClassVar[int]  # p of the ℓ_p sensitivity and of the exponent of the distribution
    maker: ClassVar[str]

    def __post_init__(self) -> None:
        check_count(size=self.size)
        check_positive(sensitivity=self.sensitivity)
        check_positive(scale=self.scale)
        if self.grid is not None:
            check_positive(grid=self.grid)
            if math.frexp(self.grid)[0] != 0.5:
                raise ValueError(f"grid must be a power of 2, such as 2**-20, got {self.grid!r}")
        if self.exponent < _FINEST or not 0 < self.noise_cost < math.inf:
            raise ValueError(
                f"sensitivity {self.sensitivity!r}, scale {self.scale!r} and grid {self.grid!r} "
                "are too far apart, or too small, for doubles: use another unit"
            )

    @property
    def noise_cost(self) -> float:
        """Allowed cost of the noise: ρ = Δ²/(2σ²) of Gaussian, ε = Δ/b of Laplace noise."""
        return (self.sensitivity / self.scale) ** self.order / self.order

    @property
    def rounding(self) -> float:
        """r/grid: bound on the additional distance of two vectors by rounding, in grid steps."""
        return math.sqrt(self.size) if self.order == 2 else float(self.size)

    @property
    def exponent(self) -> int:
        """Exponent k of the grid 2ᵏ."""
        widest = self.sensitivity * _FINER / self.rounding if self.grid is None else self.grid
        return math.frexp(widest)[1] - 1

    @property
    def cell(self) -> float:
        """2ᵏ, the grid in use."""
        return math.ldexp(1.0, self.exponent)

    @property
    def drawn_scale(self) -> float:
        """Scale of the noise that is drawn, slightly above ``scale``."""
        return self._mechanism[0]

    @property
    def measured(self) -> float:
        """Privacy map, by OpenDP, of the mechanism that runs; at most ``noise_cost``."""
        return float(self._mechanism[1].map(float(self.sensitivity)))

    def release(self, values: ArrayLike) -> FloatArray:
        """Return finite values (size,) with fresh noise, on multiples of ``cell``."""
        exact = np.asarray(values, dtype=float)
        if exact.shape != (self.size,):
            raise ValueError(f"values must have shape ({self.size},), got {exact.shape}")
        # OpenDP would replace NaN by 0 and infinity by the largest double.
        if not np.isfinite(exact).all():
            raise ValueError("values must be finite: the statistic overflowed, or had no rows")
        return np.array(self._mechanism[1](exact.tolist()))

    @cached_property
    def _mechanism(self) -> tuple[float, Any]:
        domains, metrics, measurements = map(_opendp, ("domains", "metrics", "measurements"))
        numbers = domains.atom_domain(T=float, nan=False)
        domain = domains.vector_domain(numbers, size=int(self.size))
        metric = getattr(metrics, f"l{self.order}_distance")(T=float)
        make = getattr(measurements, self.maker)
        drawn = self.scale * (1 + self.rounding * self.cell / self.sensitivity) * _ULPS
        with _contrib_enabled():
            mechanism = make(domain, metric, drawn, k=self.exponent)
            while mechanism.map(float(self.sensitivity)) > self.noise_cost:
                drawn *= _ULPS
                mechanism = make(domain, metric, drawn, k=self.exponent)
        return drawn, mechanism


class SecureGaussian(SecureNoise):
    """Discrete Gaussian noise: Δ²/(2σ²)-zCDP for a vector of ℓ₂ sensitivity Δ; r = √size·grid."""

    # P(z) ∝ exp(−z²/(2σ²)) on the grid. For a shift of s by multiples of the grid the Rényi
    # divergence of order α is at most αs²/(2σ²) (Canonne, Kamath and Steinke 2020, Theorem 4);
    # independent coordinates add up. It is not Δ/σ-Gaussian DP: for the discrete distribution some
    # tests do better than for the normal one.
    order, maker = 2, "make_gaussian"


class SecureLaplace(SecureNoise):
    """Discrete Laplace noise: Δ/b-DP for a vector of ℓ₁ sensitivity Δ; r = size·grid."""

    # P(z) ∝ exp(−|z|/b) on the grid (Ghosh, Roughgarden and Sundararajan 2012): a shift changes
    # every probability by a factor of at most e^{|shift|/b}.
    order, maker = 1, "make_laplace"


def _opendp(name: str) -> Any:
    # Imported here because OpenDP is an optional dependency of 260 MB.
    try:
        return importlib.import_module(f"opendp.{name}")
    except ImportError as error:
        raise missing_package("Secure noise", "opendp", "secure") from error


@contextmanager
def _contrib_enabled() -> Iterator[None]:
    """Enable OpenDP's ``contrib`` feature, which its noise needs, in this context only."""
    mod = _opendp("mod")
    with _LOCK:
        before = "contrib" in mod.GLOBAL_FEATURES
        mod.enable_features("contrib")
        try:
            yield
        finally:
            if not before:
                mod.disable_features("contrib")


# Rounding margin of the sensitivity: half of the margin that noise_scale adds to the scale.
_ROUNDING_MARGIN = 1 + 5e-10
_EXACT = f"noise is exact on a public grid (OpenDP); {ROUNDED_BEFORE}"


def check_secure(random_state: int | None) -> None:
    """Raise an error if a seed is given, which exact noise does not have, or OpenDP is missing."""
    if random_state is not None:
        raise ValueError(
            f"secure=True has no seed, got random_state={random_state!r}: noise that can be "
            "repeated can be removed; omit one of the two"
        )
    _ = SecureLaplace(size=1, sensitivity=1.0, scale=1.0).measured


def secure_guarantee(guarantee: Guarantee) -> Guarantee:
    """Guarantee of exact noise: zCDP instead of Gaussian DP, or pure DP."""
    normal = not np.isfinite(guarantee.pure_epsilon)
    return replace(
        zcdp(rho=guarantee.rho) if normal else guarantee,
        theorem=GAUSSIAN if normal else LAPLACE,
        assumptions=(*guarantee.assumptions, _EXACT),
    )


def exact_noise(size: int, sensitivity: Sensitivity, noise: statistic.Noise) -> SecureNoise:
    """Exact noise at no higher privacy cost than ``noise``."""
    exact = SecureGaussian if noise.kind == statistic.GAUSSIAN else SecureLaplace
    norm = sensitivity.l2 if exact.order == 2 else sensitivity.l1
    return exact(size, norm * _ROUNDING_MARGIN, noise.scale)


def add_exactly(
    values: FloatArray, sensitivity: Sensitivity, noise: statistic.Noise
) -> tuple[FloatArray, statistic.Noise]:
    """Return values with exact noise, and the noise; values are exact if the sensitivity is 0."""
    scale = 0.0
    if sensitivity.l1 > 0:
        exact = exact_noise(len(values), sensitivity, noise)
        values, scale = exact.release(values), exact.drawn_scale
    return values, replace(noise, scale=scale, law=f"discrete {noise.law}")
