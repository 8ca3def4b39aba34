"""Decision rules: thresholds, and the class that is wanted."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rashomon_explorer import audit, measures
from rashomon_explorer.audits import document
from rashomon_explorer.audits.answers import drawn_codes
from rashomon_explorer.audits.decisions import Decision

WORDS = np.array(["approved", "denied"])


def table(words=False, n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    y = pd.Series((X.a + 0.5 * X.b + rng.logistic(size=n) > 1.5).astype(int), name="loan")
    return X, pd.Series(WORDS[y], name="loan") if words else y


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))


def rules():
    """Wrapped models by name, with words or numbers as labels."""
    inside = make_pipeline(
        StandardScaler(), FixedThresholdClassifier(LogisticRegression(tol=1e-8), threshold=0.3)
    )
    yield "fixed", FixedThresholdClassifier(logistic(), threshold=0.25), False
    yield "inside a pipeline", inside, False
    yield "words", FixedThresholdClassifier(logistic(), threshold=0.7, pos_label="approved"), True
    yield (
        "of the score",
        FixedThresholdClassifier(logistic(), threshold=-0.8, response_method="decision_function"),
        False,
    )
    yield "auto", FixedThresholdClassifier(logistic()), False
    yield "tuned", TunedThresholdClassifierCV(logistic(), cv=3), False
    yield "ridge", FixedThresholdClassifier(RidgeClassifier(), threshold=-0.3), False
    yield "svm", FixedThresholdClassifier(LinearSVC(tol=1e-8, max_iter=20000), threshold=0.2), False
    yield "frozen", FrozenEstimator(logistic().fit(*table())), False


@pytest.mark.parametrize(
    ("model", "words"), [rule[1:] for rule in rules()], ids=[rule[0] for rule in rules()]
)
def test_labels_are_those_of_predict_and_flips_are_of_the_rule(model, words):
    """Models of the set are scored by hand, and cut where the rule cuts."""
    X, y = table(words)
    model.fit(X, y)
    found = audit(model, X, y, tolerance="1%", random_state=0)
    assert found.kind == "exact" and (found.flips["label"] == model.predict(X)).all()
    margins, cut = found.models.margins(found.answers.rows), found.answers.cut
    best = found.answers.rows @ found.problem.minimum.theta[:-1] + found.problem.minimum.theta[-1]
    drawn = ((margins > cut) != (best > cut)).any(axis=0)
    flips = found.flips["flips"].to_numpy()
    assert flips[drawn].all() and 0 < flips.mean() < 0.3
    ratios = ((margins > cut) != (best > cut)).mean(axis=0)
    assert np.allclose(found.flips["conflict_ratio"], ratios)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_least_excess_of_a_flip_is_a_lagrangian_minimum(intercept):
    """Beside a minimisation of the loss on the hyperplane of the threshold."""
    from scipy.optimize import minimize

    X, y = table()
    model = LogisticRegression(C=0.5, tol=1e-10, fit_intercept=intercept).fit(X, y)
    problem = measures.penalised_problem(model, X.to_numpy(), y)
    cut = np.log(0.3 / 0.7)
    people = X.to_numpy()[:4]
    found = measures.flip_psi(problem, people, threshold=cut, tolerance=1e-3)
    rows = np.column_stack([people, np.ones(4)]) if intercept else people
    for row, low, high in zip(rows, *found, strict=True):
        rule = {"type": "eq", "fun": lambda t, a=row: a @ t - cut, "jac": lambda _, a=row: a}

        def value(t):
            value, gradient = problem.value_and_gradient(t[:, None])
            return float(value[0]), gradient[:, 0]

        how = {"constraints": rule, "method": "SLSQP", "options": {"ftol": 1e-14}}
        least = minimize(value, problem.minimum.theta, jac=True, **how)
        excess = least.fun - problem.minimum.value
        assert low <= excess * (1 + 1e-6) + 1e-12 and high >= excess * (1 - 1e-6) - 1e-12
        assert high <= 1.02 * low + 1e-9
        ends = [
            measures.exact_flips(problem, psi, row[None, :3], threshold=cut)["flips"][0]
            for psi in (0.9 * low, 1.1 * high)
        ]
        assert ends == [False, True]


def test_a_threshold_takes_the_place_of_predict():
    X, y = table()
    model = logistic().fit(X, y)
    found = audit(model, X, y, tolerance="1%", threshold=0.2)
    wrapped = audit(
        FixedThresholdClassifier(logistic(), threshold=0.2).fit(X, y), X, y, tolerance="1%"
    )
    assert (found.flips["label"] == (model.predict_proba(X)[:, 1] >= 0.2)).all()
    assert found.decided.equals(wrapped.decided)
    assert "0.2" in found.inputs.model.decision.text


def test_scores_and_signs_are_for_the_wanted_class():
    X, y = table(words=True)
    model = logistic().fit(X, y)
    plain, other = (
        audit(model, X, y, tolerance="1%", groups=X.a > 0, wanted=one) for one in (None, "approved")
    )
    assert plain.answers.score_unit == "log-odds of loan='denied'"
    assert other.answers.score_unit == "log-odds of loan='approved'"
    assert plain.inputs.model.decision.wanted is None
    assert np.allclose(plain.coefficients["low"], -other.coefficients["high"], rtol=1e-5)
    assert np.allclose(plain.scores(X)["low"], 1 - other.scores(X)["high"], atol=1e-6)
    assert np.allclose(plain.gaps["low"], -other.gaps["high"], rtol=1e-5)
    for one in (plain, other):
        assert (one.flips["label"] == model.predict(X)).all()
    assert plain.decided["flips"].equals(other.decided["flips"])
    threshold = audit(model, X, y, tolerance="1%", wanted="approved", threshold=0.9)
    denied = model.predict_proba(X)[:, 0] < 0.9
    assert (threshold.flips["label"] == WORDS[denied.astype(int)]).all()


def test_what_is_not_named_is_refused_in_words():
    X, y = table(words=True)
    model = logistic().fit(X, y)
    with pytest.raises(ValueError, match="wanted="):
        audit(model, X, y, tolerance="1%", threshold=0.2)
    with pytest.raises(ValueError, match="one of the labels"):
        audit(model, X, y, tolerance="1%", wanted="yes")
    with pytest.raises(ValueError, match="threshold must be in"):
        audit(model, X, y, tolerance="1%", wanted="denied", threshold=1.2)


@pytest.mark.parametrize(
    ("model", "threshold"),
    [
        (FixedThresholdClassifier(RidgeClassifier(), pos_label="approved"), 0.0),
        (FixedThresholdClassifier(LinearSVC(), threshold=-0.4, pos_label="approved"), -0.4),
        (FixedThresholdClassifier(logistic(), threshold=0.8, pos_label="approved"), 0.8),
        (FixedThresholdClassifier(logistic(), pos_label="approved"), 0.5),
    ],
)
def test_the_rule_of_a_wrapped_model_gives_its_labels_and_its_class_is_wanted(model, threshold):
    X, y = table(words=True)
    model.fit(X, y)
    rule = Decision.from_model(model, tuple(WORDS))
    assert rule.threshold == threshold and rule.positive == rule.wanted == "approved"
    codes = replace(rule, replaced=True).codes(model.estimator_, X)
    assert (WORDS[codes] == model.predict(X)).all() and 0 < codes.mean() < 1


def test_a_threshold_itself_is_reached_and_its_class_is_found():
    chances = np.array([[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]])
    model = SimpleNamespace(
        predict_proba=lambda rows: chances, predict=lambda rows: WORDS[[0, 0, 1]]
    )
    second = Decision(tuple(WORDS), 0.5, "denied", "predict_proba", replaced=True)
    assert second.codes(model, chances).tolist() == [0, 1, 1]
    assert replace(second, replaced=False).fitting(model, chances).positive == "approved"


def test_figures_are_of_the_rule_that_decides_or_refused():
    X, y = table()
    groups = pd.Series(np.where(X["c"] > 0, "up", "down"), name="half")
    model = FixedThresholdClassifier(logistic(), threshold=0.2).fit(X, y)
    found = audit(model, X, y, groups=groups, tolerance="1%", random_state=0)
    codes = drawn_codes(found.models, found.answers.rows, found.answers.cut)
    flips = pd.Series((codes != model.predict(X)).any(axis=0)).groupby(groups).mean()
    drawn = document._groups_figure(found)[1]["table"]
    assert drawn["ambiguity"].loc[["down", "up"]].tolist() == flips.tolist()
    for kind in ("gaps", "pair", "person"):
        with pytest.raises(ValueError, match="the audited model decides otherwise: label 1 from"):
            found.plot(kind)


def test_a_summary_without_coefficients_in_units_of_the_table_counts_none():
    texts = pd.Series(["good food", "bad food", "bad", "good", "good taste", "bad taste"] * 6)
    y = texts.str.contains("good").astype(int)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, y)
    text = repr(audit(model, texts, y))
    assert "0 of 0" not in text and "signs settled" not in text
