"""The least ψ that flips a label, against the models between two labels; a set's own problem."""

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.measures import declared_problem, exact_flips, flip_psi
from rashomon_explorer.measures.ranges import set_problem
from rashomon_explorer.problem.problem import Problem


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.9, 0.9, 60)
    y = np.where(x + 0.2 + rng.normal(0, 0.5, 60) > 0, 1.0, -1.0)
    return Problem(x[:, None], y, radius=3.0)


def brute_force(problem, x):
    """Least excess of the models between the two labels: convexity puts the least one there."""
    slopes = np.linspace(-3, 3, 20_001)
    theta = np.array([slopes, -x * slopes])
    theta = theta[:, problem.domain.contains(theta)]
    return problem.value(theta).min() - problem.minimum.value


@pytest.mark.parametrize("x", [-0.8, -0.25, 0.6])
def test_no_model_within_the_lower_end_flips_and_one_within_the_upper_does(problem, x):
    found = flip_psi(problem, [x], tolerance=0.05)
    assert found.upper <= 1.051 * found.lower
    assert found.lower <= brute_force(problem, x) <= found.upper * (1 + 1e-6)
    assert not exact_flips(problem, found.lower, [[x]])["flips"].item()
    assert exact_flips(problem, found.upper, [[x]])["flips"].item()


def test_who_stands_on_the_line_flips_at_once(problem):
    slope, intercept = problem.minimum.theta
    found = flip_psi(problem, [-intercept / slope])
    assert found.lower == 0 and found.upper < 1e-6


@pytest.mark.parametrize(
    ("x", "tolerance", "words"), [([[0.1]], 0.01, "one person"), ([0.1], 0.0, "tolerance")]
)
def test_what_is_no_person_or_tolerance_is_refused(problem, x, tolerance, words):
    with pytest.raises(ValueError, match=words):
        flip_psi(problem, x, tolerance=tolerance)


def test_a_regression_knows_no_labels():
    squared = Problem([[0.5], [-0.5]], [0.5, -0.5], loss="squared")
    with pytest.raises(TypeError, match="classification"):
        flip_psi(squared, [0.1])


@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_the_problem_of_a_set_is_that_of_its_estimator(kind):
    X, y = [[0.9, 0.1], [0.6, 0.3], [-0.7, 0.1], [-0.5, -0.2]] * 50, [1, 1, 0, 0] * 50
    sized = {"target_bounds": (0.0, 1.0)} if kind is RashomonRegressor else {}
    fitted = kind(n_draws=2, epsilon=80.0, random_state=0, **sized).fit(X, y)
    models = fitted.rashomon_set_
    own, known = set_problem(models, X, y), declared_problem(fitted, X, y)
    theta = models.coef.T
    np.testing.assert_array_equal(own.value(theta), known.value(theta))
    np.testing.assert_allclose(own.value(theta), models.losses, rtol=1e-5)
    with pytest.raises(ValueError, match="rows"):
        set_problem(models, X[:7], y[:7])
    assert set_problem(models, X[:7], y[:7], resampled=True).n == 7
    with pytest.raises(TypeError, match="linear draws"):
        set_problem(fitted, X, y)
