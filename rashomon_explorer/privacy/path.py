"""What a noisy gradient path reveals: every iterate, whenever it is stopped."""

import math
from dataclasses import replace

from rashomon_explorer.constants import Constants
from rashomon_explorer.privacy.checks import check_nonnegative
from rashomon_explorer.privacy.guarantee import Guarantee, zcdp
from rashomon_explorer.privacy.zcdp import zcdp_rho


def gradient_sensitivity(
    constants: Constants, psi: float, *, width: float, interior: bool = False
) -> float:
    """Largest change of the thresholded loss's gradient when one record is replaced.

    For the smooth threshold of width s, v = L − min L − ψ moves by at most ω = osc, so that

        Δ ≤ 2L/n + min(1, ω/s)·G,   G = min{L, √(2M(ψ + s + ω))},

    where the second form of G needs a loss that is smooth on all of ℝᵖ and, for every data set, a
    global minimiser inside the domain (own derivation, docs/theory.md §6). The hard threshold,
    ``width=0``, has Δ = max{2L/n, G}. Equation (9) of Ganesh et al. (2023) is smaller and not
    valid: it lacks the case in which only one of two neighbours is beyond the threshold at a
    model whose gradient is large.

    Parameters
    ----------
    constants : Constants
    psi : float
        Rashomon threshold.
    width : float
        Width s of the smooth threshold, or 0 for the hard one.
    interior : bool, default=False
        Whether the global minimiser is inside the domain for every data set, as it is for a ball
        of radius at least L/ridge.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``psi`` or ``width`` is negative.

    Examples
    --------
    >>> from rashomon_explorer.domains import Ball
    >>> lending = Constants.of("logistic", n=50_000, p=11, domain=Ball(4.0), row_bound=1.0)
    >>> round(gradient_sensitivity(lending, 0.02, width=0.01), 5)
    0.01575
    >>> round(gradient_sensitivity(lending, 0.02, width=0.0), 5)
    0.98201
    """
    check_nonnegative(psi=psi, width=width)
    omega = constants.priced_osc
    largest = constants.L
    if interior:
        largest = min(largest, math.sqrt(2 * constants.M * (psi + width + omega)))
    both = 2 * constants.L / constants.n
    if width == 0:  # the slope is 0 or 1: either both are beyond, or one gradient is all
        return max(both, largest)
    return both + min(1.0, omega / width) * largest


def path_guarantee(
    *, beta: float, sensitivity: float, step_size: float, n_steps: int, n_chains: int = 1
) -> Guarantee:
    """Guarantee of all iterates of noisy gradient chains θ ← Π(θ − hβg(θ) + √(2h) ξ).

    A step is a Gaussian mechanism with shift hβΔ and deviation √(2h), so N steps of k chains are
    μ-GDP with μ² = kNhβ²Δ²/2, and μ²/2-zCDP: ρ = kβ²Δ²t/4 for the time t = Nh (Lemma 2.2 of
    Ganesh et al. 2023, for the chain that runs). Convexity and convergence are not needed, and
    every prefix is covered. Lemma 3.1 of that paper prints a larger β, which is not private.

    Parameters
    ----------
    beta : float
        Inverse temperature.
    sensitivity : float
        Δ of the gradient g.
    step_size : float
        h.
    n_steps, n_chains : int

    Returns
    -------
    Guarantee

    Raises
    ------
    ValueError
        If a number is negative or NaN.

    Examples
    --------
    >>> path_guarantee(beta=100.0, sensitivity=1e-2, step_size=1e-2, n_steps=200).rho
    0.5
    """
    check_nonnegative(
        beta=beta,
        sensitivity=sensitivity,
        step_size=step_size,
        n_steps=n_steps,
        n_chains=n_chains,
    )
    time = n_steps * step_size
    return replace(
        zcdp(rho=n_chains * (beta * sensitivity) ** 2 * time / 4),
        theorem=f"path of {n_steps} noisy gradient steps (Lemma 2.2 of Ganesh et al. 2023)",
    )


def affordable_time(
    *, epsilon: float, delta: float, beta: float, sensitivity: float, n_chains: int = 1
) -> float:
    """Longest time t = Nh that ``n_chains`` paths may run for (ε, δ).

    Parameters
    ----------
    epsilon, delta : float
        Total budget of all chains; δ > 0.
    beta : float
        Inverse temperature.
    sensitivity : float
        Δ of the gradient.
    n_chains : int, default=1

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> t = affordable_time(epsilon=1.0, delta=1e-6, beta=100.0, sensitivity=1e-3)
    >>> paid = path_guarantee(beta=100.0, sensitivity=1e-3, step_size=t, n_steps=1)
    >>> round(t, 3), paid.epsilon(1e-6) <= 1.0
    (9.742, True)
    """
    for name, value in (("beta", beta), ("sensitivity", sensitivity), ("n_chains", n_chains)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be finite and > 0, got {value!r}")
    # A hair less, so that what is charged for this time does not pass the budget by an ulp.
    return 4 * zcdp_rho(epsilon, delta) / (n_chains * (beta * sensitivity) ** 2) * (1 - 1e-12)
