"""The class of trees, and costs of their errors."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import IntArray
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer._utils.memory_limits import memory_limits
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.exceptions import DataError

DEFAULT_MEMORY = 4 * 2**30
"""Bytes that counting may take."""

USUAL_MEMORY = 2**30
"""Bytes that counting may take if the number of leaves is chosen for it."""

_WORK = 5 * 2**17  # bytes of what every class takes
LITTLE_WORK = 2**24  # of temporaries of counts within ψ
HISTOGRAM = 240  # bytes, and up to eight for each number of errors
AT_ONCE = 2**14  # numbers of temporaries
WORDS_AT_ONCE = 2**20
NARROW = 2**28  # rows, or errors, from which on sums are of eight bytes
_LARGEST = 1e300  # counts are stored in doubles
EXACT = 2.0**53  # doubles represent all integers up to here


def number_type(largest: int) -> np.dtype[Any]:
    """Type of the fewest bytes for counts up to a number; doubles from 2³² on."""
    return np.min_scalar_type(largest) if largest < 2**32 else np.dtype(float)


@dataclass(frozen=True, repr=False)
class TreeClass(ReprMixin):
    """Trees on yes-or-no features with few leaves.  Public: it does not depend on the rows.

    No feature occurs twice on a path, and the two leaves of one split have different labels.
    Every leaf may have every label, and a leaf may have no rows. A class without empty leaves, or
    with the majority label in each leaf, would depend on the rows: the trees in it would reveal
    information about rows, and draws from it would not be private (docs/trees.md).

    Parameters
    ----------
    n_features : int
        Number of yes-or-no features.
    max_leaves : int
        Largest number of leaves of a tree.
    max_depth : int, optional
        Largest number of questions on a path; None for as many as the leaves allow.
    n_labels : int, default=2

    Raises
    ------
    DataError
        If no tree has so many labels, or counts would exceed the largest double.

    Examples
    --------
    >>> trees = TreeClass(n_features=12, max_leaves=5)
    >>> trees.sizes
    (2, 24, 1056, 48048, 2196480)
    """

    n_features: int
    max_leaves: int
    max_depth: int | None = None
    n_labels: int = 2

    def __post_init__(self) -> None:
        """Raise if the parameters define no class of trees."""
        check_count(n_features=self.n_features, max_leaves=self.max_leaves)
        if self.max_depth is not None:
            check_count(max_depth=self.max_depth)
        check_count(n_labels=self.n_labels)
        if self.n_labels < 2:
            raise DataError("n_labels must be at least 2: with one label there is one tree")
        if self.size > _LARGEST:
            raise DataError(
                f"there are 10^{len(str(self.size)) - 1} trees of at most {self.max_leaves} leaves "
                f"on {self.n_features} features, more than can be counted: allow fewer leaves"
            )

    @cached_property
    def depth(self) -> int:
        """Largest number of questions on a path."""
        depth = self.max_leaves - 1 if self.max_depth is None else self.max_depth
        return min(depth, self.max_leaves - 1, self.n_features)

    @cached_property
    def table(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of subtrees below a path of 0, 1, …, ``depth`` questions, by leaves 1, 2, ….

        With r features left, T(1) = C labels, T(2) = r·C(C − 1), and
        T(l) = r·Σ T'(a)·T'(l − a) for T' one question deeper.
        """
        labels = self.n_labels
        below: tuple[int, ...] = (labels,)
        rows = [below]
        for depth in range(self.depth - 1, -1, -1):
            left = self.n_features - depth
            counts = [labels, left * labels * (labels - 1)]
            for leaves in range(3, self.max_leaves - depth + 1):
                pairs = range(max(1, leaves - len(below)), min(len(below), leaves - 1) + 1)
                counts.append(left * sum(below[a - 1] * below[leaves - a - 1] for a in pairs))
            while counts[-1] == 0:
                counts.pop()
            below = tuple(counts)
            rows.append(below)
        return tuple(reversed(rows))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of trees of 1, 2, … leaves."""
        return self.table[0]

    @property
    def most_leaves(self) -> int:
        """Largest number of leaves of a tree of the class."""
        return len(self.sizes)

    @property
    def size(self) -> int:
        """Number of trees."""
        return sum(self.sizes)

    @property
    def log_size(self) -> float:
        """Natural logarithm of the number of trees."""
        return math.log(self.size)

    def rounding(self, n: int) -> float:
        """Bound on the relative error of a tree's probability from rounded counts.

        A tree consists of at most Λ − 1 nested choices, each between four sums of at most K
        products. Each sum is exact up to a factor 1 ± K·2⁻⁵³, with K·2⁻⁵³ small. Below 2⁵³ trees
        all sums are integers, and nothing is rounded.
        """
        if self.size <= EXACT:  # doubles represent all counts
            return 0.0
        terms = (self.n_features + 1) * self.max_leaves * (n + 2) * self.n_labels
        error = terms * 2.0**-52  # of one choice
        if error > 0.01:
            raise DataError("too many rows and features for certified counts: use fewer")
        return 4.1 * (self.max_leaves - 1) * error

    def memory(
        self, n: int, dearest: int = 1, *, spread: int | None = None, n_draws: int = 1
    ) -> int:
        """Upper bound on the bytes for counting n rows and drawing, for any rows.

        At depth d, sets of rows are conjunctions of d answers: at most 2^d for each of C(m, d)
        subsets of features, which are disjoint. The errors of trees below a set differ by at most
        those on its rows; in trees whose errors exceed the least by at most ``spread``, by that.
        """
        m, labels, errors = self.n_features, self.n_labels, n * dearest
        spread = errors if spread is None else min(spread, errors)
        patterns, wide = min(n, 2**m), 4 if n < 2**24 else 8
        pairs = m * labels * (labels - 1)  # of a question and labels
        patterns_size = patterns * (m + 2 * wide * (m + labels * (m + 1)))
        total = _WORK + 16 * n + max((3 * m + 48) * n, patterns_size)
        total += n_draws * (200 * pairs + 1000 * self.max_leaves)
        temporaries, most_at_once = 0, 0
        for depth in range(max(1, self.depth)):
            subsets, answers = math.comb(m, depth), min(2**depth, patterns)
            sets, counted = subsets * answers, len(self.table[depth]) - 1
            numbers = subsets * min(errors + answers, answers * (spread + 1))
            total += sets * (self.set_memory(depth, patterns) + 24 * counted)
            total += numbers * int(self.number_bytes(depth).sum())
            shared = 0 if depth >= self.depth - 1 else 48 * m
            at_once = max(self.building_memory(n), HISTOGRAM * counted + shared)
            temporaries = max(temporaries, sets * at_once)
            most_at_once = max(most_at_once, sets * pairs, numbers)
        return total + temporaries + 40 * (min(AT_ONCE, most_at_once) + spread)

    def number_bytes(self, depth: int) -> IntArray:
        """Bytes of a number of subtrees after so many questions, of 2, 3, … leaves."""
        return np.array([number_type(n).itemsize for n in self.table[depth][1:]], dtype=np.int64)

    def set_memory(self, depth: int, n_patterns: int) -> int:
        """Bytes of a set of rows of a level, among so many combinations of features."""
        m, leaves = self.n_features, len(self.table[min(depth, self.depth)])
        leads = 0 if depth >= self.depth - 1 else 16 * m
        counts = self.n_labels * (4 * m + 8) + m + leads
        return 2 * n_patterns // 15 + 80 + counts + 32 * leaves

    def building_memory(self, n: int) -> int:
        """Bytes of a set of rows, besides, while its level is built."""
        m, wide = self.n_features, 4 if n < 2**24 else 8
        return 150 + wide * self.n_labels * (m + 1) + 6 * m

    def least_memory(self, n: int) -> int:
        """Bytes for the least errors below all conjunctions of answers, whatever the rows.

        The curator's counts need these, and memory for the sets that their trees lead to.
        """
        m, width = self.n_features, 4 if n < NARROW else 8
        sizes = [(math.comb(m, d), 2**d) for d in range(self.depth + 1)]
        tables = [width * self.n_labels * subsets * answers for subsets, answers in sizes]
        least = sum(
            t * len(row) // self.n_labels for t, row in zip(tables[:-1], self.table, strict=False)
        )
        indices = sum(16 * d * subsets for d, (subsets, _) in enumerate(sizes))
        bits = 20 * min(WORDS_AT_ONCE, sizes[-1][0] * (n // 64 + 1))
        return max(bits, sum(tables) + 3 * tables[-1] // 2 + least + indices) + LITTLE_WORK

    def seconds(self, n: int) -> float:
        """CPU seconds that counting takes on an ordinary processor, roughly; for any rows.

        A level counts the rows of each label with each feature in at most Σ C(m, d)·2^d sets.
        """
        m = self.n_features
        deepest = max(1, self.depth)
        sets = sum((deepest - cut) * math.comb(m, cut) * 2**cut for cut in range(deepest))
        return m * (8e-8 * self.n_labels * sets + 1e-7 * n)

    def check_memory(
        self,
        n: int,
        most: int | None = None,
        dearest: int = 1,
        *,
        whole: bool = True,
        spread: int | None = None,
        n_draws: int = 1,
    ) -> None:
        """Raise, from public numbers only, if counting n rows might take more than ``most`` bytes.

        By default 4 GiB, or what a limit of this process leaves, if less. Errors that cost up to
        ``dearest`` take the memory of so many times the rows. With ``whole=False`` only for what
        the curator's counts need at any ψ.

        Raises
        ------
        DataError
            If memory may not suffice; the message states the need and a size that fits.
        """

        def needs(trees: TreeClass) -> int:
            if whole:
                return trees.memory(n, dearest, spread=spread, n_draws=n_draws)
            return trees.least_memory(n * dearest)

        needed = needs(self)
        room, source = allowed_memory(most)
        if needed <= room:
            return
        smaller = self._within(room, needs)
        questions = bisect_right(
            range(1, self.n_features + 1), room, key=lambda m: needs(replace(self, n_features=m))
        )
        leaves = [f"{smaller.max_leaves} leaves"] if smaller else []
        fits = [*leaves, *([f"{questions} features"] if questions else [])]
        fits += ["smaller costs"] if dearest > 1 else []
        fits = fits or ["no class"]
        hint = "" if whole else "; or allow CountedTrees more memory (most_memory=, bytes)"
        raise DataError(
            f"counting trees of at most {self.max_leaves} leaves on {self.n_features} features and "
            f"{n:,} rows may take {_gib(needed)}, and {_gib(room)} are {source}: "
            f"{' or '.join(fits)} would fit{hint}"
        )

    def largest(self, n: int, most: int = USUAL_MEMORY) -> TreeClass:
        """Return the class with as many leaves, up to its own, as can be counted on n rows.

        Depends only on public numbers; ``most`` is the limit in bytes. One leaf remains if not
        even two fit.
        """
        if self.memory(n) <= most:
            return self
        return self._within(most, lambda trees: trees.memory(n)) or replace(self, max_leaves=1)

    def _within(self, most: int, needs: Callable[[TreeClass], int]) -> TreeClass | None:
        smaller = (replace(self, max_leaves=few) for few in range(self.max_leaves - 1, 0, -1))
        return next((trees for trees in smaller if needs(trees) <= most), None)

    def _title(self) -> str:
        return f"TreeClass: {self.size:,} trees"

    def _facts(self) -> list[Fact]:
        return [
            ("leaves", f"at most {self.most_leaves}"),
            ("depth", f"at most {self.depth}"),
            ("features", str(self.n_features)),
            ("labels", str(self.n_labels)),
        ]


def allowed_memory(most: int | None) -> tuple[int, str]:
    """Limit in bytes for counting, and its source as text."""
    if most is not None:
        return most, "allowed"
    tightest = min(memory_limits(), key=lambda limit: limit.left, default=None)
    if tightest is not None and tightest.left < DEFAULT_MEMORY:
        return tightest.left, f"left under {tightest.name}"
    return DEFAULT_MEMORY, "allowed"


def check_room(needed: int, room: float) -> None:
    """Raise if sets of rows and counts would take more than the memory that is left for them."""
    if needed > room:
        raise DataError(
            "counting these trees takes more than the memory allowed: a smaller psi, fewer leaves, "
            "questions on a path or features take less; or allow CountedTrees more memory "
            "(most_memory=, bytes)"
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:,.3g} GiB"


MAX_COST = 1000

Costs = Mapping[Any, int] | ArrayLike
"""Costs by the row's label, or a matrix of the row's label (rows) by the predicted one."""


def cost_matrix(costs: Costs | None, classes: Sequence[Any]) -> IntArray | None:
    """Cost (C, C) of each predicted label (columns) for a row of each label (rows), or None."""
    if costs is None:
        return None
    if isinstance(costs, Mapping):
        strange = [label for label in costs if label not in classes]
        if strange:
            raise DataError(f"costs name the label {strange[0]!r}, which is not in {[*classes]}")
        for label, cost in costs.items():
            _check_cost(cost, least=1, of=f" for {label!r}")
        by_row = np.array([int(costs.get(label, 1)) for label in classes], dtype=np.int64)
        return np.asarray(by_row[:, None] * (1 - np.eye(len(classes), dtype=np.int64)))
    table = np.asarray(costs, dtype=object)
    many = len(classes)
    if table.shape != (many, many):
        raise DataError(
            f"costs must be {many} rows of {many} numbers, the row's label by the predicted one, "
            f"in the order {[*classes]}, or a mapping from labels; got shape {table.shape}"
        )
    for cost in table.ravel().tolist():
        _check_cost(cost, least=0)
    matrix = table.astype(np.int64)
    if np.diag(matrix).any():
        raise DataError("costs must be 0 on the diagonal: a correct prediction costs nothing")
    if not matrix.any():
        raise DataError("costs are 0 everywhere: then all trees are equally good")
    return np.asarray(matrix)


def largest_cost(costs: Costs | None) -> int:
    """Largest cost of an error."""
    if costs is None:
        return 1
    table = np.asarray([1, *costs.values()] if isinstance(costs, Mapping) else costs, dtype=object)
    for cost in (source := table.ravel().tolist()):
        _check_cost(cost, least=0)
    return max(1, *map(int, source))


def _check_cost(cost: Any, *, least: int, of: str = "") -> None:
    integral = isinstance(cost, Integral) and not isinstance(cost, bool)
    if not integral or not least <= int(cost) <= MAX_COST:
        raise DataError(
            f"costs must be whole numbers from {least} to {MAX_COST:,}, got {cost!r}{of}"
        )
