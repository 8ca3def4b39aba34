"""Bounds on draws as functions of public numbers, for comparison with measurements.

They read no row. Symbols are those of the papers: ``n`` rows, ``p`` parameters, ``beta`` inverse
temperature, ``psi`` Rashomon threshold, ``width`` of a smooth threshold (0 for the hard one), ``L``
Lipschitz constant of one row's loss on the domain, ``m`` strong convexity, ``diameter`` of the
domain. All but the closed forms assume a convex loss on a convex domain.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, gammainc, gammaincc, gammaincinv, logsumexp

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.mechanisms.request import Request

__all__ = [
    "accelerated_path_excess",
    "accelerated_share",
    "convex_law",
    "expected_excess",
    "hit_probability",
    "hit_probability_from_excess",
    "least_acceptance",
    "path_average_excess",
    "path_states_excess",
    "population_risk",
    "uniform_stability",
]


def expected_excess(*, p: int, beta: float, psi: float = 0.0, width: float = 0.0) -> float:
    """Bound p/β + ψ + s/2 on a draw's expected excess loss E[L(θ)] − min L.

    Theorem 2.4 of Ganesh, Thakurta and Upadhyay (2023) for the hard threshold, s = 0; of a smooth
    one docs/theory.md §6. For the hard threshold ``convex_law(...).mean`` is smaller.
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
    """Bound p/β + d²/(2βT) + hβL²/2 + ψ + s/2 on the excess loss of a Langevin path's average.

    d = ``distance`` bounds ‖θ₀ − θ*‖, and T = hN (docs/theory.md §6): a step changes E‖θ − θ*‖² by
    at most −2hβ·E[energy(θ)] + h²β²L² + 2hp, and the sum telescopes. Theorem F.1 of the finite-time
    analysis claims 2p/β + D²/(βT) for the *last* state; its proof loses a logarithm.
    """
    validation.check_positive(L=L, step_size=step_size)
    validation.check_nonnegative(distance=distance)
    validation.check_count(n_steps=n_steps)
    stationary = expected_excess(p=p, beta=beta, psi=psi, width=width)
    start = distance**2 / (2 * beta * step_size * n_steps)
    return stationary + start + step_size * beta * L**2 / 2


def path_states_excess(
    *,
    p: int,
    beta: float,
    M: float,
    distance: float,
    step_size: float,
    n_steps: int,
    burn_in: int = 0,
    batch_variance: float = 0.0,
) -> float:
    """Bound d²/(2βT) + (p/β + hβV/2)/(1 − hβM) on the mean excess loss of a Langevin path's states.

    d = ``distance`` bounds ‖θ₀ − θ*‖, T = hN, and V is the ``batch_variance`` of gradients drawn
    anew in each step. Without the first B states it is N/(N − B) times that (docs/theory.md §30).

    Examples
    --------
    >>> path = {"p": 11, "beta": 2_000.0, "M": 0.8, "distance": 4.0, "step_size": 1e-4}
    >>> round(path_states_excess(**path, n_steps=20_000), 5)
    0.00855
    """
    validation.check_count(p=p, n_steps=n_steps)
    validation.check_positive(M=M, beta=beta, step_size=step_size)
    validation.check_nonnegative(distance=distance, batch_variance=batch_variance)
    pace = step_size * beta
    room = 1 - pace * M
    if not room > 0:
        raise ValueError(
            f"step_size must be below 1/(β·M) = {1 / (beta * M):.3g} for this bound, got "
            f"{step_size:.3g}"
        )
    if not 0 <= burn_in < n_steps:
        raise ValueError(f"burn_in must be from 0 to n_steps − 1 = {n_steps - 1}, got {burn_in!r}")
    start = distance**2 / (2 * pace * n_steps)
    noise = (p / beta + pace * batch_variance / 2) / room
    return (start + noise) * n_steps / (n_steps - burn_in)


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
    """Bound p/(β(1 − q)) + d²/(2βT) + ψ + s/2 on the excess of an accelerated path's average.

    q = 4MβT/(N + 1)² < 1 with the smoothness ``M`` of the energy, T = Nh, and d = ``distance``
    bounds ‖θ₀ − θ*‖. Steps t of time 2ht/(N + 1) and weights ∝ t: docs/theory.md §6.
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

    Theorem 2.5 of Ganesh, Thakurta and Upadhyay (2023); at ψ = 0 also Corollary E.3 of the
    finite-time analysis. The term in ψ does not fall with n.
    """
    return L * coupling_distance(L=L, m=m, n=n, psi=psi, width=width)


def population_risk(
    *, p: int, beta: float, L: float, m: float, n: int, psi: float = 0.0, width: float = 0.0
) -> float:
    """Bound on a draw's expected excess risk on the population of the rows.

    The sum of :func:`expected_excess` and :func:`uniform_stability` (Lemma C.16 of Ganesh, Thakurta
    and Upadhyay 2023). Rows must be independent draws of one law; the risk includes the ridge.
    """
    empirical = expected_excess(p=p, beta=beta, psi=psi, width=width)
    return empirical + uniform_stability(L=L, m=m, n=n, psi=psi, width=width)


def guaranteed_hit_rate(p: int, beta: float, psi: float) -> float:
    """Lower bound on the probability that a draw lies in the Rashomon set, for convex losses.

    [Σ_{j=0..p} p!/(p−j)! (βψ)^{−j}]⁻¹ ≥ 1 − p/(βψ): the cone has the least mass near its tip
    (own derivation, docs/theory.md §2; Theorem D.6 of Ganesh et al. 2023 needs p²).

    Parameters
    ----------
    p, beta, psi
        Number of parameters, inverse temperature and Rashomon threshold.

    Examples
    --------
    >>> round(guaranteed_hit_rate(p=1, beta=10.0, psi=1.0), 4)
    0.9091
    """
    x = float(beta * psi)  # a NumPy number would warn of terms that overflow, where the rate is 0
    if x <= 0:
        return 0.0
    total = term = 1.0
    for j in range(1, p + 1):
        term *= (p - j + 1) / x
        total += term
        if total > 1e300:
            return 0.0
    return 1 / total


def unthresholded_hit_rate(p: int, beta: float, psi: float) -> float:
    """Lower bound P(p, βψ), of a Gamma law, on a hit by a draw at ψ = 0 (docs/theory.md §2)."""
    return float(gammainc(p, beta * psi))


def beta_for_unthresholded_hit_rate(p: int, psi: float, hit_rate: float) -> float:
    """Least inverse temperature at which :func:`unthresholded_hit_rate` reaches ``hit_rate``."""
    beta = float(gammaincinv(p, hit_rate)) / psi
    while unthresholded_hit_rate(p, beta, psi) < hit_rate:  # an ulp short
        beta *= 1 + 1e-12
    return beta


def beta_for_hit_rate(p: int, psi: float, hit_rate: float) -> float:
    """Least inverse temperature at which :func:`guaranteed_hit_rate` reaches ``hit_rate``."""
    validation.check_count(p=p)
    if not (math.isfinite(psi) and psi > 0):
        raise ValueError(f"psi must be finite and > 0 for a guaranteed hit rate, got {psi!r}")
    validation.check_inner_share(hit_rate=hit_rate)
    high = p / (1 - hit_rate)  # 1 − p/x is a lower bound on the guaranteed hit rate
    while not guaranteed_hit_rate(p, high, 1.0) >= hit_rate:  # an ulp short
        high *= 1 + 1e-12
    high = bisect(lambda x: guaranteed_hit_rate(p, x, 1.0) >= hit_rate, high, 0.0, halvings=100)
    beta = high / psi
    while guaranteed_hit_rate(p, beta, psi) < hit_rate:
        beta = math.nextafter(beta, math.inf)
    return beta


_CELLS = 4096
_LARGEST_LOG = 700.0


def hit_probability(*, p: int, beta: float, psi: float, width: float = 0.0) -> float:
    """Lower bound on the probability that a draw lies in the Rashomon set.

    For the hard threshold :func:`guaranteed_hit_rate`. For the smooth one of width s the same
    argument on each ray gives [1 + A]⁻¹, A = p ∫₀^∞ (1 + v/ψ)^{p−1} exp(−β φ_s(v)) dv/ψ the mass
    outside, bounded above by a sum over cells up to v = s, and exact beyond.
    """
    validation.check_count(p=p)
    validation.check_positive(beta=beta)
    validation.check_nonnegative(psi=psi, width=width)
    if psi == 0 or width == 0:
        return guaranteed_hit_rate(p, beta, psi)
    beyond = np.linspace(0, width, _CELLS + 1)
    growth = p * np.log1p(beyond / psi)
    # Each cell: its exact volume, times the density at its near end, where it is largest.
    volume = growth[1:] + np.log(-np.expm1(growth[:-1] - growth[1:]))
    log_outside = float(logsumexp(volume - beta * beyond[:-1] ** 2 / (2 * width)))
    share = guaranteed_hit_rate(p, beta, psi + width)
    if share == 0:
        return 0.0
    log_linear = p * np.log1p(width / psi) - beta * width / 2 + np.log(1 / share - 1)
    log_outside = float(np.logaddexp(log_outside, log_linear))
    return float(1 / (1 + np.exp(log_outside))) if log_outside < _LARGEST_LOG else 0.0


def hit_probability_from_excess(*, p: int, beta: float, psi: float) -> float:
    """Lower bound on the hit probability by the published argument, for comparison.

    Theorem D.6 of Ganesh, Thakurta and Upadhyay (2023): 1 − φ − pγ/ψ with φ = P(Gamma(p) > βγ) and
    the best γ of a grid. It needs βψ ≫ p² where :func:`hit_probability` needs βψ ≫ p.
    """
    validation.check_count(p=p)
    validation.check_positive(beta=beta)
    validation.check_nonnegative(psi=psi)
    if psi == 0:
        return 0.0
    gamma = psi / p * np.linspace(0, 1, _CELLS)
    bounds = 1 - gammaincc(p, beta * gamma) - p * gamma / psi
    return max(0.0, float(bounds.max()))


_STEPS = 4000
_COLDEST = 60.0  # a mass of e⁻⁶⁰ lies beyond
_ROUNDING = 1e-9  # far above the rounding error of four thousand terms


def least_acceptance(p: int, beta: float, psi: float, spread: float) -> float:
    """Lower bound on the probability that a proposal becomes a draw, for a convex loss.

    It is a lower sum of p ∫₀¹ tᵖ⁻¹ exp(−β(t·spread − ψ)₊) dt (docs/theory.md §3). ``spread`` > 0
    bounds max − min of the loss over the domain, from public numbers.
    """
    if psi >= spread:
        return 1.0
    top = spread if beta == 0 else min(spread, psi + _COLDEST / beta)
    # The sum counts no mass beyond the last level.
    levels = np.linspace(psi, top, _STEPS + 1)
    shares = (levels / spread) ** p
    total = shares[0] + float(np.diff(shares) @ np.exp(-beta * (levels[1:] - psi)))
    return float(min(1.0, max(0.0, total)) * (1 - _ROUNDING))


def giving_up_probability(acceptance: float, patience: int, n_draws: int) -> float:
    """Upper bound n_draws·(1 − a)^patience on the probability of giving up before the last draw."""
    if acceptance >= 1:
        return 0.0
    bound = n_draws * math.exp(patience * math.log1p(-acceptance))
    return min(1.0, bound * (1 + _ROUNDING * (1 + patience * acceptance)))


_SMALLEST = 1e-280  # below it the incomplete gamma function loses digits


@dataclass(frozen=True)
class ExcessLaw:
    """Law of e = L(θ) − min L with density ∝ e^{a−1} exp(−β·max{e, ψ}) on e ≥ 0."""

    twice_shape: int
    beta: float
    psi: float

    def __post_init__(self) -> None:
        validation.check_count(twice_shape=self.twice_shape)
        validation.check_positive(beta=self.beta)
        validation.check_nonnegative(psi=self.psi)

    @property
    def shape(self) -> float:
        """Exponent a: the excess loss of a ball of models grows as its volume to the power 1/a."""
        return self.twice_shape / 2

    @property
    def hit_rate(self) -> float:
        """Probability of e ≤ ψ: x^a e^{−x}/(x^a e^{−x} + a·Γ(a, x)) with x = βψ."""
        return _hit_rate(self.twice_shape, self.beta * self.psi)

    @property
    def mean(self) -> float:
        """Mean of e: a/β + ψ·a/(a + 1)·P(e ≤ ψ), by parts (docs/theory.md §8)."""
        a = self.shape
        return a / self.beta + self.psi * a / (a + 1) * self.hit_rate

    def cdf(self, excess: ArrayLike) -> FloatArray:
        """Probability that e is at most ``excess``; same shape."""
        y = self.beta * np.maximum(np.asarray(excess, dtype=float), 0.0)
        x, a = self.beta * self.psi, self.shape
        inside = self.hit_rate * (np.minimum(y, x) / x) ** a if x > 0 else np.zeros_like(y)
        above = np.maximum(y, x)
        # P(βe > y) = Q(a, y)/Q(a + 1, βψ) for y ≥ βψ, Q the upper incomplete gamma function.
        mass = gammaincc(a + 1, x)
        if mass > _SMALLEST:
            return np.where(y <= x, inside, 1 - gammaincc(a, above) / mass)
        beyond = np.array([1 / _hit_rate(self.twice_shape, value) - 1 for value in above.ravel()])
        decay = np.exp(a * np.log(above / x) - (above - x))
        return np.where(y <= x, inside, 1 - self.hit_rate * beyond.reshape(y.shape) * decay)


def convex_law(*, p: int, beta: float, psi: float = 0.0) -> ExcessLaw:
    """Law that is stochastically at least the excess loss of a draw, for any convex loss.

    It is the law of a cone, L = ‖θ‖: along a ray from the minimiser the radius r(e) at excess e is
    concave, so that the density of e relative to the cone's, (r/e)^{p−1} r', does not increase, and
    the monotone likelihood ratio puts every ray's law, and their mixture, below the cone's.
    """
    validation.check_count(p=p)
    return ExcessLaw(twice_shape=2 * p, beta=beta, psi=psi)


def quadratic_law(*, p: int, beta: float, psi: float = 0.0) -> ExcessLaw:
    """Exact law of the excess loss for a quadratic loss of full rank on all of ℝᵖ."""
    validation.check_count(p=p)
    return ExcessLaw(twice_shape=p, beta=beta, psi=psi)


def _hit_rate(twice_shape: int, x: float) -> float:
    """x^a e^{−x}/(x^a e^{−x} + a·Γ(a, x)), without underflow where x is large."""
    if twice_shape % 2 == 0:
        return guaranteed_hit_rate(twice_shape // 2, 1.0, x)
    if x <= 0:
        return 0.0
    # 1 + a·u(a), u(a) = Γ(a, x) eˣ x^{−a}, from a = ½ up: integration by parts, all terms > 0.
    total = 1 + 0.5 * math.sqrt(math.pi / x) * float(erfcx(math.sqrt(x)))
    for doubled in range(3, twice_shape + 1, 2):
        total = 1 + doubled / 2 * total / x
        if total > 1e300:
            return 0.0
    return 1 / total


T = TypeVar("T")

_SHARES = (0.0, *(2.0 ** (-k) for k in range(-1, 15)))  # of L₀/R
_MOST_RIDGE = 2.0**20


def added(request: Request, ridge: float) -> float:
    """Ridge that a mechanism adds to the user's."""
    return max(0.0, ridge - request.ridge)


def own_cost(request: Request, ridge: float) -> float:
    """Excess loss ½m'R² that an added ridge m' costs at the best model."""
    return added(request, ridge) / 2 * request.radius**2


def best_ridged(
    request: Request, made: Callable[[Request], tuple[float, T]], every: int = 1
) -> tuple[float, T]:
    """Ridge with the least first value of ``made`` (≥ the ridge's cost), and the second there."""
    scale = data_lipschitz(request.constants, request.domain) / request.radius
    ridges = {min(request.ridge + scale * share, _MOST_RIDGE) for share in _SHARES[::every]}
    least, best = math.inf, None
    for ridge in sorted(ridges):
        if best is not None and own_cost(request, ridge) >= least:
            break  # this ridge alone, and every larger one, costs more than the best of all
        value, made_of = made(replace(request, ridge=ridge))
        if best is None or value < least:
            least, best = value, (ridge, made_of)
    assert best is not None
    return best


def generalisation_gap(request: Request) -> float:
    """Bound 2L₀R/√n on E[risk − loss on the rows], for any model computed from the rows."""
    return batch_gap(request, request.n, request.radius)


def batch_gap(request: Request, size: int, reach: float) -> float:
    """Bound the same gap for ``size`` rows, also sampled ones, and a ball (Hoeffding 1963)."""
    outputs = request.loss_function.outputs
    several = math.sqrt(2 * outputs) if outputs > 1 else 1.0
    slope = data_lipschitz(request.constants, request.domain)
    return 2 * several * slope * reach / math.sqrt(size)


def stable_gap(request: Request, ridge: float, error: float = 0.0) -> float:
    """L₀(2L₀/(mn) + error): the same gap under a ridge m (Bousquet and Elisseeff 2002)."""
    slope = data_lipschitz(request.constants, request.domain)
    moved = 2 * slope / (ridge * request.n) + error if ridge > 0 else math.inf
    return min(generalisation_gap(request), slope * moved)
