"""Bounded range: what holds of every draw, whatever the threshold."""

from rashomon_explorer.planning.certificates.certificate import Certificate
from rashomon_explorer.planning.certificates.law import GibbsLaw
from rashomon_explorer.privacy.composition import repeated_bounded_range
from rashomon_explorer.validation import check_count


def oscillation(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """η-bounded range with η = β·(osc + 2τ), for every ψ and every shape of the threshold.

    If L_D − L_D' ∈ [a, b] on the domain, then so is the difference of the thresholded losses up
    to the minimum's error τ on either side (docs/theory.md §1). Needs no convexity. It is η-DP
    for one draw; k draws, settled beforehand, cost the optimum for bounded range, at
    most kη²/8-zCDP.

    Parameters
    ----------
    law : GibbsLaw
    delta : float
        Not used: the notions need none.
    n_draws : int, default=1

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from rashomon_explorer.constants import Constants
    >>> from rashomon_explorer.domains import Ball
    >>> constants = Constants.of("logistic", n=1000, p=2, domain=Ball(1.0), row_bound=1.0)
    >>> law = GibbsLaw(constants, Ball(1.0), psi=0.1, beta=500.0)
    >>> round(oscillation(law, delta=0.0).epsilon(0.0), 5)
    1.0
    """
    check_count(n_draws=n_draws)
    eta = law.beta * law.constants.priced_osc
    return Certificate(
        name="oscillation",
        title="the losses of neighbours differ by a small range",
        source="Theorem 2.1 of Ganesh et al. 2023; Cesar and Rogers 2021, Lemma 3.5",
        guarantee=repeated_bounded_range(eta, n_draws),
        applies=True,
        why=f"holds for every ψ: η = β·osc = {eta:.4g} a draw ({law.in_words()})",
    )
