"""Langevin Monte Carlo and the exponential mechanism: Proposition 5.1, Corollaries 5.2 and 5.4."""

import math

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.theory.theorems.common import LAST_ONLY, NO_JUMPS, check_convex_step, state
from rashomon_explorer.validation import check_nonnegative, check_positive

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
