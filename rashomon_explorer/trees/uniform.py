"""Uniform whole numbers, and uniform trees of the whole class, which read no row."""

import numpy as np

from rashomon_explorer.rashomon_set.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.tree_class import TreeClass

_WORD = 2**63


def whole_below(total: int, rng: np.random.Generator) -> int:
    """Draw uniformly from 0, …, total − 1, however large.

    >>> whole_below(1, np.random.default_rng(0))
    0
    """
    if total <= _WORD:  # as exact, and three times faster
        return int(rng.integers(total))
    bits = total.bit_length()
    n_bytes = (bits + 7) // 8
    while True:
        place = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - bits)
        if place < total:
            return place


def any_tree(
    trees: TreeClass, rng: np.random.Generator, *, asked: tuple[int, ...] = (), leaves: int = 0
) -> Node:
    """Draw a tree of the class uniformly, or a subtree below asked questions with so many leaves.

    >>> any_tree(TreeClass(1, 1), np.random.default_rng(0)) in (Leaf(0), Leaf(1))
    True
    """
    counts = trees.table[len(asked)]
    leaves = leaves or 1 + _chosen(list(counts), rng)
    if leaves == 1:
        return Leaf(whole_below(trees.n_labels, rng))
    left = [feature for feature in range(trees.n_features) if feature not in asked]
    feature = left[whole_below(len(left), rng)]
    if leaves == 2:
        return Split(feature, *two_leaves(trees.n_labels, rng))
    below = trees.table[len(asked) + 1]
    shares = [(a, leaves - a) for a in range(1, leaves) if max(a, leaves - a) <= len(below)]
    a, b = shares[_chosen([below[a - 1] * below[b - 1] for a, b in shares], rng)]
    deeper = (*asked, feature)
    return Split(
        feature,
        any_tree(trees, rng, asked=deeper, leaves=a),
        any_tree(trees, rng, asked=deeper, leaves=b),
    )


def two_leaves(n_labels: int, rng: np.random.Generator) -> tuple[Leaf, Leaf]:
    """Draw two leaves with different labels uniformly."""
    first = whole_below(n_labels, rng)
    other = whole_below(n_labels - 1, rng)
    return Leaf(first), Leaf(other + (other >= first))


def _chosen(weights: list[int], rng: np.random.Generator) -> int:
    place = whole_below(sum(weights), rng)
    for chosen, weight in enumerate(weights):
        if place < weight:
            return chosen
        place -= weight
    raise AssertionError("weights add up to their sum")
