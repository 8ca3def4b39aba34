"""Brute force: every tree of a small class, written out from the definition and nothing else."""

from itertools import product

import numpy as np

from rashomon_explorer.sets.models.trees import Leaf, Split


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
