"""Best trees among those that predict a given label or use a given feature."""

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import IntArray
from rashomon_explorer.sets.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.lattice import (
    NEVER,
    LeastErrors,
    Level,
    label_errors,
    leaf_errors,
    leaf_label,
    pairs,
    stumps_of,
)
from rashomon_explorer.trees.tree_class import TreeClass


def best_tree(
    levels: list[Level],
    trees: TreeClass,
    least: LeastErrors,
    leaves: int,
    without: int | None = None,
) -> Node:
    """Tree of least errors with so many leaves; the first by features on a tie."""
    return _Best(levels, trees, least, without).below(0, 0, leaves, ())


def best_below(
    of: tuple[list[Level], TreeClass, LeastErrors],
    asked: int,
    place: int,
    leaves: int,
    path: tuple[int, ...],
) -> Node:
    """Subtree of least errors below a set, after given questions."""
    return _Best(*of, None).below(asked, place, leaves, path)


class _Best:
    def __init__(
        self, levels: list[Level], trees: TreeClass, least: LeastErrors, without: int | None
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
        raise AssertionError("least errors belong to a tree")

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
    """Return any subtree of so many leaves below given questions, for a set without rows."""
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
    """Levels and class of the trees that never test a feature."""
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
    """Return the indices (N, m) that questions lead to, with −1 for the feature."""
    if places.strides == (0, 0):  # the deepest level, where all are −1 already
        return places
    kept = places.copy()
    kept[:, feature] = -1
    return kept


Choice = tuple[str, int, int]
"""Type of the subtree's first split, its feature, and leaves of the combination's side."""


class LeastErrorsByLabel:
    """Least errors of subtrees that give one combination of features a label."""

    def __init__(
        self, levels: list[Level], trees: TreeClass, least: LeastErrors, row: list[bool], label: int
    ) -> None:
        self._levels, self._trees, self._least = levels, trees, least
        self._row, self._label = row, label
        self._kept: dict[tuple[int, int, int], tuple[int, Choice]] = {}

    def errors(self, asked: int, place: int, leaves: int) -> int:
        """Least errors below a set with the combination; ``NEVER`` if there is no subtree."""
        return self._best(asked, place, leaves)[0]

    def tree(self, asked: int, place: int, leaves: int, path: tuple[int, ...] = ()) -> Node:
        """Return a subtree with these errors."""
        if leaves == 1:
            return Leaf(self._label)
        kind, feature, mine = self._best(asked, place, leaves)[1]
        level = self._levels[asked]
        if kind == "idle":
            feature = next(
                one
                for one in range(len(self._row))
                if not level.cuts[place, one] and one not in path
            )
        deeper, has_it = (*path, feature), self._row[feature]
        if leaves == 2:
            other = self._other_label(level, place, feature) if kind == "cut" else self._any_other
            own: Node = Leaf(self._label)
            beside: Node = Leaf(other)
        elif kind == "idle":
            own = self.tree(asked + 1, int(level.same[place]), mine, deeper)
            beside = first_tree(self._trees, leaves - mine, deeper)
        else:
            to, away = self._sides(level, place, feature)
            own = self.tree(asked + 1, to, mine, deeper)
            beside = best_below(
                (self._levels, self._trees, self._least), asked + 1, away, leaves - mine, deeper
            )
        return Split(feature, *((own, beside) if has_it else (beside, own)))

    def _best(self, asked: int, place: int, leaves: int) -> tuple[int, Choice]:
        key = (asked, place, leaves)
        if key not in self._kept:
            self._kept[key] = self._found(*key)
        return self._kept[key]

    def _found(self, asked: int, place: int, leaves: int) -> tuple[int, Choice]:
        level = self._levels[asked]
        alone = int(label_errors(level, level.totals[place])[self._label])
        if leaves == 1:
            return alone, ("leaf", -1, 1)
        best = (int(NEVER), ("none", -1, 0))
        idle = level.spare[place] > 0
        if leaves == 2 and idle:
            best = (alone, ("idle", -1, 1))
        for feature in np.flatnonzero(level.cuts[place]).tolist():
            if leaves == 2:
                mine, beside = self._parts(level, place, feature)
                other = min(e for k, e in enumerate(beside) if k != self._label)
                best = min(best, (mine[self._label] + other, ("cut", feature, 1)))
                continue
            if asked + 1 == len(self._levels):
                break
            to, away = self._sides(level, place, feature)
            below = self._least.levels[asked + 1]
            for a, b in pairs(leaves, below.shape[1]):
                errors = self.errors(asked + 1, to, a) + int(below[away, b - 1])
                best = min(best, (errors, ("cut", feature, a)))
        if leaves > 2 and idle and asked + 1 < len(self._levels):
            most = self._least.levels[asked + 1].shape[1]
            for a, _ in pairs(leaves, most):
                errors = self.errors(asked + 1, int(level.same[place]), a)
                best = min(best, (errors, ("idle", -1, a)))
        return best

    def _sides(self, level: Level, place: int, feature: int) -> tuple[int, int]:
        """Find the index of the side with the combination, and of the other side."""
        yes, no = int(level.yes[place, feature]), int(level.no[place, feature])
        return (yes, no) if self._row[feature] else (no, yes)

    def _parts(self, level: Level, place: int, feature: int) -> tuple[list[int], list[int]]:
        """Errors of each label on the combination's side, and on the other."""
        having = level.with_feature[place, feature]
        lacking = level.totals[place] - having
        mine, beside = (having, lacking) if self._row[feature] else (lacking, having)
        return label_errors(level, mine).tolist(), label_errors(level, beside).tolist()

    def _other_label(self, level: Level, place: int, feature: int) -> int:
        beside = self._parts(level, place, feature)[1]
        return min((e, k) for k, e in enumerate(beside) if k != self._label)[1]

    @property
    def _any_other(self) -> int:
        return 1 if self._label == 0 else 0


Errors = NDArray[Any]


class Using:
    """Least errors (N, leaves) below each set of subtrees that test one feature."""

    def __init__(
        self, levels: list[Level], trees: TreeClass, least: LeastErrors, feature: int
    ) -> None:
        self._levels, self._trees, self._least = levels, trees, least
        self._feature = feature
        self.found: list[Errors] = []
        for asked in range(len(levels) - 1, -1, -1):
            self.found.insert(0, self._level(asked))

    @property
    def best_errors(self) -> Errors:
        """Least errors of a tree of 1, 2, … leaves that tests the feature."""
        return np.asarray(self.found[0][0])

    def tree(self, leaves: int, asked: int = 0, place: int = 0, path: tuple[int, ...] = ()) -> Node:
        """Return a subtree with these errors."""
        if self._feature in path:
            return best_below((self._levels, self._trees, self._least), asked, place, leaves, path)
        goal = self.found[asked][place, leaves - 1]
        if self._here(asked, leaves)[place] == goal:
            return self._first_question(asked, place, leaves, path)
        level = self._levels[asked]
        for feature in np.flatnonzero(level.cuts[place]).tolist():
            yes, no = int(level.yes[place, feature]), int(level.no[place, feature])
            for a, b in self._shares(asked, leaves):
                deeper = (*path, feature)
                if self._below(asked, yes, a, True) + self._below(asked, no, b, False) == goal:
                    beside = self._sibling(asked, no, b, deeper)
                    return Split(feature, self.tree(a, asked + 1, yes, deeper), beside)
                if self._below(asked, yes, a, False) + self._below(asked, no, b, True) == goal:
                    beside = self._sibling(asked, yes, a, deeper)
                    return Split(feature, beside, self.tree(b, asked + 1, no, deeper))
        return self._idle(asked, place, leaves, path)

    def _level(self, asked: int) -> Errors:
        level, own = self._levels[asked], self._least.levels[asked]
        found = np.full(own.shape, NEVER)
        if asked + 1 < len(self._levels):
            below = _with_nowhere(self._least.levels[asked + 1])
            using = _with_nowhere(self.found[0])
        for leaves in range(2, own.shape[1] + 1):
            best = self._here(asked, leaves)
            for a, b in self._shares(asked, leaves):
                for one, other in ((using, below), (below, using)):
                    sums = one[level.yes, a - 1] + other[level.no, b - 1]
                    best = np.minimum(best, sums.min(axis=1, initial=NEVER))
                best = np.minimum(best, using[level.same, b - 1])
            found[:, leaves - 1] = np.minimum(best, NEVER)
        return found

    def _here(self, asked: int, leaves: int) -> Errors:
        """Least errors (N,) of subtrees whose first question is the feature."""
        below = None
        if asked + 1 < len(self._levels):
            below = _with_nowhere(self._least.levels[asked + 1])
        return asking_here(
            self._levels[asked], self._feature, leaves, below, self._least.levels[asked]
        )

    def _first_question(self, asked: int, place: int, leaves: int, path: tuple[int, ...]) -> Node:
        level, feature = self._levels[asked], self._feature
        goal, deeper = self.found[asked][place, leaves - 1], (*path, self._feature)
        if not level.cuts[place, feature]:
            return self._around(asked, place, leaves, path, feature, using=False)
        if leaves == 2:
            yes, no = (errors[place, feature] for errors in leaf_errors(level))
            labels = range(len(yes))
            a, b = next((a, b) for a in labels for b in labels if a != b and yes[a] + no[b] == goal)
            return Split(feature, Leaf(a), Leaf(b))
        yes, no = int(level.yes[place, feature]), int(level.no[place, feature])
        for a, b in self._shares(asked, leaves):
            if self._below(asked, yes, a, False) + self._below(asked, no, b, False) == goal:
                first = self._sibling(asked, yes, a, deeper)
                return Split(feature, first, self._sibling(asked, no, b, deeper))
        raise AssertionError("least errors belong to a tree")

    def _idle(self, asked: int, place: int, leaves: int, path: tuple[int, ...]) -> Node:
        cuts = self._levels[asked].cuts[place]
        idle = next(
            one for one in range(len(cuts)) if not cuts[one] and one not in (*path, self._feature)
        )
        return self._around(asked, place, leaves, path, idle, using=True)

    def _around(
        self,
        asked: int,
        place: int,
        leaves: int,
        path: tuple[int, ...],
        feature: int,
        *,
        using: bool,
    ) -> Node:
        """Split that does not cut: a subtree where the rows are, and any other one."""
        level, deeper = self._levels[asked], (*path, feature)
        goal = self.found[asked][place, leaves - 1]
        if leaves == 2:
            label = leaf_label(level, place)
            reached: Node = Leaf(label)
            nobody: Node = Leaf(1 if label == 0 else 0)
        else:
            same = int(level.same[place])
            a, b = next(
                share
                for share in self._shares(asked, leaves)
                if self._below(asked, same, share[1], using) == goal
            )
            if using:
                reached = self.tree(b, asked + 1, same, deeper)
            else:
                reached = self._sibling(asked, same, b, deeper)
            nobody = first_tree(self._trees, a, deeper)
        having = bool(level.with_feature[place, feature].any())
        return Split(feature, *((reached, nobody) if having else (nobody, reached)))

    def _below(self, asked: int, place: int, leaves: int, using: bool) -> int:
        errors = self.found[asked + 1] if using else self._least.levels[asked + 1]
        return int(errors[place, leaves - 1])

    def _sibling(self, asked: int, place: int, leaves: int, path: tuple[int, ...]) -> Node:
        of = (self._levels, self._trees, self._least)
        return best_below(of, asked + 1, place, leaves, path)

    def _shares(self, asked: int, leaves: int) -> list[tuple[int, int]]:
        if asked + 1 == len(self._levels):
            return []
        return pairs(leaves, self._least.levels[asked + 1].shape[1])


def asking_here(
    level: Level, feature: int, leaves: int, below: Errors | None, own: Errors
) -> Errors:
    """Least errors (N,) below each set of a subtree whose first question is the feature."""
    cut, idle = level.cuts[:, feature], ~level.cuts[:, feature] & (level.spare > 0)
    if leaves == 2:
        both, beside = stumps_of(level, feature), own[:, 0]
    elif below is None:
        return np.full(len(cut), NEVER)
    else:
        shared = pairs(leaves, below.shape[1])
        to_yes, to_no = level.yes[:, feature], level.no[:, feature]
        both = np.minimum.reduce([below[to_yes, a - 1] + below[to_no, b - 1] for a, b in shared])
        beside = np.minimum.reduce([below[level.same, b - 1] for _, b in shared])
    return np.minimum(np.where(cut, both, np.where(idle, beside, NEVER)), NEVER)


def _with_nowhere(errors: Errors) -> Errors:
    """Errors with an additional last row for index −1, which is no set."""
    return np.vstack([errors, np.full(errors.shape[1], NEVER)])
