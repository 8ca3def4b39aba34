"""Exact answers of the curator against every tree of a small class written out."""

import numpy as np
import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.trees import Leaf
from rashomon_explorer.trees import (
    CountedTrees,
    best_avoiding,
    best_tree_predicting,
    best_using,
    feature_table,
    flip_psi,
    least_losses,
)
from tests.trees.listed import errors_of, leaves_of, says, some_rows, whole_class

CLASSES = [
    (2, 4, None, 2, False),
    (3, 4, None, 2, True),
    (3, 5, 2, 2, False),
    (4, 3, None, 2, True),
    (3, 3, None, 3, False),
    (1, 3, None, 2, False),
    (2, 1, None, 2, False),
]


def both(shape, seed, penalty):
    """A counted set, and every tree with its loss."""
    m, leaves, depth, labels, idle = shape
    X, y = some_rows(seed, m=m, n_labels=labels, idle=idle)
    settings = {"max_leaves": leaves, "max_depth": depth, "leaf_penalty": penalty}
    counted = CountedTrees(X, y, classes=range(labels), **settings)
    trees = whole_class(m, leaves, depth, labels)
    losses = np.array([errors_of(t, X, y) / len(y) + penalty * leaves_of(t) for t in trees])
    return counted, X, trees, losses


def asks(tree):
    return (
        set()
        if isinstance(tree, Leaf)
        else {tree.feature, *asks(tree.if_true), *asks(tree.if_false)}
    )


def least(losses, mask):
    return losses[mask].min() if mask.any() else np.inf


@pytest.mark.parametrize("shape", CLASSES, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("penalty", [0.0, 0.04])
class TestBruteForce:
    def test_every_flip(self, shape, seed, penalty):
        counted, X, trees, losses = both(shape, seed, penalty)
        said = np.array([[says(tree, row) for row in X] for tree in trees])
        wanted = np.array(
            [[least(losses, said[:, i] == b) for b in range(shape[3])] for i in range(len(X))]
        )
        assert least_losses(counted) == pytest.approx(wanted, abs=1e-12)
        second = np.sort(wanted, axis=1)[:, 1]
        assert flip_psi(counted) == pytest.approx(second - counted.least, abs=1e-12)

    def test_the_best_tree_that_says_so(self, shape, seed, penalty):
        counted, X, trees, losses = both(shape, seed, penalty)
        every = dict(zip(trees, losses, strict=True))
        wanted = least_losses(counted)
        for row in (0, 5, 11):
            for label in range(shape[3]):
                tree = best_tree_predicting(counted, row, label)
                assert says(tree, X[row]) == label
                assert every[tree] == pytest.approx(wanted[row, label], abs=1e-12)

    def test_features_used_and_avoided(self, shape, seed, penalty):
        counted, _, trees, losses = both(shape, seed, penalty)
        every = dict(zip(trees, losses, strict=True))
        uses = np.array([[f in asks(tree) for f in range(shape[0])] for tree in trees])
        psi = 0.2
        inside = losses <= counted.least + psi
        found = feature_table(counted, psi)
        for feature in range(shape[0]):
            using, without = uses[:, feature], ~uses[:, feature]
            row = found.iloc[feature]
            wanted = least(losses, using) - counted.least
            assert row["psi_using"] == pytest.approx(wanted, abs=1e-12)
            assert row["psi_avoiding"] == pytest.approx(
                least(losses, without) - counted.least, abs=1e-12
            )
            assert row["share_using"] == pytest.approx((inside & using).sum() / inside.sum())
            tree = best_avoiding(counted, feature)
            if using.any():
                witness = best_using(counted, feature)
                assert feature in asks(witness)
                assert every[witness] == pytest.approx(least(losses, using), abs=1e-12)
            else:
                with pytest.raises(DataError, match="no tree of the class tests column"):
                    best_using(counted, feature)
            assert feature not in asks(tree)
            assert every[tree] == pytest.approx(least(losses, without), abs=1e-12)


def test_what_is_not_there_is_refused():
    counted, *_ = both(CLASSES[0], 0, 0.0)
    with pytest.raises(DataError, match="feature must be below 2"):
        best_avoiding(counted, 2)
    with pytest.raises(DataError, match="row must be below 12"):
        best_tree_predicting(counted, 12, 0)


def test_a_flip_within_psi_is_one_of_the_set():
    """Draws of the set never show a label that is said to need a larger ψ."""
    counted, X, *_ = both((4, 4, None, 2, False), 3, 0.01)
    needed = least_losses(counted) - counted.least
    for tree in counted.draw(200, psi=0.1, random_state=0).models.trees:
        for row, x in enumerate(X):
            assert needed[row, says(tree, x)] <= 0.1 + 1e-12
