"""Memory of a fit beside the rows that it is given."""

import tracemalloc

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.problem import Problem

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).uniform(-0.3, 0.3, (20_000, 40))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "objective_perturbation", "standardize": "private"},
        {"mechanism": "ellipsoid"},
        {"mechanism": "langevin_clipped"},
    ],
    ids=["objective perturbation", "ellipsoid", "gradients"],
)
def test_a_fit_holds_the_rows_once_more_and_not_twice(settings):
    fixed = {"epsilon": 0.1, "radius": 2.0, "ridge": 0.01, "n_draws": 1, "row_norm": 2.0}
    model = RashomonClassifier(**fixed, random_state=0, **settings)
    model.fit(X[:1500], Y[:1500])  # what is loaded the first time
    model.plan(*X.shape)
    tracemalloc.start()
    try:
        model.fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.6 * X.nbytes


@pytest.mark.parametrize("loss", ["logistic", "hinge", "smoothed_hinge"])
def test_rows_with_labels_folded_in_are_seen_as_they_were(loss):
    rows, y = X[:300].copy(), 2.0 * Y[:300] - 1
    problem, theta = Problem(rows, y, loss=loss, row_norm=2.0), np.linspace(-1, 1, 41)[:, None]
    np.testing.assert_array_equal(rows, X[:300])
    np.testing.assert_array_equal(problem.rows, np.column_stack([rows, np.ones(300)]))
    plain = get_loss(loss).empirical(problem.rows, y)
    np.testing.assert_array_equal(problem.value(theta), plain.value(theta))
    parts = problem.batches(3, np.random.default_rng(0))
    assert np.mean([part.value(theta) for part in parts]) == pytest.approx(plain.value(theta)[0])
    squared = get_loss("squared")
    other = squared.empirical(problem.rows, y).value(theta)
    np.testing.assert_array_equal(problem.mean_loss(squared).value(theta), other)
