"""DPClassifier and DPRegressor: plan, cost, predictions, classes, pipelines, and a pickle."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rashomon_explorer as rx
from rashomon_explorer import DPClassifier, DPRegressor
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.select import expected_loss
from rashomon_explorer.papers import Regularised  # noqa: F401  # registers all of them
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed

CLASSES = [0, 1]
STEPS = {"smooth_sgd", "boosted"}  # thousands a fit
ONE_MODEL = [k for k, kind in MECHANISMS.items() if kind.traits.one_model and k not in STEPS]


def classifier(**settings):
    return DPClassifier(**{"epsilon": 8.0, "random_state": 0, "classes": CLASSES, **settings})


# The state of the last of many sampled steps takes a minute.
TIMED = [
    pytest.param(k, marks=pytest.mark.law) if k == "last_sampled_state" else k for k in ONE_MODEL
]


@crossed({"mechanism": ["auto", *TIMED], "kind": ["classes", "numbers"]})
def test_every_mechanism_fits_within_its_cost(X, labels, targets, mechanism, kind):
    model: Any = classifier(mechanism=mechanism, ridge=0.0)
    y = labels
    if kind == "numbers":
        model, y = (
            DPRegressor(target_bounds=(-1, 1), mechanism=mechanism, epsilon=8.0, random_state=0),
            targets,
        )
    try:
        planned = model.plan(*X.shape)
    except SamplerError as error:
        assert mechanism in ("iterated", "iterated_batches", "moments", "noisy_sgd")
        assert "does not apply" in str(error)
        return
    fitted = model.fit(X, y)
    assert fitted.plan_ == planned
    assert fitted.guarantee_.epsilon(1e-6) <= 8.0 * (1 + 1e-9)
    assert fitted.excess_bound_ == planned.excess_bound
    again = clone(model).fit(X, y)
    assert np.array_equal(again.encoded_coef_, fitted.encoded_coef_)


SAME = {"epsilon": [0.1, 1.0, 8.0], "delta": [0.0, 1e-6], "charged": [False, True]}


@crossed({**SAME, "kind": ["two", "three", "numbers"], "standardize": ["auto", "private", None]})
def test_it_is_the_model_of_a_set_with_one_draw(
    X, labels, targets, kind, epsilon, delta, charged, standardize, ledger
):
    """Bit by bit: both are one planner and one fit."""
    known: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "standardize": standardize}
    known |= {"random_state": 3}
    if charged:
        known["ledger"] = ledger
    pair: tuple[Any, Any] = DPClassifier, rx.RashomonClassifier
    y = labels if kind == "two" else np.digitize(X[:, 0], [-0.15, 0.15])
    if kind == "numbers":
        pair, y = (DPRegressor, rx.RashomonRegressor), targets
        known["target_bounds"] = (-1, 1)
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


FRAME_SCHEMA = TableSchema(
    [Numeric("age", (-1, 1)), Numeric("income", (-1, 1)), Numeric("debt", (-1, 1), thresholds=[0])]
)


@crossed({"schema": [FRAME_SCHEMA, None], "charged": [False, True]})
def test_a_tree_is_that_of_a_set_with_one_draw(frame, schema, charged, ledger):
    known = {"epsilon": 2.0, "classes": [0, 1, 2], "schema": schema, "random_state": 3}
    known |= {"ledger": ledger} if charged else {}
    y = np.digitize(frame["age"], [-0.15, 0.15])
    one = DPClassifier(**known, family="trees").fit(frame, y)
    asked = {"thresholds": 0.0 if schema is None else None, "n_draws": 1, "psi": 0.0}
    other = rx.RashomonTreeClassifier(**known, **asked).fit(frame, y)
    assert one.tree_.trees == other.rashomon_set_.models.trees
    assert one.text() == other.rashomon_set_.text(0)
    assert one.plan_ == other.plan_ and one.plan(frame) == other.plan(frame)
    assert replace(one.guarantee_, assumptions=()) == replace(other.guarantee_, assumptions=())
    assert one.excess_bound_ == other.plan_.excess_bound
    assert np.array_equal(one.predict(frame), other.predict(frame))
    assert np.array_equal(one.predict_proba(frame), other.predict_proba(frame))
    assert not hasattr(one, "decision_function") and not hasattr(one, "encoded_coef_")
    if charged:
        first, second = ledger.entries()
        assert first.guarantee.pure_epsilon == second.guarantee.pure_epsilon
        assert first.parameters == second.parameters
    again = one.set_params(family="linear").fit(frame, y)
    assert again.decision_function(frame).shape == (120, 3) and not hasattr(again, "tree_")


def test_family_is_chosen_from_public_numbers():
    def family(n, **settings):
        return DPClassifier(**{"delta": 0.0, "schema": FRAME_SCHEMA, **settings}).plan(n, 3)

    trees = (family(24), family(240, epsilon=0.1), family(48, classes=[0, 1, 2]))
    assert {one.mechanism for one in trees} == {"counted_trees"}
    assert all("n·ε is at most 8 per parameter" in one.reason for one in trees)
    linear = (family(25), family(241, epsilon=0.1), family(24, family="linear"))
    linear += (family(24, schema=None), family(24, mechanism="output_perturbation"))
    linear += (family(24, classes=[0, 1, 2, 3]),)  # of which few leaves name too few
    assert "counted_trees" not in {one.mechanism for one in linear}
    with pytest.raises(ValueError, match=r"radius=2\.0 is a setting of linear models"):
        family(24, family="trees", radius=2.0)
    search = rx.PrivateSearch(DPClassifier(classes=CLASSES), {"family": ["linear", "trees"]})
    assert search.plan(300, 3).candidates[1].plan.mechanism == "counted_trees"


def test_predictions_are_those_of_the_coefficients(X, labels, targets):
    model = classifier(epsilon=100.0, radius=2.0, standardize=None).fit(X, labels)
    scores = X @ model.encoded_coef_[0] + model.encoded_intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), scores)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)))
    assert np.array_equal(model.predict(X), (scores > 0).astype(int))
    assert model.score(X, labels) > 0.8
    far = np.full((1, 3), 1e6)  # is clipped to the declared norm, as in fit
    np.testing.assert_allclose(
        model.decision_function(far),
        (far / np.linalg.norm(far)) @ model.encoded_coef_[0] + model.encoded_intercept_,
    )
    wide = DPRegressor(epsilon=900.0, target_bounds=(-20, 40), radius=2.0).fit(X, 20 * targets)
    np.testing.assert_allclose(wide.predict(X), X @ wide.encoded_coef_ + wide.encoded_intercept_)
    assert wide.score(X, 20 * targets) > 0.5
    cheap = classifier(epsilon=1e6, radius=3.0, ridge=0.1, standardize=None).fit(X, labels)
    best = Problem(X, 2.0 * labels - 1, radius=3.0, ridge=0.1).minimum.theta
    found = [*cheap.encoded_coef_[0], cheap.encoded_intercept_[0]]
    np.testing.assert_allclose(found, best, atol=1e-3)


def test_losses_of_margins_have_no_probabilities_and_are_binary(X):
    fixed: dict[str, Any] = {"loss": "smoothed_hinge", "radius": 4.0, "random_state": 0}
    made = classifier(epsilon=10.0, mechanism="output_perturbation", **fixed).fit(X, X[:, 0] > 0)
    assert made.score(X, X[:, 0] > 0) > 0.6 and not hasattr(made, "predict_proba")
    with pytest.raises(ValueError, match="Only binary classification is supported by loss='smooth"):
        DPClassifier(**fixed, classes=[0, 1, 2]).fit(X, np.digitize(X[:, 0], [-0.15, 0.15]))


@pytest.mark.parametrize(
    ("goal", "reason"), [("rows", "lowest expected loss; it never gives up"), ("population", "new")]
)
def test_auto_selects_the_least_expected_loss_and_states_the_reason(goal, reason):
    model = classifier(goal=goal, radius=4.0)
    planned = model.plan_ = model.plan(5_000, 3)
    bounds = {"rows": planned.excess_bound, "population": planned.population_bound}
    assert model.excess_bound_ == bounds[goal] and len({*bounds.values()}) == 2
    costs = {
        one.mechanism: expected_loss(one, goal)
        for one in planned.candidates
        if isinstance(one, Plan)
    }
    assert costs[planned.mechanism] == min(costs.values())
    assert reason in planned.reason and planned.reason in repr(planned)
    compared = {name for name, kind in MECHANISMS.items() if kind.traits.compared}
    assert {one.mechanism for one in planned.candidates} == compared


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({"standardize": None}, {"encoded_coef_", "encoded_intercept_"}),
        ({"family": "trees"}, {"tree_"}),
    ],
)
def test_a_pickle_holds_nothing_of_the_rows_but_the_model(X, labels, settings, model):
    """Two tables of one shape, a fixed seed: all but the model is the same."""
    one, other = (classifier(**settings).fit(rows, labels) for rows in (X, -X))
    ours, theirs = vars(pickle.loads(pickle.dumps(one))), vars(other)
    assert {key for key in ours if repr(ours[key]) != repr(theirs[key])} == model
