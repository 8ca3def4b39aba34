"""Sets of refits against exhaustive retraining, and the law of their filter."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor, StackingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rashomon_explorer.audits import audit, refits
from rashomon_explorer.audits.sampled import collect_models, good_models, sample_models
from rashomon_explorer.measures import fairness_audit, multiplicity_table
from rashomon_explorer.sets import PredictorSet


def cancer(n=300):
    data = load_breast_cancer()
    return data.data[:n, :6], data.target[:n]


def boosted(**settings):
    return GradientBoostingClassifier(
        **{"n_estimators": 4, "subsample": 0.8, "random_state": 0, **settings}
    )


@pytest.mark.slow
def test_refits_of_boosted_trees_are_those_of_exhaustive_retraining():
    """Every neighbour is found, with the same flips of every person."""
    X, y = cancer(150)
    model = boosted().fit(X, y)
    found = sample_models(
        model, X, y, kinds=["neighbour"], n_models=150, tolerance=10.0, random_state=3
    )
    settings = {
        "learning_rate": (0.05, 0.2),
        "max_depth": (2, 4),
        "max_features": ("sqrt", "log2"),
        "min_samples_leaf": (2,),
        "n_estimators": (2, 8),
        "subsample": (0.4, 1.0),
    }
    each = [{}] + [{name: value} for name, values in settings.items() for value in values]
    assert len(refits.neighbours(model)) == len(each) - 1
    seed = np.random.RandomState(3).randint(2**31)
    folds = refits.fold_numbers(y, 4, seed, stratify=True)
    labels, chances = np.empty((len(each), len(y)), int), np.empty((len(each), len(y)))
    for fold, (place, one) in itertools.product(range(4), enumerate(each)):
        train, test = folds != fold, folds == fold
        again = clone(model).set_params(**one).fit(X[train], y[train])
        labels[place, test] = again.predict(X[test])
        chances[place, test] = again.predict_proba(X[test])[:, 1]
    own = np.unique(found.scores(X), axis=0)
    assert len(own) == len(np.unique(chances, axis=0)) and len(found) == len(each)
    flips = (labels != model.predict(X)).any(axis=0)
    assert ((found.labels(X) != model.predict(X)).any(axis=0) == flips).all()
    assert flips.sum() > 3
    row = multiplicity_table(found, X, measures=["ambiguity"]).iloc[0]
    assert row["value"] == flips.mean()
    assert "lower bound" in row.astype(str).tolist()


@pytest.mark.parametrize("skewed", [False, True])
def test_a_model_beyond_the_tolerance_is_kept_as_rarely_as_stated(skewed):
    """At the threshold the share is 1 − confidence; beyond it and below it, far from it."""
    rng, n, psi = np.random.default_rng(5), 400, 0.1
    baseline = rng.exponential(size=n)

    def share(excess, confidence):
        noise = rng.exponential(size=(1500, n)) - 1 if skewed else rng.standard_normal((1500, n))
        losses = baseline + excess + 0.5 * noise
        return good_models(losses, baseline, psi, confidence)[2].mean()

    for confidence in (0.5, 0.8, 0.95):
        assert share(psi, confidence) == pytest.approx(1 - confidence, abs=0.03)
        assert share(1.5 * psi, confidence) < share(psi, confidence) / 3
        assert share(0.0, confidence) > 0.95


def test_comparison_with_the_best_of_many_would_drop_models_as_good_as_the_others():
    """Negative control: equal models, compared with a given one and with the luckiest one."""
    rng, n = np.random.default_rng(6), 200
    losses = rng.standard_normal((300, n))
    psi = 2.0 / n**0.5
    own = good_models(losses[1:], losses[0], psi, 0.5)[2].mean()
    best = good_models(losses, losses[losses.mean(axis=1).argmin()], psi, 0.5)[2].mean()
    assert best < 0.3 < 0.5 < own


@pytest.mark.law
def test_few_refits_that_are_truly_worse_than_the_tolerance_are_kept():
    """Over many samples of a known population; and most refits that are truly good are kept."""
    rng = np.random.default_rng(8)

    def sample(n):
        X = rng.standard_normal((n, 4))
        chance = 1 / (1 + np.exp(-X[:, 0] - X[:, 1] * X[:, 2]))
        return X, (rng.random(n) < chance).astype(int)

    X_all, y_all = sample(40_000)
    psi, worse, good = 0.02, [], []
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=20, random_state=0)
    for seed in range(60):
        X, y = sample(1500)
        kept = sample_models(model, X, y, tolerance=psi, n_models=15, random_state=seed)
        every = sample_models(model, X, y, tolerance=10.0, n_models=15, random_state=seed)
        losses = -np.log(np.clip(np.abs(every.scores(X_all) - 1 + y_all), 1e-9, 1)).mean(axis=1)
        excess = losses[1:] - losses[0]
        inside = np.isin(every.names[1:], kept.names)
        worse += inside[excess > psi].tolist()
        good += inside[excess < 0.25 * psi].tolist()
    assert len(worse) > 150
    # Each is kept with probability at most .05, nearly attained at ψ: plus two standard errors.
    assert np.mean(worse) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / len(worse))
    assert np.mean(good) > 0.3


def test_weights_of_rows_count_as_repeated_rows():
    rng = np.random.default_rng(7)
    losses, weights = rng.exponential(size=(3, 50)), rng.integers(1, 4, 50)
    excess, _, _ = good_models(losses, losses[0], 0.1, 0.9, weights.astype(float))
    repeated = np.repeat(losses, weights, axis=1)
    assert excess == pytest.approx(good_models(repeated, repeated[0], 0.1, 0.9)[0])


@pytest.mark.slow
def test_the_models_depend_on_the_seed_alone():
    X, y = cancer(100)
    settings, model = {"n_models": 12, "tolerance": 9.0}, boosted(n_estimators=2, max_depth=1)
    one = sample_models(model, X, y, random_state=1, **settings)
    with parallel_config("threading"):
        jobs = sample_models(model, X, y, random_state=1, n_jobs=2, **settings)
    other = sample_models(model, X, y, random_state=2, **settings)
    assert one.names == jobs.names != other.names
    assert (one.scores(X) == jobs.scores(X)).all()
    assert set(one.kinds) == {"as given", "seed", "bootstrap", "neighbour", "column"}


def mixed_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 240),
            "home": pd.Categorical(rng.choice(["own", "rent", "with parents"], 240)),
            "noise": rng.standard_normal(240),
        }
    )
    chance = 1 / (1 + np.exp(-(frame["age"] - 50) / 10 - (frame["home"] == "own")))
    return frame, np.where(rng.random(240) < chance, "yes", "no")


@pytest.mark.slow
def test_a_pipeline_on_a_raw_table_holds_its_columns_constant():
    frame, y = mixed_table()
    steps = make_column_transformer(
        (OneHotEncoder(), ["home"]), (StandardScaler(), ["age", "noise"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(frame, y)
    settings = {"kinds": ["seed", "column"], "tolerance": "5%", "random_state": 0}
    found = sample_models(model, frame, y, n_models=15, **settings)
    assert "seed" not in found.kinds  # no seed changes a convex fit
    assert "constant noise" in found.names and "constant age" not in found.names
    assert found.tolerance.rule == "relative"
    assert (found.best_scores(frame) == model.predict_proba(frame)[:, 1]).all()
    place = found.names.index("constant noise")
    first, second = (frame.assign(noise=frame["noise"] + move) for move in (7.0, 50.0))
    assert (found[place].scores(first) == found[place].scores(second)).all()
    assert not (found[0].scores(first) == found[0].scores(second)).all()
    audit = fairness_audit(found, frame, y, groups=frame["home"])
    assert len(audit.table) == len(found)


@pytest.mark.parametrize(
    ("model", "data", "loss"),
    [
        (DecisionTreeClassifier(max_depth=3), load_iris, "log_loss"),
        (RandomForestRegressor(5), load_diabetes, "squared"),
        (LinearSVC(), load_iris, "zero_one"),
        (StackingRegressor([("a", Ridge())]), load_diabetes, "squared"),
    ],
)
def test_classes_targets_and_labels(model, data, loss):
    X, y = data(return_X_y=True)
    found = sample_models(model, X, y, n_models=4, random_state=0)
    assert found.loss == loss and found.names[0] == "as given" and found.n_tried == 5
    assert found.excess[0] == found.errors[0] == 0 and (found.excess <= found.psi).all()
    assert len(found.scores(X)) == len(found.refits) == len(found)
    assert found.task == ("regression" if data is load_diabetes else "classification")
    assert "sampled, at least" in repr(found) and not found.complete
    few = found[:1]
    assert few.kinds == found.kinds[:1] and type(found.stored(X)) is PredictorSet
    assert pickle.loads(pickle.dumps(few)).names == few.names


@pytest.mark.slow
def test_texts_and_sparse_rows_have_refits_of_other_kinds():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    texts = [" ".join(rng.choice(["good", "fine"] if one else ["bad", "fine"], 4)) for one in y]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    found = sample_models(model, texts, y, n_models=8, tolerance=0.5, random_state=0)
    assert set(found.kinds) == {"as given", "bootstrap", "neighbour"}
    rows = TfidfVectorizer().fit_transform(texts)
    sparse = sample_models(LogisticRegression(), rows, y, n_models=8, tolerance=0.5, random_state=0)
    assert sparse.scores(rows).shape == (len(sparse), 120)


def test_refits_of_a_linear_model_have_coefficients_without_a_column_too():
    X, y = load_diabetes(return_X_y=True)
    model = SGDRegressor(tol=None, max_iter=50, random_state=0)
    found = sample_models(model, X, y, kinds=["column"], n_models=4, random_state=0)
    assert found.linear.scores(X + 1e-9) == pytest.approx(found.scores(X + 1e-9))
    left_out = found.kinds.index("column")
    assert (found.coef[left_out] == 0).sum() == 1


@pytest.mark.slow
def test_auto_stops_when_the_disagreement_is_known():
    X, y = cancer(150)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    found = sample_models(model, X, y, tolerance=1.0, random_state=0)
    assert "disagreement" in found.stopped
    assert found.n_tried < 401
    target = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
    assert "score_variance" in sample_models(target, X, X[:, 0], random_state=0).stopped


def test_a_search_is_replaced_by_its_best_estimator():
    X, y = cancer(120)
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}).fit(X, y)
    assert isinstance(refits.recipe(search), DecisionTreeClassifier)
    pipe = make_pipeline(StandardScaler(), search).fit(X, y)
    assert refits.recipe(pipe).steps[-1][1].max_depth == pipe[-1].best_params_["max_depth"]
    assert "decisiontreeclassifier__max_depth" not in dict(refits.neighbours(refits.recipe(pipe)))
    found = sample_models(search, X, y, n_models=5, tolerance=1.0, random_state=0)
    assert (found.reference.scores(X)[0] == search.predict_proba(X)[:, 1]).all()


def test_neighbours_are_values_that_the_estimator_accepts():
    from sklearn.ensemble import HistGradientBoostingRegressor

    names = dict(refits.neighbours(GradientBoostingClassifier()))
    assert "alpha" not in names
    assert dict(refits.neighbours(make_pipeline(StandardScaler(), SVC(C=2.0))))["svc__C"] == 4.0
    assert ("max_iter", 50) in refits.neighbours(HistGradientBoostingRegressor())
    assert "max_iter" not in dict(refits.neighbours(LogisticRegression()))
    for one in refits.available_refits(boosted(max_depth=1), np.zeros((5, 2)))["neighbour"]:
        clone(boosted()).set_params(**dict([one.setting])).fit(*cancer(60))


def test_a_refit_that_fails_is_left_out_with_a_warning():
    class Fragile(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            if self.max_depth == 3:
                raise ValueError("three is too deep")
            return super().fit(X, y, sample_weight)

    X, y = cancer(100)
    options = {"kinds": ["neighbour"], "n_models": 20, "tolerance": 2.0, "random_state": 0}
    with pytest.warns(UserWarning, match="max_depth=3: three is too deep"):
        found = sample_models(Fragile(max_depth=2, random_state=0), X, y, **options)
    assert "max_depth=1" in found.names and "max_depth=3" not in found.names


@pytest.mark.parametrize(
    "last", [LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)]
)
def test_routed_weights_give_the_audit_of_named_ones(last):
    X, y = cancer(100)
    weights = np.where(y == 1, 5.0, 1.0)
    options = {"sample_weight": weights, "n_models": 1, "random_state": 0, "tolerance": 0.1}
    plain = make_pipeline(StandardScaler(), last)
    plain.fit(X, y, **{f"{plain.steps[-1][0]}__sample_weight": weights})
    named = audit(plain, X, y, **options)
    with config_context(enable_metadata_routing=True):
        asking = clone(last).set_fit_request(sample_weight=True)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
        routed = audit(model.fit(X, y, sample_weight=weights), X, y, **options)
        np.testing.assert_array_equal(routed.flips["flips"], named.flips["flips"])


def test_weights_reach_the_last_step_and_the_comparison():
    X, y = cancer(200)
    weights = np.where(y == 1, 5.0, 1.0)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    options = {"n_models": 3, "tolerance": 1.0, "random_state": 0}
    plain = sample_models(model, X, y, **options)
    heavy = sample_models(model, X, y, sample_weight=weights, **options)
    assert heavy.scores(X)[0].mean() > plain.scores(X)[0].mean()
    assert heavy.least != plain.least


def test_of_collected_models_the_good_ones_are_kept():
    X, y = cancer()
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    trees = (DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 3, 8))
    models = {f"depth {tree.max_depth}": tree.fit(X[train], y[train]) for tree in trees}
    found = collect_models(models, X[test], y[test], tolerance=0.3)
    assert 0 < len(found) < 4 == found.n_tried and set(found.kinds) == {"collected"}
    kept = np.stack([models[name].predict(X[test]) for name in found.names])
    assert (found.labels(X[test]) == kept).all()
    lists = collect_models([*models.values()], X[test], y[test], tolerance="cv")
    assert lists.tolerance.rule == "cv"
    with pytest.raises(ValueError, match="can be refitted"):
        collect_models(models, X[test], y[test], tolerance="without x0")


def test_constant_columns_have_one_value_in_fits_and_predictions():
    frame, y = mixed_table()
    fixed = refits.FixedColumns(make_pipeline(OneHotEncoder(), DecisionTreeClassifier()), ["home"])
    fitted = clone(fixed).fit(frame[["home"]].assign(other=1), y)
    assert len(np.unique(fitted.predict_proba(frame[["home"]].assign(other=1)), axis=0)) == 1
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert frame["home"].nunique() == 3
    with pytest.raises(ValueError, match="unknown column 'x'"):
        refits.FixedColumns(LogisticRegression(), ["x"]).fit(frame, y)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"kinds": "seed"}, "kinds must be"),
        ({"kinds": ["rows"]}, "kinds must be"),
        ({"kinds": ["seed"]}, "has no refits"),
        ({"n_models": 0}, "n_models"),
        ({"n_models": "many"}, "n_models"),
        ({"tolerance": "likelihood ratio"}, "likelihood"),
    ],
)
def test_bad_settings_are_refused_in_words(settings, told):
    X, y = cancer(80)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises((ValueError, TypeError), match=told):
        sample_models(model, X, y, **{"n_models": 2, "random_state": 0, **settings})


def test_several_targets_are_refused():
    X, y = cancer(80)
    with pytest.raises(ValueError, match=r"one label or target for each row, got shape \(80, 2\)"):
        sample_models(Ridge(), X, np.column_stack([y, y]))


class Stopped(DecisionTreeClassifier):
    """A tree whose fits count, and one of which is interrupted."""

    fits, stop = 0, 0

    def fit(self, X, y, sample_weight=None):
        """Fit, or stop like a user."""
        type(self).fits += 1
        if self.fits == self.stop:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("random_state", [None, 7])
def test_finished_refits_of_an_interrupted_call_are_kept_for_the_next(random_state, monkeypatch):
    X, y = cancer(120)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    given = {"n_models": 6, "tolerance": 10.0, "kinds": ["neighbour"]}
    expected = sample_models(model, X, y, **given, random_state=7)
    given["random_state"] = random_state
    model = Stopped(max_depth=2, random_state=0).fit(X, y)

    def fits(rows=120):
        before = Stopped.fits
        found = sample_models(model, X[:rows], y[:rows], **given)
        return Stopped.fits - before, found

    usual = fits()[0]
    monkeypatch.setattr(Stopped, "stop", Stopped.fits + 4 + 4 * 3 + 2)  # in the fourth refit
    with pytest.raises(KeyboardInterrupt, match="3 finished refits kept: the same call"):
        fits()
    assert fits(rows=100)[0] == usual  # of other rows
    count, found = fits()
    assert count == usual - 4 * (1 + 3)
    if random_state is not None:
        assert found.names == expected.names
        np.testing.assert_array_equal(found.losses, expected.losses)
    assert fits()[0] == usual  # given up once they were used


def test_interrupted_refits_of_another_seed_are_not_used(monkeypatch):
    X, y = cancer(120)
    model = Stopped(max_depth=2, random_state=0).fit(X, y)
    given = {"n_models": 3, "tolerance": 10.0, "kinds": ["neighbour"]}
    monkeypatch.setattr(Stopped, "stop", Stopped.fits + 10)
    with pytest.raises(KeyboardInterrupt):
        sample_models(model, X, y, **given, random_state=1)
    before, seeds = Stopped.fits, []
    for seed in (2, 1):
        sample_models(model, X, y, **given, random_state=seed)
        seeds.append(Stopped.fits - before)
        before = Stopped.fits
    assert seeds[1] < seeds[0]
