"""Gibbs distribution over counted trees, and uniform draws by backtracking through the counts."""

import bisect
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.randomness import IntegerLaw, uniform_below
from rashomon_explorer.mechanisms.sparse_trees import energy_cap
from rashomon_explorer.sets.models.trees import Leaf, Node, Split
from rashomon_explorer.trees import counting
from rashomon_explorer.trees.lattice import label_errors, label_pairs, leaf_errors, pairs
from rashomon_explorer.trees.tree_class import TreeClass


def uniform_tree(
    trees: TreeClass, rng: np.random.Generator, *, path: tuple[int, ...] = (), leaves: int = 0
) -> Node:
    """Draw a tree uniformly from the class, or a subtree with so many leaves below questions."""
    counts = trees.table[len(path)]
    leaves = leaves or 1 + _sample_index(list(counts), rng)
    if leaves == 1:
        return Leaf(uniform_below(trees.n_labels, rng))
    left = [feature for feature in range(trees.n_features) if feature not in path]
    feature = left[uniform_below(len(left), rng)]
    if leaves == 2:
        first = uniform_below(trees.n_labels, rng)
        second = uniform_below(trees.n_labels - 1, rng)
        return Split(feature, Leaf(first), Leaf(second + (second >= first)))
    below = trees.table[len(path) + 1]
    shares = [(a, leaves - a) for a in range(1, leaves) if max(a, leaves - a) <= len(below)]
    a, b = shares[_sample_index([below[a - 1] * below[b - 1] for a, b in shares], rng)]
    deeper = (*path, feature)
    return Split(
        feature,
        uniform_tree(trees, rng, path=deeper, leaves=a),
        uniform_tree(trees, rng, path=deeper, leaves=b),
    )


def _sample_index(weights: list[int], rng: np.random.Generator) -> int:
    ends = list(accumulate(weights))
    return bisect.bisect_right(ends, uniform_below(ends[-1], rng))


_LAW_WORD = 2**63 - 1


@dataclass(frozen=True)
class CappedEnergy:
    """min(β·max{L − L* − ψ, 0}, ``cap``), where L is the error rate plus the leaf penalty."""

    n: int
    beta: float
    psi: float
    leaf_penalty: float
    cap: float

    @classmethod
    def for_class(
        cls, trees: TreeClass, n: int, *, beta: float, psi: float, leaf_penalty: float
    ) -> "CappedEnergy":
        """Energy with the cap that the number of trees determines."""
        return cls(n, beta, psi, leaf_penalty, energy_cap(trees.log_size))

    def limits(self, least: float, most_leaves: int) -> IntArray:
        """Largest errors of a tree of 1, 2, … leaves whose energy is below the cap."""
        return limits(
            self.n, self.leaf_penalty, most_leaves, least + self.psi + self.cap / self.beta
        )

    def __call__(self, losses: FloatArray, least: float) -> FloatArray:
        """Energies of losses."""
        excess = np.maximum(losses - (least + self.psi), 0.0)
        return np.asarray(np.minimum(self.beta * excess, self.cap))


def tree_losses(
    n: int, leaf_penalty: float, leaves: int | IntArray, errors: IntArray
) -> FloatArray:
    """Loss of trees: the error rate, and a penalty per leaf."""
    return np.asarray(errors / n + leaf_penalty * leaves)


def limits(n: int, leaf_penalty: float, most_leaves: int, most: float) -> IntArray:
    """Largest errors of a tree of 1, 2, … leaves whose loss is at most ``most``; −1 for none."""
    largest = [
        bisect.bisect_right(range(n + 1), most, key=partial(_tree_loss, n, leaf_penalty, leaves))
        - 1
        for leaves in range(1, most_leaves + 1)
    ]
    return np.array(largest, dtype=np.int64)


def _tree_loss(n: int, leaf_penalty: float, leaves: int, errors: int) -> float:
    return float(tree_losses(n, leaf_penalty, leaves, np.asarray(errors)))


class CellLaw:
    """Distribution over cells (leaves, errors) of trees; draws have no rounding error."""

    def __init__(self, cells: list[tuple[int, int, int, int]], floor: int, size: int) -> None:
        self._cells: list[tuple[int, int] | None] = [(cell[0], cell[1]) for cell in cells]
        masses = [cell[2] * cell[3] for cell in cells]
        if floor:
            self._cells.append(None)
            masses.append(floor * size)
        self._ends = list(accumulate(masses))

    @property
    def total(self) -> int:
        """Sum of all weights."""
        return self._ends[-1]

    def at(self, position: int) -> tuple[int, int] | None:
        """Cell that contains ``position`` in 0, …, total − 1."""
        return self._cells[bisect.bisect_right(self._ends, position)]

    def draw(self, size: int, rng: np.random.Generator) -> list[tuple[int, int] | None]:
        """Leaves and errors of independent trees, or None for a tree of the whole class."""
        if self.total <= _LAW_WORD:
            positions = rng.integers(self.total, size=size).tolist()
        else:
            positions = [uniform_below(self.total, rng) for _ in range(size)]
        return list(map(self.at, positions))


def gibbs(
    histograms: list[counting.Histogram | None],
    trees: TreeClass,
    energy: CappedEnergy,
    least: float,
) -> CellLaw:
    """Distribution ∝ exp(−energy) over all trees of the class."""
    floor = integer_weights(np.array([energy.cap]))[0]
    cells = []
    for leaves, histogram in enumerate(histograms, start=1):
        if histogram is None:
            continue
        first, numbers = histogram
        errors = first + np.arange(len(numbers))
        energies = energy(tree_losses(energy.n, energy.leaf_penalty, leaves, errors), least)
        weights = integer_weights(energies)
        for k in np.flatnonzero(numbers).tolist():
            extra = max(0, weights[k] - floor)
            cells.append((leaves, first + k, int(numbers[k]), extra))
    return CellLaw(cells, floor, trees.size)


def uniform(histograms: list[counting.Histogram | None]) -> CellLaw:
    """Uniform distribution over all counted trees."""
    cells = []
    for leaves, histogram in enumerate(histograms, start=1):
        if histogram is not None:
            first, numbers = histogram
            filled = np.flatnonzero(numbers).tolist()
            cells += [(leaves, first + k, int(numbers[k]), 1) for k in filled]
    return CellLaw(cells, 0, 0)


def integer_weights(energies: FloatArray) -> list[int]:
    """exp(−energy) as integers of one unit, each exact up to a factor 1 ± 2⁻³⁹."""
    law = IntegerLaw(energies)
    shifts = (256 - law.depths).tolist()
    return [
        mantissa << shift for mantissa, shift in zip(law.mantissas.tolist(), shifts, strict=True)
    ]


_MADE = -(2**40)  # lower codes of children denote finished subtrees


class Waiting(NamedTuple):
    """Subtrees with as many leaves to draw next: sets of rows, errors, and numbers."""

    sets: IntArray
    errors: IntArray
    ids: IntArray

    def at(self, some: NDArray[np.intp] | NDArray[np.bool_]) -> "Waiting":
        """Keep some of the subtrees."""
        return Waiting(*(part[some] for part in self))


class Walks:
    """Draw trees with given leaves and errors, each uniformly from all such trees."""

    def __init__(self, counts: counting.Counts, rng: np.random.Generator) -> None:
        self._counts, self._rng = counts, rng
        self._trees = counts.trees

    def draw(self, cells: list[tuple[int, int]]) -> list[Node]:
        """Draw a tree for each pair of leaves and errors, level by level."""
        if not cells:
            return []
        leaves, errors = np.array(cells, dtype=np.int64).T
        sets = np.zeros(len(cells), dtype=np.int64)
        single, roots = leaves == 1, np.empty(len(cells), dtype=np.int64)
        roots[single] = -1 - self._sample_labels(0, sets[single], errors[single])
        self._count = int((~single).sum())
        roots[~single] = np.arange(self._count)
        self._feature, self._parent = (np.full(self._count, -1, dtype=np.int64) for _ in range(2))
        self._yes, self._no = (np.zeros(self._count, dtype=np.int64) for _ in range(2))
        self._made: list[Node] = []
        first = Waiting(sets, errors, roots)
        waiting = {k: first.at(leaves == k) for k in np.unique(leaves[~single]).tolist()}
        level = 0
        while waiting:
            self._next: dict[int, list[Waiting]] = defaultdict(list)
            for n_leaves in sorted(waiting):
                if n_leaves == 2:
                    self._stumps(level, waiting[2])
                else:
                    self._splits(level, n_leaves, waiting[n_leaves])
            waiting = {
                n_leaves: Waiting(*map(np.concatenate, zip(*parts, strict=True)))
                for n_leaves, parts in self._next.items()
            }
            level += 1
        return self._assembled(roots)

    def _sample_labels(self, level: int, sets: IntArray, errors: IntArray) -> IntArray:
        """Label of a leaf with so many errors; uniform over such labels."""
        here = self._counts.levels[level]
        fits = label_errors(here, here.totals[sets]) == errors[:, None]
        return counting.sample_in_rows(fits.astype(float), np.arange(len(sets)), self._rng)

    def _flat(self, level: int, leaves: int) -> counting.FlatHistograms:
        """Histograms of a level's sets."""
        return self._counts.flat[level][leaves - 2]

    def _assembled(self, roots: IntArray) -> list[Node]:
        """Trees of the splits; equal subtrees are one object."""
        leaves = [Leaf(label) for label in range(self._trees.n_labels)]
        splits: dict[tuple[int, int, int], Node] = {}
        built: list[Node] = [leaves[0]] * self._count

        def child(code: int) -> Node:
            if code >= 0:
                return built[code]
            return self._made[_MADE - code] if code <= _MADE else leaves[-1 - code]

        columns = self._feature.tolist(), self._yes.tolist(), self._no.tolist()
        for at in range(self._count - 1, -1, -1):  # children come after their parents
            feature, yes, no = (column[at] for column in columns)
            first, second = child(yes), child(no)
            key = (feature, id(first), id(second))
            if key not in splits:
                splits[key] = Split(feature, first, second)
            built[at] = splits[key]
        return [child(code) for code in roots.tolist()]

    def _stumps(self, level: int, waiting: Waiting) -> None:
        here, labels = self._counts.levels[level], np.array(label_pairs(self._trees.n_labels))
        keys, index, goal = _different(waiting)
        option_errors, weights = counting.stump_errors(here, index)
        option = counting.sample_in_rows(
            np.where(option_errors == goal[:, None], weights, 0.0), keys, self._rng
        )
        cut = self._trees.n_features * len(labels)
        cuts = option < cut
        ends, ids = labels[option[cuts] % len(labels)], waiting.ids[cuts]
        self._feature[ids] = option[cuts] // len(labels)
        self._yes[ids], self._no[ids] = -1 - ends[:, 0], -1 - ends[:, 1]
        idle = np.flatnonzero(~cuts)
        if len(idle):
            reached_label = option[idle] - cut
            empty_label = self._rng.integers(np.full(len(idle), self._trees.n_labels - 1))
            empty_label += empty_label >= reached_label
            self._around(level, waiting.at(idle), -1 - reached_label, -1 - empty_label)

    def _splits(self, level: int, leaves: int, waiting: Waiting) -> None:
        """Draw the first question: with a leaf, with two subtrees, or one that cuts nothing."""
        keys, index, goal = _different(waiting)
        below, m = self._trees.table[level + 1], self._trees.n_features
        shares = pairs(leaves, len(below))
        inner = [(a, b) for a, b in shares if a > 1 and b > 1]
        weights = [
            self._leaf_weights(level, leaves, index, goal),
            *(self._pair_weights(level, share, index, goal) for share in inner),
            *(self._idle_weights(level, share, index, goal) for share in shares),
        ]
        option = counting.sample_in_rows(np.concatenate(weights, axis=1), keys, self._rng)
        with_leaf = 2 * m * self._trees.n_labels
        cutting = with_leaf + m * len(inner)
        some = np.flatnonzero(option < with_leaf)
        if len(some):
            self._add_leaf_pair(level, leaves, option[some], waiting.at(some))
        paired = np.flatnonzero((option >= with_leaf) & (option < cutting))
        for share in np.unique((option[paired] - with_leaf) // m).tolist():
            some = paired[(option[paired] - with_leaf) // m == share]
            self._add_pair(level, inner[share], (option[some] - with_leaf) % m, waiting.at(some))
        for share in np.unique(option[option >= cutting] - cutting).tolist():
            some = np.flatnonzero(option - cutting == share)
            self._add_idle(level, shares[share], waiting.at(some))

    def _leaf_weights(self, level: int, leaves: int, index: IntArray, goal: IntArray) -> FloatArray:
        """Count the subtrees with a leaf if yes, and if no, by feature and label."""
        here = self._counts.levels[level]
        sides = leaf_errors(here, index)
        if leaves - 1 > len(self._trees.table[level + 1]):
            return np.zeros((len(index), 2 * sides[0][0].size))
        flat = self._flat(level + 1, leaves - 1)
        counts = [
            flat.at(to[index][..., None], goal[:, None, None] - wrong)
            for wrong, to in zip(sides, (here.no, here.yes), strict=True)
        ]
        return np.concatenate([part.reshape(len(index), -1) for part in counts], axis=1)

    def _add_leaf_pair(self, level: int, leaves: int, option: IntArray, waiting: Waiting) -> None:
        here, labels, m = self._counts.levels[level], self._trees.n_labels, self._trees.n_features
        label, feature, if_no = option % labels, option // labels % m, option // (labels * m)
        rows = here.with_feature[waiting.sets, feature]
        rows = np.where(if_no[:, None] == 1, here.totals[waiting.sets] - rows, rows)
        wrong = label_errors(here, rows)[np.arange(len(rows)), label]
        to = np.where(if_no == 1, here.yes[waiting.sets, feature], here.no[waiting.sets, feature])
        below = self._grow(waiting.ids, to, leaves - 1, waiting.errors - wrong)
        self._feature[waiting.ids] = feature
        self._yes[waiting.ids] = np.where(if_no == 1, below, -1 - label)
        self._no[waiting.ids] = np.where(if_no == 1, -1 - label, below)

    def _pair_weights(
        self, level: int, share: tuple[int, int], index: IntArray, goal: IntArray
    ) -> FloatArray:
        """Count the pairs of subtrees below each feature."""
        here, m = self._counts.levels[level], self._trees.n_features
        flats = self._flat(level + 1, share[0]), self._flat(level + 1, share[1])
        yes, no = here.yes[index].ravel(), here.no[index].ravel()
        return counting.Pairs(*flats, yes, no, np.repeat(goal, m)).totals().reshape(-1, m)

    def _add_pair(
        self, level: int, share: tuple[int, int], feature: IntArray, waiting: Waiting
    ) -> None:
        here, (a, b) = self._counts.levels[level], share
        yes, no = here.yes[waiting.sets, feature], here.no[waiting.sets, feature]
        flats = self._flat(level + 1, a), self._flat(level + 1, b)
        first = counting.Pairs(*flats, yes, no, waiting.errors).sample(self._rng)
        self._feature[waiting.ids] = feature
        self._yes[waiting.ids] = self._grow(waiting.ids, yes, a, first)
        self._no[waiting.ids] = self._grow(waiting.ids, no, b, waiting.errors - first)

    def _idle_weights(
        self, level: int, share: tuple[int, int], index: IntArray, goal: IntArray
    ) -> FloatArray:
        """Count the subtrees with all rows on one side, and any subtree on the other."""
        here, (a, b) = self._counts.levels[level], share
        if b == 1:
            wrong = label_errors(here, here.totals[index])
            number = (wrong == goal[:, None]).sum(axis=1).astype(float)
        else:
            number = self._flat(level + 1, b).at(here.same[index], goal)
        empty = self._trees.table[level + 1][a - 1]
        subtrees = here.spare[index].astype(object) * empty  # integers of any size
        return (subtrees.astype(float) * number)[:, None]

    def _add_idle(self, level: int, share: tuple[int, int], waiting: Waiting) -> None:
        a, b = share
        if b == 1:
            reached = -1 - self._sample_labels(level, waiting.sets, waiting.errors)
        else:
            to = self._counts.levels[level].same[waiting.sets]
            reached = self._grow(waiting.ids, to, b, waiting.errors)
        self._around(level, waiting, reached, None, leaves=a)

    def _around(
        self,
        level: int,
        waiting: Waiting,
        reached: IntArray,
        empty: IntArray | None,
        leaves: int = 0,
    ) -> None:
        here, ids = self._counts.levels[level], waiting.ids
        choices = self._rng.integers(here.spare[waiting.sets])
        empty_side = np.empty(len(ids), dtype=np.int64) if empty is None else empty
        for at, (index, split) in enumerate(zip(waiting.sets.tolist(), ids.tolist(), strict=True)):
            path: tuple[int, ...] = ()  # questions above the split
            above = int(self._parent[split])
            while above >= 0:
                path, above = (*path, int(self._feature[above])), int(self._parent[above])
            uncut = np.flatnonzero(~here.cuts[index]).tolist()
            feature = [f for f in uncut if f not in path][int(choices[at])]
            self._feature[split] = feature
            if empty is None:
                path = (*path, feature)
                tree = uniform_tree(self._trees, self._rng, path=path, leaves=leaves)
                empty_side[at] = _MADE - len(self._made)
                self._made.append(tree)
        having = here.with_feature[waiting.sets, self._feature[ids]].any(axis=1)
        self._yes[ids] = np.where(having, reached, empty_side)
        self._no[ids] = np.where(having, empty_side, reached)

    def _grow(self, parents: IntArray, sets: IntArray, leaves: int, errors: IntArray) -> IntArray:
        """Append subtrees to draw on the next level; returns their numbers."""
        ids = np.arange(self._count, self._count + len(parents))
        self._count += len(parents)
        more = np.full(len(parents), -1, dtype=np.int64)
        self._feature, self._yes, self._no = (
            np.concatenate([column, more]) for column in (self._feature, self._yes, self._no)
        )
        self._parent = np.concatenate([self._parent, parents])
        self._next[leaves].append(Waiting(sets, errors, ids))
        return ids


def _different(waiting: Waiting) -> tuple[IntArray, IntArray, IntArray]:
    """Index of each subtree among the distinct ones, and the distinct ones' sets and errors."""
    unit = int(waiting.errors.max()) + 1
    keys, which = np.unique(waiting.sets * unit + waiting.errors, return_inverse=True)
    return which.reshape(-1), keys // unit, keys % unit
