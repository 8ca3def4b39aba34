"""Sparse decision trees: the whole Rashomon set counted, ranged and drawn from exactly."""

from rashomon_explorer.trees.answers import (
    best_avoiding,
    best_saying,
    feature_table,
    flip_psi,
    least_losses,
)
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.tree_class import TreeClass

__all__ = [
    "CountedTrees",
    "TreeClass",
    "best_avoiding",
    "best_saying",
    "feature_table",
    "flip_psi",
    "least_losses",
]
