"""Fits are as near as they are certified to be, and derivatives are those of the function."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.penalties.landscape import MEAN, PenaltyBox
from rashomon_explorer.mechanisms.penalties.losses import MARGINS, PULL, THIRD, InnerProblem
from tests.mechanisms.penalties.made import Made, made

KINDS = pytest.mark.parametrize("kind", MARGINS)


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


def test_the_hypergradient_of_one_ridge_penalty_by_hand():
    """y = c/(s + λ), Φ = ½(y − 1)², so that Φ' = (y − 1)·(−λc/(s + λ)²) in log λ."""
    one = np.ones((1, 1)), np.ones(1)
    landscape = Made("ridge", one, one, PenaltyBox((0,), 0.25, 1.0)).landscape
    expected = (1 / 1.5 - 1) * -0.5 / 1.5**2
    assert landscape.gradient(np.zeros(1))[0] == pytest.approx(expected, rel=1e-12)
