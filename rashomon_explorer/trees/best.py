"""A tree of least errors, by walking the least errors back."""

from dataclasses import replace
from itertools import count

import numpy as np

from rashomon_explorer.array_types import IntArray
from rashomon_explorer.rashomon_set.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.lattice import Level
from rashomon_explorer.trees.least import Least, label_errors, leaf_label, pairs
from rashomon_explorer.trees.tree_class import TreeClass


def best_tree(
    levels: list[Level], trees: TreeClass, least: Least, leaves: int, without: int | None = None
) -> Node:
    """Tree of least errors with so many leaves; of several the first by features.

    With ``without``, levels, class and errors are those that :func:`avoiding` gave of a feature.

    >>> from rashomon_explorer.trees.lattice import lattice
    >>> from rashomon_explorer.trees.least import least_errors
    >>> from rashomon_explorer.trees.rows import MergedRows
    >>> trees, rows = TreeClass(2, 2), MergedRows.of([[1, 0], [0, 0]], [1, 0], n_labels=2)
    >>> levels = lattice(rows, trees)
    >>> best_tree(levels, trees, least_errors(levels, trees), leaves=1)
    Leaf(prediction=0)
    """
    return _Best(levels, trees, least, without).below(0, 0, leaves, ())


def best_below(
    of: tuple[list[Level], TreeClass, Least],
    asked: int,
    place: int,
    leaves: int,
    path: tuple[int, ...],
) -> Node:
    """Subtree of least errors below a set that asked questions led to."""
    return _Best(*of, None).below(asked, place, leaves, path)


class _Best:
    def __init__(
        self, levels: list[Level], trees: TreeClass, least: Least, without: int | None
    ) -> None:
        self._without = without
        self._levels, self._trees, self._least = levels, trees, least.levels

    def below(self, asked: int, place: int, leaves: int, path: tuple[int, ...]) -> Node:
        level = self._levels[asked]
        if leaves == 1:
            return Leaf(leaf_label(level, place))
        goal = self._least[asked][place, leaves - 1]
        for feature in range(level.cuts.shape[1]):
            if feature in path or feature == self._without:
                continue
            cut = level.cuts[place, feature]
            if not cut and level.by_majority:
                continue
            if leaves == 2:
                found = self._stump(level, place, feature, int(goal))
            elif cut:
                found = self._cut(asked, place, feature, leaves, (*path, feature))
            else:
                found = self._uncut(asked, place, feature, leaves, (*path, feature))
            if found is not None:
                return found
        raise AssertionError("least errors are those of a tree")

    def _stump(self, level: Level, place: int, feature: int, goal: int) -> Node | None:
        having = level.with_feature[place, feature]
        lacking = level.totals[place] - having
        yes, no = label_errors(level, having), label_errors(level, lacking)
        for a in range(len(yes)):
            for b in range(len(no)):
                if a != b and yes[a] + no[b] == goal:
                    return Split(feature, Leaf(a), Leaf(b))
        return None

    def _cut(
        self, asked: int, place: int, feature: int, leaves: int, path: tuple[int, ...]
    ) -> Node | None:
        level, below = self._levels[asked], self._least[asked + 1]
        yes, no = int(level.yes[place, feature]), int(level.no[place, feature])
        for a, b in pairs(leaves, below.shape[1]):
            if below[yes, a - 1] + below[no, b - 1] == self._least[asked][place, leaves - 1]:
                first = self.below(asked + 1, yes, a, path)
                return Split(feature, first, self.below(asked + 1, no, b, path))
        return None

    def _uncut(
        self, asked: int, place: int, feature: int, leaves: int, path: tuple[int, ...]
    ) -> Node | None:
        level, below = self._levels[asked], self._least[asked + 1]
        same = int(level.same[place])
        for a, b in pairs(leaves, below.shape[1]):
            if below[same, b - 1] == self._least[asked][place, leaves - 1]:
                reached = self.below(asked + 1, same, b, path)
                nobody = first_tree(self._trees, a, path, self._without)
                having = bool(level.with_feature[place, feature].any())
                return Split(feature, *((reached, nobody) if having else (nobody, reached)))
        return None


def first_tree(
    trees: TreeClass, leaves: int, path: tuple[int, ...], without: int | None = None
) -> Node:
    """Return some subtree of so many leaves below asked questions, where no row comes.

    >>> first_tree(TreeClass(3, 2), 2, (0,))
    Split(feature=1, if_true=Leaf(prediction=0), if_false=Leaf(prediction=1), relation='==', \
reference=1.0)
    """
    if leaves == 1:
        return Leaf(0)
    feature = next(one for one in count() if one not in path and one != without)
    if leaves == 2:
        return Split(feature, Leaf(0), Leaf(1))
    deeper = (*path, feature)
    a, b = pairs(leaves, len(trees.table[len(deeper)]))[0]
    return Split(
        feature, first_tree(trees, a, deeper, without), first_tree(trees, b, deeper, without)
    )


def avoiding(levels: list[Level], trees: TreeClass, feature: int) -> tuple[list[Level], TreeClass]:
    """Levels and class of the trees that never ask for a feature.

    What only the feature leads to stays there, and nothing leads to it.

    >>> avoiding([], TreeClass(3, 4), 1)[1].n_features
    2
    """
    if trees.n_features == 1:
        smaller = TreeClass(1, 1, None, trees.n_labels)
    else:
        settings = (trees.max_leaves, trees.max_depth, trees.n_labels)
        smaller = TreeClass(trees.n_features - 1, *settings)
    return [_without(level, feature) for level in levels[: max(1, smaller.split_levels)]], smaller


def _without(level: Level, feature: int) -> Level:
    cuts = level.cuts.copy()
    spare = np.maximum(0, level.spare - ~cuts[:, feature])
    cuts[:, feature] = False
    yes, no = _leading_not(level.yes, feature), _leading_not(level.no, feature)
    same = np.where(spare > 0, level.same, -1)
    return replace(level, cuts=cuts, spare=spare, yes=yes, no=no, same=same)


def _leading_not(places: IntArray, feature: int) -> IntArray:
    """Places (N, m) that questions lead to, the feature's nowhere."""
    if places.strides == (0, 0):  # the deepest level's, which lead nowhere already
        return places
    kept = places.copy()
    kept[:, feature] = -1
    return kept
