"""A released set predicts on the raw table, as the estimator does, and refuses other encodings."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor, RashomonTreeClassifier, data
from rashomon_explorer.data import IgnoredColumn, Numeric, TableSchema
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.rows import chunk_rows
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.scores import released_schema

LOW, HIGH = 18.0625, 61.4375  # bounds of the sensitive column, read off the rows
SCHEMA = TableSchema(
    [
        IgnoredColumn("id"),
        Numeric("age", (18, 90)),
        data.Categorical("home", ["own", "rent", "other"]),
        data.Ordered("school", ["none", "high", "college"]),
        Numeric("income", (0, 100_000), missing="indicator"),
        data.YesNo("repaid", ["no", "yes"], role="target"),
        Numeric("pay", (LOW, HIGH), role="sensitive", learnt=["bounds"]),
    ]
)
FEATURES = ["age", "home", "school", "income"]


def table(n=300):
    rng = np.random.default_rng(0)
    age, income = rng.uniform(18, 90, n), rng.uniform(0, 100_000, n)
    income[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame({"id": [f"person-{k}" for k in range(n)], "age": age, "income": income})
    frame["home"] = rng.choice(["own", "rent", "other"], n)
    frame["school"] = rng.choice(["none", "high", "college"], n)
    frame["pay"] = rng.uniform(LOW, HIGH, n)
    better = (age > 50).astype(int) + (frame["home"] == "own") + rng.normal(size=n) > 1
    return frame.assign(repaid=np.where(better, "yes", "no"))


FRAME = table()
ROWS = FRAME[FEATURES]
STRONG: dict[str, Any] = {"epsilon": 300.0, "n_draws": 7}
EXACT: dict[str, Any] = {**STRONG, "mechanism": "exact", "radius": 4.0}


@pytest.fixture(scope="module", params=["classifier", "regressor", "trees"])
def fitted(request):
    if request.param == "classifier":
        return RashomonClassifier(**EXACT, schema=SCHEMA).fit(FRAME, FRAME["repaid"])
    if request.param == "trees":
        trees = RashomonTreeClassifier(**STRONG, max_leaves=3, schema=SCHEMA)
        return trees.fit(FRAME, FRAME["repaid"])
    columns = [IgnoredColumn("repaid") if c.name == "repaid" else c for c in SCHEMA.columns]
    model = RashomonRegressor(**EXACT, target_bounds=(0, 100), schema=TableSchema(columns))
    return model.fit(FRAME, FRAME["age"])


def test_a_release_predicts_on_the_raw_table_as_the_estimator(fitted, tmp_path):
    expected = fitted.predict(FRAME)
    released = fitted.rashomon_set_.release()
    released.save(tmp_path / "set.npz")
    assert len(np.unique(expected)) > 1
    for models in (released, type(released).load(tmp_path / "set.npz")):
        for raw in (FRAME, FRAME[FEATURES[::-1]], ROWS.to_numpy(object)):
            np.testing.assert_array_equal(models.predict(raw), expected)
        encoded = np.asarray(fitted.encoder_.transform(FRAME))
        expected_scores = fitted.rashomon_set_.scores(encoded)
        np.testing.assert_array_equal(models.scores(models.encode(FRAME)), expected_scores)


CODES = ROWS.assign(**{name: pd.factorize(FRAME[name])[0] for name in ("home", "school")})
ENCODER = data.TableEncoder(TableSchema([SCHEMA[name] for name in FEATURES]))
WRONG = {
    "columns of an array in another order": ROWS[FEATURES[::-1]].to_numpy(object),
    "fewer columns": ROWS[["age", "home"]].to_numpy(object),
    "more columns": np.column_stack([ROWS.to_numpy(object)] * 3),
    "other names": ROWS.rename(columns={"age": "years"}), "a column lacks": ROWS[FEATURES[1:]],
    "codes for text": CODES, "codes for text, as an array": CODES.to_numpy(float),
    "one row of codes": CODES[:1], "text for numbers": ROWS.assign(age="young"),
    "scaled numbers in an array": ROWS.assign(age=ROWS.age / 90).to_numpy(object),
    "scaled numbers in a frame": ROWS.assign(age=ROWS.age / 90), "indicators": pd.get_dummies(ROWS),
    "the encoded rows": ENCODER.fit_transform(ROWS),
}  # fmt: skip


def test_a_table_encoded_otherwise_is_refused(fitted):
    released = fitted.rashomon_set_.release()
    for case, rows in WRONG.items():
        refused = pytest.raises((DataError, ValueError), match=r"declares|does not declare|lacks")
        with refused:
            released.predict(rows)
            pytest.fail(case)
    # The control: one strange person is no table encoded otherwise.
    strange = FRAME[:1].assign(home="boat", age=95.0)
    with pytest.warns(UserWarning):
        expected = fitted.predict(strange)
    with pytest.warns(UserWarning):
        assert released.predict(strange) == expected


def test_nothing_that_was_read_off_the_rows_is_in_the_file(fitted, tmp_path):
    released = fitted.rashomon_set_.release()
    released.save(tmp_path / "set.npz")
    content = (tmp_path / "set.npz").read_bytes()
    for secret in (str(LOW), str(HIGH), "person-", *map(repr, FRAME["income"][:20].tolist())):
        assert secret.encode() not in content
    fitted.rashomon_set_.save(tmp_path / "curator.npz")  # the control
    assert str(LOW).encode() in (tmp_path / "curator.npz").read_bytes()
    assert released.schema["pay"] == IgnoredColumn("pay", role="sensitive")
    curators = RashomonSet.load(tmp_path / "curator.npz")
    assert curators.schema == TableSchema.from_schema_or_path(fitted.schema)
    assert curators.release().schema == released.schema


def test_a_schema_that_nobody_confirmed_is_not_released():
    learnt = TableSchema([Numeric("age", (18, 90), learnt=["bounds"])])
    with pytest.warns(PrivacyLeakWarning):
        fit = RashomonClassifier(schema=learnt, n_draws=3).fit(FRAME[["age"]], FRAME["repaid"])
    assert not fit.guarantee_.holds
    assert released_schema(learnt, ("age",)) is None
    assert released_schema(learnt.confirm("age"), ("age",)) == learnt.confirm("age")


def test_a_set_without_a_schema_refuses_a_raw_table(fitted):
    old = replace(fitted.rashomon_set_.release(), schema=None)
    with pytest.raises(DataError, match="has no schema"):
        old.predict(FRAME)
    with pytest.raises(ValueError, match=r"shape \(n_rows, 6\)|could not convert"):
        old.predict(ROWS.to_numpy(object))
    encoded = np.asarray(fitted.encoder_.transform(FRAME))
    np.testing.assert_array_equal(old.predict(encoded), fitted.predict(FRAME))


@pytest.mark.parametrize(
    "model",
    [RashomonClassifier(**EXACT), RashomonTreeClassifier(**STRONG, thresholds=0.0)],
    ids=["linear", "trees"],
)
def test_without_a_schema_columns_are_compared_by_name(model):
    X = pd.DataFrame(np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2)), columns=["b", "a"])
    released = model.fit(X, X["b"] > 0).rashomon_set_.release()
    for same in (X, X.to_numpy(), X[["a", "b"]]):
        np.testing.assert_array_equal(released.predict(same), model.predict(X))
    linear = isinstance(model, RashomonClassifier)
    doors = ("predict", "scores", "labels", "rows") if linear else ("predict",)
    for wrong in (X.rename(columns={"a": "c"}), X.assign(c=1.0)):
        for door in doors:
            with pytest.raises(DataError, match=r"columns \['b', 'a'\], got"):
                getattr(released, door)(wrong)
    with pytest.raises(ValueError, match="shape"):
        released.predict(X.assign(c=1.0).to_numpy())


def test_a_frame_with_the_declared_columns_is_a_raw_table_unless_an_encoder_returned_it():
    schema = TableSchema([Numeric("age", (18, 90)), Numeric("income", (0, 1))])
    X = FRAME[["age", "income"]].fillna(0) / [1, 100_000]
    clf = RashomonClassifier(schema=schema, **EXACT).fit(X, FRAME["repaid"])
    released, encoded = clf.rashomon_set_.release(), clf.encoder_.transform(X)
    expected = released.scores(released.encode(X))
    for same in (X, encoded, encoded[:], X[["income", "age"]], X.assign(income=X.income)):
        np.testing.assert_array_equal(released.scores(same), expected)
    unmarked = pd.DataFrame(np.asarray(encoded), columns=X.columns)
    with pytest.raises(DataError, match="no value within its bounds"):
        released.scores(unmarked)
    for unnamed in (X.to_numpy(), np.asarray(encoded), X.to_numpy().tolist()):
        with pytest.raises(DataError, match="Give the raw table as a DataFrame"):
            released.scores(unnamed)
    np.testing.assert_array_equal(clf.predict(X.to_numpy()), clf.predict(X))


@pytest.mark.slow
def test_three_classes_of_chunked_rows_carry_their_schema():
    schema, X = TableSchema([SCHEMA["age"], SCHEMA["home"]]), FRAME[["age", "home"]]
    clf = RashomonClassifier(schema=schema, classes=["none", "high", "college"], epsilon=900.0)
    released = clf.fit(chunk_rows(X, FRAME["school"])).rashomon_set_.release()
    np.testing.assert_array_equal(released.predict(X), clf.predict(X))
