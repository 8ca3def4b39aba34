"""Another model beside the audited one: on which rows it was measured, and what follows."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import audit
from rashomon_explorer.audits.refits import fold_numbers
from tests.audits.test_crossfit import noisy


class Prefit(ClassifierMixin, BaseEstimator):
    """A classifier that another library fitted: it cannot be fitted again."""

    def __init__(self, model=None):
        self.model = model

    @property
    def classes_(self):
        return self.model.classes_

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        raise TypeError("fitted elsewhere")

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)


@pytest.fixture(scope="module")
def logistic():
    X, y = noisy(240)
    return audit(LogisticRegression().fit(X, y), X, y), X, y


def test_a_forest_that_remembers_its_rows_is_measured_on_others(logistic):
    found, X, y = logistic
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    result = found.compare(forest)
    truth, chances = (y == "yes").to_numpy(), np.empty((2, len(y)))
    folds = fold_numbers(y.to_numpy(), 4, 0, stratify=True)
    for fold in range(4):
        train, test = folds != fold, folds == fold
        for place, model in enumerate((LogisticRegression(), forest)):
            again = clone(model).fit(X[train], y[train])
            chances[place, test] = again.predict_proba(X[test])[:, 1]
    chances = np.clip(chances, 1 / 480, 1 - 1 / 480)
    losses = -np.log(np.where(truth, chances, 1 - chances))
    apart = losses[1] - losses[0]
    assert result.excess == pytest.approx(apart.mean()) and result.excess > 0
    assert result.error == pytest.approx(apart.std(ddof=1) / np.sqrt(240))
    assert result.inside is None and "one of the good models" not in repr(result)
    assert "loses" in repr(result) and "more than the audited one" in repr(result)
    assert "log loss on rows that neither was fitted to" in repr(result)
    assert len(result.changed) == (forest.predict(X) != found.flips["label"]).sum()


def test_a_model_that_cannot_be_fitted_again_is_said_to_be_measured_in_sample(logistic):
    found, X, y = logistic
    result = found.compare(Prefit(RandomForestClassifier(10, random_state=0).fit(X, y)))
    assert result.excess < 0 and result.inside is None  # it remembers the rows
    assert "rows that it was fitted to" in repr(result)
    assert "one of the good models" not in repr(result)


def test_a_model_without_probabilities_is_compared_by_its_errors(logistic):
    found, X, y = logistic
    result = found.compare(SVC(C=0.5).fit(X, y))
    assert result.basis.startswith("mean error rate on rows that neither")
    assert result.inside is None


def test_a_sampled_audit_judges_another_model_as_its_refits():
    X, y = noisy(240)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    found = audit(tree, X, y, n_models=12, random_state=0)
    same = found.compare(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
    assert same.excess == 0 and same.inside is True and not len(same.changed)
    deep = found.compare(DecisionTreeClassifier(random_state=0).fit(X, y))
    assert deep.inside is False and "not one of the good models" in repr(deep)
    listed = [name for name in found.models.names if name.startswith("max_depth")]
    for name in listed:
        setting = {"max_depth": int(name.partition("=")[2])}
        again = found.compare(clone(tree).set_params(**setting).fit(X, y))
        assert again.excess == pytest.approx(found.models.refits.loc[name, "excess"])


def test_a_regression_and_a_list_say_what_was_measured():
    X, y = noisy(200)
    target = X["a"] + 0.3 * np.sin(5 * X["b"])
    found = audit(Ridge().fit(X, target), X, target, tolerance="1%")
    forest = found.compare(RandomForestRegressor(5, random_state=0).fit(X, target))
    assert "half squared error on rows that neither was fitted to" in repr(forest)
    models = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 2, 30)]
    several = audit(models, X, y, tolerance="1%")
    words = repr(several)
    assert "held-out" not in words and "cross-validated" not in words
    assert "on the rows given, if none was fitted to them" in words
    assert "rows given, if neither was fitted to them" in repr(several.compare(models[0]))


def test_lists_of_models_are_decided_by_their_own_rules_or_by_the_threshold():
    X, y = noisy(150)
    fixed = FixedThresholdClassifier(GaussianNB(), threshold=0.3).fit(X, y)
    models = [GaussianNB().fit(X, y), DecisionTreeClassifier(max_depth=2).fit(X, y), fixed]
    own = audit(models, X, y, tolerance=5.0)
    assert own.models.n_draws == 3
    labels = np.stack([model.predict(X) for model in models])
    best = labels[own.models.losses.argmin()]
    assert (own.flips["label"] == best).all()
    assert (own.flips["flips"] == (labels != best).any(axis=0)).all()
    found = audit(models[:2], X, y, tolerance=5.0, threshold=0.7, wanted="no")
    chances = np.stack([model.predict_proba(X)[:, 0] for model in models[:2]])
    best = int(found.models.losses.argmin())
    assert (found.flips["label"] == np.where(chances[best] >= 0.7, "no", "yes")).all()
    assert (found.flips["flips"] == ((chances >= 0.7) != (chances[best] >= 0.7)).any(axis=0)).all()
    assert found.person_ranges["fitted"].to_numpy() == pytest.approx(chances[best])
    with pytest.raises(ValueError, match="wanted must be one of the labels"):
        audit(models, X, y, wanted="maybe")
