"""Objective perturbation: exact densities of neighbours, the inequality behind it, its promise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.objective_perturbation.accounting import plan_perturbed_objective
from rashomon_explorer.mechanisms.objective_perturbation.sampler import (
    PerturbedObjectiveFunction,
    distance_bound,
    perturbed_minimiser,
)
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.kinked import HuberLoss, SmoothedHingeLoss
from rashomon_explorer.problem.losses.logistic import ClippedLogisticLoss, LogisticLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed

RADIUS = 3.0
HINGE = SmoothedHingeLoss(smoothing=0.5)


def planned(loss, n, ridge, epsilon, delta, p=1, **changed):
    constants = Constants.of(loss, n=n, p=p, domain=Ball(RADIUS), row_bound=1.0, ridge=ridge)
    slope = loss.lipschitz(math.inf if loss.globally_lipschitz else RADIUS, 1.0)
    asked = {"own": ridge, "monotone": loss.task == "classification"}
    settings = {**asked, "epsilon": epsilon, "delta": delta, "row_slope": slope, **changed}
    found = plan_perturbed_objective(constants, RADIUS, **settings)
    assert found is not None
    return found


class Law:
    """Exact law of the minimiser over [−R, R]: a density inside, and atoms at the ends."""

    def __init__(self, loss, rows, targets, ridge, plan, grid):
        self.problem = Problem(
            rows, targets, loss=loss, radius=RADIUS, ridge=ridge, intercept=False
        )
        theta = grid[None]
        gradient = self.problem.value_and_gradient(theta)[1][0]
        bend = np.array([self.problem.hessian(one)[0, 0] for one in theta.T])
        self.tilt = -gradient
        if plan.gaussian:
            self.log_density = norm.logpdf(self.tilt, scale=plan.scale) + np.log(bend)
            below, above = ndtr(self.tilt[0] / plan.scale), ndtr(-self.tilt[-1] / plan.scale)
        else:
            self.log_density = -np.abs(self.tilt) / plan.scale - math.log(2 * plan.scale)
            self.log_density += np.log(bend)
            below = _laplace(-self.tilt[-1] / plan.scale), _laplace(self.tilt[0] / plan.scale)
            below, above = below[1], below[0]
        # b ↦ θ falls: a large b leads to −R. The tilt at −R is the largest.
        self.atoms = np.array([1 - below, 1 - above])


def _laplace(x):
    return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)


def delta_of(one, other, epsilon, grid):
    """∫(p − e^ε p')₊, atoms included."""
    inside = np.maximum(np.exp(one.log_density) - np.exp(epsilon + other.log_density), 0)
    ends = np.maximum(one.atoms - math.exp(epsilon) * other.atoms, 0)
    return float(np.trapezoid(inside, grid) + ends.sum())


def neighbours(loss, n, ridge, plan, first, second, rest, grid):
    """Laws on a table that ends with one record, and with another."""
    rows, targets = [rest[0]] * (n - 1), [rest[1]] * (n - 1)
    return [
        Law(loss, np.array([*rows, [x]]), np.array([*targets, y]), ridge, plan, grid)
        for x, y in (first, second)
    ]


CASES = [
    # loss, records that differ, the others
    (HINGE, (1.0, 1.0), (-1.0, 1.0), ([0.0], 1.0)),
    (HINGE, (1.0, 1.0), (-1.0, 1.0), ([0.3], 1.0)),
    (LogisticLoss(), (1.0, 1.0), (-1.0, 1.0), ([0.0], 1.0)),
    (LogisticLoss(), (1.0, 1.0), (0.0, 1.0), ([0.5], -1.0)),
    (SquaredLoss(), (1.0, 1.0), (1.0, -1.0), ([0.0], 0.0)),
    (SquaredLoss(), (1.0, 1.0), (0.0, 0.0), ([0.0], 0.0)),
]


@crossed(
    {
        "loss, first, second, rest": CASES,
        "n, ridge": [(40, 0.2), (10, 0.4)],
    }
)
def test_gaussian_noise_keeps_its_delta_exactly(loss, first, second, rest, n, ridge):
    grid = np.linspace(-RADIUS, RADIUS, 2401)
    for epsilon in (2.0, 4.0):
        plan = planned(loss, n, ridge, epsilon, 1e-3)
        one, other = neighbours(loss, n, ridge, plan, first, second, rest, grid)
        mass = np.trapezoid(np.exp(one.log_density), grid) + one.atoms.sum()
        assert mass == pytest.approx(1.0, abs=2e-3)
        kept = 0.98 * epsilon
        assert delta_of(one, other, kept, grid) <= 0.98e-3
        assert delta_of(other, one, kept, grid) <= 0.98e-3


CLIPPED = [
    (ClippedLogisticLoss(), (1.0, 1.0), (-1.0, 1.0), ([0.0], 1.0)),
    (ClippedLogisticLoss(), (1.0, 1.0), (1.0, -1.0), ([0.3], -1.0)),
    (HuberLoss(), (1.0, 1.0), (1.0, -1.0), ([0.0], 0.0)),
]


@pytest.mark.parametrize(("loss", "first", "second", "rest"), CASES + CLIPPED)
def test_radial_noise_keeps_its_epsilon_exactly(loss, first, second, rest):
    grid = np.linspace(-RADIUS, RADIUS, 2401)
    plan = planned(loss, 10, 0.5, 2.0, 0.0)
    one, other = neighbours(loss, 10, 0.5, plan, first, second, rest, grid)
    apart = np.abs(one.log_density - other.log_density).max()
    ends = np.abs(np.log(one.atoms) - np.log(other.atoms)).max()
    assert max(apart, ends) <= 0.98 * 2.0


def test_wrong_constants_are_seen_by_the_same_laws():
    grid = np.linspace(-RADIUS, RADIUS, 2401)
    first, second, rest = CASES[0][1:]
    half = planned(HINGE, 40, 0.2, 2.0, 1e-3, row_slope=0.5)
    one, other = neighbours(HINGE, 40, 0.2, half, first, second, rest, grid)
    assert delta_of(one, other, 1.96, grid) > 1e-3


def test_noise_of_clipped_slopes_hides_clipped_slopes_alone():
    grid = np.linspace(-RADIUS, RADIUS, 2401)
    loss, first, second, rest = CLIPPED[-1]
    plan = planned(loss, 10, 0.5, 2.0, 0.0)
    one, other = neighbours(SquaredLoss(), 10, 0.5, plan, first, second, rest, grid)
    assert np.abs(one.log_density - other.log_density).max() > 2.0


def test_the_determinant_of_several_scores_a_row_is_bounded_and_not_by_that_of_one():
    """One row of three classes, on the ridge alone and beside another row."""
    rng = np.random.default_rng(0)
    n, m, worst = 2, 0.025, 0.0
    for theta in (np.zeros(4), *rng.standard_normal((50, 4))):
        row, beside = rng.standard_normal((2, 2))
        bends = [
            SoftmaxLoss(3).empirical(one[None] / np.linalg.norm(one), np.zeros(1)).hessian(theta)
            for one in (row, beside)
        ]
        for others in (0.0, bends[1] / n):
            without = m * np.eye(4) + others
            added = np.linalg.slogdet(without + bends[0] / n)[1]
            worst = max(worst, added - np.linalg.slogdet(without)[1])
    known = Constants.of(SoftmaxLoss(3), n=n, p=4, domain=Ball(1.0), row_bound=1.0, ridge=m)
    asked = {"own": m, "monotone": True, "epsilon": 20.0, "delta": 0.0}
    two = plan_perturbed_objective(known, 1.0, 2**0.5, **asked, outputs=2)
    one = plan_perturbed_objective(known, 1.0, 2**0.5, **asked)
    assert one.determinant < worst <= two.determinant
    assert two.determinant == pytest.approx(2 * one.determinant)


def test_noise_by_the_whole_price_leaves_the_determinant_unpaid():
    """As in Appendix E of Bassily, Smith and Thakurta (2014): slope and determinant add up."""
    grid = np.linspace(-RADIUS, RADIUS, 2401)
    first, second, rest = (-1.0, 1.0), (1.0, 1.0), ([1.0], 1.0)
    plan = planned(HINGE, 10, 0.4, 2.0, 0.0)
    printed = replace(plan, scale=2 / 10 / (0.98 * 2.0))
    apart = []
    for noise in (plan, printed):
        one, other = neighbours(HINGE, 10, 0.4, noise, first, second, rest, grid)
        apart.append(np.abs(one.log_density - other.log_density).max())
    assert 0.99 * 0.98 * 2.0 < apart[0] <= 0.98 * 2.0
    assert apart[1] == pytest.approx(0.98 * 2.0 + plan.determinant, rel=0.01)


def test_little_is_wasted_in_one_dimension():
    """Rows on whose slopes nothing is lost: a Gaussian mechanism of the planned noise."""
    plan = planned(HINGE, 10_000, 0.05, 1.0, 1e-5)
    ratio = 2 / 10_000 / plan.scale
    spent = next(e for e in np.linspace(0, 2, 2001) if gdp_delta(ratio, e) <= 1e-5)
    assert 0.9 < spent < 1.0


def _first_bound(ratio, kept):
    far = kept / ratio
    return math.exp(ratio**2 / 2) * ndtr(ratio - far) - math.exp(kept) * ndtr(-far)


@pytest.mark.parametrize("correlation", [-1.0, -0.6, 0.0, 0.5, 0.9, 1.0])
def test_two_records_are_never_worse_than_one_of_twice_the_slope(correlation):
    """E ψ(a(X₊ + Y₊)) ≤ E ψ(2aX₊) for ψ convex and rising, and with |X| for losses that turn."""
    points, weights = np.polynomial.hermite_e.hermegauss(160)
    weights = weights / weights.sum()
    x, z = np.meshgrid(points, points)
    y = correlation * x + math.sqrt(1 - correlation**2) * z
    mass = np.outer(weights, weights)
    ratio, kept = 0.8, 0.5

    def hockey(exponent):
        return np.maximum(np.exp(ratio / 2 * exponent) - math.exp(kept), 0)

    for tails, part in ((1, lambda v: np.maximum(v, 0)), (2, np.abs)):
        both = float((mass * hockey(part(x) + part(y))).sum())
        once = float((weights * hockey(2 * part(points))).sum())
        assert both <= once * (1 + 0.01)
        assert once == pytest.approx(tails * _first_bound(ratio, kept), rel=0.02)


def test_two_crossed_records_keep_the_delta_in_two_dimensions():
    n, ridge, epsilon, delta = 12, 0.5, 2.0, 1e-2
    plan = planned(LogisticLoss(), n, ridge, epsilon, delta, p=2)
    axis = np.linspace(-RADIUS, RADIUS, 101)
    theta = np.stack([part.ravel() for part in np.meshgrid(axis, axis)])
    densities = []
    for last in ([1.0, 0.0], [0.0, -1.0]):
        rows = np.array([[0.0, 0.0]] * (n - 1) + [last])
        problem = Problem(
            rows, np.ones(n), loss="logistic", radius=9.0, ridge=ridge, intercept=False
        )
        tilt = problem.value_and_gradient(theta)[1]
        bends = [np.linalg.det(problem.hessian(one)) for one in theta.T]
        log_noise = norm.logpdf(tilt, scale=plan.scale).sum(axis=0)
        densities.append(np.exp(log_noise) * np.array(bends))
    cell = (axis[1] - axis[0]) ** 2
    assert densities[0].sum() * cell == pytest.approx(1.0, abs=2e-3)
    for one, other in (densities, densities[::-1]):
        lost = np.maximum(one - math.exp(0.98 * epsilon) * other, 0).sum() * cell
        assert lost <= 0.98 * delta


def test_the_minimiser_is_as_near_as_is_said_and_no_nearer_is_an_error():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (300, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = Problem(X, y, radius=2.0, ridge=0.05)
    tilt = np.array([0.05, -0.02, 0.1, 0.03])
    near = perturbed_minimiser(problem, tilt, 1e-6)
    gradient = problem.value_and_gradient(near[:, None])[1][:, 0] + tilt
    multiplier = max(0.0, -float(gradient @ near) / 4) if np.linalg.norm(near) > 1.99 else 0.0
    assert np.abs(gradient + multiplier * near).max() < 1e-8
    with pytest.raises(SamplerError, match="could not be certified"):
        perturbed_minimiser(problem, tilt, 1e-18)


@pytest.mark.parametrize("radius", [0.5, 20.0])  # on the sphere, and inside
def test_the_distance_from_the_minimiser_is_bounded(radius):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (50, 2))
    problem = Problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), radius=radius, ridge=0.1)
    objective = PerturbedObjectiveFunction(problem, np.array([0.3, -0.2, 0.1]))
    best = perturbed_minimiser(problem, np.array([0.3, -0.2, 0.1]), 1e-5)
    assert (np.linalg.norm(best) > 0.999 * radius) == (radius == 0.5)
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(20):
            theta = problem.domain.project((best + size * rng.standard_normal(3))[:, None])[:, 0]
            off = np.linalg.norm(theta - best)
            assert off <= distance_bound(objective, theta, radius, 0.1) + 1e-5
