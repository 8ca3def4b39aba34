"""scikit-learn's meta-estimators around private classifiers of labels in words."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from rashomon_explorer import DPClassifier, Ledger, RashomonClassifier
from rashomon_explorer.estimators.targets import LABELS_ARE_NUMBERED

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 3))
TWO = np.where(X[:, 0] + 0.3 * RNG.standard_normal(400) > 0, "yes", "no")
THREE = np.where(X[:, 1] > 0.5, "maybe", TWO)


def vote(model):
    return VotingClassifier([("private", model), ("plain", LogisticRegression())])


META = {
    "voting": vote,
    "bagging": lambda model: BaggingClassifier(model, 2, bootstrap=False, max_samples=0.5),
    "stacking": lambda model: StackingClassifier([("private", model)], cv=2),
    "rest": OneVsRestClassifier,
    "pairs": OneVsOneClassifier,
    "calibrated": lambda model: CalibratedClassifierCV(model, cv=2),
    "grid": lambda model: GridSearchCV(model, {"epsilon": [3.0]}, cv=2),
}
CODING = ("voting", "bagging", "stacking", "rest", "pairs")


def private(kind=DPClassifier, classes=("no", "yes"), **options):
    return kind(epsilon=3.0, delta=1e-6, row_norm=2.0, classes=list(classes), **options)


def inner_fits(model):
    """Fitted private classifiers inside a fitted meta-estimator."""
    listed = [*getattr(model, "estimators_", [])]
    listed += [part.estimator for part in getattr(model, "calibrated_classifiers_", [])]
    listed += [model.best_estimator_] if hasattr(model, "best_estimator_") else []
    return [part for part in listed if hasattr(part, "guarantee_")]


@pytest.mark.parametrize("kind", [DPClassifier, RashomonClassifier])
@pytest.mark.parametrize("name", META)
def test_two_declared_labels_may_arrive_as_numbers_and_the_guarantee_says_so(name, kind):
    options = {"n_draws": 2} if kind is RashomonClassifier else {}
    model = META[name](private(kind, random_state=0, **options)).fit(X, TWO)
    assert (model.predict(X) == TWO).mean() > 0.7
    fits = inner_fits(model)
    assert fits
    for fit in fits:
        assert (LABELS_ARE_NUMBERED in fit.guarantee_.assumptions) == (name in CODING)
        assert fit.classes_.tolist() == ([0, 1] if name in CODING else ["no", "yes"])


@pytest.mark.parametrize("name", CODING)
def test_of_more_labels_the_numbers_are_declared(name):
    numbers = (0, 1) if name in ("rest", "pairs") else (0, 1, 2)
    model = META[name](private(classes=numbers, random_state=0)).fit(X, THREE)
    assert set(model.predict(X)) <= {"maybe", "no", "yes"}
    with pytest.raises(ValueError, match="not among the declared classes"):
        META[name](private(classes=("maybe", "no", "yes"), random_state=0)).fit(X, THREE)


def test_under_a_ledger_the_type_of_labels_is_read_after_the_charge(tmp_path):
    """Predictions and the charge equal those of declared numbers."""
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=100.0, delta=1e-3)
    numbers = (TWO == "yes").astype(int)
    fit = private(ledger=ledger.path, random_state=None).fit(X, numbers)
    assert [entry.state for entry in ledger.entries()] == ["committed"]
    assert fit.classes_.tolist() == [0, 1] and LABELS_ARE_NUMBERED in fit.guarantee_.assumptions
    alike = private(classes=(0, 1), random_state=0).fit(X, numbers)
    assert (private(random_state=0).fit(X, numbers).predict(X) == alike.predict(X)).all()


def test_one_path_takes_numbered_labels():
    model = private(RashomonClassifier, mechanism="langevin", n_draws=5, random_state=0)
    with model.draw_path(X, (TWO == "yes").astype(int)) as path:
        next(path)
    assert model.classes_.tolist() == [0, 1]
    assert LABELS_ARE_NUMBERED in model.guarantee_.assumptions


def test_labels_in_words_are_not_taken_for_numbers():
    """Whole numbers beside declared numbers, and words beside words, are read as they are."""
    for classes, y in (([0, 1], (TWO == "yes").astype(int)), (["no", "yes"], TWO)):
        fit = private(classes=classes, random_state=0).fit(X, y)
        assert LABELS_ARE_NUMBERED not in fit.guarantee_.assumptions
        assert fit.classes_.tolist() == classes
    with pytest.raises(ValueError, match="not among the declared classes"):
        private(random_state=0).fit(X, np.where(TWO == "yes", 2, 1))
