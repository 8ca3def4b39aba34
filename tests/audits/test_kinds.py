"""Kinds of linear models that are audited exactly, behind one pipeline, and recourse."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from rashomon_explorer import audit
from rashomon_explorer.audits.audit import _certified
from rashomon_explorer.audits.models import AuditedModel
from tests.audits.conftest import SAGA, encoder

SPARSE = {"max_iter": 100_000, **SAGA}
CLASSIFIERS = [
    LogisticRegression(C=0.5, l1_ratio=1.0, **SPARSE),
    LogisticRegression(C=0.5, l1_ratio=0.5, **SPARSE),
    LogisticRegression(class_weight="balanced", max_iter=1000, tol=1e-8),
    RidgeClassifier(alpha=2.0),
    LinearSVC(tol=1e-8, max_iter=100_000),
]


def _drop(model):
    """With an L1 penalty alone, collinear indicators leave the minimum open."""
    return "first" if type(model) is Lasso or getattr(model, "l1_ratio", 0) == 1.0 else None


REGRESSORS = [LinearRegression(), RidgeCV(), Lasso(0.01, tol=1e-9), ElasticNet(0.01, tol=1e-9)]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_linear_classifier_is_audited_exactly(people, model):
    X, y = (part.iloc[:150] for part in people)
    fitted = make_pipeline(encoder(_drop(model)), model).fit(X, y)
    found = audit(fitted, X, y, groups="crew", tolerance="1%", n_models=20, random_state=0)
    assert found.kind == "exact" and (found.flips["label"] == fitted.predict(X)).all()
    assert 0 < found.flips["flips"].sum() < len(X)
    assert (found.flips["conflict_ratio"] <= found.flips["flips"]).all()
    table = found.coefficients
    assert (table["low"] <= table["fitted"]).all() and (table["fitted"] <= table["high"]).all()
    assert "Settled" in repr(found) and len(found.importance) == 4 and len(found.gaps) == 1
    ranges = found.scores(X.head(3))
    assert (ranges["low"] <= ranges["high"]).all()


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_every_linear_regression_is_audited_exactly(regression, model):
    """A full set of indicators without a penalty is flat in a direction: contrasts are not."""
    _, X, y = regression
    fitted = make_pipeline(encoder(_drop(model)), model).fit(X, y)
    found = audit(fitted, X, y, tolerance="1%", n_models=40, random_state=0)
    assert found.kind == "exact" and np.isfinite(found.coefficients[["low", "high"]]).all(axis=None)
    ranges = found.scores(X)
    assert np.allclose(ranges["fitted"], fitted.predict(X), atol=1e-3)
    drawn = np.asarray(found.models.scores(found.answers.rows))
    assert (drawn <= ranges["high"].to_numpy() + 1e-6).all()
    (sex,) = [name for name in found.coefficients.index if name.startswith("sex=")]
    assert found.coefficients.loc[sex, "settled"]


@pytest.mark.parametrize("model", [LogisticRegression(max_iter=1000, tol=1e-8), RidgeClassifier()])
def test_three_classes_are_audited_exactly(people, model, tmp_path):
    X = people[0].iloc[:150]
    y = np.where(np.arange(len(X)) % 3 == 0, "S", X["port"])
    fitted = make_pipeline(encoder(), model).fit(X, y)
    found = audit(fitted, X, y, groups="crew", tolerance="3%", n_models=20, random_state=0)
    flips = found.flips
    assert found.kind == "exact" and (flips["label"] == fitted.predict(X)).all()
    assert 0 < flips["flips"].sum() < len(X) and len(found.gaps) == 3
    drawn = np.asarray(found.models.scores(found.answers.rows)).argmax(axis=2)
    other = np.asarray(found.models.class_names)[drawn] != flips["label"].to_numpy()
    assert np.allclose(other.mean(axis=0), flips["conflict_ratio"])
    assert not other[:, ~flips["flips"].to_numpy()].any()
    assert set(found.coefficients["sign"]) <= {"+", "−", "either"}
    assert {name.split(": ")[0] for name in found.coefficients.index} == {"C", "Q", "S"}
    other_port = X[fitted.predict(X) == "C"].dropna().head(1)
    way = found.recourse(other_port, ["fare", "port"], wanted="S")
    assert set(way.people["status"]) == {"found"} and (way.people["worst_score"] >= 0).all()
    found.report(tmp_path / "a.html", interactive=False)
    assert '"kind": "exact"' in found.to_json() and found._repr_html_()


def test_weights_of_the_fit_are_passed_on(people):
    X, y = people
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = make_pipeline(encoder(), LogisticRegression(max_iter=1000, tol=1e-8))
    fitted = model.fit(X, y, logisticregression__sample_weight=weight)
    found = audit(fitted, X, y, sample_weight=weight, tolerance="1%")
    assert found.kind == "exact" and (found.flips["label"] == fitted.predict(X)).all()
    with pytest.raises(ValueError, match="sample_weight"):
        audit(fitted, X, y, tolerance="1%")


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (LinearSVC(loss="hinge", tol=0.1, max_iter=100_000), 2),
        (LinearSVC(tol=0.1), 3),  # one model for each class has no common objective
        (Ridge(positive=True), 0),
    ],
)
def test_what_has_no_certificate_is_sampled(people, regression, model, classes):
    X, y = people if classes else regression[1:]
    y = X["port"] if classes == 3 else y
    audited = AuditedModel.from_fit(make_pipeline(encoder(), model).fit(X, y), X, y)
    problem, reason = _certified(audited, {})
    assert problem is None and "no objective whose minimum is certified" in reason


class Additive(LogisticRegression):
    """What an explainable boosting machine shows of itself: scores of its terms."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.term_scores_ = [np.append(0.0, slope) for slope in self.coef_[0]]
        return self


@pytest.mark.slow
def test_an_explainable_boosting_machine_is_refitted_and_the_audit_says_why(people):
    X, y = people
    model = make_pipeline(encoder(), Additive()).fit(X, y)
    found = audit(model, X, y, n_models=3, random_state=0)
    assert found.kind == "sampled" and (found.flips["label"] == model.predict(X)).all()
    assert "Why sampled" in str(found) and "minimise no objective" in str(found)


def test_the_machine_of_interpret_is_refitted(people):
    X, y = people
    glassbox = pytest.importorskip("interpret.glassbox")
    fitted = glassbox.ExplainableBoostingClassifier(max_rounds=5, outer_bags=1, n_jobs=1)
    fitted.fit(X[["fare"]], y)
    assert "minimise no objective" in str(audit(fitted, X[["fare"]], y, n_models=2))


@pytest.mark.slow
def test_a_frozen_estimator_is_audited_as_what_it_holds(people):
    """Alone, and at the start, in a branch, or at the end of a pipeline."""
    X, y = people
    plain = make_pipeline(encoder(), LogisticRegression(max_iter=1000, tol=1e-8)).fit(X, y)
    start, end = map(FrozenEstimator, (plain[0], plain[-1]))
    frozen = [
        FrozenEstimator(plain),
        make_pipeline(start, plain[-1]),
        make_pipeline(start, end),
        make_pipeline(encoder(), FrozenEstimator(plain[-1])).fit(X, y),
        make_pipeline(FrozenEstimator(make_pipeline(encoder()).fit(X)), plain[-1]),
    ]
    expected = audit(plain, X, y, tolerance="1%", n_models=5)
    for model in frozen:
        found = audit(model, X, y, tolerance="1%", n_models=5)
        assert found.kind == "exact" and "Frozen" not in str(found)
        assert found.coefficients.equals(expected.coefficients)
    assert audit(frozen[1], X, y, tolerance="cv").psi > 0  # it is not fitted again
