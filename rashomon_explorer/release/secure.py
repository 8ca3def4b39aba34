"""The same release with noise that is exact: what changes in its price and in its numbers."""

from dataclasses import replace

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy import Guarantee, zcdp
from rashomon_explorer.release.budget import Budget
from rashomon_explorer.release.noise import GaussianNoise, LaplaceNoise, Noise
from rashomon_explorer.release.query import Sensitivity
from rashomon_explorer.secure_noise import (
    GAUSSIAN,
    LAPLACE,
    ROUNDED_BEFORE,
    SecureGaussian,
    SecureLaplace,
    SecureNoise,
)

# Of the sensitivity, for its rounding: half of what noise_scale has put on the scale for it.
_HAIR = 1 + 5e-10
_EXACT = f"noise is exact on a public grid (OpenDP); {ROUNDED_BEFORE}"


def check_secure(budget: Budget, random_state: int | None) -> None:
    """Refuse, before rows are read, what exact noise does not have, and a missing OpenDP."""
    if random_state is not None:
        raise ValueError(
            f"secure=True has no seed, got random_state={random_state!r}: noise that can be "
            "repeated can be taken off again; leave one of the two out"
        )
    if budget.mu is not None:
        raise ValueError(
            f"secure=True has no price in Gaussian DP, got mu={budget.mu!r}: the discrete "
            f"Gaussian law only has zCDP; give rho={budget.mu**2 / 2:g}"
        )
    _ = SecureLaplace(size=1, sensitivity=1.0, scale=1.0).measured


def secure_guarantee(guarantee: Guarantee) -> Guarantee:
    """Return what exact noise promises: zCDP where it was Gaussian DP, or pure DP.

    Examples
    --------
    >>> from rashomon_explorer.privacy import gdp
    >>> found = secure_guarantee(gdp(mu=0.2))
    >>> round(found.rho, 6), found.mu
    (0.02, inf)
    """
    normal = not np.isfinite(guarantee.pure_epsilon)
    return replace(
        zcdp(rho=guarantee.rho) if normal else guarantee,
        theorem=GAUSSIAN if normal else LAPLACE,
        assumptions=(*guarantee.assumptions, _EXACT),
    )


def exact_noise(size: int, sensitivity: Sensitivity, noise: Noise) -> SecureNoise:
    """Exact noise at no higher price than ``noise``.

    Examples
    --------
    >>> moved = Sensitivity.of([0.06, 0.08])
    >>> exact_noise(2, moved, GaussianNoise(0.5 * (1 + 1e-9))).price <= 0.02
    True
    """
    exact, norm = _EXACTLY[type(noise)]
    return exact(size, getattr(sensitivity, norm) * _HAIR, noise.scale)


def add_exactly(
    values: FloatArray, sensitivity: Sensitivity, noise: Noise
) -> tuple[FloatArray, Noise]:
    """Values with exact noise, and the noise as it was drawn; as they are if no record moves them.

    Examples
    --------
    >>> values, noise = add_exactly(np.array([0.5]), Sensitivity.of(0.01), LaplaceNoise(0.1))
    >>> noise.law, 0 < noise.scale - 0.1 < 1e-6
    ('discrete Laplace', True)
    """
    if sensitivity.l1 == 0:
        return values, _drawn(noise, 0.0)
    exact = exact_noise(len(values), sensitivity, noise)
    return exact.release(values), _drawn(noise, exact.drawn_scale)


def _drawn(noise: Noise, scale: float) -> Noise:
    return replace(noise, scale=scale, law=f"discrete {noise.law}")  # type: ignore[type-var]


_EXACTLY: dict[type[Noise], tuple[type[SecureNoise], str]] = {
    GaussianNoise: (SecureGaussian, "l2"),
    LaplaceNoise: (SecureLaplace, "l1"),
}
