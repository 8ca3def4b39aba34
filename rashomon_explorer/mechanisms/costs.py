"""Privacy cost of exact draws of one Gibbs law, and the draws that a budget allows."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.validation import check_count, check_delta, check_positive
from rashomon_explorer.mechanisms.certificates import catalogue
from rashomon_explorer.mechanisms.request import GDP
from rashomon_explorer.privacy import Guarantee, bounded_range, composition, conversions
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain

_MOST_DRAWS = 1_000_000
_HAIR = 1e-13


def draws_guarantee(eta: float, n_draws: int, *, ledger: bool | str = False) -> Guarantee:
    """Guarantee of independent draws of one law, each of bounded range η."""
    if ledger:
        draws = composition.compose([bounded_range(eta)] * n_draws)
        if ledger == GDP:
            draws = replace(draws, mu=math.sqrt(n_draws) * conversions.bounded_range_mu(eta))
        return draws
    return composition.repeated_bounded_range(eta, n_draws)


def affordable_eta(
    epsilon: float, delta: float, n_draws: int, *, ledger: bool | str = False
) -> float:
    """Largest bounded range η of each of ``n_draws`` draws that together cost (ε, δ)."""
    check_positive(epsilon=epsilon)
    check_count(n_draws=n_draws)
    check_delta(delta)
    if not ledger:
        return composition.affordable_repeated_eta(epsilon, delta, int(n_draws))
    return _affordable_adaptively(epsilon, delta, int(n_draws), ledger == GDP)


@lru_cache(maxsize=4096)  # a rule repeats the same few budgets for every ball that it compares
def _affordable_adaptively(epsilon: float, delta: float, n_draws: int, by_gdp: bool) -> float:
    def total(eta: float) -> float:
        one = bounded_range(eta)
        if by_gdp:
            composed = conversions.gdp_epsilon(
                math.sqrt(n_draws) * conversions.bounded_range_mu(eta), delta
            )
        else:
            composed = conversions.zcdp_epsilon(n_draws * one.rho, delta)
        return min(n_draws * one.pure_epsilon, composed)

    low = epsilon / n_draws
    if total(low) > epsilon:  # the sum of n rounded shares may pass ε by an ulp
        low = math.nextafter(low, 0.0)
    high = 2 * epsilon
    while total(high) <= epsilon:  # a large δ covers a draw at any small ε
        high *= 2
    # First guess for where the pure sum exceeds the zCDP cost: a draw's ρ is η²/8.
    about = math.sqrt(8 * conversions.zcdp_rho(epsilon, delta) / n_draws) if delta > 0 else None
    return bisect(lambda eta: total(eta) <= epsilon, low, high, halvings=80, about=about)


def affordable_draws(
    epsilon: float, delta: float, eta: float, *, ledger: bool | str = False
) -> int:
    """Largest number of draws of bounded range η within (ε, δ); 0 if none fits."""
    return _most(lambda k: draws_guarantee(eta, k, ledger=ledger).epsilon(delta) <= epsilon)


@dataclass(frozen=True)
class CostTable:
    """Privacy costs of exact draws at every temperature."""

    constants: Constants
    domain: Domain
    psi: float  # Rashomon threshold
    delta: float  # total δ
    ledger: bool | str  # as in :func:`rashomon_explorer.mechanisms.plans`
    best: bool  # whether every certificate of a Gibbs law may be used, or bounded range only

    def guarantee(self, beta: float, n_draws: int) -> tuple[str, Guarantee]:
        """Name of the certificate of least ε at δ, and its guarantee for all draws."""
        plain = draws_guarantee(
            beta * self.constants.charged_oscillation, n_draws, ledger=self.ledger
        )
        if not self.best:
            return "oscillation", plain
        every = catalogue.gibbs_certificates(
            self.constants,
            self.domain,
            psi=self.psi,
            beta=beta,
            delta=self.delta,
            n_draws=n_draws,
            ledger=self.ledger,
        )
        found = catalogue.best_certificate(every, self.delta)
        if found.guarantee is None or found.epsilon(self.delta) >= plain.epsilon(self.delta):
            return "oscillation", plain
        return found.name, found.guarantee

    def coldest(self, epsilon: float, n_draws: int) -> float:
        """Largest β at which all draws cost at most ε."""
        check_positive(epsilon=epsilon)
        check_count(n_draws=n_draws)
        return _coldest(self, float(epsilon), int(n_draws))

    def most_draws(self, epsilon: float, beta: float) -> int:
        """Largest number of draws at β within ε; 0 if none fits, a million at most."""
        return _most(lambda k: self.guarantee(beta, k)[1].epsilon(self.delta) <= epsilon)


@lru_cache(maxsize=256)  # rules and sliders repeat the same arguments
def _coldest(prices: CostTable, epsilon: float, n_draws: int) -> float:
    eta = affordable_eta(epsilon, prices.delta, n_draws, ledger=prices.ledger)
    beta = eta / prices.constants.charged_oscillation
    while prices.guarantee(beta, n_draws)[1].epsilon(prices.delta) > epsilon:  # an ulp or two above
        beta *= 1 - _HAIR
    if not prices.best:
        return beta
    found, _ = catalogue.largest_beta(
        prices.constants,
        prices.domain,
        psi=prices.psi,
        epsilon=epsilon,
        delta=prices.delta,
        n_draws=n_draws,
        ledger=prices.ledger,
    )
    return max(beta, found)


def _most(affords: Callable[[int], bool]) -> int:
    """Largest affordable whole number, by doubling and bisection."""
    low, high = 0, 1
    while high <= _MOST_DRAWS and affords(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if affords(middle) else (low, middle)
    return min(low, _MOST_DRAWS)
