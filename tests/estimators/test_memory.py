"""What a fit holds beside the rows it is given."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.problem import Problem

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    rows = np.random.default_rng(0).uniform(-0.3, 0.3, (20_000, 40))
    return rows, (rows[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    "settings",
    [
        {"mechanism": "objective_perturbation", "standardize": "private"},
        {"mechanism": "ellipsoid"},
        {"mechanism": "langevin_clipped"},
    ],
    ids=["tilt", "ellipsoid", "gradients"],
)
def test_a_fit_holds_the_rows_once_more_and_not_twice(table: Any, settings: Any) -> None:
    X, y = table
    fixed = {"epsilon": 0.1, "delta": 1e-6, "radius": 2.0, "ridge": 0.01, "n_draws": 1}
    model = RashomonClassifier(**fixed, row_norm=2.0, random_state=0, **settings)
    model.fit(X[:1500], y[:1500])  # what is loaded the first time
    model.plan(*X.shape)
    tracemalloc.start()
    try:
        model.fit(X, y)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held < 1.6 * X.nbytes


@pytest.mark.parametrize("loss", ["logistic", "hinge", "smoothed_hinge"])
def test_rows_with_labels_folded_in_are_seen_as_they_were(table: Any, loss: str) -> None:
    X, y = table[0][:300], 2.0 * table[1][:300] - 1
    given = X.copy()
    problem, theta = Problem(given, y, loss=loss, row_norm=2.0), np.linspace(-1, 1, 41)[:, None]
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(problem.rows, np.column_stack([X, np.ones(300)]))
    plain = get_loss(loss).empirical(problem.rows, y)
    np.testing.assert_array_equal(problem.value(theta), plain.value(theta))
    parts = problem.batches(3, np.random.default_rng(0))
    assert np.mean([part.value(theta) for part in parts]) == pytest.approx(plain.value(theta)[0])
    other = get_loss("squared").empirical(problem.rows, y)
    np.testing.assert_array_equal(
        problem.of_loss(get_loss("squared")).value(theta), other.value(theta)
    )
