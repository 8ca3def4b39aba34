"""Least errors below every conjunction of answers; they prune the sets that counts are made for.

A path of d questions is a conjunction: a subset of d features, and an answer to each. All counts of
rows follow from those with *every* feature of a subset, by inclusion and exclusion, and all least
errors from these counts, from the longest conjunctions up. Nothing is computed row by row.
"""

from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.trees.lattice import (
    UNREACHABLE,
    Level,
    Origins,
    allowed_below,
    label_pairs,
    majority_errors,
)
from rashomon_explorer.trees.questions import MergedRows, all_labels, wrong
from rashomon_explorer.trees.tree_class import NARROW, WORDS_AT_ONCE, TreeClass

Table = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Least errors (C(m, d), 2^d, leaves) of a subtree below each conjunction of d answers.

    Subsets of features are in lexicographic order; bit p of the second index is the answer to the
    p-th feature of the subset.
    """

    n_features: int
    by_depth: list[Table]  # for d = 0, 1, … up to the deepest split

    @classmethod
    def from_rows(
        cls, rows: MergedRows, trees: TreeClass, *, by_majority: bool = False
    ) -> "Conjunctions":
        """Count the rows of every conjunction, and find the least errors from the longest up."""
        m, dtype = trees.n_features, _number_type(rows)
        counts, parents = _counts(rows, trees)
        leaf = _leaf_errors(counts.pop(), rows, by_majority)
        by_depth: list[Table] = []
        for depth in progress(range(trees.depth - 1, -1, -1), "errors of conjunctions"):
            shape = comb(m, depth), 2**depth, len(trees.table[depth])
            errors = np.full(shape, _far(dtype), dtype)
            below = by_depth[0] if by_depth else None
            for position, shorter in enumerate(parents[depth + 1]):
                sums = _sums_of_branches(leaf, below, position, shape[2] - 1)
                _lower(errors[..., 1:], sums.reshape(len(sums), 2**depth, -1), shorter)
            leaf = _leaf_errors(counts.pop(), rows, by_majority)
            errors[..., 0] = leaf.min(axis=2)
            by_depth.insert(0, np.minimum(errors, _far(dtype)))
        return cls(m, by_depth or [leaf.min(axis=2)[..., None]])

    def errors(self, depth: int, subsets: IntArray, answers: IntArray) -> IntArray:
        """Least errors (…, leaves) below conjunctions; huge if there is no subtree."""
        table = self.by_depth[depth]
        errors = table[subsets, answers].astype(np.int64)
        errors[errors >= _far(table.dtype)] = UNREACHABLE
        return errors

    def longer(
        self, depth: int, subsets: IntArray, answers: IntArray, features: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Subsets with one more feature, −1 if they have it; answers (…, 2) with no and yes."""
        m = self.n_features
        subsets, features = np.broadcast_arrays(subsets, features)
        columns = _subset_table(m, depth)[subsets]
        position = (columns < features[..., None]).sum(axis=-1)
        both = np.concatenate([columns, features[..., None]], axis=-1)
        both.sort(axis=-1)
        longer = _rank(m, both)
        longer[(columns == features[..., None]).any(axis=-1)] = -1
        low = answers & ((1 << position) - 1)
        without = ((answers - low) << 1) | low
        return longer, np.stack([without, without | (1 << position)], axis=-1)


_LOOKED_UP = 2**17  # costs of rows on paths at once


class LabelCosts:
    """Least costs of whole trees with a leaf of each label below each conjunction.

    From the root down, it adds up what the rest of a tree costs at least: a leaf below a path and
    the best subtrees beside it. A row leads to one conjunction for every subset of features.
    """

    def __init__(
        self, rows: MergedRows, trees: TreeClass, conjunctions: Conjunctions, start: NDArray[Any]
    ) -> None:
        """Costs are errors plus ``start``, by leaves; it is infinite where no tree is allowed."""
        counts, parents = _counts(rows, trees)
        self._m, dtype = trees.n_features, counts[0].dtype
        counts.reverse()
        free = [_with_infinity(table, dtype) for table in conjunctions.by_depth]
        leaf = _leaf_errors(counts.pop(), rows, False)
        rest = start[: free[0].shape[2]][None, None].astype(float)
        self.by_depth = [leaf + rest[..., :1]]  # (C(m, d), 2^d, C)
        for depth in progress(range(trees.depth), "costs of labels"):
            leaf = _leaf_errors(counts.pop(), rows, False)
            beside = free[depth + 1] if depth + 1 < len(free) else None
            costs = np.full(leaf.shape, np.inf)
            below = np.full((*leaf.shape[:2], 1 if beside is None else beside.shape[2]), np.inf)
            for position, shorter in enumerate(parents[depth + 1]):
                every = costs, below, leaf, leaf if beside is None else beside
                sides = list(zip(*(_halves(table, position) for table in every), strict=True))
                above = rest[shorter].reshape(*sides[0][0].shape[:3], -1)
                for one, (_, _, *sibling) in zip(sides, reversed(sides), strict=True):
                    _lower_to_stumps(one[0], one[2], sibling[0], above[..., 1:2])
                    if beside is not None:
                        _lower_to_rest(one[1], sibling[1], above)
            self.by_depth.append(np.minimum(costs, leaf + below[..., :1], out=costs))
            rest = below

    def least(self, patterns: Mask) -> FloatArray:
        """Least cost (U, C) of a tree that gives each combination of features each label."""
        least = np.repeat(self.by_depth[0][0], len(patterns), axis=0)
        bits = patterns.T.astype(np.intp)
        for depth, costs in progress(list(enumerate(self.by_depth))[1:], "least losses"):
            subsets = _subset_table(self._m, depth)
            for label, of_label in enumerate(np.moveaxis(costs, -1, 0)):
                lowest, start = of_label.min(axis=1), 0
                order = np.argsort(lowest, kind="stable")
                while start < len(order):  # those that may lower a cost, the lowest first
                    rows = np.flatnonzero(least[:, label] > lowest[order[start]])
                    if not len(rows):
                        break
                    some = order[start : start + max(1, _LOOKED_UP // len(rows))]
                    cells = np.arange(len(some))[:, None] << depth
                    for position, features in enumerate(subsets[some].T):
                        cells = cells + (bits[:, rows] << position)[features]
                    values = of_label[some].take(cells).min(axis=0)
                    least[rows, label] = np.minimum(least[rows, label], values)
                    start += len(some)
        return least


def _with_infinity(table: Table, dtype: Any) -> FloatArray:
    return np.where(table >= _far(dtype), np.inf, table)


def _lower_to_stumps(costs: FloatArray, leaf: Table, sibling: Table, above: FloatArray) -> None:
    """Lower the costs (…, C) of a leaf to those beside a leaf of another label."""
    for mine, label in label_pairs(leaf.shape[-1]):
        both = leaf[..., mine] + sibling[..., label] + above[..., 0]
        np.minimum(costs[..., mine], both, out=costs[..., mine])


def _lower_to_rest(below: FloatArray, sibling: FloatArray, above: FloatArray) -> None:
    """Lower the costs of the rest of a tree, by the leaves of both branches, three or more."""
    for a in range(below.shape[-1]):
        for b in range(0 if a else 1, min(sibling.shape[-1], above.shape[-1] - a - 1)):
            rest = above[..., a + b + 1] + sibling[..., b]
            np.minimum(below[..., a], rest, out=below[..., a])


class WithinLimits:
    """Pruning of a lattice to the sets that trees with at most so many errors can lead to.

    A set stands for all conjunctions that select its rows, and keeps one of them: the least errors
    below it depend on the rows and the number of questions alone.
    """

    def __init__(self, conjunctions: Conjunctions, limits: IntArray) -> None:
        self._conjunctions = conjunctions
        self._subsets = self._answers = np.zeros(1, dtype=np.int64)
        self.least = [conjunctions.errors(0, self._subsets, self._answers)]
        self._allowed = np.where(self.least[0] <= limits, limits, -1)

    def questions(self, level: Level) -> Mask:
        """Questions (N, m) below which two subtrees together have few enough errors."""
        depth, features = len(self.least), np.arange(level.cuts.shape[1])[None]
        within = np.zeros(level.cuts.shape, dtype=bool)
        n_leaves, below = self._allowed.shape[1], self._conjunctions.by_depth[depth].shape[2]
        nodes = np.flatnonzero((self._allowed[:, 2:] >= 0).any(axis=1))
        step = max(1, WORDS_AT_ONCE // (below * features.size))
        for start in range(0, len(nodes), step):
            sets = nodes[start : start + step]
            longer, answers = self._conjunctions.longer(
                depth - 1, self._subsets[sets, None], self._answers[sets, None], features
            )
            yes, no = (
                self._conjunctions.errors(depth, longer, answers[..., answer]) for answer in (1, 0)
            )
            for a in range(below):  # a + 1 leaves if yes, and b + 1 if no, three or more in all
                first = 1 if a == 0 else 0
                room = self._allowed[sets, a + 1 + first : min(a + 1 + below, n_leaves)]
                sums = yes[..., a, None] + no[..., first : first + room.shape[1]]
                within[sets] |= (longer >= 0) & (sums <= room[:, None]).any(axis=2)
        return within

    def descend(self, level: Level, origins: Origins) -> None:
        """Go on to the sets of the next level."""
        index, feature, answer = origins
        self._subsets, answers = self._conjunctions.longer(
            len(self.least) - 1, self._subsets[index], self._answers[index], feature
        )
        self._answers = answers[np.arange(len(index)), answer]
        self.least.append(self._conjunctions.errors(len(self.least), self._subsets, self._answers))
        self._allowed = allowed_below(level, self._allowed, self.least[-1])


def _number_type(rows: MergedRows) -> Any:
    dearest = 1 if rows.costs is None else int(rows.costs.max())
    return np.int32 if rows.n * dearest < NARROW else np.int64


def _counts(rows: MergedRows, trees: TreeClass) -> tuple[list[Table], list[list[IntArray]]]:
    """Rows of each label with each conjunction, by its length, and each subset less a feature."""
    subsets = [_subset_table(trees.n_features, size) for size in range(trees.depth + 1)]
    parents = [_without(trees.n_features, columns) for columns in subsets]
    positive = _rows_with_features(rows, subsets, parents)
    return _rows_with_answers(positive, parents, _number_type(rows)), parents


def _subset_table(m: int, size: int) -> IntArray:
    """Subsets (C(m, d), d) of d features, in lexicographic order."""
    every = chain.from_iterable(combinations(range(m), size))
    flat = np.fromiter(every, dtype=np.int64, count=comb(m, size) * size)
    return flat.reshape(comb(m, size), size)


def _rank(m: int, subsets: IntArray) -> IntArray:
    """Index of subsets (…, d) in the order: all but those that come later.

    Those differ first at some position, and there have a later feature.
    """
    size = subsets.shape[-1]
    later = [[comb(m - 1 - f, size - k) for k in range(size)] for f in range(m)]
    numbers = np.array(later, dtype=np.int64).reshape(m, size)
    return np.asarray(comb(m, size) - 1 - numbers[subsets, np.arange(size)].sum(axis=-1))


def _without(m: int, subsets: IntArray) -> list[IntArray]:
    """Index (N,) of each subset without its feature at each position."""
    return [_rank(m, np.delete(subsets, k, axis=1)) for k in range(subsets.shape[1])]


def _lower(errors: Table, sums: Table, parents: IntArray) -> None:
    """Lower the errors of conjunctions to the sums of some that are longer by one."""
    order = np.argsort(parents, kind="stable")
    parents, starts = np.unique(parents[order], return_index=True)
    errors[parents] = np.minimum(errors[parents], np.minimum.reduceat(sums[order], starts))


def _far(dtype: Any) -> int:
    return 2**29 if dtype == np.int32 else int(UNREACHABLE)


def _leaf_errors(table: Table, rows: MergedRows, by_majority: bool) -> Table:
    """Replace the rows of each label by the errors of a leaf with it; huge for no leaf."""
    step = max(1, WORDS_AT_ONCE // table[0].size)
    for start in range(0, len(table), step):
        numbers = table[start : start + step]
        errors, empty = wrong(numbers, rows.costs), all_labels(numbers) == 0
        if by_majority:
            errors = majority_errors(errors, _far(table.dtype))
            errors[empty] = _far(table.dtype)
        numbers[:] = errors
    return table


def _sums_of_branches(leaf: Table, below: Table | None, position: int, n_sums: int) -> Table:
    """Least errors of both branches of a question at a position, by 2, 3, … leaves."""
    yes, no = _halves(leaf, position)
    both = (yes[..., a] + no[..., b] for a, b in label_pairs(leaf.shape[2]))
    two_leaves = reduce(np.minimum, both)
    sums = np.full((*two_leaves.shape, n_sums), _far(leaf.dtype), leaf.dtype)
    if below is not None:
        yes, no = _halves(below, position)
        for a in range(min(yes.shape[-1], n_sums)):
            part = sums[..., a : a + yes.shape[-1]]
            np.minimum(part, yes[..., a, None] + no[..., : part.shape[-1]], out=part)
    sums[..., 0] = two_leaves
    return sums


def _halves(table: Table, position: int) -> tuple[Table, Table]:
    """Split by the answer at a position, with those before and after it on two axes."""
    n, answers, *rest = table.shape
    split = table.reshape(n, answers >> (position + 1), 2, 1 << position, *rest)
    return split[:, :, 1], split[:, :, 0]


def _rows_with_features(
    rows: MergedRows, subsets: list[IntArray], parents: list[list[IntArray]]
) -> list[FloatArray]:
    """Rows (C(m, d), C) of each label with all features of each subset, by its size."""
    features, weights = _packed(rows)
    counts = [np.zeros((len(of_size), weights.shape[1])) for of_size in subsets]
    step = max(1, WORDS_AT_ONCE // max(map(len, counts)))
    for start in progress(range(0, len(weights), step), "rows of conjunctions"):
        words, of_label = features[:, start : start + step], weights[start : start + step]
        selected = words[-1:]
        for of_size, shorter, total in zip(subsets, parents, counts, strict=True):
            if shorter:
                selected = selected[shorter[-1]] & words[of_size[:, -1]]
            total += np.bitwise_count(selected).astype(float) @ of_label
    return counts


def _packed(rows: MergedRows) -> tuple[NDArray[np.uint64], FloatArray]:
    """Bits (m + 1, W) of the combinations with each feature, and all, and rows (W, C) a bit counts.

    A combination stands once for each binary digit of its number of rows of each label.
    """
    parts, weights = [], []
    every = np.column_stack([rows.patterns, np.ones(len(rows.patterns), dtype=bool)])
    for label, numbers in enumerate(rows.counts.T):
        for digit in range(int(numbers.max()).bit_length()):
            some = every[(numbers >> digit & 1).astype(bool)]
            if len(some):
                packed = np.packbits(some.T, axis=1)
                parts.append(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))))
                counted = np.zeros((parts[-1].shape[1] // 8, rows.counts.shape[1]))
                counted[:, label] = 2.0**digit
                weights.append(counted)
    bits = np.ascontiguousarray(np.concatenate(parts, axis=1)).view(np.uint64)
    return bits, np.concatenate(weights)


def _rows_with_answers(
    positive: list[FloatArray], parents: list[list[IntArray]], dtype: Any
) -> list[Table]:
    """Rows (C(m, d), 2^d, C) of each label with each conjunction, by its length d.

    Those with a no are those without the question less those with a yes.
    """
    tables: list[Table] = [positive[0][:, None].astype(dtype)]
    for with_all, shorter in zip(positive[1:], parents[1:], strict=True):
        table = np.empty((len(with_all), 2 ** len(shorter), with_all.shape[1]), dtype=dtype)
        table[:, -1] = with_all
        for position, parent in enumerate(shorter):
            yes, no = slice(-(1 << position), None), slice(-(2 << position), -(1 << position))
            table[:, no] = tables[-1][:, yes][parent] - table[:, yes]
        tables.append(table)
    return tables
