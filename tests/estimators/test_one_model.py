"""DPClassifier and DPRegressor: plan, price, ledger, schema, classes, pipelines, what is kept."""

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rashomon_explorer import (
    DPClassifier,
    DPRegressor,
    Ledger,
    PublicBoundsScaler,
    RashomonClassifier,
    RashomonRegressor,
    TableSchema,
    privacy_leaks,
)
from rashomon_explorer.data import Categorical, Numeric
from rashomon_explorer.exceptions import (
    PrivacyLeakWarning,
    SamplerError,
    WeakGuaranteeWarning,
)
from rashomon_explorer.mechanisms.planning.options import cost
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed

pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
CLASSES = [0, 1]
ONE_MODEL = [name for name, kind in MECHANISMS.items() if kind.traits.one_model]


def classifier(**settings: Any) -> DPClassifier:
    return DPClassifier(**{"epsilon": 8.0, "random_state": 0, "classes": CLASSES, **settings})


@crossed({"mechanism": ["auto", *ONE_MODEL], "kind": ["classes", "numbers"]})
def test_every_mechanism_fits_within_its_cost(X, labels, targets, mechanism, kind):
    model: Any = classifier(mechanism=mechanism, ridge=0.0)
    y = labels
    if kind == "numbers":
        model, y = DPRegressor(mechanism=mechanism, epsilon=8.0, random_state=0), targets
    try:
        planned = model.plan(*X.shape)
    except SamplerError as error:
        assert mechanism in ("iterated", "iterated_batches", "moments", "noisy_sgd")
        assert "does not apply" in str(error)
        return
    fitted = model.fit(X, y)
    assert fitted.plan_ == planned
    assert fitted.guarantee_.epsilon(1e-6) <= 8.0 * (1 + 1e-9)
    assert fitted.guarantee_.seeded
    assert fitted.excess_bound_ == planned.excess_bound
    assert fitted.predict(X).shape == (120,)
    again = clone(model).fit(X, y)
    assert np.array_equal(again.encoded_coef_, fitted.encoded_coef_)


SAME = {"epsilon": [0.1, 1.0, 8.0], "delta": [0.0, 1e-6], "charged": [False, True]}


@crossed({**SAME, "kind": ["two", "three", "numbers"], "standardize": ["auto", "private", None]})
def test_it_is_the_model_of_a_set_with_one_draw(
    X, labels, targets, kind, epsilon, delta, charged, standardize, tmp_path
):
    """Bit by bit: both are one planner and one fit."""
    known: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "standardize": standardize}
    known |= {"random_state": 3}
    if charged:
        ledger = Ledger.create(tmp_path / "l.sqlite", epsilon=50.0, delta=1e-5)
        known["ledger"] = ledger
    pair: tuple[Any, Any] = DPClassifier, RashomonClassifier
    y = labels if kind == "two" else np.digitize(X[:, 0], [-0.15, 0.15])
    if kind == "numbers":
        pair, y = (DPRegressor, RashomonRegressor), targets
    else:
        known["classes"] = CLASSES if kind == "two" else [0, 1, 2]
    one, other = pair[0](**known), pair[1](**known, n_draws=1, psi=0.0)
    one.fit(X, y)
    other.fit(X, y)
    np.testing.assert_array_equal(one.encoded_coef_, other.encoded_coef_)
    np.testing.assert_array_equal(one.encoded_intercept_, other.encoded_intercept_)
    assert one.plan_ == other.plan_ and one.guarantee_ == other.guarantee_
    if charged:
        first, second = ledger.entries()
        assert first.guarantee == second.guarantee and first.parameters == second.parameters


def test_predictions_are_those_of_the_coefficients(X, labels, targets):
    model = classifier(epsilon=100.0).fit(X, labels)
    scores = X @ model.encoded_coef_[0] + model.encoded_intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)))
    assert np.array_equal(model.predict(X), (scores > 0).astype(int))
    assert model.score(X, labels) > 0.8
    far = np.full((1, 3), 1e6)  # is shortened to the declared norm, as in fit
    np.testing.assert_allclose(
        model.decision_function(far),
        (far / np.linalg.norm(far)) @ model.encoded_coef_[0] + model.encoded_intercept_,
    )
    wide = DPRegressor(epsilon=900.0, target_bounds=(-20, 40), random_state=0).fit(X, 20 * targets)
    np.testing.assert_allclose(wide.predict(X), X @ wide.encoded_coef_ + wide.encoded_intercept_)
    assert wide.score(X, 20 * targets) > 0.5


def test_a_model_is_near_the_best_where_the_price_is_no_matter(X, labels):
    model = classifier(epsilon=1e6, radius=3.0, ridge=0.1).fit(X, labels)
    best = Problem(X, 2.0 * labels - 1, radius=3.0, ridge=0.1).minimum.theta
    np.testing.assert_allclose(
        [*model.encoded_coef_[0], model.encoded_intercept_[0]], best, atol=1e-3
    )


def test_three_classes_and_losses_of_margins(X):
    three = np.digitize(X[:, 0], [-0.15, 0.15])
    model = DPClassifier(epsilon=300.0, classes=[0, 1, 2], random_state=0).fit(X, three)
    assert model.encoded_coef_.shape == (3, 3) and not model.encoded_coef_[0].any()
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(120))
    assert model.score(X, three) > 0.6
    hinge = classifier(loss="hinge", epsilon=10.0).fit(X, X[:, 0] > 0)
    assert hinge.score(X, X[:, 0] > 0) > 0.6 and not hasattr(hinge, "predict_proba")
    with pytest.raises(ValueError, match="Only binary classification is supported by loss='hinge'"):
        DPClassifier(loss="hinge", classes=[0, 1, 2]).fit(X, three)
    noisy = X[:, 0] + 0.1 * np.random.default_rng(0).standard_normal(120)
    absolute = DPRegressor(loss="absolute", epsilon=5.0, random_state=0).fit(X, noisy)
    assert absolute.predict(X).shape == (120,)


def test_auto_takes_the_least_expected_loss_and_says_why(X, labels):
    planned = classifier().plan(5_000, 3)
    costs = {one.name: cost(one.name, one.plan) for one in planned.options if one.applies}
    assert costs[planned.mechanism] == min(costs.values())
    assert "lowest expected loss; it never gives up" in planned.why
    new = classifier(goal="population").plan(5_000, 3)
    costs = {one.name: cost(one.name, one.plan, "population") for one in new.options if one.applies}
    assert costs[new.mechanism] == min(costs.values()) and "on new rows" in new.why
    compared = {name for name, kind in MECHANISMS.items() if kind.traits.compared}
    assert {one.name for one in planned.options} == compared
    assert planned.why in repr(planned) and planned._repr_html_().startswith("<table>")
    fitted = classifier(epsilon=1e3).fit(X, labels)
    assert f"# fitted: {fitted.plan_.mechanism} on 120 rows, excess ≤" in repr(fitted)


def test_a_method_that_does_not_apply_is_refused_before_a_charge(X, labels, tmp_path):
    ledger = Ledger.create(tmp_path / "l.sqlite", epsilon=10.0, delta=1e-5)
    with pytest.raises(SamplerError, match="needs delta > 0"):
        classifier(mechanism="langevin_average", delta=0.0, ledger=ledger).fit(X, labels)
    assert not ledger.entries()


def test_a_schema_and_pipelines(X, labels, targets):
    frame = pd.DataFrame({"age": 40 + 30 * X[:, 0], "home": np.where(X[:, 1] > 0, "own", "rent")})
    columns = [Numeric("age", (0, 100)), Categorical("home", ["own", "rent"])]
    fitted = classifier(schema=TableSchema(columns)).fit(frame, labels)
    assert fitted.encoded_coef_.shape == (1, 3) and fitted.n_features_in_ == 2
    assert fitted.predict(frame).shape == (120,)
    pipe = make_pipeline(PublicBoundsScaler((-1, 1)), DPRegressor(epsilon=50.0)).fit(X, targets)
    assert pipe[-1].guarantee_.holds and privacy_leaks(pipe) == []
    assert privacy_leaks(make_pipeline(StandardScaler(), DPClassifier())) != []
    with pytest.warns(PrivacyLeakWarning):
        leaking = make_pipeline(PublicBoundsScaler("learn"), classifier()).fit(X, labels)
    assert not leaking[-1].guarantee_.holds


def test_a_pickle_holds_nothing_of_the_rows_but_the_model(X, labels):
    """Two tables of one shape, a fixed seed: all but the model is the same."""
    one, other = (classifier().fit(rows, labels) for rows in (X, -X))
    ours, theirs = vars(pickle.loads(pickle.dumps(one))), vars(other)
    differing = {key for key in ours if repr(ours[key]) != repr(theirs[key])}
    assert differing == {"encoded_coef_", "encoded_intercept_"}


def test_a_weak_guarantee_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(WeakGuaranteeWarning, match="weak guarantee"):
            classifier(epsilon=0.01).plan(50, 3)


@pytest.mark.parametrize("epsilon", [1e-4, 1e3])
def test_odd_settings_work(X, labels, epsilon):
    for delta in (0.0, 1e-12, 0.5):
        model = classifier(epsilon=epsilon, delta=delta).fit(X, labels)
        assert np.isfinite(model.encoded_coef_).all()
        assert model.guarantee_.epsilon(delta) <= epsilon * (1 + 1e-9)


def test_bounds_in_single_precision_are_numbers_like_others(X, labels):
    bounds = {"radius": 2.0, "row_norm": 1.0, "epsilon": 2.0}
    coarse = {name: np.float32(value) for name, value in bounds.items()}
    one, other = (classifier(**each).fit(X, labels) for each in (bounds, coarse))
    assert one.plan_ == other.plan_
    np.testing.assert_array_equal(one.encoded_coef_, other.encoded_coef_)
