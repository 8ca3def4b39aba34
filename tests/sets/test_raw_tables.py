"""A released set predicts on the raw table, as the estimator does, and refuses other encodings."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor, RashomonTreeClassifier
from rashomon_explorer.data import Categorical, IgnoredColumn, Numeric, Ordered, TableSchema, YesNo
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.sets import RashomonSet, ReleasedSet, ReleasedTrees

LOW, HIGH = 18.0625, 61.4375  # bounds of the sensitive column, read off the rows

SCHEMA = TableSchema(
    [
        IgnoredColumn("id"),
        Numeric("age", (18, 90)),
        Categorical("home", ["own", "rent", "other"]),
        Ordered("school", ["none", "high", "college"]),
        Numeric("income", (0, 100_000), missing="indicator"),
        YesNo("repaid", ["no", "yes"], role="target"),
        Numeric("pay", (LOW, HIGH), role="sensitive", learnt=["bounds"]),
    ]
)
FEATURES = ["age", "home", "school", "income"]


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, income = rng.uniform(18, 90, n), rng.uniform(0, 100_000, n)
    income[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "id": [f"person-{k}" for k in range(n)],
            "age": age,
            "home": rng.choice(["own", "rent", "other"], n),
            "school": rng.choice(["none", "high", "college"], n),
            "income": income,
            "pay": rng.uniform(LOW, HIGH, n),
        }
    )
    better = (age > 50).astype(int) + (frame["home"] == "own") + rng.normal(size=n) > 1
    return frame.assign(repaid=np.where(better, "yes", "no"))


FRAME = table()
MAKERS: dict[str, Any] = {
    "classifier": lambda **k: RashomonClassifier(epsilon=300.0, n_draws=7, **k),
    "regressor": lambda **k: RashomonRegressor(
        epsilon=300.0, n_draws=7, target_bounds=(0, 100), **k
    ),
    "trees": lambda **k: RashomonTreeClassifier(epsilon=300.0, n_draws=7, max_leaves=3, **k),
}


def target(name: str) -> Any:
    return FRAME["age"] if name == "regressor" else FRAME["repaid"]


def schema_for(name: str) -> TableSchema:
    if name != "regressor":
        return SCHEMA
    columns = [IgnoredColumn("repaid") if c.name == "repaid" else c for c in SCHEMA.columns]
    return TableSchema(columns)


@pytest.fixture(scope="module", params=list(MAKERS))
def fitted(request: pytest.FixtureRequest) -> Any:
    name = request.param
    return MAKERS[name](schema=schema_for(name)).fit(FRAME, target(name))


def loaded(released: Any, folder: Path) -> Any:
    released.save(folder / "set.npz")
    return type(released).load(folder / "set.npz")


def test_a_release_predicts_on_the_raw_table_as_the_estimator(fitted: Any, tmp_path: Path) -> None:
    expected = fitted.predict(FRAME)
    released = fitted.rashomon_set_.release()
    assert len(np.unique(expected)) > 1
    for models in (released, loaded(released, tmp_path)):
        np.testing.assert_array_equal(models.predict(FRAME), expected)
        np.testing.assert_array_equal(models.predict(FRAME[FEATURES[::-1]]), expected)
        np.testing.assert_array_equal(models.predict(FRAME[FEATURES].to_numpy(object)), expected)
        scores = models.scores(models.encode(FRAME))
        np.testing.assert_array_equal(
            scores, fitted.rashomon_set_.scores(np.asarray(fitted.encoder_.transform(FRAME)))
        )


def codes(frame: pd.DataFrame) -> pd.DataFrame:
    text = {name: pd.factorize(frame[name])[0] for name in ("home", "school")}
    return frame[FEATURES].assign(**text)


WRONG = {
    "columns of an array in another order": lambda f: f[FEATURES[::-1]].to_numpy(object),
    "fewer columns": lambda f: f[["age", "home"]].to_numpy(object),
    "more columns": lambda f: np.column_stack([f[FEATURES].to_numpy(object)] * 3),
    "other names": lambda f: f[FEATURES].rename(columns={"age": "years"}),
    "a column lacks": lambda f: f[FEATURES[1:]],
    "codes for text": codes,
    "codes for text, as an array": lambda f: codes(f).to_numpy(float),
    "one row of codes": lambda f: codes(f)[:1],
    "text for numbers": lambda f: f[FEATURES].assign(age="young"),
    "scaled numbers in an array": lambda f: f[FEATURES].assign(age=f.age / 90).to_numpy(object),
    "scaled numbers in a frame": lambda f: f[FEATURES].assign(age=f.age / 90),
    "indicators": lambda f: pd.get_dummies(f[FEATURES]),
    "the encoded rows": lambda f: SCHEMA_ROWS(f),
}


def SCHEMA_ROWS(frame: pd.DataFrame) -> Any:
    from rashomon_explorer.data import TableEncoder

    return TableEncoder(TableSchema([SCHEMA[name] for name in FEATURES])).fit_transform(
        frame[FEATURES]
    )


@pytest.mark.parametrize("case", WRONG)
def test_a_table_encoded_otherwise_is_refused(fitted: Any, case: str) -> None:
    with pytest.raises((DataError, ValueError), match=r"schema declares|does not declare|lacks"):
        fitted.rashomon_set_.release().predict(WRONG[case](FRAME))


def test_a_level_that_is_not_declared_is_read_by_its_rule(fitted: Any) -> None:
    """The control: one strange person is no table encoded otherwise."""
    strange = FRAME[:1].assign(home="boat", age=95.0)
    with pytest.warns(UserWarning):
        expected = fitted.predict(strange)
    with pytest.warns(UserWarning):
        assert fitted.rashomon_set_.release().predict(strange) == expected


def test_nothing_that_was_read_off_the_rows_is_in_the_file(fitted: Any, tmp_path: Path) -> None:
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


def test_a_schema_that_nobody_confirmed_is_not_released() -> None:
    learnt = TableSchema([Numeric("age", (18, 90), learnt=["bounds"])])
    with pytest.warns(PrivacyLeakWarning):
        fit = RashomonClassifier(schema=learnt, n_draws=3).fit(FRAME[["age"]], FRAME["repaid"])
    from rashomon_explorer.sets.scores import released_schema

    assert not fit.guarantee_.holds
    assert released_schema(learnt, ("age",)) is None
    assert released_schema(learnt.confirm("age"), ("age",)) == learnt.confirm("age")


def without_schema(path: Path) -> None:
    """Rewrite a file as a version without schemas wrote it."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").tobytes())
    del header["schema"]
    np.savez(path, **arrays, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))


def test_files_of_older_versions_open_and_refuse_a_raw_table(fitted: Any, tmp_path: Path) -> None:
    released = fitted.rashomon_set_.release()
    released.save(tmp_path / "old.npz")
    without_schema(tmp_path / "old.npz")
    old = type(released).load(tmp_path / "old.npz")
    assert old.schema is None
    with pytest.raises(DataError, match="has no schema"):
        old.predict(FRAME)
    with pytest.raises(ValueError, match=r"shape \(n_rows, 6\)|could not convert"):
        old.predict(FRAME[FEATURES].to_numpy(object))
    encoded = np.asarray(fitted.encoder_.transform(FRAME))
    np.testing.assert_array_equal(old.predict(encoded), fitted.predict(FRAME))


def test_without_a_schema_columns_are_compared_by_name() -> None:
    X = pd.DataFrame(np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2)), columns=["b", "a"])
    clf = RashomonClassifier(epsilon=300.0, n_draws=5).fit(X, X["b"] > 0)
    released = clf.rashomon_set_.release()
    assert isinstance(released, ReleasedSet)
    np.testing.assert_array_equal(released.predict(X), clf.predict(X))
    np.testing.assert_array_equal(released.predict(X.to_numpy()), clf.predict(X))
    for wrong in (X[["a", "b"]], X.rename(columns={"a": "c"}), X.assign(c=1.0)):
        for ask in (released.predict, released.scores, released.labels, released.rows):
            with pytest.raises(DataError, match=r"columns \['b', 'a'\] in this order"):
                ask(wrong)
    trees = RashomonTreeClassifier(epsilon=300.0, n_draws=3, thresholds=0.0).fit(X, X["b"] > 0)
    paid = trees.rashomon_set_.release()
    assert isinstance(paid, ReleasedTrees)
    np.testing.assert_array_equal(paid.predict(X), trees.predict(X))
    with pytest.raises(DataError, match="in this order"):
        paid.predict(X[["a", "b"]])
    with pytest.raises(ValueError, match="shape"):
        paid.predict(X.assign(c=1.0).to_numpy())


def test_raw_numbers_are_refused_where_encoded_rows_are_expected() -> None:
    schema = TableSchema([Numeric("age", (18, 90)), Numeric("income", (0, 100_000))])
    X = FRAME[["age", "income"]].fillna(0)
    clf = RashomonClassifier(schema=schema, epsilon=300.0, n_draws=5).fit(X, FRAME["repaid"])
    released = clf.rashomon_set_.release()
    with pytest.raises(DataError, match="above row_norm"):
        released.scores(X)
    with pytest.raises(DataError, match="no value within its bounds"):
        released.predict(clf.encoder_.transform(X))
    np.testing.assert_array_equal(
        released.scores(clf.encoder_.transform(X)), released.scores(released.encode(X))
    )


def test_three_classes_and_rows_in_blocks_carry_their_schema() -> None:
    from rashomon_explorer.rows import chunk_rows

    schema = TableSchema([SCHEMA["age"], SCHEMA["home"]])
    X, y = FRAME[["age", "home"]], FRAME["school"]
    clf = RashomonClassifier(schema=schema, classes=["none", "high", "college"], epsilon=900.0)
    clf.fit(chunk_rows(X, y))
    released = clf.rashomon_set_.release()
    np.testing.assert_array_equal(released.predict(X), clf.predict(X))
