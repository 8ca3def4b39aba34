"""Counts within ψ see few sets of rows; they are those of all sets, and of every tree listed."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees import CountedTrees, flip_psi
from rashomon_explorer.trees.conjunctions import Conjunctions
from rashomon_explorer.trees.counted import _LABEL_COSTS
from tests.trees.listed import CLASSES, listing


def random_table(seed):
    """A small table with labels, costs, depths, conventions and idle columns of every kind."""
    rng = np.random.default_rng(seed)
    n, m, labels = rng.integers((2, 1, 2), (60, 6, 4))
    X = rng.integers(0, 2, (n, m))
    if seed % 3 == 0:
        X[:, 0], X[:, -1] = 1, X[:, m // 2]
    costs = rng.integers(0, 6, (labels, labels)) * (1 - np.eye(labels, dtype=int))
    settings = {
        "max_leaves": rng.integers(1, 8),
        "max_depth": [None, 1, 2, 3, 4][rng.integers(5)],
        "leaf_penalty": rng.choice([0, 0.01, 0.05, 0.2]),
        "costs": costs if seed % 2 and costs.any() else None,
        "classes": range(labels),
        "convention": ["all", "treefarms"][seed % 5 == 0],
    }
    return X, rng.integers(0, labels, n), settings


def numbers(counted, psi):
    """Number of trees with each number of leaves and cost of errors."""
    histograms = enumerate(counted.histogram(psi))
    return {
        (leaves, first + at): number
        for leaves, (first, values) in ((k, h) for k, h in histograms if h is not None)
        for at, number in enumerate(values.tolist())
        if number
    }


@pytest.mark.parametrize("seed", range(60))
def test_counts_shares_and_draws_are_those_of_all_sets_of_rows(seed):
    X, y, settings = random_table(seed)
    pruned, whole = CountedTrees(X, y, **settings), CountedTrees(X, y, **settings)
    assert len(whole.least_errors.levels) == len(whole.levels)
    n_sets = [len(level.sets) for level in whole.levels]
    assert pruned.least_by_leaves.tolist() == whole.least_by_leaves.tolist()
    for psi in (0.02, 0.0, 0.1, 0.3, 3.0):  # larger than counted, and smaller
        assert numbers(pruned, psi) == numbers(whole, psi)
        assert (pruned.labelled(psi) == whole.labelled(psi)).all()
        drawn, same = (trees.draw(20, psi, 0) for trees in (pruned, whole))
        assert drawn.models.trees == same.models.trees
        found = [len(level.sets) for level in pruned.counts(psi).levels]
        assert all(few <= every for few, every in zip(found, n_sets, strict=False))
    assert pruned.best() == whole.best()
    assert "levels" not in vars(pruned)


@pytest.mark.parametrize(("shape", "costs"), CLASSES, ids=str)
def test_a_bound_that_is_too_high_loses_trees(shape, costs, monkeypatch):
    """Negative control: least errors that are one too many below the first question."""

    def too_high(self, depth, *conjunctions):
        return errors(self, depth, *conjunctions) + (depth > 0)

    errors = Conjunctions.errors
    known = listing(shape, 0, 0.02, costs)
    if len(known.counted.trees.table) < 3:
        pytest.skip("these trees have no two questions on a path")
    for psi in (0.0, 0.1, 0.3):
        inside = known.losses <= known.losses.min() + psi + 1e-12
        wanted = Counter(known.sizes[inside].tolist())
        assert known.counted.size(psi) == sum(wanted.values())
    monkeypatch.setattr(Conjunctions, "errors", too_high)
    again = listing(shape, 0, 0.02, costs).counted
    assert any(again.size(psi) < known.counted.size(psi) for psi in np.linspace(0, 0.5, 26))


def noisy_table(n, m):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n, m))
    answers = (X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3])
    return X, np.where(rng.random(n) < 0.8, answers, rng.integers(0, 2, n))


def test_few_trees_need_few_sets_of_rows():
    """16 trees: of 87,441 sets of rows, those on their paths."""
    settings = {"max_leaves": 32, "max_depth": 5, "leaf_penalty": 0.005}
    counted = CountedTrees(*noisy_table(5000, 20), **settings)
    assert counted.size(0.02 * counted.least) == 16
    assert sum(len(level.sets) for level in counted.counts(0.0).levels) < 500


@pytest.mark.law
def test_the_memory_that_is_refused_is_that_which_would_be_taken():
    """With two thirds of it counting is refused; with one and a half times as much it is done."""
    table = noisy_table(5000, 20)
    settings, psi = {"max_leaves": 32, "max_depth": 5, "leaf_penalty": 0.005}, 0.06
    counted = CountedTrees(*table, most_memory=2**34, **settings)
    assert counted.least > 0 and counted.rows.weights.size
    tracemalloc.start()
    size = counted.size(psi)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken > 2**25
    with pytest.raises(DataError, match="more than the memory allowed: a smaller psi"):
        CountedTrees(*table, most_memory=int(taken / 1.5), **settings).size(psi)
    assert CountedTrees(*table, most_memory=int(taken * 1.5), **settings).size(psi) == size


@pytest.mark.law
@pytest.mark.parametrize("shape", [(5000, 20, 6), (20_000, 21, 5), (2000, 12, 8), (500, 40, 4)])
def test_the_memory_of_conjunctions_is_known_from_public_numbers(shape):
    n, m, depth = shape
    counted = CountedTrees(*noisy_table(n, m), max_leaves=2**depth, max_depth=depth)
    tracemalloc.start()
    assert counted.least > 0
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    estimate = counted.trees.least_memory(n)
    assert taken <= estimate <= 1.5 * taken + 2**24
    tracemalloc.start()
    assert (flip_psi(counted) >= 0).all()
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken <= _LABEL_COSTS * estimate
