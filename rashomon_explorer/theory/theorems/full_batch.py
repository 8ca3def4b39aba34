"""Noisy gradient descent on all rows: Theorems 4.1 to 4.3."""

import math

from rashomon_explorer.planning.path import last_iterate_guarantee, path_guarantee
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.theory.theorems.common import (
    LAST_ONLY,
    NO_JUMPS,
    PROJECTED,
    WHOLE_PATH,
    check_convex_step,
    contracting,
    contraction_of,
    shift,
    state,
)
from rashomon_explorer.validation import check_count, check_positive


def gd_composition(*, sensitivity: float, n: int, sigma: float, n_steps: int) -> Guarantee:
    """All iterates of X ← X − η(mean gradient + Z), Z ~ N(0, σ²): μ = (L/(nσ))√t.

    Theorem 4.1 of Bok, Su and Altschuler 2024; tight, and nothing has to be convex.

    Parameters
    ----------
    sensitivity, n, sigma, n_steps
        As :mod:`rashomon_explorer.theory.theorems` says.

    Examples
    --------
    >>> gd_composition(sensitivity=2.0, n=100, sigma=0.2, n_steps=100).mu
    1.0
    """
    check_count(n=n, n_steps=n_steps)
    moved = shift(sensitivity=sensitivity, batch_size=n, sigma=sigma)
    # In units of the noise: steps of h = 1/2 have noise of deviation 1.
    path = path_guarantee(beta=1.0, sensitivity=2 * moved, step_size=0.5, n_steps=n_steps)
    return state(path.mu, "Theorem 4.1", WHOLE_PATH)


def gd_strongly_convex(
    *,
    sensitivity: float,
    n: int,
    sigma: float,
    n_steps: int,
    contraction: float | None = None,
    ridge: float | None = None,
    smoothness: float | None = None,
    step_size: float | None = None,
) -> Guarantee:
    """Last iterate for strongly convex, smooth losses.

    μ = √((1 − c^t)/(1 + c^t) · (1 + c)/(1 − c)) · L/(nσ), exact for η ≤ 2/(M + m) (Theorem 4.2 of
    Bok, Su and Altschuler 2024).

    Parameters
    ----------
    sensitivity, n, sigma, n_steps
        As :mod:`rashomon_explorer.theory.theorems` says.
    contraction, ridge, smoothness, step_size : float, optional
        The first, or the other three.

    Examples
    --------
    >>> settings = {"sensitivity": 2.0, "n": 100, "sigma": 0.2, "n_steps": 100}
    >>> round(gd_strongly_convex(**settings, contraction=0.9).mu, 4)
    0.4359
    """
    check_count(n=n, n_steps=n_steps)
    c = contraction_of(
        contraction=contraction, ridge=ridge, smoothness=smoothness, step_size=step_size
    )
    moved = shift(sensitivity=sensitivity, batch_size=n, sigma=sigma)
    last = last_iterate_guarantee(
        beta=1.0, sensitivity=2 * moved, step_size=0.5, n_steps=n_steps, contraction=c
    )
    return state(last.mu, "Theorem 4.2", contracting(c), NO_JUMPS, LAST_ONLY)


def gd_convex(
    *,
    sensitivity: float,
    n: int,
    sigma: float,
    n_steps: int,
    diameter: float,
    step_size: float,
    smoothness: float,
) -> Guarantee:
    """Last iterate for convex, smooth losses on a domain of diameter D, for any number of steps.

    μ = (1/σ)√(3LD/(ηn) + (L²/n²)⌈Dn/(ηL)⌉), t ≥ Dn/(ηL) (Theorem 4.3 of Bok, Su and Altschuler
    2024). :func:`last_iterate_guarantee` is a little below: it does not round in the proof.

    Parameters
    ----------
    sensitivity, n, sigma, n_steps, diameter, step_size, smoothness
        As :mod:`rashomon_explorer.theory.theorems` says.

    Examples
    --------
    >>> settings = {"sensitivity": 2.0, "n": 100, "sigma": 0.2, "diameter": 1.0}
    >>> round(gd_convex(**settings, step_size=0.5, smoothness=4.0, n_steps=1000).mu, 4)
    2.0
    """
    check_count(n=n, n_steps=n_steps)
    check_positive(diameter=diameter)
    check_convex_step(step_size=step_size, smoothness=smoothness)
    moved = shift(sensitivity=sensitivity, batch_size=n, sigma=sigma)
    if moved == 0:
        return state(0.0, "Theorem 4.3", LAST_ONLY)
    needed = diameter * n / (step_size * sensitivity)
    if n_steps < needed:
        raise ValueError(
            "n_steps must be at least diameter·n/(step_size·sensitivity) = "
            f"{needed:g}, got {n_steps!r}; use gd_composition"
        )
    far = diameter / (step_size * sigma)
    mu = math.sqrt(3 * moved * far + moved**2 * math.ceil(needed))
    return state(mu, "Theorem 4.3", PROJECTED, NO_JUMPS, LAST_ONLY)
