"""A release takes the estimator and its table, whose encoding moves no row but the replaced one."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rashomon_explorer import (
    Ledger,
    PublicBoundsScaler,
    RashomonClassifier,
    RashomonTreeClassifier,
    data,
    exceptions,
)
from rashomon_explorer.release import plan_release, release
from rashomon_explorer.release.catalogue import get_queries
from rashomon_explorer.release.query import PublicShape, Rows
from rashomon_explorer.release.run import Encoding
from tests.release.cases import models_of

SCHEMA = data.TableSchema(
    [
        data.Numeric("age", (18, 90)),
        data.Categorical("home", ["own", "rent"]),
        data.Numeric("income", (0, 100), missing="indicator"),
        data.YesNo("repaid", ["no", "yes"], role="target"),
    ]
)
QUERIES = ("ambiguity", "range_width", "losses", "accuracies", "selection_gap")
WIDTH = len(SCHEMA.encoded_names)
MODELS = replace(
    models_of(n_features=WIDTH),
    feature_names=(*SCHEMA.encoded_names, "intercept"),
    classes=("no", "yes"),
    schema=SCHEMA,
)
STRANGE = [
    {"age": 1e300, "home": "own", "income": 0.0},
    {"age": np.nan, "home": "boat", "income": np.nan},
    {"age": "old", "home": None, "income": "?"},
    {"age": -7, "home": 3.0, "income": np.inf},
    {"age": 54, "home": "rent", "income": 100},
]


def table(n=60):
    rng = np.random.default_rng(0)
    home = rng.choice(["own", "rent"], n)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "home": home})
    frame["income"] = np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 100, n))
    return frame, np.where((frame["age"] > 50) ^ (home == "own"), "yes", "no")


FRAME, Y = table()
GROUPS = np.where(np.arange(len(Y)) % 2, "a", "b")
SETTINGS = {"queries": QUERIES, "epsilon": 1.0, "ledger": None, "random_state": 0}
SETTINGS |= {"groups": GROUPS, "categories": ("a", "b")}


def numbers(*arguments, **changes):
    table = release(*arguments, **{**SETTINGS, **changes}).table()
    return table["estimate"].round(12).astype(str).tolist()


@pytest.mark.parametrize("trees", [False, True], ids=["linear", "trees"])
def test_the_estimator_and_its_table_release_what_its_set_and_encoded_rows_do(trees):
    queries = QUERIES[:1] if trees else QUERIES
    kind, own = (RashomonTreeClassifier, {"max_leaves": 3}) if trees else (RashomonClassifier, {})
    fit = kind(n_draws=5, epsilon=300.0, schema=SCHEMA, random_state=0, **own).fit(FRAME, Y)
    encoded = np.asarray(fit.encoder_.transform(FRAME))
    expected = numbers(fit.rashomon_set_, encoded, Y, queries=queries)
    turned = FRAME[["income", "age", "home"]]
    for X in (FRAME, turned, FRAME.to_numpy(object), FRAME.assign(repaid=Y)):
        assert numbers(fit, X, Y, queries=queries) == expected
        assert numbers(fit.rashomon_set_.release(), X, Y, queries=queries) == expected
    planned = plan_release(fit, len(Y), queries=queries, epsilon=1.0, categories=("a", "b"))
    assert planned.queries[0].name == "ambiguity"


def test_steps_of_a_pipeline_must_be_public():
    X, y = FRAME[["age"]].to_numpy(), (FRAME["age"] > 50).to_numpy()
    settings = {"queries": ["ambiguity"], "groups": None, "categories": ()}
    model = RashomonClassifier(n_draws=5, epsilon=300.0, random_state=0)
    pipe = make_pipeline(PublicBoundsScaler([(18, 90)]), model).fit(X, y)
    rows = pipe[:-1].transform(X)
    assert numbers(pipe, X, y, **settings) == numbers(pipe[-1], rows, y, **settings)
    scaled = make_pipeline(StandardScaler(), RashomonClassifier(row_norm=9.0, epsilon=300.0))
    with pytest.warns(exceptions.PrivacyLeakWarning, match="earlier steps standardscaler"):
        scaled.fit(X, y)
    with pytest.raises(
        exceptions.CuratorOnlyError, match="not known to transform each row independently"
    ):
        numbers(scaled, X, y, **settings)
    with pytest.raises(ValueError, match=r"shape \(n_rows, 1\)"):
        numbers(pipe, np.hstack([X, X]), y, **settings)


def _values(frame, query, encode=None):
    public = PublicShape(replace(MODELS, schema=None), len(frame), True, True, ("a", "b"))
    encoding = Encoding.planned(MODELS, replace(public, models=MODELS), frame, frame.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = (encode or encoding)(frame)
    labels = encoding.labels(Y)
    return (rows, query.compute(Rows.read(public, rows, labels, GROUPS)), public)


def _min_max(frame):
    """Encode by the least and the largest age of the rows themselves: the mistake."""
    age = pd.to_numeric(frame["age"], errors="coerce").clip(-1e9, 1e9).fillna(0)
    rows = np.zeros((len(frame), WIDTH))
    rows[:, 0] = (age - age.min()) / (age.max() - age.min())
    return rows


@pytest.mark.parametrize("query", get_queries(QUERIES), ids=QUERIES)
def test_a_replaced_record_moves_its_own_row_alone_and_no_query_further_than_declared(query):
    for place, strange in enumerate(STRANGE):
        other = FRAME.astype(object)
        other.loc[place] = strange
        other = other.convert_dtypes() if place % 2 else other  # types follow from the cells
        (rows, before, public), (moved, after, _) = _values(FRAME, query), _values(other, query)
        np.testing.assert_array_equal(np.delete(rows, place, 0), np.delete(moved, place, 0))
        assert np.abs(after - before).sum() <= query.sensitivity(public).l1 * (1 + 1e-9)


def test_an_encoding_by_the_rows_moves_every_row_and_a_query_too_far():
    (query,) = get_queries(["losses"])
    other = FRAME.copy()
    other.loc[0, "age"] = 1e9
    rows, before, public = _values(FRAME, query, _min_max)
    moved, after, _ = _values(other, query, _min_max)
    assert (rows[1:] != moved[1:]).any()
    assert np.abs(after - before).sum() > query.sensitivity(public).l1


def test_what_rows_hold_warns_of_nothing_and_stops_nothing(tmp_path):
    ledger = Ledger.create(tmp_path / "l.sqlite", epsilon=9.0, delta=1e-6)
    other = FRAME.astype(object)
    for place in range(len(FRAME)):
        other.loc[place] = STRANGE[place % len(STRANGE)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter(
            "ignore", exceptions.WeakGuaranteeWarning
        )  # of the plan, which is public
        numbers(MODELS, other, Y, ledger=ledger, random_state=None)


def test_columns_are_decided_before_the_charge(tmp_path):
    ledger = Ledger.create(tmp_path / "l.sqlite", epsilon=9.0, delta=1e-6)
    bare = data.TableSchema([data.Numeric("a", (0, 1)), data.Numeric("b", (0, 1))])
    two = replace(models_of(), feature_names=("a", "b", "intercept"), schema=bare)
    wrong = [
        (MODELS, FRAME.rename(columns={"age": "years"}), "does not declare"),
        (MODELS, FRAME[["age", "home"]], "lacks"),
        (MODELS, FRAME.to_numpy(object)[:, :2], "declares 3 features"),
        (two, FRAME[["age", "income"]].to_numpy(), "may be the raw table or encoded rows"),
        (replace(two, schema=None), FRAME[["income", "age"]], r"columns \['a', 'b'\], got"),
    ]
    for models, X, words in wrong:
        with pytest.raises(exceptions.DataError, match=words):
            numbers(models, X, Y, ledger=ledger)
    assert not ledger.entries()
    with pytest.raises(exceptions.FitError):  # a strange label is read after the charge
        numbers(MODELS, FRAME, np.where(Y == "no", "maybe", Y), ledger=ledger)
    assert len(ledger.entries()) == 1
