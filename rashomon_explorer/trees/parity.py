"""Trees with equal rates between groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_count, check_nonnegative
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node
from rashomon_explorer.trees.answers import check_all_labels
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.fronts import Fronts, TooManyError
from rashomon_explorer.trees.law import tree_losses

_FIRST = 0.0025  # first ψ of the search, doubled in each step
_ROUNDING = 1e-12
_AT_ONCE = 100  # trees per batch of labels
DRAWS = 2000
"""Number of uniform draws if the exact computation is too large."""


@dataclass(frozen=True)
class ParityAnswer:
    """A tree that meets a bound on the gap between groups.

    Parameters
    ----------
    tree : Split or Leaf
    loss, gap : float
        Loss of the tree, and the largest minus the least rate of the label over groups.
    exact : bool
        Whether no tree of the class that meets the bound has a smaller loss.
    at_least : float
        Lower bound on the loss of every tree that meets the bound.
    """

    tree: Node
    loss: float
    gap: float
    exact: bool
    at_least: float


def best_with_parity(
    counted: CountedTrees,
    groups: ArrayLike,
    bound: float,
    *,
    label: int = 1,
    most: int = 3_000_000,
    random_state: int | None = None,
) -> ParityAnswer:
    """Find the best tree whose rates of a label differ by at most ``bound`` between groups.

    The result is exact if the work fits. For every set of rows, it uses all counts of the label
    by group of its subtrees, with the least errors, within a ψ that grows until a tree is found.
    For more than ``most`` counts, it is the best of the constants and of 2,000 uniform draws,
    marked as not exact, with a lower bound on the loss of trees that meet the bound.

    Parameters
    ----------
    counted : CountedTrees
    groups : array-like of shape (n,)
        Group of each row, such as a sensitive column.
    bound : float
        Largest gap allowed, at least 0; every tree meets the bound 1.
    label : int, default=1
        Index of the class whose rates are compared.
    most : int, default=3,000,000
        Largest number of stored counts for an exact result.
    random_state : int, optional
        Seed of the draws.

    Returns
    -------
    ParityAnswer
        ``exact`` states whether the tree is the best of all.

    Raises
    ------
    DataError
        If there is no such class, groups are not one per row, or there is only one group.

    Examples
    --------
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0]
    >>> counted = CountedTrees(X, y, max_leaves=2)
    >>> found = best_with_parity(counted, groups=[0, 0, 1, 1], bound=0.0)
    >>> found.loss, found.gap, found.exact
    (0.5, 0.0, True)
    """
    check_nonnegative(bound=bound)
    rates = group_rates(counted, groups, label, most)
    psi, lower_bound = 0.0, counted.least
    while True:
        try:
            front = _exact(counted, rates, label, psi, most)
        except TooManyError:
            measured = _measured(counted, rates, label, psi, random_state)
            meet = [candidate for candidate in measured if candidate[2] <= bound + _ROUNDING]
            return ParityAnswer(
                *min(meet, key=lambda candidate: candidate[1]), exact=False, at_least=lower_bound
            )
        meets = np.flatnonzero(front.gaps <= bound + _ROUNDING)
        if len(meets):
            loss, gap = float(front.losses[meets[0]]), float(front.gaps[meets[0]])
            return ParityAnswer(front.tree(int(meets[0])), loss, gap, exact=True, at_least=loss)
        lower_bound = counted.least + psi
        psi = max(_FIRST, 2 * psi)


def group_rates(counted: CountedTrees, groups: ArrayLike, label: int, most: int) -> Rates:
    """Check the arguments of a query over all trees, and count rows by group."""
    check_all_labels(counted)
    check_count(most=most)
    if not 0 <= label < len(counted.classes):
        raise DataError(f"label must be below {len(counted.classes)}, got {label!r}")
    return Rates.from_groups(counted, groups)


@dataclass(frozen=True, eq=False)
class Rates:
    """Rows of each group, and their counts by group encoded as one integer per combination."""

    counts: IntArray  # (U, G): rows of each combination and group

    @classmethod
    def from_groups(cls, counted: CountedTrees, groups: ArrayLike) -> Rates:
        """Count the rows of each combination of answers by group."""
        by_row = np.asarray(groups)
        if by_row.shape != (counted.n,):
            raise DataError(f"groups must hold one per row, {counted.n} in all: {by_row.shape}")
        names, codes = np.unique(by_row, return_inverse=True)
        if len(names) < 2:
            raise DataError(f"all rows are of the group {names[0]!r}: there is nothing to compare")
        size = len(counted.rows.patterns)
        flat = np.bincount(
            counted.rows.pattern_index * len(names) + codes, minlength=size * len(names)
        )
        counts = flat.reshape(size, len(names))
        rates = cls(counts)
        if rates.units[-1] * (int(counts.sum(axis=0)[-1]) + 1) >= 2**62:
            raise DataError(f"{len(names)} groups are too many for one comparison: use fewer")
        return rates

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each group."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Encoded count of each combination: its contribution if it has the label."""
        return self.counts @ np.array(self.units, dtype=np.int64)

    @cached_property
    def units(self) -> list[int]:
        """Contribution of one row of each group to the encoded count."""
        units = [1]
        for size in self.sizes.tolist()[:-1]:
            units.append(units[-1] * (size + 1))
        return units

    def gaps(self, keys: NDArray[np.int64]) -> FloatArray:
        """Largest minus least rate, from encoded counts."""
        rates = [
            keys // unit % (size + 1) / size
            for unit, size in zip(self.units, self.sizes.tolist(), strict=True)
        ]
        return np.asarray(np.max(rates, axis=0) - np.min(rates, axis=0))


def _measured(
    counted: CountedTrees, rates: Rates, label: int, psi: float, random_state: int | None
) -> list[tuple[Node, float, float]]:
    """List the best tree, the constants and uniform draws within ψ with their losses and gaps."""
    drawn, _ = counted.uniform_trees(DRAWS, psi, random_state)
    constants = (Leaf(k) for k in range(len(counted.classes)))
    trees = list(dict.fromkeys([counted.best(), *constants, *drawn]))
    return list(measured_gaps(counted, rates, label, trees))


def measured_gaps(
    counted: CountedTrees, rates: Rates, label: int, trees: list[Node]
) -> Iterator[tuple[Node, float, float]]:
    """Yield each tree with its loss and its gap."""
    for start in range(0, len(trees), _AT_ONCE):
        some = tuple(trees[start : start + _AT_ONCE])
        several = DecisionTrees(some, len(counted.classes))
        predicted = several.labels(counted.rows.patterns)
        rows, sizes = np.arange(predicted.shape[1]), several.complexity(0.0).tolist()
        for tree, labels, leaves in zip(some, predicted, sizes, strict=True):
            errors = int(counted.rows.wrong[rows, labels].sum())
            shares = rates.counts[labels == label].sum(axis=0) / rates.sizes
            loss = counted.loss(leaves, errors)
            yield tree, loss, float(shares.max() - shares.min())


@dataclass(frozen=True, eq=False)
class ParityFront:
    """Pareto-optimal trees by loss and gap, the best loss first.

    Parameters
    ----------
    losses, gaps : ndarray of shape (k,)
        Losses rise and gaps fall: the largest minus the least rate of the label over the groups.
    exact : bool
        Whether no tree of the class within ψ has a smaller gap at its loss. Otherwise these are
        the best of uniform draws, and the true front is nowhere above.
    tree : callable
        Returns the tree at an index.
    """

    losses: FloatArray
    gaps: FloatArray
    exact: bool
    tree: Callable[[int], Node]


def parity_front(
    counted: CountedTrees,
    groups: ArrayLike,
    psi: float,
    *,
    label: int = 1,
    most: int = 3_000_000,
    random_state: int | None = None,
) -> ParityFront:
    """Pareto front of loss and difference in rates of a label, over trees within ψ.

    The result is exact if the work fits: for every set of rows, it uses all counts of the label
    by group of its subtrees, with the least errors. For more than ``most`` counts, it is the front
    of the constants and of 2,000 uniform draws within ψ, marked as not exact.

    Parameters
    ----------
    counted : CountedTrees
    groups, label, most, random_state
        As for :func:`best_with_parity`.
    psi : float
        Largest excess loss of the trees, at least 0.

    Returns
    -------
    ParityFront
        For the curator: losses and gaps are computed from private rows.

    Raises
    ------
    DataError
        As :func:`best_with_parity`.

    Examples
    --------
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0]
    >>> front = parity_front(CountedTrees(X, y, max_leaves=2), [0, 0, 1, 1], psi=0.5)
    >>> front.losses.tolist(), front.gaps.tolist(), front.exact
    ([0.0, 0.5], [1.0, 0.0], True)
    """
    check_nonnegative(psi=psi)
    rates = group_rates(counted, groups, label, most)
    try:
        return _exact(counted, rates, label, psi, most)
    except TooManyError:
        measured = _measured(counted, rates, label, psi, random_state)
        losses, gaps = (np.array([candidate[k] for candidate in measured]) for k in (1, 2))
        within = np.flatnonzero(losses <= counted.least + psi)
        best = within[_unbeaten(losses[within], gaps[within])]
        return ParityFront(losses[best], gaps[best], False, lambda k: measured[best[k]][0])


def _exact(counted: CountedTrees, rates: Rates, label: int, psi: float, most: int) -> ParityFront:
    fronts = Fronts(counted, rates.weights, label, psi, most)
    by_leaves: list[tuple[FloatArray, FloatArray, NDArray[np.int64]]] = []
    for leaves in progress(range(1, counted.trees.most_leaves + 1), "leaves"):
        keys, errors = fronts.front(leaves)
        losses = tree_losses(counted.unit, counted.leaf_penalty, leaves, errors)
        gaps = rates.gaps(keys) if len(keys) else np.empty(0)
        of = np.column_stack([np.full(len(keys), leaves), keys, errors])
        best = _unbeaten(losses, gaps)
        by_leaves.append((losses[best], gaps[best], of[best]))
    losses, gaps, of = (np.concatenate(parts) for parts in zip(*by_leaves, strict=True))
    best = _unbeaten(losses, gaps)
    of = of[best]

    def tree(index: int) -> Node:
        leaves, key, errors = of[index].tolist()
        return fronts.tree(0, 0, leaves, (key, errors))

    return ParityFront(losses[best], gaps[best], True, tree)


def _unbeaten(losses: FloatArray, gaps: FloatArray) -> NDArray[np.intp]:
    """Return the indices of Pareto-optimal entries, by loss; the first of equal ones."""
    order = np.lexsort((gaps, losses))
    least_gap = np.minimum.accumulate(np.concatenate([[np.inf], gaps[order]]))[:-1]
    return np.asarray(order[gaps[order] < least_gap - _ROUNDING])
