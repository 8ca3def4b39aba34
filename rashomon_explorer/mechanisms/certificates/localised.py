"""Certificate for strongly convex losses, from their oscillation near the minimiser."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainccinv, gammaln

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.mechanisms.certificates.base import Certificate, refused
from rashomon_explorer.mechanisms.certificates.gibbs_laws import GibbsLaw
from rashomon_explorer.privacy import Guarantee, repeated_bounded_range

# Shares of δ for draws far from the minimiser; the rest is for composition, if there is any.
_SHARES = (1 - 1e-9, 0.9, 0.5, 0.1, 0.01)
_MANY_TERMS = 30  # from here numpy is faster than a loop
_LOCALISED = (
    "localised",
    "the draws stay near the minimiser, where neighbours' losses differ by less",
    "own derivation, docs/certificates.md",
)


def localised(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """Approximate DP with δ', from the region where an m-strongly convex law has its mass."""
    check_count(n_draws=n_draws)
    m = law.constants.m
    if not m > 0:
        why = "needs a strongly convex loss, and m = 0: without a ridge no radius is known"
        return refused(*_LOCALISED, why)
    if not delta > 0:
        why = "needs δ > 0, which covers draws far from the minimiser; got δ = 0"
        return refused(*_LOCALISED, why)
    shares = _SHARES if n_draws > 1 else _SHARES[:1]
    failures = [share * delta / n_draws for share in shares]
    every = [_draws(law, failure, n_draws) for failure in failures]
    # Compare by zCDP, which is fast to evaluate; any share is valid.
    best = min(every, key=lambda one: replace(one, curve=None).epsilon(delta))
    lost = best.approximate_delta / n_draws
    reach = math.sqrt(2 * _quantile(law, lost) / m)
    why = (
        f"m = {m:.3g} keeps a draw within {reach:.3g} of the minimiser except with probability "
        f"{lost:.2g} ({law.in_words()})"
    )
    return Certificate(*_LOCALISED, best, True, why)


def _draws(law: GibbsLaw, failure: float, n_draws: int) -> Guarantee:
    """Guarantee by both notions, for the same δ'; an ε₁-DP law has range 2ε₁."""
    quantile = _quantile(law, failure)
    epsilon, eta = _one_sided(law, quantile), _range(law, quantile)
    bounded = repeated_bounded_range(min(eta, 2 * epsilon), n_draws)
    return replace(
        bounded,
        notion="approximate",
        theorem="localised oscillation of a strongly convex Gibbs law (docs/certificates.md)",
        pure_epsilon=n_draws * min(epsilon, eta),
        approximate_delta=n_draws * failure,
        assumptions=(*bounded.assumptions, "the loss is convex with ridge m", "draws are exact"),
    )


def _one_sided(law: GibbsLaw, quantile: float) -> float:
    """ε₁ of one draw."""
    edge = _edge(law)
    top = law.psi + law.tolerance + law.width
    mass, mean = mean_above(law.constants.p, law.beta, top, min(edge, top))
    raised = min(mass * _difference(law, mean), law.constants.charged_oscillation)
    return law.beta * min(raised + _difference(law, quantile), law.constants.charged_oscillation)


def _range(law: GibbsLaw, quantile: float) -> float:
    """η of one draw."""
    shift = law.slope / law.constants.m
    reach = math.sqrt(2 * quantile / law.constants.m)
    across = law.slope * min(2 * reach + shift, law.domain.diameter)
    beyond = law.slope * min(reach + shift, law.domain.diameter) + law.tolerance
    return law.beta * min(max(across, beyond), law.constants.charged_oscillation)


def _difference(law: GibbsLaw, excess: float) -> float:
    """b(e): bound on the difference of the losses above their minima, at excess e of either."""
    reach = math.sqrt(2 * excess / law.constants.m) + law.slope / law.constants.m
    return law.slope * min(reach, law.domain.diameter) + law.tolerance


def _edge(law: GibbsLaw) -> float:
    """Largest excess e ≥ 0 with b(e) ≤ ψ − e, below which both losses are below the threshold."""
    room = law.psi - law.slope**2 / law.constants.m - law.tolerance
    if room <= 0:
        return 0.0
    half = law.slope / math.sqrt(2 * law.constants.m)
    root = room / (half + math.sqrt(half**2 + room))  # of t² + 2·half·t = room, t² = e
    return root**2


def _quantile(law: GibbsLaw, failure: float) -> float:
    """q: excess quantile, for a threshold raised by the minimum's error and the smooth rise."""
    p, beta, base = law.constants.p, law.beta, law.psi + law.tolerance
    hard = excess_quantile(p, beta, base + law.width, failure)
    if not law.width:
        return hard
    return min(hard, base + law.width / 2 + excess_quantile(p, beta, 0.0, failure))


@lru_cache(maxsize=1024)  # requested again for the text of a certificate
def excess_quantile(p: int, beta: float, level: float, failure: float) -> float:
    """Excess L − min L that a draw exceeds with probability at most ``failure``.

    For convex L, the hard threshold at ``level`` and x = β·level, β·excess is stochastically at
    most the cone's law, ∝ z^(p−1)·exp(−max(z − x, 0)) (Brunn–Minkowski; docs/theory.md §2). So for
    y ≥ 0, P(β·excess > x + y) ≤ e^(−y)·T_{p−1}(x + y)/T_p(x), with T_k(z) = Σ_{j≤k} zʲ/j!.
    """
    x = beta * level
    log_failure = math.log(failure)
    least = _log_exponential_sum(p, x)

    def surplus(y: float) -> float:
        return _log_exponential_sum(p - 1, x + y) - y - least - log_failure

    if surplus(0.0) <= 0:
        return level
    # The Gamma law, at level 0, has the larger tail above its threshold.
    high = float(gammainccinv(p, failure)) * (1 + 1e-9) + 1e-9
    y = brentq(surplus, 0.0, high, xtol=1e-12, rtol=1e-13)
    return level + float(y) * (1 + 1e-10) / beta


def mean_above(p: int, beta: float, level: float, least: float) -> tuple[float, float]:
    """Mass of the cone's law above an excess ``least`` ≤ ``level``, and its mean excess there."""
    x = beta * level
    if x <= 0:
        return 1.0, p / beta
    inside = math.exp(p * math.log(x) - float(gammaln(p + 1)) - _log_exponential_sum(p, x))
    share = least / level
    mass = max(1 - inside * share**p, 1e-12)  # a larger mass only increases the bounds from it
    total = p / beta + inside * level * p / (p + 1) * (1 - share ** (p + 1))
    return mass, total / mass


def _log_exponential_sum(k: int, z: float) -> float:
    """Logarithm of T_k(z) = Σ_{j≤k} zʲ/j!."""
    if z <= 0 or k == 0:
        return 0.0
    factorials = _log_factorials(k)
    if k < _MANY_TERMS:
        log_z = math.log(z)
        few = [power * log_z - one for power, one in enumerate(factorials.tolist())]
        top = max(few)
        return top + math.log(math.fsum(math.exp(term - top) for term in few))
    terms = np.arange(k + 1) * math.log(z) - factorials
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))


@lru_cache(maxsize=64)  # a search repeats the same ones hundreds of times
def _log_factorials(k: int) -> FloatArray:
    """Logarithms of 0!, …, k!."""
    return np.asarray(gammaln(np.arange(1.0, k + 2.0)))
