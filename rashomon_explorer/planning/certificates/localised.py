"""Strongly convex losses: neighbours differ little where the draws are."""

import math
from dataclasses import replace

from rashomon_explorer.planning.certificates.certificate import Certificate, refused
from rashomon_explorer.planning.certificates.excess_tail import excess_quantile, mean_above
from rashomon_explorer.planning.certificates.law import GibbsLaw
from rashomon_explorer.privacy.composition import repeated_bounded_range
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.validation import check_count

# How much of δ goes to draws that are far out; the rest is for composition, where there is any.
_SHARES = (1 - 1e-9, 0.9, 0.5, 0.1, 0.01)
_NAME = "localised"
_TITLE = "the draws stay near the minimiser, where neighbours' losses differ by less"
_SOURCE = "own derivation, docs/certificates.md"


def localised(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """δ'-approximate DP from where an m-strongly convex law has its mass.

    Let Δ be the Lipschitz constant of L_D − L_D', q the excess that a draw is above with
    probability at most δ' (:func:`excess_quantile`, for either neighbour), and

        b(e) = Δ(√(2e/m) + Δ/m) + τ,   f(e) = max{b(e) − max(ψ − e, 0), 0}.

    Then a draw is (ε₁, δ')-DP with ε₁ = β·(b(q) + J), J an upper bound of E f(e) under the cone's
    law; and, but for parts of mass δ' of both laws, it is η-bounded-range with
    η = β·max{Δ(2r + Δ/m), Δ(r + Δ/m) + τ}, r = √(2q/m). So k draws,
    but for parts of mass kδ', are k·min(ε₁, η)-DP and cost no more than k draws of range
    min(2ε₁, η). The proof is in docs/certificates.md.

    Parameters
    ----------
    law : GibbsLaw
        Of a convex loss with ridge.
    delta : float
        Total δ of all draws, at which the certificate is to be best.
    n_draws : int, default=1

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from rashomon_explorer.constants import Constants
    >>> from rashomon_explorer.domains import Ball
    >>> ball = Ball(1.0)
    >>> constants = Constants.of("logistic", n=1000, p=1, domain=ball, row_bound=0.5, ridge=1.0)
    >>> law = GibbsLaw(constants, ball, psi=0.1, beta=1500.0)
    >>> round(localised(law, delta=1e-6).epsilon(1e-6), 3)
    0.434
    """
    check_count(n_draws=n_draws)
    m = law.constants.m
    if not m > 0:
        why = "needs a strongly convex loss, and m = 0: without ridge no radius holds the draws"
        return refused(_NAME, _TITLE, _SOURCE, why)
    if not delta > 0:
        why = "needs δ > 0, which pays for draws far from the minimiser; δ = 0 was asked for"
        return refused(_NAME, _TITLE, _SOURCE, why)
    shares = _SHARES if n_draws > 1 else _SHARES[:1]
    failures = [share * delta / n_draws for share in shares]
    every = [_draws(law, failure, n_draws) for failure in failures]
    # What its zCDP says, which is quick: any share is sound.
    best = min(every, key=lambda one: replace(one, curve=None).epsilon(delta))
    lost = best.approximate_delta / n_draws
    reach = math.sqrt(2 * _quantile(law, lost) / m)
    why = (
        f"m = {m:.3g} keeps a draw within {reach:.3g} of the minimiser but for probability "
        f"{lost:.2g} ({law.in_words()})"
    )
    return Certificate(_NAME, _TITLE, _SOURCE, best, True, why)


def _draws(law: GibbsLaw, failure: float, n_draws: int) -> Guarantee:
    """Both notions, which set aside the same δ'; what is ε₁-DP has range 2ε₁."""
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
    raised = min(mass * _difference(law, mean), law.constants.priced_osc)
    return law.beta * min(raised + _difference(law, quantile), law.constants.priced_osc)


def _range(law: GibbsLaw, quantile: float) -> float:
    """η of one draw."""
    shift = law.slope / law.constants.m
    reach = math.sqrt(2 * quantile / law.constants.m)
    across = law.slope * min(2 * reach + shift, law.domain.diameter)
    beyond = law.slope * min(reach + shift, law.domain.diameter) + law.tolerance
    return law.beta * min(max(across, beyond), law.constants.priced_osc)


def _difference(law: GibbsLaw, excess: float) -> float:
    """b(e): how far apart the losses are, above their minima, at an excess e of either."""
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
    """q, for a threshold that the minimum's error and the smooth rise lift.

    The smooth law is below the hard one at ψ + s, and (as φ(v) ≥ v − s/2) its excess over
    ψ + s/2 is below a Gamma variable: both hold.
    """
    p, beta, base = law.constants.p, law.beta, law.psi + law.tolerance
    hard = excess_quantile(p, beta, base + law.width, failure)
    if not law.width:
        return hard
    return min(hard, base + law.width / 2 + excess_quantile(p, beta, 0.0, failure))
