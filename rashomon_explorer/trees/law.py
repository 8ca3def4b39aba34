"""Gibbs distribution over counted trees."""

import bisect
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.randomness import IntegerLaw, uniform_below
from rashomon_explorer.mechanisms.sparse_trees import energy_cap
from rashomon_explorer.sets.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.counting import Histogram
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
    errors = np.arange(n + 1)
    largest = [
        np.searchsorted(tree_losses(n, leaf_penalty, leaves, errors), most, side="right") - 1
        for leaves in range(1, most_leaves + 1)
    ]
    return np.array(largest, dtype=np.int64)


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
    histograms: list[Histogram | None], trees: TreeClass, energy: CappedEnergy, least: float
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


def uniform(histograms: list[Histogram | None]) -> CellLaw:
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
