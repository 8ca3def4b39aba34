"""Memory is bounded beforehand, by limits of the process too; rows and labels may be refused."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer._utils import memory_limits
from rashomon_explorer._utils.memory_limits import MemoryLimit
from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees import CountedTrees, TreeClass, feature_table, tree_class
from rashomon_explorer.trees.lattice import lattice
from rashomon_explorer.trees.rows import MergedRows

RNG = np.random.default_rng(0)
X, Y = RNG.integers(0, 2, (60, 4)), RNG.integers(0, 2, 60)

PEAK = """
import resource, sys
import numpy as np
from rashomon_explorer.trees import CountedTrees
n, m, leaves = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (n, m)), rng.integers(0, 2, n)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
counted = CountedTrees(X, y, max_leaves=leaves)
counted.draw(100, psi=0.05, random_state=0)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(counted.trees.memory(n), (after - before) * 1024)
"""


class TestMemory:
    @pytest.mark.skipif(sys.platform != "linux", reason="kilobytes there, bytes elsewhere")
    @pytest.mark.parametrize("shape", [(600, 40, 4), (2000, 12, 6)])
    def test_no_more_is_taken_than_was_said_beforehand(self, shape):
        """Random rows: hardly two paths lead to one set, so that hardly any is saved."""
        ran = subprocess.run(
            [sys.executable, "-c", PEAK, *map(str, shape)],
            capture_output=True,
            text=True,
            check=True,
        )
        said, taken = map(int, ran.stdout.split())
        assert taken <= said

    def test_the_deepest_level_leads_nowhere_and_holds_nothing_for_it(self):
        *_, last = lattice(MergedRows.of(X, Y, 2), TreeClass(4, 4))
        assert (last.yes == -1).all() and (last.no == -1).all()
        assert last.yes.strides == (0, 0) and last.with_feature.dtype == np.int32

    def test_limits_of_the_process_count_where_nothing_was_said(self, monkeypatch):
        limit = MemoryLimit("ulimit -v", 2**30, 2**30 - 2**25, own=True)
        monkeypatch.setattr(tree_class, "memory_limits", lambda: [limit])
        with pytest.raises(DataError, match=r"0\.0312 GiB are left under ulimit -v"):
            CountedTrees(X, Y, max_leaves=3)
        with pytest.raises(DataError, match="left under ulimit -v"):
            RashomonTreeClassifier(max_leaves=3).plan(60, 4)
        # Whoever says a number is taken at their word.
        assert CountedTrees(X, Y, max_leaves=3, most_memory=2**30).size(0.0) > 0
        monkeypatch.setattr(tree_class, "memory_limits", lambda: [])
        assert CountedTrees(X, Y, max_leaves=3).size(0.0) > 0
        assert memory_limits.memory_limits() is not None


class TestRows:
    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([None, "a", *["b"] * 58], "no label in row 0"),
            ([0.0, np.nan, *[1.0] * 58], "no label in row 1"),
            ([0.5, *[1.0] * 59], "holds 0.5 in row 0, and trees predict labels"),
            (np.array([1, "a"] * 30, dtype=object), "of several types"),
            ([1] * 60, "one class"),
            ([1] * 59, "60 rows need as many labels"),
        ],
    )
    def test_labels_that_are_none_are_refused(self, labels, message):
        with pytest.raises(DataError, match=message):
            CountedTrees(X, labels, max_leaves=2)

    def test_the_classifier_refuses_labels_without_an_order_in_words(self):
        with pytest.raises(ValueError, match="several types, such as None and text"):
            RashomonTreeClassifier(max_leaves=2).fit(X, np.array(["a", None] * 30, dtype=object))

    def test_truth_values_and_whole_numbers_are_labels(self):
        for labels in (Y.astype(bool), Y.astype(float), Y.astype(str)):
            assert CountedTrees(X, labels, max_leaves=2).size(1.0) == TreeClass(4, 2).size

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (X + 0.5, r"column 'x0' has values other than 0 .* thresholds="),
            (X[:0], r"must have rows and columns, got shape \(0, 4\)"),
            (X[:, 0], "must have rows and columns"),
            (np.where(X == 1, np.nan, 0), "holds NaN or infinity.*schema"),
            (pd.DataFrame({"a": ["u", "v"] * 30}), "is not a number.*propose_schema"),
        ],
    )
    def test_tables_without_questions_are_refused_with_the_way_out(self, table, message):
        with pytest.raises(DataError, match=message):
            CountedTrees.of_table(table, Y[: len(table)], max_leaves=2)

    def test_numbers_without_thresholds_name_what_takes_them(self):
        with pytest.raises(DataError, match=r"CountedTrees\.of_table\(X, y, thresholds"):
            CountedTrees(X + 0.5, Y, max_leaves=2)


class TestOfTable:
    def test_it_counts_what_the_answers_by_hand_do(self):
        table = pd.DataFrame({"age": RNG.uniform(20, 80, 200), "owns": RNG.integers(0, 2, 200)})
        labels = np.where((table["age"] > 45) & (table["owns"] == 1), "yes", "no")
        counted = CountedTrees.of_table(
            table, labels, thresholds={"age": [30, 45]}, max_leaves=4, leaf_penalty=0.01
        )
        answers = np.column_stack([table["age"] > 30, table["age"] > 45, table["owns"] == 1])
        by_hand = CountedTrees(answers, labels, max_leaves=4, leaf_penalty=0.01)
        assert counted.sizes(0.1) == by_hand.sizes(0.1)
        assert list(feature_table(counted).index) == ["age > 30", "age > 45", "owns"]
        one, other = (trees.draw(50, 0.1, random_state=0) for trees in (counted, by_hand))
        assert (one.labels(table) == other.labels(answers)).all()
        assert (one.losses == other.losses).all()
        assert one.text(0).startswith(tuple(counted.feature_names))
        best = counted.as_set([counted.best()])
        assert (
            best.losses[0] == counted.least and (best.labels(table)[0] == (labels == "yes")).all()
        )

    def test_a_schema_makes_the_questions_and_the_classes(self):
        columns = [Numeric("age", (0, 100), typical=(20, 60)), Categorical("home", ["a", "b", "c"])]
        schema = TableSchema([*columns, YesNo("repaid", role="target")])
        table = pd.DataFrame({"age": RNG.uniform(20, 60, 90), "home": RNG.choice([*"abc"], 90)})
        labels = np.where(table["home"] == "a", "yes", "no")
        counted = CountedTrees.of_table(table, labels, schema=schema, max_leaves=3)
        assert counted.classes == ("no", "yes") and counted.least == 0.0
        drawn = counted.draw(3, 0.0, random_state=0)
        rows = UnitEncoder(schema).transform(table)
        assert (drawn.labels(rows) == (labels == "yes")).all()

    def test_what_the_classifier_draws_from_is_what_it_counts(self):
        clf = RashomonTreeClassifier(max_leaves=3, n_draws=5, hit_rate=0.0, costs={1: 3})
        models, counted = clf.fit(X, Y).rashomon_set_, clf.counted(X, Y)
        assert counted.trees == clf.tree_class_ and counted.least == models.least
        assert counted.as_set(models.models.trees).losses == pytest.approx(models.losses)
        assert counted.feature_names == clf.questions_
