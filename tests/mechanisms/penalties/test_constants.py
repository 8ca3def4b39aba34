"""No record moves a landscape further than the constants say; fits and derivatives are exact."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties import BilevelConstants, PenaltyConstants
from rashomon_explorer.mechanisms.penalties.constants import MARGINS, PULL, THIRD
from rashomon_explorer.mechanisms.penalties.landscape import MEAN, InnerProblem
from rashomon_explorer.papers.constants import printed_bilevel_slope
from tests.mechanisms.penalties.made import corners, flipping, grid, made

KINDS = pytest.mark.parametrize("kind", MARGINS)


def moves(one, other):
    """Range of the difference of values, and largest difference of gradients and fits."""
    first, second = one.landscape, other.landscape
    points = grid(first, 3)
    found = {"range": float(np.ptp(first.value(points) - second.value(points)))}
    slopes, fits = [], []
    for x in points.T:
        slopes.append(np.linalg.norm(first.gradient(x) - second.gradient(x)))
        scale = np.sqrt(first.box.penalties(x[:, None])[:, 0])
        fits.append(np.linalg.norm(scale * (first.model(x).y - second.model(x).y)))
    return {**found, "slope": max(slopes), "fit": max(fits)}


@KINDS
@pytest.mark.parametrize("clip", [None, 0.3])
def test_no_corner_record_passes_the_bounds(kind, clip):
    one = made(kind, sizes=(2, 2), margin_bound=clip)
    known, records = one.constants, corners(2)[::5]
    for k, other in enumerate(one.neighbours(records)):
        found, train = moves(one, other), k < len(records)
        assert found["range"] <= (known.training_range if train else known.validation_range) + 1e-9
        assert found["fit"] <= (known.moved if train else 0) + 1e-9
        if clip is None:
            most = known.training_slope if train else known.validation_slope
            assert found["slope"] <= most * (1 + 1e-9)
            assert found["slope"] <= known.gradient_sensitivity * (1 + 1e-9)


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_fits_hold_on_corners(kind, seed):
    one = made(kind, sizes=(2, 2), seed=seed)
    known, landscape = one.constants, one.landscape
    for x in grid(landscape, 5).T:
        scaled = np.sqrt(landscape.box.penalties(x[:, None])[:, 0]) * landscape.model(x).y
        assert np.linalg.norm(scaled) <= math.sqrt(known.pull) + 1e-9
        assert np.linalg.norm(landscape.gradient(x)) <= known.slope
    assert np.ptp(landscape.value(grid(landscape, 5))) <= known.loss_range


@KINDS
def test_the_bound_of_a_fit_is_the_least(kind):
    """One row of the length at which its pull is largest: yᵀΛy = c."""
    known, penalty = PenaltyConstants(kind, 1.0, 0.1, 1.0, 10, 10), 0.1
    margin = 1 / 2 if kind == "ridge" else 1 + known.pull  # that of most pull
    steep = known.pull / margin  # |ℓ'| there
    length = math.sqrt(penalty * margin / steep)  # a²·|ℓ'| = λm
    inner = InnerProblem(np.array([[length]]), np.ones(1), kind)
    y = inner.solve(np.array([penalty]), 1e-12).y
    assert penalty * y[0] ** 2 == pytest.approx(known.pull, rel=1e-9)


def test_the_validation_side_is_attained():
    one, other = flipping(margin_bound=0.1)
    assert moves(one, other)["range"] == pytest.approx(one.constants.validation_range, rel=1e-9)


def test_constants_by_hand():
    known = PenaltyConstants("ridge", 2.0, 0.25, 4.0, n_train=10, n_val=5)
    # √(c/λ) = 1, M = 2, Lg = Lf = 2·3 = 6; in w: R²/λ = 16, e = 2·6/(½·10) = 2.4, v = 12.
    assert (known.fit_norm, known.reach, known.inner_slope, known.outer_slope) == (1, 2, 6, 6)
    assert (known.moved, known.slope) == pytest.approx((2.4, 6.0))
    assert known.validation_range == pytest.approx(9 / 5)
    assert known.training_range == pytest.approx(9.0)  # 4·36/(0.25·10) = 57.6 is more than 9
    assert known.training_slope == pytest.approx(2.4 * 12 + 0.5 * 12 * 1.6 + 0.5 * 16 * 2.4)
    assert known.validation_slope == pytest.approx(12 / 5)
    assert known.inexactness == pytest.approx(12 + 0.5 * 16)
    many = PenaltyConstants("ridge", 2.0, 0.25, 4.0, n_train=1000, n_val=1000)
    assert many.training_range == many.range == pytest.approx(4 * 36 / 250)
    assert many.charged_range == pytest.approx(many.range * (1 + 1e-5), rel=1e-12)
    few = PenaltyConstants("ridge", 2.0, 0.25, 4.0, n_train=1_000_000, n_val=10)
    assert few.range == few.validation_range


def test_constants_of_logistic_losses_by_hand():
    known = PenaltyConstants("logistic", 1.0, 1.0, 4.0, n_train=1000, n_val=10)
    root = math.sqrt(known.pull)
    likely = 1 / (1 + math.exp(-root))
    e, third = 2 * likely / 1000, 1 / (6 * math.sqrt(3))
    assert known.validation_range == pytest.approx(2 * root / 10)
    assert known.training_range == pytest.approx(4 * likely**2 / 1000)
    expected = e * likely + root * likely * (0.25 / 1000 + third * e) + root * 0.25 * e
    assert known.training_slope == pytest.approx(expected)
    assert known.inexactness == pytest.approx(likely * (1 + root * third) + root * 0.25)
    assert known.zero_loss == pytest.approx(math.log(2))


def test_what_does_not_exist_is_refused():
    known = PenaltyConstants("ridge", 1.0, 0.1, 1.0, 10, 10, margin_bound=1.0)
    for name in ("training_slope", "gradient_sensitivity", "inexactness"):
        with pytest.raises(ValueError, match="clips the validation loss"):
            getattr(known, name)
    assert "training_range" in repr(known) and "inexactness" not in repr(known)
    with pytest.raises(ValueError, match="estimator must be one of"):
        PenaltyConstants("lasso", 1.0, 0.1, 1.0, 10, 10)


@KINDS
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_an_inner_error_moves_values_and_gradients_as_little_as_promised(kind, tolerance):
    one = made(kind, sizes=(6, 6))
    known, landscape = one.constants, one.landscape
    for x in grid(landscape, 5).T:
        rough, fine = landscape.model(x, tolerance), landscape.model(x, 1e-12)
        slip = abs(landscape.outer.value(np.stack([rough.y, fine.y], 1)) @ [1.0, -1.0])
        assert slip <= known.outer_slope / math.sqrt(known.low) * tolerance
        gap = landscape.gradient(x, tolerance) - landscape.gradient(x, 1e-12)
        assert np.linalg.norm(gap) <= known.inexactness * rough.error + 1e-9


def test_general_constants_of_a_quadratic_problem_are_attained():
    """g = (μ/2)‖y − Ax − z‖², f = ½‖y − t‖²: everything has a closed form."""
    A, mu, n, rng = np.array([[1.0, 0.5], [0.0, 2.0]]), 2.0, 4, np.random.default_rng(0)
    size = float(np.linalg.norm(A, 2))
    # Gradients of records ‖z‖ ≤ 1 differ by 2μ: Lgy = μ suffices.
    known = BilevelConstants(mu=mu, f_y=3.0, g_y=mu, f_yy=1.0, g_xy=mu * size, g_yy=mu)
    z = rng.normal(size=(n, 2))
    z /= np.linalg.norm(z, axis=1)[:, None]
    other = np.vstack([-z[0], z[1:]])
    assert np.linalg.norm((z - other).mean(axis=0)) == pytest.approx(known.stability / n)
    moved = A.T @ (z - other).mean(axis=0)  # of the gradient Aᵀ(Ax + mean z − t)
    assert np.linalg.norm(moved) <= known.gradient_sensitivity / n
    assert known.smoothness == pytest.approx(float(np.linalg.norm(A.T @ A, 2)))


def test_general_constants_by_hand():
    known = BilevelConstants(
        mu=2.0, f_x=1.0, f_y=3.0, g_y=5.0, f_xx=7.0, f_xy=11.0, f_yy=13.0, g_xy=17.0, g_yy=19.0,
        g_xy_x=23.0, g_yy_x=29.0, g_xy_y=31.0, g_yy_y=37.0, diameter_x=0.5, diameter_y=41.0,
    )  # fmt: skip
    assert known.stability == 5.0
    assert known.slope == 1 + 17 * 3 / 2
    assert known.spread == 0.5 + 3 * 41 + 3 * 5 / 2
    assert known.inexactness == 11 + 13 * 17 / 2 + 3 * (31 / 2 + 37 * 17 / 4)
    assert known.gradient_sensitivity == 2 * (
        11 * 5 / 2 + 2 * 26.5 + 17 * 13 * 5 / 4 + 3 * 31 * 5 / 4 + 3 * 17 * 5 * 37 / 8
        + 3 * 19 * 17 / 4
    )  # fmt: skip
    assert known.smoothness == (
        7 + 2 * 11 * 17 / 2 + 17**2 * 13 / 4 + 3 * 17 / 4 * (29 + 37 * 17 / 2)
        + 3 * 31 * 17 / 4 + 3 * 23 / 2
    )  # fmt: skip
    assert known.range == 2 * (0.5 + 3 * 4.25) + 4 * 3 * 5 / 2


@pytest.mark.parametrize("kappa", [10.0, 100.0])
def test_the_scalar_hessian_instance(kappa):
    """g = zy²/2 − xy, f = y − x: K/n holds of ∇Φ, what is printed does not.

    y* = x/z̄, so that ∇Φ_Z − ∇Φ_Z' = 1/z̄ − 1/z̄', with z in [1, κ] and all others 1.
    """
    n = 10_000
    moved = abs(1 / (1 + (kappa - 1) / n) - 1)
    known = BilevelConstants(mu=1.0, f_x=1.0, f_y=1.0, g_y=kappa, g_xy=1.0, g_yy=kappa)
    printed = printed_bilevel_slope(
        outer_x=1.0, outer_y=1.0, inner_y=0.0, inner_xy=1.0, outer_xy=0.0, mu=1.0
    )
    assert moved <= known.gradient_sensitivity / n
    assert moved > 2 * printed / n


def problem(kind, n=40, p=4):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(n, p)) / 2
    return InnerProblem(rows, np.sign(rng.normal(size=n) + rows[:, 0]), kind)


@KINDS
def test_bounds_of_a_margin_are_the_least(kind):
    loss, fine = MARGINS[kind], np.linspace(-9, 9, 20_001)
    third = np.abs(np.diff(loss.function.curvature(fine)) / np.diff(fine)).max()
    assert third == pytest.approx(THIRD[kind], rel=1e-5, abs=1e-12)
    losses = [loss.row_losses(fine, np.full_like(fine, target)) for target in (-1.0, 1.0)]
    pulls = [-fine * np.gradient(one, fine) for one in losses]
    assert np.max(pulls) == pytest.approx(PULL[kind], rel=1e-4)


@KINDS
def test_fits_are_those_of_scikit_learn(kind):
    inner = problem(kind)
    known = {"fit_intercept": False, "tol": 1e-12}
    theirs = LogisticRegression(C=1 / (0.3 * inner.n), **known)
    if kind == "ridge":
        theirs = Ridge(alpha=0.3 * inner.n, solver="cholesky", **known)
    theirs.fit(inner.rows, inner.targets)
    found = inner.solve(np.full(4, 0.3), 1e-12).y
    np.testing.assert_allclose(found, theirs.coef_.ravel(), atol=1e-6)


@KINDS
@pytest.mark.parametrize("penalties", [[1e-3] * 4, [1e-3, 1.0, 10.0, 0.1]])
def test_the_certificate_is_at_least_the_true_error(kind, penalties):
    inner, known = problem(kind), np.array(penalties)
    best = inner.solve(known, 1e-12).y
    for tolerance in (0.3, 1e-2, 1e-5):
        found = inner.solve(known, tolerance)
        assert found.error <= tolerance
        assert np.linalg.norm(np.sqrt(known) * (found.y - best)) <= found.error * (1 + 1e-6)


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_steps_that_always_suffice_do(size):
    """Rows on one line, all of one label: far away the Hessian nearly vanishes."""
    rows = np.array([[size, 0.0], [size, 1.0]])
    inner = InnerProblem(rows, np.array([1.0, -1.0]), "logistic")
    assert inner.solve(np.full(2, 1e-4), 1e-8).error <= 1e-8


@pytest.mark.slow
def test_an_uncertified_fit_is_refused():
    with pytest.raises(SamplerError, match="did not converge: its error is"):
        problem("logistic").solve(np.full(4, 0.1), 1e-30)


@KINDS
@pytest.mark.parametrize("groups", [(0, 0, -1), (0, 1, -1), (0, 1, 2), (0, 1, MEAN)])
def test_the_hypergradient_is_that_of_the_function(kind, groups):
    landscape = made(kind, groups, sizes=(6, 5)).landscape
    rng = np.random.default_rng(2)
    for x in rng.uniform(-0.8, 0.8, size=(3, landscape.p)) * landscape.domain.radius:
        for j, exact in enumerate(landscape.gradient(x, 1e-13)):
            assert exact == pytest.approx(_slope(landscape, x, j), abs=1e-9)


def _slope(landscape, x, j, step=1e-2):
    """Sixth-order difference quotient along axis j."""
    weights = {1: 45, 2: -9, 3: 1}
    rise = 0.0
    for far, weight in weights.items():
        ends = x[:, None] + np.eye(len(x))[:, [j]] * np.array([far, -far]) * step
        ahead, behind = landscape.value(ends)
        rise += weight * (ahead - behind)
    return rise / (60 * step)
