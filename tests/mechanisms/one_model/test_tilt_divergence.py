"""Rényi divergences of tilted minimisers, integrated exactly, within what ledgers are told."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from rashomon_explorer.privacy.tradeoff import (
    Gaussian,
    GaussianObjectivePerturbation,
    compose_tradeoffs,
)
from rashomon_explorer.privacy.tradeoff.curves import from_dict
from rashomon_explorer.problem.losses.logistic import LogisticLoss
from tests.crossing import crossed
from tests.mechanisms.one_model.test_objective import (
    CASES,
    CLIPPED,
    HINGE,
    RADIUS,
    Law,
    neighbours,
    planned,
)

GRID = np.linspace(-RADIUS, RADIUS, 4801)
ORDERS = (1.2, 2.0, 5.0, 20.0, 80.0)


def log_atoms(law: Law) -> np.ndarray:
    return norm.logcdf(np.array([-law.tilt[0], law.tilt[-1]]) / law.scale)


def divergence_of(one: Law, other: Law, order: float) -> float:
    """log(∫p^a p'^(1 − a))/(a − 1), atoms included."""
    logs = order * one.log_density + (1 - order) * other.log_density
    ends = order * log_atoms(one) + (1 - order) * log_atoms(other)
    top = max(logs.max(), ends.max())
    mass = np.trapezoid(np.exp(logs - top), GRID) + np.exp(ends - top).sum()
    return (math.log(mass) + top) / (order - 1)


def laws(loss, first, second, rest, plan, n, ridge):
    one, other = neighbours(loss, n, ridge, plan, first, second, rest, GRID)
    mass = np.trapezoid(np.exp(one.log_density), GRID) + one.atoms.sum()
    assert mass == pytest.approx(1.0, abs=2e-3)
    one.scale = other.scale = plan.scale
    return one, other


@crossed({"loss, first, second, rest": CASES + CLIPPED, "n, ridge": [(40, 0.2), (10, 0.4)]})
def test_a_minimisers_divergence_is_within_the_curve(loss, first, second, rest, n, ridge):
    for price, order in ((0.5, 8.0), (2.0, 4.0)):
        plan = planned(loss, n, ridge, price, 0.0, order=order)
        both = laws(loss, first, second, rest, plan, n, ridge)
        alone = replace(plan.curve, mu=0.0)  # the minimiser, without what hides the solver's error
        assert plan.curve.renyi(order) <= price
        for a in ORDERS:
            found = max(divergence_of(*both, a), divergence_of(*both[::-1], a))
            assert found <= alone.renyi(a) + 1e-4


OPPOSITE = (HINGE, (1.0, 1.0), (-1.0, 1.0), ([0.0], 1.0))


def test_the_curve_is_not_far_above_and_half_the_slope_is_caught():
    for slope, found_of_it in ((1.0, (0.6, 1.0)), (0.5, (1.6, 4.0))):
        plan = planned(HINGE, 400, 0.05, 0.5, 0.0, order=8.0, row_slope=slope)
        both = laws(*OPPOSITE, plan, 400, 0.05)
        share = divergence_of(*both, 8.0) / plan.curve.renyi(8.0)
        assert found_of_it[0] < share < found_of_it[1]


def test_a_plan_spends_its_price_and_says_of_what():
    plan = planned(LogisticLoss(), 400, 0.05, 0.5, 0.0, order=20.0)
    assert plan.gaussian and plan.curve.jump == plan.determinant
    assert plan.curve.ratio == pytest.approx(2 / 400 / plan.scale)
    assert plan.curve.mu == pytest.approx(2 * plan.solver / plan.blur)
    assert 20.0 * plan.curve.mu**2 / 2 == pytest.approx(0.02 * 0.5)
    assert plan.curve.renyi(20.0) == pytest.approx(0.5, rel=1e-6)
    assert plan.curve.renyi(20.0) <= 0.5


@pytest.mark.parametrize(("monotone", "outputs"), [(True, 1), (False, 1), (False, 2), (False, 5)])
def test_the_curve_is_the_integral_of_lengths(monotone, outputs):
    """E e^((a − 1)ℓ), ℓ = J + u²/2 + u‖X‖ or u·X₊, by quadrature."""
    u, jump, order = 0.3, 0.02, 9.0
    scale = 2 ** (outputs / 2 - 1) * math.gamma(outputs / 2)

    def density(r):
        return r ** (outputs - 1) * math.exp(-r * r / 2) / scale

    rate = (order - 1) * u
    mean = quad(lambda r: density(r) * math.exp(rate * r), 0, 40)[0]
    mean = (1 + mean) / 2 if monotone else mean
    expected = jump + u**2 / 2 + math.log(mean) / (order - 1)
    curve = GaussianObjectivePerturbation(u, jump, monotone, outputs)
    assert curve.renyi(order) == pytest.approx(expected, rel=1e-9)
    assert replace(curve, draws=3, mu=0.4).renyi(order) == pytest.approx(
        3 * expected + order * 0.08, rel=1e-9
    )


def test_it_composes_and_comes_back_from_plain_values():
    curve = GaussianObjectivePerturbation(0.2, 0.01, monotone=True, mu=0.05)
    both = compose_tradeoffs([(curve, 4), Gaussian(0.3)])
    assert both.renyi(7.0) == pytest.approx(4 * curve.renyi(7.0) + 7.0 * 0.09 / 2)
    assert from_dict(both.to_dict()) == both
    for delta in (1e-3, 1e-6):
        found = both.epsilon(delta)
        assert float(both.delta(found)) == pytest.approx(delta, rel=1e-9)
    assert math.isinf(curve.rho) and curve.steady
