"""Best trees, also among those that predict a given label or use a given feature."""

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import IntArray
from rashomon_explorer.sets.models.trees import Leaf, Node, Split
from rashomon_explorer.trees import lattice
from rashomon_explorer.trees.lattice import UNREACHABLE, LeastErrors, Level
from rashomon_explorer.trees.tree_class import TreeClass

Errors = NDArray[Any]


class TreeBuilder:
    """Rebuild a tree that meets a goal below a set of rows, from what is known below every set."""

    without: int | None = None  # a question that is not asked

    def __init__(self, levels: list[Level], trees: TreeClass) -> None:
        self.levels, self.trees = levels, trees

    def tree(
        self, depth: int, index: int, leaves: int, goal: Any, path: tuple[int, ...] = ()
    ) -> Node:
        """Return a subtree that meets the goal below a path; the first by features on a tie."""
        if leaves == 1:
            return self.leaf(depth, index, goal)
        level = self.levels[depth]
        for feature in range(level.cuts.shape[1]):
            cut = level.cuts[index, feature]
            if feature in (*path, self.without) or (level.by_majority and not cut):
                continue
            if leaves == 2:
                subtree = self.stump(depth, index, feature, goal)
            else:
                split = self._cut if cut else self._uncut
                subtree = split(depth, index, feature, leaves, goal, (*path, feature))
            if subtree is not None:
                return subtree
        raise AssertionError("a goal belongs to a tree")

    def leaf(self, depth: int, index: int, goal: Any) -> Leaf:
        """Return a leaf that meets the goal."""
        raise NotImplementedError

    def stump(self, depth: int, index: int, feature: int, goal: Any) -> Split | None:
        """Return two leaves below a question that meet the goal; None if none do."""
        raise NotImplementedError

    def branches(
        self, depth: int, indices: tuple[int, int], feature: int, shares: tuple[int, int], goal: Any
    ) -> "tuple[Part, Part] | None":
        """Find builders and goals of both branches of a question that cuts; None if none meet."""
        raise NotImplementedError

    def reached(
        self, depth: int, index: int, feature: int, leaves: int, goal: Any
    ) -> "Part | None":
        """Find the builder and goal of the side with the rows below an idle question."""
        raise NotImplementedError

    def _cut(
        self, depth: int, index: int, feature: int, leaves: int, goal: Any, path: tuple[int, ...]
    ) -> Split | None:
        level, below = self.levels[depth], depth + 1
        indices = int(level.yes[index, feature]), int(level.no[index, feature])
        for shares in self.shares(depth, leaves) if indices[0] >= 0 else []:
            parts = self.branches(depth, indices, feature, shares, goal)
            if parts is not None:
                branches = zip(parts, indices, shares, strict=True)
                first, second = (
                    builder.tree(below, to, k, part_goal, path)
                    for (builder, part_goal), to, k in branches
                )
                return Split(feature, first, second)
        return None

    def _uncut(
        self, depth: int, index: int, feature: int, leaves: int, goal: Any, path: tuple[int, ...]
    ) -> Split | None:
        level, uncut_index = self.levels[depth], int(self.levels[depth].same[index])
        for a, b in self.shares(depth, leaves) if uncut_index >= 0 else []:
            part = self.reached(depth, uncut_index, feature, b, goal)
            if part is not None:
                rows = part[0].tree(depth + 1, uncut_index, b, part[1], path)
                empty = first_tree(self.trees, a, path, self.without)
                having = bool(level.with_feature[index, feature].any())
                return Split(feature, *((rows, empty) if having else (empty, rows)))
        return None

    def shares(self, depth: int, leaves: int) -> list[tuple[int, int]]:
        """Leaves of both branches of a split after so many questions."""
        if depth + 1 == len(self.levels):
            return []
        return lattice.pairs(leaves, len(self.trees.table[depth + 1]))


Part = tuple[TreeBuilder, Any]
"""Builder of a branch, and its goal."""


class BestTrees(TreeBuilder):
    """Subtrees of least errors below a set of rows; those of a subclass meet a requirement."""

    def __init__(
        self, levels: list[Level], trees: TreeClass, least: LeastErrors, without: int | None = None
    ) -> None:
        super().__init__(levels, trees)
        self.least, self.without = least, without

    def best(self, leaves: int) -> Node:
        """Return a whole tree of so many leaves with the least errors."""
        return self.tree(0, 0, leaves, self.errors(0, 0, leaves))

    @property
    def best_errors(self) -> Errors:
        """Least errors of a tree of 1, 2, … leaves; huge if there is none."""
        return np.array([self.errors(0, 0, k) for k in range(1, self.trees.most_leaves + 1)])

    def errors(self, depth: int, index: int, leaves: int) -> int:
        """Least errors of a subtree of so many leaves below a set; huge if there is none."""
        return int(self.least.levels[depth][index, leaves - 1])

    def permitted(self, errors: Errors) -> Errors:
        """Errors (C,) of a leaf by its label, huge for a label that may not be there."""
        return errors

    def sides(self, feature: int) -> "list[tuple[BestTrees, BestTrees]]":
        """List the requirements on the subtrees with and without a feature that meet this one."""
        return [(self, self)]

    def after(self, feature: int) -> "BestTrees":
        """Return the requirement on the side with the rows, if a feature does not cut them."""
        return self

    def leaf(self, depth: int, index: int, goal: Any) -> Leaf:
        """Return the leaf of least errors."""
        level = self.levels[depth]
        errors = self.permitted(lattice.label_errors(level, level.totals[index]))
        return Leaf(int(np.argmin(errors)))

    def stump(self, depth: int, index: int, feature: int, goal: Any) -> Split | None:
        """Return two leaves with as many errors."""
        for yes, no in self.sides(feature):
            first, second = leaf_options(yes, no, self.levels[depth], index, feature)
            for a, b in lattice.label_pairs(len(first)):
                if first[a] + second[b] == goal:
                    return Split(feature, Leaf(a), Leaf(b))
        return None

    def branches(
        self, depth: int, indices: tuple[int, int], feature: int, shares: tuple[int, int], goal: Any
    ) -> tuple[Part, Part] | None:
        """Find requirements of both branches whose least errors add up to the goal."""
        for yes, no in self.sides(feature):
            yes_errors = yes.errors(depth + 1, indices[0], shares[0])
            no_errors = no.errors(depth + 1, indices[1], shares[1])
            if yes_errors + no_errors == goal:
                return (yes, yes_errors), (no, no_errors)
        return None

    def reached(self, depth: int, index: int, feature: int, leaves: int, goal: Any) -> Part | None:
        """Return the requirement on the rows if its least errors are the goal."""
        requirement = self.after(feature)
        return (requirement, goal) if requirement.errors(depth + 1, index, leaves) == goal else None


def leaf_options(
    yes: BestTrees, no: BestTrees, level: Level, index: int, feature: int
) -> tuple[list[int], list[int]]:
    """Errors of each label of two leaves, on the rows with a feature and on those without."""
    (first,), (second,) = lattice.leaf_errors(level, index, [feature])
    return yes.permitted(first).tolist(), no.permitted(second).tolist()


def first_tree(
    trees: TreeClass, leaves: int, path: tuple[int, ...], without: int | None = None
) -> Node:
    """Return any subtree of so many leaves below given questions, for a set without rows."""
    if leaves == 1:
        return Leaf(0)
    feature = next(candidate for candidate in count() if candidate not in (*path, without))
    if leaves == 2:
        return Split(feature, Leaf(0), Leaf(1))
    deeper = (*path, feature)
    shares = lattice.pairs(leaves, len(trees.table[len(deeper)]))[0]
    first, second = (first_tree(trees, part, deeper, without) for part in shares)
    return Split(feature, first, second)


def avoiding(levels: list[Level], trees: TreeClass, feature: int) -> tuple[list[Level], TreeClass]:
    """Levels and class of the trees that never test a feature."""
    if trees.n_features == 1:
        smaller = TreeClass(1, 1, None, trees.n_labels)
    else:
        settings = (trees.max_leaves, trees.max_depth, trees.n_labels)
        smaller = TreeClass(trees.n_features - 1, *settings)
    return [_without(level, feature) for level in levels[: max(1, smaller.depth)]], smaller


def _without(level: Level, feature: int) -> Level:
    cuts = level.cuts.copy()
    spare = np.maximum(0, level.spare - ~cuts[:, feature])
    cuts[:, feature] = False
    yes, no = _leading_not(level.yes, feature), _leading_not(level.no, feature)
    uncut_indices = np.where(spare > 0, level.same, -1)
    return replace(level, cuts=cuts, spare=spare, yes=yes, no=no, same=uncut_indices)


def _leading_not(indices: IntArray, feature: int) -> IntArray:
    """Return the indices (N, m) that questions lead to, with −1 for the feature."""
    if indices.strides == (0, 0):  # the deepest level, where all are −1 already
        return indices
    copy = indices.copy()
    copy[:, feature] = -1
    return copy


class BestPredicting(BestTrees):
    """Subtrees that give one combination of features, which some rows have, a label."""

    def __init__(self, free: BestTrees, row: list[bool], label: int) -> None:
        super().__init__(free.levels, free.trees, free.least)
        self._free, self._row, self._label = free, np.array(row, dtype=bool), label
        self._found: list[Errors] = []
        for depth in range(len(self.levels) - 1, -1, -1):
            self._found.insert(0, self._level(depth))

    def errors(self, depth: int, index: int, leaves: int) -> int:
        """Least errors below a set, for a combination that leads there."""
        return int(self._found[depth][index, leaves - 1])

    def permitted(self, errors: Errors) -> Errors:
        """Only the label is permitted."""
        return np.where(np.arange(len(errors)) == self._label, errors, UNREACHABLE)

    def sides(self, feature: int) -> list[tuple[BestTrees, BestTrees]]:
        """Only the side with the combination is restricted."""
        return [(self, self._free) if self._row[feature] else (self._free, self)]

    def _level(self, depth: int) -> Errors:
        level, least_errors = self.levels[depth], self.least.levels[depth]
        errors = np.full(least_errors.shape, UNREACHABLE)
        errors[:, 0] = self._by_label(lattice.label_errors(level, level.totals))[0]
        below = own = None
        if depth + 1 < len(self.levels):
            below, own = map(_with_nowhere, (self.least.levels[depth + 1], self._found[0]))
        for leaves in range(2, least_errors.shape[1] + 1):
            best = np.full(len(errors), UNREACHABLE)
            if leaves == 2:
                best = self._stumps(level)
                best = np.where(level.spare > 0, np.minimum(best, errors[:, 0]), best)
            for a, b in self.shares(depth, leaves) if leaves > 2 else []:
                assert below is not None and own is not None
                yes = np.where(self._row, own[level.yes, a - 1], below[level.yes, a - 1])
                no = np.where(self._row, below[level.no, b - 1], own[level.no, b - 1])
                best = np.minimum(best, (yes + no).min(axis=1))
                best = np.minimum(best, own[level.same, b - 1])
            errors[:, leaves - 1] = np.minimum(best, UNREACHABLE)
        return errors

    def _stumps(self, level: Level) -> Errors:
        """Least errors (N,) of two leaves below each set, by a question that cuts it."""
        yes, no = lattice.leaf_errors(level)
        row = self._row[:, None]
        with_it, without_it = np.where(row, yes, no), np.where(row, no, yes)
        both = self._by_label(with_it)[0] + self._by_label(without_it)[1]
        return np.where(level.cuts, both, UNREACHABLE).min(axis=1)

    def _by_label(self, errors: Errors) -> tuple[Errors, Errors]:
        """Errors of a leaf with the label, and least ones with another."""
        return errors[..., self._label], np.delete(errors, self._label, axis=-1).min(axis=-1)


class BestUsing(BestTrees):
    """Subtrees that test one feature."""

    # A test in the empty branch of an idle question is left out: asked above the deepest two leaves
    # of the other branch instead, it needs no more leaves and depth, and no row changes its label.

    def __init__(self, free: BestTrees, feature: int) -> None:
        super().__init__(free.levels, free.trees, free.least)
        self._free, self._feature = free, feature
        self._found: list[Errors] = []
        for depth in range(len(self.levels) - 1, -1, -1):
            self._found.insert(0, self._level(depth))

    def errors(self, depth: int, index: int, leaves: int) -> int:
        """Least errors of a subtree that tests the feature."""
        return int(self._found[depth][index, leaves - 1])

    def permitted(self, errors: Errors) -> Errors:
        """No leaf tests a feature."""
        return np.full(errors.shape, UNREACHABLE)

    def sides(self, feature: int) -> list[tuple[BestTrees, BestTrees]]:
        """One of the sides tests the feature, or the question does."""
        if feature == self._feature:
            return [(self._free, self._free)]
        return [(self, self._free), (self._free, self)]

    def after(self, feature: int) -> BestTrees:
        """Require nothing of the rest of the tree after the feature."""
        return self._free if feature == self._feature else self

    def _level(self, depth: int) -> Errors:
        level, least_errors = self.levels[depth], self.least.levels[depth]
        errors = np.full(least_errors.shape, UNREACHABLE)
        below = using = None
        if depth + 1 < len(self.levels):
            below, using = map(_with_nowhere, (self.least.levels[depth + 1], self._found[0]))
        for leaves in range(2, least_errors.shape[1] + 1):
            best = asking_here(level, self._feature, leaves, below, least_errors)
            for a, b in self.shares(depth, leaves):
                assert below is not None and using is not None
                for first, second in ((using, below), (below, using)):
                    sums = first[level.yes, a - 1] + second[level.no, b - 1]
                    best = np.minimum(best, sums.min(axis=1, initial=UNREACHABLE))
                best = np.minimum(best, using[level.same, b - 1])
            errors[:, leaves - 1] = np.minimum(best, UNREACHABLE)
        return errors


def asking_here(
    level: Level, feature: int, leaves: int, below: Errors | None, own: Errors
) -> Errors:
    """Least errors (N,) below each set of a subtree whose first question is the feature."""
    cut, idle = level.cuts[:, feature], ~level.cuts[:, feature] & (level.spare > 0)
    if leaves == 2:
        both, uncut = lattice.feature_stumps(level, feature), own[:, 0]
    elif below is None:
        return np.full(len(cut), UNREACHABLE)
    else:
        shared = lattice.pairs(leaves, below.shape[1])
        to_yes, to_no = level.yes[:, feature], level.no[:, feature]
        both = np.minimum.reduce([below[to_yes, a - 1] + below[to_no, b - 1] for a, b in shared])
        uncut = np.minimum.reduce([below[level.same, b - 1] for _, b in shared])
    return np.minimum(np.where(cut, both, np.where(idle, uncut, UNREACHABLE)), UNREACHABLE)


def _with_nowhere(errors: Errors) -> Errors:
    """Errors with an additional last row for index −1, which is no set."""
    return np.vstack([errors, np.full(errors.shape[1], UNREACHABLE)])
