"""Bounds on rejections and on mixing times."""

import math

import numpy as np

from rashomon_explorer._utils.validation import (
    check_inner_share,
    check_nonnegative,
    check_positive,
    check_strong_convexity,
)
from rashomon_explorer.mechanisms.certificates.gibbs_laws import log_sobolev

_STEPS = 4000
_COLDEST = 60.0  # e⁻⁶⁰ of the mass lies beyond
_ROUNDING = 1e-9  # far above what four thousand terms can lose


def least_acceptance(p: int, beta: float, psi: float, spread: float) -> float:
    """Lower bound of the probability that a proposal becomes a draw, for a convex loss.

    A proposal of the uniform law on the domain is accepted with probability
    E exp(−β(excess − ψ)₊) ≥ p ∫₀¹ tᵖ⁻¹ exp(−β(t·spread − ψ)₊) dt, because the models of excess at
    most t·spread include the domain shrunk by t towards the minimiser. A proposal of less mass is
    accepted more often (docs/theory.md §3). The integral is bounded by a lower sum.

    Parameters
    ----------
    p : int
        Number of parameters.
    beta, psi : float
        Inverse temperature and Rashomon threshold.
    spread : float
        Public upper bound of max − min of the loss over the domain, > 0.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> least_acceptance(p=3, beta=0.0, psi=0.0, spread=4.0) > 0.999999
    True
    >>> exact = (1 - math.exp(-8.0)) / 8  # p = 1: the integral of exp(−8t)
    >>> 0.97 * exact < least_acceptance(p=1, beta=8.0, psi=0.0, spread=1.0) <= exact
    True
    """
    if psi >= spread:
        return 1.0
    top = spread if beta == 0 else min(spread, psi + _COLDEST / beta)
    # The last level stands for itself alone: beyond it the sum counts nothing.
    levels = np.linspace(psi, top, _STEPS + 1)
    shares = (levels / spread) ** p
    total = shares[0] + float(np.diff(shares) @ np.exp(-beta * (levels[1:] - psi)))
    return float(min(1.0, max(0.0, total)) * (1 - _ROUNDING))


def giving_up_probability(acceptance: float, patience: int, n_draws: int) -> float:
    """Upper bound n_draws·(1 − a)^patience of the probability to give up before the last draw."""
    if acceptance >= 1:
        return 0.0
    bound = n_draws * math.exp(patience * math.log1p(-acceptance))
    return min(1.0, bound * (1 + _ROUNDING * (1 + patience * acceptance)))


def enough_patience(acceptance: float, n_draws: int, failure: float) -> int:
    """Least number of proposals in a row after which giving up is as unlikely as is wanted.

    Parameters
    ----------
    acceptance : float
        In (0, 1).
    n_draws : int
    failure : float
        Wanted bound of the probability, in (0, 1).

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> enough = enough_patience(1e-4, n_draws=20, failure=1e-12)
    >>> 300_000 < enough < 310_000, giving_up_probability(1e-4, enough, 20) <= 1e-12
    (True, True)
    """
    check_inner_share(acceptance=acceptance, failure=failure)
    patience = max(1, math.ceil(math.log(n_draws / failure) / -math.log1p(-acceptance)))
    while giving_up_probability(acceptance, patience, n_draws) > failure:
        patience += max(1, patience // 10**6)
    return patience


def log_sobolev_constant(*, beta: float, m: float, psi: float = 0.0, width: float = 0.0) -> float:
    """Log-Sobolev constant c of a thresholded Gibbs law, a lower bound of the best one.

    Lemma D.4 of Ganesh, Thakurta and Upadhyay (2023): βm·exp(−βψ) for βψ ≤ 1 and m/(eψ) beyond,
    the largest aβm·exp(−aβψ) over 0 ≤ a ≤ 1. The mixture of a share a of the loss with the
    thresholded loss is aβm-strongly convex (Bakry–Émery) and the rest oscillates by aβψ
    (Holley–Stroock). The paper prints the latter with a supremum, which would cost a
    factor 2 in the exponent; oscillation is what holds and what is used here, and losses
    need not be nonnegative. With a smooth threshold of width s the rest oscillates by
    aβ(ψ + s/2), which takes ψ's place (own derivation).

    Parameters
    ----------
    beta : float
        Inverse temperature.
    m : float
        Strong convexity of the loss, the ridge included.
    psi : float, default=0.0
        Rashomon threshold.
    width : float, default=0.0
        Width s of the smooth threshold, 0 for the hard one.

    Returns
    -------
    float
        KL divergence to the law falls at least as exp(−2ct) under dθ = −β∇energy dt + √2 dW.

    Raises
    ------
    ValueError
        If the loss is not strongly convex (m ≤ 0), or a number is out of range.

    Examples
    --------
    >>> log_sobolev_constant(beta=10.0, m=0.5)
    5.0
    >>> round(log_sobolev_constant(beta=1000.0, m=0.5, psi=0.02), 3)
    9.197
    """
    check_strong_convexity(m, "Lemma D.4 of Ganesh, Thakurta and Upadhyay (2023)")
    check_positive(beta=beta)
    check_nonnegative(psi=psi, width=width)
    return log_sobolev(beta, m, psi + width / 2)


def start_divergence(*, beta: float, L: float, diameter: float, psi: float = 0.0) -> float:
    """Bound β·max(L·diameter − ψ, 0) of the KL divergence from a uniform start to the law.

    The density of the uniform law relative to the Gibbs law is at most exp(max energy − min
    energy), and the loss rises by at most L·diameter. Equation (8) of Ganesh, Thakurta and
    Upadhyay (2023) has 2βL·diameter, with which the statement of their Lemma D.5 would need
    a 4 where it prints a 2; with this bound the 2 is enough.

    Parameters
    ----------
    beta : float
        Inverse temperature.
    L : float
        Lipschitz constant of the loss on the domain.
    diameter : float
        Diameter of the domain, twice the radius of a ball.
    psi : float, default=0.0
        Rashomon threshold.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> start_divergence(beta=100.0, L=1.0, diameter=2.0, psi=0.5)
    150.0
    """
    check_positive(beta=beta, L=L, diameter=diameter)
    check_nonnegative(psi=psi)
    return beta * max(L * diameter - psi, 0.0)


def mixing_time(*, c: float, divergence: float, distance: float) -> float:
    """Time after which the diffusion is within total variation ``distance`` of its law.

    log(KL₀/(2λ²))/(2c): KL falls as exp(−2ct) (Theorem 4 of Vempala and Wibisono 2019, Lemma D.3 of
    Ganesh, Thakurta and Upadhyay 2023, whose Lemma D.5 has this time for λ = δ/2), and
    TV ≤ √(KL/2) (Pinsker). In continuous time: a chain of steps h has done time Nh, and an error of
    discretisation besides, which is not counted here. No such distance makes a draw
    pure ε-DP; for a chain the guarantee is that of its path.

    Parameters
    ----------
    c : float
        Log-Sobolev constant, see :func:`log_sobolev_constant`.
    divergence : float
        KL₀ of the start, see :func:`start_divergence`.
    distance : float
        Total variation distance λ wanted, in (0, 1].

    Returns
    -------
    float
        0 if the start is near enough.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> round(mixing_time(c=5.0, divergence=150.0, distance=0.01), 3)
    1.353
    """
    check_positive(c=c, distance=distance)
    check_nonnegative(divergence=divergence)
    if distance > 1:
        raise ValueError(f"distance is a total variation distance, at most 1, got {distance!r}")
    if divergence <= 2 * distance**2:
        return 0.0
    return math.log(divergence / (2 * distance**2)) / (2 * c)
