"""What a noisy gradient path reveals: every iterate, or the last one only."""

import math
from dataclasses import replace

import numpy as np

from rashomon_explorer.privacy.gaussian import gdp_mu
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import gdp
from rashomon_explorer.validation import (
    check_nonnegative_or_infinite,
    check_positive,
)


def path_guarantee(
    *, beta: float, sensitivity: float, step_size: float, n_steps: int, n_chains: int = 1
) -> Guarantee:
    """Guarantee of all iterates of noisy gradient chains θ ← Π(θ − hβg(θ) + √(2h) ξ).

    A step is a Gaussian mechanism with shift hβΔ and deviation √(2h), so N steps of k chains are
    exactly μ-GDP with μ² = kNhβ²Δ²/2 (Lemma 2.2 of Ganesh et al. 2023, for the chain that runs;
    Theorem 4.1 of Bok, Su and Altschuler 2024). Convexity and convergence are not needed, the
    gradient may be taken at any model that the states so far determine, and every prefix is
    covered. Lemma 3.1 of the former prints a larger β, which is not private.

    ``sensitivity`` is Δ of g, for steps of different Δ their root mean square; ``step_size`` is h,
    for steps of different sizes their mean, as a step's share of μ² is proportional to it.

    >>> path_guarantee(beta=100.0, sensitivity=1e-2, step_size=1e-2, n_steps=200).mu
    1.0
    """
    check_nonnegative_or_infinite(
        beta=beta,
        sensitivity=sensitivity,
        step_size=step_size,
        n_steps=n_steps,
        n_chains=n_chains,
    )
    time = n_steps * step_size
    return replace(
        gdp(mu=beta * sensitivity * math.sqrt(n_chains * time / 2)),
        theorem=f"path of {n_steps} noisy gradient steps (Lemma 2.2 of Ganesh et al. 2023)",
    )


def last_iterate_guarantee(
    *,
    beta: float,
    sensitivity: float,
    step_size: float,
    n_steps: int,
    contraction: float,
    diameter: float = math.inf,
    n_chains: int = 1,
) -> Guarantee:
    """Guarantee of the last iterate of each chain, when nothing else of them is ever shown.

    Let a step without its noise bring any two models closer by a factor c ≤ 1, and two neighbours'
    steps differ by s = hβΔ; the noise has deviation σ = √(2h). Then N steps are μ-GDP with

        (μσ/s)² = (1 − c^N)/(1 + c^N) · (1 + c)/(1 − c),  N for c = 1

    (Theorem 4.2 of Bok, Su and Altschuler 2024), and on a domain of diameter D with, for any
    number τ ≤ N of last steps,

        (μσ)² = (D + τs)²/τ

    (the proof of their Theorem 4.3: τ steps that each move by (D + τs)/τ make up for a start that
    is D away and for s in each step; c ≤ 1 is all it needs). The least is taken. The number of
    steps must be settled beforehand: a stop that depends on what the chain shows is not covered.

    ``contraction`` is c in [0, 1]: max{|1 − hβm|, |1 − hβM|} for an m-strongly convex, M-smooth
    energy and h ≤ 2/(βM). The hard threshold has none: its gradient jumps.

    >>> settings = {"beta": 100.0, "sensitivity": 1e-2, "step_size": 1e-2, "n_steps": 200}
    >>> round(last_iterate_guarantee(**settings, contraction=0.9).mu, 3)
    0.308
    >>> round(last_iterate_guarantee(**settings, contraction=1.0, diameter=0.1).mu, 3)
    0.447
    """
    check_nonnegative_or_infinite(
        beta=beta,
        sensitivity=sensitivity,
        step_size=step_size,
        n_steps=n_steps,
        contraction=contraction,
        diameter=diameter,
        n_chains=n_chains,
    )
    if contraction > 1:
        raise ValueError(f"contraction must be at most 1, got {contraction!r}")
    shift = step_size * beta * sensitivity
    squares = [shift**2 * _contracted_steps(contraction, n_steps)]
    if math.isfinite(diameter) and shift > 0:
        best = diameter / shift  # the τ at which (D + τs)²/τ is least
        for steps in (math.floor(best), math.ceil(best)):
            steps = min(max(steps, 1), n_steps)
            squares.append((diameter + steps * shift) ** 2 / steps)
    return replace(
        gdp(mu=math.sqrt(n_chains * min(squares) / (2 * step_size))),
        theorem=f"last of {n_steps} noisy gradient steps (Bok, Su and Altschuler 2024)",
    )


def affordable_time(
    *, epsilon: float, delta: float, beta: float, sensitivity: float, n_chains: int = 1
) -> float:
    """Longest time t = Nh that ``n_chains`` paths may run for (ε, δ).

    ``sensitivity`` is Δ of the gradient; δ > 0.

    >>> t = affordable_time(epsilon=1.0, delta=1e-6, beta=100.0, sensitivity=1e-3)
    >>> paid = path_guarantee(beta=100.0, sensitivity=1e-3, step_size=t, n_steps=1)
    >>> round(t, 3), paid.epsilon(1e-6) <= 1.0
    (11.206, True)
    """
    check_positive(beta=beta, sensitivity=sensitivity, n_chains=n_chains)
    # A hair less, so that what is charged for this time does not pass the budget by an ulp.
    return 2 * gdp_mu(epsilon, delta) ** 2 / (n_chains * (beta * sensitivity) ** 2) * (1 - 1e-12)


def _contracted_steps(contraction: float, n_steps: int) -> float:
    """(1 − c^N)/(1 + c^N) · (1 + c)/(1 − c), by hyperbolic tangents so that c → 1 gives N."""
    if contraction == 0 or n_steps == 0:
        return float(min(n_steps, 1))
    half = -math.log(contraction) / 2
    if half * n_steps < 1e-9:  # tanh(x) is x to more than a double's digits
        return float(n_steps)
    return float(np.tanh(half * n_steps) / np.tanh(half))
