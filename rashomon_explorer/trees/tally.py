"""How many sparse trees are how good.  Curator: computed from private rows."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray, IntArray
from rashomon_explorer.cores import one_blas_thread
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.rashomon_set.models.trees import Node
from rashomon_explorer.trees.best import best_tree
from rashomon_explorer.trees.counting import Counts, Histogram, count
from rashomon_explorer.trees.lattice import Level, lattice
from rashomon_explorer.trees.law import limits, losses_of
from rashomon_explorer.trees.least import Least, least_errors
from rashomon_explorer.trees.reached import Reached
from rashomon_explorer.trees.rows import MergedRows
from rashomon_explorer.trees.tree_class import TreeClass
from rashomon_explorer.validation import check_nonnegative


class Tally:
    """Numbers of trees by leaves and errors, and the best of them; counted when first asked for.

    Parameters
    ----------
    rows : MergedRows
    trees : TreeClass
    leaf_penalty : float, default=0.0
        Loss of a leaf.
    by_majority : bool, default=False
        Whether a leaf has rows, and the label of most of them.

    Examples
    --------
    >>> rows = MergedRows.of([[1, 0], [1, 1], [0, 1]], [1, 0, 0], n_labels=2)
    >>> tally = Tally(rows, TreeClass(2, 2))
    >>> tally.least, tally.size(psi=0.5)
    (0.0, 3)
    """

    def __init__(
        self,
        rows: MergedRows,
        trees: TreeClass,
        leaf_penalty: float = 0.0,
        *,
        by_majority: bool = False,
    ) -> None:
        self.rows = rows
        self.trees = trees
        matrix = rows.costs
        # What all errors together may cost.
        self.unit = rows.n * (1 if matrix is None else int(matrix.max()))
        self.leaf_penalty = leaf_penalty
        self._by_majority = by_majority
        self._counted: Counts | None = None
        self._within = -1.0
        self._labelled: tuple[float, FloatArray] = (-1.0, np.empty((0, 0)))

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.rows.n

    @cached_property
    def levels(self) -> list[Level]:
        """Sets of rows that paths lead to."""
        with one_blas_thread():
            return lattice(self.rows, self.trees, by_majority=self._by_majority)

    @cached_property
    def least_errors(self) -> Least:
        """Least errors below each of them."""
        return least_errors(self.levels, self.trees)

    @cached_property
    def least(self) -> float:
        """Loss of the best tree."""
        return float(self.least_by_leaves.min())

    @property
    def least_by_leaves(self) -> FloatArray:
        """Least loss of a tree of 1, 2, … leaves."""
        whole = self.least_errors.whole
        leaves = np.arange(1, len(whole) + 1)
        each = [
            losses_of(self.unit, self.leaf_penalty, int(k), whole[k - 1 : k])[0] for k in leaves
        ]
        return np.array(each)

    def limits(self, psi: float) -> IntArray:
        """Most errors of a tree of 1, 2, … leaves within ψ; −1 where none is."""
        check_nonnegative(psi=psi)
        return limits(self.unit, self.leaf_penalty, self.trees.most_leaves, self.least + psi)

    def counts(self, psi: float) -> Counts:
        """Count all trees within ψ, for every set of rows; the largest ψ so far is kept."""
        limit = self.limits(psi)
        if self._counted is None or psi > self._within:
            self._counted = self.counted_within(limit)
            self._within = psi
        return self._counted

    def counted_within(self, limit: IntArray) -> Counts:
        """Count the trees with at most so many errors, by leaves."""
        with one_blas_thread():
            return count(self.levels, self.trees, self.least_errors, limit)

    def histogram(self, psi: float) -> list[Histogram | None]:
        """For 1, 2, … leaves: least errors, and how many trees within ψ have so many and more."""
        limit = self.limits(psi).tolist()
        return [
            None if found is None else (found[0], found[1][: max(0, most - found[0] + 1)])
            for found, most in zip(self.counts(psi).by_leaves(), limit, strict=True)
        ]

    def sizes(self, psi: float) -> tuple[int, ...]:
        """Count the trees within ψ of the best, by leaves 1, 2, …."""
        found = self.histogram(psi)
        return tuple(0 if one is None else sum(map(int, one[1].tolist())) for one in found)

    def size(self, psi: float) -> int:
        """Count the trees within ψ of the best.

        Exact for a class of at most 2⁵³ trees, otherwise right to a relative 10⁻⁸.
        """
        return sum(self.sizes(psi))

    def curve(self, psis: ArrayLike) -> NDArray[Any]:
        """Count the trees within every ψ, shape (K, leaves), at once.

        Parameters
        ----------
        psis : array-like of shape (K,)

        Examples
        --------
        >>> from rashomon_explorer.trees import CountedTrees
        >>> trees = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
        >>> trees.curve([0.0, 0.5]).tolist()
        [[0, 1], [1, 2]]
        """
        values = np.asarray(psis, dtype=float)
        self.counts(float(values.max(initial=0.0)))
        return np.array([self.sizes(float(psi)) for psi in values], dtype=object)

    def labelled(self, psi: float) -> FloatArray:
        """Count the trees within ψ that give each combination each label, (U, C); the last is kept.

        Each combination's add up to :meth:`size`.
        """
        if self._labelled[0] != psi:
            limit = self.limits(psi)
            self._labelled = psi, Reached(self.counts(psi), self.rows).labels(limit)
        return self._labelled[1]

    def best(self) -> Node:
        """Return a tree of least loss; of several one with the fewest leaves."""
        leaves = 1 + int(np.argmin(self.least_by_leaves))
        return best_tree(self.levels, self.trees, self.least_errors, leaves)

    def errors(self, tree: Node) -> int:
        """Count the rows that a tree labels wrongly, each as often as it costs."""
        says = DecisionTrees((tree,), self.trees.n_labels).labels(self.rows.patterns)[0]
        return int(self.rows.wrong[np.arange(len(says)), says].sum())

    def loss(self, leaves: int, errors: int) -> float:
        """Loss of a tree by its leaves and errors."""
        return float(losses_of(self.unit, self.leaf_penalty, leaves, np.array([errors]))[0])
