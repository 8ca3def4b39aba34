"""The grid walk of Bassily, Smith and Thakurta (2014), §6, with corrected constants.

It is a reference: from two parameters on a walk takes 10¹² steps, and rejection is exact.
"""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball

EDGE = 2.0  # edge of the cube around the unit ball, and diameter of the ball


@dataclass(frozen=True)
class Mixing:
    """Constants of Lemma 6.1 on a cube, with three corrections of the printed version.

    γ divides τ; the least stationary probability contains the cube's diagonal τ√p, not τ; and
    Lemma 6.2 (Theorem 1 of Morris and Peres 2005) bounds |ratio − 1|, so that it is applied with
    1 − e^{−ξ/2}.
    """

    lipschitz: float
    edge: float
    p: int
    accuracy: float
    error: float = 0.0

    @property
    def distance(self):
        """Bound ξ + 2ζ on |log ratio| of the output's law and the density ∝ F."""
        return self.accuracy + 2 * self.error

    @property
    def cells_per_edge(self):
        """τ/γ, the smallest integer with γ ≤ ξ/(2η√p)."""
        return math.ceil(2 * self.lipschitz * math.sqrt(self.p) * self.edge / self.accuracy)

    @property
    def conductance(self):
        """Lower bound γ/(4pτ)·e^{−ξ/2}, multiplied by e^{−6ζ} under errors (Lemma B.9)."""
        return math.exp(-self.accuracy / 2 - 6 * self.error) / (4 * self.p * self.cells_per_edge)

    @property
    def log_least_probability(self):
        """Lower bound −ητ√p − 2ζ − p·log(τ/γ) of log min π."""
        diagonal = self.lipschitz * self.edge * math.sqrt(self.p)
        return -diagonal - 2 * self.error - self.p * math.log(self.cells_per_edge)

    @property
    def steps(self):
        """Steps 1 + (4/φ²) log(1/(ε₀ min π)) with ε₀ = 1 − e^{−ξ/2}, from any cell."""
        log_ratio = -math.log(-math.expm1(-self.accuracy / 2)) - self.log_least_probability
        return 1 + math.ceil(4 / self.conductance**2 * log_ratio)


@dataclass(frozen=True)
class CubeWalk:
    """Stay with probability ½, else propose one of 2p neighbours and accept by min{1, F'/F}.

    ``log_weight`` (m, …, m) is log F at the centres of the cells of [−τ/2, τ/2]^p.
    """

    log_weight: np.ndarray

    @property
    def start(self):
        """Index of the middle cell, a start that does not depend on rows."""
        middle = [m // 2 for m in self.log_weight.shape]
        return int(np.ravel_multi_index(middle, self.log_weight.shape))

    @property
    def stationary(self):
        """Probabilities (N,) ∝ F."""
        weight = np.exp(self.log_weight - self.log_weight.max()).ravel()
        return weight / weight.sum()

    @property
    def transition_matrix(self):
        """Probabilities (N, N) of a step from row to column."""
        shape, flat = self.log_weight.shape, self.log_weight.ravel()
        cells = np.arange(flat.size)
        matrix = np.zeros((flat.size, flat.size))
        for axis, step in np.ndindex(len(shape), 2):
            place = np.array(np.unravel_index(cells, shape))
            place[axis] = np.clip(place[axis] + 2 * step - 1, 0, shape[axis] - 1)
            neighbour = np.ravel_multi_index(tuple(place), shape)  # itself at the boundary
            accepted = np.exp(np.minimum(flat[neighbour] - flat, 0.0))
            np.add.at(matrix, (cells, neighbour), accepted / (4 * len(shape)))
        matrix[cells, cells] += 1 - matrix.sum(axis=1)
        return matrix


def cell_centres(p, cells_per_edge, edge):
    """Centres (p, N) of the cells of [−edge/2, edge/2]^p, with the last axis fastest."""
    axis = ((np.arange(cells_per_edge) + 0.5) / cells_per_edge - 0.5) * edge
    return np.stack(np.meshgrid(*[axis] * p, indexing="ij")).reshape(p, -1)


def cube_walk(target, cells_per_edge, penalty):
    """Walk on the cube around the ball, in units of the radius, with the weights of Algorithm 5.

    log F = −energy(L(Rv) − min L) − penalty·max{0, ‖v‖ − 1}. The loss of a linear model is convex
    and Lipschitz on all of R^p, so it is its own Lipschitz extension (Lemma 6.3).
    """
    problem = target.problem
    centres = cell_centres(problem.p, cells_per_edge, EDGE)
    energy = target.energy(target.excess(centres * problem.domain.radius))
    distance = np.maximum(np.linalg.norm(centres, axis=0) - 1, 0.0)
    return CubeWalk((-energy - penalty * distance).reshape((cells_per_edge,) * problem.p))


def penalty_weight(lipschitz, p, accuracy):
    """α = 3e^{2ξ}(ηD + p) of Algorithm 5 for the unit ball: at least half of F is inside."""
    return 3 * math.exp(2 * accuracy) * (lipschitz * EDGE + p)


def lipschitz_on_cube(problem):
    """Lipschitz constant of the objective on the cube around the ball, for any rows."""
    return Constants.from_loss(
        problem.loss,
        n=problem.n,
        p=problem.p,
        domain=Ball(problem.domain.radius * math.sqrt(problem.p)),
        row_bound=row_bound(problem.row_norm, problem.intercept),
        ridge=problem.ridge,
    ).L
