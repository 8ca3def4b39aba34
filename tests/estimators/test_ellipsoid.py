"""Ellipsoids from a table to a release: one privacy cost, and what follows from it."""

from typing import Any

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.measures import ranges
from rashomon_explorer.problem.problem import Problem

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (6_000, 3))
SCORE = X @ [2.0, -1.0, 0.0]
Y = (SCORE + 0.3 * RNG.standard_normal(6_000) > 0).astype(int)
SETTINGS: dict[str, Any] = {"psi": 0.05, "ridge": 0.05, "radius": 4.0, "n_draws": 20}
MECHANISMS = ["ellipsoid"]


@pytest.fixture(scope="module")
def every():
    models = (RashomonClassifier(mechanism=m, **SETTINGS, random_state=0) for m in MECHANISMS)
    return {model.mechanism: model.fit(X, Y) for model in models}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_draws_lie_in_the_released_ellipsoid_and_hit(mechanism, every):
    fitted = every[mechanism]
    models = fitted.rashomon_set_
    assert 0.99 < fitted.guarantee_.epsilon(1e-6) <= 1.0 and models.hit_rate > 0.9
    assert models.ellipsoid.height(models.coef.T).max() <= models.ellipsoid.level * 1.001
    assert not any("did not give up" in one for one in fitted.guarantee_.assumptions)
    reg = RashomonRegressor(target_bounds=(-1, 1), mechanism=mechanism, **SETTINGS).fit(
        X, np.clip(SCORE, -1, 1)
    )
    assert reg.rashomon_set_.hit_rate > 0.9
    with pytest.raises(TypeError, match="released_ranges"):
        ranges.released_flips(reg.rashomon_set_, X[:4])


def test_ranges_hold_all_draws_and_are_near_the_exact_ones(every):
    models = every["ellipsoid"].rashomon_set_.release()
    table = ranges.released_ranges(models)
    assert list(table.index) == [*models.feature_names]
    assert (models.coef >= table["low"].to_numpy() - 1e-6).all()
    assert (models.coef <= table["high"].to_numpy() + 1e-6).all()
    exact = ranges.exact_coefficient_ranges(Problem(X, 2 * Y - 1, ridge=0.05), 0.05)
    width = (exact["high"] - exact["low"]).to_numpy()
    assert (table["high"] - table["low"]).to_numpy() / width == pytest.approx(1, abs=0.35)
    scores, margins = ranges.released_ranges(models, X[:50]), models.margins(X[:50])
    assert (margins >= scores["low"].to_numpy() - 1e-5).all()
    assert (margins <= scores["high"].to_numpy() + 1e-5).all()
    crosses = (scores["low"] < 0) & (scores["high"] > 0)
    assert (ranges.released_flips(models, X[:50])["flips"] == crosses).all()
    assert 0 < crosses.mean() < 1
    assert table.attrs["view"] == "from the released ellipsoid: no further privacy cost"
    private = ranges.released_ranges(every["ellipsoid"].rashomon_set_.inside())
    assert "not private" in private.attrs["view"]


def test_three_classes_have_ranges_and_other_draws_have_none():
    three = RashomonClassifier(mechanism="ellipsoid", **SETTINGS, epsilon=4.0)
    models = three.fit(X, np.digitize(SCORE, [-0.5, 0.5])).rashomon_set_
    assert models.hit_rate > 0.9 and ranges.released_ranges(models, X[:4]).shape == (8, 3)
    assert ranges.released_flips(models, X)["label"].nunique() >= 2
    models = RashomonClassifier(epsilon=50.0, n_draws=3).fit(X[:200], Y[:200]).rashomon_set_
    with pytest.raises(ValueError, match="no ellipsoid was released"):
        ranges.released_ranges(models)
