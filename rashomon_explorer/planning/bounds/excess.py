"""How much worse than the best model a draw is on average, at most."""

from rashomon_explorer.planning.bounds.hit_rate import expected_excess_bound
from rashomon_explorer.validation import check_count, check_nonnegative, check_positive


def expected_excess(*, p: int, beta: float, psi: float = 0.0, width: float = 0.0) -> float:
    """Bound p/β + ψ + s/2 of a draw's expected excess loss E[L(θ)] − min L.

    Theorem 2.4 of Ganesh, Thakurta and Upadhyay (2023) for the hard threshold, s = 0. The smooth
    threshold of width s has energy at least L − min L − ψ − s/2, and mean energy at most p/β like
    every convex energy whose least value is 0 (own derivation, docs/theory.md §6).
    For the hard threshold ``convex_law(...).mean`` is smaller.

    Parameters
    ----------
    p : int
        Number of parameters.
    beta : float
        Inverse temperature.
    psi : float, default=0.0
        Rashomon threshold.
    width : float, default=0.0
        Width s of the smooth threshold, 0 for the hard one.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> round(expected_excess(p=10, beta=1000.0, psi=0.02), 6)
    0.03
    >>> round(expected_excess(p=10, beta=1000.0, psi=0.02, width=0.01), 6)
    0.035
    """
    check_count(p=p)
    check_positive(beta=beta)
    check_nonnegative(psi=psi, width=width)
    return expected_excess_bound(p, beta, psi) + width / 2


def path_average_excess(
    *,
    p: int,
    beta: float,
    L: float,
    distance: float,
    step_size: float,
    n_steps: int,
    psi: float = 0.0,
    width: float = 0.0,
) -> float:
    """Bound of the expected excess loss of the average model of a Langevin path.

    The average of θ₀, …, θ_{N−1} of θ ← Π(θ − hβ∇energy(θ) + √(2h) ξ), with T = hN, has at most

        p/β + ‖θ₀ − θ*‖²/(2βT) + hβL²/2 + ψ + s/2.

    Each step changes E‖θ − θ*‖² by at most −2hβ·E[energy(θ)] + h²β²L² + 2hp, because projections
    do not expand and the energy is convex; the sum telescopes and Jensen's inequality does the
    rest. No smoothness and no convergence are needed (own derivation). Theorem F.1 of "On the
    universality of Langevin diffusion for private Euclidean (convex) optimization" (submitted to
    ICLR 2023) claims 2p/β + D²/(βT) for the *last* state; its proof integrates p/(βk) as if k
    were fixed and loses a logarithm, so the average is certified here.

    Parameters
    ----------
    p, beta, psi, width
        As in :func:`expected_excess`.
    L : float
        Bound of the gradient's norm on the domain.
    distance : float
        Bound of ‖θ₀ − θ*‖: the radius of a ball whose centre is the start.
    step_size : float
        h, the time of one step.
    n_steps : int
        N; the start counts as the first state and the last state is left out.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> bound = path_average_excess(
    ...     p=10, beta=1000.0, L=1.0, distance=1.0, step_size=1e-5, n_steps=10_000
    ... )
    >>> round(bound, 6)
    0.02
    """
    check_positive(L=L, step_size=step_size)
    check_nonnegative(distance=distance)
    check_count(n_steps=n_steps)
    stationary = expected_excess(p=p, beta=beta, psi=psi, width=width)
    start = distance**2 / (2 * beta * step_size * n_steps)
    return stationary + start + step_size * beta * L**2 / 2
