"""How much ridge makes a private draw generalise, planned without reading a row."""

import math
from dataclasses import dataclass, replace

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Domain
from rashomon_explorer.planning.bounds.hit_rate import crowded_hit_rate
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import bounded_range
from rashomon_explorer.validation import check_positive


@dataclass(frozen=True)
class RegularisedPlan:
    """What a budget buys from the exponential mechanism on a loss with ridge; public.

    Parameters
    ----------
    ridge : float
        m.
    beta : float
        Inverse temperature ε/osc; the ridge reads no data and does not change it.
    p : int
        Number of parameters.
    cost : float
        What the ridge ½mR² and the certified error of the minimum add to an excess on the rows.
    population_bound : float
        Expected excess of the population risk, without the ridge, is at most this.
    statistical_bound : float
        What is left of it as ε grows.
    guarantee : Guarantee
        Of one draw.
    """

    ridge: float
    beta: float
    p: int
    cost: float
    population_bound: float
    statistical_bound: float
    guarantee: Guarantee

    @property
    def excess_bound(self) -> float:
        """Expected excess on the rows, without the ridge, is at most p/β + ½mR² + τ."""
        return self.p / self.beta + self.cost

    def hit_rate(self, psi: float) -> float:
        """Probability, at least, of an excess on the rows of at most ψ: P(p, β(ψ − ½mR² − τ)).

        A draw's excess without the ridge is at most that with it and ½m‖θ*‖² ≤ ½mR².
        """
        return crowded_hit_rate(self.p, self.beta, max(0.0, psi - self.cost))


def plan_regularised(
    constants: Constants, domain: Domain, *, epsilon: float, ridge: float | None = None
) -> RegularisedPlan:
    """Ridge and temperature of the regularised exponential mechanism; reads no row.

    Theorem E.4 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization" (submitted to ICLR 2023) gives orders; the constants here are our own. For rows
    drawn independently from one law, a draw from exp(−β(L + ½m‖θ‖²)) has an expected excess of
    the population risk of at most

        p/β + ½mR² + 2L²/(mn),

    R the largest ‖θ‖: excess on the rows, what the ridge costs at the best model, and uniform
    stability. m = 2L/(R√n) makes the last two 2LR/√n.

    ``epsilon`` is the price of one draw, ``ridge`` m is the best by default, and the constants have
    none.

    >>> from rashomon_explorer.domains import Ball
    >>> ball = Ball(2.0)
    >>> constants = Constants.of("hinge", n=10_000, p=5, domain=ball, row_bound=1.0)
    >>> plan = plan_regularised(constants, ball, epsilon=1.0)
    >>> round(plan.ridge, 6), round(plan.statistical_bound, 6)
    (0.01, 0.04)
    """
    check_positive(epsilon=epsilon)
    if constants.m > 0:
        raise ValueError(
            f"the plan chooses the ridge itself: pose the problem with ridge=0, got {constants.m:g}"
        )
    radius, n = domain.radius_bound, constants.n
    best = 2 * constants.L / (radius * math.sqrt(n))
    chosen = best if ridge is None else ridge
    check_positive(ridge=chosen)
    beta = epsilon / constants.priced_osc
    statistical = chosen / 2 * radius**2 + 2 * constants.L**2 / (chosen * n)
    return RegularisedPlan(
        ridge=chosen,
        beta=beta,
        p=constants.p,
        cost=constants.gap_tolerance + chosen / 2 * radius**2,
        population_bound=constants.p / beta + constants.gap_tolerance + statistical,
        statistical_bound=statistical,
        guarantee=bounded_range(epsilon),
    )


def with_ridge(constants: Constants, domain: Domain, ridge: float) -> Constants:
    """Constants of the same loss with a ridge.

    Examples
    --------
    >>> from rashomon_explorer.domains import Ball
    >>> ball = Ball(2.0)
    >>> plain = Constants.of("hinge", n=9, p=5, domain=ball, row_bound=1.0)
    >>> with_ridge(plain, ball, 0.5).L
    2.0
    """
    return replace(
        constants,
        L=constants.L + ridge * domain.radius_bound,
        M=constants.M + ridge,
        m=constants.m + ridge,
    )
