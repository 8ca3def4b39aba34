"""Constructors of guarantees, by notion of privacy."""

import math

from rashomon_explorer._utils.validation import check_delta, check_nonnegative_or_infinite
from rashomon_explorer.privacy.guarantee import Guarantee


def pure(epsilon: float) -> Guarantee:
    """Pure ε-DP, which is also ε²/2-zCDP (Bun and Steinke 2016, Proposition 3.3).

    Examples
    --------
    >>> pure(epsilon=1.0).rho
    0.5
    """
    check_nonnegative_or_infinite(epsilon=epsilon)
    return Guarantee(
        "pure", "pure DP", pure_epsilon=epsilon, rho=_never_0(float(epsilon) * epsilon / 2, epsilon)
    )


def bounded_range(eta: float) -> Guarantee:
    """η-bounded range: log-density ratios of neighbours lie in an interval of width η.

    It is η-DP for one draw and η²/8-zCDP for composition (Cesar and Rogers 2021, Lemma 3.5).

    Examples
    --------
    >>> bounded_range(eta=2.0).rho
    0.5
    """
    check_nonnegative_or_infinite(eta=eta)
    return Guarantee(
        "bounded_range",
        "exponential mechanism, bounded range (Theorem 2.1 of Ganesh et al. 2023; Cesar and "
        "Rogers 2021)",
        pure_epsilon=eta,
        rho=_never_0(float(eta) * eta / 8, eta),
    )


def zcdp(rho: float) -> Guarantee:
    """ρ-zero-concentrated DP.

    Examples
    --------
    >>> zcdp(rho=0.5).epsilon(0.0)
    inf
    """
    check_nonnegative_or_infinite(rho=rho)
    return Guarantee("zcdp", "zCDP (Bun and Steinke 2016)", rho=rho)


def gdp(mu: float) -> Guarantee:
    """μ-Gaussian DP, which is also μ²/2-zCDP (Dong, Roth and Su 2022, Corollary B.6).

    Examples
    --------
    >>> gdp(mu=1.0).rho
    0.5
    >>> round(gdp(mu=1.0).epsilon(1e-5), 4), round(zcdp(rho=0.5).epsilon(1e-5), 4)
    (4.3772, 4.7284)
    """
    check_nonnegative_or_infinite(mu=mu)
    return Guarantee(
        "gdp", "Gaussian DP (Dong, Roth and Su 2022)", rho=_never_0(float(mu) * mu / 2, mu), mu=mu
    )


def approximate(epsilon: float, delta: float) -> Guarantee:
    """(ε, δ)-DP; pure for δ = 0.

    Examples
    --------
    >>> approximate(epsilon=1.0, delta=1e-6).epsilon(1e-5)
    1.0
    """
    check_nonnegative_or_infinite(epsilon=epsilon)
    check_delta(delta)
    if delta == 0:
        return pure(epsilon)
    return Guarantee(
        "approximate",
        "(ε, δ)-DP",
        pure_epsilon=0.0,
        rho=0.0,
        mu=0.0,
        approximate_epsilon=epsilon,
        approximate_delta=delta,
    )


def no_guarantee(reason: str) -> Guarantee:
    """Guarantee that claims no privacy, with the reason."""
    return Guarantee("none", reason, assumptions=())


def _never_0(square: float, root: float) -> float:
    """Round an underflowing square up instead of to 0, which would be a privacy cost of zero."""
    return square if square > 0 or root == 0 else math.ulp(0.0)
