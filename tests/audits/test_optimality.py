"""A fitted model that its solver left above the minimum is audited, and told so."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression, Ridge

from rashomon_explorer import audit
from rashomon_explorer.audits.comparison import Optimality

X, Y = (part[:250] for part in load_breast_cancer(return_X_y=True, as_frame=True))
X = X.iloc[:, :15]


def stopped(model, X=X, y=Y):
    with pytest.warns(ConvergenceWarning):
        return model.fit(X, y)


def objective(coef, intercept):
    """Objective of LogisticRegression(C=1), as a mean over rows."""
    scores = X.to_numpy() @ np.ravel(coef) + intercept
    return np.logaddexp(0, -np.where(Y == 1, 1, -1) * scores).mean() + (coef**2).sum() / len(X) / 2


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        pytest.param(LogisticRegression(max_iter=200), marks=pytest.mark.law),
        pytest.param(
            LogisticRegression(solver="saga", max_iter=300, random_state=0), marks=pytest.mark.law
        ),
    ],
    ids=["default", "more steps", "saga"],
)
def test_the_excess_of_a_raw_default_fit_is_that_above_newtons_minimum(model):
    stopped(model)
    best = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000).fit(X, Y)
    excess = objective(model.coef_, model.intercept_) - objective(best.coef_, best.intercept_)
    found = audit(model, X, Y)
    assert found.optimality.excess == pytest.approx(excess, rel=1e-4)
    assert found.optimality.inside == (excess <= found.psi)
    changed = model.predict(X) != best.predict(X)
    assert found.optimality.changed.index.tolist() == np.flatnonzero(changed).tolist()
    assert (found.optimality.changed["fitted label"] == model.predict(X)[changed]).all()
    text = repr(found)
    assert f"{100 * excess / objective(best.coef_, best.intercept_):.2g} % more than" in text
    assert f"the best one gives {changed.sum()} of 250 people another label" in text
    assert f"it stopped after max_iter={model.max_iter:,} steps: scale the columns" in text
    assert found.summary().loc["fitted excess", "value"] == pytest.approx(excess, rel=1e-4)
    other = audit(best, X, Y)
    assert other.optimality.reached and "Your model" not in repr(other)
    assert other.psi == pytest.approx(found.psi)
    np.testing.assert_array_equal(other.decided["flips"] | changed, found.decided["flips"])
    assert (found.flips["label"] == model.predict(X)).all()
    assert found.tolerances()["flips"].is_monotonic_increasing
    assert found.summary().loc["accuracy", "value"] == pytest.approx(model.score(X, Y))


def test_a_small_excess_is_not_told_and_one_within_psi_is_called_good():
    rows = (X - X.mean()) / X.std()
    converged = audit(LogisticRegression(tol=1e-10, max_iter=1000).fit(rows, Y), rows, Y)
    assert converged.optimality.reached and converged.optimality.inside
    early = audit(stopped(LogisticRegression(max_iter=10), rows), rows, Y)
    assert early.optimality.inside and not early.optimality.reached
    assert "it is one of the good models" in repr(early)


def test_regressions_that_stopped_early_are_audited():
    rows, y = load_diabetes(return_X_y=True, scaled=False)
    lasso = audit(stopped(Lasso(alpha=1e-3, max_iter=3), rows, y), rows, y)
    assert lasso.optimality.excess > 0 and len(lasso.optimality.changed) == len(y)
    assert audit(Ridge().fit(rows, y), rows, y).optimality.reached


@pytest.mark.parametrize(
    ("times", "inside", "reached"),
    [(0.0009, True, True), (0.0011, True, False), (0.99, True, False), (1.01, False, False)],
)
def test_good_ends_at_psi_and_best_at_a_thousandth_of_it(times, inside, reached):
    fitted = Optimality(times * 0.02, 0.02, 0.5, pd.DataFrame(), 3, "more steps")
    assert (fitted.inside, fitted.reached) == (inside, reached)
    assert ("not one of the good models" in fitted.text) == (not inside)


@pytest.mark.parametrize(
    ("times", "text"), [(1.0003, " 1.1 times ψ: it is not"), (0.9999, " 0.99 ")]
)
def test_rounding_never_contradicts_the_verdict(times, text):
    assert text in Optimality(times * 0.02, 0.02, 0.5, pd.DataFrame(), 3, "more steps").text
