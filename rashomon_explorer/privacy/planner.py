"""From a budget to a temperature, without reading a row."""

import math
from dataclasses import dataclass
from numbers import Integral

from rashomon_explorer.constants import Constants, check_nonnegative, check_positive
from rashomon_explorer.domains import Ball
from rashomon_explorer.losses import Loss, get_loss
from rashomon_explorer.privacy.checks import check_delta
from rashomon_explorer.privacy.guarantee import Guarantee, bounded_range, compose
from rashomon_explorer.privacy.hit_rate import expected_excess_bound, guaranteed_hit_rate
from rashomon_explorer.privacy.zcdp import zcdp_epsilon
from rashomon_explorer.threshold import Threshold, get_threshold


@dataclass(frozen=True)
class Plan:
    """What a budget buys, known before the rows are touched.

    Parameters
    ----------
    n, p : int
        Rows and parameters (the intercept included).
    psi : float
        Rashomon threshold.
    loss : str
        Name of the loss.
    epsilon, delta : float
        Total price of all draws.
    n_draws : int
        Draws bought.
    eta : float
        Price of one draw: its bounded range, and its ε.
    beta : float
        Inverse temperature η/osc.
    oscillation : float
        The osc of L_D − L_D' that was priced.
    hit_rate_bound : float
        Probability that a draw lies in the Rashomon set is at least this.
    excess_bound : float
        Expected excess loss of a draw is at most this.
    guarantee : Guarantee
        All draws composed.
    """

    n: int
    p: int
    psi: float
    loss: str
    epsilon: float
    delta: float
    n_draws: int
    eta: float
    beta: float
    oscillation: float
    hit_rate_bound: float
    excess_bound: float
    guarantee: Guarantee

    @property
    def threshold(self) -> Threshold:
        """Shape of the threshold that was planned for: the hard one, or none at ψ = 0."""
        return get_threshold("hard", self.psi)


def plan(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    epsilon: float,
    delta: float = 0.0,
    n_draws: int = 1,
) -> Plan:
    """Plan of exact draws for a total budget; reads no row and costs nothing.

    Parameters
    ----------
    n, p : int
        Rows, and parameters with the intercept.
    psi : float
        Rashomon threshold, ≥ 0.
    loss : str or Loss, default="logistic"
    radius : float
        Radius of the ball of models.
    row_norm : float
        Bound on the norm of a whole row; with an intercept that is √(‖x‖² + 1), see
        :func:`rashomon_explorer.constants.row_bound`.
    ridge : float, default=0.0
        Strong convexity added; it reads no data and changes no price.
    epsilon, delta : float
        Total price of all draws together.
    n_draws : int, default=1

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> bought = plan(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=1.0)
    >>> round(bought.beta), round(bought.hit_rate_bound, 3)
    (4167, 0.87)
    """
    check_nonnegative("psi", psi)
    check_positive("radius", radius)
    check_positive("row_norm", row_norm)
    constants = Constants.of(loss, n=n, p=p, domain=Ball(radius), row_bound=row_norm, ridge=ridge)
    eta = affordable_eta(epsilon, delta, n_draws)
    beta = eta / constants.priced_osc
    return Plan(
        n=n,
        p=p,
        psi=psi,
        loss=get_loss(loss).name,
        epsilon=epsilon,
        delta=delta,
        n_draws=n_draws,
        eta=eta,
        beta=beta,
        oscillation=constants.priced_osc,
        hit_rate_bound=guaranteed_hit_rate(p, beta, psi),
        excess_bound=expected_excess_bound(p, beta, psi),
        guarantee=compose([bounded_range(eta)] * n_draws),
    )


def affordable_eta(epsilon: float, delta: float, n_draws: int) -> float:
    """Largest bounded range η of each of ``n_draws`` draws that together cost (ε, δ).

    Parameters
    ----------
    epsilon, delta : float
        Total budget, ε > 0 and finite.
    n_draws : int
        At least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the budget or the number of draws is out of range.

    Examples
    --------
    >>> affordable_eta(4.0, 0.0, 20)
    0.2
    >>> round(affordable_eta(4.0, 1e-6, 20), 3)
    0.353
    """
    check_positive("epsilon", epsilon)
    check_nonnegative("delta", delta)
    if not isinstance(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be a whole number, at least 1, got {n_draws!r}")
    check_delta(delta)

    def price(eta: float) -> float:
        one = bounded_range(eta)
        return min(n_draws * one.pure_epsilon, zcdp_epsilon(n_draws * one.rho, delta))

    low = epsilon / n_draws
    if price(low) > epsilon:  # the sum of n rounded shares may pass ε by an ulp
        low = math.nextafter(low, 0.0)
    high = 2 * epsilon
    while price(high) <= epsilon:  # a large δ alone pays for a draw of any small ε
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if price(middle) <= epsilon else (low, middle)
    return low
