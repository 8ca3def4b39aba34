"""The mark of learnt bounds, in every container that rows go through before a fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Normalizer, StandardScaler

from rashomon_explorer import PublicBoundsScaler, RashomonClassifier
from rashomon_explorer._utils import taint as leak_memory
from rashomon_explorer._utils.taint import ONE_BY_ONE, recall, remember
from rashomon_explorer.exceptions import PrivacyLeakWarning

LEARNT = "bounds were computed from the rows"
pytestmark = pytest.mark.filterwarnings(
    "ignore::rashomon_explorer.exceptions.PrivacyLeakWarning",
    "ignore::rashomon_explorer.exceptions.RowsClippedWarning",
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)) * 9
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abc"))


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    for name in ("_LEARNT", "_DECLARED"):
        fresh: Any = type(leak_memory._LEARNT)(maxlen=16)
        monkeypatch.setattr(leak_memory, name, fresh)


def model(**settings):
    return RashomonClassifier(n_draws=1, random_state=0, classes=[0, 1], **settings)


def learns():
    return PublicBoundsScaler("learn")


def joined():
    return make_column_transformer((learns(), ["a", "b"]), remainder="passthrough")


def under_pandas():
    with sklearn.config_context(transform_output="pandas"):
        return make_pipeline(joined(), model()).fit(FRAME, Y)[-1]


def of(rows, y=Y):
    return model().fit(rows, y)


def scaled():
    return np.asarray(learns().fit_transform(X))


ROUTES: dict[str, Callable[[], Any]] = {
    "columns": lambda: make_pipeline(joined(), model()).fit(FRAME, Y)[-1],
    "columns, pandas": lambda: make_pipeline(joined().set_output(transform="pandas"), model()).fit(
        FRAME, Y
    )[-1],
    "pandas everywhere": under_pandas,
    "union": lambda: make_pipeline(make_union(learns(), Normalizer()), model()).fit(X, Y)[-1],
    "other steps after": lambda: make_pipeline(learns(), Normalizer(), model()).fit(X, Y)[-1],
    "a pipeline in a pipeline": lambda: make_pipeline(
        joined(), StandardScaler(), make_pipeline(Normalizer(), model())
    ).fit(FRAME, Y)[-1][-1],
    "a plain array": lambda: of(np.array(scaled())),
    "single precision": lambda: of(scaled().astype(np.float32)),
    "a frame": lambda: of(pd.DataFrame(scaled(), columns=list("abc"))),
    "half of the rows": lambda: of(*train_test_split(np.array(scaled()), Y, random_state=0)[::2]),
    "one column of it": lambda: of(np.column_stack([np.zeros(200), scaled()[:, 1]])),
    "frames below one another": lambda: of(
        pd.concat([pd.DataFrame(scaled()[:90]), pd.DataFrame(scaled()[90:])])
    ),
    "a declared scaler after": lambda: of(PublicBoundsScaler().fit_transform(np.array(scaled()))),
}


@pytest.mark.parametrize("route", ROUTES)
def test_no_route_takes_the_mark_off(route):
    guarantee = ROUTES[route]().guarantee_
    assert str(guarantee) == f"no guarantee: {LEARNT}"


def test_frames_of_polars_are_known_again():
    polars = pytest.importorskip("polars")
    rows = learns().set_output(transform="polars").fit_transform(FRAME)
    assert isinstance(rows, polars.DataFrame)
    assert not of(rows).guarantee_.holds


def test_declared_rows_are_not_taken_for_learnt_ones():
    """0/1 columns, and bounds that were guessed as they are, scale to the same numbers."""
    table = np.column_stack([X[:, 0] > 0, RNG.integers(18, 91, 200), X[:, 1]]).astype(float)
    table[:2, 1], table[:2, 2] = (18, 90), (-40, 40)
    learns().fit_transform(table)
    declared = PublicBoundsScaler([(0, 1), (18, 90), (-40, 40)]).fit_transform(table)
    assert of(declared).guarantee_.holds
    assert of(np.array(declared)).guarantee_.holds
    other = PublicBoundsScaler([(0, 1), (0, 100), (-50, 50)]).fit_transform(table)
    assert of(np.array(other)).guarantee_.holds
    assert of(X / 100).guarantee_.holds
    # The limits that the documentation names: a computation, and another process.
    assert of(np.array(scaled()) / 2).guarantee_.holds
    rows = pd.DataFrame(scaled())
    leak_memory._LEARNT.clear()
    assert of(rows).guarantee_.holds


def test_a_ledger_is_charged_before_numbers_are_looked_at(ledger):
    rows = np.array(scaled())
    with pytest.warns(PrivacyLeakWarning, match="a given ledger is charged already"):
        fitted = model(ledger=ledger).fit(rows, Y)
    assert not fitted.guarantee_.holds and len(ledger.entries()) == 1
    # Settings are no numbers of rows: a pipeline's are asked first, and nothing is charged.
    pipe = make_pipeline(learns(), Normalizer(), model(ledger=ledger))
    with pytest.warns(PrivacyLeakWarning, match="the ledger is not charged"):
        pipe.fit(X, Y)
    assert len(ledger.entries()) == 1


def test_what_is_kept_is_bounded_and_parts_of_large_tables_are_found():
    table = np.random.default_rng(1).normal(size=(150_000, 4))
    remember(table, "learnt")
    (trace,) = leak_memory._LEARNT
    assert trace.level > 0 and len(trace.values) <= leak_memory._MOST_VALUES
    assert recall(table[::3, 1:2]) == "learnt"
    assert recall(np.random.default_rng(2).normal(size=(50_000, 4))) == ""
    for seed in range(20):
        remember(np.random.default_rng(seed).normal(size=(20, 2)), "learnt")
    assert len(leak_memory._LEARNT) == leak_memory._MOST_TABLES
    assert recall([["text"]]) == recall(np.empty((0, 2))) == recall([1.0]) == ""


def test_every_guarantee_assumes_that_rows_were_prepared_one_by_one():
    assert ONE_BY_ONE in of(X / 100).guarantee_.assumptions
    pipe = make_pipeline(StandardScaler(), PublicBoundsScaler(), model())
    with pytest.warns(PrivacyLeakWarning, match="earlier steps standardscaler"):
        pipe.fit(X, Y)
    assert "only if the pipeline's earlier steps do not learn from rows" in repr(pipe[-1])
    stated = next(line for line in pipe[-1].guarantee_.assumptions if ONE_BY_ONE in line)
    assert stated.endswith(
        "also by standardscaler: StandardScaler is not known to transform each row independently"
    )
    pipe = make_pipeline(PublicBoundsScaler(), model()).fit(X, Y)
    assert ONE_BY_ONE in pipe[-1].guarantee_.assumptions
