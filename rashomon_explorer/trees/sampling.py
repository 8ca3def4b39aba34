"""Uniform draws of trees by backtracking through the counts."""

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer.sets.models.trees import Leaf, Node, Split
from rashomon_explorer.trees import counting
from rashomon_explorer.trees.lattice import label_errors, label_pairs, leaf_errors, pairs
from rashomon_explorer.trees.law import uniform_tree

_MADE = -(2**40)  # lower codes of children denote finished subtrees


class Walks:
    """Draw trees with given leaves and errors, each uniformly from all such trees."""

    def __init__(self, counts: counting.Counts, rng: np.random.Generator) -> None:
        self._counts, self._rng = counts, rng
        self._trees = counts.trees

    def draw(self, cells: list[tuple[int, int]]) -> list[Node]:
        """Draw a tree for each pair of leaves and errors."""
        if not cells:
            return []
        leaves, errors = (np.array(part, dtype=np.int64) for part in zip(*cells, strict=True))
        roots = np.empty(len(cells), dtype=np.int64)
        single_leaf = leaves == 1
        zeros = np.zeros(len(cells), dtype=np.int64)
        roots[single_leaf] = -1 - self._sample_labels(0, zeros[single_leaf], errors[single_leaf])
        grown = _Growing(self, int((~single_leaf).sum()))
        roots[~single_leaf] = np.arange(grown.count)
        waiting = (
            zeros[~single_leaf],
            leaves[~single_leaf],
            errors[~single_leaf],
            np.arange(grown.count),
        )
        level = 0
        while len(waiting[0]):
            waiting = grown.level(level, *waiting)
            level += 1
        return grown.trees(roots)

    def _sample_labels(self, level: int, indices: IntArray, errors: IntArray) -> IntArray:
        """Label of a leaf with so many errors; uniform over such labels."""
        here = self._counts.levels[level]
        fits = label_errors(here, here.totals[indices]) == errors[:, None]
        return counting.sample_in_rows(fits.astype(float), np.arange(len(indices)), self._rng)

    def flat(self, level: int, leaves: int) -> counting.FlatHistograms:
        """Histograms of a level's sets."""
        cache = self._counts.flat
        if (level, leaves) not in cache:
            histograms = self._counts.histograms[level][leaves - 2]
            cache[level, leaves] = counting.FlatHistograms.from_histograms(histograms)
        return cache[level, leaves]


Waiting = tuple[IntArray, IntArray, IntArray, IntArray]
"""Sets, leaves, errors and numbers of the splits to draw next."""


class _Growing:
    """Splits of all trees, level by level."""

    def __init__(self, walks: Walks, count: int) -> None:
        self._walks, self._rng = walks, walks._rng
        self._counts, self._trees = walks._counts, walks._trees
        self.count = count
        self.feature = np.full(count, -1, dtype=np.int64)
        self.yes = np.zeros(count, dtype=np.int64)
        self.no = np.zeros(count, dtype=np.int64)
        self.parent = np.full(count, -1, dtype=np.int64)
        self.made: list[Node] = []
        self._next: list[Waiting] = []

    def level(
        self, level: int, indices: IntArray, leaves: IntArray, errors: IntArray, ids: IntArray
    ) -> Waiting:
        """Draw the first question of every subtree below sets of a level."""
        self._next = []
        for many in np.unique(leaves).tolist():
            some = leaves == many
            grow = self._stumps if many == 2 else self._splits
            grow(level, many, indices[some], errors[some], ids[some])
        empty = np.empty(0, dtype=np.int64)
        parts = zip(*self._next, strict=True) if self._next else [[empty]] * 4
        first, second, third, fourth = (np.concatenate(part) for part in parts)
        return first, second, third, fourth

    def trees(self, roots: IntArray) -> list[Node]:
        """Assemble the splits; equal subtrees are one object."""
        leaves = [Leaf(label) for label in range(self._trees.n_labels)]
        splits: dict[tuple[int, int, int], Node] = {}
        built: list[Node] = [leaves[0]] * self.count

        def child(code: int) -> Node:
            if code >= 0:
                return built[code]
            return self.made[_MADE - code] if code <= _MADE else leaves[-1 - code]

        columns = (self.feature, self.yes, self.no)
        last = self.count - 1
        backwards = zip(*(column[::-1].tolist() for column in columns), strict=True)
        for back, (feature, yes, no) in enumerate(backwards):  # children come after their parents
            first, second = child(yes), child(no)
            key = (feature, id(first), id(second))
            split = splits.get(key)
            if split is None:
                split = splits[key] = Split(feature, first, second)
            built[last - back] = split
        return [child(code) for code in roots.tolist()]

    def _stumps(
        self, level: int, _: int, indices: IntArray, errors: IntArray, ids: IntArray
    ) -> None:
        here, labels = self._counts.levels[level], np.array(label_pairs(self._trees.n_labels))
        keys, index, goal = _different(indices, errors)
        option_errors, weights = counting.stump_errors(here, index)
        option = counting.sample_in_rows(
            np.where(option_errors == goal[:, None], weights, 0.0), keys, self._rng
        )
        cut = self._trees.n_features * len(labels)
        cuts = option < cut
        ends = labels[option[cuts] % len(labels)]
        self.feature[ids[cuts]] = option[cuts] // len(labels)
        self.yes[ids[cuts]], self.no[ids[cuts]] = -1 - ends[:, 0], -1 - ends[:, 1]
        idle = np.flatnonzero(~cuts)
        if len(idle):
            reached_label = option[idle] - cut
            empty_label = self._rng.integers(np.full(len(idle), self._trees.n_labels - 1))
            empty_label += empty_label >= reached_label
            self._around(level, indices[idle], ids[idle], -1 - reached_label, -1 - empty_label)

    def _splits(
        self, level: int, leaves: int, indices: IntArray, errors: IntArray, ids: IntArray
    ) -> None:
        keys, index, goal = _different(indices, errors)
        options = _Options(self._walks, level, leaves, index, goal)
        option = counting.sample_in_rows(options.weights(), keys, self._rng)
        n_leaf_options, both = options.ends
        with_leaf = np.flatnonzero(option < n_leaf_options)
        if len(with_leaf):
            self._add_leaf_pair(
                level,
                leaves,
                option[with_leaf],
                indices[with_leaf],
                errors[with_leaf],
                ids[with_leaf],
            )
        paired = np.flatnonzero((option >= n_leaf_options) & (option < both))
        m = self._trees.n_features
        for share in np.unique((option[paired] - n_leaf_options) // m).tolist():
            some = paired[(option[paired] - n_leaf_options) // m == share]
            feature = (option[some] - n_leaf_options) % m
            self._both(level, options.inner[share], feature, indices[some], errors[some], ids[some])
        for share in np.unique(option[option >= both] - both).tolist():
            some = np.flatnonzero(option - both == share)
            self._unreached(level, options.shares[share], indices[some], errors[some], ids[some])

    def _add_leaf_pair(
        self,
        level: int,
        leaves: int,
        option: IntArray,
        indices: IntArray,
        errors: IntArray,
        ids: IntArray,
    ) -> None:
        here, labels, m = self._counts.levels[level], self._trees.n_labels, self._trees.n_features
        label, feature, if_no = option % labels, option // labels % m, option // (labels * m)
        rows = here.with_feature[indices, feature]
        rows = np.where(if_no[:, None] == 1, here.totals[indices] - rows, rows)
        wrong = label_errors(here, rows)[np.arange(len(rows)), label]
        to = np.where(if_no == 1, here.yes[indices, feature], here.no[indices, feature])
        below = self._grow(ids, to, np.full(len(ids), leaves - 1), errors - wrong)
        self.feature[ids] = feature
        self.yes[ids] = np.where(if_no == 1, below, -1 - label)
        self.no[ids] = np.where(if_no == 1, -1 - label, below)

    def _both(
        self,
        level: int,
        share: tuple[int, int],
        feature: IntArray,
        indices: IntArray,
        errors: IntArray,
        ids: IntArray,
    ) -> None:
        here, (a, b) = self._counts.levels[level], share
        yes, no = here.yes[indices, feature], here.no[indices, feature]
        flats = self._walks.flat(level + 1, a), self._walks.flat(level + 1, b)
        first = counting.Pairs(*flats, yes, no, errors).sample(self._rng)
        self.feature[ids] = feature
        self.yes[ids] = self._grow(ids, yes, np.full(len(ids), a), first)
        self.no[ids] = self._grow(ids, no, np.full(len(ids), b), errors - first)

    def _unreached(
        self, level: int, share: tuple[int, int], indices: IntArray, errors: IntArray, ids: IntArray
    ) -> None:
        """Draw splits that cut nothing: the rows are on one side, and any subtree on the other."""
        a, b = share
        if b == 1:
            reached = -1 - self._walks._sample_labels(level, indices, errors)
        else:
            uncut_indices = self._counts.levels[level].same[indices]
            reached = self._grow(ids, uncut_indices, np.full(len(ids), b), errors)
        self._around(level, indices, ids, reached, None, leaves=a)

    def _around(
        self,
        level: int,
        indices: IntArray,
        ids: IntArray,
        reached: IntArray,
        empty: IntArray | None,
        leaves: int = 0,
    ) -> None:
        here = self._counts.levels[level]
        choices = self._rng.integers(here.spare[indices])
        empty_side = np.empty(len(ids), dtype=np.int64) if empty is None else empty
        uncut: dict[int, list[int]] = {}
        for at, (index, split) in enumerate(zip(indices.tolist(), ids.tolist(), strict=True)):
            if index not in uncut:
                uncut[index] = np.flatnonzero(~here.cuts[index]).tolist()
            path: tuple[int, ...] = ()  # questions above the split
            above = int(self.parent[split])
            while above >= 0:
                path, above = (*path, int(self.feature[above])), int(self.parent[above])
            feature = [f for f in uncut[index] if f not in path][int(choices[at])]
            self.feature[split] = feature
            if empty is None:
                path = (*path, feature)
                tree = uniform_tree(self._trees, self._rng, path=path, leaves=leaves)
                empty_side[at] = _MADE - len(self.made)
                self.made.append(tree)
        having = here.with_feature[indices, self.feature[ids]].any(axis=1)
        self.yes[ids] = np.where(having, reached, empty_side)
        self.no[ids] = np.where(having, empty_side, reached)

    def _grow(
        self, parents: IntArray, indices: IntArray, leaves: IntArray, errors: IntArray
    ) -> IntArray:
        """Append subtrees to draw on the next level; returns their numbers."""
        ids = np.arange(self.count, self.count + len(parents))
        self.count += len(parents)
        more = np.full(len(parents), -1, dtype=np.int64)
        self.feature, self.yes, self.no = (
            np.concatenate([column, more]) for column in (self.feature, self.yes, self.no)
        )
        self.parent = np.concatenate([self.parent, parents])
        self._next.append((indices, leaves, errors, ids))
        return ids


class _Options:
    """First questions of subtrees of some sets, and the number of subtrees with each."""

    def __init__(
        self, walks: Walks, level: int, leaves: int, indices: IntArray, errors: IntArray
    ) -> None:
        self._walks, self._level, self._leaves = walks, level, leaves
        self._here = walks._counts.levels[level]
        self._pattern_indices, self._errors = indices, errors
        self._empty = walks._trees.table[level + 1]
        self.shares = pairs(leaves, len(self._empty))
        self.inner = [(a, b) for a, b in self.shares if a > 1 and b > 1]
        m, labels = walks._trees.n_features, walks._trees.n_labels
        n_leaf_options = 2 * m * labels
        self.ends = n_leaf_options, n_leaf_options + m * len(self.inner)

    def weights(self) -> FloatArray:
        """Weights (K, options): leaf if yes, leaf if no; two subtrees; uncut."""
        parts = [self._leaf_options(), *map(self._both, self.inner), *map(self._idle, self.shares)]
        return np.concatenate(parts, axis=1)

    def _leaf_options(self) -> FloatArray:
        here, indices = self._here, self._pattern_indices
        sides = leaf_errors(here, indices)
        if self._leaves - 1 > len(self._empty):
            return np.zeros((len(indices), 2 * sides[0][0].size))
        flat = self._walks.flat(self._level + 1, self._leaves - 1)
        counts = [
            flat.at(to[indices][..., None], self._errors[:, None, None] - wrong)
            for wrong, to in zip(sides, (here.no, here.yes), strict=True)
        ]
        return np.concatenate([part.reshape(len(indices), -1) for part in counts], axis=1)

    def _both(self, share: tuple[int, int]) -> FloatArray:
        here, m = self._here, self._here.cuts.shape[1]
        first, second = (self._walks.flat(self._level + 1, part) for part in share)
        yes, no = here.yes[self._pattern_indices].ravel(), here.no[self._pattern_indices].ravel()
        of = counting.Pairs(first, second, yes, no, np.repeat(self._errors, m))
        return of.totals().reshape(-1, m)

    def _idle(self, share: tuple[int, int]) -> FloatArray:
        a, b = share
        here, indices = self._here, self._pattern_indices
        if b == 1:
            wrong = label_errors(here, here.totals[indices])
            number = (wrong == self._errors[:, None]).sum(axis=1).astype(float)
        else:
            flat = self._walks.flat(self._level + 1, b)
            number = flat.at(here.same[indices], self._errors)
        subtrees = here.spare[indices].astype(object) * self._empty[a - 1]  # integers of any size
        return (subtrees.astype(float) * number)[:, None]


def _different(
    indices: NDArray[np.int64], errors: NDArray[np.int64]
) -> tuple[IntArray, IntArray, IntArray]:
    """Index of each pair among the distinct ones, and the distinct pairs' sets and errors."""
    unit = int(errors.max()) + 1
    keys, which = np.unique(indices * unit + errors, return_inverse=True)
    return which.reshape(-1), keys // unit, keys % unit
