"""Least excess loss at which linear functions reach 0."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.measures.ranges import level_set
from rashomon_explorer.measures.ranges.penalised import ConvexProblem, PenalisedProblem
from rashomon_explorer.measures.ranges.search import Metric, axes
from rashomon_explorer.measures.ranges.sparse import FaceMetric, matched_subgradient
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.chunked import is_kinked

LEAST = 1e-7
"""Excess loss that counts as none, as a share of the zero model's."""

_ROUNDS = 40
_NUDGE = 0.01  # distance beyond the hyperplane, as a share of the tolerance
_ROUNDING = 1e-14  # relative to the loss, as for level sets


@one_blas_thread()
def least_crossings(
    problem: ConvexProblem, directions: FloatArray, zero: float, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Bracket (K,) of min {L(θ) − L(θ*) : d·θ ≥ 0} for each column d of (p, K), d·θ* ≤ 0.

    A tangent proves the lower bound; a model with d·θ > 0 attains the upper one. ``zero`` is an
    excess loss that the minima do not exceed. Losses with kinks and domains other than a ball or
    all of R^p get the bracket [0, ∞).
    """
    search = _Search(problem, directions, zero, tolerance)
    smooth = isinstance(problem, PenalisedProblem) or not is_kinked(problem.evaluator().loss)
    if not smooth or not isinstance(problem.domain, Ball | level_set.Everywhere):
        return search.lower, search.upper
    if isinstance(problem, PenalisedProblem):  # along the flat, the loss of the minimum suffices
        search.upper[~problem.row_space.contains(directions)] = 0.0
    hessian, l1 = problem.hessian(search.best), getattr(problem, "l1", None)
    metric = axes(hessian, search.least_curvature) if l1 is None else FaceMetric.of(hessian, l1)
    for _ in range(_ROUNDS):
        active = np.flatnonzero(search.open)
        if not len(active):
            break
        search.advance(active, metric)
    return search.lower, search.upper


class _Search:
    """Current point and bracket of each column's minimum over the hyperplane d·θ = c."""

    def __init__(
        self, problem: ConvexProblem, directions: FloatArray, zero: float, tolerance: float
    ) -> None:
        count = directions.shape[1]
        self._problem, self._directions, self._zero = problem, directions, zero
        self._tolerance, self.best = tolerance, problem.minimum.theta
        self._radius = float(getattr(problem.domain, "radius", np.inf))
        self._needed = -(self.best @ directions)
        # Slightly beyond the hyperplane d·θ = 0, so that labels do change.
        self._level = _NUDGE * tolerance * self._needed
        self._level += 1e-9 * np.abs(directions).sum(axis=0) * (1 + np.abs(self.best).max())
        self.theta = np.repeat(self.best[:, None], count, axis=1)
        self._value = np.full(count, np.inf)
        _, gradient = problem.value_and_gradient(self.best[:, None])
        self._gradient = np.repeat(gradient, count, axis=1)
        self._stiff = np.ones(count)
        self.lower, self.upper = np.zeros(count), np.full(count, np.inf)
        self._reaches: dict[int, level_set.EllipsoidReach] = {}

    @property
    def least_curvature(self) -> float:
        """Smallest curvature of a quadratic model."""
        return 1e-6 * self._zero / self._radius**2

    @property
    def open(self) -> Mask:
        """Columns whose bracket is still wide."""
        wide = self.upper > (1 + self._tolerance) * self.lower
        return np.asarray(wide & (self.upper > LEAST * self._zero) & self._directions.any(axis=0))

    def advance(self, active: NDArray[np.intp], metric: Metric) -> None:
        """Evaluate the minimisers of quadratic models, and accept those of lower loss."""
        d = self._directions[:, active]
        at = d, self.theta[:, active], self._gradient[:, active]
        level, stiff = self._level[active], self._stiff[active]
        theta = metric.least_on_hyperplanes(at, level, stiff, self._radius)
        theta = self._problem.domain.project(theta)
        value, gradient = self._problem.value_and_gradient(theta)
        flips = np.einsum("ij,ij->j", d, theta) > 0
        excess = np.where(flips, np.maximum(value - self._problem.minimum.value, 0.0), np.inf)
        self.upper[active] = np.minimum(self.upper[active], excess)
        lower = np.minimum(self._bound(active, theta, value, gradient), self.upper[active])
        self.lower[active] = np.maximum(self.lower[active], lower)
        better = value < self._value[active]
        moved = active[better]
        self.theta[:, moved], self._value[moved] = theta[:, better], value[better]
        self._gradient[:, moved] = gradient[:, better]
        factor = np.where(better, 0.5, 4.0)
        self._stiff[active] = np.maximum(1.0, self._stiff[active] * factor)

    def _bound(
        self, active: NDArray[np.intp], theta: FloatArray, value: FloatArray, slope: FloatArray
    ) -> FloatArray:
        """Lower bound (K,) on the excess loss by the tangents at ``theta``.

        L(ϑ) ≥ L(θ) + g·(ϑ − θ), and for every μ ≥ 0 and d·ϑ ≥ 0 at least as much with g − μd in
        place of g, whose minimum over a ball or an ellipsoid around the models is known.
        """
        problem, d = self._problem, self._directions[:, active]
        error = _ROUNDING * (1 + np.abs(value)) * np.sqrt(len(theta))
        excess = value - problem.minimum.value - error - np.einsum("ij,ij->j", slope, theta)
        if not isinstance(problem, PenalisedProblem):
            away = level_set.least_shifted_norm(-slope, -d, np.zeros(len(active)), self._radius)
            return np.asarray(excess - away)
        around = [self._reach(psi) for psi in np.minimum(self.upper[active], self._zero)]
        if problem.l1 is not None:
            slope = matched_subgradient(slope, theta, problem.l1, d, around[0].weight)
        away = np.empty(len(active))
        for reach in {id(one): one for one in around}.values():
            some = np.array([one is reach for one in around])
            pull, across = reach.whiten.T @ slope[:, some], reach.whiten.T @ d[:, some]
            needed = -self._needed[active][some]
            away[some] = level_set.least_shifted_norm(-pull, -across, needed, reach.extent)
        return np.asarray(excess + self.best @ slope - away)

    def _reach(self, psi: float) -> level_set.EllipsoidReach:
        """Ellipsoid around all models with excess loss up to ``psi``, or more."""
        power = int(np.ceil(np.log2(max(psi, LEAST * self._zero))))
        if power not in self._reaches:
            problem: Any = self._problem
            self._reaches[power] = problem.reach(2.0**power)
        return self._reaches[power]
