"""The best tree that asks for a feature somewhere, by the least errors of such subtrees."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.rashomon_set.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.best import best_below, first_tree
from rashomon_explorer.trees.lattice import Level
from rashomon_explorer.trees.least import NEVER, Least, leaf_errors, leaf_label, pairs, stumps_of
from rashomon_explorer.trees.tree_class import TreeClass

Errors = NDArray[Any]


class Using:
    """Least errors (N, leaves) below each set of subtrees that ask for one feature.

    U(l) = min over: the feature asked here; another question, with the feature asked on one of
    its sides, U_yes(a) + e_no(l − a) or e_yes(a) + U_no(l − a); and a question that cuts nothing,
    with the feature asked where the rows are. Asked where no row is it saves nothing: as many
    leaves, or fewer, ask for it in some subtree that rows reach, with the same errors.
    """

    def __init__(self, levels: list[Level], trees: TreeClass, least: Least, feature: int) -> None:
        self._levels, self._trees, self._least = levels, trees, least
        self._feature = feature
        self.found: list[Errors] = []
        for asked in range(len(levels) - 1, -1, -1):
            self.found.insert(0, self._level(asked))

    @property
    def whole(self) -> Errors:
        """Least errors of a tree of 1, 2, … leaves that asks for the feature."""
        return np.asarray(self.found[0][0])

    def tree(self, leaves: int, asked: int = 0, place: int = 0, path: tuple[int, ...] = ()) -> Node:
        """Return a subtree of these errors."""
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
                    beside = self._beside(asked, no, b, deeper)
                    return Split(feature, self.tree(a, asked + 1, yes, deeper), beside)
                if self._below(asked, yes, a, False) + self._below(asked, no, b, True) == goal:
                    beside = self._beside(asked, yes, a, deeper)
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
        """Least errors (N,) of subtrees that begin with the feature."""
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
                first = self._beside(asked, yes, a, deeper)
                return Split(feature, first, self._beside(asked, no, b, deeper))
        raise AssertionError("least errors are those of a tree")

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
        """Split that does not cut: the subtree where the rows are, and any beside it."""
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
                reached = self._beside(asked, same, b, deeper)
            nobody = first_tree(self._trees, a, deeper)
        having = bool(level.with_feature[place, feature].any())
        return Split(feature, *((reached, nobody) if having else (nobody, reached)))

    def _below(self, asked: int, place: int, leaves: int, using: bool) -> int:
        errors = self.found[asked + 1] if using else self._least.levels[asked + 1]
        return int(errors[place, leaves - 1])

    def _beside(self, asked: int, place: int, leaves: int, path: tuple[int, ...]) -> Node:
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
    """Errors with a last row for place −1, which is nowhere."""
    return np.vstack([errors, np.full(errors.shape[1], NEVER)])
