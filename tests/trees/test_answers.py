"""Exact answers of the curator against every tree of a small class written out."""

import numpy as np
import pytest

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.trees import tree_columns
from rashomon_explorer.trees import (
    best_avoiding,
    best_tree_predicting,
    best_using,
    feature_table,
    flip_psi,
    least_losses,
)
from tests.trees.listed import CLASSES, listing, says


def least(losses, mask):
    return losses[mask].min() if mask.any() else np.inf


@pytest.mark.parametrize(("shape", "costs"), CLASSES, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("penalty", [0.0, 0.04])
class TestBruteForce:
    def test_every_flip_and_the_best_tree_that_predicts_it(self, shape, costs, seed, penalty):
        known = listing(shape, seed, penalty, costs)
        counted, labels = known.counted, range(shape[3])
        wanted = np.array(
            [[least(known.losses, row == b) for b in labels] for row in known.labels.T]
        )
        assert least_losses(counted) == pytest.approx(wanted, abs=1e-12)
        second = np.sort(wanted, axis=1)[:, 1]
        assert flip_psi(counted) == pytest.approx(second - counted.least, abs=1e-12)
        for row in (0, 5, 11):
            for label in labels:
                tree = best_tree_predicting(counted, row, label)
                assert says(tree, known.X[row]) == label
                assert known.loss_of(tree) == pytest.approx(wanted[row, label], abs=1e-12)

    def test_features_used_and_avoided(self, shape, costs, seed, penalty):
        known = listing(shape, seed, penalty, costs)
        counted, losses = known.counted, known.losses
        uses = np.array([[f in tree_columns(t) for f in range(shape[0])] for t in known.trees])
        inside = losses <= counted.least + 0.2
        found = feature_table(counted, 0.2)
        for feature in range(shape[0]):
            using, row = uses[:, feature], found.iloc[feature]
            wanted, without = least(losses, using), least(losses, ~using)
            assert row["psi_using"] == pytest.approx(wanted - counted.least, abs=1e-12)
            assert row["psi_avoiding"] == pytest.approx(without - counted.least, abs=1e-12)
            assert row["share_using"] == pytest.approx((inside & using).sum() / inside.sum())
            tree = best_avoiding(counted, feature)
            assert feature not in tree_columns(tree)
            assert known.loss_of(tree) == pytest.approx(without, abs=1e-12)
            if not using.any():
                with pytest.raises(DataError, match="no tree of the class tests column"):
                    best_using(counted, feature)
                continue
            tree = best_using(counted, feature)
            assert feature in tree_columns(tree)
            assert known.loss_of(tree) == pytest.approx(wanted, abs=1e-12)


def test_what_is_not_there_is_refused():
    counted = listing((2, 4, None, 2, False)).counted
    with pytest.raises(DataError, match="feature must be below 2"):
        best_avoiding(counted, 2)
    with pytest.raises(DataError, match="row must be below 12"):
        best_tree_predicting(counted, 12, 0)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_feature_that_is_tested_in_an_empty_branch_alone_gives_no_better_tree(seed):
    """Fifteen thousand trees, of which many test a feature only where no row comes."""
    known = listing((4, 6, 3, 2, True), seed, 0.01)
    for feature in range(4):
        using = np.array([feature in tree_columns(tree) for tree in known.trees])
        found = known.loss_of(best_using(known.counted, feature))
        assert found == pytest.approx(least(known.losses, using), abs=1e-12)
