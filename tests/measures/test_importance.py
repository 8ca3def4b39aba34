"""Importance and spread against explicit loops."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor, RashomonSet
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures import coefficient_spread, importance_spread, permutation_importance

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (60, 3))
LABELS = (X[:, 0] + 0.2 * RNG.standard_normal(60) > 0).astype(int)
TARGETS = np.clip(X[:, 0] - 0.5 * X[:, 1], -1, 1)


@pytest.fixture(scope="module")
def classifiers() -> RashomonSet:
    return RashomonClassifier(n_draws=4, epsilon=50.0, random_state=0).fit(X, LABELS).rashomon_set_


@pytest.fixture(scope="module")
def regressions() -> RashomonSet:
    model = RashomonRegressor(n_draws=4, epsilon=50.0, target_bounds=(-2, 6), random_state=0)
    return model.fit(X, 2 + 4 * TARGETS).rashomon_set_


def one_loss(models: RashomonSet, draw: int, rows: FloatArray, y: FloatArray) -> float:
    """Loss of one model, from its coefficients alone; no row here exceeds the row norm."""
    total = 0.0
    for row, target in zip(rows, y, strict=True):
        score = float(models.coef[draw, :-1] @ row + models.coef[draw, -1])
        if models.link == "logistic":
            total += math.log1p(math.exp(-score if target == 1 else score))
        else:
            low, high = models.target_bounds
            total += ((low + high) / 2 + score * (high - low) / 2 - target) ** 2 / 2
    return total / len(y)


@pytest.mark.parametrize("kind", ["classifiers", "regressions"])
def test_importance_is_the_mean_rise_over_shuffles(
    kind: str, request: pytest.FixtureRequest
) -> None:
    models = request.getfixturevalue(kind)
    y = LABELS.astype(float) if kind == "classifiers" else 2 + 4 * TARGETS
    shuffles = np.random.RandomState(7)
    expected = np.zeros((models.n_draws, 3))
    for _ in range(2):
        order = shuffles.permutation(len(X))
        for draw in range(models.n_draws):
            for feature in range(3):
                moved = X.copy()
                moved[:, feature] = X[order, feature]
                rise = one_loss(models, draw, moved, y) - one_loss(models, draw, X, y)
                expected[draw, feature] += rise / 2
    got = permutation_importance(models, X, y, n_repeats=2, random_state=7)
    assert np.allclose(got, expected, rtol=0, atol=1e-12)


def with_coef(models: RashomonSet, coef: list[list[float]]) -> RashomonSet:
    return replace(models, coef=np.array(coef), losses=np.zeros(len(coef)))


def test_a_feature_without_weight_has_no_importance(classifiers: RashomonSet) -> None:
    models = with_coef(classifiers, [[2.0, 0.0, -1.0, 0.3], [0.0, 1.0, 0.0, 0.0]])
    importance = permutation_importance(models, X, LABELS, random_state=0)
    assert importance[0, 1] == importance[1, 0] == importance[1, 2] == 0.0
    assert (importance != 0).sum() == 3


def test_a_confident_mistake_costs_its_margin(classifiers: RashomonSet) -> None:
    """A probability would have rounded to 0 or 1 long before: no loss is cut off."""
    models = with_coef(classifiers, [[4000.0, 0.0, 0.0, 0.0]])
    rows = np.array([[0.5, 0, 0], [-0.5, 0, 0]])
    rise = permutation_importance(models, rows, [1, 0], n_repeats=64, random_state=0)[0, 0]
    share = rise / 2000.0
    assert share == pytest.approx(round(share * 64) / 64)
    assert 0.2 < share < 0.8


def test_the_same_shuffles_serve_every_model(classifiers: RashomonSet) -> None:
    models = with_coef(classifiers, [[2.0, 1.0, 0.0, 0.0]] * 3)
    importance = permutation_importance(models, X, LABELS, random_state=3)
    assert (importance == importance[0]).all()


def test_a_seed_repeats_and_none_does_not(classifiers: RashomonSet) -> None:
    one, again, other = (
        permutation_importance(classifiers, X, LABELS, random_state=seed) for seed in (1, 1, None)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_released_draws_have_the_same_importance(classifiers: RashomonSet) -> None:
    curator = permutation_importance(classifiers, X, LABELS, random_state=1)
    public = permutation_importance(classifiers.release(), X, LABELS, random_state=1)
    assert np.array_equal(curator, public)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_repeats": 0}, "n_repeats must be a whole number, at least 1"),
        ({"X": X[:, :2]}, r"X must have shape \(n_rows, 3\), got \(60, 2\)"),
        ({"X": X[:5]}, "one target per row"),
        ({"X": X[0]}, "one target per row"),
        ({"X": X[:0], "y": []}, "at least one row"),
        ({"y": LABELS + 1}, r"labels \[0, 1\] of the models, got 2"),
        ({"X": np.where(X > 0.4, np.nan, X)}, "X and y must be finite"),
        ({"y": np.where(LABELS == 1, np.nan, 0.0)}, "X and y must be finite"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    classifiers: RashomonSet, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        permutation_importance(classifiers, **{"X": X, "y": LABELS, **change})


def test_coefficient_spread_by_hand(classifiers: RashomonSet) -> None:
    table = coefficient_spread(classifiers)
    assert list(table.index) == ["x0", "x1", "x2", "intercept"]
    assert table.index.name == "feature"
    for place, name in enumerate(table.index):
        values = np.sort(classifiers.coef[:, place])
        assert table.loc[name, "min"] == values[0]
        assert table.loc[name, "max"] == values[-1]
        assert table.loc[name, "median"] == pytest.approx((values[1] + values[2]) / 2)
        assert table.loc[name, "q05"] == pytest.approx(0.85 * values[0] + 0.15 * values[1])
        assert table.loc[name, "q95"] == pytest.approx(0.15 * values[2] + 0.85 * values[3])
        assert table.loc[name, "best"] == classifiers.best[place]


def test_a_release_has_no_best_column(classifiers: RashomonSet) -> None:
    public = coefficient_spread(classifiers.release())
    assert public.equals(coefficient_spread(classifiers).drop(columns="best"))


def test_one_model_spreads_nowhere() -> None:
    table = importance_spread([[0.5, -1.0]], ["age", "income"])
    assert (table.nunique(axis=1) == 1).all()
    assert list(table["median"]) == [0.5, -1.0]


@pytest.mark.parametrize(
    ("values", "names", "message"),
    [
        ([[0.1, 0.2]], ["age"], "1 names for 2 features"),
        ([0.1, 0.2], ["age", "income"], "importances must have shape"),
        ([[0.1, math.nan]], ["age", "income"], "importances holds NaN"),
    ],
)
def test_a_spread_of_nothing_is_refused(values: Any, names: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        importance_spread(values, names)
