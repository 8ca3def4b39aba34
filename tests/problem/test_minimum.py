"""The certified minimum of every loss on every domain, against independent solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import LOSSES, get_loss
from rashomon_explorer.problem.minimisation import certify, minimise
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed

RADIUS = 1.5
DOMAINS = ["ball", "intersection"]
KINKED = ["absolute", "hinge"]


def make_domain(name, p, radius=RADIUS):
    body = Shifted(Ball(radius), (radius / 2, *(0.0,) * (p - 1)))
    return {"ball": Ball(radius), "intersection": Intersection(body, Ball(0.6 * radius))}[name]


def make_problem(loss, domain, seed=0, n=80, d=2, radius=RADIUS, **settings):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X @ rng.standard_normal(d) + 0.3
    made = get_loss(loss)
    y = np.clip(score / 2 + 0.3 * rng.standard_normal(n), -1, 1)
    if made.task == "classification":
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * score)), 1, -1)
    if made.task == "multiclass":
        y = np.digitize(score + rng.standard_normal(n), [-0.5, 0.5])
    domain = make_domain(domain, (d + 1) * made.outputs, radius)
    return Problem(X, y, loss=made, domain=domain, row_norm=1.2, **settings)


def constraints(domain):
    """The domain as inequalities for a general solver."""
    if isinstance(domain, Ball):
        return [{"type": "ineq", "fun": lambda x: domain.radius**2 - x @ x}]
    if isinstance(domain, Shifted):
        (body,) = constraints(domain.body)
        centre = np.array(domain.centre)
        return [{"type": "ineq", "fun": lambda x: body["fun"](x + centre)}]
    return constraints(domain.body) + constraints(domain.ball)


def by_slsqp(problem):
    def value(theta):
        losses, gradients = problem.value_and_gradient(theta[:, None])
        return losses[0], gradients[:, 0]

    found = minimize(
        value,
        np.full(problem.p, 1e-3),
        jac=True,
        method="SLSQP",
        constraints=constraints(problem.domain),
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.fun


@crossed({"loss": sorted(set(LOSSES) - set(KINKED)), "domain": DOMAINS, "ridge": [0.0, 0.05]})
def test_smooth_minima_agree_with_a_general_solver(loss, domain, ridge):
    problem = make_problem(loss, domain, ridge=ridge)
    assert problem.minimum.value == pytest.approx(by_slsqp(problem), abs=1e-7)
    theta = problem.minimum.theta[:, None]
    np.testing.assert_allclose(problem.domain.project(theta), theta, atol=1e-9)


def by_linear_programme(problem):
    """Unconstrained minimum of a loss with kinks: min mean(ξ) with ξ above both lines."""
    risk = problem._objective.loss
    n, p = risk.rows.shape
    # θ = positive − negative part, then ξ.
    rows = np.hstack([risk.rows, -risk.rows])
    above = [
        np.hstack([slope * rows, -np.eye(n)]) for slope in (risk.function.low, risk.function.high)
    ]
    limits = [-slope * risk.offsets[:, 0] for slope in (risk.function.low, risk.function.high)]
    cost = np.concatenate([np.zeros(2 * p), np.full(n, 1 / n)])
    found = linprog(
        cost,
        A_ub=np.vstack(above),
        b_ub=np.concatenate(limits),
        bounds=[(0, None)] * (2 * p) + [(None, None)] * n,
        method="highs",
    )
    assert found.status == 0
    assert np.linalg.norm(found.x[:p] - found.x[p : 2 * p]) < problem.domain.radius
    return found.fun


@pytest.mark.parametrize("loss", KINKED)
def test_minima_with_kinks_agree_with_a_linear_programme(loss):
    problem = make_problem(loss, "ball", d=4, radius=20.0)
    truth, minimum = by_linear_programme(problem), problem.minimum
    assert -1e-9 <= minimum.value - truth <= minimum.gap + 1e-9
    assert minimum.gap <= problem.constants.gap_tolerance == 1e-3 * problem.osc


@crossed({"loss": KINKED, "domain": DOMAINS, "ridge": [0.0, 0.3]})
def test_every_dual_point_is_a_lower_bound(loss, domain, ridge):
    """Also the poor ones, far from the minimum: what they leave open is in their gap."""
    problem = make_problem(loss, domain, ridge=ridge)
    risk = problem._objective.loss
    rng = np.random.default_rng(3)
    models = problem.domain.uniform(problem.p, 40, rng)
    values = problem.value(models)
    for theta, value in zip(models.T, values, strict=True):
        found = certify(risk, ridge, problem.domain, theta, smoothing=10.0 ** rng.uniform(-3, 1))
        assert found.value == pytest.approx(value)
        assert found.value - found.gap <= problem.minimum.value + 1e-12


ANY = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    radius=st.floats(0.1, 20),
    ridge=st.sampled_from([0.0, 1e-6, 0.2]),
)


@crossed({"loss": sorted(LOSSES), "domain": DOMAINS})
@ANY
@settings(max_examples=3)
def test_no_model_of_the_domain_lies_below_the_minimum_by_more_than_the_gap(
    loss, domain, seed, n, radius, ridge
):
    no_model_lies_below(loss, domain, seed, n, radius, ridge)


@pytest.mark.law
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("domain", DOMAINS)
@ANY
@settings(max_examples=30)
def test_nor_of_ten_times_as_many_problems(loss, domain, seed, n, radius, ridge):
    no_model_lies_below(loss, domain, seed, n, radius, ridge)


def no_model_lies_below(loss, domain, seed, n, radius, ridge):
    problem = make_problem(loss, domain, seed=seed, n=n, radius=radius, ridge=ridge)
    rng = np.random.default_rng(seed)
    minimum = problem.minimum
    assert minimum.gap <= problem.constants.gap_tolerance
    near = minimum.theta[:, None] + rng.standard_normal((problem.p, 100)) * 10.0 ** rng.uniform(
        -6, 1, 100
    )
    values = problem.value(problem.domain.project(near))
    assert values.min() >= minimum.value - minimum.gap - 1e-13
    if not isinstance(problem.domain, Ball):
        assert (minimum.multiplier, minimum.slack) == (0.0, minimum.gap)
        assert not minimum.on_boundary


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_collinear_and_constant_columns_are_no_obstacle(loss):
    problem = make_problem(loss, "ball")
    rows = np.column_stack([np.ones(50), np.ones(50), np.zeros(50)]) / 3
    targets = np.resize(problem.loss.labels or (0.5, -0.2), 50)
    for domain in (Ball(2.0), Intersection(Ball(3.0), Ball(2.0))):
        again = Problem(rows, targets, loss=loss, domain=domain)
        assert again.minimum.gap <= again.constants.gap_tolerance


def test_a_gap_that_cannot_be_reached_is_said():
    problem = make_problem("logistic", "intersection")
    with pytest.raises(SamplerError, match=r"to a duality gap of 0.00e\+00: add some ridge"):
        minimise(problem._objective, problem.domain, 0.0)


def test_a_larger_domain_is_caught_by_the_certificate():
    """Negative control: the minimum over the body alone is not certified on the intersection."""
    problem = make_problem("logistic", "intersection", radius=0.5)
    wide = minimise(problem._objective, problem.domain.body, 1e-6)
    gradient = problem.value_and_gradient(wide.theta[:, None])[1]
    support = problem.domain.support(-gradient)
    assert wide.value < problem.minimum.value - 100 * problem.minimum.gap
    assert gradient[:, 0] @ wide.theta + support[0] < 0  # impossible for a member


@pytest.mark.parametrize("seed", [310, 340, 430])
def test_a_loss_without_curvature_on_its_way_has_a_certified_minimum(seed):
    """Newton meets places without a row on the parabola: found at random, they ended in brentq."""
    rng = np.random.default_rng(seed)
    n, d, radius = int(rng.integers(2, 8)), int(rng.integers(1, 4)), 10 ** rng.uniform(-1, 1.3)
    X, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    problem = Problem(X, y, loss="smoothed_hinge", radius=radius, intercept=False)
    assert problem.minimum.gap <= problem.constants.gap_tolerance
