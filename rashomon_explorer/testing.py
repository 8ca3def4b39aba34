"""Checks of mechanisms for the tests of their authors."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy.stats import beta

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.mechanisms.base import Mechanism
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.request import Request, cost_at_order
from rashomon_explorer.problem.problem import Problem

__all__ = ["check_mechanism"]

_ROW_NORM = 0.6  # of a row without the constant 1
_USUAL: dict[str, Any] = {
    "n": 600, "p": 3, "psi": 0.1, "loss": "logistic", "radius": 2.0, "ridge": 0.0,
    "row_norm": math.hypot(_ROW_NORM, 1.0), "epsilon": 8.0, "delta": 1e-5, "patience": 10**6,
}  # fmt: skip
_LOSSES = ("logistic", "squared", "hinge", "smoothed_hinge", "absolute")
_SEEDS = 20  # of which one must give other draws than the first
_ERROR = 1e-4  # probability that frequencies of a private mechanism fail the comparison


def check_mechanism(mechanism: Mechanism, *, repeats: int = 0, **settings: Any) -> None:
    """Check what planning, estimators and ledgers rely on; AssertionError names the first fault.

    - Each of 60 requests, with and without δ, ledger and several draws, for five losses, is
      planned from public numbers alone or declined in words, without an error and always alike.
    - A plan states its request. Its guarantee is within the budget, in the notion that the ledger
      composes.
    - As many draws are taken as planned, in the domain, on the public grid of 2⁻²⁰. A seed repeats
      them, and not all of 20 seeds give the same.
    - With ``repeats``, frequencies of draws on two tables that differ in one row agree with the
      guarantee. A mechanism that fails is not private; one that passes may be.

    Parameters
    ----------
    mechanism : Mechanism
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
    ledgers = (False, True, "zcdp")
    for delta, ledger, n_draws, loss in product((0.0, 1e-5), ledgers, (1, 4), _LOSSES):
        changed = {"delta": delta, "ledger": ledger, "n_draws": n_draws, "loss": loss}
        _check_plan(mechanism, Request(**{**_USUAL, "n": 3_000, **changed}))
    n_draws = 1 if mechanism.traits.one_model else 3
    request = Request(**{**_USUAL, "n_draws": n_draws, **settings})
    plan = _planned(mechanism, request)
    assert plan is not None, f"{mechanism.name} declines {request}: pass settings that it accepts"
    _check_plan(mechanism, request)
    _check_draws(mechanism, request, plan)
    if repeats:
        few = replace(request, n_draws=1, n=min(request.n, 40), epsilon=min(request.epsilon, 1.0))
        _check_neighbours(mechanism, few, repeats)


def _planned(mechanism: Mechanism, request: Request) -> Plan | None:
    """Plan for a request, or None if the mechanism declines it in words."""
    outcome = mechanism.plan(request)
    if not isinstance(outcome, Rejected):
        assert mechanism.explain(outcome), f"{mechanism.name} does not explain its plan"
        return outcome
    assert outcome.reason, f"{mechanism.name} gives no reason for what it declines"
    return None


def _check_plan(mechanism: Mechanism, request: Request) -> None:
    name, plan = mechanism.name, _planned(mechanism, request)
    assert plan == _planned(mechanism, request), f"two plans of {name} differ for {request}"
    if plan is None:
        return
    for stated in ("n", "p", "psi", "epsilon", "delta", "n_draws", "radius"):
        wrong = f"{name} plans {stated}={getattr(plan, stated)!r} for {request}"
        assert getattr(plan, stated) == getattr(request, stated), wrong
    assert plan.hit_rate is None or 0 < plan.hit_rate <= 1, f"{name}: hit_rate={plan.hit_rate}"
    assert plan.excess_bound > 0, f"{name}: excess_bound={plan.excess_bound}"
    guarantee = plan.guarantee
    if mechanism.traits.curator_only:
        return
    assert guarantee.holds, f"the plan of {name} has no guarantee"
    spent = guarantee.epsilon(request.delta)
    over = f"{name} spends ε = {rounded_up(spent)} of {request.epsilon:g} at δ = {request.delta:g}"
    assert spent <= request.epsilon * (1 + 1e-9), over
    if request.ledger and request.delta:
        # A ledger composes zCDP, or Rényi divergences at one order.
        at_order = cost_at_order(request.epsilon, request.delta, request.ledger)
        cost = guarantee.rho if at_order is None else guarantee.renyi(at_order[0])
        charged = cost is not None and math.isfinite(cost)
        assert charged, f"a ledger cannot compose the guarantee of {name}: {guarantee}"


def _check_draws(mechanism: Mechanism, request: Request, plan: Plan) -> None:
    name, problem = mechanism.name, _problem(request, plan)

    def draws(seed: int) -> FloatArray:
        return mechanism.draw(problem, plan, np.random.default_rng(seed)).coef

    first = draws(0)
    assert first.shape == (plan.n_draws, request.p), f"draws of {name} have shape {first.shape}"
    assert np.isfinite(first).all(), f"a draw of {name} is not finite"
    assert np.array_equal(first, draws(0)), f"a seed does not repeat the draws of {name}"
    constant = (
        f"{_SEEDS} seeds give the same draws of {name}: it ignores the generator, or one outcome "
        f"is all but certain at ε = {rounded_up(request.epsilon)}, then pass a smaller epsilon"
    )
    assert any(not np.array_equal(first, draws(seed)) for seed in range(1, _SEEDS)), constant
    longest = float(np.linalg.norm(first, axis=1).max())
    outside = f"a draw of {name} has norm {longest:.6g} in a ball of radius {request.radius:g}"
    assert longest <= request.radius + 2.0**-20 * math.sqrt(request.p), outside


def _check_neighbours(mechanism: Mechanism, request: Request, repeats: int) -> None:
    """Compare frequencies of 2·9 half-lines along the changed row between two tables."""
    plan = _planned(mechanism, request)
    if plan is None or not plan.guarantee.holds:
        return
    epsilon = plan.guarantee.epsilon(request.delta)
    row = np.append(np.full(request.p - 1, _ROW_NORM / math.sqrt(max(1, request.p - 1))), 1.0)
    scores = []
    for changed in (False, True):
        problem = _problem(request, plan, row[:-1] if changed else None)
        generators = map(np.random.default_rng, range(2 * repeats))
        draws = [mechanism.draw(problem, plan, rng).coef[0] for rng in generators]
        scores.append(np.array(draws) @ row)
    edges = np.quantile(np.concatenate([one[:repeats] for one in scores]), np.arange(1, 10) / 10)
    tests = 4 * len(edges)
    for (one, other), edge, sign in product([scores, scores[::-1]], edges, (-1.0, 1.0)):
        hits, others = ((sign * part[repeats:] > sign * edge).sum() for part in (one, other))
        least = beta.ppf(_ERROR / tests, hits, repeats - hits + 1) if hits else 0.0
        most = beta.isf(_ERROR / tests, others + 1, repeats - others) if others < repeats else 1.0
        wrong = (
            f"{mechanism.name} states ε = {rounded_up(epsilon)}, δ = {request.delta:g}, but of "
            f"{repeats} draws {hits} have an event on a table and {others} on its neighbour"
        )
        assert least <= math.exp(epsilon) * most + request.delta, wrong


def _problem(request: Request, plan: Plan, last_row: FloatArray | None = None) -> Problem:
    """Problem of a plan on simulated rows, the last of them replaced if ``last_row`` is given."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.4, 0.4, (request.n, request.p - 1))
    targets = np.where(rows[:, 0] + 0.2 * rng.standard_normal(request.n) > 0, 1.0, -1.0)
    if last_row is not None:
        rows[-1], targets[-1] = last_row, 1.0
    else:
        targets[-1] = -1.0
        rows[-1] = _ROW_NORM / math.sqrt(max(1, request.p - 1))
    return Problem(
        rows,
        targets,
        loss=request.loss,
        radius=request.radius,
        row_norm=_ROW_NORM,
        ridge=plan.ridge,
    )
