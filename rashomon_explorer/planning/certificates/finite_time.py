"""The diffusion after a finite time: what chains of ever smaller steps come close to."""

import math
from dataclasses import replace

from rashomon_explorer.planning.certificates.certificate import Certificate, refused
from rashomon_explorer.planning.certificates.run import PathRun
from rashomon_explorer.privacy.guarantee import Guarantee, gdp
from rashomon_explorer.validation import check_nonnegative, check_positive

_NAME = "finite_time"
_TITLE = "the Langevin diffusion, stopped at time T"
_SOURCE = (
    "limit of Theorem 4.2 of Bok, Su and Altschuler 2024 (own derivation, docs/certificates.md)"
)


def diffusion_guarantee(*, beta: float, sensitivity: float, m: float, time: float) -> Guarantee:
    """State at time T of dθ = −β∇L dt + √2 dW: μ² = (βΔ²/m)·tanh(βmT/2), β²Δ²T/2 for m = 0.

    The limit h → 0 of the last iterate's bound, attained by quadratic losses. From β²Δ²T/2, the
    whole path's, for short times to the Gibbs law's βΔ²/m. Of the diffusion in continuous time,
    which no computer runs: charge a chain for its steps.

    Parameters
    ----------
    beta : float
        Inverse temperature.
    sensitivity : float
        Δ of the gradient, without a threshold.
    m : float
        Strong convexity.
    time : float
        T.

    Returns
    -------
    Guarantee

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> long = diffusion_guarantee(beta=100.0, sensitivity=1e-2, m=1.0, time=1.0)
    >>> round(long.mu, 6)
    0.1
    """
    check_positive(beta=beta)
    check_nonnegative(sensitivity=sensitivity, m=m, time=time)
    square = beta * sensitivity**2 / m * math.tanh(beta * m * time / 2) if m > 0 else math.inf
    mu = math.sqrt(min(square, (beta * sensitivity) ** 2 * time / 2))
    return replace(
        gdp(mu=mu),
        theorem="Langevin diffusion at a finite time (limit of Theorem 4.2 of Bok, Su and "
        "Altschuler 2024)",
        assumptions=("of the diffusion in continuous time, not of a chain of steps",),
    )


def finite_time(run: PathRun) -> Certificate:
    """Never applies to a chain: shows what its last iterate's price tends to as steps shrink.

    Examples
    --------
    >>> from rashomon_explorer.constants import Constants
    >>> from rashomon_explorer.domains import Ball
    >>> constants = Constants.of("logistic", n=1000, p=2, domain=Ball(1.0), row_bound=1.0)
    >>> finite_time(PathRun(constants, Ball(1.0), 0.0, 100.0, 1e-2, 200, "hard")).usable
    False
    """
    if not run.bare:
        why = "is stated for the diffusion without a threshold, whose drift is smooth"
        return refused(_NAME, _TITLE, _SOURCE, why)
    limit = diffusion_guarantee(
        beta=run.beta, sensitivity=run.sensitivity, m=run.constants.m, time=run.time
    )
    why = (
        f"is of the diffusion, a limit of chains and never of one: μ = {limit.mu:.4g} for each "
        f"chain at T = {run.time:.4g}; what runs is charged by its steps"
    )
    return refused(_NAME, _TITLE, _SOURCE, why)
