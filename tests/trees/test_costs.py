"""Costs of errors by what is said of which label, against every tree written out."""

import numpy as np
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees import (
    CountedTrees,
    best_avoiding,
    best_tree_predicting,
    best_using,
    best_with_parity,
    feature_table,
    least_losses,
)
from rashomon_explorer.trees.private import counted_like
from tests.trees.listed import leaves_of, says, some_rows, whole_class

TWO = np.array([[0, 2], [5, 0]])
THREE = np.array([[0, 1, 4], [2, 0, 0], [7, 3, 0]])
CLASSES = [
    (2, 4, None, TWO, False),
    (3, 4, None, TWO, True),
    (3, 5, 2, TWO, False),
    (3, 3, None, THREE, False),
    (1, 3, None, THREE, True),
]
PENALTY = 0.03


def made(shape, seed=3):
    m, leaves, depth, costs, idle = shape
    labels = len(costs)
    X, y = some_rows(seed, m=m, n_labels=labels, idle=idle and m > 1)
    settings = {"max_leaves": leaves, "max_depth": depth, "leaf_penalty": PENALTY}
    counted = CountedTrees(X, y, classes=range(labels), costs=costs, **settings)
    trees = whole_class(m, leaves, depth, labels)
    said = np.array([[says(tree, row) for row in X] for tree in trees])
    paid = costs[y, said].sum(axis=1)
    sizes = np.array([leaves_of(tree) for tree in trees])
    return counted, X, trees, said, paid, paid / (len(y) * costs.max()) + PENALTY * sizes


@pytest.mark.parametrize("shape", CLASSES, ids=lambda s: f"{s[0]}-{s[1]}-{len(s[3])}")
class TestBruteForce:
    def test_counts_draws_and_the_best(self, shape):
        counted, _, trees, _, paid, losses = made(shape)
        for psi in (0.0, 0.07, 0.3, 1.0):
            assert counted.size(psi) == (losses <= losses.min() + psi + 1e-12).sum()
        assert losses[trees.index(counted.best())] == pytest.approx(losses.min(), abs=1e-12)
        drawn = counted.draw(40, 0.3, random_state=0)
        for tree, loss in zip(drawn.models.trees, drawn.losses, strict=True):
            assert losses[trees.index(tree)] == pytest.approx(loss, abs=1e-12)
            assert counted.errors(tree) == paid[trees.index(tree)]

    def test_who_can_be_told_what(self, shape):
        counted, X, trees, said, _, losses = made(shape)
        wanted = np.array(
            [[losses[said[:, i] == b].min() for b in range(len(shape[3]))] for i in range(len(X))]
        )
        assert least_losses(counted) == pytest.approx(wanted, abs=1e-12)
        for label in range(len(shape[3])):
            tree = best_tree_predicting(counted, 4, label)
            assert said[trees.index(tree), 4] == label
            assert losses[trees.index(tree)] == pytest.approx(wanted[4, label], abs=1e-12)

    def test_features_and_parity(self, shape):
        counted, X, trees, said, _, losses = made(shape)
        table = feature_table(counted, 0.2)
        for feature in range(X.shape[1]):
            using = losses[trees.index(best_using(counted, feature))] - counted.least
            without = losses[trees.index(best_avoiding(counted, feature))] - counted.least
            assert using == pytest.approx(table.iloc[feature]["psi_using"], abs=1e-12)
            assert without == pytest.approx(table.iloc[feature]["psi_avoiding"], abs=1e-12)
        groups = np.arange(len(X)) % 2
        rates = np.array([(said[:, groups == g] == 1).mean(axis=1) for g in (0, 1)])
        gaps = np.abs(rates[0] - rates[1])
        found = best_with_parity(counted, groups, 0.2)
        assert found.loss == pytest.approx(losses[gaps <= 0.2 + 1e-12].min(), abs=1e-12)
        assert losses[trees.index(found.tree)] == pytest.approx(found.loss, abs=1e-12)


def test_a_label_s_costs_are_a_matrix():
    X, y = some_rows(1)
    by_label = CountedTrees(X, y, max_leaves=3, costs={1: 5})
    matrix = CountedTrees(X, y, max_leaves=3, costs=[[0, 1], [5, 0]])
    assert by_label.sizes(0.2) == matrix.sizes(0.2) and by_label.least == matrix.least


def test_one_row_moves_no_loss_by_more_than_one_of_n():
    """Undivided by the dearest it would: negative control."""
    X, y = some_rows(1)
    trees = whole_class(3, 3)
    one = CountedTrees(X, y, max_leaves=3, costs=TWO)
    moved = 0
    for place, label in ((0, 1 - y[0]), (3, 1 - y[3])):
        other = y.copy()
        other[place] = label
        two = CountedTrees(X, other, max_leaves=3, costs=TWO)
        assert one.unit == two.unit == len(y) * 5
        moved = max(moved, *(abs(one.errors(tree) - two.errors(tree)) for tree in trees))
    assert moved == 5


def test_what_would_not_fit_is_refused_with_what_would():
    X, y = np.zeros((200, 40)), np.arange(200) % 2
    with pytest.raises(DataError, match=r"cost up to 1,000 .* costs of at most \d+ fit"):
        CountedTrees(X, y, max_leaves=6, costs={1: 1000}, most_memory=2**32)
    with pytest.raises(DataError, match=r"200 rows need as many labels, got shape \(3,\)"):
        CountedTrees(X, y[:3], max_leaves=2)


@pytest.mark.parametrize(
    ("costs", "match"),
    [
        ([[0, 1]], "2 rows of 2 numbers"),
        ([[0, 1], [1, 1]], "0 on the diagonal"),
        ([[0, 0], [0, 0]], "0 everywhere"),
        ([[0, 1.5], [1, 0]], "whole numbers from 0"),
        ([[0, -1], [1, 0]], "whole numbers from 0"),
        ([[0, 2000], [1, 0]], "whole numbers from 0"),
        ("dear", "2 rows of 2 numbers"),
    ],
)
def test_what_is_no_matrix_is_refused(costs, match):
    with pytest.raises(DataError, match=match):
        CountedTrees([[0, 1], [1, 0]], [0, 1], max_leaves=2, costs=costs)


@pytest.mark.parametrize("depth", [1, 2])
def test_the_class_of_drawn_trees_is_counted_again_with_their_costs_and_depth(depth):
    """Counted on the same rows, it is the class that the draws came from."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(int)
    settings = {"max_leaves": 4, "max_depth": depth, "leaf_penalty": PENALTY, "costs": TWO}
    clf = RashomonTreeClassifier(
        epsilon=500.0, n_draws=3, psi=0.1, thresholds=[0.5], classes=[0, 1], **settings
    ).fit(X, y)
    models = clf.rashomon_set_
    again = counted_like(models, X, y)
    direct = CountedTrees((X > 0.5).astype(int), y, classes=[0, 1], **settings)
    assert again.least == pytest.approx(direct.least, abs=1e-12)
    assert [again.size(psi) for psi in (0.0, 0.2, 1.0)] == [
        direct.size(psi) for psi in (0.0, 0.2, 1.0)
    ]
