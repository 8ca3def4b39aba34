"""Zero-concentrated DP of a strongly convex law with threshold, by a log-Sobolev inequality."""

import math
from dataclasses import replace

from rashomon_explorer.planning.certificates.certificate import Certificate, refused
from rashomon_explorer.planning.certificates.law import GibbsLaw
from rashomon_explorer.privacy.guarantee import ADJACENCY, zcdp
from rashomon_explorer.validation import check_count

_NAME = "isoperimetry"
_TITLE = "a log-Sobolev inequality concentrates the privacy loss"
_SOURCE = (
    "Theorem 2.7 of Ganesh et al. 2023, with Herbst's argument and explicit constants "
    "(docs/certificates.md)"
)


def isoperimetry(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """ρ-zCDP with ρ = β²Δ_ψ²/(2c), c the log-Sobolev constant of the law.

    Both neighbours' laws satisfy the inequality with c = βm·e^(−βℓ) for βℓ ≤ 1 and m/(eℓ) beyond,
    ℓ = ψ + τ + s/2 (Lemma D.4 of Ganesh et al. 2023), also on a convex domain. With h the
    difference of the energies and K(s) = log E e^(sh), Herbst's argument gives
    (K(s)/s)' ≤ β²Δ_ψ²/(2c), and the Rényi divergence of order α is
    (α/(α − 1))·(K(α)/α − K(1)) ≤ αβ²Δ_ψ²/(2c), in both directions. At ψ = 0 it is the zCDP
    part of ``gaussian_gibbs``, which says more.

    Parameters
    ----------
    law : GibbsLaw
        Of a convex loss with ridge.
    delta : float
        Not used by the notion; nothing is promised at δ = 0.
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
    >>> law = GibbsLaw(constants, ball, psi=0.1, beta=1.0)
    >>> round(isoperimetry(law, delta=1e-6).guarantee.rho, 3)
    0.95
    """
    check_count(n_draws=n_draws)
    m = law.constants.m
    if not m > 0:
        why = "needs a strongly convex loss, and m = 0: give the problem a ridge > 0"
        return refused(_NAME, _TITLE, _SOURCE, why)
    if law.psi == 0 and law.width == 0:
        why = "at ψ = 0 it is the zCDP part of gaussian_gibbs, which says more"
        return refused(_NAME, _TITLE, _SOURCE, why)
    slope, constant = law.energy_slope, log_sobolev(law.beta, law.constants.m, law.lowered)
    rho = (law.beta * slope) ** 2 / (2 * constant)
    guarantee = replace(
        zcdp(rho=n_draws * rho),
        theorem="log-Sobolev inequality of a Gibbs law (Theorem 2.7 of Ganesh et al. 2023, own "
        "constants)",
        assumptions=(ADJACENCY, "the loss is convex and its ridge is m", "the draw is exact"),
    )
    why = (
        f"m = {m:.3g}: c = {constant:.4g}, and one record moves the thresholded gradient by up to "
        f"{slope:.4g}, so that ρ = {rho:.4g} ({law.in_words()})"
    )
    return Certificate(_NAME, _TITLE, _SOURCE, guarantee, True, why)


def log_sobolev(beta: float, m: float, level: float) -> float:
    """c, the largest aβm·exp(−aβℓ) over 0 ≤ a ≤ 1, ℓ how far the threshold lifts the loss.

    Examples
    --------
    >>> log_sobolev(beta=10.0, m=0.5, level=0.0)
    5.0
    """
    raised = beta * level
    share = min(1.0, 1 / raised) if raised > 0 else 1.0
    return share * beta * m * math.exp(-share * raised)
