"""Estimators that take a table as it is, by its schema: order, price, and the same draws."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import rashomon_explorer as rx
from rashomon_explorer.data import Categorical, IgnoredColumn, Numeric, YesNo
from rashomon_explorer.exceptions import FitError, PrivacyLeakWarning
from rashomon_explorer.measures import declared_problem

FEATURES = [
    Numeric("age", (18, 100), typical=(20, 70), missing="indicator"),
    Categorical("home", ["own", "rent", "free"]),
]
SCHEMA = rx.TableSchema([IgnoredColumn("id"), *FEATURES, YesNo("repaid", role="target")])
NUMBERS = rx.TableSchema([IgnoredColumn("id"), *FEATURES, Numeric("owed", (0, 10), role="target")])
quiet = pytest.mark.filterwarnings(
    "ignore::rashomon_explorer.exceptions.UndeclaredValueWarning",
    "ignore::rashomon_explorer.exceptions.RowsClippedWarning",
)


def frame_of(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": [f"c{i}" for i in range(n)]})
    frame["age"] = rng.integers(18, 90, n).astype(float)
    frame["home"] = rng.choice(["own", "rent", "free"], n)
    good = frame["age"] / 72 + (frame["home"] == "own") + rng.normal(0, 0.2, n) > 1.1
    frame["repaid"], frame["owed"] = np.where(good, "yes", "no"), 9.0 * good
    frame.loc[::10, "age"] = np.nan
    return frame


FRAME = frame_of().drop(columns="owed")


def model(**settings):
    given = {"schema": SCHEMA, "n_draws": 3, "epsilon": 40.0, "random_state": 0}
    return rx.RashomonClassifier(**{**given, **settings})


def test_a_table_is_fitted_as_it_is():
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
    assert fitted.plan_ == model().plan(400) == model().plan(*FRAME.shape)
    assert model().constants(400).L == model().constants(400, 99).L
    with pytest.raises(ValueError, match="n_features is required without a schema"):
        rx.RashomonRegressor().plan(400)
    for again in (FRAME.drop(columns=["repaid", "id"]), FRAME[[*reversed(FRAME.columns)]]):
        assert np.array_equal(fitted.predict_proba(again), fitted.predict_proba(FRAME))


def test_it_is_the_same_as_a_pipeline_of_encoder_and_estimator():
    alone = model().fit(FRAME, FRAME["repaid"])
    bare = model(schema=None, row_norm=2.0, classes=["no", "yes"])
    pipe = make_pipeline(rx.TableEncoder(SCHEMA, row_norm=2.0), bare)
    pipe.fit(FRAME, FRAME["repaid"])
    np.testing.assert_allclose(alone.rashomon_set_.coef, pipe[-1].rashomon_set_.coef, atol=1e-5)
    assert rx.privacy_leaks(pipe) == [] == rx.privacy_leaks(model())
    rows = pipe[0].transform(FRAME)
    pd.testing.assert_frame_equal(rows, alone.encoder_.transform(FRAME))
    labels = alone.classes_[alone.rashomon_set_.labels(rows)]
    assert np.array_equal(labels, alone.predict_each(FRAME))
    problem = declared_problem(alone, FRAME, FRAME["repaid"])
    assert problem.minimum.value == pytest.approx(alone.rashomon_set_.minimum.value)


@quiet
def test_no_row_is_refused_after_a_charge(ledger):
    """Unknown levels, text, infinity and missing values are read as the schema says."""
    odd = FRAME.astype({"age": object, "home": object})
    odd.loc[:5, "age"] = ["x", np.inf, None, -1e300, "?", "12"]
    odd.loc[:2, "home"] = ["tent", None, 7]
    fitted = model(ledger=ledger).fit(odd, odd["repaid"])
    assert [entry.state for entry in ledger.entries()] == ["committed"]
    assert np.isfinite(fitted.predict_proba(odd)).all()


def test_what_is_refused_by_declaration_is_refused_after_the_charge(ledger):
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
    (leak,) = rx.privacy_leaks(make_pipeline(rx.TableEncoder(strict), rx.RashomonClassifier()))
    assert "what it refuses in 'home' is revealed" in leak
    assert rx.privacy_leaks(model(schema=strict)) == []


def test_an_unconfirmed_schema_has_no_guarantee_and_charges_nothing(ledger):
    learnt = rx.propose_schema(FRAME, target="repaid", ignore=["id"])
    with pytest.warns(PrivacyLeakWarning) as caught:
        fitted = model(schema=learnt, ledger=ledger).fit(FRAME, FRAME["repaid"])
    said = [str(one.message) for one in caught]
    assert any("home (kind, levels, missing)" in one for one in said)
    assert any("the ledger is not charged" in one for one in said)
    assert all(one.filename == __file__ for one in caught)
    assert not fitted.guarantee_.holds and ledger.entries() == []
    assert rx.privacy_leaks(model(schema=learnt)) == [f"RashomonClassifier: {learnt.leak}"]
    pipe = make_pipeline(rx.TableEncoder(learnt), model(schema=None))
    assert rx.privacy_leaks(pipe) == [f"tableencoder: TableEncoder: {learnt.leak}"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        assert not pipe.fit(FRAME, FRAME["repaid"])[-1].guarantee_.holds
        rows = rx.TableEncoder(learnt).fit_transform(FRAME)
        declared = rx.TableSchema([Numeric(name, (-1, 1)) for name in rows])
        for schema in (None, declared):
            assert not model(schema=schema).fit(rows, FRAME["repaid"]).guarantee_.holds
    # The same numbers behind a schema that a person confirmed are not taken for learnt ones.
    confirmed = learnt.confirm(*learnt)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        fitted = model(schema=confirmed, ledger=ledger).fit(FRAME, FRAME["repaid"])
    assert fitted.guarantee_.holds and len(ledger.entries()) == 1


def test_regressions_take_the_bounds_of_their_target():
    frame = frame_of()
    table = frame.drop(columns="repaid")
    asked = {"schema": NUMBERS, "epsilon": 1e3, "n_draws": 3, "random_state": 0}
    fitted = rx.RashomonRegressor(**asked).fit(table, table["owed"])
    assert fitted.rashomon_set_.target_bounds == (0.0, 10.0)
    assert fitted.score(table, table["owed"]) > 0.2
    same = rx.RashomonRegressor(**asked, target_bounds=(0, 10)).fit(table, table["owed"])
    assert np.array_equal(same.rashomon_set_.coef, fitted.rashomon_set_.coef)
    assert declared_problem(fitted, table, table["owed"]).n == 400
    regressor, classifier = (
        rx.RashomonRegressor(schema=NUMBERS),
        rx.RashomonClassifier(schema=NUMBERS),
    )
    for wrong, message in (
        (regressor.set_params(target_bounds=(0, 9)), "leave target_bounds out"),
        (rx.RashomonRegressor(schema=SCHEMA), "draw with RashomonClassifier"),
        (classifier, r"'owed' is a number: draw with RashomonRegressor"),
        (model(classes=[0, 1]), "leave classes out"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong.fit(table if wrong.schema is NUMBERS else FRAME, np.zeros(400))


@pytest.mark.slow
def test_labels_are_compared_as_levels_are():
    coded = rx.TableSchema([*FEATURES, YesNo("repaid", (0, 1), role="target")])
    frame = FRAME.drop(columns="id").assign(repaid=(FRAME["repaid"] == "yes").astype(int))
    for y in (frame["repaid"], frame["repaid"].astype(str), frame["repaid"].astype(float).tolist()):
        fitted = model(schema=coded).fit(frame, y)
        assert fitted.classes_.tolist() == [0, 1]
        assert fitted.score(frame, frame["repaid"]) > 0.8
    turned = model(schema=coded, classes=[1, 0]).fit(frame, frame["repaid"])
    assert turned.classes_.tolist() == [0, 1]


@pytest.mark.slow
@quiet
def test_scikit_learns_tools_and_a_file_of_the_schema_are_accepted(tmp_path):
    fitted = model().fit(FRAME, FRAME["repaid"])
    assert cross_val_score(model(), FRAME, FRAME["repaid"], cv=2).mean() > 0.7
    for schema in (SCHEMA, None):
        assert get_tags(model(schema=schema)).input_tags.string is (schema is not None)
    path, table = tmp_path / "loans.toml", tmp_path / "loans.csv"
    SCHEMA.save(path)
    FRAME.to_csv(table, index=False)
    data = rx.load_csv(table, schema=path)
    again = model(schema=path).fit(data.frame, data.frame["repaid"])
    assert np.array_equal(again.rashomon_set_.coef, fitted.rashomon_set_.coef)
    bare = fitted.set_params(schema=None).fit(np.zeros((40, 2)) + 0.1, [0, 1] * 20)
    assert not hasattr(bare, "encoder_") and bare.predict(np.zeros((1, 2))).shape == (1,)
