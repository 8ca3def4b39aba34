"""Sets of trees go wherever sets go: reliance, releases, reports, stopping."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures import enough_draws, model_reliance
from rashomon_explorer.release import Coefficients, release
from rashomon_explorer.release.catalogue import get_query
from rashomon_explorer.release.query import Rows
from rashomon_explorer.release.run import _public
from rashomon_explorer.sets import RashomonSet, from_treefarms
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Split
from rashomon_explorer.trees import CountedTrees


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
            Coefficients().check(_public(private, *table, None, (), charged=False)[0])


def test_the_stopping_rule_needs_independent_draws(drawn, private, table, tmp_path):
    drawn.save(tmp_path / "a.npz")
    assert RashomonSet.load(tmp_path / "a.npz").independent
    assert private.independent and private.release().mechanism == "exact"
    labels = drawn.labels(table[0])
    assert enough_draws("disagreement", labels, mechanism=drawn.mechanism).n_draws
    enumerated = from_treefarms(drawn.to_treefarms())
    with pytest.raises(ValueError, match="dependence between draws"):
        enough_draws("disagreement", labels, mechanism=enumerated.mechanism)
