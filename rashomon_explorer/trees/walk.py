"""Trees drawn by walking the counts back: uniform among those with as many leaves and errors."""

import bisect
from itertools import accumulate

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.rashomon_set.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.counting import Counts, Histogram, stump_errors
from rashomon_explorer.trees.least import branch_errors, label_errors, pairs
from rashomon_explorer.trees.uniform import any_tree, whole_below
from rashomon_explorer.trees.walks import Walks

_MOST_KEPT = 200_000

Option = tuple[str, int, int, int]
"""What a subtree begins with, the feature, and two numbers that its kind explains."""


def draw_cells(
    counts: Counts, cells: list[tuple[int, int]], rng: np.random.Generator
) -> list[Node]:
    """Draw a tree for each pair of leaves and errors, uniformly from all that have them.

    Where a class is so large that doubles round its counts, one by one in whole numbers: then what
    is rounded stays relative to each choice, as ``TreeClass.rounding`` prices it.
    """
    if not cells:
        return []
    if counts.trees.counts_are_exact:
        return Walks(counts, rng).draw(cells)
    walker = Walker(counts, rng)
    return [walker.draw(*cell) for cell in cells]


class Walker:
    """Draws uniformly from all trees that are counted in a cell.

    A subtree of l leaves and e errors begins with a question in proportion to the number of pairs
    of subtrees that it leads to: N_yes(a, e') · N_no(l − a, e − e').
    """

    def __init__(self, counts: Counts, rng: np.random.Generator) -> None:
        self._counts, self._rng = counts, rng
        self._trees = counts.trees
        self._kept: dict[tuple[int, int, int, int], tuple[list[Option], list[int]]] = {}
        self._labels = [
            (a, b)
            for a in range(self._trees.n_labels)
            for b in range(self._trees.n_labels)
            if a != b
        ]

    def draw(self, leaves: int, errors: int) -> Node:
        """Draw one tree with so many leaves and errors, of which there must be one."""
        return self._subtree(0, 0, leaves, errors, ())

    def _subtree(
        self, level: int, place: int, leaves: int, errors: int, asked: tuple[int, ...]
    ) -> Node:
        if leaves == 1:
            here = self._counts.levels[level]
            fitting = np.flatnonzero(label_errors(here, here.totals[place]) == errors).tolist()
            return Leaf(fitting[whole_below(len(fitting), self._rng)])
        options, ends = self._options(level, place, leaves, errors)
        option = options[bisect.bisect_right(ends, whole_below(ends[-1], self._rng))]
        return _FOLLOWED[option[0]](self, option, (level, place, leaves, errors), asked)

    def _options(
        self, level: int, place: int, leaves: int, errors: int
    ) -> tuple[list[Option], list[int]]:
        key = (level, place, leaves, errors)
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            made = self._stumps if leaves == 2 else self._splits
            weighted = made(*key)
            options = [option for option, _ in weighted]
            self._kept[key] = options, list(accumulate(weight for _, weight in weighted))
        return self._kept[key]

    def _stumps(self, level: int, place: int, leaves: int, errors: int) -> list[tuple[Option, int]]:
        found, weights = stump_errors(self._counts.levels[level], np.array([place]))
        fitting = np.flatnonzero((found[0] == errors) & (weights[0] > 0)).tolist()
        many = len(self._labels)
        cut = self._trees.n_features * many
        return [
            (
                ("stump", at // many, *self._labels[at % many])
                if at < cut
                else ("unreached leaf", -1, at - cut, 0),
                int(weights[0, at]),
            )
            for at in fitting
        ]

    def _splits(self, level: int, place: int, leaves: int, errors: int) -> list[tuple[Option, int]]:
        counts, here = self._counts, self._counts.levels[level]
        below = counts.found[level + 1]
        weighted: list[tuple[Option, int]] = []
        most = len(counts.trees.table[level + 1])
        shares = pairs(leaves, most)
        inner = [(a, b, below[a - 2], below[b - 2]) for a, b in shares if a > 1 and b > 1]
        deep = below[leaves - 3] if leaves - 1 <= most else None
        features = np.flatnonzero(here.cuts[place])
        yes, no = here.yes[place, features].tolist(), here.no[place, features].tolist()
        if deep is not None:
            leaf_yes, leaf_no = branch_errors(here, place, features)
        for at, feature in enumerate(features.tolist()):
            if deep is not None:
                for kind, leaf, other in (
                    ("leaf if yes", leaf_yes[at], deep[no[at]]),
                    ("leaf if no", leaf_no[at], deep[yes[at]]),
                ):
                    for label, wrong in enumerate(leaf):
                        if weight := _number(other, errors - wrong):
                            weighted.append(((kind, feature, label, errors - wrong), weight))
            for a, b, first, second in inner:
                if weight := _pairs_at(first[yes[at]], second[no[at]], errors):
                    weighted.append((("both", feature, a, b), weight))
        weighted += self._uncut(level, place, leaves, errors, shares)
        return weighted

    def _uncut(
        self, level: int, place: int, leaves: int, errors: int, shares: list[tuple[int, int]]
    ) -> list[tuple[Option, int]]:
        here = self._counts.levels[level]
        spare = int(here.spare[place])
        empty = self._counts.trees.table[level + 1]
        weighted: list[tuple[Option, int]] = []
        for a, b in shares if spare else []:
            if b == 1:
                number = int((label_errors(here, here.totals[place]) == errors).sum())
            else:
                number = _number(self._counts.of(level + 1, b, int(here.same[place])), errors)
            if number:
                weighted.append((("unreached", -1, a, b), spare * empty[a - 1] * number))
        return weighted

    def _follow_stump(
        self, option: Option, here: tuple[int, int, int, int], asked: tuple[int, ...]
    ) -> Node:
        return Split(option[1], Leaf(option[2]), Leaf(option[3]))

    def _follow_unreached_leaf(
        self, option: Option, here: tuple[int, int, int, int], asked: tuple[int, ...]
    ) -> Node:
        label = option[2]
        other = whole_below(self._trees.n_labels - 1, self._rng)
        feature = self._idle(here, asked)
        return self._around(here, feature, Leaf(label), Leaf(other + (other >= label)))

    def _follow_leaf(
        self, option: Option, here: tuple[int, int, int, int], asked: tuple[int, ...]
    ) -> Node:
        kind, feature, label, errors = option
        level, place, leaves, _ = here
        if_yes = kind == "leaf if yes"
        lattice = self._counts.levels[level]
        to = (lattice.no if if_yes else lattice.yes)[place, feature]
        deep = self._subtree(level + 1, int(to), leaves - 1, errors, (*asked, feature))
        branches = (Leaf(label), deep) if if_yes else (deep, Leaf(label))
        return Split(feature, *branches)

    def _follow_both(
        self, option: Option, here: tuple[int, int, int, int], asked: tuple[int, ...]
    ) -> Node:
        _, feature, a, b = option
        level, place, _, errors = here
        lattice = self._counts.levels[level]
        yes, no = int(lattice.yes[place, feature]), int(lattice.no[place, feature])
        first = self._counts.of(level + 1, a, yes)
        second = self._counts.of(level + 1, b, no)
        assert first is not None and second is not None
        low, products = _products(first, second, errors)
        filled = np.flatnonzero(products).tolist()
        ends = list(accumulate(int(products[at]) for at in filled))
        chosen = low + filled[bisect.bisect_right(ends, whole_below(ends[-1], self._rng))]
        path = (*asked, feature)
        return Split(
            feature,
            self._subtree(level + 1, yes, a, chosen, path),
            self._subtree(level + 1, no, b, errors - chosen, path),
        )

    def _follow_unreached(
        self, option: Option, here: tuple[int, int, int, int], asked: tuple[int, ...]
    ) -> Node:
        _, _, a, b = option
        level, place, _, errors = here
        same = int(self._counts.levels[level].same[place])
        feature = self._idle(here, asked)
        path = (*asked, feature)
        reached = self._subtree(level + 1, same, b, errors, path)
        unreached = any_tree(self._trees, self._rng, asked=path, leaves=a)
        return self._around(here, feature, reached, unreached)

    def _idle(self, here: tuple[int, int, int, int], asked: tuple[int, ...]) -> int:
        """Draw a question that was not asked and does not cut the rows."""
        cuts = self._counts.levels[here[0]].cuts[here[1]]
        idle = [feature for feature in np.flatnonzero(~cuts).tolist() if feature not in asked]
        return int(idle[whole_below(len(idle), self._rng)])

    def _around(
        self, here: tuple[int, int, int, int], feature: int, reached: Node, unreached: Node
    ) -> Node:
        """Split whose rows are all on one side."""
        having = self._counts.levels[here[0]].with_feature[here[1], feature].any()
        return Split(feature, *((reached, unreached) if having else (unreached, reached)))


_FOLLOWED = {
    "stump": Walker._follow_stump,
    "unreached leaf": Walker._follow_unreached_leaf,
    "leaf if yes": Walker._follow_leaf,
    "leaf if no": Walker._follow_leaf,
    "both": Walker._follow_both,
    "unreached": Walker._follow_unreached,
}


def _number(found: Histogram | None, errors: int) -> int:
    if found is None:
        return 0
    at = errors - found[0]
    return int(found[1][at]) if 0 <= at < len(found[1]) else 0


def _pairs_at(first: Histogram | None, second: Histogram | None, errors: int) -> int:
    if first is None or second is None:
        return 0
    return int(_products(first, second, errors)[1].sum())


def _products(first: Histogram, second: Histogram, errors: int) -> tuple[int, FloatArray]:
    """Errors of the first branch from which on, and pairs of subtrees with ``errors`` in all."""
    low = max(first[0], errors - second[0] - len(second[1]) + 1)
    high = min(first[0] + len(first[1]) - 1, errors - second[0])
    if low > high:
        return low, np.empty(0)
    one = first[1][low - first[0] : high - first[0] + 1]
    other = second[1][errors - high - second[0] : errors - low - second[0] + 1][::-1]
    return low, one * other
