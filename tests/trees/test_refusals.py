"""Memory is bounded beforehand; rows, labels, costs and tables without questions are refused."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer._utils.memory_limits import MemoryLimit
from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees import (
    CountedTrees,
    TreeClass,
    feature_table,
    possible_labels,
    tree_class,
)

RNG = np.random.default_rng(0)
X, Y = RNG.integers(0, 2, (60, 4)), RNG.integers(0, 2, 60)

PEAK = """
import sys
import numpy as np
from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.trees import CountedTrees
from rashomon_explorer.trees.private import gibbs_draws
n, m, leaves, depth, share = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (n, m)), rng.integers(0, 2, n)
y = np.where(rng.integers(0, 100, n) < share, X[:, 0], y)  # so much of the label is explained
def resident(kind):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind))
clf = RashomonTreeClassifier(max_leaves=leaves, max_depth=depth, epsilon=1.0, psi=0.05)
planned = clf.plan(n, m)
open("/proc/self/clear_refs", "w").write("5")  # the peak of what comes
before = resident("VmRSS")
counted = CountedTrees(X.astype(bool), y, max_leaves=leaves, max_depth=depth)
gibbs_draws(counted, planned, rng)
print(planned.details.memory, (resident("VmHWM") - before) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="kilobytes there, bytes elsewhere")
@pytest.mark.law
@pytest.mark.parametrize("share", [0, 60, 100])
@pytest.mark.parametrize(
    "shape", [(2000, 12, 6, 5), (600, 40, 4, 3), (7000, 12, 6, 4), (20_000, 20, 5, 4)]
)
def test_memory_of_private_draws_is_close_to_what_was_said_beforehand(shape, share):
    """Random rows: hardly two paths lead to one set, so that hardly any is saved."""
    program = [sys.executable, "-c", PEAK, *map(str, [*shape, share])]
    ran = subprocess.run(program, capture_output=True, text=True, check=True)
    said, taken = map(int, ran.stdout.split())
    assert taken <= said
    assert said <= 2.5 * taken + 2**21


def test_limits_of_the_process_count_where_nothing_was_said(monkeypatch):
    limit = MemoryLimit("ulimit -v", 2**30, 2**30 - 2**24, is_process=True)
    monkeypatch.setattr(tree_class, "memory_limits", lambda: [limit])
    with pytest.raises(DataError, match=r"0\.0156 GiB are left under ulimit -v"):
        CountedTrees(X, Y, max_leaves=3)
    with pytest.raises(DataError, match="left under ulimit -v"):
        RashomonTreeClassifier(max_leaves=6).plan(6000, 20)
    # Whoever says a number is taken at their word.
    assert CountedTrees(X, Y, max_leaves=3, most_memory=2**30).size(0.0) > 0
    monkeypatch.setattr(tree_class, "memory_limits", lambda: [])
    assert CountedTrees(X, Y, max_leaves=3).size(0.0) > 0


class Unreadable:
    shape = (5000, 60)

    def __array__(self, *args, **kwargs):
        raise AssertionError("read")


FEW, SIGNS = [[0, 1], [1, 0]], [0, 1]


@pytest.mark.parametrize(
    ("rows", "labels", "settings", "message"),
    [
        (Unreadable(), np.zeros(5000), {"max_leaves": 10}, "10 leaves on 60.* GiB .* 6 leaves or"),
        ([[0, 2], [1, 0]], SIGNS, {}, "column 1 of X holds"),
        (np.empty((0, 3)), [], {}, "rows and columns"),
        (X + 0.5, Y, {}, r"CountedTrees\.of_table\(X, y, thresholds"),
        (FEW, [1, 1], {}, "one class"),
        (FEW, [0, 1, 1], {}, "2 rows need as many labels, got shape"),
        (X, [None, "a", *["b"] * 58], {}, "no label in row 0"),
        (X, [0.0, np.nan, *[1.0] * 58], {}, "no label in row 1"),
        (X, [0.5, *[1.0] * 59], {}, "holds 0.5 in row 0, and trees predict labels"),
        (X, np.array([1, "a"] * 30, dtype=object), {}, "of several types"),
        (FEW, SIGNS, {"leaf_penalty": -1.0}, "leaf_penalty"),
        (FEW, SIGNS, {"max_leaves": 0}, "max_leaves"),
        (FEW, SIGNS, {"feature_names": ["a"]}, "2 columns"),
        (FEW, SIGNS, {"convention": "gosdt"}, "convention must be one of"),
        (FEW, SIGNS, {"costs": [[0, 1]]}, "2 rows of 2 numbers"),
        (FEW, SIGNS, {"costs": "dear"}, "2 rows of 2 numbers"),
        (FEW, SIGNS, {"costs": [[0, 1], [1, 1]]}, "0 on the diagonal"),
        (FEW, SIGNS, {"costs": [[0, 0], [0, 0]]}, "0 everywhere"),
        *(
            (FEW, SIGNS, {"costs": costs}, "costs must be whole numbers from")
            for costs in ([[0, 1.5], [1, 0]], [[0, -1], [1, 0]], [[0, 2000], [1, 0]])
        ),
        *((FEW, SIGNS, {"costs": {0: cost}}, "whole numbers from 1") for cost in (0, 1.5, True)),
        (FEW, SIGNS, {"costs": {2: 1}}, "costs name the label 2"),
    ],
)
def test_what_cannot_be_counted_is_refused(rows, labels, settings, message):
    with pytest.raises(ValueError, match=message):
        CountedTrees(rows, labels, **{"max_leaves": 2, **settings})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (X + 0.5, r"column 'x0' has values other than 0 .* thresholds="),
        (X[:0], r"must have rows and columns, got shape \(0, 4\)"),
        (np.where(X == 1, np.nan, 0), "holds NaN or infinity.*schema"),
        (pd.DataFrame({"a": ["u", "v"] * 30}), "is not a number.*propose_schema"),
    ],
)
def test_tables_without_questions_are_refused_with_the_way_out(table, message):
    with pytest.raises(DataError, match=message):
        CountedTrees.of_table(table, Y[: len(table)], max_leaves=2)


def test_private_draws_take_memory_for_every_error_of_the_dearest_cost():
    with pytest.raises(DataError, match="or smaller costs would fit"):
        TreeClass(40, 6).check_memory(200, 2**32, 1000)


def test_truth_values_and_whole_numbers_are_labels():
    for labels in (Y.astype(bool), Y.astype(float), Y.astype(str)):
        assert CountedTrees(X, labels, max_leaves=2).size(1.0) == TreeClass(4, 2).size


def test_a_table_counts_what_the_answers_by_hand_do():
    table = pd.DataFrame({"age": RNG.uniform(20, 80, 200), "owns": RNG.integers(0, 2, 200)})
    labels = np.where((table["age"] > 45) & (table["owns"] == 1), "yes", "no")
    settings = {"max_leaves": 4, "leaf_penalty": 0.01}
    counted = CountedTrees.of_table(table, labels, thresholds={"age": [30, 45]}, **settings)
    answers = np.column_stack([table["age"] > 30, table["age"] > 45, table["owns"] == 1])
    by_hand = CountedTrees(answers, labels, **settings)
    assert counted.sizes(0.1) == by_hand.sizes(0.1)
    assert list(feature_table(counted).index) == ["age > 30", "age > 45", "owns"]
    one, other = (trees.draw(50, 0.1, random_state=0) for trees in (counted, by_hand))
    assert (one.labels(table) == other.labels(answers)).all()
    assert (one.losses == other.losses).all()
    assert one.text(0).startswith(tuple(counted.feature_names))
    best = counted.as_set([counted.best()])
    assert best.losses[0] == counted.least
    assert (best.labels(table)[0] == (labels == "yes")).all()


def test_a_schema_makes_the_questions_and_the_classes():
    columns = [Numeric("age", (0, 100), typical=(20, 60)), Categorical("home", ["a", "b", "c"])]
    schema = TableSchema([*columns, YesNo("repaid", role="target")])
    table = pd.DataFrame({"age": RNG.uniform(20, 60, 90), "home": RNG.choice([*"abc"], 90)})
    labels = np.where(table["home"] == "a", "yes", "no")
    counted = CountedTrees.of_table(table, labels, schema=schema, max_leaves=3)
    assert counted.classes == ("no", "yes") and counted.least == 0.0
    drawn = counted.draw(3, 0.0, random_state=0)
    rows = UnitEncoder(schema).transform(table)
    for same in (rows, table):
        assert (drawn.labels(same) == (labels == "yes")).all()
        assert (possible_labels(counted, 0.0, same)[:, 1] == (labels == "yes")).all()


def test_what_the_classifier_draws_from_is_what_it_counts():
    clf = RashomonTreeClassifier(max_leaves=3, n_draws=5, hit_rate=0.0, costs={1: 3})
    models, counted = clf.fit(X, Y).rashomon_set_, clf.counted(X, Y)
    assert counted.trees == clf.tree_class_ and counted.least == models.least
    assert counted.as_set(models.models.trees).losses == pytest.approx(models.losses)
    assert counted.feature_names == clf.questions_
