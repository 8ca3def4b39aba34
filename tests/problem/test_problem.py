"""The problem: certified minima, clipping, constants and bad rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem


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


TWO = [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("X", "y", "settings", "message"),
    [
        (np.empty((0, 2)), [], {}, "rows and columns"),
        (np.empty((2, 0)), [1, -1], {}, "rows and columns"),
        ([1.0, 2.0], [1, -1], {}, "rows and columns"),
        (TWO, [1], {}, "one target per row"),
        ([[1.0], [np.nan]], [1, -1], {}, r"X holds NaN or infinity at \(1, 0\)"),
        (TWO, [1, np.inf], {}, r"y holds NaN or infinity at \(1,\)"),
        *((TWO, [0, 1], {"loss": one}, "−1 or \\+1") for one in ("logistic", "smoothed_hinge")),
        *(
            (TWO, [0, y], {"loss": "softmax"}, f"from 0 to 2 .* got {y:g}")
            for y in (3.0, -1.0, 0.5)
        ),
        (TWO, [1, -1], {"row_norm": -1.0}, "row_norm must be finite and > 0"),
    ],
)
def test_what_is_no_problem_is_refused(X, y, settings, message):
    with pytest.raises(ValueError, match=message):
        Problem(X, y, **settings)
    for shape in ((2,), (3, 1), (1, 2, 2)):
        with pytest.raises(ValueError, match=r"one model per column, shape \(2, K\)"):
            Problem(TWO, [1, -1]).value(np.zeros(shape))


def test_a_domain_takes_the_place_of_the_ball():
    X, y = simulated(n=50)
    assert Problem(X, y).domain == Ball(4.0)
    assert Problem(X, y, radius=2.0).domain == Ball(2.0)
    both = Intersection(Ball(3.0), Ball(2.0))
    problem = Problem(X, y, domain=both, ridge=0.1)
    assert problem.domain == both
    assert problem.constants == Problem(X, y, radius=2.0, ridge=0.1).constants
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
