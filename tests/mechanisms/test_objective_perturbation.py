"""Objective perturbation: exact laws of neighbours, costs, promises, and draws that always come."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms import MECHANISMS, explain
from rashomon_explorer.mechanisms.objective_perturbation import accounting, sampler
from rashomon_explorer.mechanisms.objective_perturbation import plan as perturbation_plan
from rashomon_explorer.mechanisms.objective_perturbation import sampler as objective_perturbation
from rashomon_explorer.mechanisms.objective_perturbation.accounting import perturbed_delta
from rashomon_explorer.mechanisms.objective_perturbation.plan import (
    _mean_projection_distance,
    plan_objective_perturbation,
)
from rashomon_explorer.mechanisms.request import cost_at_order
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import tradeoff
from rashomon_explorer.privacy.conversions import filter_order, gdp_delta, zcdp_rho
from rashomon_explorer.privacy.tradeoff.curves import from_dict
from rashomon_explorer.problem.losses import SoftmaxLoss, SquaredLoss
from rashomon_explorer.problem.losses.kinked import HuberLoss, SmoothedHingeLoss
from rashomon_explorer.problem.losses.logistic import ClippedLogisticLoss, LogisticLoss
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.builders import by_settings, constants_of, request_of

RADIUS = 3.0
GRID = np.linspace(-RADIUS, RADIUS, 1201)
HINGE = SmoothedHingeLoss(smoothing=0.5)


def planned(loss, n, ridge, epsilon, delta=0.0, p=1, radius=RADIUS, **changed):
    known = constants_of(loss, n=n, p=p, radius=radius, ridge=ridge)
    slope = loss.lipschitz(math.inf if loss.globally_lipschitz else radius, 1.0)
    usual = {"added_ridge": ridge, "monotone": loss.task != "regression", "outputs": loss.outputs}
    settings = {**usual, "epsilon": epsilon, "delta": delta, "row_slope": slope, **changed}
    return accounting.plan_perturbed_objective(known, radius, **settings)


class Law:
    """Exact law of the minimiser over [−R, R]: a density on GRID, and atoms at the ends."""

    def __init__(self, gradient, bend, plan):
        tilt = -gradient
        if plan.gaussian:
            self.log_density = norm.logpdf(tilt, scale=plan.scale) + np.log(bend)
        else:
            self.log_density = -np.abs(tilt) / plan.scale - math.log(2 * plan.scale) + np.log(bend)
        # b ↦ θ falls: a large b leads to −R, where the tilt is the largest.
        beyond = norm.logsf if plan.gaussian else _laplace_logsf
        self.log_atoms = beyond(np.array([tilt[0], -tilt[-1]]) / plan.scale)

    @property
    def mass(self):
        return np.trapezoid(np.exp(self.log_density), GRID) + np.exp(self.log_atoms).sum()

    def delta(self, other, epsilon):
        """∫(p − e^ε p')₊, atoms included."""
        inside = np.maximum(np.exp(self.log_density) - np.exp(epsilon + other.log_density), 0)
        ends = np.maximum(np.exp(self.log_atoms) - np.exp(epsilon + other.log_atoms), 0)
        return float(np.trapezoid(inside, GRID) + ends.sum())

    def apart(self, other):
        """Largest |log p − log p'|."""
        inside = np.abs(self.log_density - other.log_density).max()
        return max(inside, np.abs(self.log_atoms - other.log_atoms).max())

    def divergence(self, other, order):
        """log(∫p^a p'^(1 − a))/(a − 1), atoms included."""
        logs = order * self.log_density + (1 - order) * other.log_density
        ends = order * self.log_atoms + (1 - order) * other.log_atoms
        top = max(logs.max(), ends.max())
        mass = np.trapezoid(np.exp(logs - top), GRID) + np.exp(ends - top).sum()
        return (math.log(mass) + top) / (order - 1)


def _laplace_logsf(x):
    return np.where(x > 0, -np.abs(x) - math.log(2), np.log1p(-np.exp(-np.abs(x)) / 2))


@cache
def derivatives(loss, n, ridge, last, usual):
    """Gradient and curvature on GRID of the problem of n − 1 usual records and a last one."""
    rows, targets = np.array([usual] * (n - 1) + [last]).T
    settings = {"radius": RADIUS, "ridge": ridge, "intercept": False}
    problem = Problem(rows[:, None], targets, loss=loss, **settings)
    bend = np.array([problem.hessian(one)[0, 0] for one in GRID[:, None]])
    return problem.value_and_gradient(GRID[None])[1][0], bend


def laws(case, n, ridge, plan, loss=None):
    """Laws on a table that ends with one record, and with another."""
    usual, *ends, ((x,), y) = case
    found = []
    for last in ends:
        found.append(Law(*derivatives(loss or usual, n, ridge, last, (x, y)), plan))
        assert found[-1].mass == pytest.approx(1.0, abs=2e-3)
    return found


CASES = [
    # loss, records that differ, the others
    (HINGE, (1.0, 1.0), (-1.0, 1.0), ([0.0], 1.0)),
    (HINGE, (1.0, 1.0), (-1.0, 1.0), ([0.3], 1.0)),
    (LogisticLoss(), (1.0, 1.0), (-1.0, 1.0), ([0.0], 1.0)),
    (LogisticLoss(), (1.0, 1.0), (0.0, 1.0), ([0.5], -1.0)),
    (SquaredLoss(), (1.0, 1.0), (1.0, -1.0), ([0.0], 0.0)),
    (SquaredLoss(), (1.0, 1.0), (0.0, 0.0), ([0.0], 0.0)),
]
CLIPPED = [
    (ClippedLogisticLoss(), (1.0, 1.0), (-1.0, 1.0), ([0.0], 1.0)),
    (ClippedLogisticLoss(), (1.0, 1.0), (1.0, -1.0), ([0.3], -1.0)),
    (HuberLoss(), (1.0, 1.0), (1.0, -1.0), ([0.0], 0.0)),
]
SIZES = [(40, 0.2), (10, 0.4)]


@crossed({"case": CASES, "n, ridge": SIZES})
def test_gaussian_noise_keeps_its_delta_exactly(case, n, ridge):
    for epsilon in (2.0, 4.0):
        one, other = laws(case, n, ridge, planned(case[0], n, ridge, epsilon, 1e-3))
        assert max(one.delta(other, 0.98 * epsilon), other.delta(one, 0.98 * epsilon)) <= 0.98e-3


@pytest.mark.parametrize("case", CASES + CLIPPED)
def test_radial_noise_keeps_its_epsilon_exactly(case):
    one, other = laws(case, 10, 0.5, planned(case[0], 10, 0.5, 2.0))
    assert one.apart(other) <= 0.98 * 2.0


@crossed({"case": CASES + CLIPPED, "n, ridge": SIZES})
def test_a_minimisers_divergence_is_within_the_curve(case, n, ridge):
    for price, order in ((0.5, 8.0), (2.0, 4.0)):
        plan = planned(case[0], n, ridge, price, order=order)
        one, other = laws(case, n, ridge, plan)
        alone = replace(plan.curve, mu=0.0)  # the minimiser, without what hides the solver's error
        assert plan.curve.renyi(order) <= price
        for a in (1.2, 5.0, 80.0):
            found = max(one.divergence(other, a), other.divergence(one, a))
            assert found <= alone.renyi(a) + 1e-4


def test_wrong_constants_are_seen_by_the_same_laws():
    one, other = laws(CASES[0], 40, 0.2, planned(HINGE, 40, 0.2, 2.0, 1e-3, row_slope=0.5))
    assert one.delta(other, 1.96) > 1e-3
    for slope, share in ((1.0, (0.6, 1.0)), (0.5, (1.6, 4.0))):
        plan = planned(HINGE, 400, 0.05, 0.5, order=8.0, row_slope=slope)
        one, other = laws(CASES[0], 400, 0.05, plan)
        assert share[0] < one.divergence(other, 8.0) / plan.curve.renyi(8.0) < share[1]
    # Noise of clipped slopes hides clipped slopes alone.
    one, other = laws(CLIPPED[-1], 10, 0.5, planned(HuberLoss(), 10, 0.5, 2.0), SquaredLoss())
    assert one.apart(other) > 2.0


def test_noise_by_the_whole_price_leaves_the_determinant_unpaid():
    """As in Appendix E of Bassily, Smith and Thakurta (2014): slope and determinant add up."""
    case, plan = (HINGE, (-1.0, 1.0), (1.0, 1.0), ([1.0], 1.0)), planned(HINGE, 10, 0.4, 2.0)
    printed = replace(plan, scale=2 / 10 / (0.98 * 2.0))
    apart = [one.apart(other) for one, other in (laws(case, 10, 0.4, n) for n in (plan, printed))]
    assert 0.99 * 0.98 * 2.0 < apart[0] <= 0.98 * 2.0
    assert apart[1] == pytest.approx(0.98 * 2.0 + plan.determinant, rel=0.01)


def test_the_determinant_of_several_scores_a_row_is_bounded_and_not_by_that_of_one():
    """One row of three classes, on the ridge alone and beside another row."""
    rng = np.random.default_rng(0)
    n, m, worst = 2, 0.025, 0.0
    for theta in (np.zeros(4), *rng.standard_normal((50, 4))):
        row, beside = (
            SoftmaxLoss(3).empirical(one[None] / np.linalg.norm(one), np.zeros(1)).hessian(theta)
            for one in rng.standard_normal((2, 2))
        )
        for others in (0.0, beside / n):
            without = m * np.eye(4) + others
            added = np.linalg.slogdet(without + row / n)[1] - np.linalg.slogdet(without)[1]
            worst = max(worst, added)
    one, two = (planned(SoftmaxLoss(3), n, m, 20.0, p=4, outputs=q) for q in (1, 2))
    assert one.determinant < worst <= two.determinant
    assert two.determinant == pytest.approx(2 * one.determinant)


@pytest.mark.parametrize("correlation", [-1.0, -0.6, 0.0, 0.5, 0.9, 1.0])
def test_two_records_are_never_worse_than_one_of_twice_the_slope(correlation):
    """E ψ(a(X₊ + Y₊)) ≤ E ψ(2aX₊) for ψ convex and rising, and with |X| for losses that turn."""
    points, weights = np.polynomial.hermite_e.hermegauss(160)
    weights = weights / weights.sum()
    x, z = np.meshgrid(points, points)
    y = correlation * x + math.sqrt(1 - correlation**2) * z
    mass, ratio, remaining = np.outer(weights, weights), 0.8, 0.5
    far = remaining / ratio
    bound = math.exp(ratio**2 / 2) * ndtr(ratio - far) - math.exp(remaining) * ndtr(-far)

    def hockey(exponent):
        return np.maximum(np.exp(ratio / 2 * exponent) - math.exp(remaining), 0)

    for tails, part in ((1, lambda v: np.maximum(v, 0)), (2, np.abs)):
        both = float((mass * hockey(part(x) + part(y))).sum())
        once = float((weights * hockey(2 * part(points))).sum())
        assert both <= once * (1 + 0.01)
        assert once == pytest.approx(tails * bound, rel=0.02)


@pytest.mark.parametrize(("monotone", "outputs"), [(True, 1), (False, 1), (False, 2), (False, 5)])
def test_the_curve_is_the_integral_of_lengths(monotone, outputs):
    """E e^((a − 1)ℓ), ℓ = J + u²/2 + u‖X‖ or u·X₊, by quadrature; and it composes."""
    u, jump, order = 0.3, 0.02, 9.0
    scale = 2 ** (outputs / 2 - 1) * math.gamma(outputs / 2)

    def weighed(r):
        return r ** (outputs - 1) * math.exp(-r * r / 2 + (order - 1) * u * r) / scale

    mean = quad(weighed, 0, 40)[0]
    mean = (1 + mean) / 2 if monotone else mean
    expected = jump + u**2 / 2 + math.log(mean) / (order - 1)
    curve = tradeoff.GaussianObjectivePerturbation(u, jump, monotone, outputs)
    assert curve.renyi(order) == pytest.approx(expected, rel=1e-9)
    three = replace(curve, draws=3, mu=0.4).renyi(order)
    assert three == pytest.approx(3 * expected + order * 0.08, rel=1e-9)
    both = tradeoff.compose_tradeoffs([(curve, 4), tradeoff.Gaussian(0.3)])
    assert both.renyi(order) == pytest.approx(4 * expected + order * 0.09 / 2)
    assert from_dict(both.to_dict()) == both
    assert float(both.delta(both.epsilon(1e-6))) == pytest.approx(1e-6, rel=1e-9)
    assert math.isinf(curve.rho) and curve.sublinear


THREE, N, RIDGE, EPSILON, DELTA = SoftmaxLoss(3), 12, 0.5, 2.0, 1e-2
AXIS = np.linspace(-3.5, 3.5, 121)
PLANE = np.stack([part.ravel() for part in np.meshgrid(AXIS, AXIS)])
CELL = (AXIS[1] - AXIS[0]) ** 2


def softmax_bends(rows, _labels):
    """Determinant of the Hessian, mean x²(diag π − ππᵀ) + ridge, at all models."""
    entries = np.zeros((3, PLANE.shape[1]))
    for row, count in zip(*np.unique(rows[:, 0], return_counts=True), strict=True):
        scores = np.exp(row * PLANE)
        first, second = scores / (1 + scores.sum(axis=0))
        bent = first * (1 - first), second * (1 - second), first * second
        entries += count / N * row**2 * np.array(bent)
    return (entries[0] + RIDGE) * (entries[1] + RIDGE) - entries[2] ** 2


def logistic_bends(rows, labels):
    problem = Problem(rows, labels, radius=9.0, ridge=RIDGE, intercept=False)
    return np.array([np.linalg.det(problem.hessian(one)) for one in PLANE.T])


def largest_delta(loss, tables, scale):
    """δ at what the perturbation may cost, the greater of both orders, by densities on a plane."""
    bends = softmax_bends if loss is THREE else logistic_bends
    densities = []
    for rows, labels in tables:
        problem = Problem(rows, labels, loss=loss, radius=9.0, ridge=RIDGE, intercept=False)
        tilt = problem.value_and_gradient(PLANE)[1]
        densities.append(np.exp(norm.logpdf(tilt, scale=scale).sum(axis=0)) * bends(rows, labels))
        assert densities[-1].sum() * CELL == pytest.approx(1.0, abs=5e-3)
    grown = math.exp(0.98 * EPSILON)
    return max(np.maximum(a - grown * b, 0).sum() * CELL for a, b in (densities, densities[::-1]))


def ends(beside, *last):
    """Tables of one column that end with one record, and with another."""
    tables = [np.array([beside] * (N - 1) + [one]) for one in last]
    return [(table[:, :1], table[:, 1]) for table in tables]


OPPOSITE = ends((0.0, 0.0), (1.0, 1.0), (1.0, 2.0))
CROSSED = [
    (np.array([[0.0, 0.0]] * (N - 1) + [row]), np.ones(N)) for row in ([1.0, 0.0], [0.0, -1.0])
]


@pytest.mark.parametrize(
    ("loss", "tables"),
    [
        (THREE, OPPOSITE),
        (THREE, ends((0.3, 1.0), (1.0, 0.0), (-1.0, 2.0))),
        (LogisticLoss(), CROSSED),
    ],
)
def test_the_law_of_neighbours_keeps_its_delta(loss, tables):
    plan = planned(loss, N, RIDGE, EPSILON, DELTA, p=2, radius=9.0)
    assert largest_delta(loss, tables, plan.scale) <= 0.98 * DELTA


def test_too_little_noise_is_seen_by_the_same_laws():
    """Half the slope is what two labels of one row pull apart; the rest is lost on the bound."""
    half = planned(THREE, N, RIDGE, EPSILON, DELTA, p=2, radius=9.0, row_slope=2**0.5 / 4)
    assert largest_delta(THREE, OPPOSITE, half.scale) > DELTA
    rows = np.array([[1.0], [0.3]] + [[0.0]] * (N - 2))
    problem = Problem(rows, np.zeros(N), loss=THREE, radius=9.0, ridge=RIDGE, intercept=False)
    found = softmax_bends(rows, None)
    for place in (0, 5_000, 13_000):
        assert found[place] == pytest.approx(np.linalg.det(problem.hessian(PLANE[:, place])))


def test_bounds_are_those_of_chi_laws():
    rng, (ratio, remaining, jump) = np.random.default_rng(0), (0.7, 0.9, 0.1)
    for q in (1, 2, 5):
        near, far = (np.sqrt(rng.chisquare(degrees, 400_000)) for degrees in (q, 2 * q))
        order = np.maximum(np.exp(jump + ratio * near) - np.exp(jump + remaining), 0).mean()
        length = np.maximum(-np.expm1(remaining - ratio**2 / 2 - ratio * far), 0).mean()
        assert accounting._by_order(ratio, remaining, jump, q) == pytest.approx(order, rel=0.02)
        assert accounting._by_length(ratio, remaining, q) == pytest.approx(length, rel=0.02)


@pytest.mark.parametrize("fall", [40.0, 3.0])
def test_cells_that_are_left_out_would_change_no_digit(fall, monkeypatch):
    """All cells give the same sum; the control leaves out some that count."""
    grid = [(u, k, q) for u in (1e-4, 0.1, 1.5, 9.0) for k in (1e-3, 1.0, 30.0) for q in (2, 40)]
    near = [accounting.several_scores_delta(u, k, 0.3, q) for u, k, q in grid]
    monkeypatch.setattr(accounting, "_FALL", fall)
    found = [accounting.several_scores_delta(u, k, 0.3, q) for u, k, q in grid]
    assert np.isclose(found, near, rtol=1e-14, atol=0).all() == (fall == 40.0)


def softmax_request(classes, **changed):
    public = {"n": 5_000, "p": 15 * (classes - 1), "loss": SoftmaxLoss(classes), "radius": 4.0}
    return request_of(**public, row_norm=1.0, epsilon=1.0, **changed)


@pytest.mark.parametrize("classes", [3, 10])
@pytest.mark.parametrize("ledger", [False, True])
def test_one_model_of_several_classes_takes_gaussian_noise(classes, ledger):
    """Its bound is well below that of pure noise, also in a ledger of an order."""
    kind, request = MECHANISMS["objective_perturbation"], softmax_request(classes, ledger=ledger)
    found, pure = kind.plan(request), kind.plan(replace(request, delta=0.0))
    assert found.details.gaussian and not pure.details.gaussian
    assert found.excess_bound < 0.8 * pure.excess_bound
    assert found.guarantee.epsilon(request.delta) <= request.epsilon
    if ledger:  # the noise for its order spends the price
        order, price = cost_at_order(request.epsilon, request.delta, True)
        curve = found.guarantee.curve
        assert curve.outputs == classes - 1 and found.guarantee.renyi(order) <= price
        assert replace(curve, mu=0.0).renyi(order) == pytest.approx(0.98 * price, rel=1e-6)


@pytest.mark.parametrize(("ledger", "n_draws"), [(False, 2), (True, 2), ("zcdp", 1), ("zcdp", 2)])
def test_the_noise_of_several_models_of_three_classes_is_pure(ledger, n_draws):
    """And is not offered where a ledger adds up zCDP, in which pure DP costs more."""
    request = softmax_request(3, ledger=ledger, n_draws=n_draws)
    kind = MECHANISMS["objective_perturbation"]
    found = plan_objective_perturbation(request)
    share = found.guarantee.epsilon(0.0) / n_draws
    details = found.details
    assert not details.gaussian and share <= 1.0
    jump = 2 * math.log1p(request.constants.M / (5_000 * details.added_ridge))
    noise = 2 * 2**0.5 / 5_000 / (0.98 * share - jump)
    assert details.linear_noise == pytest.approx(noise, rel=1e-8)
    reason = "pure DP costs more in zCDP, which the ledger composes" if ledger else ""
    assert kind.why_not_compared(request) == reason


@pytest.mark.parametrize("radius", [0.5, 20.0])  # on the sphere, and inside
def test_the_minimiser_is_as_near_as_is_said_and_no_nearer_is_an_error(radius):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (50, 2))
    problem = Problem(X, np.where(X[:, 0] > 0, 1.0, -1.0), radius=radius, ridge=0.1)
    tilt = np.array([0.3, -0.2, 0.1])
    objective = MinimisedObjective(problem.objective.loss, problem.ridge, tilt)
    best = sampler.perturbed_minimiser(problem, tilt, 1e-6)
    gradient = objective.value_and_gradient(best[:, None])[1][:, 0]
    assert (np.linalg.norm(best) > 0.999 * radius) == (radius == 0.5)
    multiplier = -float(gradient @ best) / radius**2 if radius == 0.5 else 0.0
    assert multiplier >= 0 and np.abs(gradient + multiplier * best).max() < 1e-7
    inside = math.sqrt(multiplier * radius**2 * 5e-10 / 0.1)  # what λ adds just off the sphere
    assert sampler.distance_bound(objective, best * (1 - 5e-10), radius, 0.1) >= 0.9 * inside
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(20):
            theta = problem.domain.project((best + size * rng.standard_normal(3))[:, None])[:, 0]
            off = np.linalg.norm(theta - best)
            assert off <= sampler.distance_bound(objective, theta, radius, 0.1) + 1e-5
    with pytest.raises(SamplerError, match="could not be certified"):
        sampler.perturbed_minimiser(problem, tilt, 1e-18)


ROWS = {"n": 2_000, "p": 4, "psi": 0.02, "radius": 2.0, "row_norm": 1.0}
plan_of = by_settings(plan_objective_perturbation)


def table(n=2_000, d=3):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (n, d))
    return X, X[:, 0] + 0.2 * rng.standard_normal(n)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("most", [0.5, math.inf])
def test_the_price_of_a_draw_is_that_of_slope_and_determinant(loss, draws, most):
    """2S/(ns) + J for the minimiser, and a fiftieth for what the solver is off, k times.

    The slope of a squared loss is the steepest within the ball's largest score.
    """
    norm = math.hypot(0.6, 1.0)
    shape = {"n": 2_000, "p": 3, "psi": 0.0, "radius": 2.0, "row_norm": norm}
    planned = plan_of(**shape, epsilon=4.0, loss=loss, n_draws=draws, slope_bound=most)
    steepest, bend = (1.0, 0.25) if loss == "logistic" else (1 + 2 * norm, 1.0)
    jump = math.log1p(bend * norm**2 / (2_000 * planned.details.added_ridge))
    kept = 2 * norm * min(most, steepest) / (2_000 * planned.details.linear_noise)
    assert kept + jump == pytest.approx(0.98 * 4.0 / draws, rel=1e-6)
    assert 2 * planned.details.solver / planned.details.output_noise == pytest.approx(
        0.02 * 4.0 / draws, rel=1e-6
    )
    assert planned.eta * draws == pytest.approx(4.0, rel=1e-6)
    assert planned.guarantee.epsilon(0.0) <= 4.0


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_price_of_a_gaussian_draw_is_that_of_its_order_or_length(draws, loss):
    """δ of the minimiser for 49 parts of 50, and of the noise on it for one, k times."""
    asked = {"epsilon": 3.0, "delta": 1e-5, "n_draws": draws, "gaussian": True, "slope_bound": 0.5}
    planned = plan_of(**ROWS, **asked, loss=loss)
    bend = 0.25 if loss == "logistic" else 1.0
    jump = math.log1p(bend / (2_000 * planned.details.added_ridge))
    ratio = 2 * 0.5 / (2_000 * planned.details.linear_noise)
    kept = 0.98 * 3.0 / draws - jump
    tails = 1 if loss == "logistic" else 2
    assert perturbed_delta(ratio, kept, jump, tails) <= 0.98 * 1e-5 / draws
    assert perturbed_delta(1.001 * ratio, kept, jump, tails) > 0.98 * 1e-5 / draws
    hidden = gdp_delta(
        2 * planned.details.solver / planned.details.output_noise, 0.02 * 3.0 / draws
    )
    assert hidden <= 0.02 * 1e-5 / draws
    assert planned.guarantee.epsilon(1e-5) <= 3.0 < planned.guarantee.epsilon(0.9e-5)
    assert "at δ = 1e-05" in explain(planned)


def test_noise_is_gaussian_where_that_promises_more_and_has_a_price():
    many = {**ROWS, "p": 60, "epsilon": 1.0, "delta": 1e-6}
    best = plan_of(**many)
    pure = plan_of(**many, gaussian=False)
    assert best.details.gaussian and best.comparison_excess < pure.comparison_excess / 1.5
    assert not plan_of(**{**ROWS, "p": 2}, epsilon=1.0, delta=1e-6).details.gaussian
    assert not plan_of(**many, ledger="zcdp").details.gaussian
    assert plan_of(**many, loss=SoftmaxLoss(3)).details.gaussian
    several = {"loss": SoftmaxLoss(3), "n_draws": 5}
    assert not plan_of(**{**many, **several}).details.gaussian
    for priceless in ({"delta": 0.0}, {"ledger": "zcdp"}, several):
        with pytest.raises(ValueError, match="omit gaussian=True"):
            plan_of(**{**many, **priceless}, gaussian=True)


@pytest.mark.parametrize("ledger", [True, 8.0])
@pytest.mark.parametrize("n_draws", [1, 5])
def test_in_a_ledger_it_costs_what_zcdp_of_its_price_does(ledger, n_draws):
    many = {**ROWS, "p": 60, "epsilon": 1.0, "delta": 1e-6, "n_draws": n_draws}
    planned = plan_of(**many, ledger=ledger)
    order = filter_order(1.0, 1e-6)  # of its own ε in every ledger
    told = planned.guarantee.renyi(order)
    assert 1 - 1e-6 < told / (order * zcdp_rho(1.0, 1e-6)) <= 1
    assert planned.details.gaussian and planned.guarantee.epsilon(1e-6) <= 1.0
    assert str(planned.guarantee).startswith("ε = 1 at δ = 1e-6 (Rényi DP), objective")
    alone = plan_of(**many, gaussian=True)
    ratio = alone.details.linear_noise / planned.details.linear_noise
    assert ratio > (0.9 if n_draws == 1 else 1.02)  # several draws add up as squares
    if n_draws > 1:
        with pytest.raises(ValueError, match="omit gaussian=True"):
            plan_of(**many, loss=SoftmaxLoss(3), gaussian=True, ledger=ledger)


def test_in_a_ledger_the_noise_follows_from_its_order():
    """The tilt, by hand: J + au²/2 + log g in what a fiftieth for the solver leaves."""
    own = (22.014, 0.536)  # the order of its ε, not of a larger budget
    assert cost_at_order(1.0, 1e-6, True) == pytest.approx(own, abs=1e-3)
    assert cost_at_order(1.0, 1e-6, 1e3) == cost_at_order(1.0, 1e-6, True)
    assert cost_at_order(1.0, 1e-6, 8.0) == cost_at_order(1.0, 1e-6, True)
    assert cost_at_order(1.0, 1e-6, "zcdp") is None and cost_at_order(1.0, 0.0, True) is None
    order, price = cost_at_order(1.0, 1e-6, 8.0)
    planned = plan_of(**ROWS, epsilon=1.0, delta=1e-6, ledger=8.0)
    slope = min(planned.details.slope_bound, 1.0)
    ratio = 2 * slope * ROWS["row_norm"] / ROWS["n"] / planned.details.linear_noise
    curve = planned.guarantee.curve
    assert curve.ratio == pytest.approx(ratio, rel=1e-9)
    assert replace(curve, mu=0.0).renyi(order) == pytest.approx(0.98 * price, rel=1e-6)
    assert curve.mu == pytest.approx(
        2 * planned.details.solver / planned.details.output_noise, rel=1e-9
    )
    assert order * curve.mu**2 / 2 == pytest.approx(0.02 * price, rel=1e-6)


def test_the_promise_by_hand():
    planned = plan_of(**ROWS, epsilon=3.0, slope_bound=math.inf)
    own, square = planned.details.added_ridge, 4 * 5 * planned.details.linear_noise**2
    by_hand = (own**2 * 4 + square) / (4 * own)
    steepest = 1 / (1 + math.exp(-2)) + own * 2
    near = (
        steepest * planned.details.solver + (0.25 + own) / 2 * 20 * planned.details.output_noise**2
    )
    kept_inside = steepest * (
        planned.details.output_noise + 20 * planned.details.output_noise**2 / 4
    )
    assert planned.comparison_excess == pytest.approx(by_hand + near + kept_inside, rel=1e-6)
    assert planned.excess_bound == planned.comparison_excess
    assert 1 - planned.excess_bound / 0.02 >= planned.hit_rate_bound > 0


def test_nothing_is_promised_of_the_loss_where_slopes_are_clipped():
    planned = plan_of(**{**ROWS, "n": 150}, epsilon=0.5)
    assert planned.details.slope_bound == 0.5 and math.isinf(planned.excess_bound)
    assert planned.hit_rate_bound == 0 and planned.hit_rate is None
    assert "the clipped loss exceeds" in explain(planned)
    weak = plan_of(**{**ROWS, "n": 30}, epsilon=0.1)
    assert "a model of zeros" in weak.weakness
    wide = {**ROWS, "n": 500_000, "psi": 0.3, "epsilon": 8.0}  # control: all slopes have a bound
    assert plan_of(**wide, slope_bound=math.inf).hit_rate_bound > 0.5
    assert plan_of(**wide, slope_bound=0.5).hit_rate_bound == 0
    many = plan_of(**{**ROWS, "n": 200_000}, epsilon=1.0)
    assert math.isinf(many.details.slope_bound) and many.hit_rate_bound > 0.85
    assert "of the draws are within" in explain(many)


@pytest.mark.parametrize("length", [0.2, 0.9, 1.0])
@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_leaves_the_ball_by_no_more_than_is_counted(length, gaussian):
    rng = np.random.default_rng(0)
    p, blur = 6, 0.05
    noise = rng.standard_normal((p, 40_000))
    lengths = np.linalg.norm(noise, axis=0)
    noise *= blur if gaussian else blur * rng.standard_gamma(p, 40_000) / lengths
    noise[0] += length
    beyond = np.maximum(np.linalg.norm(noise, axis=0) - 1, 0)
    most = _mean_projection_distance(p, blur, 1.0, gaussian=gaussian)
    assert beyond.mean() <= most
    assert length < 1 or beyond.mean() > 0.5 * most


@pytest.mark.parametrize("most", [0.5, math.inf])
@pytest.mark.parametrize("gaussian", [False, True])
def test_excess_is_within_the_promise(most, gaussian):
    X, y = table()
    planned = plan_of(**ROWS, epsilon=1.0, delta=1e-5, slope_bound=most, gaussian=gaussian)
    problem = Problem(X, np.sign(y), radius=2.0, intercept=True, row_norm=0.5)
    planned = planned.with_numbers(row_norm=problem.row_bound)
    target = GibbsTarget.of(problem, planned)
    batches = sampler.ObjectivePerturbation().batches(target, planned, np.random.default_rng(0))
    models = np.hstack([next(batches).theta for _ in range(60)])
    loss = ClippedLogisticLoss(0.5) if most == 0.5 else problem.loss
    followed = sampler.SurrogateProblem(problem, loss, 0.0)
    assert np.mean(followed.value(models)) - followed.minimum.value <= planned.comparison_excess


ODD = {
    "all alike": lambda rng: (np.full((60, 3), 0.5), np.r_[1, -np.ones(59)]),
    "separable": lambda rng: (np.linspace(-1, 1, 300)[:, None], np.repeat([-1.0, 1.0], 150)),
    "two rows": lambda rng: (np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])),
    "wide": lambda rng: (rng.uniform(-0.1, 0.1, (50, 90)), rng.choice([-1.0, 1.0], 50)),
    "zeros": lambda rng: (np.zeros((40, 2)), rng.choice([-1.0, 1.0], 40)),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("epsilon", [pytest.param(0.01, marks=pytest.mark.law), 50.0])
def test_draws_come_on_odd_tables(name, epsilon):
    X, y = ODD[name](np.random.default_rng(1))
    settings = {"mechanism": "objective_perturbation", "delta": 0.0, "random_state": 0}
    clf = RashomonClassifier(epsilon=epsilon, classes=[-1, 1], **settings)
    assert np.isfinite(clf.fit(X, y.astype(int)).encoded_coef_).all()


def on_zeros(gaussian, radius):
    """A plan, and draws for rows of zeros."""
    asked = {"epsilon": 1.0, "delta": 1e-5, "slope_bound": math.inf, "gaussian": gaussian}
    planned = plan_of(**{**ROWS, "radius": radius}, **asked)
    problem = Problem(np.zeros((2_000, 4)), np.ones(2_000), radius=radius, intercept=False)
    target, rng = GibbsTarget.of(problem, planned), np.random.default_rng(0)
    return planned, sampler.ObjectivePerturbation().batches(target, planned, rng)


@pytest.mark.parametrize("gaussian", [False, True])
def test_rows_of_zeros_show_the_tilt_itself(gaussian):
    """θ = −b/m, and ‖b‖ is Gamma(p) times its scale, or Gaussian."""
    planned, batches = on_zeros(gaussian, radius=50.0)
    lengths = [
        np.linalg.norm(next(batches).theta) * planned.details.added_ridge for _ in range(100)
    ]
    expected = math.sqrt(9 * math.pi / 8) if gaussian else 4
    assert np.mean(lengths) == pytest.approx(expected * planned.details.linear_noise, rel=0.2)


@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_on_the_minimiser_is_independent_of_the_tilt(gaussian, monkeypatch):
    """The solver's error is hidden by noise of its own: no angle and no length is shared."""
    tilts = []

    def at_zero(problem, tilt, solver):
        tilts.append(tilt)
        return np.zeros(4)

    monkeypatch.setattr(objective_perturbation, "perturbed_minimiser", at_zero)
    planned, batches = on_zeros(gaussian, radius=2.0)
    blurs = np.array([next(batches).theta[:, 0] for _ in range(1_000)])
    assert_independent(
        np.array(tilts) / planned.details.linear_noise, blurs / planned.details.output_noise
    )


def assert_independent(tilts, blurs):
    """Both have the same spread; cosines and products of lengths are those of independent ones."""
    lengths = [np.linalg.norm(noise, axis=1) for noise in (tilts, blurs)]
    assert lengths[0].mean() == pytest.approx(lengths[1].mean(), rel=0.1)
    cosines = (tilts * blurs).sum(axis=1) / (lengths[0] * lengths[1])
    assert abs(cosines.mean()) < 5 * 0.5 / math.sqrt(1_000)  # variance 1/p of uniform directions
    assert cosines.std() == pytest.approx(0.5, rel=0.15)
    assert abs(np.corrcoef(*lengths)[0, 1]) < 5 / math.sqrt(1_000)


def test_noise_that_is_used_twice_is_not_independent():
    """Negative control: a multiple of the tilt, either way round."""
    tilts = np.random.default_rng(0).standard_normal((1_000, 4))
    for blurs in (tilts, -tilts, np.abs(tilts)):
        with pytest.raises(AssertionError):
            assert_independent(tilts, blurs)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_candidate_ridge_has_a_smaller_bound(delta, monkeypatch):
    public = {"n": 1_087, "p": 3, "radius": 1.0, "loss": "squared", "delta": delta}
    request = request_of(**public, ridge=0.01, epsilon=4.79)
    form = {"slope_bound": math.inf, "gaussian": delta > 0}
    chosen = plan_objective_perturbation(request, **form).details.added_ridge
    bounds = {}

    def recorded(constants, *rest, **settings):
        planned = plan_one(constants, *rest, **settings)
        if planned is not None:
            bounds[constants.m] = planned.excess
        return planned

    plan_one = accounting.plan_perturbed_objective
    monkeypatch.setattr(accounting, "plan_perturbed_objective", recorded)
    for multiple in perturbation_plan._RIDGES:
        monkeypatch.setattr(perturbation_plan, "_RIDGES", (multiple,))
        plan_objective_perturbation(request, **form)
    assert len(bounds) > 3 and chosen == pytest.approx(min(bounds, key=bounds.get))
