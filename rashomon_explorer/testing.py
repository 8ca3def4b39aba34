"""Checks of mechanisms for the tests of their authors."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import beta

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.base import Mechanism, collect
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.request import Request, cost_at_order
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem

__all__ = ["check_mechanism"]

_ROW_NORM = 0.6  # of a row without the constant 1
_USUAL: dict[str, Any] = {
    "n": 600, "p": 3, "psi": 0.1, "loss": "logistic", "radius": 2.0, "ridge": 0.0,
    "row_norm": math.hypot(_ROW_NORM, 1.0), "epsilon": 8.0, "delta": 1e-5,
}  # fmt: skip
_LOSSES = ("logistic", "squared", "hinge", "smoothed_hinge", "absolute")
_ERROR = 1e-4  # probability that frequencies of a private mechanism fail the comparison


def check_mechanism(mechanism: type[Mechanism], *, repeats: int = 0, **settings: Any) -> None:
    """Check what planning, estimators and ledgers rely on; AssertionError names the first fault.

    - Each of 60 requests, with and without δ, ledger and several draws, for five losses, is
      planned from public numbers alone or declined in words, without an error and always alike.
    - A plan states its request. Its guarantee is within the budget, in the notion that the ledger
      composes, and the guarantee of the draws is the plan's.
    - As many draws are taken as planned, in the domain, on the public grid of 2⁻²⁰. A seed repeats
      them, another seed does not.
    - With ``repeats``, frequencies of draws on two tables that differ in one row agree with the
      guarantee. A mechanism that fails is not private; one that passes may be.

    Parameters
    ----------
    mechanism : type of Mechanism
    repeats : int, default=0
        Draws of one model on each of two neighbouring tables; a few hundred find gross faults.
    **settings
        Fields of a request to which the mechanism applies, where the usual ones do not suit it:
        600 rows, three parameters, radius 2, ε = 8, δ = 1e-5, ψ = .1, logistic loss, no ridge.

    Raises
    ------
    AssertionError
        If the mechanism breaks a rule.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms import MECHANISMS
    >>> from rashomon_explorer.testing import check_mechanism
    >>> check_mechanism(MECHANISMS["objective_perturbation"], repeats=100)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        _check(mechanism, repeats, settings)


def _check(mechanism: type[Mechanism], repeats: int, settings: dict[str, Any]) -> None:
    for request in _requests(mechanism):
        _check_plan(mechanism, request)
    n_draws = 1 if mechanism.traits.one_model else 3
    request = Request(**{**_USUAL, "n_draws": n_draws, **settings})
    plan = _planned(mechanism, request)
    assert plan is not None, f"{_name(mechanism)} declines {request}: pass settings that it accepts"
    _check_plan(mechanism, request)
    _check_draws(mechanism, request, plan)
    if repeats:
        few = replace(request, n_draws=1, n=min(request.n, 40), epsilon=min(request.epsilon, 1.0))
        _check_neighbours(mechanism, few, repeats)


def _name(mechanism: type[Mechanism]) -> str:
    return getattr(mechanism, "name", "") or mechanism.__name__


def _requests(mechanism: type[Mechanism]) -> Iterator[Request]:
    ledgers = (False, True, "zcdp")
    for delta, ledger, n_draws, loss in product((0.0, 1e-5), ledgers, (1, 4), _LOSSES):
        changed = {"delta": delta, "ledger": ledger, "n_draws": n_draws, "loss": loss}
        yield Request(**{**_USUAL, "n": 3_000, **changed})


def _planned(mechanism: type[Mechanism], request: Request) -> Plan | None:
    """Plan for a request, or None if the mechanism declines it in words."""
    offer = mechanism.offer(request)
    assert offer.why, f"{_name(mechanism)} gives no reason for what it plans or declines"
    plan: Plan | None = offer.plan
    return plan


def _check_plan(mechanism: type[Mechanism], request: Request) -> None:
    name, plan = _name(mechanism), _planned(mechanism, request)
    assert plan == _planned(mechanism, request), f"two plans of {name} differ for {request}"
    if plan is None:
        return
    for stated in ("n", "p", "psi", "epsilon", "delta", "n_draws", "radius"):
        wrong = f"{name} plans {stated}={getattr(plan, stated)!r} for {request}"
        assert getattr(plan, stated) == getattr(request, stated), wrong
    assert 0 <= plan.hit_rate_bound <= 1, f"{name}: hit_rate_bound={plan.hit_rate_bound}"
    assert plan.excess_bound > 0, f"{name}: excess_bound={plan.excess_bound}"
    guarantee = plan.guarantee
    if mechanism.traits.curator_only:
        return
    assert guarantee.holds, f"the plan of {name} has no guarantee"
    spent = guarantee.epsilon(request.delta)
    over = f"{name} spends ε = {spent:.6g} of {request.epsilon:g} at δ = {request.delta:g}"
    assert spent <= request.epsilon * (1 + 1e-9), over
    if request.ledger and request.delta:
        # A ledger composes zCDP, or Rényi divergences at one order.
        at_order = cost_at_order(request.epsilon, request.delta, request.ledger)
        cost = guarantee.rho if at_order is None else guarantee.renyi(at_order[0])
        charged = cost is not None and math.isfinite(cost)
        assert charged, f"a ledger cannot compose the guarantee of {name}: {guarantee}"


def _check_draws(mechanism: type[Mechanism], request: Request, plan: Plan) -> None:
    name, target = _name(mechanism), _target(request, plan)
    one, again, other = (_draws(mechanism, target, plan, seed) for seed in (0, 0, 1))
    assert one.shape == (plan.n_draws, request.p), f"draws of {name} have shape {one.shape}"
    assert np.isfinite(one).all(), f"a draw of {name} is not finite"
    assert np.array_equal(one, again), f"a seed does not repeat the draws of {name}"
    assert not np.array_equal(one, other), f"draws of {name} ignore the generator"
    longest = float(np.linalg.norm(one, axis=1).max())
    outside = f"a draw of {name} has norm {longest:.6g} in a ball of radius {request.radius:g}"
    assert longest <= request.radius + 2.0**-20 * math.sqrt(request.p), outside
    stated = mechanism.for_plan(plan, patience=10**6).guarantee(plan)
    assert stated.holds != mechanism.traits.curator_only, f"guarantee of the draws of {name}"
    if stated.holds:
        same = stated.epsilon(request.delta) == plan.guarantee.epsilon(request.delta)
        assert same, f"draws and plan of {name} state different guarantees"


def _check_neighbours(mechanism: type[Mechanism], request: Request, repeats: int) -> None:
    """Compare frequencies of 2·9 half-lines along the changed row between two tables."""
    plan = _planned(mechanism, request)
    if plan is None or not plan.guarantee.holds:
        return
    epsilon = plan.guarantee.epsilon(request.delta)
    row = np.append(np.full(request.p - 1, _ROW_NORM / math.sqrt(max(1, request.p - 1))), 1.0)
    scores = []
    for changed in (False, True):
        target = _target(request, plan, row[:-1] if changed else None)
        draws = [_draws(mechanism, target, plan, seed)[0] for seed in range(2 * repeats)]
        scores.append(np.array(draws) @ row)
    edges = np.quantile(np.concatenate([one[:repeats] for one in scores]), np.arange(1, 10) / 10)
    tests = 4 * len(edges)
    for (one, other), edge, sign in product([scores, scores[::-1]], edges, (-1.0, 1.0)):
        hits, others = ((sign * part[repeats:] > sign * edge).sum() for part in (one, other))
        least = beta.ppf(_ERROR / tests, hits, repeats - hits + 1) if hits else 0.0
        most = beta.isf(_ERROR / tests, others + 1, repeats - others) if others < repeats else 1.0
        wrong = (
            f"{_name(mechanism)} states ε = {epsilon:.3g}, δ = {request.delta:g}, but of {repeats} "
            f"draws {hits} have an event on a table and {others} on its neighbour"
        )
        assert least <= math.exp(epsilon) * most + request.delta, wrong


def _target(request: Request, plan: Plan, last_row: FloatArray | None = None) -> GibbsTarget:
    """Target of a plan on simulated rows, the last of them replaced if ``last_row`` is given."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.4, 0.4, (request.n, request.p - 1))
    targets = np.where(rows[:, 0] + 0.2 * rng.standard_normal(request.n) > 0, 1.0, -1.0)
    if last_row is not None:
        rows[-1], targets[-1] = last_row, 1.0
    else:
        targets[-1] = -1.0
        rows[-1] = _ROW_NORM / math.sqrt(max(1, request.p - 1))
    problem = Problem(
        rows,
        targets,
        loss=request.loss,
        radius=request.radius,
        row_norm=_ROW_NORM,
        ridge=plan.ridge,
    )
    return GibbsTarget.of(problem, plan)


def _draws(mechanism: type[Mechanism], target: GibbsTarget, plan: Plan, seed: int) -> FloatArray:
    ready = mechanism.for_plan(plan, patience=10**6)
    return collect(ready, target, plan.n_draws, np.random.default_rng(seed)).coef
