"""Grid walks with a pointwise guarantee for their distribution."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.threads import pause
from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import Batch
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class Mixing:
    """Constants of Lemma 6.1 of Bassily, Smith and Thakurta (2014), corrected, on a cube.

    Three corrections of the printed version: γ divides τ; the least stationary probability contains
    the cube's diagonal τ√p, not τ; and Lemma 6.2 (Theorem 1 of Morris and Peres 2005) bounds
    |ratio − 1|, so that it is applied with 1 − e^{−ξ/2}.
    """

    lipschitz: float
    edge: float
    p: int
    accuracy: float
    error: float = 0.0

    def __post_init__(self) -> None:
        check_positive(lipschitz=self.lipschitz, edge=self.edge, accuracy=self.accuracy)
        check_count(p=self.p)
        check_nonnegative(error=self.error)

    @property
    def distance(self) -> float:
        """Bound ξ + 2ζ on |log ratio| of the output's law and the density ∝ F."""
        return self.accuracy + 2 * self.error

    @property
    def cells_per_edge(self) -> int:
        """τ/γ, the smallest integer with γ ≤ ξ/(2η√p)."""
        return math.ceil(2 * self.lipschitz * math.sqrt(self.p) * self.edge / self.accuracy)

    @property
    def conductance(self) -> float:
        """Lower bound γ/(4pτ)·e^{−ξ/2}, multiplied by e^{−6ζ} under errors (their Lemma B.9)."""
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
    """Stay with probability ½, else propose one of 2p neighbours and accept by min{1, F'/F}."""

    # (m, …, m): log F at the centres of cells, one axis for each parameter: evaluated once, so that
    # an evaluation error is a function of the cell and does not depend on the path
    log_weight: FloatArray
    edge: float  # τ; the cube is [−τ/2, τ/2]^p

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.log_weight.ndim

    @property
    def start(self) -> int:
        """Index of the middle cell, a start that does not depend on rows."""
        middle = [m // 2 for m in self.log_weight.shape]
        return int(np.ravel_multi_index(middle, self.log_weight.shape))

    @cached_property
    def neighbours(self) -> IntArray:
        """Neighbours (N, 2p) of each cell; the cell itself at the boundary of the cube."""
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
        """Probabilities (N, N) of a step from row to column; requires memory for all pairs."""
        cells, flat = np.arange(self.log_weight.size), self.log_weight.ravel()
        matrix = np.zeros((len(cells), len(cells)))
        for neighbour in self.neighbours.T:
            accepted = np.exp(np.minimum(flat[neighbour] - flat, 0.0))
            np.add.at(matrix, (cells, neighbour), accepted / (4 * self.p))
        # A neighbour outside the cube is counted as a move to the cell itself.
        matrix[cells, cells] += 1 - matrix.sum(axis=1)
        return matrix

    def run(self, cells: IntArray, steps: int, rng: np.random.Generator) -> IntArray:
        """Cells (K,) of independent walks from ``cells`` (K,) after ``steps`` steps."""
        flat, n_directions = self.log_weight.ravel(), 4 * self.p
        size = (steps, len(cells))
        # The upper half of the directions stays; −Exp(1) is the logarithm of a uniform number.
        here = np.arange(len(flat))[:, None]
        onward = np.hstack([self.neighbours, np.repeat(here, 2 * self.p, axis=1)]).ravel()
        rise = flat[onward] - np.repeat(flat, n_directions)
        direction = rng.integers(0, n_directions, size=size)
        for choice, bar in zip(direction, -rng.standard_exponential(size), strict=True):
            move = cells * n_directions + choice
            cells = np.where(bar <= rise.take(move), onward.take(move), cells)
        pause()  # otherwise the event loop of a dashboard starves
        return cells

    def uniform_in(self, cells: IntArray, rng: np.random.Generator) -> FloatArray:
        """Uniform points (p, K) in cells (K,)."""
        width = self.edge / np.array(self.log_weight.shape)[:, None]
        place = np.stack(np.unravel_index(cells, self.log_weight.shape))
        return (place + rng.random(place.shape)) * width - self.edge / 2


def cell_centres(p: int, cells_per_edge: int, edge: float) -> FloatArray:
    """Centres (p, N) of the cells of [−edge/2, edge/2]^p, with the last axis fastest."""
    axis = ((np.arange(cells_per_edge) + 0.5) / cells_per_edge - 0.5) * edge
    return np.stack(np.meshgrid(*[axis] * p, indexing="ij")).reshape(p, -1)


_EDGE = 2.0  # edge of the cube around the unit ball, and diameter of the ball
_STEPS_AT_ONCE = 2**12
_CELLS_AT_ONCE = 2**12


@dataclass(frozen=True)
class GridWalkSampler:
    """Sampler by a grid walk, with density within a factor e^{±ξ} of the target's, pointwise.

    Algorithms 5 and 6 and Lemma 6.1 of Bassily, Smith and Thakurta (2014), with constants corrected
    as in :class:`Mixing`. In units of the radius, the walk starts in the middle cell of a cube
    around the ball, with weights F = exp(−energy − penalty), and returns a uniform point of its
    last cell; it is repeated, up to a public number of times, while the point is outside the ball.
    For one parameter the cube is the ball and the walk needs no penalty.

    Parameters
    ----------
    accuracy : float, default=0.5
        ξ: bound on |log ratio| of the densities of a draw and of the target.
    n_steps : int, optional
        Steps of a walk. The default is proved to suffice; with another number there is no
        guarantee.
    n_chains : int, default=64
        Number of walks run in parallel; each draw has its own walk.
    most_steps : int, default=10_000_000
        Raise an error if more steps are needed; public, like all settings.
    most_cells : int, default=2**18

    Raises
    ------
    ValueError
        If a setting is out of range.

    Notes
    -----
    *Certificate.* With laws μ̂, μ̂' of a draw on neighbours and Gibbs laws μ, μ' whose log ratio
    ranges over an interval of width η that contains 0, |log μ̂/μ|, |log μ̂'/μ'| ≤ ξ give (η + 2ξ)-DP
    and a range of η + 4ξ (Lemma 6.6 there). This cost of the draws exceeds the plan's.

    *What is not covered.* Ordinary float64 arithmetic in the walk and, from two parameters on, the
    number of tries, which depends on the rows.

    *Reach.* The proved number of steps is tens of thousands for one parameter and few rows, and
    infeasible from two parameters on: use the exact samplers instead.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> from rashomon_explorer.mechanisms.base import collect
    >>> problem = Problem([[0.5], [-0.5]], [1, -1], radius=1.0, intercept=False)
    >>> target = GibbsTarget(problem, beta=1.0, psi=0.01)
    >>> collect(GridWalkSampler(), target, 3, np.random.default_rng(0)).coef.shape
    (3, 1)
    """

    name: ClassVar[str] = "grid_walk"

    accuracy: float = 0.5
    n_steps: int | None = None
    n_chains: int = 64
    most_steps: int = 10_000_000
    most_cells: int = 2**18

    def __post_init__(self) -> None:
        """Raise if a setting is out of range."""
        check_positive(accuracy=self.accuracy)
        for name in ("n_steps", "n_chains", "most_steps", "most_cells"):
            value = getattr(self, name)
            if value is not None:
                check_count(**{name: value})

    def guarantee(self, plan: Plan) -> Guarantee:
        """(η + 2ξ)-DP per draw with the proved number of steps; no guarantee otherwise."""
        if self.n_steps is not None:
            return no_guarantee("a grid walk with a number of steps that is not proved to suffice")
        one = Guarantee(
            "pure",
            f"exponential mechanism within a factor exp(±{self.accuracy:g}), grid walk (Lemmas "
            "6.1 and 6.6 of Bassily et al. 2014, constants corrected)",
            pure_epsilon=plan.eta + 2 * self.accuracy,
            rho=(plan.eta + 4 * self.accuracy) ** 2 / 8,
        )
        return compose([one] * plan.n_draws)

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of ``n_chains`` independent draws; empty ones while walks are running.

        Raises
        ------
        SamplerError
            If the domain is not a ball, or the walk has too many cells or needs too many steps.
        """
        radius, p = _radius(target.problem), target.problem.p
        mixing, tries = self.mixing(target)
        steps = mixing.steps if self.n_steps is None else self.n_steps
        self._check_reach(mixing, steps)
        walk = cube_walk(target, mixing.cells_per_edge, self._penalty(target))
        yield Batch(np.empty((p, 0)), np.empty(0), walk.log_weight.size)
        while True:
            points = np.zeros((p, self.n_chains))
            waiting = np.arange(self.n_chains)
            for _ in range(tries):
                cells: IntArray = np.full(len(waiting), walk.start)
                for done in range(0, steps, _STEPS_AT_ONCE):
                    cells = walk.run(cells, min(_STEPS_AT_ONCE, steps - done), rng)
                    yield Batch(np.empty((p, 0)), np.empty(0), 0)
                points[:, waiting] = walk.uniform_in(cells, rng)
                waiting = waiting[np.linalg.norm(points[:, waiting], axis=0) > 1]
                if len(waiting) == 0:
                    break
            points[:, waiting] = _uniform_in_ball(p, len(waiting), rng)
            theta = points * radius
            yield Batch(theta, target.problem.value(theta), self.n_chains)

    def mixing(self, target: GibbsTarget) -> tuple[Mixing, int]:
        """Constants of one walk, and the largest number of tries; both public.

        Algorithm 6 tries 4ηD + p·log₂D + log₂(1/(1 − e^{−ξ/4})) times, D = 2, logarithms to base 2
        as its proof needs, with walks of accuracy ξ/8 (ξ/4 for Algorithm 5, which halves it).
        """
        problem, p = target.problem, target.problem.p
        lipschitz = target.beta * _radius(problem) * lipschitz_on_cube(problem)
        if p == 1:
            return Mixing(lipschitz, _EDGE, p, self.accuracy), 1
        mixing = Mixing(lipschitz + self._penalty(target), _EDGE, p, self.accuracy / 8)
        rest = -math.log2(-math.expm1(-self.accuracy / 4))
        return mixing, math.ceil(4 * lipschitz * _EDGE + p * math.log2(_EDGE) + rest)

    def _penalty(self, target: GibbsTarget) -> float:
        if target.problem.p == 1:
            return 0.0
        problem = target.problem
        lipschitz = target.beta * _radius(problem) * lipschitz_on_cube(problem)
        return penalty_weight(lipschitz, problem.p, self.accuracy / 4)

    def _check_reach(self, mixing: Mixing, steps: int) -> None:
        cells = mixing.cells_per_edge**mixing.p
        if cells > self.most_cells or steps > self.most_steps:
            raise SamplerError(
                f"the grid walk needs {cells:,} cells and {steps:.3g} steps a draw (at most "
                f"{self.most_cells:,} and {self.most_steps:.3g} are allowed): it is a reference "
                "for one parameter, few rows and small β; use 'exact' or 'finite_grid'"
            )


def cube_walk(target: GibbsTarget, cells_per_edge: int, penalty: float) -> CubeWalk:
    """Walk on the cube around the ball, in units of the radius, with the weights of Algorithm 5.

    log F = −energy(L(Rv) − min L) − penalty·max{0, ‖v‖ − 1}. The loss of a linear model is convex
    and Lipschitz on all of R^p, so it is its own Lipschitz extension (their Lemma 6.3).
    """
    problem = target.problem
    centres = cell_centres(problem.p, cells_per_edge, _EDGE)
    log_weight = np.empty(centres.shape[1])
    for low in range(0, len(log_weight), _CELLS_AT_ONCE):
        part = slice(low, low + _CELLS_AT_ONCE)
        energy = target.energy(target.excess(centres[:, part] * _radius(problem)))
        distance = np.maximum(np.linalg.norm(centres[:, part], axis=0) - 1, 0.0)
        log_weight[part] = -energy - penalty * distance
        pause()  # otherwise the event loop of a dashboard starves
    return CubeWalk(log_weight.reshape((cells_per_edge,) * problem.p), _EDGE)


def penalty_weight(lipschitz: float, p: int, accuracy: float) -> float:
    """α = 3e^{2ξ}(ηD + p) of Algorithm 5 for the unit ball: at least half of F is inside."""
    return 3 * math.exp(2 * accuracy) * (lipschitz * _EDGE + p)


def lipschitz_on_cube(problem: Problem) -> float:
    """Lipschitz constant of the objective on the cube around the ball, for any rows."""
    constants = Constants.from_loss(
        problem.loss,
        n=problem.n,
        p=problem.p,
        domain=Ball(_radius(problem) * math.sqrt(problem.p)),
        row_bound=row_bound(problem.row_norm, problem.intercept),
        ridge=problem.ridge,
    )
    return constants.L


def _radius(problem: Problem) -> float:
    if not isinstance(problem.domain, Ball):
        raise SamplerError(
            f"the grid walk supports only a ball of models, got {type(problem.domain).__name__}"
        )
    return problem.domain.radius


def _uniform_in_ball(p: int, size: int, rng: np.random.Generator) -> FloatArray:
    direction = rng.standard_normal((p, size))
    return np.asarray(direction / np.linalg.norm(direction, axis=0) * rng.random(size) ** (1 / p))
