"""What equal rates cost: least losses of trees against the gap between groups.  Curator."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.progress import progress
from rashomon_explorer.rashomon_set.models.trees import Leaf, Node
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.fronts import Fronts, TooManyError
from rashomon_explorer.trees.law import losses_of
from rashomon_explorer.trees.parity import DRAWS, Rates, asked_rates, measured_gaps
from rashomon_explorer.validation import check_nonnegative


@dataclass(frozen=True, eq=False)
class ParityFront:
    """Trees that no other beats at both loss and gap, the best one first.

    Parameters
    ----------
    losses, gaps : ndarray of shape (k,)
        Losses rise and gaps fall: the largest less the least rate of the label over the groups.
    exact : bool
        Whether no tree of the class within ψ has a smaller gap at its loss; otherwise these are
        the best of uniform draws, and the true front lies nowhere above.
    tree : callable
        Gives the tree of a place.
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
    """Find every trade between loss and equal rates of a label that trees within ψ offer.

    Exact where the work fits: for every set of rows, all counts of the label by group that some
    subtree has, with its least errors. Where these are more than ``most``, the front of the
    constants and of 2,000 uniform draws within ψ, marked as not exact.

    Parameters
    ----------
    counted : CountedTrees
    groups : array-like of shape (n,)
        Group of each row, such as a sensitive column.
    psi : float
        Loss beyond the best tree up to which trees count, at least 0.
    label : int, default=1
        Place of the class whose rates are compared.
    most : int, default=3,000,000
        Numbers to be kept at once before exactness is given up.
    random_state : int, optional
        Seed of the draws.

    Returns
    -------
    ParityFront
        Of curators: losses and gaps are those of private rows.

    Raises
    ------
    DataError
        If there is no such class, groups are not one a row, or there is one group only.

    Examples
    --------
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0]
    >>> front = parity_front(CountedTrees(X, y, max_leaves=2), [0, 0, 1, 1], psi=0.5)
    >>> front.losses.tolist(), front.gaps.tolist(), front.exact
    ([0.0, 0.5], [1.0, 0.0], True)
    """
    check_nonnegative(psi=psi)
    rates = asked_rates(counted, groups, label, most)
    try:
        return _exact(counted, rates, label, psi, most)
    except TooManyError:
        return _among_draws(counted, rates, label, psi, random_state)


def _exact(counted: CountedTrees, rates: Rates, label: int, psi: float, most: int) -> ParityFront:
    fronts = Fronts(counted, rates.weights, label, psi, most)
    found: list[tuple[FloatArray, FloatArray, NDArray[np.int64]]] = []
    for leaves in progress(range(1, counted.trees.most_leaves + 1), "leaves"):
        keys, errors = fronts.whole(leaves)
        losses = losses_of(counted.unit, counted.leaf_penalty, leaves, errors)
        gaps = rates.gaps(keys) if len(keys) else np.empty(0)
        of = np.column_stack([np.full(len(keys), leaves), keys, errors])
        kept = _unbeaten(losses, gaps)
        found.append((losses[kept], gaps[kept], of[kept]))
    losses, gaps, of = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kept = _unbeaten(losses, gaps)
    of = of[kept]

    def tree(place: int) -> Node:
        leaves, key, errors = of[place].tolist()
        return fronts.tree(leaves, key, errors)

    return ParityFront(losses[kept], gaps[kept], True, tree)


def _among_draws(
    counted: CountedTrees, rates: Rates, label: int, psi: float, random_state: int | None
) -> ParityFront:
    drawn, _ = counted.uniform_trees(DRAWS, psi, random_state)
    constants = (Leaf(k) for k in range(len(counted.classes)))
    trees = list(dict.fromkeys([counted.best(), *constants, *drawn]))
    seen = list(measured_gaps(counted, rates, label, trees))
    losses, gaps = (np.array([one[k] for one in seen]) for k in (1, 2))
    within = np.flatnonzero(losses <= counted.least + psi)
    kept = within[_unbeaten(losses[within], gaps[within])]
    return ParityFront(losses[kept], gaps[kept], False, lambda place: seen[kept[place]][0])


def _unbeaten(losses: FloatArray, gaps: FloatArray) -> NDArray[np.intp]:
    """Places of those that no other beats at both, by loss; of equal ones the first.

    >>> _unbeaten(np.array([0.1, 0.2, 0.2, 0.3]), np.array([0.5, 0.4, 0.3, 0.3])).tolist()
    [0, 2]
    """
    order = np.lexsort((gaps, losses))
    least = np.minimum.accumulate(np.concatenate([[np.inf], gaps[order]]))[:-1]
    return np.asarray(order[gaps[order] < least - 1e-12])
