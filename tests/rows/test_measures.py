"""Measures of rows in blocks are those of the rows held whole."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import FunctionTransformer

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures import (
    by_group,
    declared_problem,
    exact_coefficient_ranges,
    exact_group_gap,
    fairness_audit,
    multiplicity_curve,
    multiplicity_table,
    permutation_importance,
)
from rashomon_explorer.measures.fairness.gaps import LABEL_GAPS
from rashomon_explorer.measures.inputs import Predictions, Steps
from rashomon_explorer.measures.multiplicity import MEASURES, Measure
from rashomon_explorer.measures.multiplicity.measure import mean_over_rows
from rashomon_explorer.measures.ranges import people_ranges
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows.columns import read_column, read_targets
from rashomon_explorer.rows.workers import ThreadWorkers
from rashomon_explorer.sets import RashomonSet

N, BLOCK, DRAWS = 700, 64, 12
RNG = np.random.default_rng(5)
X = RNG.uniform(-0.5, 0.5, size=(N, 3))
GROUPS = np.array(["north", "south", "west"])[np.minimum(np.arange(N) // 300, 2)]
CLASSES = {"two": 2, "three": 3}


@cache
def drawn(kind: str) -> RashomonSet:
    """Models that disagree, some of them alike and some outside ψ."""
    model: Any
    if kind == "regression":
        model, y = RashomonRegressor(target_bounds=(-1, 1)), X[:, 0]
    else:
        y = RNG.integers(0, CLASSES[kind], N)
        model = RashomonClassifier(classes=range(CLASSES[kind]))
    own = {"epsilon": 500.0, "n_draws": 3, "radius": 2.0, "row_norm": 1.0, "random_state": 0}
    models = model.set_params(**own, mechanism="langevin").fit(X, y).rashomon_set_
    coef = 1.0 + RNG.normal(size=(DRAWS, models.coef.shape[1]))
    coef[5] = coef[2]  # two that label alike
    excess = np.linspace(0.0, 1.2, DRAWS)[RNG.permutation(DRAWS)] * models.psi
    return replace(models, coef=coef, losses=models.least + excess)


def blocked(**changes: Any) -> ChunkedRows:
    return replace(chunk_rows(X, labelled=False), rows=BLOCK, **changes)


@pytest.mark.parametrize("kind", ["two", "three", "regression"])
def test_every_measure_is_that_of_all_rows(kind: str) -> None:
    models = drawn(kind)
    asked: dict[str, Any] = {
        "psi": np.array([0.2, 0.05, 1.0]) * models.psi,
        "groups": pd.Series(GROUPS, dtype=pd.CategoricalDtype(["north", "west", "south", "moon"])),
        "tolerance": 0.1,
    }
    whole = multiplicity_table(models, X, **asked)
    found = multiplicity_table(models, blocked(), **asked)
    assert set(whole["measure"]) == (set(MEASURES) if kind != "regression" else _OF_TARGETS)
    pd.testing.assert_frame_equal(found, whole, rtol=1e-12, atol=1e-13)
    assert found.attrs == whole.attrs


_OF_TARGETS = {"range_width", "score_variance", "score_std"} | {
    name for name in MEASURES if name.startswith("delta")
}


def test_a_measure_that_is_added_is_in_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def ones(predictions: Predictions, steps: Steps) -> Any:
        return np.array([predictions.values[:stop].mean(axis=0).sum() for _, stop, x in steps if x])

    texts = {"meaning": "share of labels 1", "formula": "mean over i and f of f(x_i)", "source": ""}
    own = Measure("ones", "labels", ones, mean_over_rows, "estimate", **texts)
    monkeypatch.setitem(MEASURES, "ones", own)
    models = drawn("two")
    inside = models.labels(X)[models.excess <= models.psi]
    for rows in (X, blocked()):
        table = multiplicity_table(models, rows, groups=GROUPS).set_index(["measure", "group"])
        assert table["value"]["ones", "all rows"] == pytest.approx(inside.mean())
        some = inside[:, GROUPS == "west"]
        assert table["value"]["ones", "west"] == pytest.approx(some.mean())
    labels = models.labels(X)
    assert multiplicity_curve("ones", labels, models.excess, [models.psi]) == inside.mean()
    west = by_group("ones", labels, GROUPS)["value"]["west"]
    assert west == pytest.approx(labels[:, GROUPS == "west"].mean())


def test_one_chunk_has_the_same_digits_as_the_table() -> None:
    models = drawn("two")
    options: dict[str, Any] = {"groups": GROUPS, "tolerance": 0.1, "psi": [0.3 * models.psi]}
    whole = multiplicity_table(models, X, **options)
    one_chunk = multiplicity_table(models, chunk_rows(X, labelled=False), **options)
    pd.testing.assert_frame_equal(one_chunk, whole, check_exact=True)


def test_a_reference_model_and_a_release_are_taken_too() -> None:
    models = drawn("two")
    baseline = RNG.uniform(size=N)
    for subject in (models, models.release()):
        asked: dict[str, Any] = {"baseline": baseline, "tolerance": 0.2, "inside_only": False}
        whole = multiplicity_table(subject, X, **asked)
        pd.testing.assert_frame_equal(
            multiplicity_table(subject, blocked(), **asked), whole, rtol=1e-12, atol=1e-13
        )
    with pytest.raises(ValueError, match="baseline must hold one entry for each of 700 rows"):
        multiplicity_table(models, blocked(), baseline=baseline[1:])


def test_one_worker_and_eight_give_the_same_digits() -> None:
    tables = [
        multiplicity_table(drawn("three"), blocked(workers=ThreadWorkers(count)), groups=GROUPS)
        for count in (1, 2, 8)
    ]
    for other in tables[1:]:
        pd.testing.assert_frame_equal(other, tables[0], check_exact=True)


def test_a_part_that_is_left_out_is_seen() -> None:
    """Control: without its last block a table has other measures."""
    short = replace(chunk_rows(X[: N - N % BLOCK], labelled=False), rows=BLOCK)
    asked: dict[str, Any] = {"measures": ["ambiguity", "discrepancy", "cohen_kappa", "score_std"]}
    whole = multiplicity_table(drawn("two"), X, **asked)["value"]
    found = multiplicity_table(drawn("two"), short, **asked)["value"]
    assert (np.abs(found - whole) > 1e-9).all()


def test_groups_are_a_column_of_the_files_that_is_no_feature(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=RNG.integers(0, 2, N), region=GROUPS)
    for number, low in enumerate(range(0, N, 250)):
        part = frame.iloc[low : low + 250]
        part.to_parquet(tmp_path / f"part-{number}.parquet", row_group_size=100)
    table = replace(chunk_rows(tmp_path, target="label", columns=list("abc")), rows=BLOCK)
    np.testing.assert_array_equal(read_column(table, "region"), GROUPS)
    np.testing.assert_array_equal(read_targets(table), frame["label"])
    measures = ["ambiguity", "disagreement"]
    found = multiplicity_table(drawn("two"), table, groups="region", measures=measures)
    whole = multiplicity_table(drawn("two"), X, groups=GROUPS, measures=measures)
    pd.testing.assert_frame_equal(found, whole, rtol=1e-12, atol=1e-13)
    with pytest.raises(DataError, match="no column 'colour'"):
        multiplicity_table(drawn("two"), table, groups="colour")


def test_what_shuffles_columns_says_that_it_takes_a_sample() -> None:
    with pytest.raises(TypeError, match=r"rows\.sample\(5_000\)\.to_memory\(\)"):
        permutation_importance(drawn("two"), blocked(), np.ones(len(X)))


def test_some_rows_are_picked_by_their_places_alone() -> None:
    y = np.arange(N)
    table = replace(chunk_rows(pd.DataFrame(X, columns=list("abc")), y), rows=BLOCK)
    rows, targets = table.sample(100).to_memory()
    assert list(rows.columns) == list("abc") and len(set(targets)) == 100
    np.testing.assert_array_equal(rows, X[targets])
    again, _ = replace(chunk_rows(X, labelled=False), rows=BLOCK).sample(100).to_memory()
    np.testing.assert_array_equal(again, rows)
    np.testing.assert_array_equal(table.sample(10**6).to_memory()[1], y)


AUDITS: dict[str, dict[str, Any]] = {
    "two": {"metrics": [*LABEL_GAPS, "expected_calibration_error"], "method": "to_overall"},
    "three": {"positive": 1, "agg": "difference"},
    "regression": {},
}


@pytest.mark.parametrize("kind", AUDITS)
def test_an_audit_is_that_of_all_rows(kind: str) -> None:
    models = drawn(kind)
    y = X[:, 0] if kind == "regression" else RNG.integers(0, CLASSES[kind], N)
    whole = fairness_audit(models, X, y, GROUPS, **AUDITS[kind])
    table = replace(chunk_rows(X, y), rows=BLOCK)
    found = fairness_audit(models, table, None, GROUPS, **AUDITS[kind])
    pd.testing.assert_frame_equal(found.table, whole.table, rtol=1e-12, atol=1e-13)
    pd.testing.assert_series_equal(found.best, whole.best, rtol=1e-12, atol=1e-13)
    pd.testing.assert_frame_equal(found.ranges(), whole.ranges(), rtol=1e-12, atol=1e-13)
    if kind != "regression":
        rates = [audit.rates("true_positive_rate") for audit in (found, whole)]
        pd.testing.assert_frame_equal(*rates, rtol=1e-12)


def test_a_ratio_and_several_attributes_are_taken_by_their_names() -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(region=GROUPS, old=X[:, 1] > 0)
    y = RNG.integers(0, 2, N)
    asked: dict[str, Any] = {"agg": "ratio", "metrics": ["demographic_parity", "equalized_odds"]}
    whole = fairness_audit(drawn("two"), X, y, frame[["region", "old"]], **asked)
    table = replace(chunk_rows(frame.assign(y=y), target="y"), rows=BLOCK)
    table = table.through(FunctionTransformer(_first_three))
    found = fairness_audit(drawn("two"), table, None, ["region", "old"], **asked)
    pd.testing.assert_frame_equal(found.table, whole.table, rtol=1e-12, atol=1e-13)


def _first_three(rows: pd.DataFrame) -> Any:
    return rows[list("abc")].to_numpy()


def test_exact_ranges_of_rows_in_blocks_are_those_of_all_rows() -> None:
    y = np.where(X[:, 0] > 0, "yes", "no")
    own = {"epsilon": 500.0, "psi": 0.5, "n_draws": 2, "radius": 2.0, "mechanism": "langevin"}
    model = RashomonClassifier(**own, random_state=0).fit(X, y)
    problems = [
        declared_problem(model, X, y),
        declared_problem(model, replace(chunk_rows(X, y), rows=BLOCK)),
    ]
    of_all, of_blocks = (exact_coefficient_ranges(problem, 0.01) for problem in problems)
    pd.testing.assert_frame_equal(of_blocks, of_all, rtol=1e-9, atol=1e-12)
    people = [people_ranges(model.rashomon_set_, X[:3], problem) for problem in problems]
    pd.testing.assert_frame_equal(people[1], people[0], rtol=1e-9, atol=1e-12)
    gaps = [exact_group_gap(problems[0], 0.01, rows, GROUPS) for rows in (X, blocked())]
    pd.testing.assert_frame_equal(gaps[1], gaps[0], rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="rows"):  # control: other rows than the draws'
        declared_problem(model, replace(chunk_rows(X[:650], y[:650]), rows=BLOCK))
