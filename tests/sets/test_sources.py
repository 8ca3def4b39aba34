"""Sets of anybody's models say what linear draws say, and nothing that they cannot know."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rashomon_explorer import RashomonClassifier, plots, sets
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import bounded_range
from rashomon_explorer.problem.problem import Problem

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 3))
TWO = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])]
TARGETS = X @ [1.0, -2.0, 0.5] + 0.1 * RNG.normal(size=60)


def classifiers(y=TWO):
    return [
        LogisticRegression().fit(X, y),
        LogisticRegression(C=0.01).fit(X, y),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y),
        RandomForestClassifier(5, random_state=0).fit(X, y),
    ]


@pytest.mark.parametrize("y", [TWO, THREE])
def test_fitted_classifiers_are_scored_as_scikit_learn_scores_them(y):
    each = classifiers(y)
    models = sets.from_estimators(each, X, y, psi=0.2)
    assert isinstance(models, sets.PredictorSet) and isinstance(models, sets.CuratorSet)
    wanted = [log_loss(y, model.predict_proba(X)) for model in each]
    assert np.allclose(models.losses, wanted, rtol=1e-12)
    assert models.least == models.losses.min()
    assert models.hit_rate == np.mean(models.excess <= 0.2)
    for model, scores, labels in zip(each, models.scores(X), models.labels(X), strict=True):
        chances = model.predict_proba(X)
        assert np.allclose(scores, chances if y is THREE else chances[:, 1])
        assert np.array_equal(np.array(models.classes)[labels], model.predict(X))
    best = int(models.losses.argmin())
    assert np.array_equal(models.best_scores(X), models.scores(X)[best])
    assert models.class_names == (("no", "yes") if y is TWO else ("a", "b", "c"))
    table = pd.DataFrame(X, columns=["age", "debt", "income"])
    named = sets.from_estimators([each[0].fit(table, y)], table, y)
    assert named.losses == pytest.approx(wanted[0])


def test_regressors_and_the_default_threshold_that_holds_them_all():
    each = [LinearRegression().fit(X, TARGETS), Ridge(50.0).fit(X, TARGETS)]
    each.append(DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, TARGETS))
    models = sets.from_estimators(each, X, TARGETS)
    wanted = [mean_squared_error(TARGETS, model.predict(X)) / 2 for model in each]
    assert np.allclose(models.losses, wanted)
    assert (models.task, models.hit_rate) == ("regression", 1.0)
    assert models.psi == pytest.approx(max(wanted) - min(wanted))
    with pytest.raises(TypeError, match="use scores for regression"):
        models.labels(X)


def test_losses_of_labels_of_a_function_and_of_classes_that_a_model_lacks():
    each = {"svm": LinearSVC().fit(X, TWO), "logistic": LOGISTIC}
    models = sets.from_estimators(each, X, TWO)  # one of them has no probabilities
    wanted = [1 - accuracy_score(TWO, model.predict(X)) for model in each.values()]
    assert np.allclose(models.losses, wanted) and set(models.scores(X)[0]) == {0.0, 1.0}
    assert (models.names, models.loss) == (("svm", "logistic"), "zero_one")

    def brier(codes, scores):
        return float(np.mean((scores - codes) ** 2))

    models = sets.from_estimators([LOGISTIC], X, TWO, loss=brier)
    wanted = np.mean((LOGISTIC.predict_proba(X)[:, 1] - (TWO == "yes")) ** 2)
    assert (models.loss, models.losses[0]) == ("brier", pytest.approx(wanted))
    partly = LogisticRegression().fit(X[THREE != "c"], THREE[THREE != "c"])
    models = sets.from_estimators([*classifiers(THREE), partly], X, THREE)
    assert not models.scores(X)[-1][:, 2].any()


def test_coefficients_of_models_that_are_linear_and_only_of_those():
    each = classifiers()
    models = sets.from_estimators(each[:2], X, TWO)
    assert models.coef.shape == (2, 4)
    assert np.allclose(models.coef[0], [*each[0].coef_[0], each[0].intercept_[0]])
    for others in (each[:3], each[3:]):
        with pytest.raises(AttributeError, match="coef: only linear models of one shape"):
            sets.from_estimators(others, X, TWO).coef  # noqa: B018
    trees = sets.from_estimators(each[2:4], X, TWO)
    assert trees.complexity().tolist() == [3, each[3].get_n_leaves()]
    with pytest.raises(TypeError, match="size of a RandomForestClassifier"):
        sets.from_estimators(each[4:], X, TWO).simplest()


class Strange:
    """A model that is not scikit-learn's, with a flaw."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, value, rows=60):
        self.value, self.rows = value, rows

    def predict(self, X):
        return np.array(["no"] * len(X))

    def predict_proba(self, X):
        return np.tile([1 - self.value, self.value], (self.rows, 1))


FOREST = RandomForestClassifier(3, random_state=0).fit(X, TWO)
LOGISTIC = LogisticRegression().fit(X, TWO)


def test_nothing_is_claimed_that_others_models_do_not_have():
    models = sets.from_estimators(classifiers(), X, TWO)
    assert str(models.guarantee) == "no guarantee: these models were not drawn privately"
    with pytest.raises(CuratorOnlyError, match="cannot be released: no guarantee"):
        models.release()
    with pytest.raises(AttributeError, match="plan: only models that were drawn here"):
        models.plan  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'coeff'"):
        models.coeff  # noqa: B018
    assert not hasattr(models, "margins")


def test_selections_keep_names_and_the_best_of_the_source():
    models = sets.from_estimators(classifiers(), X, TWO, psi=0.2)
    kept = models.inside()
    assert np.array_equal(kept.losses, models.losses[models.excess <= 0.2])
    assert (kept.least, kept.psi) == (models.least, 0.2)
    assert models.inside(0.0).names == (f"model {models.losses.argmin()}",)
    assert models[1].names == ("model 1",)
    assert models[[]].scores(X).shape == (0, 60)
    # What is left is still compared with the best of the source.
    assert np.array_equal(models[1].best_scores(X), models.best_scores(X))


PREDICTED = np.array([[0.9, 0.2, 0.6], [0.8, 0.1, 0.4]])


def test_predictions_by_hand():
    models = sets.from_predictions(PREDICTED, ["b", "a", "b"])
    assert np.allclose(models.losses, -np.log([[0.9, 0.8, 0.6], [0.8, 0.9, 0.4]]).mean(axis=1))
    assert models.labels().tolist() == [[1, 0, 1], [1, 0, 0]]
    assert models.classes == ("a", "b")
    two = sets.from_predictions(np.stack([1 - PREDICTED, PREDICTED], axis=2), [1, 0, 1])
    assert np.allclose(two.scores(), PREDICTED)
    three = sets.from_predictions([["x", "y"], ["z", "z"]], ["x", "z"], kind="labels")
    assert three.scores().tolist() == [[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 1]]]
    assert three.losses.tolist() == [0.5, 0.5]
    targets = sets.from_predictions([[1.0, 3.0], [2.0, 2.0]], [1.0, 2.0], kind="targets")
    assert targets.losses.tolist() == [0.25, 0.25]


def test_rows_are_known_again_or_refused():
    rows = np.arange(6.0).reshape(3, 2)
    known = sets.from_predictions(PREDICTED, X=rows)
    assert np.array_equal(known.scores(rows), known.scores())
    assert np.array_equal(known.scores(pd.DataFrame(rows)), known.scores())
    with pytest.raises(ValueError, match="stored for 3 rows, and X holds other rows than those"):
        known.scores(rows[::-1])
    with pytest.raises(ValueError, match="rows, which were not stored with the set"):
        sets.from_predictions(PREDICTED).scores(rows)
    with pytest.raises(TypeError, match="do not determine how simple"):
        known.simplest()


def test_without_losses_what_needs_them_says_so():
    models = sets.from_predictions(PREDICTED)
    assert math.isinf(models.psi)
    for ask in (lambda: models.excess, lambda: models.hit_rate, models.inside):
        with pytest.raises(ValueError, match="losses of these models are not known"):
            ask()
    given = sets.from_predictions(PREDICTED, losses=[0.3, 0.1], psi=0.1)
    assert given.hit_rate == 0.5
    for losses in ([0.1, 0.3], [1 / 3, 0.1 + 0.2], [1e-17, 1e17], [0.7, 0.1]):  # by default all
        assert sets.from_predictions(PREDICTED, losses=losses).hit_rate == 1.0
    # A sure mistake costs much, not infinity.
    assert 30 < sets.from_predictions([[0.0], [0.5]], [1], classes=(0, 1)).losses[0] < 50
    assert np.array_equal(given.best_scores(), PREDICTED[1])


ROWS, SIGNS = X / 5, np.where(TWO == "yes", 1, -1)


def test_draws_of_a_sampler_are_the_set_that_an_estimator_makes():
    settings = {"psi": 0.05, "epsilon": 50.0, "n_draws": 4, "radius": 3.0, "random_state": 0}
    wanted = RashomonClassifier(**settings).fit(ROWS, TWO).rashomon_set_
    problem = Problem(ROWS, SIGNS, radius=3.0)
    made = sets.from_draws(problem, wanted.coef, 0.05, classes=("no", "yes"))
    assert np.allclose(made.losses, wanted.losses, atol=1e-5)  # theirs are of unrounded draws
    assert np.array_equal(made.scores(X), wanted.scores(X))
    assert made.minimum.value == wanted.minimum.value
    assert made.class_names == wanted.class_names
    assert str(made.guarantee) == "no guarantee: it is not known how these models were drawn"
    assert type(made) is sets.RashomonSet


def test_uniform_draws_and_a_certificate_of_the_samplers_own():
    problem = Problem(ROWS, SIGNS, radius=3.0)
    target = GibbsTarget(problem, beta=50.0, psi=0.05)
    drawn = collect(HitAndRunSampler(), target, 5, np.random.default_rng(0))
    models = sets.from_draws(problem, drawn, 0.05, mechanism="hit_and_run")
    assert (models.hit_rate, models.mechanism) == (1.0, "hit_and_run")
    assert models.acceptance == drawn.acceptance
    assert models.inside(0.02).hit_rate in (1.0, pytest.approx(math.nan, nan_ok=True))
    with pytest.raises(ValueError, match="these models have no guarantee"):
        plots.plot_bounds(models)
    paid = sets.from_draws(problem, drawn, 0.05, guarantee=bounded_range(0.5))
    assert paid.release().guarantee.epsilon(0.0) == 0.5


def test_a_problem_without_an_intercept_gets_one_of_0():
    problem = Problem(ROWS, SIGNS, radius=3.0, intercept=False)
    models = sets.from_draws(problem, [[1.0, 2.0, 3.0]], 0.05)
    assert models.coef.tolist() == [[1.0, 2.0, 3.0, 0.0]]
    assert models.best.shape == (4,)
    assert models.losses[0] == problem.value(np.array([[1.0], [2.0], [3.0]]))[0]


def of_models(models, **settings):
    return sets.from_estimators(models, **{"X": X, "y": TWO, **settings})


def of_draws(draws, **settings):
    return sets.from_draws(Problem(ROWS, SIGNS), draws, **{"psi": 0.1, **settings})


MIXED = np.array(["a", 1], dtype=object)
SOURCES: dict[Any, list[tuple[Any, dict[str, Any], str]]] = {
    of_models: [
        ([], {}, "at least one fitted model, got none"),
        ([LogisticRegression], {}, "model 0 cannot predict: expected a fitted model"),
        ([Strange(math.nan)], {}, "NaN or infinity for model 0, row 0"),
        ([Strange(0.5, rows=3)], {}, r"model 0 predicts shape \(3,\) for 60 rows"),
        ([Strange(0.5), Ridge().fit(X, TARGETS)], {}, "all classifiers or all regressors"),
        (FOREST, {}, r"got one RandomForestClassifier: \[model\]"),
        ([LogisticRegression().fit(X, TWO == "yes"), FOREST], {}, "all be text or all be numbers"),
        ([LOGISTIC], {"y": TWO[:5]}, r"one value for each of 60 rows, got shape \(5,\)"),
        ([LOGISTIC], {"y": ["perhaps"] * 60}, "y holds the class 'perhaps'"),
        ([LOGISTIC], {"loss": "squared"}, r"loss must be one of \['log_loss', 'zero_one'\]"),
        ([LOGISTIC], {"loss": lambda y, s: math.nan}, "<lambda> of model 0 is not finite"),
        ([LinearSVC().fit(X, TWO)], {"loss": "log_loss"}, "these are labels: use 'zero_one'"),
        ([LOGISTIC], {"names": ["one", "two"]}, "names must hold one for each of 1 models"),
    ],
    sets.from_predictions: [
        (np.empty((0, 3)), {}, "at least one of each"),
        ([["a", "b"]], {}, "probabilities must be numbers"),
        ([[0.1, 1.2]], {}, "from 0 to 1; for labels or targets write kind='labels'"),
        ([[0.1, math.nan]], {}, "NaN or infinity for model 0, row 1"),
        ([[[0.5, 0.4]]], {}, "must sum to 1"),
        ([[[0.5, 0.5]]], {"classes": "abc"}, "3 classes are given|1 classes are given"),
        (PREDICTED, {"classes": ("a",)}, "1 classes are given for probabilities of 2"),
        (PREDICTED, {"y": [0, 1, 0], "losses": [0.1, 0.2]}, "not both"),
        (PREDICTED, {"losses": [0.1]}, "losses must be finite, one for each of 2 models"),
        (PREDICTED, {"kind": "logits"}, "kind must be one of"),
        (PREDICTED, {"X": [[1.0]]}, "X has 1 rows, and 3 were predicted"),
        ([["a", "a"]], {"kind": "labels"}, "at least two classes are needed"),
        ([["a", "b"]], {"kind": "labels", "y": ["a", None]}, "must not be missing, got None"),
        ([["a", "b"]], {"kind": "labels", "y": MIXED}, "must all be text or all be numbers"),
        ([["a", "b"]], {"kind": "labels", "classes": ("a", "c")}, "holds the class 'b'"),
        ([[1.0]], {"kind": "targets", "classes": (0, 1)}, "a regression has no classes"),
    ],
    of_draws: [
        ([[1.0, 2.0]], {}, r"draws must be finite, of shape \(n_draws, 4\)"),
        ([[1.0] * 4], {"feature_names": ["one"]}, "feature_names must hold 3 names"),
    ],
}
REFUSED = [(source, *case) for source, cases in SOURCES.items() for case in cases]


@pytest.mark.parametrize(("source", "given", "settings", "message"), REFUSED)
def test_bad_sources_are_refused(source, given, settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        source(given, **settings)


def test_models_whose_classes_are_none_have_the_labels_of_the_rows():
    class Private:
        """As diffprivlib's: fitted, with ``classes_`` of None."""

        classes_ = None

        def predict_proba(self, X):
            chances = 1 / (1 + np.exp(-X[:, 0]))
            return np.column_stack([1 - chances, chances])

        def predict(self, X):
            return np.where(X[:, 0] > 0, "yes", "no")

    X = np.random.default_rng(0).normal(size=(80, 2))
    models = sets.from_estimators([Private(), Private()], X, Private().predict(X))
    assert models.classes == ("no", "yes")
    assert (models.labels(X)[0] == (X[:, 0] > 0)).all()
