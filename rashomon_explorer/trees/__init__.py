"""Sparse decision trees: the whole Rashomon set counted, ranged and drawn from exactly."""

from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.tree_class import TreeClass

__all__ = ["CountedTrees", "TreeClass"]
