"""Counts under TreeFARMS's conventions: against lists written out, and what its program printed."""

from collections import Counter

import numpy as np
import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.mechanisms.planning.trees import plan_trees
from rashomon_explorer.sets.models.trees import Leaf
from rashomon_explorer.trees import CountedTrees, best_avoiding, flip_psi
from rashomon_explorer.trees.private import gibbs_draws
from tests.trees.listed import errors_of, leaves_of, some_rows, whole_class


def is_listed(tree, X, y):
    """Every leaf has rows, and the label that most have; of labels as frequent, the last."""
    if isinstance(tree, Leaf):
        many = Counter(y)
        return len(y) > 0 and tree.prediction == max(many, key=lambda label: (many[label], label))
    sides = [], []
    for row, label in zip(X, y, strict=True):
        sides[0 if row[tree.feature] else 1].append((row, label))
    branches = (tree.if_true, tree.if_false)
    return all(
        is_listed(branch, [r for r, _ in side], [c for _, c in side])
        for branch, side in zip(branches, sides, strict=True)
    )


@pytest.mark.parametrize("shape", [(2, 4, None), (3, 4, None), (3, 5, 2), (4, 3, None)], ids=str)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("idle", [False, True])
def test_counts_are_those_of_the_list(shape, seed, idle):
    m, leaves, depth = shape
    X, y = some_rows(seed, m=m, idle=idle)
    settings = {"max_leaves": leaves, "max_depth": depth, "leaf_penalty": 0.03}
    counted = CountedTrees(X, y, classes=(0, 1), convention="treefarms", **settings)
    trees = [tree for tree in whole_class(m, leaves, depth) if is_listed(tree, X, y)]
    losses = np.array([errors_of(t, X, y) / len(y) + 0.03 * leaves_of(t) for t in trees])
    assert counted.least == losses.min()
    for psi in (0.0, 0.1, 1.0):
        inside = [t for t, loss in zip(trees, losses, strict=True) if loss <= losses.min() + psi]
        found = Counter(map(leaves_of, inside))
        sizes = counted.sizes(psi)
        assert list(sizes) == [found[k] for k in range(1, len(sizes) + 1)]
        assert set(counted.draw(40, psi, random_state=0).models.trees) <= set(inside)
    assert counted.best() in trees
    assert best_avoiding(counted, 0) in trees


# Seed, rows, columns, most questions on a path: trees by leaves that treefarms 0.2.4 listed for
# regularization .03 and rashomon_bound .62. Ties are frequent in tables so small.
PRINTED = {
    (0, 12, 3, 2): [1, 1, 8, 4],
    (0, 12, 3, 3): [1, 1, 8, 12, 12, 7],
    (0, 30, 4, 3): [1, 2, 14, 64, 118, 212, 178, 24],
    (1, 12, 3, 3): [1, 1, 6, 20, 24, 30, 12],
    (1, 16, 4, 2): [1, 3, 16, 17],
    (1, 16, 4, 3): [1, 3, 16, 63, 116, 167, 116, 13],
    (2, 16, 4, 3): [1, 0, 10, 32, 37, 60, 18],
    (3, 12, 3, 3): [1, 2, 8, 17, 19, 17, 6],
    (3, 16, 4, 3): [1, 0, 6, 19, 9, 16],
}


@pytest.mark.parametrize("task", PRINTED, ids=str)
def test_counts_are_those_that_the_program_printed(task):
    seed, n, m, depth = task
    X, y = some_rows(seed, n=n, m=m)
    settings = {"max_leaves": 2**depth, "max_depth": depth, "leaf_penalty": 0.03}
    counted = CountedTrees(X, y, convention="treefarms", **settings)
    sizes = counted.sizes(0.62 - counted.least)
    assert [*sizes[: len(PRINTED[task])]] == PRINTED[task]
    assert not any(sizes[len(PRINTED[task]) :])


def test_nothing_private_comes_of_it():
    X, y = some_rows(0)
    counted = CountedTrees(X, y, max_leaves=3, convention="treefarms")
    public = {"log_size": counted.trees.log_size, "most_leaves": 3}
    planned = plan_trees(12, **public, psi=0.0, epsilon=1.0)
    with pytest.raises(ValueError, match="depends on no row"):
        gibbs_draws(counted, planned, np.random.default_rng(0))
    with pytest.raises(DataError, match="majority labels"):
        flip_psi(counted)
