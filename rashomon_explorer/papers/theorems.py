"""Theorems on Langevin diffusion and full-batch chains."""

import math
from dataclasses import replace

from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.langevin.accounting import last_iterate_guarantee, path_guarantee
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import gdp

SOURCE = "of Bok, Su and Altschuler 2024"
WHOLE_PATH = "every iterate may be shown"
LAST_ONLY = "nothing but the last iterate is ever shown; the number of steps is settled beforehand"
NO_JUMPS = "the gradient has no jumps, as a hard threshold's has"
PROJECTED = "every loss is convex and smooth; every step is projected on the domain"
IN_ORDER = "the order of the batches is fixed"


def contracting(c: float) -> str:
    """Assume what makes a step bring models closer by a factor c."""
    return f"every loss is strongly convex and smooth, so that steps contract by c = {c:g}"


def shift(*, sensitivity: float, batch_size: float, sigma: float) -> float:
    """L/(bσ), by how many deviations of the noise one record moves a step."""
    check_nonnegative(sensitivity=sensitivity)
    check_positive(batch_size=batch_size, sigma=sigma)
    return sensitivity / (batch_size * sigma)


def check_batch(batch_size: int, n: int) -> None:
    """Refuse a batch that is no part of the n rows."""
    check_count(batch_size=batch_size, n=n)
    if batch_size > n:
        raise ValueError(f"batch_size must be at most n = {n}, got {batch_size!r}")


def check_convex_step(*, step_size: float, smoothness: float) -> None:
    """Refuse η > 2/M, at which a step of a convex loss need not bring models closer."""
    check_positive(step_size=step_size, smoothness=smoothness)
    if step_size > 2 / smoothness:
        raise ValueError(
            f"step_size must be at most 2/smoothness = {2 / smoothness:g}, got {step_size!r}"
        )


def contraction_factor(
    *,
    contraction: float | None = None,
    ridge: float | None = None,
    smoothness: float | None = None,
    step_size: float | None = None,
) -> float:
    """c, given or max{|1 − ηm|, |1 − ηM|} of an m-strongly convex, M-smooth loss."""
    if contraction is not None:
        if not (ridge is None and smoothness is None and step_size is None):
            raise ValueError("give either contraction or ridge, smoothness and step_size, not both")
        if not 0 <= contraction < 1:
            raise ValueError(f"contraction must be in [0, 1), got {contraction!r}")
        return contraction
    if ridge is None or smoothness is None or step_size is None:
        raise ValueError("give contraction, or all of ridge, smoothness and step_size")
    check_positive(ridge=ridge, smoothness=smoothness, step_size=step_size)
    if ridge > smoothness:
        raise ValueError(f"ridge must be at most smoothness = {smoothness!r}, got {ridge!r}")
    if step_size >= 2 / smoothness:
        raise ValueError(
            f"step_size must be below 2/smoothness = {2 / smoothness:g}, got {step_size!r}"
        )
    return max(abs(1 - step_size * ridge), abs(1 - step_size * smoothness))


def state(mu: float, theorem: str, *assumptions: str) -> Guarantee:
    """μ-GDP by a theorem of the paper, under the usual and some more assumptions."""
    plain = gdp(mu=mu)
    return replace(
        plain, theorem=f"{theorem} {SOURCE}", assumptions=(*plain.assumptions, *assumptions)
    )


_EXACT = "the draw is exact"
_STRONG = "both energies are strongly convex and smooth"


def lmc(*, sensitivity: float, ridge: float, smoothness: float, step_size: float) -> Guarantee:
    """Last iterate of X ← X − η∇F(X) + N(0, 2η), after any number of steps.

    μ = √((2 − ηm)/2) S/√m for η ≤ 2/(M + m) (Proposition 5.1 of Bok, Su and Altschuler 2024). It
    is also what the chain's stationary law reveals (Corollary 5.2), and tight for that. At inverse
    temperature β, F = β𝓛: multiply ``sensitivity``, ``ridge`` and ``smoothness`` by β.

    Parameters
    ----------
    sensitivity : float
        S: F − F' is S-Lipschitz for any two neighbours.
    ridge : float
        m > 0, of strong convexity.
    smoothness : float
        M.
    step_size : float
        η.

    Raises
    ------
    ValueError
        If a number is out of range or a precondition fails.

    Examples
    --------
    >>> round(lmc(sensitivity=0.5, ridge=1.0, smoothness=3.0, step_size=0.5).mu, 4)
    0.433
    """
    mu = _stationary(sensitivity, ridge, smoothness, step_size)
    return state(mu, "Proposition 5.1", _STRONG, NO_JUMPS, LAST_ONLY)


def exponential_mechanism_strongly_convex(*, sensitivity: float, ridge: float) -> Guarantee:
    """One exact draw from e^(−F), F strongly convex: μ = S/√m.

    Corollary 5.2 of Bok, Su and Altschuler 2024; tight for quadratic F.

    Parameters
    ----------
    sensitivity : float
        S: F − F' is S-Lipschitz for any two neighbours.
    ridge : float
        m > 0.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> exponential_mechanism_strongly_convex(sensitivity=0.5, ridge=4.0).mu
    0.25
    """
    check_nonnegative(sensitivity=sensitivity)
    check_positive(ridge=ridge)
    return state(sensitivity / math.sqrt(ridge), "Corollary 5.2", _STRONG, _EXACT)


def exponential_mechanism_convex(
    *,
    lipschitz: float,
    diameter: float,
    step_size: float | None = None,
    smoothness: float | None = None,
) -> Guarantee:
    """One exact draw from e^(−F) on a convex body of diameter D: μ = 2√(LD).

    With a step size, one from the stationary law of projected Langevin Monte Carlo instead:
    √(4LD + 2ηL²), η ≤ 2/M (Corollary 5.4 of Bok, Su and Altschuler 2024).

    Parameters
    ----------
    lipschitz : float
        L of F itself, not of a difference: gradients of neighbours differ by up to 2L.
    diameter : float
        D.
    step_size, smoothness : float, optional
        η and M.

    Raises
    ------
    ValueError
        If a number is out of range or a precondition fails.

    Examples
    --------
    >>> exponential_mechanism_convex(lipschitz=0.5, diameter=2.0).mu
    2.0
    """
    check_nonnegative(lipschitz=lipschitz)
    check_positive(diameter=diameter)
    square = 4 * lipschitz * diameter
    body = "energies are convex, smooth and Lipschitz on a body that contains a unit ball"
    if step_size is None:
        return state(math.sqrt(square), "Corollary 5.4", body, _EXACT)
    if smoothness is None:
        raise ValueError("smoothness must be given with step_size, which may be at most 2/M")
    check_convex_step(step_size=step_size, smoothness=smoothness)
    mu = math.sqrt(square + 2 * step_size * lipschitz**2)
    chain = "the draw is from the chain's stationary law"
    return state(mu, "Corollary 5.4", body, NO_JUMPS, chain)


def _stationary(sensitivity: float, ridge: float, smoothness: float, step_size: float) -> float:
    check_nonnegative(sensitivity=sensitivity)
    check_positive(ridge=ridge, smoothness=smoothness, step_size=step_size)
    if ridge > smoothness:
        raise ValueError(f"ridge must be at most smoothness = {smoothness!r}, got {ridge!r}")
    largest = 2 / (smoothness + ridge)
    if step_size > largest:
        raise ValueError(
            f"step_size must be at most 2/(smoothness + ridge) = {largest:g}, got {step_size!r}"
        )
    return math.sqrt((2 - step_size * ridge) / 2) * sensitivity / math.sqrt(ridge)


def gd_composition(*, sensitivity: float, n: int, sigma: float, n_steps: int) -> Guarantee:
    """All iterates of X ← X − η(mean gradient + Z), Z ~ N(0, σ²): μ = (L/(nσ))√t.

    Theorem 4.1 of Bok, Su and Altschuler 2024; tight, and nothing has to be convex.

    Parameters
    ----------
    sensitivity, n, sigma, n_steps
        As :mod:`rashomon_explorer.papers.theorems` says.

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
        As :mod:`rashomon_explorer.papers.theorems` says.
    contraction, ridge, smoothness, step_size : float, optional
        The first, or the other three.

    Examples
    --------
    >>> settings = {"sensitivity": 2.0, "n": 100, "sigma": 0.2, "n_steps": 100}
    >>> round(gd_strongly_convex(**settings, contraction=0.9).mu, 4)
    0.4359
    """
    check_count(n=n, n_steps=n_steps)
    c = contraction_factor(
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
        As :mod:`rashomon_explorer.papers.theorems` says.

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
