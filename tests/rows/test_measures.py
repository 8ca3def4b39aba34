"""Measures, audits, ranges and reports of chunked rows are those of the rows in memory."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import FunctionTransformer

from rashomon_explorer import RashomonClassifier, RashomonRegressor, measures
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.fairness.gaps import LABEL_GAPS
from rashomon_explorer.measures.importance import shap_importance
from rashomon_explorer.measures.multiplicity import MEASURES
from rashomon_explorer.measures.ranges import people_ranges
from rashomon_explorer.report import material, report
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows.chunked import read_column, read_targets
from rashomon_explorer.rows.workers import ThreadWorkers

N, BLOCK, DRAWS = 700, 64, 12
RNG = np.random.default_rng(5)
X = RNG.uniform(-0.5, 0.5, size=(N, 3))
GROUPS = np.array(["north", "south", "west"])[np.minimum(np.arange(N) // 300, 2)]
Y = {
    "two": (X[:, 0] + RNG.normal(0, 0.4, N) > 0).astype(int),
    "three": np.digitize(X[:, 0] + RNG.normal(0, 0.3, N), [-0.2, 0.2]),
    "number": np.clip(X[:, 0] + RNG.normal(0, 0.2, N), -1, 1),
}
BASELINE = RNG.uniform(size=N)


@cache
def drawn(kind):
    """Models that disagree, some of them alike and some outside ψ."""
    own = {"epsilon": 500.0, "n_draws": 3, "radius": 2.0, "mechanism": "langevin"}
    model = RashomonClassifier(**own, random_state=0)
    if kind == "number":
        model = RashomonRegressor(**own, random_state=0, target_bounds=(-1, 1))
    models = model.fit(X, Y[kind]).rashomon_set_
    rng = np.random.default_rng(0)
    coef = 1.0 + rng.normal(size=(DRAWS, models.coef.shape[1]))
    coef[5] = coef[2]  # two that label alike
    excess = np.linspace(0.0, 1.2, DRAWS)[rng.permutation(DRAWS)] * models.psi
    return replace(models, coef=coef, losses=models.least + excess)


@cache
def exact(kind):
    own = {"psi": 0.2, "n_draws": 8, "mechanism": "exact", "radius": 1.0, "random_state": 0}
    return RashomonClassifier(epsilon=200.0, **own).fit(X, Y[kind]).rashomon_set_


def blocked(kind="two", **changes):
    return replace(chunk_rows(X, Y[kind]), rows=BLOCK, **changes)


def multiplicity(kind, rows, y):
    groups = pd.Series(GROUPS[: _length(rows)])
    groups = groups.astype(pd.CategoricalDtype(["north", "west", "south", "moon"]))
    psi = np.array([0.2, 0.05, 1.0]) * drawn(kind).psi
    table = measures.multiplicity_table(drawn(kind), rows, psi=psi, groups=groups, tolerance=0.1)
    return [table, pd.Series(table.attrs, dtype=object)]


def reference(kind, rows, y):
    asked = {"tolerance": 0.2, "inside_only": False}
    asked["baseline"] = BASELINE[: _length(rows)]
    subjects = drawn(kind), drawn(kind).release()
    return [measures.multiplicity_table(one, rows, **asked) for one in subjects]


def decomposition(kind, rows, y):
    split = measures.disagreement_decomposition(exact(kind), rows, groups=GROUPS[: _length(rows)])
    return [pd.DataFrame([split.hit_rate]), split.table]


def shapley(kind, rows, y):
    groups = {"n": ["x0", "x1"], "x2": ["x2"]}
    options = ({}, {"background": X[:40]}, {"features": groups})
    return [shap_importance(drawn(kind), rows, **one) for one in options]


def reliance(kind, rows, y):
    forms = ("difference", "ratio")
    return [measures.model_reliance(drawn(kind), rows, y, form=form) for form in forms]


AUDITS = {
    "two": {"metrics": [*LABEL_GAPS, "expected_calibration_error"], "method": "to_overall"},
    "three": {"positive": 1, "agg": "difference"},
    "number": {},
}


def audit(kind, rows, y):
    found = measures.fairness_audit(drawn(kind), rows, y, GROUPS[: _length(rows)], **AUDITS[kind])
    rates = [] if kind == "number" else [found.rates("true_positive_rate")]
    return [found.table, found.best, found.ranges(), *rates]


def _length(rows):
    return rows.n if isinstance(rows, ChunkedRows) else len(rows)


ALL = ("two", "three", "number")
WORK = [
    *((multiplicity, kind) for kind in ALL),
    (reference, "two"),
    *((decomposition, kind) for kind in ALL[:2]),
    *((shapley, kind) for kind in ALL),
    (reliance, "number"),
    *((audit, kind) for kind in ALL),
]
NAMES = [f"{work.__name__}-{kind}" for work, kind in WORK]


def _compare(found, whole, **tolerance):
    check = pd.testing.assert_series_equal
    if isinstance(whole, pd.DataFrame):
        check = pd.testing.assert_frame_equal
    check(found, whole, **tolerance)


@pytest.mark.parametrize(("work", "kind"), WORK, ids=NAMES)
def test_chunked_rows_give_what_all_rows_give(work, kind):
    whole = work(kind, X, Y[kind])
    for found, expected in zip(work(kind, blocked(kind), None), whole, strict=True):
        _compare(found, expected, rtol=1e-9, atol=1e-12)
    short = replace(chunk_rows(X[: N - N % BLOCK], Y[kind][: N - N % BLOCK]), rows=BLOCK)
    with pytest.raises(AssertionError):  # control: a chunk that is left out is seen
        for found, expected in zip(work(kind, short, None), whole, strict=True):
            _compare(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_one_chunk_and_any_number_of_workers_give_the_same_digits():
    (whole, _), (one, _) = (
        multiplicity("three", rows, None) for rows in (X, chunk_rows(X, labelled=False))
    )
    pd.testing.assert_frame_equal(one, whole, check_exact=True)
    assert set(whole["measure"]) == set(MEASURES)
    first, *others = (
        multiplicity("three", blocked(workers=ThreadWorkers(count)), None)[0] for count in (1, 2, 8)
    )
    for other in others:
        pd.testing.assert_frame_equal(other, first, check_exact=True)


def test_groups_and_targets_are_columns_of_the_files_that_are_no_features(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=Y["two"], region=GROUPS)
    frame["old"] = X[:, 1] > 0
    for number, low in enumerate(range(0, N, 250)):
        part = frame.iloc[low : low + 250]
        part.to_parquet(tmp_path / f"part-{number}.parquet", row_group_size=100)
    table = replace(chunk_rows(tmp_path, target="label", columns=list("abc")), rows=BLOCK)
    np.testing.assert_array_equal(read_column(table, "region"), GROUPS)
    np.testing.assert_array_equal(read_targets(table), frame["label"])
    own = {"measures": ["ambiguity", "disagreement"]}
    found = measures.multiplicity_table(drawn("two"), table, groups="region", **own)
    whole = measures.multiplicity_table(drawn("two"), X, groups=GROUPS, **own)
    pd.testing.assert_frame_equal(found, whole, rtol=1e-12, atol=1e-13)
    asked = {"agg": "ratio", "metrics": ["demographic_parity", "equalized_odds"]}
    several = frame[["region", "old"]]
    expected = measures.fairness_audit(drawn("two"), X, Y["two"], several, **asked)
    encoded = replace(chunk_rows(frame, target="label"), rows=BLOCK)
    encoded = encoded.through(FunctionTransformer(_first_three))
    audit = measures.fairness_audit(drawn("two"), encoded, None, ["region", "old"], **asked)
    pd.testing.assert_frame_equal(audit.table, expected.table, rtol=1e-12, atol=1e-13)


def _first_three(rows):
    return rows[list("abc")].to_numpy()


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: measures.permutation_importance(drawn("two"), blocked(), np.ones(N)),
            r"rows\.sample\(5_000\)\.to_memory\(\)",
        ),
        (lambda: reliance("two", blocked(), None), r"logistic loss needs all pairs.*rows\.sample"),
        (
            lambda: measures.multiplicity_table(drawn("two"), blocked(), baseline=BASELINE[1:]),
            "baseline must hold one entry for each of 700 rows",
        ),
        (
            lambda: measures.multiplicity_table(
                drawn("two"), chunk_rows(FRAME, X[:, 0]), groups="z"
            ),
            "there is no column 'z'",
        ),
    ],
)
def test_what_chunks_cannot_give_is_refused_in_words(work, message):
    with pytest.raises((TypeError, ValueError, DataError), match=message):
        work()


FRAME = pd.DataFrame(X, columns=list("abc"))


def test_some_rows_are_sampled_by_their_places_alone():
    table = replace(chunk_rows(FRAME, np.arange(N)), rows=BLOCK)
    rows, targets = table.sample(100).to_memory()
    assert list(rows.columns) == list("abc") and len(set(targets)) == 100
    np.testing.assert_array_equal(rows, X[targets])
    again, _ = replace(chunk_rows(X, labelled=False), rows=BLOCK).sample(100).to_memory()
    np.testing.assert_array_equal(again, rows)
    np.testing.assert_array_equal(table.sample(10**6).to_memory()[1], np.arange(N))


def test_exact_ranges_of_chunked_rows_are_those_of_all_rows():
    y = np.where(X[:, 0] > 0, "yes", "no")
    own = {"epsilon": 500.0, "psi": 0.5, "n_draws": 2, "radius": 2.0, "mechanism": "langevin"}
    model = RashomonClassifier(**own, random_state=0).fit(X, y)
    chunks = replace(chunk_rows(X, y), rows=BLOCK)
    problems = [measures.declared_problem(model, X, y), measures.declared_problem(model, chunks)]
    of_all, of_blocks = (measures.exact_coefficient_ranges(one, 0.01) for one in problems)
    pd.testing.assert_frame_equal(of_blocks, of_all, rtol=1e-9, atol=1e-12)
    people = [people_ranges(model.rashomon_set_, X[:3], problem) for problem in problems]
    pd.testing.assert_frame_equal(people[1], people[0], rtol=1e-9, atol=1e-12)
    gaps = [measures.exact_group_gap(problems[0], 0.01, rows, GROUPS) for rows in (X, blocked())]
    pd.testing.assert_frame_equal(gaps[1], gaps[0], rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="rows"):  # control: other rows than the draws'
        measures.declared_problem(model, replace(chunk_rows(X[:650], y[:650]), rows=BLOCK))


@pytest.mark.slow
def test_a_report_of_chunked_rows_has_the_numbers_of_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(material, "PEOPLE", 200)
    asked = {"groups": pd.Series(GROUPS, name="region"), "interactive": False}
    whole, found = (
        report(exact("two"), tmp_path / name, *rows, **asked).read_text(encoding="utf-8")
        for name, rows in (("w.html", (X, Y["two"])), ("f.html", (blocked(),)))
    )
    for caption in (
        "Multiplicity of the Rashomon set",
        "How unequal are almost equally good models?",
        "Features, as the models take them",
        "Classes",
        "Decomposition",
        "Multiplicity over the threshold",
    ):
        tables = [
            text[text.index(f">{caption}<") :].partition("</table>")[0] for text in (whole, found)
        ]
        cells = [re.findall(r"<t[dh][^>]*>([^<]*)<", table) for table in tables]
        assert cells[0] == cells[1] and cells[0]
    told = "this section shows a fixed random sample of 200 of "
    assert found.count(told) == 2 and told not in whole
