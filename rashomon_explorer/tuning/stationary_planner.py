"""From a budget to a walk by noisy hypergradients, or a draw by their sizes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.planning import Plan, affordable_eta
from rashomon_explorer.planning.pricing import price
from rashomon_explorer.privacy import (
    Guarantee,
    adaptive_epsilon,
    approximate,
    compose,
    gdp,
)
from rashomon_explorer.privacy.gaussian import gdp_epsilon, gdp_mu
from rashomon_explorer.privacy.zcdp import zcdp_rho
from rashomon_explorer.rounding import rounded_up
from rashomon_explorer.search import bisect
from rashomon_explorer.tuning.penalty_constants import PenaltyConstants
from rashomon_explorer.tuning.stationary_plan import STATIONARY, StationaryPlan
from rashomon_explorer.validation import check_count, check_delta, check_epsilon, check_positive

_START_SHARE = 0.5
_STEPS = sorted({round(2 ** (k / 2)) for k in range(17)})  # to 256: each is a fit


def plan_stationary(
    constants: PenaltyConstants,
    d: int,
    mechanism: str,
    *,
    epsilon: float,
    delta: float,
    spacing: float,
    n_draws: int = 1,
    refit: Plan | None = None,
    ledger: bool = False,
) -> StationaryPlan:
    """Plan penalties at which the validation loss is nearly level; reads no row.

    Parameters
    ----------
    constants : PenaltyConstants
        A clip is left out: what is clipped has no gradient.
    d : int
        Penalties to choose; any number for a walk.
    mechanism : {"hypergradient", "warm_hypergradient", "gradient_norm"}
        Noisy hypergradient steps from the middle of the bounds (Algorithm 1 of Lowy and Liu) or
        from a draw of the exponential mechanism (Algorithm 2), on the grid of all penalties up to
        three, of one shared penalty beyond; or a draw from a grid by the size of the gradient.
    epsilon, delta : float
        Total price.
    spacing : float
        Of the grid, in log penalties.
    n_draws : int, default=1
        Walks, or draws from the grid.
    refit : Plan, optional
        Of the model that is fitted afterwards.
    ledger : bool, default=False
        Whether the price is to be what a ledger charges.

    Raises
    ------
    ValueError
        If a number is out of range.
    SamplerError
        If δ is 0 and a walk is asked for, or a grid has no room for so many penalties.

    Examples
    --------
    >>> known = PenaltyConstants("logistic", 1.5, 0.5, 10.0, 70_000, 30_000)
    >>> planned = plan_stationary(
    ...     known, 10, "hypergradient", epsilon=1.0, delta=1e-6, spacing=0.1
    ... )
    >>> planned.n_steps, planned.gradient_bound < known.slope / 2
    (256, True)
    """
    check_epsilon(epsilon)
    check_positive(spacing=spacing)
    check_delta(delta)
    check_count(n_draws=n_draws, d=d)
    known = replace(constants, margin_bound=None)
    left = _left(epsilon, delta, refit)
    if mechanism == "gradient_norm":
        eta, held = _Budget(epsilon, delta, n_draws, refit, ledger).pure()
        return StationaryPlan(
            known, d, mechanism, epsilon, delta, n_draws, held, spacing, eta=eta, refit=refit
        )
    if mechanism not in STATIONARY:
        raise ValueError(f"mechanism must be one of {STATIONARY}, got {mechanism!r}")
    if delta == 0:
        raise SamplerError(
            f"mechanism={mechanism!r} adds Gaussian noise, which has no pure price: delta must be "
            "> 0, for example 1e-6"
        )
    warm = mechanism == "warm_hypergradient"
    paid = _Budget(epsilon, delta, n_draws, refit, ledger)
    bought = [way for way in paid.ways(left if warm else 0.0) if way[1] > 0]

    if not bought:
        raise ValueError(
            f"start and refit leave nothing of epsilon={rounded_up(epsilon)} to walk with: lower "
            "refit_share, refit=None, or mechanism='hypergradient'"
        )

    def of(eta: float, total: float, held: Guarantee, steps: int) -> StationaryPlan:
        return StationaryPlan(
            known, d, mechanism, epsilon, delta, n_draws, held, spacing, eta=eta,
            mu=total / math.sqrt(steps * n_draws), n_steps=steps, refit=refit,
        )  # fmt: skip

    every = [of(*way, steps) for way in bought for steps in _STEPS]
    return min(every, key=lambda one: one.gradient_bound)


def _left(epsilon: float, delta: float, refit: Plan | None) -> float:
    """Return what a refit leaves of ε; refuse where that is nothing."""
    left = epsilon if refit is None else epsilon - refit.guarantee.epsilon(delta)
    if left <= 0:
        raise ValueError(
            f"the refit takes all of epsilon={rounded_up(epsilon)}: lower refit_share, or "
            "refit=None"
        )
    return left


@dataclass(frozen=True)
class _Budget:
    """What is to be paid for beside a walk's steps, and how prices are added up."""

    epsilon: float
    delta: float
    n_draws: int
    refit: Plan | None
    ledger: bool

    def pure(self) -> tuple[float, Guarantee]:
        """Largest bounded range of a draw that the refit leaves, and what is revealed."""
        if self.refit is None:
            eta = affordable_eta(self.epsilon, self.delta, self.n_draws, ledger=True)
        else:
            eta = bisect(
                lambda eta: self._affords([self._started(eta)]), 0.0, 2 * self.epsilon, halvings=60
            )
        return eta, self._total([self._started(eta)])

    def ways(self, started: float) -> list[tuple[float, float, Guarantee]]:
        """η of a start, Gaussian DP of all steps, and what is revealed: by ρ, and by (ε, δ).

        What is pure is cheap beside an (ε, δ) walk; a ledger adds everything up by one rule.
        """
        by_rho = 0.0
        if started:
            rho = _START_SHARE * zcdp_rho(started, self.delta)
            by_rho = math.sqrt(8 * rho / self.n_draws)
        ways = [self._way(by_rho, gdp)]
        beside = bool(started) or self.refit is not None
        if beside and (not self.ledger or ways[0][1] <= 0):  # a ledger of ρ prefers ρ
            share = self.delta / (1 if self.refit is None else 2)
            half = _START_SHARE * started
            eta = affordable_eta(half, 0.0, self.n_draws) if started else 0.0
            ways.append(self._way(eta, lambda mu: approximate(gdp_epsilon(mu, share), share)))
        return ways

    def _way(
        self, eta: float, walked: Callable[[float], Guarantee]
    ) -> tuple[float, float, Guarantee]:
        started = [self._started(eta)] if eta else []
        most = gdp_mu(self.epsilon, self.delta)
        if self._affords([*started, walked(most)]):
            return eta, most, self._total([*started, walked(most)])
        mu = bisect(lambda mu: self._affords([*started, walked(mu)]), 0.0, most, halvings=40)
        return eta, mu, self._total([*started, walked(mu)])

    def _started(self, eta: float) -> Guarantee:
        return price(eta, self.n_draws, ledger=True)

    def _total(self, parts: list[Guarantee]) -> Guarantee:
        return compose([*parts, *([] if self.refit is None else [self.refit.guarantee])])

    def _affords(self, parts: list[Guarantee]) -> bool:
        held = self._total(parts)
        cost = adaptive_epsilon([held], self.delta) if self.ledger else held.epsilon(self.delta)
        return cost <= self.epsilon
