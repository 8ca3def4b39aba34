"""Audits of models without a convex objective: refits, and several models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import audit
from tests.audits.conftest import WORDS


@pytest.fixture(scope="module")
def fitted(people):
    X, y = people
    X = X.fillna({"age": 40.0}).drop(columns="crew")
    codes = make_column_transformer((OrdinalEncoder(), WORDS), remainder="passthrough")
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=10, random_state=0)
    return make_pipeline(codes, tree).fit(X, y), X, y


@pytest.fixture(scope="module")
def found(fitted, people):
    model, X, y = fitted
    groups = people[0]["crew"]
    return audit(model, X, y, groups=groups, tolerance=0.5, n_models=5, random_state=0)


@pytest.mark.slow
def test_every_number_is_marked_as_a_lower_bound(found):
    assert found.kind == "sampled" and found.problem is None
    for table in (found.flips, found.groups, found.gaps, found.importance, found.reliance):
        assert table.attrs["mark"] == "sampled: at least"
    assert "at least" in repr(found) and "proved for every" not in repr(found)
    assert set(found.summary()["known"]) <= {"sampled: at least", "measured", "count", "chosen"}
    assert "sampled, at least" in found._repr_html_() and ".coefficients" not in repr(found)
    with pytest.raises(TypeError, match="no common coefficients"):
        _ = found.coefficients


def test_numbers_are_those_of_the_models(found, fitted):
    model, X, _ = fitted
    models = found.models.models
    labels = np.empty((len(models), len(X)), dtype=object)
    chances = np.empty(labels.shape)
    for place, fits in enumerate(models.fits):
        for fold, fit in enumerate(fits):
            held_out = models.folds == fold
            labels[place, held_out] = fit.predict(X[held_out])
            chances[place, held_out] = fit.predict_proba(X[held_out])[:, 1]
    own = model.predict(X)
    flips = found.flips
    assert (flips["label"] == own).all() and 0 < flips["flips"].mean() < 1
    assert np.allclose(flips["conflict_ratio"], (labels != own).mean(axis=0))
    assert (flips["flips"] == (labels != own).any(axis=0)).all()
    assert (np.isfinite(flips["psi_high"]) == flips["flips"]).all()
    assert (flips["decided"] == flips["flips"]).all()
    ranges = found.scores(X)
    assert np.allclose(ranges["high"], np.maximum(chances.max(axis=0), ranges["fitted"]))
    assert np.allclose(ranges["fitted"], model.predict_proba(X)[:, 1])
    settled = found.decide_or_abstain(X)
    agreed = settled.notna()
    assert 0 < agreed.sum() < len(X) and not flips["flips"][agreed].any()
    assert (settled[agreed] == own[agreed]).all()


def test_report_json_and_figures_come_with_it(found, tmp_path):
    text = found.report(tmp_path / "a.html", interactive=False).read_text(encoding="utf-8")
    assert "at least what is stated" in text and "no common coefficients" in text
    assert '"kind": "sampled"' in found.to_json()
    assert found.plot("people").data and found.plot("groups").data


def test_a_regression_forest_has_ranges(people):
    X, _ = people
    X = X[["age", "fare"]].fillna(40.0)
    y = 0.1 * X["fare"] + np.sin(np.arange(len(X)))
    model = RandomForestRegressor(5, min_samples_leaf=5, random_state=0).fit(X, y)
    found = audit(model, X, y, tolerance=1.0, n_models=6, random_state=0)
    table = found.scores(X)
    assert np.allclose(table["fitted"], model.predict(X)) and (table["low"] < table["high"]).any()
    assert "widest range" in found.summary().index
    drawn = found.answers.people()[["best", "drawn_low", "drawn_high"]]  # of the figure
    assert np.allclose(drawn.to_numpy(), found.person_ranges[["fitted", "low", "high"]])


def test_a_rare_level_that_stops_a_refit_is_named(people):
    X, y = people
    X = X.assign(port=np.where(np.arange(len(X)) == 7, "Z", X["port"]), age=40.0).drop(
        columns="crew"
    )
    codes = make_column_transformer((OrdinalEncoder(), WORDS), remainder="passthrough")
    model = make_pipeline(codes, DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match=r"part of the rows.*unknown categories.*handle_unknown"):
        audit(model, X, y)


@pytest.mark.slow
def test_several_models_give_the_flips_of_those_that_are_good(fitted):
    model, X, y = fitted
    other = make_pipeline(model[0], DecisionTreeClassifier(max_depth=3, random_state=1)).fit(X, y)
    several = audit({"a": model, "b": other}, X, y, tolerance=1.0)
    labels = np.stack([each.predict(X) for each in (model, other)])
    assert (several.flips["flips"] == (labels[0] != labels[1])).all()
    assert several.flips["flips"].any() and len(several.importance) == 4
    assert "rel" in several.plot("importance").layout.title.text
    assert several.plot("profile", feature="age").data


def test_a_list_of_which_one_model_is_good_says_that_nothing_was_compared(tmp_path):
    y = np.arange(60) % 2
    X = pd.DataFrame({"a": y + 0.1})
    good = [DecisionTreeClassifier(max_depth=depth).fit(X, y) for depth in (1, 2)]
    alone = audit([good[0], DummyClassifier().fit(X, y)], X, y, tolerance=1e-6)
    assert "nothing was compared: of 2 models only the best" in repr(alone)
    assert "100 %" not in repr(alone) and "nothing was compared" in alone._repr_html_()
    table = alone.summary()
    assert table.loc["good models", "value"] == 1
    assert table.loc["ambiguity", "known"] == "nothing was compared"
    assert "nothing was compared" in alone.report(tmp_path / "a.html").read_text()
    assert "nothing" not in repr(audit(good, X, y, tolerance=0.5))  # the control
