"""Sparse decision trees: exact counts, ranges and draws over the whole Rashomon set."""

from rashomon_explorer.trees.answers import (
    best_avoiding,
    best_tree_predicting,
    best_using,
    feature_table,
    flip_psi,
    label_shares,
    least_losses,
    possible_labels,
)
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.parity import ParityFront, parity_front
from rashomon_explorer.trees.tree_class import TreeClass

__all__ = [
    "CountedTrees",
    "ParityFront",
    "TreeClass",
    "best_avoiding",
    "best_tree_predicting",
    "best_using",
    "feature_table",
    "flip_psi",
    "label_shares",
    "least_losses",
    "parity_front",
    "possible_labels",
]
