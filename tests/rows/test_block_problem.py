"""A problem over blocks is the problem over the whole table, and a fit on it the same fit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import (
    DPBilevelSearch,
    DPClassifier,
    Ledger,
    PrivateSearch,
    RashomonClassifier,
    RashomonRegressor,
)
from rashomon_explorer.data import Categorical, Numeric, TableSchema
from rashomon_explorer.exceptions import DataError, FitError, RowsClippedWarning, SameTableWarning
from rashomon_explorer.problem.losses import Loss, get_loss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.lower_bounds import excess_bound
from rashomon_explorer.problem.lower_bounds.quadratic import Where, bowl_under
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import chunk_rows

N, D = 600, 3
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, D)) * 0.7  # some rows are longer than 1
SIGNS = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
TARGETS: dict[str, Any] = {
    "logistic": SIGNS,
    "squared": X[:, 0] * 2,
    "softmax": RNG.integers(0, 3, N).astype(float),
}


def _pair(name: str) -> tuple[Problem, Problem]:
    loss: Loss = SoftmaxLoss(3) if name == "softmax" else get_loss(name)
    whole = Problem(X, TARGETS[name], loss=loss, radius=3.0, ridge=0.01)
    table = replace(chunk_rows(X, TARGETS[name]), rows=64)
    return whole, Problem(table, loss=loss, radius=3.0, ridge=0.01)


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
@pytest.mark.parametrize("name", TARGETS)
def test_sums_minimum_and_bounds_are_those_of_the_whole_table(name: str) -> None:
    whole, blocks = _pair(name)
    theta = np.random.default_rng(1).normal(size=(whole.p, 4))
    assert blocks.constants == whole.constants
    assert blocks.clipped_share == whole.clipped_share > 0.1
    for ours, theirs in zip(
        blocks.value_and_gradient(theta), whole.value_and_gradient(theta), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(blocks.hessian(theta[:, 0]), whole.hessian(theta[:, 0]), rtol=1e-10)
    bound, other = blocks.curvature_bound(), whole.curvature_bound()
    assert bound is not None and other is not None
    np.testing.assert_allclose(bound, other, rtol=1e-10, atol=1e-15)
    assert abs(blocks.minimum.value - whole.minimum.value) < 1e-12
    risks = blocks.evaluator().loss, whole.evaluator().loss
    where = Where(np.zeros(whole.p), 3.0, theta[:, 0], 0.1 * np.eye(whole.p))
    bowls = [bowl_under(risk, where) for risk in risks]
    np.testing.assert_allclose(bowls[0].value(theta), bowls[1].value(theta), rtol=1e-10)
    whiten = np.linalg.inv(np.linalg.cholesky(whole.hessian(whole.minimum.theta)).T)
    found = [excess_bound(risk, whole.minimum.theta, whiten).at(theta) for risk in risks]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
@pytest.mark.parametrize("name", [*TARGETS, "hinge", "smoothed_hinge"])
def test_one_chunk_has_the_digits_of_the_table(name: str) -> None:
    targets = TARGETS.get(name, SIGNS)
    loss: Loss = SoftmaxLoss(3) if name == "softmax" else get_loss(name)
    whole = Problem(X, targets, loss=loss, radius=3.0, ridge=0.01)
    chunk = Problem(chunk_rows(X, targets), loss=loss, radius=3.0, ridge=0.01)
    theta = np.random.default_rng(1).normal(size=(whole.p, 4))
    for ours, theirs in zip(
        chunk.value_and_gradient(theta), whole.value_and_gradient(theta), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(chunk.minimum.theta, whole.minimum.theta)


def test_a_problem_in_blocks_holds_no_rows() -> None:
    problem = Problem(chunk_rows(0.1 * X, SIGNS))
    for asked in (lambda: problem.rows, lambda: problem.targets, lambda: problem.batches(2, RNG)):
        with pytest.raises(TypeError, match="never in memory together"):
            asked()
    assert problem.sampled(200).n == 200


FIT: dict[str, Any] = {"epsilon": 50.0, "n_draws": 3, "radius": 2.0, "random_state": 0}


def test_a_fit_on_blocks_draws_what_a_fit_on_the_array_draws() -> None:
    asked = {**FIT, "mechanism": "exact", "classes": [0, 1]}
    labels = (SIGNS > 0).astype(int)
    one = RashomonClassifier(**asked).fit(0.3 * X, labels)
    other = RashomonClassifier(**asked).fit(replace(chunk_rows(0.3 * X, labels), rows=64))
    np.testing.assert_array_equal(other.rashomon_set_.coef, one.rashomon_set_.coef)
    assert other.guarantee_ == one.guarantee_
    assert other.classes_.tolist() == one.classes_.tolist()


def test_private_columns_and_bounded_targets_work_on_blocks() -> None:
    asked = {
        **FIT,
        "mechanism": "ellipsoid",
        "standardize": "private",
        "target_bounds": (-2.0, 2.0),
    }
    one = RashomonRegressor(**asked).fit(0.3 * X, X[:, 0])
    other = RashomonRegressor(**asked).fit(replace(chunk_rows(0.3 * X, X[:, 0]), rows=64))
    np.testing.assert_allclose(other.rashomon_set_.coef, one.rashomon_set_.coef, atol=1e-5)
    assert other.scale_ is not None
    with pytest.warns(RowsClippedWarning, match="target_bounds"):
        RashomonRegressor(**{**asked, "target_bounds": (-0.1, 0.1)}).fit(
            chunk_rows(0.3 * X, X[:, 0])
        )


def test_a_dask_table_with_text_and_missing_values_in_three_lines() -> None:
    dd = pytest.importorskip("dask.dataframe")
    home = np.where(X[:, 1] > 0, "own", "rent").astype(object)
    home[::50] = None
    frame = pd.DataFrame({"age": 40 + 20 * X[:, 0], "home": home, "paid": SIGNS > 0})
    schema = TableSchema(
        [
            Numeric("age", (0, 80)),
            Categorical("home", ["own", "rent"], missing="indicator"),
            Categorical("paid", [False, True], role="target"),
        ]
    )
    asked = {**FIT, "mechanism": "exact", "schema": schema}
    one = RashomonClassifier(**asked).fit(chunk_rows(frame, target="paid"))
    table = dd.from_pandas(frame, npartitions=4)
    other = RashomonClassifier(**asked).fit(table[["age", "home"]], table["paid"])
    np.testing.assert_array_equal(other.rashomon_set_.coef, one.rashomon_set_.coef)
    assert other.encoder_.get_feature_names_out().tolist() == (
        one.encoder_.get_feature_names_out().tolist()
    )


def _refusing(tmp_path: Path) -> tuple[Ledger, dict[str, Any]]:
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=100.0, delta=1e-5)
    asked = {"epsilon": 1.0, "n_draws": 1, "radius": 2.0, "ledger": ledger, "mechanism": "exact"}
    return ledger, {**asked, "classes": [0, 1], "patience": 100}


@pytest.mark.filterwarnings("ignore")
def test_nothing_is_spent_on_what_is_refused_before_a_row_is_read(tmp_path: Path) -> None:
    ledger, asked = _refusing(tmp_path)
    table = chunk_rows(0.3 * X, SIGNS)
    for broken, message in (
        ({**asked, "classes": None}, "declare them"),
        ({**asked, "schema": TableSchema([Numeric("age", (0, 80))])}, "column"),
    ):
        with pytest.raises(ValueError, match=message):
            RashomonClassifier(**broken).fit(table)
    with pytest.raises(TypeError, match="leave y out"):
        RashomonClassifier(**asked).fit(table, SIGNS)
    for model in (
        PrivateSearch(DPClassifier(classes=[-1, 1]), {"radius": [1.0, 2.0]}, ledger=ledger),
        DPBilevelSearch(classes=[-1, 1], ledger=ledger),
    ):
        with pytest.raises(TypeError, match=f"{type(model).__name__} needs whole tables"):
            model.fit(table, None)
    assert ledger.entries() == []


@pytest.mark.filterwarnings("ignore")
def test_a_bad_row_costs_the_charge_and_its_place_is_for_the_curator(tmp_path: Path) -> None:
    ledger, asked = _refusing(tmp_path)
    bad = 0.3 * X
    bad[599, 2] = np.inf
    table = replace(chunk_rows(bad, (SIGNS > 0).astype(int)), rows=64)
    with pytest.raises(FitError) as caught:
        RashomonClassifier(**asked).fit(table)
    assert "599" not in str(caught.value) and "row 599: NaN or infinity" in caught.value.detail
    assert [entry.state for entry in ledger.entries()] == ["started"]
    labels = (SIGNS > 0).astype(int)
    labels[300] = 2
    with pytest.raises(FitError) as caught:
        RashomonClassifier(**asked).fit(replace(chunk_rows(0.3 * X, labels), rows=64))
    assert "row 300: y holds 2" in caught.value.detail
    with pytest.raises(DataError, match="row 300: y holds 2"):  # for who may look, before a charge
        RashomonClassifier(classes=[0, 1]).check_rows(chunk_rows(0.3 * X, labels))


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
def test_a_table_in_blocks_is_known_again_under_another_ledger(tmp_path: Path) -> None:
    labels = (SIGNS > 0).astype(int)
    asked = {**FIT, "mechanism": "exact", "classes": [0, 1]}
    for name in ("one", "two"):
        Ledger.create(tmp_path / f"{name}.ledger", epsilon=100.0, delta=1e-5)
    RashomonClassifier(**asked, ledger=tmp_path / "one.ledger").fit(0.3 * X, labels)
    table = replace(chunk_rows(0.3 * X, labels), rows=64)
    with pytest.warns(SameTableWarning):
        RashomonClassifier(**asked, ledger=tmp_path / "two.ledger").fit(table)


def test_a_guarantee_names_what_it_assumes_of_files_and_of_the_way_to_workers(
    tmp_path: Path,
) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert chunk_rows(X, SIGNS).assumptions == ()
    (steady,) = chunk_rows(mapped, SIGNS).assumptions
    assert "the same in every pass" in steady
    asked = {**FIT, "mechanism": "exact", "classes": [-1, 1], "row_norm": 4.0, "random_state": None}
    found = RashomonClassifier(**asked).fit(chunk_rows(mapped, SIGNS)).guarantee_
    assert steady in found.assumptions
    assert "joblib" in chunk_rows(X, SIGNS, n_jobs=2).assumptions[0]


def test_labels_that_a_loss_does_not_know_are_refused() -> None:
    with pytest.raises(DataError, match="row 1: labels must be"):
        Problem(chunk_rows(np.eye(2), np.array([1.0, 0.0])))
