"""What is computed from rows costs the guarantee of all that is fitted to them."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.ensemble import BaggingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)

import rashomon_explorer as rx
from rashomon_explorer._utils.taint import find_leak, mark
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.exceptions import CuratorOnlyError, LedgerWarning, PrivacyLeakWarning
from rashomon_explorer.privacy.guarantee import ONE_BY_ONE
from rashomon_explorer.rows import chunk_rows

LEARNT = "bounds were computed from the rows"
learns = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.PrivacyLeakWarning")


def model(kind=rx.RashomonClassifier, **settings):
    return kind(n_draws=2, random_state=0, **settings)


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
def test_one_record_moves_all_others_when_bounds_are_learnt():
    """Why there is no guarantee: the cost of a draw assumes that a record moves one row."""
    rows = np.linspace(-1, 1, 50)[:, None]
    other = np.vstack([rows[:-1], [[50.0]]])
    declared, learning = rx.PublicBoundsScaler().fit(rows), rx.PublicBoundsScaler("learn")
    assert np.array_equal(declared.transform(rows)[:-1], declared.transform(other)[:-1])
    assert not declared.learnt_bounds_ and declared.guarantee_.epsilon(0.0) == 0.0
    assert find_leak(declared.transform(rows)) == ""
    with pytest.warns(PrivacyLeakWarning, match="computed from the rows, so that no privacy"):
        moved = np.asarray(learning.fit_transform(rows)) - np.asarray(learning.fit_transform(other))
    assert np.abs(moved[:-1]).max() > 0.5
    assert learning.learnt_bounds_ and str(learning.guarantee_) == f"no guarantee: {LEARNT}"


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic"])
def test_declared_knots_learn_nothing_from_rows(extrapolation):
    """The functions of a row are the same, whatever the other rows are; quantiles are not."""
    row, others = np.array([[0.3, 7.0]]), np.random.default_rng(0).uniform(-9, 9, (40, 2))
    knots = np.linspace([-1.0, 0.0], [1.0, 5.0], 4)
    for declared, learn_nothing in ((knots, True), ("quantile", False)):
        step = SplineTransformer(knots=declared, extrapolation=extrapolation)
        alone, among = (
            step.fit_transform(np.vstack([row, rest]))[0] for rest in (others[:20], others)
        )
        assert np.array_equal(alone, among) is learn_nothing
        pipe = make_pipeline(step, rx.DPClassifier(classes=[0, 1], random_state=0))
        assert (rx.privacy_leaks(pipe) == []) is learn_nothing


@learns
@pytest.mark.parametrize("output", ["default", "pandas"])
@pytest.mark.parametrize(
    "kind", [rx.RashomonClassifier, partial(rx.RashomonRegressor, target_bounds=(-1, 1))]
)
def test_a_pipeline_behind_learnt_bounds_has_no_guarantee(kind, output, frame, labels, ledger):
    scaler = rx.PublicBoundsScaler("learn").set_output(transform=output)
    classes = {"classes": (0, 1)} if kind is rx.RashomonClassifier else {}
    pipe = make_pipeline(scaler, model(kind, ledger=ledger, **classes))
    with pytest.warns(PrivacyLeakWarning, match="the ledger is not charged"):
        pipe.fit(frame, labels)
    fitted = pipe[-1]
    assert str(fitted.guarantee_) == f"no guarantee: {LEARNT}"
    assert fitted.guarantee_.epsilon(0.9) == np.inf
    with pytest.raises(CuratorOnlyError, match=f"cannot be released: no guarantee: {LEARNT}"):
        fitted.rashomon_set_.release()
    assert ledger.entries() == [] and ledger.spent() == 0.0
    pipe.set_params(publicboundsscaler__bounds=(-1, 1)).fit(frame, labels)
    assert fitted.guarantee_.holds and len(ledger.entries()) == 1


@learns
def test_the_mark_outlives_what_people_do_with_rows(X, frame):
    scaler = rx.PublicBoundsScaler("learn")
    rows = scaler.fit_transform(X)
    table = clone(scaler).set_output(transform="pandas").fit_transform(frame)
    for kept in (
        *(rows[3:], rows[[1, 2]], rows[:, :1], rows.copy(), 2 * rows, rows.astype("float32")),
        *(np.hstack([X, rows]), np.vstack([rows, X]), np.concatenate([X, X, rows[:1]])),
        *(np.split(rows, 2)[0], pickle.loads(pickle.dumps(rows)), train_test_split(rows)[0]),
        *(table.iloc[3:], table[["age"]], table.copy(), pickle.loads(pickle.dumps(table))),
        *(train_test_split(table)[0], 2 * table),
        rx.PublicBoundsScaler().fit_transform(rows),
        rx.PublicBoundsScaler().set_output(transform="pandas").fit_transform(table),
        pickle.loads(pickle.dumps(scaler.fit(X))).transform(X),
    ):
        assert find_leak(kept) == LEARNT
    assert np.array_equal(pickle.loads(pickle.dumps(rows)), rows)
    assert find_leak(X, None, [1.0], "text") == find_leak(mark([1.0], "lost")) == ""
    assert find_leak(mark(X, "a"), mark(X, "b"), mark(X, "a")) == "a; b"
    assert find_leak(X) == ""  # another array of the same numbers is not marked with them
    # A column or a row called leak is an attribute of a pandas object, and private.
    values = pd.Series(["HIV", "none"], index=["leak", "other"])
    assert find_leak(values, pd.DataFrame({"leak": ["HIV"]})) == ""
    assert find_leak(mark(values, LEARNT)) == LEARNT
    # The limit that the documentation names; outside of a pipeline only asking finds the step.
    assert find_leak(StandardScaler().fit_transform(mark(np.eye(3), "learnt"))) == ""


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
@learns
@pytest.mark.parametrize(
    "last",
    [
        GridSearchCV(model(), {"psi": [0.05]}, cv=2, error_score="raise"),
        BaggingClassifier(model(), n_estimators=1),
    ],
)
def test_a_last_step_that_fits_copies_knows_what_came_before(last, X, labels):
    """The normalizer changes the numbers, so that the pipeline alone can tell."""
    for scaler, holds in ((rx.PublicBoundsScaler("learn"), False), (rx.PublicBoundsScaler(), True)):
        fitted = make_pipeline(scaler, Normalizer(), clone(last)).fit(X, labels)[-1]
        drawn = getattr(fitted, "best_estimator_", None) or fitted.estimators_[0]
        assert drawn.guarantee_.holds is holds
    pipe = Pipeline([("scale", rx.PublicBoundsScaler("learn")), ("draw", model())])
    assert rx.privacy_leaks(GridSearchCV(pipe, {"draw__psi": [0.01]})) == [
        "GridSearchCV: settings are chosen by scores on the rows",
        "estimator.scale: PublicBoundsScaler: bounds are computed from the rows",
    ]


def test_a_table_with_learnt_bounds_carries_them_along(tmp_path):
    path = tmp_path / "loans.csv"
    age = Numeric("age", (20, 79), learnt=["bounds"])
    owed = Numeric("owed", (0, 6), role="target", learnt=["bounds"])
    path.write_text("age,owed\n" + "\n".join(f"{20 + k},{k * k % 7}" for k in range(60)))
    with pytest.warns(PrivacyLeakWarning):
        data = rx.load_csv(path, schema=TableSchema([age, owed]))
    draw = model(rx.RashomonRegressor, target_bounds=data.target_bounds)
    train, _, target, _ = train_test_split(data.X, data.y, random_state=0)
    fitted = make_pipeline(rx.PublicBoundsScaler(data.bounds), draw).fit(train, target)[-1]
    assert str(fitted.guarantee_) == f"no guarantee: {LEARNT}"
    rows = rx.PublicBoundsScaler([*data.bounds.values()]).fit_transform(train.to_numpy())
    assert not draw.fit(rows, target).guarantee_.holds  # the targets were mapped by learnt bounds
    assert draw.fit(rows, target.to_numpy()).guarantee_.holds  # the mark was taken off by hand


def joined():
    scaler = rx.PublicBoundsScaler("learn")
    return make_column_transformer((scaler, ["age"]), remainder="passthrough")


ROUTES = {
    "columns": lambda: make_pipeline(joined(), model()),
    "columns, pandas": lambda: make_pipeline(joined().set_output(transform="pandas"), model()),
    "union": lambda: make_pipeline(
        make_union(rx.PublicBoundsScaler("learn"), Normalizer()), model()
    ),
    "other steps after": lambda: make_pipeline(
        rx.PublicBoundsScaler("learn"), Normalizer(), model()
    ),
    "a pipeline in a pipeline": lambda: make_pipeline(
        joined(), StandardScaler(), make_pipeline(Normalizer(), model())
    ),
}


@learns
@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
@pytest.mark.parametrize("route", ROUTES)
def test_no_step_after_learnt_bounds_hides_them_from_a_pipeline(route, frame, labels, ledger):
    for container in ("default", "pandas"):
        pipe = ROUTES[route]()
        with config_context(transform_output=container):
            last = pipe.fit(frame, labels)[-1]
        last = last[-1] if isinstance(last, Pipeline) else last
        assert str(last.guarantee_) == f"no guarantee: {LEARNT}"
    last.set_params(ledger=ledger, classes=[0, 1])
    with pytest.warns(PrivacyLeakWarning, match="the ledger is not charged"):
        pipe.fit(frame, labels)
    assert ledger.entries() == []


@learns
def test_chunks_scaled_by_learnt_bounds_have_no_guarantee(X, labels, ledger):
    charged = model(classes=[0, 1], ledger=ledger)
    for bounds, holds in (("learn", False), ((-9, 9), True)):
        scaler = rx.PublicBoundsScaler(bounds).fit(X)
        for rows in (
            chunk_rows(X, labels).through(scaler),
            chunk_rows(scaler.transform(X), labels),
        ):
            before = len(ledger.entries())
            guarantee = charged.fit(rows).guarantee_
            assert guarantee.holds is holds and len(ledger.entries()) == before + holds
    schema = rx.TableSchema([Numeric("age", (-9, 9), learnt=["bounds"])])
    ages = pd.DataFrame({"age": X[:, 0]})
    for table, read in ((schema, False), (schema.confirm("age"), True)):
        rows = chunk_rows(ages, labels).through(rx.TableEncoder(table).fit(ages))
        assert charged.fit(rows).guarantee_.holds is read


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
def test_every_guarantee_assumes_that_rows_were_prepared_one_by_one(X, labels):
    assert ONE_BY_ONE in model().fit(X, labels).guarantee_.assumptions
    pipe = make_pipeline(StandardScaler(), rx.PublicBoundsScaler(), model())
    with pytest.warns(PrivacyLeakWarning, match="earlier steps standardscaler"):
        pipe.fit(X, labels)
    assert "only if the pipeline's earlier steps do not learn from rows" in repr(pipe[-1])
    for text in (str, repr):
        condition = "only if the pipeline's earlier steps do not learn from rows:"
        assert condition in text(pipe[-1].guarantee_).splitlines()[0].removeprefix("Guarantee, ")
    stated = next(line for line in pipe[-1].guarantee_.assumptions if ONE_BY_ONE in line)
    assert stated.endswith(
        "also by standardscaler: StandardScaler is not known to transform each row independently"
    )
    pipe = make_pipeline(rx.PublicBoundsScaler(), model()).fit(X, labels)
    assert ONE_BY_ONE in pipe[-1].guarantee_.assumptions


@learns
def test_a_frame_that_can_carry_no_mark_is_refused(X, frame):
    polars = pytest.importorskip("polars")
    declared, learnt = (
        rx.PublicBoundsScaler(bounds).set_output(transform="polars").fit(frame)
        for bounds in ((-9, 9), "learn")
    )
    assert isinstance(declared.transform(frame), polars.DataFrame)
    with pytest.raises(TypeError, match="cannot carry the mark"):
        learnt.transform(frame)

    class Plain:
        """Stands for other frames without attributes."""

    class Odd(rx.PublicBoundsScaler):
        def transform(self, X):
            return Plain()

    assert isinstance(Odd((-1, 1)).fit(X).transform(X), Plain)
    with pytest.raises(TypeError, match=r"Plain cannot carry the mark that bounds were computed"):
        Odd("learn").fit(X).transform(X)


REPEATS = r"may repeat a record within one fit: .* costs k times the ε"
ONE = rx.DPClassifier(classes=[0, 1])


class Oversampler(rx.PublicBoundsScaler):
    def fit_resample(self, X, y):
        return X, y


class Resampling(Pipeline):
    """Stands for the pipeline of imbalanced-learn, whose steps drop and invent rows."""


def bagged(one, **settings):
    piped = make_pipeline(rx.PublicBoundsScaler(), one)
    return BaggingClassifier(piped, n_estimators=2, **settings)


@pytest.mark.parametrize(
    ("wrap", "one"),
    [
        (bagged, rx.RashomonClassifier(classes=[0, 1])),
        (partial(bagged, n_jobs=2), ONE),
        (bagged, rx.RashomonTreeClassifier(thresholds=0.0, classes=[0, 1])),
        (lambda one: Resampling([("more", Oversampler()), ("fit", one)]), ONE),
    ],
)
@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.PrivacyLeakWarning")
def test_repeated_records_are_warned_of_and_stated(wrap, one, X, labels, ledger):
    whole = wrap(clone(one).set_params(ledger=str(ledger.path)))
    with parallel_config("threading"), pytest.warns(LedgerWarning, match=REPEATS):
        whole.fit(X, labels)
    fits = getattr(whole, "estimators_", [whole])
    for fitted in fits:
        stated = fitted[-1].guarantee_.assumptions
        assert any("which may repeat a record" in line for line in stated)
    assert len(ledger.entries()) == len(fits)


@pytest.mark.parametrize(
    ("charged", "settings", "stated"),
    [
        (True, {"bootstrap": False, "max_samples": 0.5}, False),
        (True, None, False),
        (False, {}, True),  # without a ledger only the guarantee states it
    ],
)
def test_rows_that_occur_once_or_cost_nothing_are_not_warned_of(
    charged, settings, stated, X, labels, ledger
):
    one = clone(ONE).set_params(ledger=str(ledger.path) if charged else None)
    whole = one if settings is None else BaggingClassifier(one, n_estimators=2, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LedgerWarning)
        whole.fit(X, labels)
    fitted = getattr(whole, "estimators_", [whole])[0]
    assert any("repeat a record" in line for line in fitted.guarantee_.assumptions) is stated


class Mine(Normalizer):
    """Inherits from a step that is known, and need not be one."""


PUBLIC = [
    rx.DPBilevelSearch(bounds=(0.1, 1.0), mechanism="exponential"),
    rx.PrivateSearch(rx.DPClassifier(), {"radius": [1.0]}, mechanism="every"),
    rx.PrivateTable(rx.DPClassifier()),
    rx.RashomonClassifier(),
    rx.RashomonRegressor(mechanism="langevin"),
    rx.RashomonRegressor(mechanism="finite_grid"),
    OrdinalEncoder(categories=[["a"]], handle_unknown="use_encoded_value", unknown_value=-1),
    make_pipeline(rx.PublicBoundsScaler({"age": (0, 1)}), Normalizer(), rx.RashomonRegressor()),
    make_pipeline("passthrough", FunctionTransformer(np.log1p), rx.RashomonClassifier()),
    make_pipeline(SplineTransformer(knots=[[0.0], [1.0]]), rx.RashomonClassifier()),
    ColumnTransformer(
        [
            ("levels", OneHotEncoder(categories=[["a"]], handle_unknown="ignore"), ["kind"]),
            ("filled", SimpleImputer(strategy="constant", keep_empty_features=True), ["age"]),
            ("dropped", "drop", make_column_selector("^id")),
            ("some", "passthrough", [True, False, False, False]),
        ],
        remainder=rx.PublicBoundsScaler((0, 1)),
    ),
    TransformedTargetRegressor(rx.RashomonRegressor(), transformer=rx.PublicBoundsScaler((0, 9))),
]

LEAKY = [
    (make_pipeline(StandardScaler(), rx.RashomonClassifier()), "standardscaler: StandardScaler is"),
    (rx.PublicBoundsScaler("learn"), "PublicBoundsScaler: bounds are computed from the rows"),
    (SplineTransformer(), "SplineTransformer: knots are computed from the rows"),
    (SplineTransformer(knots=[[0], [1]], extrapolation="error"), "an error reveals a value"),
    (FunctionTransformer(lambda X: X / X.max()), "sees all rows at once"),
    (
        ColumnTransformer([("c", OneHotEncoder(), [0])]),
        "c: OneHotEncoder: categories are data-dependent",
    ),
    (OneHotEncoder(categories=[["a"]], min_frequency=3), "categories are data-dependent"),
    (OneHotEncoder(categories=[["a"]]), "an undeclared level is revealed"),
    (OrdinalEncoder(categories=[["a"]]), "handle_unknown='use_encoded_value'"),
    (rx.RashomonClassifier(mechanism="hit_and_run"), "its sampler has no guarantee"),
    (make_pipeline(rx.RashomonRegressor(mechanism="hit_and_run")), "its sampler has no guarantee"),
    (FunctionTransformer(np.log, kw_args={"where": [True, False]}), "sees all rows at once"),
    (FunctionTransformer(np.frompyfunc(sorted, 1, 1)), "sees all rows at once"),
    (
        ColumnTransformer([("c", "drop", make_column_selector(dtype_include=object))]),
        "columns are chosen by dtype, which one cell of text changes",
    ),
    (
        ColumnTransformer([("c", "drop", make_column_selector("a", dtype_exclude="number"))]),
        "columns are chosen by dtype",
    ),
    (Resampling([("draw", rx.RashomonClassifier())]), "Resampling is not known"),
    (KBinsDiscretizer(), "KBinsDiscretizer is not known"),
    (SimpleImputer(strategy="constant"), "fills in, drops or indicates"),
    (ColumnTransformer([], remainder=MinMaxScaler()), "remainder: MinMaxScaler is not known"),
    (
        ColumnTransformer([("c", "passthrough", lambda X: X.columns[X.var() > 1])]),
        "columns are chosen by a function",
    ),
    (FeatureUnion([("u", make_pipeline(Mine()))]), "u.mine: Mine is not known"),
    (TransformedTargetRegressor(rx.RashomonRegressor(), func=np.log), "sees all targets at once"),
    (
        TransformedTargetRegressor(rx.RashomonRegressor(), transformer=StandardScaler()),
        "transformer:",
    ),
]


@pytest.mark.parametrize("estimator", PUBLIC, ids=lambda e: type(e).__name__)
def test_public_steps_are_not_named(estimator):
    assert rx.privacy_leaks(estimator) == []


@pytest.mark.parametrize(("estimator", "reason"), LEAKY, ids=lambda x: type(x).__name__)
def test_each_step_that_may_learn_is_named(estimator, reason):
    (leak,) = rx.privacy_leaks(estimator)
    assert reason in leak
    assert rx.privacy_leaks(make_pipeline(Mine(), rx.RashomonClassifier()), public=[Mine]) == []
