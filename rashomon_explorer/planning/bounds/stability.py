"""How far one record can move a draw, and what that says of rows not seen."""

import math

from rashomon_explorer.planning.bounds.excess import expected_excess
from rashomon_explorer.validation import (
    check_count,
    check_nonnegative,
    check_positive,
    check_strong_convexity,
)

_THEOREM = "Theorem 2.5 of Ganesh, Thakurta and Upadhyay (2023)"


def coupling_distance(*, L: float, m: float, n: int, psi: float = 0.0, width: float = 0.0) -> float:
    """Bound 4√(2(ψ+s)/m) + 2L/(mn) of the ∞-Wasserstein distance of two neighbours' laws.

    From the proof of Theorem 2.5 of Ganesh, Thakurta and Upadhyay (2023), at any time of the
    diffusion and in the limit: with the same noise the path with the threshold stays within
    diam(G) ≤ 2√(2ψ/m) of the one without, and those of neighbours within 2L/(mn). At ψ = 0 it is
    attained by quadratic losses when 2L is the largest difference of two rows' gradients.
    For the smooth threshold of width s the first step holds with G enlarged to ψ + s: where the
    slope is less than 1 both paths are in it, or convexity pulls them together (own derivation).

    Parameters
    ----------
    L : float
        Lipschitz constant of one row's loss on the domain; the ridge may be left out, because it
        cancels between neighbours.
    m : float
        Strong convexity of every row's loss, the ridge included.
    n : int
        Number of rows.
    psi : float, default=0.0
        Rashomon threshold.
    width : float, default=0.0
        Width s of the smooth threshold, 0 for the hard one.

    Raises
    ------
    ValueError
        If the loss is not strongly convex (m ≤ 0), or a number is out of range.

    Examples
    --------
    >>> coupling_distance(L=1.0, m=0.5, n=1000)
    0.004
    """
    check_strong_convexity(m, _THEOREM)
    check_positive(L=L)
    check_count(n=n)
    check_nonnegative(psi=psi, width=width)
    return 4 * math.sqrt(2 * (psi + width) / m) + 2 * L / (m * n)


def uniform_stability(*, L: float, m: float, n: int, psi: float = 0.0, width: float = 0.0) -> float:
    """Bound 4L√(2ψ/m) + 2L²/(mn) of the change of any row's expected loss under one replacement.

    Theorem 2.5 of Ganesh, Thakurta and Upadhyay (2023); at ψ = 0 2L²/(mn), also Corollary
    E.3 of "On the universality of Langevin diffusion for private Euclidean (convex) optimization".
    It is L times :func:`coupling_distance`. The term in ψ does not fall with n, because the proof
    does not use that the Rashomon sets of neighbours overlap.

    Parameters
    ----------
    L, m, n, psi, width
        As in :func:`coupling_distance`.

    Raises
    ------
    ValueError
        If the loss is not strongly convex (m ≤ 0), or a number is out of range.

    Examples
    --------
    >>> uniform_stability(L=1.0, m=0.5, n=1000)
    0.004
    >>> round(uniform_stability(L=1.0, m=0.5, n=1000, psi=0.02), 3)
    1.135
    """
    return L * coupling_distance(L=L, m=m, n=n, psi=psi, width=width)


def population_risk(
    *,
    p: int,
    beta: float,
    L: float,
    m: float,
    n: int,
    psi: float = 0.0,
    width: float = 0.0,
) -> float:
    """Bound of a draw's expected excess risk on the population the rows were drawn from.

    The sum of :func:`expected_excess` and :func:`uniform_stability`, by Lemma C.16 (Bousquet and
    Elisseeff 2002) of Ganesh, Thakurta and Upadhyay (2023), whose Theorem 2.6 prints its order
    only, with L²/(mn) under the root of √(ψ/m); the sum has it outside. The rows must
    be independent draws of one law, and the risk includes the ridge.

    Parameters
    ----------
    p, beta, psi, width
        As in :func:`~rashomon_explorer.planning.bounds.expected_excess`.
    L, m, n
        As in :func:`coupling_distance`.

    Raises
    ------
    ValueError
        If the loss is not strongly convex (m ≤ 0), or a number is out of range.

    Examples
    --------
    >>> round(population_risk(p=10, beta=1000.0, L=1.0, m=0.5, n=1000), 6)
    0.014
    """
    empirical = expected_excess(p=p, beta=beta, psi=psi, width=width)
    return empirical + uniform_stability(L=L, m=m, n=n, psi=psi, width=width)
