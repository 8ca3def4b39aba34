"""Costs of errors: how they are written, what they bound, and what is refused."""

import numpy as np
import pytest

from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees import CountedTrees
from rashomon_explorer.trees.private import counted_like
from tests.trees.listed import some_rows, whole_class

TWO = np.array([[0, 2], [5, 0]])


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
    settings = {"max_leaves": 4, "max_depth": depth, "leaf_penalty": 0.03, "costs": TWO}
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
