"""Private bilevel mechanisms beside the one that is offered, repaired: temperatures and noise.

They are kept to compare with. Validation loss is not convex in log penalties, so that the
regularised mechanism does not apply to it; of hypergradients, which the others ask for, a record
changes far more than of values. ``tuning.walk`` has those that are offered (docs/theory.md §22).
"""

import math

from rashomon_explorer._utils.validation import (
    check_count,
    check_inner_share,
    check_nonnegative,
    check_positive,
)
from rashomon_explorer.privacy.conversions import gdp_mu


def regularised_temperature(
    ridge: float, sensitivity: float, *, epsilon: float, delta: float
) -> float:
    """Temperature k at which exp(−k(Φ + ½μ‖x − x_c‖²)) is (ε, δ)-DP, for Φ convex on every table.

    For Φ_Z − Φ_Z' Δ-Lipschitz the two laws are no easier to tell apart than Gaussians whose means
    are m = Δ√(k/μ) apart (Gopi, Lee and Liu 2022), so that k = μ(m/Δ)². Lowy and Liu's
    Theorem B.8 takes 2G/n for Δ, which leaves out how y* moves with the rows; K/n is sound.
    """
    check_positive(ridge=ridge, sensitivity=sensitivity)
    return ridge * (gdp_mu(epsilon, delta) / sensitivity) ** 2


def gradient_norm_temperature(sensitivity: float, *, epsilon: float) -> float:
    """Temperature k at which exp(−k‖∇Φ‖) is ε-DP: ε/(2Δ), Δ a bound of ‖∇Φ_Z − ∇Φ_Z'‖.

    Norms differ by at most Δ, up or down. Printed is ε/(2G) without n (Lowy and Liu, Appendix C.3);
    with n it would cost 2ε even if gradients moved by 2G/n only, and they move by K/n.
    """
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    return epsilon / (2 * sensitivity)


def hypergradient_noise(
    sensitivity: float,
    n_steps: int,
    *,
    epsilon: float,
    delta: float,
    inexactness: float = 0.0,
    inner_error: float = 0.0,
) -> float:
    """Noise σ a coordinate for n_steps noisy hypergradients, all of which may be shown.

    Each is a Gaussian mechanism of sensitivity K/n + 2Cα, for inner fits within α, and T of them
    are √T·(K/n + 2Cα)/σ-GDP. Lowy and Liu print 32K√(T log(1/δ))/(nε) (Lemma 4.1).
    """
    check_positive(sensitivity=sensitivity)
    check_count(n_steps=n_steps)
    check_nonnegative(inexactness=inexactness, inner_error=inner_error)
    moved = sensitivity + 2 * inexactness * inner_error
    return math.sqrt(n_steps) * moved / gdp_mu(epsilon, delta)


def printed_hypergradient_noise(
    sensitivity: float, n_steps: int, *, epsilon: float, delta: float
) -> float:
    """Noise 32K√(T log(1/δ))/(nε) that Lemma 4.1 of Lowy and Liu prints: sound, and wasteful."""
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    check_inner_share(delta=delta)
    return 32 * sensitivity * math.sqrt(n_steps * math.log(1 / delta)) / epsilon


def stationary_regime(n: int, d: int, epsilon: float) -> str:
    """Which nonconvex mechanism has the least rate of ‖∇Φ‖, constants aside (their equation 3)."""
    check_count(n=n, d=d)
    check_positive(epsilon=epsilon)
    size = n * epsilon
    limits = {"gradient norm": math.sqrt(size), "warm start": size, "noisy gradient": size**2}
    return next((name for name, most in limits.items() if d <= most), "constant")
