"""Time in which the Langevin diffusion reaches its law."""

import math

from rashomon_explorer._utils.validation import (
    check_nonnegative,
    check_positive,
    check_strong_convexity,
)
from rashomon_explorer.mechanisms.certificates.gibbs_laws import log_sobolev


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
