"""Plans of exact draws from a privacy budget or a hit rate; no row is read."""

from __future__ import annotations

from dataclasses import replace

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.mechanisms.bounds.hit_rate import beta_for_hit_rate
from rashomon_explorer.mechanisms.bounds.law import convex_law
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.pricing import CostTable
from rashomon_explorer.mechanisms.planning.suggestions import warn_if_weak, warn_large_delta
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.problem.losses import Loss


def plan(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    epsilon: float | None = None,
    delta: float = 0.0,
    n_draws: int | None = None,
    hit_rate: float | None = None,
    certificate: str = "oscillation",
    ledger: bool | str = False,
) -> Plan:
    """Plan exact draws from two of budget, number of draws and wanted hit rate; reads no row.

    Given a budget ε and a number of draws, the temperature is the lowest that the budget allows,
    which maximises the guaranteed hit rate. Given a hit rate and a number of draws, ε is the least
    that suffices. Given a budget and a hit rate, the number of draws is the largest that the
    budget allows.

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
        Bound on the norm of a whole row, √(‖x‖² + 1) with an intercept; see
        :func:`rashomon_explorer.problem.constants.row_bound`.
    ridge : float, default=0.0
        Strong convexity added. It is data-independent, so the bounded range does not change.
    epsilon : float, optional
        Budget of all draws together.
    delta : float, default=0.0
        δ of all draws together.
    n_draws : int, optional
        1 by default, unless ``epsilon`` and ``hit_rate`` determine it.
    hit_rate : float, optional
        Wanted probability, in (0, 1), that a draw lies in the Rashomon set.
    certificate : {"oscillation", "best"}, default="oscillation"
        Bounded range only, which is pure DP and holds for every sampler that draws exactly, or
        the best of :func:`rashomon_explorer.mechanisms.gibbs_certificates`, which improves on it
        only with a ridge and δ > 0.
    ledger : bool, default=False
        Whether to plan the cost that a ledger charges. Its rule is that of zCDP, which holds under
        adaptive composition; a batch of draws by itself costs less
        (:func:`rashomon_explorer.privacy.repeated_bounded_range`). With ``certificate="best"``
        only certificates that prove zCDP are compared.

    Raises
    ------
    ValueError
        If a parameter is out of range, not two of the three are given, or one draw with the wanted
        hit rate exceeds the budget.

    Warns
    -----
    WeakGuaranteeWarning
        If ``epsilon`` gives a guaranteed hit rate below .2, or, with ψ = 0, a bound on the loss
        that is no better than that of the model of zeros. The message contains suggestions.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> planned = plan(**rows, epsilon=1.0)
    >>> round(planned.beta), round(planned.hit_rate_bound, 3)
    (4167, 0.87)
    >>> wanted = plan(**rows, hit_rate=0.9, n_draws=20, delta=1e-6)
    >>> wanted.n_draws, round(wanted.epsilon, 1), round(wanted.hit_rate_bound, 3)
    (20, 16.5, 0.9)
    >>> plan(**rows, hit_rate=0.8, epsilon=4.0, delta=1e-6).n_draws
    7
    """
    validation.check_nonnegative(psi=psi)
    validation.check_positive(radius=radius, row_norm=row_norm)
    validation.check_nonnegative(delta=delta)
    validation.check_delta(delta)
    if certificate not in ("oscillation", "best"):
        raise ValueError(f"certificate must be 'oscillation' or 'best', got {certificate!r}")
    # ε and the number of draws are settled below.
    request = Request(n, p, psi, loss, radius, row_norm, ridge, 0.0, delta, 1, ledger)
    constants = request.constants
    prices = CostTable(constants, request.domain, psi, delta, ledger, certificate == "best")
    beta, draws = _solve_budget(prices, epsilon, n_draws, hit_rate)
    name, guarantee = prices.guarantee(beta, draws)
    cost = guarantee.epsilon(delta) if epsilon is None else epsilon
    law = convex_law(p=p, beta=beta, psi=psi)
    planned = Plan(
        **{**request.plan_fields, "epsilon": cost, "n_draws": draws},
        eta=beta * constants.charged_oscillation,
        beta=beta,
        hit_rate_bound=law.hit_rate,
        excess_bound=law.mean,
        guarantee=replace(guarantee, requested=(cost, delta)),
        certificate=name,
    )
    if hit_rate is None:  # a caller who sets a hit rate knows how small it is
        warn_if_weak(planned, "this plan")
    warn_large_delta(delta, n)
    return planned


def _solve_budget(
    prices: CostTable, epsilon: float | None, n_draws: int | None, hit_rate: float | None
) -> tuple[float, int]:
    """Inverse temperature β, and the number of draws."""
    if n_draws is not None:
        validation.check_count(n_draws=n_draws)
    if epsilon is not None:
        validation.check_epsilon(epsilon)
    if hit_rate is None:
        if epsilon is None:
            raise ValueError("give epsilon, hit_rate, or both")
        return prices.coldest(epsilon, n_draws or 1), n_draws or 1
    beta = beta_for_hit_rate(prices.constants.p, prices.psi, hit_rate)
    if epsilon is None:
        return beta, n_draws or 1
    if n_draws is not None:
        raise ValueError(
            "epsilon, hit_rate and n_draws are all given, but two of them determine the third: "
            "omit one"
        )
    return beta, _draws_within(prices, epsilon, beta, hit_rate)


def _draws_within(prices: CostTable, epsilon: float, beta: float, hit_rate: float) -> int:
    draws = prices.most_draws(epsilon, beta)
    if draws == 0:
        least = prices.guarantee(beta, 1)[1].epsilon(prices.delta)
        raise ValueError(
            f"one draw with a hit rate of at least {hit_rate:g} costs ε={rounded_up(least)}, more "
            f"than epsilon={rounded_up(epsilon)}: raise epsilon or psi, or lower hit_rate"
        )
    return draws
