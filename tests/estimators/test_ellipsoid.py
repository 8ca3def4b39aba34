"""``mechanism="ellipsoid"`` from a table to a release: one payment, and what follows from it."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import BudgetExceededError, SamplerError, WeakGuaranteeWarning
from rashomon_explorer.measures.ranges import (
    exact_coefficient_ranges,
    released_flips,
    released_ranges,
)
from rashomon_explorer.mechanisms.ellipsoid.plan import EllipsoidPlan
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.report import curator_report, release_report
from rashomon_explorer.sets import RashomonSet, ReleasedSet

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (6_000, 3))
SCORE = X @ [2.0, -1.0, 0.0]
Y = (SCORE + 0.3 * RNG.standard_normal(6_000) > 0).astype(int)
SETTINGS = {"mechanism": "ellipsoid", "psi": 0.05, "ridge": 0.05, "radius": 4.0, "n_draws": 50}


@pytest.fixture(scope="module")
def fitted():
    return RashomonClassifier(**SETTINGS, random_state=0).fit(X, Y)


def test_a_fit_draws_what_its_plan_says(fitted):
    models = fitted.rashomon_set_
    assert isinstance(fitted.plan_, EllipsoidPlan) and models.coef.shape == (50, 4)
    assert fitted.guarantee_.epsilon(1e-6) <= 1.0 and fitted.guarantee_.seeded
    assert models.hit_rate > 0.9
    assert models.ellipsoid.height(models.coef.T).max() <= models.ellipsoid.level * 1.001
    assert "≥" not in repr(fitted).split("fitted")[1]


def test_a_regressor_and_three_classes_draw_too():
    reg = RashomonRegressor(**SETTINGS).fit(X, np.clip(SCORE, -1, 1))
    assert reg.rashomon_set_.hit_rate > 0.9
    assert released_ranges(reg.rashomon_set_, X[:4]).shape == (4, 3)
    with pytest.raises(TypeError, match="released_ranges"):
        released_flips(reg.rashomon_set_, X[:4])
    three = RashomonClassifier(**SETTINGS, epsilon=4.0).fit(X, np.digitize(SCORE, [-0.5, 0.5]))
    models = three.rashomon_set_
    assert models.hit_rate > 0.9 and released_ranges(models, X[:4]).shape == (8, 3)
    assert released_flips(models, X)["label"].nunique() >= 2


@pytest.mark.parametrize("count", [1, 500])
def test_a_ledger_is_charged_once_whatever_the_number_of_draws(count: int, tmp_path: Path):
    path = tmp_path / "table.ledger"
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6)
    settings = {**SETTINGS, "n_draws": count, "classes": [0, 1]}
    clf = RashomonClassifier(**settings, ledger=path).fit(X, Y)
    assert 0.99 < ledger.spent() <= 1.0
    assert clf.guarantee_.notion == "gdp" and not clf.guarantee_.seeded
    with pytest.raises(BudgetExceededError):
        clone(clf).fit(X, Y)


def test_nothing_is_read_or_charged_where_the_ellipsoid_cannot_be(tmp_path: Path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0)
    with pytest.raises(SamplerError, match="needs delta > 0"):
        RashomonClassifier(**SETTINGS, delta=0.0, ledger=ledger, classes=[0, 1]).fit(X, Y)
    assert ledger.spent() == 0


def test_a_small_table_is_warned_of_before_its_charge():
    with pytest.warns(WeakGuaranteeWarning, match="centre of all draws"):
        RashomonClassifier(**SETTINGS).fit(X[:200], Y[:200])


def test_copies_hold_the_ellipsoid(fitted, tmp_path: Path):
    models = fitted.rashomon_set_
    models.save(tmp_path / "set.npz")
    models.release().save(tmp_path / "release.npz")
    copies = [
        pickle.loads(pickle.dumps(fitted)).rashomon_set_,
        RashomonSet.load(tmp_path / "set.npz"),
        ReleasedSet.load(tmp_path / "release.npz"),
    ]
    wanted = released_ranges(models)
    for copy in copies:
        assert released_ranges(copy).equals(wanted)
        assert copy.plan == models.plan and copy.ellipsoid.level == models.ellipsoid.level


def test_ranges_hold_all_draws_and_are_near_the_exact_ones(fitted):
    models = fitted.rashomon_set_.release()
    table = released_ranges(models)
    assert list(table.index) == [*models.feature_names]
    assert (models.coef >= table["low"].to_numpy() - 1e-6).all()
    assert (models.coef <= table["high"].to_numpy() + 1e-6).all()
    problem = Problem(X, 2 * Y - 1, ridge=0.05)
    exact = exact_coefficient_ranges(problem, 0.05)
    width = (exact["high"] - exact["low"]).to_numpy()
    assert (table["high"] - table["low"]).to_numpy() / width == pytest.approx(1, abs=0.35)
    scores = released_ranges(models, X[:50])
    margins = models.margins(X[:50])
    assert (margins >= scores["low"].to_numpy() - 1e-5).all()
    assert (margins <= scores["high"].to_numpy() + 1e-5).all()
    flips = released_flips(models, X[:50])
    crosses = (scores["low"] < 0) & (scores["high"] > 0)
    assert (flips["flips"] == crosses).all() and 0 < crosses.mean() < 1
    assert table.attrs["view"] == "from the released ellipsoid: no further privacy cost"


def test_a_choice_by_private_rows_takes_the_mark_off(fitted):
    chosen = fitted.rashomon_set_.inside()
    assert "not private" in released_ranges(chosen).attrs["view"]


def test_other_draws_have_no_ellipsoid():
    models = RashomonClassifier(epsilon=50.0, n_draws=3).fit(X[:200], Y[:200]).rashomon_set_
    with pytest.raises(ValueError, match="no ellipsoid was released"):
        released_ranges(models)


def test_a_report_says_what_the_ellipsoid_promises(fitted, tmp_path: Path):
    problem = Problem(X, 2 * Y - 1, ridge=0.05)
    curator_report(fitted.rashomon_set_, tmp_path / "own.html", problem=problem)
    release_report(fitted.rashomon_set_.release(), tmp_path / "public.html")
    told = (tmp_path / "public.html").read_text(encoding="utf-8")
    assert "cost no more" in told and "ellipsoid" in told
