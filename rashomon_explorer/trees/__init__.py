"""Sparse decision trees: the whole Rashomon set counted, ranged and drawn from exactly."""

from rashomon_explorer.trees.answers import (
    best_avoiding,
    best_saying,
    best_using,
    flip_psi,
    least_losses,
)
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.features import feature_table
from rashomon_explorer.trees.parity import ParityAnswer, best_with_parity
from rashomon_explorer.trees.parity_front import ParityFront, parity_front
from rashomon_explorer.trees.shares import label_shares
from rashomon_explorer.trees.tree_class import TreeClass

__all__ = [
    "CountedTrees",
    "ParityAnswer",
    "ParityFront",
    "TreeClass",
    "best_avoiding",
    "best_saying",
    "best_using",
    "best_with_parity",
    "feature_table",
    "flip_psi",
    "label_shares",
    "least_losses",
    "parity_front",
]
