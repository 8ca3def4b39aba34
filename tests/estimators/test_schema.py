"""Estimators that take a table as it is, by its schema: order, price, and the same draws."""

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from rashomon_explorer import (
    Ledger,
    RashomonClassifier,
    RashomonRegressor,
    TableEncoder,
    TableSchema,
    load_csv,
    privacy_leaks,
    propose_schema,
)
from rashomon_explorer.data import Categorical, IgnoredColumn, Numeric, YesNo
from rashomon_explorer.exceptions import (
    BudgetExceededError,
    DataError,
    FitError,
    PrivacyLeakWarning,
    UndeclaredValueWarning,
)
from rashomon_explorer.measures import declared_problem
from rashomon_explorer.privacy import pure
from tests.estimators.traps import LOOKS, TrapArray, TrapFrame, TrapSeries

FEATURES = [
    Numeric("age", (18, 100), typical=(20, 70), missing="indicator"),
    Categorical("home", ["own", "rent", "free"]),
]
SCHEMA = TableSchema([IgnoredColumn("id"), *FEATURES, YesNo("repaid", role="target")])
NUMBERS = TableSchema([IgnoredColumn("id"), *FEATURES, Numeric("owed", (0, 10), role="target")])
quiet = pytest.mark.filterwarnings(
    "ignore::rashomon_explorer.exceptions.UndeclaredValueWarning",
    "ignore::rashomon_explorer.exceptions.RowsClippedWarning",
)


def frame_of(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": [f"c{i}" for i in range(n)]})
    frame["age"] = rng.integers(18, 90, n).astype(float)
    frame["home"] = rng.choice(["own", "rent", "free"], n)
    good = frame["age"] / 72 + (frame["home"] == "own") + rng.normal(0, 0.2, n) > 1.1
    frame["repaid"], frame["owed"] = np.where(good, "yes", "no"), 9.0 * good
    frame.loc[::10, "age"] = np.nan
    return frame


FRAME = frame_of().drop(columns="owed")


def model(**settings: Any) -> Any:
    given = {"schema": SCHEMA, "n_draws": 3, "epsilon": 40.0, "random_state": 0}
    return RashomonClassifier(**{**given, **settings})


def test_a_table_is_fitted_as_it_is() -> None:
    fitted = model().fit(FRAME, FRAME["repaid"])
    assert fitted.score(FRAME, FRAME["repaid"]) > 0.8
    models = fitted.rashomon_set_
    assert models.parameter_names == (*SCHEMA.encoded_names, "intercept")
    assert dict(models.feature_groups) == SCHEMA.feature_groups
    assert fitted.classes_.tolist() == ["no", "yes"]
    features = [name for name in FRAME if name in {column.name for column in SCHEMA.features}]
    assert fitted.n_features_in_ == 2 and fitted.feature_names_in_.tolist() == features
    assert fitted.encoder_.feature_names_in_.tolist() == features
    assert fitted.guarantee_.holds
    assert not any("labels that occur" in one for one in fitted.guarantee_.assumptions)
    assert 0 < models.clipped_share < 1
    for again in (FRAME.drop(columns=["repaid", "id"]), FRAME[[*reversed(FRAME.columns)]]):
        assert np.array_equal(fitted.predict_proba(again), fitted.predict_proba(FRAME))
    assert fitted.decision_spread(FRAME).shape == fitted.decision_function(FRAME).shape == (400,)


def test_it_is_the_same_as_a_pipeline_of_encoder_and_estimator() -> None:
    alone = model().fit(FRAME, FRAME["repaid"])
    bare = model(schema=None, row_norm=2.0, classes=["no", "yes"])
    pipe = make_pipeline(TableEncoder(SCHEMA, row_norm=2.0), bare)
    pipe.fit(FRAME, FRAME["repaid"])
    np.testing.assert_allclose(alone.rashomon_set_.coef, pipe[-1].rashomon_set_.coef, atol=1e-5)
    assert privacy_leaks(pipe) == [] == privacy_leaks(model())
    rows = pipe[0].transform(FRAME)
    pd.testing.assert_frame_equal(rows, alone.encoder_.transform(FRAME))
    labels = alone.classes_[alone.rashomon_set_.labels(rows)]
    assert np.array_equal(labels, alone.predict_each(FRAME))
    problem = declared_problem(alone, FRAME, FRAME["repaid"])
    assert problem.minimum.value == pytest.approx(alone.rashomon_set_.minimum.value)


def test_a_plan_needs_no_number_of_columns() -> None:
    fitted = model().fit(FRAME, FRAME["repaid"])
    assert fitted.plan_ == model().plan(400) == model().plan(*FRAME.shape)
    assert fitted.plan_.p == len(SCHEMA.encoded_names) + 1
    assert model().constants(400).L == model().constants(400, 99).L
    with pytest.raises(ValueError, match="n_features is required without a schema"):
        RashomonRegressor().plan(400)
    three = TableSchema([*FEATURES, Categorical("y", ["a", "b", "c"], role="target")])
    assert model(schema=three).plan(400).p == 2 * (len(three.encoded_names) + 1)


@pytest.mark.parametrize(
    ("kind", "schema"), [(RashomonClassifier, SCHEMA), (RashomonRegressor, NUMBERS)]
)
class TestOrder:
    """Reserve, start, and only then a look at a value."""

    def tables(self, schema: TableSchema) -> list[tuple[Any, Any]]:
        frame = frame_of(40)[["id", "age", "home"]]
        y = frame_of(40)["repaid" if schema.classes else "owed"].to_numpy()
        return [
            (TrapFrame(frame), y),
            (frame, TrapSeries(y)),
            (frame, TrapArray(40)),
            (TrapArray(40, 2), y),
            (TrapFrame(frame), TrapSeries(y)),
        ]

    def test_an_exhausted_ledger_refuses_without_a_look(
        self, kind: Any, schema: TableSchema, tmp_path: Path
    ) -> None:
        ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6)
        ledger.reserve(pure(1.0))
        for X, y in self.tables(schema):
            LOOKS.clear()
            with pytest.raises(BudgetExceededError):
                kind(schema=schema, epsilon=0.5, ledger=ledger).fit(X, y)
            assert LOOKS == []
        assert len(ledger.entries()) == 1

    def test_the_first_look_comes_after_the_charge_has_started(
        self, kind: Any, schema: TableSchema, tmp_path: Path
    ) -> None:
        for number, (X, y) in enumerate(self.tables(schema)):
            ledger = Ledger.create(tmp_path / f"{number}.ledger", epsilon=1.0, delta=1e-6)
            LOOKS.clear()
            with pytest.raises(FitError):
                kind(schema=schema, epsilon=0.5, ledger=ledger).fit(X, y)
            assert LOOKS != []
            assert [entry.state for entry in ledger.entries()] == ["started"]

    def test_columns_and_schema_are_compared_for_nothing(
        self, kind: Any, schema: TableSchema, tmp_path: Path
    ) -> None:
        ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6)
        LOOKS.clear()
        for X in (TrapFrame({"age": [1.0] * 40}), TrapArray(40, 7)):
            with pytest.raises(DataError, match=r"the table lacks 'home'|an array of 7 columns"):
                kind(schema=schema, epsilon=0.5, ledger=ledger).fit(X, np.zeros(40))
        assert LOOKS == [] and ledger.entries() == []


@quiet
def test_no_row_is_refused_after_a_charge(tmp_path: Path) -> None:
    """Unknown levels, text, infinity and missing values are read as the schema says."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=100.0, delta=1e-6)
    odd = FRAME.astype({"age": object, "home": object})
    odd.loc[:5, "age"] = ["x", np.inf, None, -1e300, "?", "12"]
    odd.loc[:2, "home"] = ["tent", None, 7]
    fitted = model(ledger=ledger).fit(odd, odd["repaid"])
    assert [entry.state for entry in ledger.entries()] == ["committed"]
    assert np.isfinite(fitted.predict_proba(odd)).all()


def test_what_is_refused_by_declaration_is_refused_after_the_charge(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=100.0, delta=1e-6)
    strict = SCHEMA.declare("home", unknown="refuse")
    odd = FRAME.copy()
    odd.loc[3, "home"] = "tent"
    with pytest.raises(FitError) as caught:
        model(schema=strict, ledger=ledger).fit(odd, odd["repaid"])
    assert "tent" not in caught.value.detail and "home" in caught.value.detail
    label = FRAME["repaid"].copy()
    label[3] = "maybe"
    with pytest.raises(FitError) as caught:
        model(ledger=ledger).fit(FRAME, label)
    assert "declared classes ['no', 'yes']" in caught.value.detail
    assert [entry.state for entry in ledger.entries()] == ["started"] * 2
    (leak,) = privacy_leaks(make_pipeline(TableEncoder(strict), RashomonClassifier()))
    assert "what it refuses in 'home' is revealed" in leak
    assert privacy_leaks(model(schema=strict)) == []


def test_an_unconfirmed_schema_has_no_guarantee_and_charges_nothing(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=100.0, delta=1e-6)
    learnt = propose_schema(FRAME, target="repaid", ignore=["id"])
    with pytest.warns(PrivacyLeakWarning) as caught:
        fitted = model(schema=learnt, ledger=ledger).fit(FRAME, FRAME["repaid"])
    said = [str(one.message) for one in caught]
    assert any("home (kind, levels, missing)" in one for one in said)
    assert any("the ledger is not charged" in one for one in said)
    assert all(one.filename == __file__ for one in caught)
    assert not fitted.guarantee_.holds and ledger.entries() == []
    assert privacy_leaks(model(schema=learnt)) == [f"RashomonClassifier: {learnt.leak}"]
    # The same numbers behind a schema that a person confirmed are not taken for learnt ones.
    confirmed = learnt.confirm(*learnt)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        fitted = model(schema=confirmed, ledger=ledger).fit(FRAME, FRAME["repaid"])
    assert fitted.guarantee_.holds and len(ledger.entries()) == 1


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.PrivacyLeakWarning")
def test_an_unconfirmed_encoder_takes_the_guarantee_in_a_pipeline_and_behind_one() -> None:
    learnt = propose_schema(FRAME, target="repaid", ignore=["id"])
    pipe = make_pipeline(TableEncoder(learnt), model(schema=None))
    assert privacy_leaks(pipe) == [f"tableencoder: TableEncoder: {learnt.leak}"]
    assert not pipe.fit(FRAME, FRAME["repaid"])[-1].guarantee_.holds
    rows = TableEncoder(learnt).fit_transform(FRAME)
    for table in (rows, rows.to_numpy(), np.array(rows.to_numpy().tolist())):
        assert not model(schema=None).fit(table, FRAME["repaid"]).guarantee_.holds
    # Learnt rows in front of a schema that is declared.
    columns = TableSchema([Numeric(name, (-1, 1)) for name in rows])
    assert not model(schema=columns).fit(rows, FRAME["repaid"]).guarantee_.holds
    plain = pd.DataFrame(rows.to_numpy().copy(), columns=rows.columns)
    assert not model(schema=columns).fit(plain, FRAME["repaid"]).guarantee_.holds


@quiet
def test_an_unseen_level_is_predicted_as_the_middle_of_all() -> None:
    fitted = model().fit(FRAME, FRAME["repaid"])
    rows = pd.DataFrame({"age": [45.0] * 4, "home": ["own", "rent", "free", "tent"]})
    with pytest.warns(UndeclaredValueWarning, match="'home'"):
        margins = fitted.rashomon_set_.margins(fitted.encoder_.transform(rows))
    # Each is linear in the encoded row, and no row of these is long enough to be shortened.
    np.testing.assert_allclose(margins[:, 3], margins[:, :3].mean(axis=1))


def test_regressions_take_the_bounds_of_their_target() -> None:
    frame = frame_of()
    table = frame.drop(columns="repaid")
    asked = {"schema": NUMBERS, "epsilon": 1e3, "n_draws": 3, "random_state": 0}
    fitted = RashomonRegressor(**asked).fit(table, table["owed"])
    assert fitted.rashomon_set_.target_bounds == (0.0, 10.0)
    assert fitted.score(table, table["owed"]) > 0.2
    same = RashomonRegressor(**asked, target_bounds=(0, 10)).fit(table, table["owed"])
    assert np.array_equal(same.rashomon_set_.coef, fitted.rashomon_set_.coef)
    assert declared_problem(fitted, table, table["owed"]).n == 400
    with pytest.raises(ValueError, match="leave target_bounds out"):
        RashomonRegressor(**asked, target_bounds=(0, 9)).fit(table, table["owed"])
    with pytest.raises(ValueError, match="draw with RashomonClassifier"):
        RashomonRegressor(schema=SCHEMA).fit(FRAME, np.zeros(400))
    with pytest.raises(ValueError, match=r"'owed' is a number: draw with RashomonRegressor"):
        RashomonClassifier(schema=NUMBERS).fit(table, table["owed"])


def test_labels_are_compared_as_levels_are() -> None:
    coded = TableSchema([*FEATURES, YesNo("repaid", (0, 1), role="target")])
    frame = FRAME.drop(columns="id").assign(repaid=(FRAME["repaid"] == "yes").astype(int))
    for y in (frame["repaid"], frame["repaid"].astype(str), frame["repaid"].astype(float).tolist()):
        fitted = model(schema=coded).fit(frame, y)
        assert fitted.classes_.tolist() == [0, 1]
        assert fitted.score(frame, frame["repaid"]) > 0.8
    assert model(schema=coded, classes=[1, 0]).fit(frame, frame["repaid"]).classes_.tolist() == [
        0,
        1,
    ]
    with pytest.raises(ValueError, match="leave classes out"):
        model(classes=[0, 1]).fit(FRAME, FRAME["repaid"])
    found = TableSchema([*FEATURES, IgnoredColumn("repaid", role="target")])
    fitted = model(schema=found).fit(frame, frame["repaid"])
    assert any("labels that occur" in one for one in fitted.guarantee_.assumptions)


@quiet
def test_scikit_learns_tools_take_it() -> None:
    fitted = model().fit(FRAME, FRAME["repaid"])
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(FRAME), fitted.predict(FRAME))
    assert clone(fitted).schema == SCHEMA and not hasattr(clone(fitted), "encoder_")
    assert cross_val_score(model(), FRAME, FRAME["repaid"], cv=3).mean() > 0.7
    search = GridSearchCV(model(), {"psi": [0.01, 0.05]}, cv=2).fit(FRAME, FRAME["repaid"])
    assert search.best_estimator_.guarantee_.holds
    for schema in (SCHEMA, None):
        assert get_tags(model(schema=schema)).input_tags.string is (schema is not None)
    bare = fitted.set_params(schema=None).fit(np.zeros((40, 2)) + 0.1, [0, 1] * 20)
    assert not hasattr(bare, "encoder_") and bare.predict(np.zeros((1, 2))).shape == (1,)


def test_a_file_is_a_schema_for_every_door(tmp_path: Path) -> None:
    path, table = tmp_path / "loans.json", tmp_path / "loans.csv"
    SCHEMA.save(path)
    FRAME.to_csv(table, index=False)
    data = load_csv(table, schema=path)
    assert data.schema == SCHEMA and data.classes == ["no", "yes"] and not data.bounds_learnt
    assert data.feature_names == list(SCHEMA.encoded_names) == list(data.bounds)
    assert data.X["age=(missing)"].sum() == 40 and data.X["age"].between(18, 100).all()
    fitted = model(schema=path).fit(data.frame, data.frame["repaid"])
    direct = model().fit(FRAME, FRAME["repaid"])
    assert np.array_equal(fitted.rashomon_set_.coef, direct.rashomon_set_.coef)
    assert json.loads(path.read_text()) == SCHEMA.to_dict()
