"""Sampled audits: labels out of sample, the model's own labels, and switches of the table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rashomon_explorer import audit
from rashomon_explorer._utils.formatting import number
from rashomon_explorer.audits.refits import CrossFittedModels, KnownRows, fold_numbers
from rashomon_explorer.audits.sampled import sample_models
from rashomon_explorer.audits.summary import _rate
from rashomon_explorer.measures import permutation_importance as permutation_losses
from rashomon_explorer.sets import from_estimators


def noisy(n=300, seed=0):
    """Labels that five columns hardly explain: a forest remembers them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        rng.normal(size=(n, 5)), columns=list("abcde"), index=[f"p{i}" for i in range(n)]
    )
    chance = 1 / (1 + np.exp(-0.8 * X["a"]))
    return X, pd.Series(np.where(rng.random(n) < chance, "yes", "no"), X.index, name="again")


def table(n=160, seed=0):
    rng = np.random.default_rng(seed)
    home = rng.choice(["own", "rent", "free"], n)
    X = pd.DataFrame({"age": rng.normal(size=n), "home": home, "noise": rng.normal(size=n)})
    return X, (X["age"] + (rng.random(n) < 0.2) > 0).astype(int)


def encoded(encoder, model):
    steps = ((encoder, ["home"]), (StandardScaler(), ["noise", "age"]))
    return make_pipeline(make_column_transformer(*steps), model)


@pytest.fixture(scope="module")
def remembered():
    """A forest that remembers its rows, and its audit by teams."""
    X, y = noisy()
    team = pd.Series(np.where(X["b"] > 0, "one", "two"), X.index, name="team")
    forest = RandomForestClassifier(6, random_state=0).fit(X, y)
    return audit(forest, X, y, n_models=4, groups=team, wanted="no", random_state=0), forest, X, y


def test_every_label_is_out_of_sample_and_the_share_in_sample_is_smaller(remembered):
    found, forest, X, _ = remembered
    models, own = found.models.models, forest.predict(X)
    assert isinstance(models, CrossFittedModels)
    seen, unseen = np.zeros(len(X), bool), np.zeros(len(X), bool)
    for fits in models.fits:
        for fold, fit in enumerate(fits):
            other = fit.predict(X) != own
            unseen |= other & (models.folds == fold)
            seen |= other & (models.folds == (fold + 1) % 4)
    assert (found.flips["flips"] == unseen).all()
    assert found.summary().loc["ambiguity", "value"] == unseen.mean()
    assert seen.mean() < 0.6 * unseen.mean()  # the control: rows that the fits remember
    refitted = found.inputs.model.labels(found.models[0].labels(X)[0])
    assert found.answers.own_flips == (refitted != own).sum() > 30


def test_the_summary_tells_rows_that_were_seen_from_rows_that_were_not(remembered):
    found, forest, X, y = remembered
    models, values, team = found.models.models, found.summary()["value"], found.inputs.groups
    own = np.empty(len(X), dtype=object)
    scores = np.empty((len(models.fits), len(X)))
    for fold in range(4):
        held_out = models.folds == fold
        own[held_out] = models.fits[0][fold].predict(X[held_out])
        for place, fits in enumerate(models.fits):
            scores[place, held_out] = fits[fold].predict_proba(X[held_out])[:, 0]
    assert values["cross-fitted accuracy"] == (own == y).mean() < values["accuracy"] - 0.2
    assert values["cross-fitted AUC"] == pytest.approx(roc_auc_score(y == "no", scores[0]))
    assert f"accuracy {(own == y).mean():.3g} cross-fitted" in repr(found)
    assert f"on the rows of its fit accuracy {(forest.predict(X) == y).mean():.3g}" in repr(found)
    refused = models.labels(X) == found.inputs.model.classes.index("no")
    rates = {name: refused[:, (team == name).to_numpy()].mean(axis=1) for name in ("one", "two")}
    for ends in (rates["one"], rates["one"] - rates["two"]):
        assert f"without these people: {_rate(ends.min())} to {_rate(ends.max())}" in repr(found)


def test_a_regression_states_r2_of_rows_that_it_did_not_see():
    X, _ = noisy(120)
    target = X["a"] + X["b"]
    tree = DecisionTreeRegressor(random_state=0).fit(X, target)
    found = audit(tree, X, target, n_models=3, random_state=0)
    values, own = found.summary()["value"], found.models.models.held_out_scores[0]
    assert values["R²"] == 1 and values["cross-fitted R²"] == pytest.approx(r2_score(target, own))
    assert f"R² {number(r2_score(target, own))} cross-fitted" in repr(found)


@pytest.mark.law
def test_new_people_flip_as_often_as_those_of_the_fit_do_out_of_sample():
    X, y = noisy(1200)
    fit, new = X.iloc[:400], X.iloc[400:]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(fit, y.iloc[:400])
    found = audit(tree, fit, y.iloc[:400], n_models=15, random_state=0)
    shares = [
        (found.models.labels(rows) != (tree.predict(rows) == "yes")).mean() for rows in (fit, new)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.04)


@pytest.mark.slow
def test_a_person_gets_the_same_answer_alone_reordered_and_in_the_table():
    X, y = table()
    model = encoded(OrdinalEncoder(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    found = audit(model, X, y, n_models=4, random_state=0, tolerance=0.5)
    whole = found.models.labels(X)
    some = [7, 3, 150]
    assert (found.models.labels(X.iloc[some]) == whole[:, some]).all()
    assert (found.models.scores(X.iloc[::-1]) == found.models.scores(X)[:, ::-1]).all()
    new = X.assign(age=X["age"] + 1e-6)
    first = np.stack([fits[0].predict(new) for fits in found.models.models.fits])
    assert (found.models.labels(new) == first).all()
    mixed = pd.concat([new.iloc[:2], X.iloc[:2]])
    assert (found.models.labels(mixed) == np.hstack([first[:, :2], whole[:, :2]])).all()
    assert found.scores(X.iloc[some]).equals(found.person_ranges.iloc[some])


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_models_of_arrays_find_the_columns_of_the_table_by_name():
    X, y = noisy(90)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X.to_numpy(), y)
    models = audit(tree, X, y, n_models=3, tolerance=2.0, random_state=0).models
    for rows in (X, X + 1e-6):
        assert (models.labels(rows[list("edcba")]) == models.labels(rows)).all()


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"a": [1, 2, None], "b": pd.Categorical(["x", "01", None])}),
        np.array([[1, "x"], [2, "1"], [2, "01"]], dtype=object),
        ["one text", "another", "a third"],
    ],
)
def test_rows_are_recognised_by_value(rows):
    known = KnownRows.from_table(rows)
    assert known.positions(rows).tolist() == [0, 1, 2]
    first = rows.iloc[[1]] if isinstance(rows, pd.DataFrame) else rows[1:2]
    assert known.positions(first).tolist() == [1]
    if isinstance(rows, pd.DataFrame):
        assert known.positions(rows.assign(a=rows["a"].astype("Int64"))).tolist() == [0, 1, 2]
        assert known.positions(rows.assign(a=5)).tolist() == [-1, -1, -1]


def test_folds_hold_each_row_once_and_every_class_of_two_rows_is_in_each_fit():
    y = np.array(["a"] * 20 + ["b"] * 2 + ["c"])
    folds = fold_numbers(y, 4, 0, stratify=True)
    assert sorted(set(folds)) == [0, 1, 2, 3]
    assert all("b" in y[folds != fold] for fold in range(4))
    assert len(set(fold_numbers(np.arange(3.0), 4, 0, stratify=False))) == 3


@pytest.mark.slow
def test_the_columns_of_the_table_are_switched_as_scikit_learn_switches_them():
    X, y = table(120)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0)
    model = encoded(OneHotEncoder(drop="first"), forest).fit(X, y)
    found = audit(model, X, y, n_models=2, random_state=5, tolerance=5.0)
    theirs = permutation_importance(model, X, y, scoring="neg_log_loss", random_state=5)
    fitted = found.reliance["fitted"][list(X.columns)]
    assert fitted.to_numpy() == pytest.approx(theirs.importances_mean, rel=1e-9)
    assert found.importance.index[0] == "age" and found.reliance.index[0] == "age"
    refit = found.models.models.fits[0]
    order = found.answers._shuffles()[0]
    moved = X.assign(age=X["age"].to_numpy()[order])
    moves = [np.abs(fit.predict_proba(moved) - fit.predict_proba(X))[:, 1] for fit in refit]
    folds = found.models.models.folds
    change = [move[folds == fold] for fold, move in enumerate(moves)]
    table_of_moves = found.answers._switched[0]
    assert table_of_moves["age"][1] == pytest.approx(np.concatenate(change).mean())


@pytest.mark.parametrize(
    ("model", "scoring", "factor"),
    [(SVC(), "accuracy", 1), (KNeighborsRegressor(3), "neg_mean_squared_error", 0.5)],
)
def test_switches_of_labels_and_targets_are_those_of_scikit_learn(model, scoring, factor):
    X, y = table(60)
    y = y if scoring == "accuracy" else X["age"] * 2
    fitted = encoded(OneHotEncoder(), model).fit(X, y)
    found = audit(fitted, X, y, n_models=2, random_state=1, tolerance=2.0)
    theirs = permutation_importance(fitted, X, y, scoring=scoring, random_state=1)
    own = found.reliance["fitted"][list(X.columns)]
    assert own.to_numpy() == pytest.approx(factor * theirs.importances_mean)


def test_figures_and_measures_that_change_rows_take_one_fit_of_each_model():
    X, y = table(90)
    numbers = X[["age", "noise"]]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(numbers, y)
    settings = {"n_models": 2, "tolerance": 9.0, "random_state": 0, "groups": X["home"]}
    found = audit(model, numbers, y, **settings)
    models = found.models
    first = from_estimators([fits[0] for fits in models.models.fits], numbers, y)
    rises = [permutation_losses(each, numbers, y, random_state=0) for each in (models, first)]
    assert rises[0].to_numpy() == pytest.approx(rises[1].to_numpy())
    assert found.plot("importance").data and found.plot("groups").data


@pytest.mark.slow
def test_features_are_named_as_columns_of_the_table_and_grouped_by_name():
    X, y = table(90)
    model = encoded(OneHotEncoder(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    features = {"both": ["home", "noise"], "age": "age"}
    found = audit(model, X, y, n_models=2, tolerance=9.0, random_state=0, features=features)
    assert set(found.importance.index) == {"both", "age"}
    encoded_name = replace(found.inputs, features=["home_own"])
    with pytest.raises(ValueError, match="unknown feature 'home_own'; the features are age, home"):
        replace(found.answers, inputs=encoded_name).importance()


LABELLED = {
    "SVC, probabilities of another rule": SVC(probability=True, C=0.1, random_state=0),
    "SVC": SVC(C=0.1),
    "calibrated": CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3), cv=3),
    "hard votes": VotingClassifier(
        [("a", LogisticRegression()), ("b", GaussianNB()), ("c", KNeighborsClassifier(3))]
    ),
    "neighbours, with ties": KNeighborsClassifier(4),
    "fixed threshold": FixedThresholdClassifier(GaussianNB(), threshold=0.2),
    "tuned threshold": TunedThresholdClassifierCV(GaussianNB(), cv=2, thresholds=5),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LABELLED)
def test_labels_are_those_that_predict_gives(name):
    X, y = table(80)
    X, words = X[["age", "noise"]], np.array(["no", "yes"])[y]
    model = clone(LABELLED[name]).fit(X, words)
    found = audit(model, X, words, n_models=1, tolerance=5.0, random_state=0, wanted="yes")
    assert (found.flips["label"].to_numpy() == model.predict(X)).all()
    refits = found.models.models
    for fold, fit in enumerate(refits.fits[-1]):
        held_out = refits.folds == fold
        codes = found.models.labels(X)[-1][held_out]
        assert (np.array(["no", "yes"])[codes] == fit.predict(X[held_out])).all()


def test_a_threshold_of_the_audit_decides_for_every_refit():
    X, y = noisy(120)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    settings = {"n_models": 4, "tolerance": 1.0, "random_state": 0}
    found = audit(model, X, y, threshold=0.2, wanted="no", **settings)
    chances = model.predict_proba(X)[:, 0]
    assert (found.flips["label"] == np.where(chances >= 0.2, "no", "yes")).all()
    assert found.person_ranges["fitted"].to_numpy() == pytest.approx(chances)
    others = found.models.scores(X) >= 0.2
    assert (found.flips["flips"] == (others != (chances >= 0.2)).any(axis=0)).all()
    assert "probability of again='no'" in found.answers.score_unit


def test_a_frozen_model_is_fitted_again_by_folds():
    X, y = noisy(120)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    plain, frozen = (
        audit(model, X, y, n_models=3, tolerance=1.0, random_state=0)
        for model in (tree, FrozenEstimator(tree))
    )
    assert frozen.flips.equals(plain.flips)
    assert plain.answers.own_flips > 20


def test_refits_are_different_and_counted_once():
    X, y = table(100)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[["age", "noise"]], y)
    kinds = ["neighbour", "column"]
    found = sample_models(model, X[["age", "noise"]], y, kinds=kinds, tolerance=9.0, n_models=90)
    assert len(set(found.names)) == len(found) == found.n_tried < 20


@pytest.mark.parametrize("n_positive", [1, 2])
def test_a_class_of_one_or_two_rows_is_audited(n_positive):
    X, y = table(40)
    y = (np.arange(40) < n_positive).astype(int)
    model = RandomForestClassifier(3, random_state=0).fit(X[["age", "noise"]], y)
    found = audit(model, X[["age", "noise"]], y, n_models=3, random_state=0)
    assert (found.flips["label"] == model.predict(X[["age", "noise"]])).all()
    assert np.isfinite(found.models.losses).all()


@pytest.mark.slow
def test_the_default_tolerance_is_the_paired_standard_error():
    X, y = noisy(200)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    found = audit(model, X, y, n_models=10, random_state=0)
    every = sample_models(model, X, y, n_models=10, random_state=0, tolerance=99.0)
    truth = (y == "yes").to_numpy()
    chances = np.clip(every.scores(X), 1 / 400, 1 - 1 / 400)
    losses = -np.log(np.where(truth, chances, 1 - chances))
    apart = losses[1:] - losses[0]
    assert found.psi == pytest.approx(np.median(apart.std(axis=1, ddof=1)) / np.sqrt(200))
    assert found.tolerance.rule == "paired standard error"
    good = np.array(every.names[1:])[apart.mean(axis=1) <= found.psi]
    assert set(found.models.names) == {"as given", *good}
    assert "rows that they did not see" in repr(found) and "shown to be" not in repr(found)
    shown = audit(model, X, y, n_models=2, random_state=0, tolerance=0.5)
    assert "each with 95 % confidence" in repr(shown)
