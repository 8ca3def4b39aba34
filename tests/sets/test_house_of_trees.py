"""Sets of trees go wherever sets go: TimberTrek and back, reliance, releases, reports, stopping."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import enough_draws, model_reliance
from rashomon_explorer.measures.reliance import reliance_over_draws
from rashomon_explorer.release import release
from rashomon_explorer.release.catalogue import get_query
from rashomon_explorer.release.losses import ClippedShare
from rashomon_explorer.release.query import Rows
from rashomon_explorer.release.run import _public
from rashomon_explorer.sets import RashomonSet, from_treefarms
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Split
from rashomon_explorer.sets.sources.trees import tree_set
from rashomon_explorer.trees import CountedTrees
from tests.sets.test_trees import PUBLISHED, TRIE, car_table


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 5))
    y = np.where(rng.random(400) < 0.85, X[:, 0] & X[:, 1], rng.integers(0, 2, size=400))
    return X, y


@pytest.fixture(scope="module")
def counted(table):
    return CountedTrees(*table, max_leaves=4, leaf_penalty=0.01)


@pytest.fixture(scope="module")
def drawn(counted):
    return counted.draw(30, psi=0.05, random_state=0)


@pytest.fixture(scope="module")
def private(table):
    settings = {"epsilon": 1.0, "n_draws": 8, "max_leaves": 3, "hit_rate": 0.0, "random_state": 0}
    return RashomonTreeClassifier(**settings).fit(*table).rashomon_set_


def read(tree):
    """Tree of a TimberTrek file, as this package holds it."""
    head = tree["f"][0]
    if head in "-+":
        return Leaf("-+".index(head))
    return Split(int(head), *map(read, tree["c"]))


class TestTimberTrek:
    def test_there_and_back(self, drawn, table):
        entries = json.loads(json.dumps(drawn.to_timbertrek(*table)))["treeMap"]
        assert tuple(read(tree) for tree, *_ in entries.values()) == drawn.models.trees
        assert [objective for _, objective, _ in entries.values()] == drawn.losses.tolist()
        assert tuple(f"tree {number}" for number in entries) == drawn.names
        errors = [1 - accuracy for *_, accuracy in entries.values()]
        wrong = (drawn.labels(table[0]) != table[1]).mean(axis=1)
        assert errors == pytest.approx(wrong, abs=1e-5)

    def test_its_own_demonstration(self):
        models = from_treefarms(TRIE)
        again = models.to_timbertrek(car_table(), models.labels(car_table())[0])["treeMap"]["0"]

        def reached(tree):
            return [tree["f"][:2], *(reached(part) for part in tree.get("c", []))]

        assert reached(again[0]) == reached(PUBLISHED) and again[2] == 1.0

    def test_rules_of_the_trie_lead_to_their_trees(self):
        stump = Split(1, Leaf(1), Leaf(0))
        trees = DecisionTrees((stump, Split(0, stump, Leaf(0))), 2, ("a:x", "b"))
        written = _set(trees).to_timbertrek()
        assert written["featureMap"] == {"0": ["a", "x", "a"], "1": ["b", "", "b"]}
        (b, a) = written["trie"]["c"]
        assert b == {"f": "1", "c": [{"f": "_", "t": 0}]}
        assert a["c"] == [{"f": "1", "c": [{"f": "_", "t": 1}]}, {"f": "_", "t": 1}]

    def test_comparisons_are_columns_of_their_own(self):
        tree = Split(0, Leaf(1), Split(0, Leaf(1), Leaf(0), ">", 9.0), ">", 30.0)
        models = _set(DecisionTrees((tree,), 2, ("age",)))
        written = models.to_timbertrek([[40.0], [20.0], [3.0]], [1, 1, 1])
        assert [one[0] for one in written["featureMap"].values()] == ["age > 9", "age > 30"]
        assert written["treeMap"]["0"][0]["f"] == ["1", 3, -1]
        assert written["treeMap"]["0"][2] == round(2 / 3, 5)

    def test_what_it_has_no_words_for_is_refused(self, private, table):
        with pytest.raises(TypeError, match=r"\+ or -"):
            _set(DecisionTrees((Leaf(2),), 3)).to_timbertrek()
        with pytest.raises(ValueError, match="losses of these trees are unknown"):
            private.release().to_timbertrek()
        assert private.release().to_timbertrek(*table)["treeMap"]["1"][1] <= 0.5


def _set(trees):
    kind = {"loss": "zero_one", "psi": None, "classes": range(trees.n_classes), "complete": False}
    names = [f"tree {k}" for k in range(len(trees))]
    losses = np.zeros(len(trees))
    return tree_set(trees.trees, losses, feature_names=trees.feature_names, names=names, **kind)


class TestRelease:
    def test_exact_values_are_those_of_the_measures(self, private, table):
        X, y = table
        asked = {"epsilon": 1e9, "ledger": None, "random_state": 0}
        found = release(private, X, y, queries=["losses", "reliance"], **asked).table()["estimate"]
        wrong = (private.labels(X) != y).mean(axis=1)
        assert found.iloc[:8].to_numpy() == pytest.approx(wrong, abs=1e-6)
        mean = model_reliance(private, X, y).mean().to_numpy()
        assert found.iloc[8:].to_numpy() == pytest.approx(mean, abs=1e-6)

    @pytest.mark.parametrize("name", ["reliance", "losses", "ambiguity", "accuracies"])
    def test_no_neighbour_moves_an_answer_further_than_its_price(self, private, name):
        """Every replaced record of a small table; and half the sensitivity is too little."""
        rng = np.random.default_rng(1)
        X, y = rng.integers(0, 2, size=(4, 5)), np.array([0, 1, 1, 0])
        stumps = tuple(Split(column, Leaf(1), Leaf(0)) for column in (0, 1))
        models = DecisionTrees(stumps, 2, private.models.feature_names)
        released = replace(private.release(), models=models)
        public, _ = _public(released, X, y, None, (), charged=False)
        query = get_query(name)
        bound = query.sensitivity(public)
        before = query.compute(Rows.read(public, X, y, None))
        widest = 0.0
        for *row, label in product((0, 1), repeat=6):
            other, labels = X.copy(), y.copy()
            other[0], labels[0] = row, label
            after = query.compute(Rows.read(public, other, labels, None))
            widest = max(widest, float(np.linalg.norm(after - before)))
        assert 0 < widest <= bound.l2 + 1e-12
        if name != "reliance":
            assert widest > bound.l2 / 2

    def test_what_was_not_drawn_privately_stays(self, drawn, private, table):
        with pytest.raises(CuratorOnlyError, match="cannot be released"):
            release(drawn, *table, queries=["ambiguity"], epsilon=1.0, ledger=None)
        with pytest.raises(ValueError, match="needs linear models"):
            ClippedShare().check(_public(private, *table, None, (), charged=False)[0])


def test_reliance_and_stopping_need_independent_draws(drawn, private, table, tmp_path):
    every, found = model_reliance(drawn, *table), reliance_over_draws(drawn, *table)
    for name, row in found.iterrows():
        assert every[name].iloc[int(row["draw_least"])] == row["least"] == every[name].min()
        assert every[name].iloc[int(row["draw_most"])] == row["most"] == every[name].max()
        assert row["low"] <= row["mean"] <= row["high"]
    drawn.save(tmp_path / "a.npz")
    assert RashomonSet.load(tmp_path / "a.npz").independent
    assert private.independent and private.release().mechanism == "exact"
    labels = drawn.labels(table[0])
    assert enough_draws("disagreement", labels, mechanism=drawn.mechanism).n_draws
    enumerated = from_treefarms(drawn.to_treefarms())
    with pytest.raises(TypeError, match="independent draws of trees"):
        reliance_over_draws(enumerated, *table)
    with pytest.raises(ValueError, match="dependence between draws"):
        enough_draws("disagreement", labels, mechanism=enumerated.mechanism)
    with pytest.raises(ValueError, match="zero_one"):
        model_reliance(drawn, *table, loss="logistic")
