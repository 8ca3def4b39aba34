"""Problems, fits and predictions on chunked rows are those on rows in memory, and charged so."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rashomon_explorer as rx
from rashomon_explorer import exceptions
from rashomon_explorer.data import Categorical, Numeric
from rashomon_explorer.mechanisms.registry import MECHANISMS, get_mechanism
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.lower_bounds import excess_bound
from rashomon_explorer.problem.lower_bounds.quadratic import Where, bowl_under
from rashomon_explorer.problem.minimisation import MinimisedObjective, step_towards
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows.workers import ThreadWorkers

pytestmark = pytest.mark.filterwarnings("ignore")

N = 600
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 3)) * 0.7  # some rows are longer than 1
SCORES = X[:, 0] - 0.5 * X[:, 1] + 0.2 * RNG.normal(size=N)
SIGNS = np.where(SCORES > 0, 1.0, -1.0)
THIRDS = np.digitize(SCORES, [-0.2, 0.2])
TARGETS = np.clip(SCORES, -2, 2)
LABELS = (SIGNS > 0).astype(int)


def chunked(rows, y, size=64, **options):
    return replace(chunk_rows(rows, y, **options), rows=size)


@pytest.mark.parametrize("name", ["logistic", "squared", "softmax", "hinge", "smoothed_hinge"])
def test_sums_minimum_and_bounds_are_those_of_the_whole_table(name):
    targets = {"squared": TARGETS * 2, "softmax": THIRDS.astype(float)}.get(name, SIGNS)
    asked = {"loss": get_loss(name), "radius": 3.0, "ridge": 0.01}
    whole, one = Problem(X, targets, **asked), Problem(chunk_rows(X, targets), **asked)
    theta = np.random.default_rng(1).normal(size=(whole.p, 4))
    expected = whole.value_and_gradient(theta)
    for found, known in zip(one.value_and_gradient(theta), expected, strict=True):
        np.testing.assert_array_equal(found, known)  # one chunk: the same digits
    np.testing.assert_array_equal(one.minimum.theta, whole.minimum.theta)
    many = Problem(chunked(X, targets), **asked)
    assert many.constants == whole.constants
    assert many.clipped_share == whole.clipped_share > 0.1
    for found, known in zip(many.value_and_gradient(theta), expected, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-14)
    if name in ("hinge", "smoothed_hinge"):
        return
    np.testing.assert_allclose(many.hessian(theta[:, 0]), whole.hessian(theta[:, 0]), rtol=1e-10)
    assert abs(many.minimum.value - whole.minimum.value) < 1e-12
    risks = many.evaluator().loss, whole.evaluator().loss
    where = Where(np.zeros(whole.p), 3.0, theta[:, 0], 0.1 * np.eye(whole.p))
    np.testing.assert_allclose(
        *(bowl_under(risk, where).value(theta) for risk in risks), rtol=1e-10
    )
    whiten = np.linalg.inv(np.linalg.cholesky(whole.hessian(whole.minimum.theta)).T)
    found = [excess_bound(risk, whole.minimum.theta, whiten) for risk in risks]
    np.testing.assert_allclose(*(bound.at(theta) for bound in found), rtol=1e-8)
    of_chunks, of_whole = (bound.radial(np.geomspace(1e-2, 100, 99)) for bound in found)
    assert (of_chunks <= of_whole * (1 + 1e-9)).all()
    if name == "logistic":  # rows with labels folded in, for a loss that folds none
        known = Problem(X, targets, loss="squared", radius=3.0).value(theta)
        for problem in (many, whole):
            found = problem.mean_loss(get_loss("squared")).value(theta)
            np.testing.assert_allclose(found, known, rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_a_step_of_a_minimum_takes_one_pass_and_shorter_steps_another(name, monkeypatch):
    targets = THIRDS.astype(float) if name == "softmax" else SIGNS
    asked = {"loss": get_loss(name), "radius": 3.0, "ridge": 0.1}
    whole, many = Problem(X, targets, **asked), Problem(chunked(X, targets), **asked)
    passes, run = [], ChunkedRows.run
    monkeypatch.setattr(ChunkedRows, "run", lambda *given: passes.append(0) or run(*given))
    theta, tilt = np.random.default_rng(1).normal(size=(2, whole.p))
    evaluation = MinimisedObjective(many.objective.loss, many.ridge, tilt).evaluate(theta)
    assert len(passes) == 1
    value, gradient = whole.value_and_gradient(theta[:, None])
    np.testing.assert_allclose(evaluation.value, value[0] + tilt @ theta, rtol=1e-12)
    np.testing.assert_allclose(evaluation.gradient, gradient[:, 0] + tilt, rtol=1e-10)
    np.testing.assert_allclose(evaluation.cached_hessian, whole.hessian(theta), rtol=1e-10)
    passes.clear()
    evaluation = many.objective.evaluate(theta)
    for far, most in ((1e-3, 2), (1e2, 3), (1e4, 4)):
        moved = step_towards(many.objective, evaluation, theta - far * evaluation.gradient)
        assert moved.value < evaluation.value and len(passes) <= most
        passes.clear()
    uphill = theta + evaluation.gradient
    assert step_towards(many.objective, evaluation, uphill) is evaluation
    assert len(passes) == 6


def test_a_problem_in_chunks_holds_no_rows_and_refuses_what_needs_them():
    problem = Problem(chunk_rows(0.1 * X, SIGNS))
    for work in (lambda: problem.rows, lambda: problem.targets, lambda: problem.batches(2, RNG)):
        with pytest.raises(TypeError, match="never in memory together"):
            work()
    assert problem.data.sampled(problem.loss, 200).n == 200
    with pytest.raises(exceptions.DataError, match="row 1: labels must be"):
        Problem(chunk_rows(np.eye(2), np.array([1.0, 0.0])))


# Estimator, targets and settings, by kind of targets.
KINDS = {
    "two": (rx.DPClassifier, LABELS, {"classes": [0, 1]}),
    "three": (rx.DPClassifier, THIRDS, {"classes": [0, 1, 2]}),
    "hinge": (rx.DPClassifier, LABELS, {"classes": [0, 1], "loss": "hinge"}),
    "ridged": (rx.DPClassifier, LABELS, {"classes": [0, 1], "ridge": 0.1, "delta": 0.0}),
    "numbers": (rx.DPRegressor, TARGETS, {"target_bounds": (-2.0, 2.0)}),
    "absolute": (rx.DPRegressor, TARGETS, {"target_bounds": (-2.0, 2.0), "loss": "absolute"}),
}
BUDGET = {"epsilon": 4.0, "delta": 1e-6, "radius": 2.0, "random_state": 0}
EXACT = {"unthresholded", "regularised", "localised", "localised_chain"}


def _mechanisms():
    """Every mechanism for every kind of targets where it applies and needs sums alone."""
    found = []
    for kind, (estimator, _, own) in KINDS.items():
        loss = estimator(**own)._loss_for(3 if kind == "three" else None)
        settings = {"ridge": 0.0, **BUDGET, "row_norm": 2**0.5, "psi": 0.0, "n_draws": 1, **own}
        known = {k: one for k, one in settings.items() if k in Request.__dataclass_fields__}
        request = Request(**{**known, "n": N, "p": 4 * loss.outputs, "loss": loss})
        tried = [name for name, one in MECHANISMS.items() if one.traits.compared]
        tried += ["last_iterate"]
        names = [name for name in tried if not get_mechanism(name).why_unsupported(request)]
        names = [name for name in names if name != "noisy_sgd"]
        for name in (*names, "localised"):
            quick = name == "moments" or (kind == "two" and name != "noisy_descent")
            found.append(pytest.param(kind, name, marks=[] if quick else [pytest.mark.law]))
    return found


@pytest.mark.parametrize(("kind", "mechanism"), _mechanisms())
def test_the_model_of_chunks_is_that_of_the_table(kind, mechanism):
    estimator, targets, own = KINDS[kind]
    settings = {**BUDGET, **own, "mechanism": mechanism}
    whole, found = estimator(**settings).fit(X, targets), estimator(**settings)
    found.fit(chunked(X, targets))
    # Of a loss with kinks the law is the same, proposed by a coarser bound.
    if not (kind in ("hinge", "absolute") and mechanism in EXACT):
        for name in ("encoded_coef_", "encoded_intercept_"):
            values = [getattr(model, name) for model in (found, whole)]
            np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-12)
    assert found.plan_.with_numbers(in_chunks=False) == whole.plan_
    assert set(whole.guarantee_.assumptions) <= set(found.guarantee_.assumptions)
    rows = chunk_rows(X, labelled=False)
    np.testing.assert_array_equal(found.predict(rows), found.predict(X))


def test_every_mechanism_is_met():
    compared = {name for name, kind in MECHANISMS.items() if kind.traits.compared}
    assert compared - {"noisy_sgd"} <= {one.values[1] for one in _mechanisms()}


FIT = {"epsilon": 50.0, "n_draws": 3, "radius": 2.0, "random_state": 0}
FIT |= {"mechanism": "exact", "classes": [0, 1]}


def test_sets_private_columns_and_bounded_targets_of_chunks_are_those_of_the_table():
    one, other = rx.RashomonClassifier(**FIT), rx.RashomonClassifier(**FIT)
    one.fit(0.3 * X, LABELS)
    other.fit(chunked(0.3 * X, LABELS))
    np.testing.assert_array_equal(other.rashomon_set_.coef, one.rashomon_set_.coef)
    assert other.guarantee_ == one.guarantee_ and other.classes_.tolist() == [0, 1]
    one, other = (rx.DPClassifier(**BUDGET, classes=[0, 1], standardize="private") for _ in "ab")
    one.fit(X, LABELS)
    other.fit(chunked(X, LABELS))
    np.testing.assert_array_equal(other.scale_.spread, one.scale_.spread)
    np.testing.assert_allclose(other.encoded_coef_, one.encoded_coef_, rtol=1e-12, atol=1e-12)
    with pytest.warns(exceptions.RowsClippedWarning, match="target_bounds"):
        rx.DPRegressor(**BUDGET, target_bounds=(-0.1, 0.1)).fit(chunk_rows(0.3 * X, TARGETS))


@pytest.mark.law
def test_all_rows_a_step_are_a_sum_and_sampled_rows_are_refused():
    kind = MECHANISMS["noisy_sgd"]
    alone = {"rows": 300, "workers": ThreadWorkers(1)}  # thousands of steps
    table = replace(chunk_rows(X, SIGNS), **alone)
    whole, many = (Problem(*rows, loss="hinge") for rows in ((X, SIGNS), (table,)))
    offer = kind.plan(_request(ledger=True, in_chunks=True))
    assert offer.details.settings.rate == 1.0
    assert "chunked rows are summed, not sampled" in offer.certificate
    drawn = [kind.model(problem, offer, np.random.default_rng(0)) for problem in (whole, many)]
    np.testing.assert_allclose(*drawn, rtol=1e-9)
    pytest.importorskip("dp_accounting")
    for ledger in (False, True):
        assert kind.plan(_request(ledger=ledger)).details.settings.rate < 1.0
    settings = {**BUDGET, "classes": [0, 1], "loss": "hinge"}
    fitted = rx.DPClassifier(**settings, mechanism="noisy_sgd").fit(
        replace(chunk_rows(X, LABELS), **alone)
    )
    assert fitted.plan_.details.settings.rate == 1.0
    batches = rx.DPClassifier(**settings, mechanism="iterated_batches", ridge=10.0)
    with pytest.raises(
        exceptions.SamplerError, match=r"chunked rows are summed.*Nothing was charged"
    ):
        batches.fit(chunked(X, LABELS))


def _request(ledger, in_chunks=False):
    asked = {"n": 3_000, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 4.0}
    asked |= {"ridge": 0.0, "n_draws": 1, "row_norm": 2**0.5, "epsilon": 0.3, "delta": 1e-6}
    return Request(**asked, ledger=ledger, in_chunks=in_chunks)


HOME = np.where(X[:, 1] > 0, "own", "rent").astype(object)
HOME[::50] = None
PAID = np.where(LABELS, "yes", "no")
FRAME = pd.DataFrame({"age": 40 + 20 * X[:, 0], "home": HOME, "paid": PAID})
SCHEMA = rx.TableSchema(
    [
        Numeric("age", (0, 80), thresholds=[30, 40, 50]),
        Categorical("home", ["own", "rent"], missing="indicator"),
        Categorical("paid", ["no", "yes"], role="target"),
    ]
)
METHODS = ["predict", "predict_proba", "decision_function"]


@pytest.mark.slow
def test_a_dask_table_with_text_and_missing_values_is_fitted_and_predicted():
    own = {**FIT, "schema": SCHEMA, "classes": None}
    one = rx.RashomonClassifier(**own).fit(chunk_rows(FRAME, target="paid"))
    features = FRAME[["age", "home"]]
    for method in METHODS:
        whole = getattr(one, method)(features)
        found = getattr(one, method)(chunk_rows(features, labelled=False))
        np.testing.assert_array_equal(found, whole)
    dd, da = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    table = dd.from_pandas(FRAME, npartitions=4)
    other = rx.RashomonClassifier(**own).fit(table[["age", "home"]], table["paid"])
    np.testing.assert_array_equal(other.rashomon_set_.coef, one.rashomon_set_.coef)
    names = [model.encoder_.get_feature_names_out().tolist() for model in (one, other)]
    assert names[0] == names[1]
    for method in METHODS:
        whole, lazy = getattr(one, method)(features), getattr(one, method)(table[["age", "home"]])
        assert (lazy.ndim, lazy.dtype) == (whole.ndim, whole.dtype)
        computed = lazy.compute(scheduler="synchronous")
        if whole.dtype.kind == "f":
            np.testing.assert_allclose(computed, whole, rtol=1e-13)
        else:
            np.testing.assert_array_equal(computed, whole)
    clf = rx.DPClassifier(**BUDGET, classes=[0, 1]).fit(X, LABELS)
    lazy = clf.predict(da.from_array(X, chunks=(250, 1)))
    assert lazy.chunks == ((250, 250, 100),)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), clf.predict(X))


def _ledger(tmp_path, name="clinic"):
    return rx.Ledger.create(tmp_path / f"{name}.ledger", epsilon=100.0, delta=1e-5)


def test_nothing_is_spent_on_what_is_refused_before_a_row_is_read(tmp_path):
    ledger = _ledger(tmp_path)
    table, own = chunk_rows(0.3 * X, LABELS), {**FIT, "ledger": ledger}
    trees = rx.RashomonTreeClassifier(thresholds=0.5, ledger=ledger)
    unlabelled = chunk_rows(X, labelled=False)
    for model, rows, message in (
        (rx.RashomonClassifier(**{**own, "classes": None}), (table,), "declare them"),
        (rx.RashomonClassifier(**own, schema=rx.TableSchema([SCHEMA["age"]])), (table,), "column"),
        (rx.RashomonClassifier(**own), (table, LABELS), "leave y out"),
        (rx.RashomonClassifier(**own), (unlabelled,), "no targets to fit"),
        (rx.DPClassifier(ledger=ledger), (table,), "are not read to find the classes"),
        (trees, (table,), "are not read to find the classes"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(*rows)
    assert ledger.entries() == []
    with pytest.raises(TypeError, match="labelled=False is for rows without"):
        chunk_rows(FRAME, target="paid", labelled=False)


def test_a_bad_row_costs_the_charge_and_its_place_is_for_the_curator(tmp_path):
    ledger, bad, labels = _ledger(tmp_path), 0.3 * X, LABELS.copy()
    bad[599, 2], labels[300] = np.inf, 2
    odd, thresholds = NUMBERS.copy(), {0: [30, 40, 60]}
    odd[500, 1] = 0.5  # which is no answer of a tree's question
    model = rx.RashomonClassifier(**{**FIT, "epsilon": 20.0}, ledger=ledger)
    trees = rx.RashomonTreeClassifier(**TREES, thresholds=thresholds, ledger=ledger)
    for one, table, said in (
        (model, chunked(bad, LABELS), "row 599: NaN or infinity"),
        (model, chunked(0.3 * X, labels), "row 300: y holds 2"),
        (trees, chunked(odd, PAID), "row 500: column 'x1' has values other than 0 and 1"),
    ):
        with pytest.raises(exceptions.FitError) as caught:
            one.fit(table)
        assert said in caught.value.detail and said not in str(caught.value)
    trees.fit(chunked(NUMBERS, PAID))
    assert [entry.state for entry in ledger.entries()] == ["started"] * 3 + ["committed"]
    with pytest.raises(
        exceptions.DataError, match="row 300: y holds 2"
    ):  # for who may look, before a charge
        rx.RashomonClassifier(classes=[0, 1]).check_rows(chunk_rows(0.3 * X, labels))
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(0.3 * X, columns=list("abc"))
    model = rx.RashomonClassifier(**FIT).fit(frame, LABELS)
    frame.loc[571, "b"] = np.nan
    frame.to_parquet(tmp_path / "part.parquet", row_group_size=200)
    with pytest.raises(exceptions.DataError, match="row group 2, row 171 of it"):
        model.predict(chunk_rows(tmp_path / "part.parquet", labelled=False))


@pytest.mark.law
@pytest.mark.parametrize("model", [rx.DPClassifier, rx.RashomonTreeClassifier])
def test_a_bad_label_in_a_late_row_group_is_named(model, tmp_path):
    """Behind nine thousand row groups in two files; nothing is spent unsaid."""
    pytest.importorskip("pyarrow")
    frame = pd.concat([FRAME] * 61, ignore_index=True)[:36_400]
    frame.loc[36_002, "paid"] = "perhaps"
    (tmp_path / "rows").mkdir()
    for part, rows in enumerate((frame[:18_200], frame[18_200:])):
        path = tmp_path / "rows" / f"part-{part}.parquet"
        rows.to_parquet(path, row_group_size=4, index=False)
    ledger = _ledger(tmp_path)
    table = chunk_rows(tmp_path / "rows", target="paid")
    with pytest.raises(exceptions.FitError) as caught:
        model(schema=SCHEMA, ledger=ledger, epsilon=1.0, random_state=0).fit(table)
    assert "part-1.parquet, row group 4450, row 2 of it (row 36002 of all)" in caught.value.detail
    assert "perhaps" not in str(caught.value)
    assert [entry.state for entry in ledger.entries()] == ["started"]


def test_a_table_in_chunks_is_known_again_under_another_ledger(tmp_path):
    one, two = (rx.RashomonClassifier(**FIT, ledger=_ledger(tmp_path, name)) for name in "ab")
    one.fit(0.3 * X, LABELS)
    with pytest.warns(exceptions.SameTableWarning):
        two.fit(chunked(0.3 * X, LABELS))


def test_a_guarantee_names_what_it_assumes_of_files_and_of_the_way_to_workers(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert chunk_rows(X, SIGNS).assumptions == ()
    (steady,) = chunk_rows(mapped, LABELS).assumptions
    assert "the same in every pass" in steady
    settings = {**FIT, "row_norm": 4.0, "random_state": None}
    found = rx.RashomonClassifier(**settings).fit(chunk_rows(mapped, LABELS)).guarantee_
    assert steady in found.assumptions
    found = rx.DPClassifier(epsilon=2.0, classes=[0, 1]).fit(chunk_rows(X, LABELS, n_jobs=1))
    assert any("joblib" in said for said in found.guarantee_.assumptions)
    pytest.importorskip("pyarrow")
    pd.DataFrame(X, columns=list("abc")).assign(y=LABELS).to_parquet(tmp_path / "a.parquet")
    rows = chunk_rows(tmp_path / "a.parquet", target="y")
    found = rx.DPClassifier(epsilon=2.0, row_norm=4.0, classes=[0, 1]).fit(rows).guarantee_
    assert any("the folder's layout is public" in said for said in found.assumptions)


TREES = {"max_leaves": 3, "n_draws": 5, "epsilon": 2.0, "random_state": 0}
TREES["classes"] = ["no", "yes"]
NUMBERS = np.column_stack([FRAME["age"], FRAME["home"] == "own"]).astype(float)


@pytest.mark.parametrize(
    ("rows", "own"),
    [
        (NUMBERS, {"thresholds": {0: [30, 40, 60]}}),
        (NUMBERS, {"thresholds": {0: [30, 40]}, "costs": {"yes": 3}}),
        (FRAME[["age", "home"]], {"schema": SCHEMA}),
    ],
    ids=["numbers", "costs", "schema"],
)
def test_trees_of_chunks_are_counted_and_drawn_as_those_of_the_table(rows, own):
    clf = rx.RashomonTreeClassifier(**TREES, **own)
    chunks = replace(chunk_rows(rows, PAID), rows=128, workers=ThreadWorkers(2))
    whole, found = clf.counted(rows, PAID), clf.counted(chunks)
    for name in ("patterns", "counts", "pattern_index"):
        np.testing.assert_array_equal(getattr(found.rows, name), getattr(whole.rows, name))
    assert found.sizes(0.1) == whole.sizes(0.1)
    drawn = [clf.fit(*given).rashomon_set_ for given in ((rows, PAID), (chunks,))]
    assert drawn[0].models.trees == drawn[1].models.trees
    np.testing.assert_array_equal(drawn[0].losses, drawn[1].losses)
    np.testing.assert_array_equal(clf.predict(chunk_rows(rows, labelled=False)), clf.predict(rows))
