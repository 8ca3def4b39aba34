"""Objective perturbation of several scores a row at δ > 0: exact laws in the plane."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from rashomon_explorer.mechanisms.objective_perturbation import accounting as scores_delta
from rashomon_explorer.mechanisms.objective_perturbation.accounting import (
    _by_length,
    _by_order,
    perturbed_delta,
    plan_perturbed_objective,
    several_scores_delta,
)
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request, cost_at_order
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem

LOSS, N, RIDGE, EPSILON, DELTA = SoftmaxLoss(3), 12, 0.5, 2.0, 1e-2
AXIS = np.linspace(-3.5, 3.5, 161)
MODELS = np.stack([part.ravel() for part in np.meshgrid(AXIS, AXIS)])  # of one column, two scores
CELL = (AXIS[1] - AXIS[0]) ** 2


def planned(**changed):
    known = Constants.of(LOSS, n=N, p=2, domain=Ball(9.0), row_bound=1.0, ridge=RIDGE)
    asked = {"row_slope": 2**0.5, "own": RIDGE, "monotone": True, "outputs": 2}
    return plan_perturbed_objective(
        known, 9.0, **{**asked, "epsilon": EPSILON, "delta": DELTA, **changed}
    )


def density(last, beside, scale):
    """Density of the exact minimiser, at all models, for a table that ends with one record."""
    rows, labels = (np.array(part) for part in zip(*[beside] * (N - 1), last, strict=True))
    problem = Problem(rows[:, None], labels, loss=LOSS, radius=9.0, ridge=RIDGE, intercept=False)
    tilt = problem.value_and_gradient(MODELS)[1]
    return np.exp(norm.logpdf(tilt, scale=scale).sum(axis=0)) * bends(rows)


def bends(rows):
    """Determinant of the Hessian, mean x²(diag π − ππᵀ) + ridge, at all models."""
    entries = np.zeros((3, MODELS.shape[1]))
    for row, count in zip(*np.unique(rows, return_counts=True), strict=True):
        scores = np.exp(row * MODELS)
        first, second = scores / (1 + scores.sum(axis=0))
        bent = first * (1 - first), second * (1 - second), first * second
        entries += count / N * row**2 * np.array(bent)
    return (entries[0] + RIDGE) * (entries[1] + RIDGE) - entries[2] ** 2


def told(first, second, beside, scale):
    """δ at what the tilt may cost, the greater of both orders."""
    one, other = (density(last, beside, scale) for last in (first, second))
    assert one.sum() * CELL == pytest.approx(1.0, abs=5e-3)
    grown = math.exp(0.98 * EPSILON)
    return max(np.maximum(a - grown * b, 0).sum() * CELL for a, b in ((one, other), (other, one)))


CASES = [
    ((1.0, 1.0), (1.0, 2.0), (0.0, 0.0)),
    ((1.0, 0.0), (-1.0, 2.0), (0.3, 1.0)),
]


@pytest.mark.parametrize(("first", "second", "beside"), CASES)
def test_the_law_of_neighbours_keeps_its_delta(first, second, beside):
    assert told(first, second, beside, planned().scale) <= 0.98 * DELTA


def test_too_little_noise_is_seen_by_the_same_laws():
    """Half the slope is what two labels of one row pull apart; the rest is lost on the bound."""
    assert told(*CASES[0], planned(row_slope=2**0.5 / 4).scale) > DELTA


def test_the_determinant_is_that_of_the_hessian():
    problem = Problem(
        np.array([[1.0], [0.3]] + [[0.0]] * (N - 2)), np.zeros(N), loss=LOSS, radius=9.0,
        ridge=RIDGE, intercept=False,
    )  # fmt: skip
    found = bends(problem.rows[:, 0])
    for place in (0, 5_000, 13_000):
        bend = np.linalg.det(problem.hessian(MODELS[:, place]))
        assert found[place] == pytest.approx(bend)


def test_bounds_are_those_of_chi_laws():
    rng = np.random.default_rng(0)
    ratio, kept, jump = 0.7, 0.9, 0.1
    for q in (1, 2, 5):
        near = np.sqrt(rng.chisquare(q, 400_000))
        far = np.sqrt(rng.chisquare(2 * q, 400_000))
        order = np.maximum(np.exp(jump + ratio * near) - np.exp(jump + kept), 0).mean()
        length = np.maximum(-np.expm1(kept - ratio**2 / 2 - ratio * far), 0).mean()
        assert _by_order(ratio, kept, jump, q) == pytest.approx(order, rel=0.02)
        assert _by_length(ratio, kept, q) == pytest.approx(length, rel=0.02)


def test_of_one_score_it_is_the_bound_of_one_score_from_above():
    for ratio, kept in ((0.2, 0.8), (0.5, 4.0), (1.5, 3.0)):
        one = perturbed_delta(ratio, kept, 0.05, tails=2)
        assert one <= several_scores_delta(ratio, kept, 0.05, 1) <= 1.05 * one


@pytest.mark.parametrize("fall", [40.0, 3.0])
def test_cells_that_are_left_out_would_change_no_digit(fall, monkeypatch):
    """All cells give the same sum; the control leaves out some that count."""
    asked = [
        (u, k, 0.3, q) for u in (1e-4, 0.1, 1.5, 9.0) for k in (1e-3, 1.0, 30.0) for q in (2, 40)
    ]
    near = [several_scores_delta(*one) for one in asked]
    monkeypatch.setattr(scores_delta, "_FALL", fall)
    alike = np.isclose([several_scores_delta(*one) for one in asked], near, rtol=1e-14, atol=0)
    assert alike.all() == (fall == 40.0)


def test_more_scores_tell_more_and_too_many_say_nothing():
    found = [several_scores_delta(0.3, 1.0, 0.0, q) for q in (1, 2, 8, 64)]
    assert found == sorted(found)
    assert several_scores_delta(0.3, 1.0, 0.0, 65) == 1.0
    assert several_scores_delta(30.0, 1.0, 0.0, 2) == 1.0


BUDGET = {"epsilon": 1.0, "delta": 1e-5}
RIDGES = (0.003, 0.005, 0.01, 0.02, 0.04)


def bounds(classes, p, **price):
    """Least excess bound of 5,000 rows over some ridges, and what it is of."""
    shape = {"n": 5_000, "p": p, "domain": Ball(4.0), "row_bound": 1.0}
    each = {"monotone": True, "outputs": classes - 1}
    found = (
        plan_perturbed_objective(
            Constants.of(SoftmaxLoss(classes), **shape, ridge=ridge),
            4.0,
            2**0.5,
            **{**each, "own": ridge, **price},
        )
        for ridge in RIDGES
    )
    return min((one for one in found if one is not None), key=lambda one: one.excess)


def test_many_classes_have_a_smaller_bound_by_gaussian_noise_than_by_pure_noise():
    gaussian, pure = bounds(10, 90, **BUDGET), bounds(10, 90, epsilon=1.0, delta=0.0)
    assert gaussian.gaussian and not pure.gaussian
    assert gaussian.excess <= 0.7 * pure.excess
    order, price = cost_at_order(*BUDGET.values(), True)
    counted = bounds(10, 90, epsilon=price, delta=0.0, order=order)
    assert counted.gaussian and counted.excess <= 0.75 * pure.excess


@pytest.mark.parametrize(("classes", "p"), [(3, 30), (10, 90)])
def test_the_noise_for_a_ledger_s_order_spends_its_price(classes, p):
    order, price = cost_at_order(*BUDGET.values(), True)
    curve = bounds(classes, p, epsilon=price, delta=0.0, order=order).curve
    assert curve.outputs == classes - 1
    assert replace(curve, mu=0.0).renyi(order) == pytest.approx(0.98 * price, rel=1e-6)
    assert order * curve.mu**2 / 2 == pytest.approx(0.02 * price, rel=1e-6)


def _three_classes(ledger, n_draws=1):
    return Request(
        n=5_000, p=30, psi=0.0, loss=SoftmaxLoss(3), radius=4.0, row_norm=1.0, ridge=0.0, **BUDGET,
        n_draws=n_draws, ledger=ledger,
    )  # fmt: skip


@pytest.mark.parametrize(("ledger", "n_draws"), [(False, 2), (True, 2), ("zcdp", 1), ("zcdp", 2)])
def test_the_noise_of_several_models_of_three_classes_is_pure(ledger, n_draws):
    """And is not offered where a ledger adds up zCDP, in which pure DP costs more."""
    request = _three_classes(ledger, n_draws)
    kind = MECHANISMS["objective_perturbation"]
    planned = kind.plan_for(request)
    share = planned.guarantee.epsilon(0.0) / n_draws
    assert not planned.gaussian and share <= 1.0
    constants = Constants.of(
        request.loss, n=5_000, p=30, domain=Ball(4.0), row_bound=1.0, ridge=0.0
    )
    jump = 2 * math.log1p(constants.M / (5_000 * planned.tilt_ridge))
    assert planned.tilt == pytest.approx(2 * 2**0.5 / 5_000 / (0.98 * share - jump), rel=1e-8)
    assert kind.offer(request).applies == (not ledger)
    assert not ledger or "pure DP costs more in zCDP" in kind.offer(request).why


@pytest.mark.parametrize("ledger", [False, True])
def test_one_model_of_three_classes_takes_gaussian_noise(ledger):
    """Its bound is a third below that of pure noise, also in a ledger of an order."""
    kind, request = MECHANISMS["objective_perturbation"], _three_classes(ledger)
    planned, pure_plan = kind.plan_for(request), kind.plan_for(replace(request, delta=0.0))
    assert planned.gaussian and kind.offer(request).applies
    assert planned.excess_bound < 0.8 * pure_plan.excess_bound
    assert planned.guarantee.epsilon(request.delta) <= request.epsilon
    if ledger:
        order, price = cost_at_order(request.epsilon, request.delta, True)
        assert planned.guarantee.renyi(order) <= price
