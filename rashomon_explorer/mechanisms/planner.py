"""Doors of planning: plans, comparisons, explanations and warnings; no row is read."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.exceptions import LargeDeltaWarning, WeakGuaranteeWarning, warn_stacklevel
from rashomon_explorer.mechanisms.bounds import beta_for_hit_rate
from rashomon_explorer.mechanisms.costs import CostTable
from rashomon_explorer.mechanisms.exact import assuming_draws, plan_law
from rashomon_explorer.mechanisms.improvements import Improvement
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.registry import MECHANISMS, get_mechanism
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.select import compare, plan_beside_columns
from rashomon_explorer.problem.losses import Loss

if TYPE_CHECKING:
    from pandas import DataFrame

_BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
_DRAWS = (1, 5, 20, 100)


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
    validation.check_nonnegative(psi=psi, ridge=ridge, delta=delta)
    validation.check_positive(radius=radius, row_norm=row_norm)
    validation.check_delta(delta)
    if certificate not in ("oscillation", "best"):
        raise ValueError(f"certificate must be 'oscillation' or 'best', got {certificate!r}")
    # ε and the number of draws follow from the budget.
    request = Request(n, p, psi, loss, radius, row_norm, ridge, 0.0, delta, 1, ledger)
    table = CostTable(
        request.constants, request.domain, psi, delta, request.composition, certificate == "best"
    )
    beta, draws = _solve_budget(table, epsilon, n_draws, hit_rate)
    cost = table.guarantee(beta, draws)[1].epsilon(delta) if epsilon is None else epsilon
    request = replace(request, epsilon=cost, n_draws=draws)
    planned = assuming_draws(plan_law(request, certificate=certificate, beta=beta))
    if hit_rate is None:  # a caller who sets a hit rate knows how small it is
        warn_if_weak(planned, "this plan")
    warn_if_delta_is_large(delta, n)
    return planned


def _solve_budget(
    table: CostTable, epsilon: float | None, n_draws: int | None, hit_rate: float | None
) -> tuple[float, int]:
    """Inverse temperature β, and the number of draws."""
    if n_draws is not None:
        validation.check_count(n_draws=n_draws)
    if epsilon is not None:
        validation.check_epsilon(epsilon)
    if hit_rate is None:
        if epsilon is None:
            raise ValueError("give epsilon, hit_rate, or both")
        return table.coldest(epsilon, n_draws or 1), n_draws or 1
    beta = beta_for_hit_rate(table.constants.p, table.psi, hit_rate)
    if epsilon is None:
        return beta, n_draws or 1
    if n_draws is not None:
        raise ValueError(
            "epsilon, hit_rate and n_draws are all given, but two of them determine the third: "
            "omit one"
        )
    return beta, _draws_within(table, epsilon, beta, hit_rate)


def _draws_within(table: CostTable, epsilon: float, beta: float, hit_rate: float) -> int:
    draws = table.most_draws(epsilon, beta)
    if draws == 0:
        least = table.guarantee(beta, 1)[1].epsilon(table.delta)
        raise ValueError(
            f"one draw with a hit rate of at least {hit_rate:g} costs ε={rounded_up(least)}, more "
            f"than epsilon={rounded_up(epsilon)}: raise epsilon or psi, or lower hit_rate"
        )
    return draws


def plan_options(
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
    ledger: bool | str = False,
) -> tuple[Plan | Rejected, ...]:
    """Plans of all mechanisms for a budget, the best first; reads no row.

    Plans whose hits are uniform on the set come first, then higher guaranteed hit rates, then
    smaller excess bounds. Mechanisms that do not apply come last, with the reason.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger
        As in :func:`rashomon_explorer.mechanisms.plan`.

    Returns
    -------
    tuple of Plan or Rejected
        One for each private mechanism; those of one model only for one draw.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5, "ridge": 0.1}
    >>> for planned in plan_options(**rows, epsilon=4.0, delta=1e-6, n_draws=20)[:3]:
    ...     print(planned.mechanism, round(planned.hit_rate, 3))
    exact 0.873
    unthresholded 1.0
    objective_perturbation 0.956
    """
    request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, n_draws, ledger)
    request.check()
    warn_if_delta_is_large(delta, n)
    return compare(request)


def pareto_table(
    n: int,
    p: int,
    psi: float,
    *,
    loss: str | Loss = "logistic",
    radius: float,
    row_norm: float,
    ridge: float = 0.0,
    delta: float = 0.0,
    epsilons: Sequence[float] = _BUDGETS,
    n_draws: Sequence[int] = _DRAWS,
) -> DataFrame:
    """Privacy cost and guaranteed hit rate of every option, and the Pareto front; reads no row.

    Parameters
    ----------
    n, p, psi, loss, radius, row_norm, ridge, delta
        As in :func:`rashomon_explorer.mechanisms.plan`.
    epsilons : sequence of float
        Budgets to try.
    n_draws : sequence of int
        Numbers of draws to try.

    Returns
    -------
    pandas.DataFrame
        A row for each budget, number of draws and option that applies: ``epsilon``, ``delta``,
        ``n_draws``, ``option``, ``uniform``, ``beta``, ``hit_rate``, ``hits`` (a lower bound on
        their expected number), ``excess``, ``n_steps``, ``time`` and ``front``. ``front`` is
        true unless another row is at least as good in privacy cost, number of draws, guaranteed
        hit rate and uniformity, and better in at least one of them.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> table = pareto_table(50_000, 11, 0.02, radius=4.0, row_norm=1.5, epsilons=[1, 4])
    >>> exact = table[(table.option == "exact") & (table.n_draws == 1)]
    >>> exact[["epsilon", "hit_rate"]].round(3).values.tolist()
    [[1.0, 0.87], [4.0, 0.967]]
    """
    from pandas import DataFrame

    plans: list[Plan] = []
    for epsilon in epsilons:
        for count in n_draws:
            request = Request(n, p, psi, loss, radius, row_norm, ridge, epsilon, delta, count)
            request.check()
            plans += [outcome for outcome in compare(request) if isinstance(outcome, Plan)]
    objectives = [
        (-planned.epsilon, planned.n_draws, planned.hit_rate_bound, _is_uniform(planned))
        for planned in plans
    ]
    front = [not any(_dominates(other, mine) for other in objectives) for mine in objectives]
    rows = [_row(planned) for planned in plans]
    return DataFrame([{**row, "front": first} for row, first in zip(rows, front, strict=True)])


def _row(planned: Plan) -> dict[str, object]:
    details = planned.details
    n_steps = int(getattr(details, "n_steps", 0))  # of chains
    return {
        "epsilon": planned.epsilon,
        "delta": planned.delta,
        "n_draws": planned.n_draws,
        "option": planned.mechanism,
        "uniform": _is_uniform(planned),
        "beta": planned.beta,
        "hit_rate": planned.hit_rate_bound,
        "hits": planned.n_draws * planned.hit_rate_bound,
        "excess": planned.excess_bound,
        "n_steps": n_steps,
        "time": n_steps * float(getattr(details, "step_size", 0.0)),
    }


def _is_uniform(planned: Plan) -> bool:
    return bool(MECHANISMS[planned.mechanism].traits.uniform_on)


def _dominates(other: tuple[float, ...], mine: tuple[float, ...]) -> bool:
    """Whether the other is at least as good in every property, and better in one."""
    return other != mine and all(theirs >= ours for theirs, ours in zip(other, mine, strict=True))


def explain(planned: Plan) -> str:
    """Describe what a plan guarantees, why no more, and what improves it; reads no row.

    Parameters
    ----------
    planned : Plan

    Returns
    -------
    str
        One sentence per line.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 11, "psi": 0.02, "radius": 4.0, "row_norm": 1.5}
    >>> print(explain(plan(**rows, epsilon=4.0, delta=1e-6, n_draws=20)))
    20 exact draws cost ε = 4 together, at δ = 1e-06.
    One record moves the difference of two models' losses by at most 0.0002401, so that β = 1,595 \
makes a draw 0.3829-bounded-range.
    At least 66 % of the draws are within ψ = 0.02 of the least loss, for any 50,000 rows: \
the bound depends on p = 11 and βψ only.
    The loss of a draw exceeds the least by at most 0.01918 on average.
    For 80 % it takes ε = 7.211 for as many draws, 7 draws for the same ε, 84,300 rows, \
ψ = 0.03372, radius = 2.372, or ridge = 0.1 with exact draws.
    """
    sentences = [*get_mechanism(planned.mechanism).explain(planned), *_ledger_sentences(planned)]
    return "\n".join([*sentences, *improvement_messages(planned, ridge=True)])


_NOTICED = 0.99  # share of an excess bound


def _ledger_sentences(planned: Plan) -> list[str]:
    """Say how much of the accuracy a ledger's composition rule costs, if it is noticed."""
    request = planned.request
    if not isinstance(request, Request) or not request.ledger:
        return []
    mechanism = get_mechanism(planned.mechanism)
    added_ridge = (
        getattr(planned.details, "added_ridge", 0.0) if mechanism.traits.one_model else 0.0
    )
    request = replace(request, ledger=False, ridge=max(0.0, request.ridge - added_ridge))
    if planned.columns is None:
        alone = mechanism.plan(request)
    else:
        columns = replace(planned.columns, ledger=False, pure=False)
        alone = plan_beside_columns(columns, request, mechanism.plan)
    if isinstance(alone, Rejected) or alone.stated_excess >= _NOTICED * planned.stated_excess:
        return []
    return [
        f"The ledger's composition rule costs accuracy: the bound on the "
        f"{planned.excess_name.lower()} is {rounded_up(planned.stated_excess)}; without a ledger "
        f"the same budget would give {rounded_up(alone.stated_excess)}."
    ]


_WEAK_GAIN = Improvement("More rows, a larger ε or fewer columns are expected to help.")


def next_improvements(planned: Any, *, ridge: bool = False) -> list[Improvement]:
    """List what the next better guarantee needs; empty if none is better or known."""
    if not isinstance(planned, Plan):  # of a path of a differentiable model
        return planned.improvements
    if planned.expected is not None and planned.expected.is_weak and not planned.of_trees:
        return [_WEAK_GAIN]
    if not planned.mechanism:  # drawn elsewhere
        return []
    return get_mechanism(planned.mechanism).improvements(planned, ridge=ridge)


def improvement_messages(planned: Any, *, ridge: bool = False) -> list[str]:
    """Describe what the next better guarantee needs; empty if none is better."""
    return [str(improvement) for improvement in next_improvements(planned, ridge=ridge)]


def warn_if_weak(planned: Any, what: str) -> None:
    """Warn if a plan has a weak guarantee, and suggest what improves it.

    Nothing is simulated for a warning that the caller's filters ignore.
    """
    reason = "" if _is_ignored(WeakGuaranteeWarning) else planned.weakness
    if reason and not _warned_in_this_search(WeakGuaranteeWarning):
        promises = isinstance(planned, Plan) and planned.expected is None
        weak = "has a weak guarantee" if promises else "is weak"
        message = " ".join([f"{what} {weak}: {reason}.", *improvement_messages(planned)])
        warnings.warn(message, WeakGuaranteeWarning, stacklevel=warn_stacklevel())


def warn_if_delta_is_large(delta: float, n: int) -> None:
    """Warn if delta >= 1/n."""
    if delta * n >= 1 and not _warned_in_this_search(LargeDeltaWarning):
        warnings.warn(
            f"delta={delta:g} is at least 1/n={1 / n:.2g}: it allows a mechanism to publish the "
            f"record of one person in {n:,}. Choose delta far below 1/n, such as "
            f"{min(1e-6, 0.01 / n):.0e}, or 0",
            LargeDeltaWarning,
            stacklevel=warn_stacklevel(),
        )


def _is_ignored(category: type[Warning]) -> bool:
    """Whether Python's filters ignore every warning of a category."""
    for action, message, filtered, module, line in warnings.filters:
        if issubclass(category, filtered):
            if action != "ignore":
                return False
            if message is None and module is None and line == 0:
                return True
    return False


_SEARCHES: WeakKeyDictionary[Any, set[type[Warning]]] = WeakKeyDictionary()


def _warned_in_this_search(category: type[Warning]) -> bool:
    """Whether scikit-learn's search or cross-validation that calls has warned already."""
    search, frame = None, inspect.currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("sklearn.model_selection"):
            search = frame.f_locals.get("parallel", search)  # the outermost one's runs its fits
        frame = frame.f_back
    if search is None:
        return False
    warned = _SEARCHES.setdefault(search, set())
    before = category in warned
    warned.add(category)
    return before
