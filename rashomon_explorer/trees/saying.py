"""The best tree that gives one combination of features a label, down its own paths."""

import numpy as np

from rashomon_explorer.rashomon_set.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.best import best_below, first_tree
from rashomon_explorer.trees.lattice import Level
from rashomon_explorer.trees.least import NEVER, Least, label_errors, pairs
from rashomon_explorer.trees.tree_class import TreeClass

Choice = tuple[str, int, int]
"""What the subtree begins with, the feature, and leaves of the side with the combination."""


class Saying:
    """Least errors of subtrees that label one combination of features in a given way."""

    def __init__(
        self, levels: list[Level], trees: TreeClass, least: Least, row: list[bool], label: int
    ) -> None:
        self._levels, self._trees, self._least = levels, trees, least
        self._row, self._label = row, label
        self._kept: dict[tuple[int, int, int], tuple[int, Choice]] = {}

    def errors(self, asked: int, place: int, leaves: int) -> int:
        """Least errors below a set that holds the combination; ``NEVER`` if there is no subtree."""
        return self._best(asked, place, leaves)[0]

    def tree(self, asked: int, place: int, leaves: int, path: tuple[int, ...] = ()) -> Node:
        """Return a subtree of these errors."""
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
        """Where the combination goes, and where it does not."""
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
