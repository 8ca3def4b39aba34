"""Theorems on Langevin diffusion: rates, mixing, and noise and temperatures of bilevel search."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.certificates.gibbs_laws import log_sobolev
from rashomon_explorer.privacy.conversions import gdp_mu


def regularised_temperature(
    ridge: float, sensitivity: float, *, epsilon: float, delta: float
) -> float:
    """K = μ(m/Δ)² at which exp(−k(Φ + ½μ‖x − x_c‖²)) is (ε, δ)-DP, Φ convex (Theorem B.8)."""
    validation.check_positive(ridge=ridge, sensitivity=sensitivity)
    return ridge * (gdp_mu(epsilon, delta) / sensitivity) ** 2


def gradient_norm_temperature(sensitivity: float, *, epsilon: float) -> float:
    """Temperature ε/(2Δ) of exp(−k‖∇Φ‖); Lowy and Liu (C.3) print ε/(2G), without n."""
    validation.check_positive(sensitivity=sensitivity, epsilon=epsilon)
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
    """σ = √T(K/n + 2Cα)/μ for T noisy hypergradients; Lemma 4.1 prints 32K√(T log(1/δ))/(nε)."""
    validation.check_positive(sensitivity=sensitivity)
    validation.check_count(n_steps=n_steps)
    validation.check_nonnegative(inexactness=inexactness, inner_error=inner_error)
    moved = sensitivity + 2 * inexactness * inner_error
    return math.sqrt(n_steps) * moved / gdp_mu(epsilon, delta)


def stationary_regime(n: int, d: int, epsilon: float) -> str:
    """Nonconvex mechanism with the least rate of ‖∇Φ‖, ignoring constants (their equation 3)."""
    validation.check_count(n=n, d=d)
    validation.check_positive(epsilon=epsilon)
    size = n * epsilon
    limits = {"gradient norm": math.sqrt(size), "warm start": size, "noisy gradient": size**2}
    return next((name for name, most in limits.items() if d <= most), "constant")


_RASHOMON = "Ganesh, Thakurta and Upadhyay 2023, Table 1"
_SET = "Ganesh, Thakurta and Upadhyay 2023, Table 2"
_ERM = "Bassily, Smith and Thakurta 2014, Table 1"
_FINITE = "finite-time analysis, Table 1"
_BILEVEL = "Lowy and Liu, Theorem 3.10"

Powers = tuple[float, float, float]


@dataclass(frozen=True)
class ExcessRate:
    """Excess ∝ n^a·p^b·ε^c (and n^``sampling`` on a population), after the least of ``times``."""

    problem: str
    notion: str
    upper: Powers
    lower: Powers | None  # None: the papers state none
    source: str
    mechanism: str = ""  # name of one that attains it
    goal: str = "rows"  # or "population"
    sampling: float = -math.inf
    tolerance: str = ""
    times: tuple[Powers, ...] = ()

    def guide(self, n: float, p: float, epsilon: float) -> float:
        """Shape of the lower bound, with constants 1 and at most 1; 0 if none is stated."""
        if self.lower is None:
            return 0.0
        a, b, c = self.lower
        return min(1.0, n**a * p**b * epsilon**c + n**self.sampling)


_LINEAR, _ROOT = (-1.0, 1.0, -1.0), (-1.0, 0.5, -1.0)
_SQUARE, _PLAIN = (-2.0, 2.0, -2.0), (-2.0, 1.0, -2.0)
_THREE, _TWO = f"{_ERM}; {_RASHOMON}; {_FINITE}", f"{_RASHOMON}; {_FINITE}"
_WELLS = f"{_FINITE}; Appendix F of {_RASHOMON}"
_NEAR = "ψ + L√(ψ/m)"
_BY_P, _BY_N, _BY_SQUARE = (0.0, -1.0, 0.0), (-1.0, 0.0, -2.0), (-2.0, 0.0, -2.0)

_ALL = (
    ExcessRate("convex", "pure", _LINEAR, _LINEAR, _THREE, "unthresholded"),
    ExcessRate("convex", "(ε, δ)", _ROOT, _ROOT, _THREE, "noisy_descent", times=(_BY_P,)),
    ExcessRate("strongly convex", "pure", _SQUARE, _SQUARE, _THREE, "localised"),
    ExcessRate(
        "strongly convex", "(ε, δ)", _PLAIN, _PLAIN, _THREE, "unthresholded", times=(_BY_SQUARE,)
    ),
    ExcessRate("not convex", "pure", _LINEAR, _LINEAR, _WELLS, "finite_grid"),
    ExcessRate("not convex", "(ε, δ)", _LINEAR, _LINEAR, _FINITE, "finite_grid"),
    ExcessRate("convex", "pure", _LINEAR, _LINEAR, _TWO, "regularised", "population", -0.5),
    ExcessRate(
        "convex",
        "(ε, δ)",
        _ROOT,
        _ROOT,
        _TWO,
        "regularised",
        "population",
        -0.5,
        times=(_BY_P, _BY_N),
    ),
    ExcessRate(
        "strongly convex", "pure", _SQUARE, _SQUARE, _TWO, "iterated_batches", "population", -1.0
    ),
    ExcessRate(
        "strongly convex",
        "(ε, δ)",
        _PLAIN,
        _PLAIN,
        _TWO,
        "unthresholded",
        "population",
        -1.0,
        times=(_BY_SQUARE,),
    ),
    # The two (ε, δ) rows hold for ψ ≤ 2L²/(Mn²) only (Theorem 2.3), a set that shrinks with n.
    ExcessRate("Rashomon set", "pure", _LINEAR, None, _SET, "exact", tolerance="ψ"),
    ExcessRate("Rashomon set", "(ε, δ)", _PLAIN, None, _SET, "exact", tolerance="ψ"),
    ExcessRate("Rashomon set", "pure", _LINEAR, None, _SET, "exact", "population", -1.0, _NEAR),
    ExcessRate("Rashomon set", "(ε, δ)", _PLAIN, None, _SET, "exact", "population", -1.0, _NEAR),
    ExcessRate("penalties", "pure", _LINEAR, _LINEAR, _BILEVEL),
    ExcessRate("penalties", "(ε, δ)", _ROOT, _ROOT, _BILEVEL),
)
RATES: dict[tuple[str, str, str], ExcessRate] = {
    (one.problem, one.notion, one.goal): one for one in _ALL
}
"""Rates by problem, notion of privacy and goal."""


def bilevel_instance_excess(temperature: float, slopes: FloatArray, diameter: float = 1.0) -> float:
    """Mean excess of exp(−kΦ) on [−D/2, D/2]^d for Φ = −Σ s_j x_j: the tables of Theorem 3.10."""
    validation.check_positive(temperature=temperature, diameter=diameter)
    wide = np.asarray(slopes, dtype=float) * diameter
    cold = np.exp(-temperature * wide)  # cannot overflow
    return float((1 / temperature - wide * cold / (1 - cold)).sum())


def log_sobolev_constant(*, beta: float, m: float, psi: float = 0.0, width: float = 0.0) -> float:
    """βm·exp(−βψ) for βψ ≤ 1, m/(eψ) beyond, ψ + s/2 in place of ψ: Lemma D.4."""
    validation.check_strong_convexity(m, "Lemma D.4 of Ganesh, Thakurta and Upadhyay (2023)")
    validation.check_positive(beta=beta)
    validation.check_nonnegative(psi=psi, width=width)
    return log_sobolev(beta, m, psi + width / 2)


def start_divergence(*, beta: float, L: float, diameter: float, psi: float = 0.0) -> float:
    """Bound β·max(L·diameter − ψ, 0) on the KL divergence of a uniform start from the target."""
    validation.check_positive(beta=beta, L=L, diameter=diameter)
    validation.check_nonnegative(psi=psi)
    return beta * max(L * diameter - psi, 0.0)


def mixing_time(*, c: float, divergence: float, distance: float) -> float:
    """log(KL₀/(2λ²))/(2c): time of the diffusion to total variation λ (Lemmas D.3, D.5)."""
    validation.check_positive(c=c, distance=distance)
    validation.check_nonnegative(divergence=divergence)
    if distance > 1:
        raise ValueError(f"distance is a total variation distance, at most 1, got {distance!r}")
    if divergence <= 2 * distance**2:
        return 0.0
    return math.log(divergence / (2 * distance**2)) / (2 * c)
