"""Bounds on the excess loss and on the generalisation error."""

import math

from rashomon_explorer._utils import validation


def expected_excess(*, p: int, beta: float, psi: float = 0.0, width: float = 0.0) -> float:
    """Bound p/β + ψ + s/2 on a draw's expected excess loss E[L(θ)] − min L.

    Theorem 2.4 of Ganesh, Thakurta and Upadhyay (2023) for the hard threshold, s = 0. The smooth
    threshold of width s has energy at least L − min L − ψ − s/2, and mean energy at most p/β like
    every convex energy whose least value is 0 (own derivation, docs/theory.md §6).
    For the hard threshold ``convex_law(...).mean`` is smaller.
    """
    validation.check_count(p=p)
    validation.check_positive(beta=beta)
    validation.check_nonnegative(psi=psi, width=width)
    return p / beta + psi + width / 2


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
    """Bound on the expected excess loss of the average model of a Langevin path.

    The average of θ₀, …, θ_{N−1} of θ ← Π(θ − hβ∇energy(θ) + √(2h) ξ), with T = hN, has at most

        p/β + ‖θ₀ − θ*‖²/(2βT) + hβL²/2 + ψ + s/2.

    Each step changes E‖θ − θ*‖² by at most −2hβ·E[energy(θ)] + h²β²L² + 2hp, because projections
    do not expand and the energy is convex; then telescope the sum and apply Jensen's
    inequality. No smoothness and no convergence are needed (own derivation). Theorem F.1 of "On the
    universality of Langevin diffusion for private Euclidean (convex) optimization" (submitted to
    ICLR 2023) claims 2p/β + D²/(βT) for the *last* state; its proof integrates p/(βk) as if k
    were fixed and loses a logarithm, so the bound here is for the average. ``distance`` bounds
    ‖θ₀ − θ*‖, and ``L`` the gradient's norm on the domain.
    """
    validation.check_positive(L=L, step_size=step_size)
    validation.check_nonnegative(distance=distance)
    validation.check_count(n_steps=n_steps)
    stationary = expected_excess(p=p, beta=beta, psi=psi, width=width)
    start = distance**2 / (2 * beta * step_size * n_steps)
    return stationary + start + step_size * beta * L**2 / 2


def accelerated_path_excess(
    *,
    p: int,
    beta: float,
    M: float,
    distance: float,
    step_size: float,
    n_steps: int,
    psi: float = 0.0,
    width: float = 0.0,
) -> float:
    """Bound on the expected excess loss of the weighted average of an accelerated Langevin path.

    Step t of N takes the time h_t = 2ht/(N + 1), h on average, and the gradient at
    y = x + 2(z − x)/(t + 1): z ← Π(z − h_tβ∇energy(y) + √(2h_t) ξ), x ← x + 2(z − x)/(t + 1).
    So x is the average of the states z with weights ∝ t. With T = Nh and
    q = 4M'βT/(N + 1)² < 1, M' = M + L²/s the smoothness of the energy, it has at most

        p/(β(1 − q)) + ‖θ₀ − θ*‖²/(2βT) + ψ + s/2.

    The argument is that of accelerated descent (Nesterov 1983; Lan 2012), with the noise at the
    projected step instead of a bound of its size (own derivation, docs/theory.md §6): neither a
    bound on the gradient nor convergence of the chain is needed. ``M`` is M',
    ``step_size`` h; steps with q ≥ 1 raise a ValueError.
    """
    validation.check_positive(M=M, step_size=step_size)
    validation.check_nonnegative(distance=distance)
    validation.check_count(n_steps=n_steps)
    reached = beta * step_size * n_steps
    share = accelerated_share(M, reached, n_steps)
    if not share < 1:
        raise ValueError(
            f"the steps are too large for the path to be stable (q = {share:.3g}, but it must be "
            "below 1): take more steps, or smaller ones"
        )
    stationary = expected_excess(p=p, beta=beta * (1 - share), psi=psi, width=width)
    return stationary + distance**2 / (2 * reached)


def accelerated_share(M: float, reached: float, n_steps: int) -> float:
    """Share q = 4MβT/(N + 1)² of the noise that steps of finite size add; ``reached`` is βT."""
    return 4 * M * reached / (n_steps + 1) ** 2


_FEW_SECONDS = 5e9  # entries of rows that one core reads in them
_LARGEST_SHARE = 0.5


def accelerated_steps(M: float, reached: float, beta: float, share: float, cells: int) -> float:
    """Return the steps that add ``share`` of p/β to the bound, or half of it if that is long."""

    def enough(share: float) -> float:
        return math.sqrt(accelerated_share(M, reached, 0) / (share * beta)) - 1

    return max(1.0, enough(_LARGEST_SHARE), min(enough(share), _FEW_SECONDS / cells))


def coupling_distance(*, L: float, m: float, n: int, psi: float = 0.0, width: float = 0.0) -> float:
    """Bound 4√(2(ψ+s)/m) + 2L/(mn) on the ∞-Wasserstein distance of two neighbours' laws."""
    validation.check_strong_convexity(m, "Theorem 2.5 of Ganesh, Thakurta and Upadhyay (2023)")
    validation.check_positive(L=L)
    validation.check_count(n=n)
    validation.check_nonnegative(psi=psi, width=width)
    return 4 * math.sqrt(2 * (psi + width) / m) + 2 * L / (m * n)


def uniform_stability(*, L: float, m: float, n: int, psi: float = 0.0, width: float = 0.0) -> float:
    """Bound 4L√(2ψ/m) + 2L²/(mn) on the change of any row's expected loss under one replacement.

    Theorem 2.5 of Ganesh, Thakurta and Upadhyay (2023); at ψ = 0 2L²/(mn), also Corollary
    E.3 of "On the universality of Langevin diffusion for private Euclidean (convex) optimization".
    It is L times :func:`coupling_distance`. The term in ψ does not fall with n, because the proof
    does not use that the Rashomon sets of neighbours overlap.
    """
    return L * coupling_distance(L=L, m=m, n=n, psi=psi, width=width)


def population_risk(
    *, p: int, beta: float, L: float, m: float, n: int, psi: float = 0.0, width: float = 0.0
) -> float:
    """Bound on a draw's expected excess risk on the population of the rows.

    The sum of :func:`expected_excess` and :func:`uniform_stability`, by Lemma C.16 (Bousquet and
    Elisseeff 2002) of Ganesh, Thakurta and Upadhyay (2023). Their Theorem 2.6 states only its
    order, with L²/(mn) under the root of √(ψ/m); the sum has it outside. The rows must
    be independent draws of one law, and the risk includes the ridge.
    """
    empirical = expected_excess(p=p, beta=beta, psi=psi, width=width)
    return empirical + uniform_stability(L=L, m=m, n=n, psi=psi, width=width)
