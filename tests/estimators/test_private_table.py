"""PrivateTable: one charge for preparation and model, from a raw table to its predictions."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import rashomon_explorer as rx
from rashomon_explorer import exceptions
from rashomon_explorer.data import Categorical, IgnoredColumn, Numeric, TableSchema
from rashomon_explorer.sets import ReleasedSet

N = 8_000
CLASSIFIER = rx.DPClassifier(classes=["no", "yes"])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"age": rng.integers(18, 80, N), "home": rng.choice(["own", "rent", "free"], N)}
    )
    frame["debt"] = rng.lognormal(8, 1, N)
    frame = frame.mask(rng.random(frame.shape) < 0.05)
    return frame, np.where((frame["age"] > 40) ^ (rng.random(N) < 0.1), "yes", "no")


def private(**settings):
    return rx.PrivateTable(CLASSIFIER, **{"epsilon": 2.0, "random_state": 0, **settings})


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_preparation_and_model_are_one_charge_of_what_was_asked(table, tmp_path, delta):
    ledger = rx.Ledger.create(tmp_path / "data.ledger", epsilon=3.0, delta=1e-5)
    model = private(ledger=ledger, delta=delta, random_state=None)
    planned = model.plan(N, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.WeakGuaranteeWarning)  # no levels at δ = 0
        fitted = model.fit(*table)
    (entry,) = ledger.entries()
    assert entry.guarantee.epsilon(delta) == fitted.guarantee_.epsilon(delta) == 2.0
    assert entry.guarantee.delta(2.0) == delta and not fitted.guarantee_.seeded
    assert planned.guarantee.epsilon(delta) == 2.0 and fitted.plan_.each == planned.each
    preparation = planned.preparation
    assert preparation.epsilon == pytest.approx(0.4) and preparation.delta == delta / 2
    assert preparation.epsilon + planned.each[0] <= 2.0 >= 1.999 * 1.0
    assert fitted.estimator_.guarantee_ == fitted.guarantee_
    own = fitted.estimator_.plan_.guarantee
    assert own.epsilon(planned.each[1]) <= planned.each[0]
    assert fitted.score(*table) > 0.8
    assert "3 undeclared" in repr(planned) and "preparation" in repr(planned)


def test_declared_columns_cost_nothing(table):
    X, y = table
    schema = TableSchema(
        [
            Numeric("age", (18, 80), missing="indicator"),
            Categorical("home", ["own", "rent", "free"], missing="fill"),
            Numeric("debt", (0, 1e6), typical=(0, 10_000), missing="fill"),
        ]
    )
    fitted = private(schema=schema).fit(X, y)
    assert fitted.plan_.each == (2.0, 1e-6) and fitted.plan_.preparation.k == 0
    assert fitted.schema_ == schema and fitted.guarantee_.epsilon(1e-6) <= 2.0
    some = private(schema=TableSchema(schema.columns[:2])).fit(X, y)
    assert some.plan_.preparation.k == 1 and some.schema_["home"] == schema["home"]
    whole = private().plan(N, 3).preparation
    assert some.plan_.preparation.deviation(1) < whole.deviation(3)


def test_a_seed_repeats_it_and_the_order_of_the_rows_says_nothing(table):
    X, y = table
    fitted, again = private().fit(X, y), clone(private()).fit(X, y)
    assert fitted.schema_ == again.schema_ and fitted.guarantee_.seeded
    assert np.array_equal(fitted.estimator_.encoded_coef_, again.estimator_.encoded_coef_)
    order = np.random.default_rng(0).permutation(N)
    assert private().fit(X.iloc[order], y[order]).schema_ == fitted.schema_
    assert private(random_state=1).fit(X, y).schema_ != fitted.schema_


def test_raw_tables_of_every_kind_are_predicted_alike(table, tmp_path):
    X, y = table
    fitted = private().fit(X, y)
    labels = fitted.predict(X)
    for form in (pl.from_pandas(X), pl.from_pandas(X).to_arrow(), X[["debt", "age", "home"]]):
        assert np.array_equal(fitted.predict(form), labels)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), labels)
    fitted.release().save(tmp_path / "model.npz")
    released = ReleasedSet.load(tmp_path / "model.npz")
    assert np.array_equal(np.asarray(released.predict(X)).ravel(), labels)
    assert released.guarantee == fitted.guarantee_ and released.schema == fitted.schema_
    polars = clone(private()).fit(pl.from_pandas(X), pl.Series(y))
    assert polars.schema_ == fitted.schema_
    with pytest.raises(exceptions.DataError, match="the table lacks 'home', which the schema"):
        fitted.predict(X.drop(columns="home"))
    with pytest.raises(exceptions.DataError, match="'extra', which the schema does not declare"):
        fitted.predict(X.assign(extra=1))


def test_sets_trees_and_regressions_state_the_total(table):
    X, y = table
    for estimator in (rx.RashomonClassifier, rx.RashomonTreeClassifier):
        model = rx.PrivateTable(estimator(classes=["no", "yes"]), random_state=0).fit(X, y)
        assert model.estimator_.rashomon_set_.guarantee == model.guarantee_
        assert model.estimator_.rashomon_set_.release().guarantee.epsilon(1e-6) == 1.0
    debt = X["age"].fillna(40) + X["debt"].fillna(0) / 1e4
    model = rx.PrivateTable(rx.DPRegressor(target_bounds=(0, 100)), random_state=0).fit(X, debt)
    assert model.score(X, debt) > 0.5 and model.guarantee_.epsilon(1e-6) == 1.0


def test_the_target_is_not_a_feature_of_its_own_table(table):
    X, y = table
    joined = X.assign(repaid=y)
    fitted = private().fit(joined, joined["repaid"])
    assert fitted.feature_names_in_.tolist() == ["age", "home", "debt"]
    assert np.array_equal(fitted.predict(X), fitted.predict(joined))


def test_what_cannot_work_is_refused_before_a_charge(table, tmp_path):
    X, y = table
    ledger = rx.Ledger.create(tmp_path / "data.ledger", epsilon=9.0, delta=1e-5)
    for model, rows, error in (
        (private(ledger=ledger), (X[:60], y[:60]), "cannot be described"),
        (private(ledger=ledger, categorical=["hom"]), (X, y), "hom"),
        (rx.PrivateTable(rx.DPClassifier(), ledger=ledger), (X, y), "classes must be declared"),
        (rx.PrivateTable(rx.DPRegressor(), ledger=ledger), (X, X["age"]), "target_bounds"),
        (private(ledger=ledger, epsilon=20.0), (X, y), "budget|remain|left"),
        (private(ledger=ledger), (rx.rows.chunk_rows(X, y), None), "whole tables"),
    ):
        with pytest.raises((ValueError, TypeError, RuntimeError), match=error):
            model.fit(*rows)
    for wrong, error in (
        (rx.PrivateTable(rx.DPClassifier(schema=TableSchema([Numeric("a", (0, 1))]))), "schema="),
        (rx.PrivateTable(rx.PrivateSearch(rx.DPClassifier(), {})), "must be DPClassifier"),
        (rx.PrivateTable(rx.RashomonClassifier(mechanism="hit_and_run")), "no guarantee"),
    ):
        with pytest.raises((ValueError, TypeError), match=error):
            wrong.plan(N, 3)
    assert ledger.entries() == []


def test_columns_that_the_noise_hides_are_named(table):
    X, y = table
    with pytest.warns(exceptions.WeakGuaranteeWarning, match="no count of 'key' was above"):
        fitted = private().fit(X.assign(key=[f"k{i}" for i in range(N)]), y)
    assert isinstance(fitted.schema_["key"], IgnoredColumn)


def test_unconfirmed_declarations_void_the_guarantee(table):
    X, y = table
    proposed = rx.propose_schema(X[["age"]])
    with pytest.warns(exceptions.PrivacyLeakWarning):
        fitted = private(schema=proposed).fit(X, y)
    assert not fitted.guarantee_.holds and not fitted.estimator_.guarantee_.holds
    with pytest.raises(exceptions.CuratorOnlyError):
        fitted.release()
