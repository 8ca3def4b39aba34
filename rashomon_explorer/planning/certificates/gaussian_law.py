"""Gaussian DP of a strongly convex law with little or no threshold."""

import math
from dataclasses import replace

from rashomon_explorer.planning.certificates.certificate import Certificate, refused
from rashomon_explorer.planning.certificates.law import GibbsLaw
from rashomon_explorer.privacy.gaussian import bounded_range_mu
from rashomon_explorer.privacy.guarantee import ADJACENCY, gdp
from rashomon_explorer.validation import check_count

_NAME = "gaussian_gibbs"
_TITLE = "a strongly convex law is as hard to tell apart as two normal laws"
_SOURCE = (
    "Gopi, Lee and Liu 2022 (Corollary 5.2 of Bok, Su and Altschuler 2024); with a threshold: own "
    "derivation, docs/certificates.md"
)


def gaussian_gibbs(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """μ-GDP with μ = Δ√(β/m) + 2μ(c), c = β(ψ + τ + s/2).

    exp(−βL) is βm-strongly convex and neighbours' energies differ by a βΔ-Lipschitz function, so
    that exact draws of it are Δ√(β/m)-GDP on any convex domain, which quadratic losses attain. The
    threshold, and at ψ = 0 the error τ of the minimum, changes each law's log density by a range
    of at most c; a pair of range c is μ(c)-GDP (``bounded_range_mu``), and Gaussian trade-offs of
    three pairs in a row add up. So the threshold is nearly free while βψ is small, and
    ruinous once it is not.

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
    >>> law = GibbsLaw(constants, ball, psi=0.0, beta=40_000.0)
    >>> round(gaussian_gibbs(law, delta=1e-6).guarantee.mu, 3)
    0.125
    """
    check_count(n_draws=n_draws)
    m = law.constants.m
    if not m > 0:
        why = "needs a strongly convex loss, and m = 0: give the problem a ridge > 0"
        return refused(_NAME, _TITLE, _SOURCE, why)
    bare = law.slope * math.sqrt(law.beta / m)
    change = law.beta * law.lowered
    raised = 2 * bounded_range_mu(change)
    guarantee = replace(
        gdp(mu=math.sqrt(n_draws) * (bare + raised)),
        theorem="strongly convex Gibbs law (Gopi, Lee and Liu 2022; docs/certificates.md)",
        assumptions=(ADJACENCY, "the loss is convex and its ridge is m", "the draw is exact"),
    )
    why = (
        f"m = {m:.3g}: μ = Δ√(β/m) = {bare:.4g}, and {raised:.3g} more because the threshold "
        f"changes log densities by β(ψ + τ + s/2) = {change:.3g} ({law.in_words()})"
    )
    return Certificate(_NAME, _TITLE, _SOURCE, guarantee, True, why)
