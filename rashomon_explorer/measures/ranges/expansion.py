"""Polynomial bounds of a logistic excess loss, which decide most people without a pass each.

The third derivative at the best model and a bound of the fourth one are read in one pass, and
bound the loss of every model of the set (docs/measures-proofs.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.ranges.level_set import (
    EllipsoidReach,
    FaceMetric,
    LevelSet,
    curvature,
    lengths,
    matched_subgradient,
)
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem.lower_bounds.smooth import FourthMoment, ThirdMoment, outer_squares

_MOST_PARAMETERS = 42
_MOST_WORK = 3e11  # rows × (pairs of parameters)²
_STEPS = 3
_BEYOND = 1e-9  # of a crossing, so that labels do change
_FLAT = 1e-12  # of the largest curvature
_ROUNDING = 1e-11  # relative: far above the errors of sums of n signed terms


@dataclass(frozen=True, eq=False)
class Kinks:
    """L1 penalty of an expansion: an expanded loss is without it, and the penalty is exact."""

    metric: FaceMetric
    coordinates: FloatArray  # (p, p): W⁻¹
    weight: FloatArray  # (p,): of parameters, where subgradients are compared

    def least(
        self, directions: FloatArray, theta: FloatArray, gradient: FloatArray, level: FloatArray
    ) -> FloatArray:
        """Least quadratic plus penalty (p, K) with a·θ = level, from gradients (p, K) in u."""
        slope = self.coordinates.T @ gradient + self.metric.l1[:, None] * np.sign(theta)
        unit = np.ones(len(level))
        return self.metric.least_on_hyperplanes((directions, theta, slope), level, unit, np.inf)

    def subgradient(
        self, directions: FloatArray, theta: FloatArray, gradient: FloatArray
    ) -> FloatArray:
        """Slopes (p, K) of the penalty that leave the least gradient across each direction."""
        l1, pull = self.metric.l1, self.coordinates.T @ gradient
        total = pull + l1[:, None] * np.sign(theta)
        total = matched_subgradient(total, theta, l1, directions, self.weight)
        return np.clip(total - pull, -l1[:, None], l1[:, None])


@dataclass(frozen=True, eq=False)
class Expansion:
    """Bounds of the excess loss at θ* + Wu within an ellipsoid, where the Hessian is WᵀHW = 1."""

    among: LevelSet
    whiten: FloatArray  # (p, r): W
    ellipsoid: FloatArray  # (r, r): the level set has uᵀNu ≤ 1
    slope: FloatArray  # (r,): of the loss at the best model, rounding without an L1 penalty
    third: ThirdMoment
    fourth: FourthMoment  # mean of c_i (z_i·u)⁴, with −c_i ≤ f'''' ≤ c_i/3 on a row's scores
    largest_fourth: float  # over unit vectors
    convexity: float  # κ: the Hessian is at least κ in the ellipsoid
    kinks: Kinks | None = None

    @classmethod
    def around(cls, among: LevelSet) -> Expansion | None:
        """Expansion for a level set of a logistic problem with few parameters, else None."""
        problem, reach = among.objective, among.reach
        if not isinstance(problem, PenalisedProblem) or not isinstance(reach, EllipsoidReach):
            return None
        r = reach.whiten.shape[1]
        small = r <= _MOST_PARAMETERS and problem.n * r**4 / 4 <= _MOST_WORK
        flat = problem.l1 is not None and r < problem.p
        if not small or flat or problem.loss.name != "logistic":
            return None
        hessian = problem.hessian(among.centre)
        curvatures, vectors = np.linalg.eigh(reach.whiten.T @ hessian @ reach.whiten)
        if not curvatures[0] > _FLAT * curvatures[-1]:  # no curvature in a direction
            return None
        axes = vectors / np.sqrt(curvatures)
        whiten, ellipsoid = reach.whiten @ axes, axes.T @ axes / reach.extent**2
        rows, scores = problem.rows @ whiten, problem.rows @ among.centre
        distance = lengths(rows, ellipsoid)
        smallest = curvature(np.abs(scores) + distance)
        largest = curvature(np.maximum(np.abs(scores) - distance, 0.0))
        # f'''' = v(1 − 6v) is concave in v = f'': least at an end of its range, greatest at 1/12.
        inner = np.clip(1 / 12, smallest, largest)
        fourths = [v * (1 - 6 * v) for v in (smallest, largest, inner)]
        bound = np.maximum(np.maximum(-fourths[0], -fourths[1]), 3 * fourths[2])
        weights = 1 / problem.n if problem.weights is None else problem.weights / problem.n
        skewness = weights * curvature(scores) * -np.tanh(scores / 2)
        convexity = (rows.T * (weights * smallest)) @ rows + (whiten.T * problem.ridges) @ whiten
        fourth = FourthMoment.from_rows(rows, weights * np.maximum(bound, 0.0))
        least = float(np.linalg.eigvalsh(convexity)[0]) - _ROUNDING
        third = ThirdMoment.from_rows(rows, skewness)
        slope, kinks = problem.value_and_gradient(among.centre[:, None])[1][:, 0], None
        if problem.l1 is not None:
            slope = slope - problem.l1 * np.sign(among.centre)
            faces = FaceMetric.from_hessian(hessian, problem.l1)
            kinks = Kinks(faces, whiten.T @ hessian, reach.weight)
        bounds = third, fourth, fourth.supremum(), least
        return cls(among, whiten, ellipsoid, whiten.T @ slope, *bounds, kinks)

    def decide(
        self, directions: FloatArray, need: FloatArray
    ) -> tuple[Mask, Mask, FloatArray, FloatArray]:
        """Whether a model of the set has a·(ϑ − θ*) > need, and whether none has, for columns a.

        Also models (p, K) of nearly the least loss there, and their excess loss to third order.
        """
        psi, centre, a = self.among.room, self.among.centre[:, None], self.whiten.T @ directions
        size = np.maximum(np.linalg.norm(a, axis=0), 1e-300)
        unit, distance = a / size, need / size
        target = distance + _BEYOND * (distance + np.sqrt(2 * psi))
        u = unit * target
        theta = centre + self.whiten @ u
        for _ in range(_STEPS):  # towards the least cubic on the hyperplane unit·u = target
            gradient = self._gradient(u, outer_squares(u))
            if self.kinks is None:
                free = u - gradient
            else:
                level = target * size + _dots(centre, directions)
                theta = self.kinks.least(directions, theta, gradient, level)
                free = self.kinks.coordinates @ (theta - centre)
            u = free + unit * (target - _dots(unit, free))
        squares, square, models = outer_squares(u), _dots(u, u), centre + self.whiten @ u
        excess = self.slope @ u + square / 2 + self.third.at(u, squares) / 6
        gradient, least = self._gradient(u, squares), excess
        if self.kinks is not None:
            l1 = self.kinks.metric.l1
            slopes = self.kinks.subgradient(directions, theta, gradient)
            gradient += self.whiten.T @ slopes
            least = excess + _dots(slopes, models) - l1 @ np.abs(centre)
            excess = excess + l1 @ (np.abs(models) - np.abs(centre))
        error = self.among.error + _ROUNDING * (psi + np.abs(excess))
        multiplier = _dots(unit, gradient)
        across = np.linalg.norm(gradient - multiplier * unit, axis=0)
        inside = _dots(u, self.ellipsoid @ u) <= 1
        quartic = self.largest_fourth * square**2  # a bound, which decides most
        near = np.flatnonzero(inside & (excess + quartic / 72 + error > psi))
        quartic[near] = self.fourth.at(u[:, near], squares[:, near])
        flips = inside & (excess + quartic / 72 + error <= psi)
        steep = quartic**0.75 * self.largest_fourth**0.25 / 6  # error of the gradient
        lost = (across + steep) ** 2 / (2 * self.convexity) if self.convexity > 0 else np.inf
        lost = lost + np.abs(multiplier) * (target - distance) + error
        stays = inside & (multiplier >= 0) & (least - quartic / 24 - lost > psi)
        return flips, stays & ~flips, models, excess

    def _gradient(self, u: FloatArray, squares: FloatArray) -> FloatArray:
        """Gradient (r, K) of the cubic."""
        return self.slope[:, None] + u + self.third.unfolded.T @ squares / 2


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", left, right))
