"""From a budget, or from wanted standard errors, to the noise of each query."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rashomon_explorer._utils.validation import check_delta, check_epsilon, check_positive
from rashomon_explorer.privacy import Guarantee, gdp, pure
from rashomon_explorer.privacy.conversions import gdp_mu, zcdp_rho
from rashomon_explorer.release.noise import GaussianNoise, LaplaceNoise, Noise, noise_scale
from rashomon_explorer.release.query import Query, Sensitivity

_MODELS_ARE_PUBLIC = "the models are a release of their own, charged apart"
_GAUSSIAN = "Gaussian mechanism (Theorem 2.7 of Dong, Roth and Su 2022)"
_LAPLACE = "Laplace mechanism (Proposition 1 of Dwork, McSherry, Nissim and Smith 2006)"


@dataclass(frozen=True)
class Budget:
    """What all queries of a release may cost together; one of four ways to say it.

    Parameters
    ----------
    epsilon, delta : float, optional
        (ε, δ): Laplace noise for δ = 0, Gaussian noise otherwise.
    rho, mu : float, optional
        ρ of zCDP or μ of Gaussian DP: Gaussian noise.
    standard_error : float or mapping of str to float, optional
        Standard deviation of the noise on each number of a query, for all or by name; the price
        follows. Gaussian noise.

    Raises
    ------
    ValueError
        If not exactly one is given, or one is out of range.

    Examples
    --------
    >>> round(Budget(rho=0.02).mu_total(ledger=True), 6)
    0.2
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None
    standard_error: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no budget."""
        prices = {"epsilon": self.epsilon, "rho": self.rho, "mu": self.mu}
        ways = {**prices, "standard_error": self.standard_error}
        given = [name for name, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {list(ways)}, got {given or 'none'}")
        for name, value in prices.items():
            if value is not None:
                check_positive(**{name: value})
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        check_delta(self.delta)
        if self.delta and self.epsilon is None:
            raise ValueError("delta belongs to epsilon: leave it out with rho, mu or errors")

    @property
    def is_pure(self) -> bool:
        """Whether the noise is Laplace."""
        return self.epsilon is not None and self.delta == 0

    def mu_total(self, *, ledger: bool) -> float:
        """μ of all queries together.

        A ledger counts zCDP, by which (ε, δ) pays for a slightly smaller μ than by Gaussian DP.
        """
        if self.mu is not None:
            return self.mu
        if self.rho is not None:
            return math.sqrt(2 * self.rho)
        assert self.epsilon is not None
        if ledger:
            return math.sqrt(2 * zcdp_rho(self.epsilon, self.delta))
        return gdp_mu(self.epsilon, self.delta)


@dataclass(frozen=True)
class Priced:
    """Noise and share of the price of one query."""

    noise: Noise
    share: float  # of the whole price, in the notion that adds up: ε of pure DP, μ² of Gaussian DP


def price(
    queries: Sequence[Query],
    sensitivities: Sequence[Sensitivity],
    budget: Budget,
    weights: Mapping[str, float] | None = None,
    *,
    ledger: bool = True,
) -> tuple[tuple[Priced, ...], Guarantee]:
    """Noise of each query, and what all of them guarantee together."""
    if budget.standard_error is not None:
        if weights is not None:
            raise ValueError("weights share a budget out: leave them out with standard_error")
        errors = _by_name("standard_error", queries, budget.standard_error)
        mus = [sens.l2 / error for sens, error in zip(sensitivities, errors, strict=True)]
        total = math.hypot(*mus)
        gaussians = tuple(
            Priced(GaussianNoise(noise_scale(error, 1.0)), _share(mu * mu, total * total))
            for error, mu in zip(errors, mus, strict=True)
        )
        return gaussians, _gaussian(total)
    shares = _shares(queries, weights)
    if budget.is_pure:
        epsilon = budget.epsilon or 0.0
        laplaces = tuple(
            Priced(LaplaceNoise(noise_scale(sens.l1, epsilon * share)), share)
            for sens, share in zip(sensitivities, shares, strict=True)
        )
        return laplaces, _stated(pure(epsilon), _LAPLACE)
    mu = budget.mu_total(ledger=ledger)
    priced = tuple(
        Priced(GaussianNoise(noise_scale(sens.l2, mu * math.sqrt(share))), share)
        for sens, share in zip(sensitivities, shares, strict=True)
    )
    return priced, _gaussian(mu)


def _gaussian(mu: float) -> Guarantee:
    return _stated(gdp(mu), _GAUSSIAN)


def _stated(guarantee: Guarantee, theorem: str) -> Guarantee:
    assumptions = (*guarantee.assumptions, _MODELS_ARE_PUBLIC)
    return replace(guarantee, theorem=theorem, assumptions=assumptions)


def _shares(queries: Sequence[Query], weights: Mapping[str, float] | None) -> list[float]:
    if weights is None:
        return [1 / len(queries)] * len(queries)
    values = _by_name("weights", queries, weights)
    return [value / math.fsum(values) for value in values]


def _by_name(
    what: str, queries: Sequence[Query], values: float | Mapping[str, float]
) -> list[float]:
    names = [query.name for query in queries]
    given = values if isinstance(values, Mapping) else dict.fromkeys(names, values)
    if sorted(given) != sorted(names):
        raise ValueError(f"{what} must name the queries {names}, got {list(given)}")
    for name in names:
        try:
            check_positive(**{what: given[name]})
        except ValueError as error:
            raise ValueError(f"{error} for {name}") from None
    return [float(given[name]) for name in names]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
