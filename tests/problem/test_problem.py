"""The problem: certified minima, clipping, constants by brute force, thresholds, bad rows."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from sklearn.linear_model import LogisticRegression

from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import LOSSES, SoftmaxLoss, get_loss
from rashomon_explorer.problem.minimisation import certify, minimise
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import (
    THRESHOLDS,
    GaussianThreshold,
    HardThreshold,
    NoThreshold,
    SmoothThreshold,
    get_threshold,
)
from tests.crossing import crossed


def simulated(n=300, p=4, scale=2.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) / np.sqrt(p)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-X @ (scale * rng.standard_normal(p)))), 1, -1)
    return X, y


def test_the_intercept_is_the_last_parameter():
    X, y = simulated()
    with_column = Problem(np.column_stack([X, np.ones(len(X))]), y, row_norm=9.0, intercept=False)
    with_intercept = Problem(X, y, row_norm=9.0)
    np.testing.assert_allclose(with_column.minimum.theta, with_intercept.minimum.theta, atol=1e-8)


def test_rows_are_shortened_to_the_norm_and_keep_their_direction():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((200, 3)) * rng.exponential(1.0, (200, 1))
    clipped, share = clip_rows(rows, 1.0)
    norm = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(np.linalg.norm(clipped, axis=1), np.minimum(norm, 1.0))
    np.testing.assert_allclose(clipped * norm[:, None], rows * np.minimum(norm, 1.0)[:, None])
    assert share == np.mean(norm > 1)
    huge, _ = clip_rows(np.array([[1e300, 0.0], [1e200, 1e200]]), 1.0)
    np.testing.assert_allclose(np.linalg.norm(huge, axis=1), 1.0)
    # A norm beyond the doubles, and entries that are subnormal.
    ends, share = clip_rows(np.array([[1.7e308] * 4, [5e-324] * 4, [-1e160, 1e160, 0, 0]]), 1.0)
    half = 0.5**0.5
    np.testing.assert_allclose(ends, [[0.5] * 4, [5e-324] * 4, [-half, half, 0, 0]])
    assert share == 2 / 3
    for n in (4_095, 4_096, 4_097, 12_289):  # some thousand at a time, and the last of them, too
        rows = np.full((n, 3), 2.0)
        clipped, share = clip_rows(rows, 1.0)
        assert np.linalg.norm(clipped, axis=1).max() <= 1 + 4e-16
        assert share == 1.0 and (rows == 2.0).all()


@pytest.mark.parametrize("row_norm", [1e-3, 1.0, 7.0])
@pytest.mark.parametrize("above", [1e-3, 1e-6, 1e-8, 1e-11, 1e-14])
def test_rows_that_are_longer_by_next_to_nothing_are_clipped(above, row_norm):
    rows = np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -1.0]]) * row_norm * (1 + above)
    clipped, _ = clip_rows(rows, row_norm)
    assert np.linalg.norm(clipped, axis=1).max() <= row_norm * (1 + 4e-16)


def test_constants_are_public_functions_of_the_settings():
    X, y = simulated(n=100)
    other = Problem(-X, -y, radius=3.0, row_norm=0.5, ridge=0.1)
    problem = Problem(X, y, radius=3.0, row_norm=0.5, ridge=0.1)
    assert problem.constants == other.constants
    bound = np.sqrt(0.5**2 + 1)
    assert problem.osc == pytest.approx(2 * 3.0 * bound / 100)
    assert problem.M == pytest.approx(bound**2 / 4 + 0.1)
    assert problem.m == 0.1
    assert problem.L == pytest.approx(bound / (1 + np.exp(-3.0 * bound)) + 0.3)


def test_a_domain_takes_the_place_of_the_ball():
    X, y = simulated(n=50)
    assert Problem(X, y).domain == Ball(4.0)
    assert Problem(X, y, radius=2.0).domain == Ball(2.0)
    lens = Intersection(Shifted(Ball(5.0), (1.0, 2.0, 0.0, 0.5, 0.0)), Ball(4.0))
    problem, around = (Problem(X, y, domain=one, ridge=0.1) for one in (lens, Ball(lens.radius)))
    assert problem.domain == lens and problem.constants == around.constants
    with pytest.raises(ValueError, match="domain has 3 parameters, got p=5"):
        Problem(X, y, domain=Intersection(Shifted(Ball(1.0), (0.1, 0.0, 0.0)), Ball(1.0)))


def test_several_classes_have_parameters_each():
    X, _ = simulated(n=60)
    y = np.arange(60) % 4
    problem = Problem(X, y, loss=SoftmaxLoss(4))
    assert problem.p == 3 * 5
    assert problem.value(np.zeros((15, 2))) == pytest.approx(np.log(4))
    peer = LogisticRegression(C=1 / (0.05 * 60), tol=1e-10, fit_intercept=False)
    held = Problem(X, y, loss=SoftmaxLoss(4), intercept=False, row_norm=9.0, ridge=0.05, radius=50)
    # The reference class is not penalised, so that only the loss can be compared.
    expected = peer.fit(X, y).coef_
    apart = (expected - expected[0])[1:].reshape(-1, 1)
    assert held.minimum.value <= held.value(apart)[0] + 1e-12


RADII = st.floats(0.1, 4)
NORMS = st.floats(0.1, 2)
RIDGES = st.sampled_from([0.0, 0.7])
LOSS = st.sampled_from(["logistic", "squared", "hinge", "smoothed_hinge", "absolute"])


def unit_circle(points):
    angle = np.linspace(0, 2 * np.pi, points, endpoint=False)
    return np.array([np.cos(angle), np.sin(angle)])


def disc(radius):
    return np.hstack([radius * share * unit_circle(36) for share in (0.0, 0.3, 0.7, 1.0)])


@given(LOSS, RADII, NORMS, RIDGES, st.integers(1, 4))
def test_no_replacement_of_a_record_moves_the_loss_by_more(loss, radius, norm, ridge, n):
    constants = Constants.from_loss(
        loss, n=n, p=2, domain=Ball(radius), row_bound=norm, ridge=ridge
    )
    theta = disc(radius)
    rows = np.hstack([norm * unit_circle(12), 0.5 * norm * unit_circle(4)]).T
    labelled = get_loss(loss).task == "classification"
    targets = (-1.0, 1.0) if labelled else (-1.0, 0.2, 1.0)
    own = {"loss": loss, "radius": radius, "row_norm": norm, "ridge": ridge, "intercept": False}
    values = [
        Problem([*[rows[0]] * (n - 1), row], [*[1.0] * (n - 1), target], **own).value(theta)
        for row, target in itertools.product(rows, targets)
    ]
    spans = [float(np.ptp(a - b)) for a, b in itertools.combinations(values, 2)]
    assert max(spans) <= constants.osc * (1 + 1e-9)
    if labelled or radius * norm <= 1:
        assert max(spans) >= constants.osc * (1 - 1e-9)  # opposite rows attain it
    else:
        assert max(spans) >= constants.osc * 0.8


def test_the_whole_row_has_the_intercepts_one():
    assert row_bound(0.75, intercept=True) == 1.25
    assert row_bound(0.75, intercept=False) == 0.75
    with pytest.raises(ValueError, match="row_norm"):
        row_bound(-1.0, intercept=True)


V = np.linspace(-0.1, 0.3, 4001)


@pytest.mark.parametrize("name", sorted(set(THRESHOLDS) - {"gaussian"}))
def test_every_shape_is_0_inside_rises_at_most_as_the_loss_and_is_convex(name):
    shape = get_threshold(name, psi=0.04)
    energy, slope = shape.energy(V), shape.slope(V)
    assert (energy[V <= 0] == 0).all() and (slope[V < 0] == 0).all()
    steps = np.diff(energy) / np.diff(V)
    assert (steps >= 0).all() and (steps <= 1 + 1e-12).all()
    assert (np.diff(steps) >= -1e-9).all()
    numeric = (shape.energy(V + 1e-7) - shape.energy(V - 1e-7)) / 2e-7
    away = np.abs(V) > 1e-6
    np.testing.assert_allclose(slope[away], numeric[away], atol=1e-5)


@given(
    x=st.floats(0, 1),
    y=st.floats(0, 1),
    low=st.floats(-0.2, 0.2),
    width=st.floats(0, 0.3),
    t=st.floats(0, 1),
    u=st.floats(0, 1),
)
def test_no_shape_widens_the_interval_between_neighbours(x, y, low, width, t, u):
    """y + energy(x − y − ψ) moves within [a, b] when x and y do: the price knows no shape."""
    moved_x, moved_y = x + low + t * width, y + low + u * width
    for shape in (HardThreshold(), SmoothThreshold(0.05)):
        before = y + shape.energy(np.array([x - y - 0.02]))[0]
        after = moved_y + shape.energy(np.array([moved_x - moved_y - 0.02]))[0]
        assert low - 1e-12 <= after - before <= low + width + 1e-12


def test_the_smooth_shape_is_within_half_its_width_of_the_hard_one():
    gap = HardThreshold().energy(V) - SmoothThreshold(0.04).energy(V)
    assert gap.min() >= 0 and gap.max() == pytest.approx(0.02)


@pytest.mark.parametrize("threshold", ["hard", HardThreshold()])
def test_nothing_is_thresholded_at_psi_0(threshold):
    shape = get_threshold(threshold, 0.0)
    assert isinstance(shape, NoThreshold)
    np.testing.assert_array_equal(shape.energy(V), np.maximum(V, 0))
    assert (shape.slope(V) == 1).all()


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

    how = {"method": "SLSQP", "options": {"maxiter": 500, "ftol": 1e-14}}
    how |= {"constraints": constraints(problem.domain), "jac": True}
    return minimize(value, np.full(problem.p, 1e-3), **how).fun


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


@pytest.mark.law
@crossed({"loss": sorted(LOSSES), "domain": DOMAINS})
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    radius=st.floats(0.1, 20),
    ridge=st.sampled_from([0.0, 1e-6, 0.2]),
)
@settings(max_examples=20)
def test_no_model_of_the_domain_lies_below_the_minimum_by_more_than_the_gap(
    loss, domain, seed, n, radius, ridge
):
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


def test_a_gap_that_cannot_be_reached_is_said():
    problem = make_problem("logistic", "intersection")
    with pytest.raises(SamplerError, match=r"to a duality gap of 0.00e\+00: add some ridge"):
        minimise(problem._objective, problem.domain, 0.0)


@pytest.mark.parametrize("loss", ["logistic", "softmax", "smoothed_hinge"])
def test_the_minimum_of_many_rows_starts_on_a_sample_and_is_the_same(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.4, 0.4, (20_000, 4))
    signs = np.sort(np.where(X[:, 0] + 0.2 * rng.standard_normal(len(X)) > 0, 1.0, -1.0))
    problem = Problem(X, (signs > 0) * 1.0 if loss == "softmax" else signs, loss=loss, ridge=1e-4)
    from_zero = minimise(problem.objective, problem.domain, problem.constants.gap_tolerance)
    hessians, hessian = [], type(problem.objective).hessian
    monkeypatch.setattr(
        type(problem.objective),
        "hessian",
        lambda objective, theta: hessians.append(objective.loss.n) or hessian(objective, theta),
    )
    assert problem.minimum.gap <= problem.constants.gap_tolerance
    assert problem.minimum.theta == pytest.approx(from_zero.theta, abs=1e-6)
    assert hessians.count(20_000) <= 3 and set(hessians) == {20_000, 1_250}


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


def constants(**changed):
    good = {"loss": "logistic", "n": 10, "p": 2, "domain": Ball(1.0), "row_bound": 1.0}
    return Constants.from_loss(**{**good, **changed})


def of_two(y=(1, -1), X=((1.0,), (2.0,)), **settings):
    return Problem(X, y, **settings)


COUNT, FORM = "must be a whole number, at least 1", "no closed form: draw from it with a Langevin"
GAUSSIAN = get_threshold("gaussian", 0.1)


@pytest.mark.parametrize(
    ("call", "changed", "message"),
    [
        *((of_two, {"X": X}, "rows and columns") for X in (np.empty((0, 2)), [[], []], [1.0, 2.0])),
        (of_two, {"y": [1]}, "one target per row"),
        (of_two, {"X": [[1.0], [np.nan]]}, r"X holds NaN or infinity at \(1, 0\)"),
        (of_two, {"y": [1, np.inf]}, r"y holds NaN or infinity at \(1,\)"),
        *((of_two, {"y": [0, 1], "loss": one}, r"−1 or \+1") for one in ("logistic", "hinge")),
        *(
            (of_two, {"y": [0, y], "loss": "softmax"}, f"from 0 to 2 .* got {y:g}")
            for y in (3, 0.5)
        ),
        (of_two, {"row_norm": -1.0}, "row_norm must be finite and > 0"),
        (constants, {"n": 0}, COUNT),
        (constants, {"row_bound": 1e110, "domain": Ball(1e-60)}, "could be as long as 1e.110"),
        (constants, {"row_bound": 1e-60, "domain": Ball(1e110)}, "could be as long as 1e.110"),
        (constants, {"loss": "zero_one"}, "loss must be one of"),
        (
            constants,
            {"loss": "softmax", "p": 5},
            "multiple of the loss's 2 scores per row, got p=5",
        ),
        (get_threshold, {"threshold": "soft", "psi": 0.1}, r"one of \['gaussian', .*got 'soft'"),
        (get_threshold, {"threshold": "smooth", "psi": 0.0}, "width must be finite and > 0"),
        (GaussianThreshold, {"scale": -1.0}, "scale must be finite and > 0"),
        (GaussianThreshold, {"n_samples": 0}, f"n_samples {COUNT}"),
        *((partial(call, V), {}, FORM) for call in (GAUSSIAN.energy, GAUSSIAN.slope)),
        *(
            (of_two().value, {"theta": np.zeros(shape)}, r"one model per column, shape \(2, K\)")
            for shape in ((2,), (3, 1), (1, 2, 2))
        ),
    ],
)
def test_what_is_no_problem_is_refused(call, changed, message):
    with pytest.raises((ValueError, SamplerError), match=message):
        call(**changed)
