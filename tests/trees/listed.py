"""Brute force: every tree of a small class, written out from the definition and nothing else."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from rashomon_explorer.sets.models.trees import Leaf, Split
from rashomon_explorer.trees import CountedTrees

# Features, most leaves, most depth, labels; whether a column is constant and one repeated. Costs.
TWO, THREE = ((0, 2), (5, 0)), ((0, 1, 4), (2, 0, 0), (7, 3, 0))
CLASSES = [
    ((2, 4, None, 2, False), None), ((3, 4, None, 2, True), None), ((3, 5, 2, 2, False), None),
    ((4, 3, None, 2, True), None), ((3, 3, None, 3, False), None), ((1, 3, None, 2, False), None),
    ((2, 1, None, 2, False), None), ((2, 4, None, 2, False), TWO), ((3, 4, None, 2, True), TWO),
    ((3, 5, 2, 2, False), TWO), ((3, 3, None, 3, False), THREE), ((1, 3, None, 3, True), THREE),
]  # fmt: skip


def listed(features, leaves, depth, n_labels=2):
    """All trees with so many leaves on the given features, as nested nodes."""
    if leaves == 1:
        return [Leaf(label) for label in range(n_labels)]
    if depth == 0:
        return []
    found = []
    for feature in features:
        rest = [other for other in features if other != feature]
        for a in range(1, leaves):
            first = listed(rest, a, depth - 1, n_labels)
            second = listed(rest, leaves - a, depth - 1, n_labels)
            found += [Split(feature, *both) for both in product(first, second) if not alike(*both)]
    return found


def alike(first, second):
    """Two leaves that say the same make a question idle."""
    return isinstance(first, Leaf) and first == second


def whole_class(n_features, max_leaves, max_depth=None, n_labels=2):
    depth = n_features if max_depth is None else max_depth
    every = range(1, max_leaves + 1)
    return [t for k in every for t in listed(list(range(n_features)), k, depth, n_labels)]


def leaves_of(tree):
    return 1 if isinstance(tree, Leaf) else leaves_of(tree.if_true) + leaves_of(tree.if_false)


def says(tree, row):
    while isinstance(tree, Split):
        tree = tree.if_true if row[tree.feature] else tree.if_false
    return tree.prediction


def errors_of(tree, X, y):
    return sum(says(tree, row) != label for row, label in zip(X, y, strict=True))


def some_rows(seed, n=12, m=3, n_labels=2, idle=False):
    """A small table; with ``idle`` one column is constant and one repeats another."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, m))
    if idle:
        X[:, 0], X[:, -1] = 1, X[:, 1]
    return X, rng.integers(0, n_labels, size=n)


@dataclass
class Listing:
    """A counted class, and every tree of it with its labels, cost and loss on the rows."""

    counted: CountedTrees
    X: Any  # (n, m)
    y: Any  # (n,)
    trees: list[Any]
    labels: Any  # (trees, n)
    sizes: Any  # (trees,): leaves
    costs: Any  # (trees,)
    losses: Any  # (trees,)

    @property
    def cells(self):
        """Number of trees with each number of leaves and cost."""
        return Counter(zip(self.sizes.tolist(), self.costs.tolist(), strict=True))

    def members(self, cell):
        """Trees with so many leaves and such a cost."""
        cells = zip(self.trees, self.sizes.tolist(), self.costs.tolist(), strict=True)
        return [tree for tree, *own in cells if tuple(own) == cell]

    def loss_of(self, tree):
        return self.losses[self.trees.index(tree)]

    def gaps(self, groups):
        """Largest difference in the rate of label 1 between groups, of each tree."""
        each = (self.labels[:, groups == g] == 1 for g in np.unique(groups))
        rates = np.array([one.mean(axis=1) for one in each])
        return rates.max(axis=0) - rates.min(axis=0)


@cache
def _class_and_labels(m, leaves, depth, n_labels):
    trees = whole_class(m, leaves, depth, n_labels)
    rows = list(product((0, 1), repeat=m))
    return trees, np.array([[says(tree, row) for row in rows] for tree in trees])


def listing(shape, seed=0, penalty=0.0, costs=None):
    """List the class (features, leaves, depth, labels, idle columns) on a small table."""
    m, leaves, depth, n_labels, idle = shape
    X, y = some_rows(seed, m=m, n_labels=n_labels, idle=idle and m > 1)
    settings = {"max_leaves": leaves, "max_depth": depth, "leaf_penalty": penalty, "costs": costs}
    counted = CountedTrees(X, y, classes=range(n_labels), **settings)
    trees, by_row = _class_and_labels(m, leaves, depth, n_labels)
    labels = by_row[:, X @ (1 << np.arange(m)[::-1])]
    if costs is None or isinstance(costs, dict):
        by_label = np.array([(costs or {}).get(label, 1) for label in range(n_labels)])
        matrix = by_label[:, None] * (1 - np.eye(n_labels, dtype=int))
    else:
        matrix = np.asarray(costs)
    paid = matrix[y, labels].sum(axis=1)
    sizes = np.array([leaves_of(tree) for tree in trees])
    losses = paid / (len(y) * matrix.max()) + penalty * sizes
    return Listing(counted, X, y, trees, labels, sizes, paid, losses)
