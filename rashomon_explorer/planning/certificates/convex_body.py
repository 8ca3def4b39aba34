"""Gaussian DP of a convex law on a bounded domain, as the limit of its chain's last iterate."""

import math
from dataclasses import replace

from rashomon_explorer.planning.certificates.certificate import Certificate
from rashomon_explorer.planning.certificates.law import GibbsLaw
from rashomon_explorer.privacy.gaussian import bounded_range_mu
from rashomon_explorer.privacy.guarantee import ADJACENCY, gdp
from rashomon_explorer.validation import check_count


def convex_body(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """μ-GDP with μ = √(2βΔ_ψD), D the diameter, for convex losses with or without ridge.

    Corollary 5.4 of Bok, Su and Altschuler 2024 has 2√(LD) for energies that are L-Lipschitz, whose
    differences are 2L-Lipschitz, which is all that is used: here they are βΔ_ψ-Lipschitz. At ψ = 0
    the minimum's error changes both log densities by a range of βτ and adds 2μ(βτ)
    (``bounded_range_mu``). Better than bounded range only for large prices.

    Parameters
    ----------
    law : GibbsLaw
        Of a convex loss.
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
    >>> constants = Constants.of("logistic", n=1000, p=2, domain=Ball(1.0), row_bound=1.0)
    >>> law = GibbsLaw(constants, Ball(1.0), psi=0.0, beta=5000.0)
    >>> round(convex_body(law, delta=1e-6).guarantee.mu, 2)
    5.41
    """
    check_count(n_draws=n_draws)
    slope, diameter = law.energy_slope, law.domain.diameter
    mu = math.sqrt(2 * law.beta * slope * diameter)
    if law.psi == 0 and law.width == 0:
        mu += 2 * bounded_range_mu(law.beta * law.tolerance)
    guarantee = replace(
        gdp(mu=math.sqrt(n_draws) * mu),
        theorem="convex Gibbs law on a bounded domain (Corollary 5.4 of Bok, Su and Altschuler "
        "2024)",
        assumptions=(ADJACENCY, "the loss is convex", "the draw is exact"),
    )
    return Certificate(
        name="convex_body",
        title="a convex law on a bounded domain, as the limit of a chain",
        source="Corollary 5.4 of Bok, Su and Altschuler 2024",
        guarantee=guarantee,
        applies=True,
        why=(
            f"energies' slopes differ by at most βΔ = {law.beta * slope:.4g} on a domain of "
            f"diameter {diameter:.3g}: μ = {mu:.4g} ({law.in_words()})"
        ),
    )
