"""The lazy Metropolis walk on the cells of a cube, and the steps after which it has mixed."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rashomon_explorer.array_types import FloatArray, IntArray
from rashomon_explorer.cores import pause
from rashomon_explorer.validation import check_count, check_nonnegative, check_positive


@dataclass(frozen=True)
class Mixing:
    """Constants of Lemma 6.1 of Bassily, Smith and Thakurta (2014), corrected, on a cube.

    For F = exp(−f) on a cube of edge τ in R^p, f convex and η-Lipschitz, a walk on cells of edge
    γ ≤ ξ/(2η√p), followed by a uniform point of its cell, has a law with |log ratio| ≤ ξ to the
    density ∝ F: ξ/2 for the walk and ξ/2 for the cells. Where f is known only up to an error of
    at most ζ, a *fixed function of the cell*, the bound is ξ + 2ζ (Lemma B.10 of Lowy and Liu).

    Parameters
    ----------
    lipschitz : float
        η > 0, in the Euclidean norm.
    edge : float
        τ > 0.
    p : int
    accuracy : float
        ξ > 0.
    error : float, default=0.0
        ζ ≥ 0.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Three corrections of what is printed: γ divides τ; the least stationary probability has the
    cube's diagonal τ√p in it, not τ; and Lemma 6.2 (Theorem 1 of Morris and Peres 2005) bounds
    |ratio − 1|, so that it is asked for 1 − e^{−ξ/2}.

    Examples
    --------
    >>> mixing = Mixing(lipschitz=1.0, edge=2.0, p=1, accuracy=0.5)
    >>> mixing.cells_per_edge, mixing.steps
    (8, 37739)
    """

    lipschitz: float
    edge: float
    p: int
    accuracy: float
    error: float = 0.0

    def __post_init__(self) -> None:
        """Refuse numbers that bound nothing."""
        check_positive(lipschitz=self.lipschitz, edge=self.edge, accuracy=self.accuracy)
        check_count(p=self.p)
        check_nonnegative(error=self.error)

    @property
    def distance(self) -> float:
        """Bound ξ + 2ζ of |log ratio| of the output's law and the density ∝ F."""
        return self.accuracy + 2 * self.error

    @property
    def cells_per_edge(self) -> int:
        """τ/γ, the least whole number with γ ≤ ξ/(2η√p)."""
        return math.ceil(2 * self.lipschitz * math.sqrt(self.p) * self.edge / self.accuracy)

    @property
    def conductance(self) -> float:
        """Lower bound γ/(4pτ)·e^{−ξ/2}, and e^{−6ζ} of it under errors (their Lemma B.9).

        With γ = ξ/(2η√p) it is the printed ξ/(8ητp^{3/2}e^{ξ/2}) of Applegate and Kannan (1991).
        """
        return math.exp(-self.accuracy / 2 - 6 * self.error) / (4 * self.p * self.cells_per_edge)

    @property
    def log_least_probability(self) -> float:
        """Lower bound −ητ√p − 2ζ − p·log(τ/γ) of log min π."""
        diagonal = self.lipschitz * self.edge * math.sqrt(self.p)
        return -diagonal - 2 * self.error - self.p * math.log(self.cells_per_edge)

    @property
    def steps(self) -> int:
        """Steps 1 + (4/φ²) log(1/(ε₀ min π)) with ε₀ = 1 − e^{−ξ/2}, from any cell."""
        log_ratio = -math.log(-math.expm1(-self.accuracy / 2)) - self.log_least_probability
        return 1 + math.ceil(4 / self.conductance**2 * log_ratio)


@dataclass(frozen=True)
class CubeWalk:
    """Hold with probability ½, else propose one of 2p neighbours and accept by min{1, F'/F}.

    A neighbour outside the cube is a step that stays. The walk is lazy and reversible, and its
    stationary law is ∝ F at the centres of the cells.

    ``log_weight`` has one axis a parameter and is evaluated once, so that an error of evaluation is
    a function of the cell and does not depend on the path; the cube is [−edge/2, edge/2]^p.

    >>> walk = CubeWalk(np.log([1.0, 2.0, 1.0]), edge=3.0)
    >>> walk.transition_matrix.tolist()
    [[0.75, 0.25, 0.0], [0.125, 0.75, 0.125], [0.0, 0.25, 0.75]]
    >>> walk.stationary.tolist()
    [0.25, 0.5, 0.25]
    """

    # (m, …, m): log F at the cells' centres, one axis a parameter: evaluated once, so that an error
    # of evaluation is a function of the cell and does not depend on the path
    log_weight: FloatArray
    edge: float  # τ; the cube is [−τ/2, τ/2]^p

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.log_weight.ndim

    @property
    def start(self) -> int:
        """The middle cell: a start that no row has touched."""
        middle = [m // 2 for m in self.log_weight.shape]
        return int(np.ravel_multi_index(middle, self.log_weight.shape))

    @cached_property
    def neighbours(self) -> IntArray:
        """Cells (N, 2p) next to each; the cell itself where the cube ends."""
        index = np.arange(self.log_weight.size).reshape(self.log_weight.shape)
        columns = []
        for axis in range(self.p):
            before, after = np.roll(index, 1, axis), np.roll(index, -1, axis)
            ends = [slice(None)] * self.p
            ends[axis] = slice(0, 1)
            before[tuple(ends)] = index[tuple(ends)]
            ends[axis] = slice(-1, None)
            after[tuple(ends)] = index[tuple(ends)]
            columns += [before.ravel(), after.ravel()]
        return np.stack(columns, axis=1)

    @property
    def stationary(self) -> FloatArray:
        """Probabilities (N,) ∝ F."""
        weight = np.exp(self.log_weight - self.log_weight.max()).ravel()
        return np.asarray(weight / weight.sum())

    @property
    def transition_matrix(self) -> FloatArray:
        """Probabilities (N, N) of a step from row to column; for cells that fit in memory."""
        cells, flat = np.arange(self.log_weight.size), self.log_weight.ravel()
        matrix = np.zeros((len(cells), len(cells)))
        for neighbour in self.neighbours.T:
            accepted = np.exp(np.minimum(flat[neighbour] - flat, 0.0))
            np.add.at(matrix, (cells, neighbour), accepted / (4 * self.p))
        # A neighbour outside the cube was counted as a move to the cell itself.
        matrix[cells, cells] += 1 - matrix.sum(axis=1)
        return matrix

    def run(self, cells: IntArray, steps: int, rng: np.random.Generator) -> IntArray:
        """Places (K,) of independent walks from ``cells`` (K,) after ``steps`` steps."""
        flat, ways = self.log_weight.ravel(), 4 * self.p
        size = (steps, len(cells))
        # The upper half of the directions holds; −Exp(1) is the logarithm of a uniform number.
        here = np.arange(len(flat))[:, None]
        onward = np.hstack([self.neighbours, np.repeat(here, 2 * self.p, axis=1)]).ravel()
        rise = flat[onward] - np.repeat(flat, ways)
        direction = rng.integers(0, ways, size=size)
        for way, bar in zip(direction, -rng.standard_exponential(size), strict=True):
            move = cells * ways + way
            cells = np.where(bar <= rise.take(move), onward.take(move), cells)
        pause()  # or a dashboard's event loop starves
        return cells

    def uniform_in(self, cells: IntArray, rng: np.random.Generator) -> FloatArray:
        """Uniform points (p, K) of cells (K,)."""
        width = self.edge / np.array(self.log_weight.shape)[:, None]
        place = np.stack(np.unravel_index(cells, self.log_weight.shape))
        return (place + rng.random(place.shape)) * width - self.edge / 2


def cell_centres(p: int, cells_per_edge: int, edge: float) -> FloatArray:
    """Centres (p, N) of the cells of [−edge/2, edge/2]^p, the last axis running fastest.

    Examples
    --------
    >>> cell_centres(1, 4, 2.0).tolist()
    [[-0.75, -0.25, 0.25, 0.75]]
    """
    axis = ((np.arange(cells_per_edge) + 0.5) / cells_per_edge - 0.5) * edge
    return np.stack(np.meshgrid(*[axis] * p, indexing="ij")).reshape(p, -1)
