"""Theorems on Langevin diffusion and full-batch chains: mixing, rates, bilevel noise.

In the formulas of chains L is ``sensitivity`` (or ``lipschitz``), S the sensitivity of energies, n
the rows, b ``batch_size``, l ``batches_per_epoch``, E ``epochs``, t ``n_steps``, η ``step_size``, M
``smoothness``, m ``ridge``, c ``contraction`` (:func:`contraction_factor`) and D ``diameter``.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.certificates.gibbs_laws import log_sobolev
from rashomon_explorer.mechanisms.langevin.accounting import last_iterate_guarantee, path_guarantee
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.privacy.conversions import gdp_mu

SOURCE = "of Bok, Su and Altschuler 2024"
WHOLE_PATH = "every iterate may be shown"
LAST_ONLY = "only the last iterate is ever shown; the number of steps is fixed in advance"
NO_JUMPS = "the gradient has no jumps, unlike that of a hard threshold"
PROJECTED = "every loss is convex and smooth; every step is projected on the domain"
IN_ORDER = "the order of the batches is fixed"


def contracting(c: float) -> str:
    """Assumption under which steps contract by a factor c."""
    return f"every loss is strongly convex and smooth, so that steps contract by c = {c:g}"


def shift(*, sensitivity: float, batch_size: float, sigma: float) -> float:
    """L/(bσ): effect of one record on a step, in standard deviations of the noise."""
    validation.check_nonnegative(sensitivity=sensitivity)
    validation.check_positive(batch_size=batch_size, sigma=sigma)
    return sensitivity / (batch_size * sigma)


def check_batch(batch_size: int, n: int) -> None:
    """Raise if the batch size exceeds n."""
    validation.check_count(batch_size=batch_size, n=n)
    if batch_size > n:
        raise ValueError(f"batch_size must be at most n = {n}, got {batch_size!r}")


def check_convex_step(*, step_size: float, smoothness: float) -> None:
    """Raise if η > 2/M: steps of a convex loss may then expand distances."""
    validation.check_positive(step_size=step_size, smoothness=smoothness)
    if step_size > 2 / smoothness:
        raise ValueError(
            f"step_size must be at most 2/smoothness = {2 / smoothness:g}, got {step_size!r}"
        )


def contraction_factor(*, ridge: float, smoothness: float, step_size: float) -> float:
    """Factor c = max{|1 − ηm|, |1 − ηM|} of a step on an m-strongly convex, M-smooth loss."""
    validation.check_positive(ridge=ridge, smoothness=smoothness, step_size=step_size)
    if ridge > smoothness:
        raise ValueError(f"ridge must be at most smoothness = {smoothness!r}, got {ridge!r}")
    if step_size >= 2 / smoothness:
        raise ValueError(
            f"step_size must be below 2/smoothness = {2 / smoothness:g}, got {step_size!r}"
        )
    return max(abs(1 - step_size * ridge), abs(1 - step_size * smoothness))


def check_contraction(contraction: float) -> None:
    """Raise unless steps contract."""
    if not 0 <= contraction < 1:
        raise ValueError(f"contraction must be in [0, 1), got {contraction!r}")


def state(mu: float, theorem: str, *assumptions: str) -> Guarantee:
    """μ-GDP by a theorem of the paper, with the usual and additional assumptions."""
    plain = gdp(mu=mu)
    return replace(
        plain, theorem=f"{theorem} {SOURCE}", assumptions=(*plain.assumptions, *assumptions)
    )


_EXACT = "the draw is exact"
_STRONG = "both energies are strongly convex and smooth"


def lmc(*, sensitivity: float, ridge: float, smoothness: float, step_size: float) -> Guarantee:
    """Guarantee for the last iterate of X ← X − η∇F(X) + N(0, 2η), for any number of steps.

    μ = √((2 − ηm)/2) S/√m for η ≤ 2/(M + m) (Proposition 5.1 of Bok, Su and Altschuler 2024); tight
    for the stationary distribution (Corollary 5.2). At inverse temperature β scale S, m and M by β.
    """
    mu = _stationary(sensitivity, ridge, smoothness, step_size)
    return state(mu, "Proposition 5.1", _STRONG, NO_JUMPS, LAST_ONLY)


def exponential_mechanism_strongly_convex(*, sensitivity: float, ridge: float) -> Guarantee:
    """One exact draw from e^(−F), F strongly convex: μ = S/√m (Corollary 5.2)."""
    validation.check_nonnegative(sensitivity=sensitivity)
    validation.check_positive(ridge=ridge)
    return state(sensitivity / math.sqrt(ridge), "Corollary 5.2", _STRONG, _EXACT)


def exponential_mechanism_convex(
    *,
    lipschitz: float,
    diameter: float,
    step_size: float | None = None,
    smoothness: float | None = None,
) -> Guarantee:
    """Guarantee for one exact draw from e^(−F) on a convex body of diameter D: μ = 2√(LD).

    With a step size, for a draw from the stationary distribution of projected Langevin Monte Carlo:
    √(4LD + 2ηL²), η ≤ 2/M (Corollary 5.4 of Bok, Su and Altschuler 2024).
    """
    validation.check_nonnegative(lipschitz=lipschitz)
    validation.check_positive(diameter=diameter)
    square = 4 * lipschitz * diameter
    body = "energies are convex, smooth and Lipschitz on a body that contains a unit ball"
    if step_size is None:
        return state(math.sqrt(square), "Corollary 5.4", body, _EXACT)
    if smoothness is None:
        raise ValueError("smoothness must be given with step_size, which may be at most 2/M")
    check_convex_step(step_size=step_size, smoothness=smoothness)
    mu = math.sqrt(square + 2 * step_size * lipschitz**2)
    chain = "the draw is from the chain's stationary law"
    return state(mu, "Corollary 5.4", body, NO_JUMPS, chain)


def _stationary(sensitivity: float, ridge: float, smoothness: float, step_size: float) -> float:
    validation.check_nonnegative(sensitivity=sensitivity)
    validation.check_positive(ridge=ridge, smoothness=smoothness, step_size=step_size)
    if ridge > smoothness:
        raise ValueError(f"ridge must be at most smoothness = {smoothness!r}, got {ridge!r}")
    largest = 2 / (smoothness + ridge)
    if step_size > largest:
        raise ValueError(
            f"step_size must be at most 2/(smoothness + ridge) = {largest:g}, got {step_size!r}"
        )
    return math.sqrt((2 - step_size * ridge) / 2) * sensitivity / math.sqrt(ridge)


def gd_composition(*, sensitivity: float, n: int, sigma: float, n_steps: int) -> Guarantee:
    """All iterates of X ← X − η(mean gradient + N(0, σ²)): μ = (L/(nσ))√t, tight (Theorem 4.1)."""
    validation.check_count(n=n, n_steps=n_steps)
    moved = shift(sensitivity=sensitivity, batch_size=n, sigma=sigma)
    # In units of the noise: steps of h = 1/2 have noise of standard deviation 1.
    path = path_guarantee(beta=1.0, sensitivity=2 * moved, step_size=0.5, n_steps=n_steps)
    return state(path.mu, "Theorem 4.1", WHOLE_PATH)


def gd_strongly_convex(
    *, sensitivity: float, n: int, sigma: float, n_steps: int, contraction: float
) -> Guarantee:
    """Last iterate: μ = √((1 − c^t)/(1 + c^t) · (1 + c)/(1 − c)) · L/(nσ) (Theorem 4.2)."""
    validation.check_count(n=n, n_steps=n_steps)
    check_contraction(contraction)
    moved = shift(sensitivity=sensitivity, batch_size=n, sigma=sigma)
    last = last_iterate_guarantee(
        beta=1.0, sensitivity=2 * moved, step_size=0.5, n_steps=n_steps, contraction=contraction
    )
    return state(last.mu, "Theorem 4.2", contracting(contraction), NO_JUMPS, LAST_ONLY)


def gd_convex(
    *,
    sensitivity: float,
    n: int,
    sigma: float,
    n_steps: int,
    diameter: float,
    step_size: float,
    smoothness: float,
) -> Guarantee:
    """Guarantee for the last iterate of any number of steps, for convex, smooth losses.

    On a domain of diameter D, μ = (1/σ)√(3LD/(ηn) + (L²/n²)⌈Dn/(ηL)⌉), t ≥ Dn/(ηL) (Theorem 4.3 of
    Bok, Su and Altschuler 2024). :func:`last_iterate_guarantee` is slightly smaller: no rounding.
    """
    validation.check_count(n=n, n_steps=n_steps)
    validation.check_positive(diameter=diameter)
    check_convex_step(step_size=step_size, smoothness=smoothness)
    moved = shift(sensitivity=sensitivity, batch_size=n, sigma=sigma)
    if moved == 0:
        return state(0.0, "Theorem 4.3", LAST_ONLY)
    needed = diameter * n / (step_size * sensitivity)
    if n_steps < needed:
        raise ValueError(
            "n_steps must be at least diameter·n/(step_size·sensitivity) = "
            f"{needed:g}, got {n_steps!r}; use gd_composition"
        )
    far = diameter / (step_size * sigma)
    mu = math.sqrt(3 * moved * far + moved**2 * math.ceil(needed))
    return state(mu, "Theorem 4.3", PROJECTED, NO_JUMPS, LAST_ONLY)


def regularised_temperature(
    ridge: float, sensitivity: float, *, epsilon: float, delta: float
) -> float:
    """Temperature k at which exp(−k(Φ + ½μ‖x − x_c‖²)) is (ε, δ)-DP, if Φ is always convex.

    If Φ_Z − Φ_Z' is Δ-Lipschitz, the two distributions are no easier to distinguish than Gaussians
    with means m = Δ√(k/μ) apart (Gopi, Lee and Liu 2022), so that k = μ(m/Δ)². Theorem B.8 of Lowy
    and Liu uses Δ = 2G/n, which omits how y* changes with the rows; K/n is sound.
    """
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
    """Noise σ per coordinate for n_steps noisy hypergradients, all of which may be released.

    Each is a Gaussian mechanism of sensitivity K/n + 2Cα, for inner fits within α; T of them are
    √T·(K/n + 2Cα)/σ-GDP. Lowy and Liu print 32K√(T log(1/δ))/(nε) (Lemma 4.1).
    """
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
    """Excess loss on the rows or risk on their population, up to logarithms and constants.

    It is ∝ n^a·p^b·ε^c. On a population n^``sampling`` is added, which no privacy costs. Table 2
    adds ``tolerance``, which does not fall with n. Langevin diffusion needs the least of ``times``,
    and its stationary law if there is none (the columns T of the finite-time analysis).
    """

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
    """Lower bound on the log-Sobolev constant c of a thresholded Gibbs distribution.

    Lemma D.4 of Ganesh, Thakurta and Upadhyay (2023): βm·exp(−βψ) for βψ ≤ 1 and m/(eψ) beyond, by
    the oscillation, where the paper prints a supremum. A smooth threshold of width s replaces ψ by
    ψ + s/2 (own derivation).
    """
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
    """Time after which the diffusion is within total variation ``distance`` of its target.

    log(KL₀/(2λ²))/(2c), as KL falls as exp(−2ct) and TV ≤ √(KL/2) (Lemmas D.3 and D.5 of Ganesh,
    Thakurta and Upadhyay 2023). Continuous time, without the error of steps; no guarantee uses it.
    """
    validation.check_positive(c=c, distance=distance)
    validation.check_nonnegative(divergence=divergence)
    if distance > 1:
        raise ValueError(f"distance is a total variation distance, at most 1, got {distance!r}")
    if divergence <= 2 * distance**2:
        return 0.0
    return math.log(divergence / (2 * distance**2)) / (2 * c)
