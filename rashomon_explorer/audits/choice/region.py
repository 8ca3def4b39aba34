"""Part of an exact set that left-out columns and linear constraints leave, and its best model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.ranges.level_set import EllipsoidReach

_MOST_STEPS, _HALVINGS = 60, 60
_ZERO = 1e-12  # relative to the largest parameter
_LEAST_PULL, _LARGEST_PULL = 1e-9, 1e9  # relative to the curvature of the objective
_CONVERGED = 1e-15  # predicted decrease of a step, relative to the objective
_MARGIN = 1e-12  # of an objective, relative: far above the rounding of a sum over rows
_ABOVE = 1.01  # share of the excess by which a reach contains the best model outside the set


@dataclass(frozen=True)
class BestModel:
    """Least-loss model of a region, with a proof."""

    theta: FloatArray  # (p,): of the whole problem, 0 for left-out columns
    value: float  # its objective
    bound: float  # no model of the region has a smaller objective


@dataclass(frozen=True, eq=False)
class Region:
    """Models of an exact set that use some columns and meet ``normals @ θ ≤ offsets``."""

    problem: Any  # a PenalisedProblem
    psi: float
    columns: Mask  # (width,): columns of its rows that a model may use
    normals: FloatArray  # (m, p)
    offsets: FloatArray  # (m,)
    only: FloatArray | None = None  # (p,): the one model that is left
    # The region, features (n_features, width) and their largest number that ``columns`` are of.
    support: tuple[Region, Mask, int] | None = None

    @classmethod
    def from_set(cls, problem: Any, psi: float) -> Region:
        """Whole exact set of a problem."""
        columns = np.ones(problem.rows.shape[1], dtype=bool)
        return cls(problem, psi, columns, np.zeros((0, problem.p)), np.zeros(0))

    def using(self, columns: Mask) -> Region:
        """Region of the models that use no other than these columns."""
        return replace(self, columns=self.columns & columns)

    def with_features(self, columns: Mask, uses: Mask, most: int) -> Region:
        """Region of some columns, which are one of several sets of at most so many features."""
        return replace(self.using(columns), support=(self, uses, most))

    def within(self, normals: FloatArray, offsets: FloatArray) -> Region:
        """Region with more constraints."""
        normals = np.vstack([self.normals, normals])
        return replace(self, normals=normals, offsets=np.append(self.offsets, offsets))

    def only_at(self, theta: FloatArray) -> Region:
        """Region of one model."""
        return replace(self, only=theta)

    @property
    def level(self) -> float:
        """Largest objective of a model of the set."""
        return float(self.problem.minimum.value) + self.psi

    @property
    def parameters(self) -> Mask:
        """Parameters (p,) of the columns that a model may use."""
        return np.tile(self.columns, self.problem.loss.outputs)

    @cached_property
    def restricted(self) -> Any:
        """Problem of the columns that a model may use."""
        problem = self.problem
        if self.columns.all():
            return problem
        used, n_columns = self.parameters, len(problem.feature_names)
        names = zip(problem.feature_names, self.columns[:n_columns], strict=True)
        return replace(
            problem,
            rows=problem.rows[:, self.columns],
            ridges=problem.ridges[used],
            l1=None if problem.l1 is None else problem.l1[used],
            feature_names=tuple(name for name, used_column in names if used_column),
        )

    @cached_property
    def best(self) -> BestModel:
        """Model of least objective under the constraints, in the set or outside."""
        if self.only is not None:
            objective = float(self.problem.value(self.only[:, None])[0])
            return BestModel(self.only, objective, objective)
        if not self.columns.any():  # no intercept either
            constant = float(self.problem.value(np.zeros((self.problem.p, 1)))[0])
            return BestModel(np.zeros(self.problem.p), constant, constant)
        restricted, used = self.restricted, self.parameters
        minimum = restricted.minimum
        theta, normals, value = minimum.theta, self.normals[:, used], minimum.value
        bound = minimum.value - minimum.gap
        if (normals @ theta > self.offsets).any():
            theta, multipliers = constrained_minimum(restricted, normals, self.offsets)
            value = float(restricted.value(theta[:, None])[0])
            bound = self._bound(theta, value, multipliers)
        every = np.zeros(self.problem.p)
        every[used] = theta
        return BestModel(every, float(value), float(bound) - _MARGIN * (1 + abs(value)))

    def contains(self, theta: FloatArray) -> bool:
        """Whether a model (p,) is in the set, with a margin for rounding."""
        value = float(self.problem.value(theta[:, None])[0])
        return value + _MARGIN * (1 + abs(value)) <= self.level

    @property
    def is_empty(self) -> bool:
        """Whether it is proved that no model of the set is in the region."""
        return self.best.bound > self.level

    def reach(self) -> EllipsoidReach:
        """Ellipsoid around the restricted minimum that contains the region without constraints."""
        room = max(self.level - self.restricted.minimum.value, 0.0)
        reach: EllipsoidReach = self.restricted.outer_reach(room + _MARGIN * (1 + abs(self.level)))
        return reach

    def nearest(self, centre: FloatArray, curvatures: FloatArray) -> tuple[FloatArray, float]:
        """Model (p,) of the set with the least ½ Σ c_j(θ_j − t_j)², and a bound of that minimum.

        The bound is the dual one: the least L + κD is at most level + κD for every model.
        """
        used, problem = self.parameters, self.restricted
        centre, curvatures, best = centre[used], curvatures[used], self.best
        normals, scale = self.normals[:, used], float(np.trace(problem.hessian(best.theta[used])))
        low, high, closest, bound = _LEAST_PULL, _LARGEST_PULL, best.theta[used], 0.0
        for _ in range(_HALVINGS):
            factor = float(np.sqrt(low * high))
            pull = factor * scale * curvatures / max(float(curvatures.sum()), 1e-300)
            theta, multipliers = constrained_minimum(problem, normals, self.offsets, (centre, pull))
            value = float(problem.value(theta[:, None])[0])
            per_distance = factor * scale / max(float(curvatures.sum()), 1e-300)
            distance = float(curvatures @ (theta - centre) ** 2) / 2
            total = self._bound(theta, value, multipliers, pull * (theta - centre))
            bound = max(bound, distance + (total - self.level) / per_distance)
            if value + _MARGIN * (1 + abs(value)) <= self.level:
                low, closest = factor, theta
            else:
                high = factor
            if high <= low * (1 + 1e-7):
                break
        every = np.zeros(self.problem.p)
        every[used] = closest
        return every, bound

    def _bound(
        self,
        theta: FloatArray,
        value: float,
        multipliers: FloatArray,
        pull: FloatArray | None = None,
    ) -> float:
        """Least objective by the tangent at a model: what its optimality conditions lack.

        With ``pull``, the gradient of a convex function that is added, the least sum.
        """
        problem, normals = self.restricted, self.normals[:, self.parameters]
        gradient = problem.value_and_gradient(theta[:, None])[1][:, 0]
        residual = gradient + normals.T @ multipliers + (0.0 if pull is None else pull)
        if problem.l1 is not None:  # the subgradient at zeros that balances best
            free = np.where(theta == 0, problem.l1, 0.0)
            residual = residual - np.clip(residual, -free, free)
        best = problem.minimum
        above = max(value, self.level) if pull is not None else value
        reach = problem.outer_reach(_ABOVE * max(above - best.value, 0.0) + best.gap + 1e-300)
        far = reach.extent * np.linalg.norm(reach.whiten.T @ residual)
        far += abs(float(residual @ (best.theta - theta)))
        slack = np.maximum(self.offsets - normals @ theta, 0.0)
        return value - float(far) - float(multipliers @ slack)


def constrained_minimum(
    problem: Any, normals: FloatArray, offsets: FloatArray, pull: Any = None
) -> tuple[FloatArray, FloatArray]:
    """Minimiser (p,) of an objective under linear constraints, and their multipliers (m,).

    Sequential quadratic programmes with the exact Hessian; ``pull`` is a quadratic that is added,
    as its centre (p,) and its curvatures (p,).
    """
    centre, curvatures = (np.zeros(problem.p), np.zeros(problem.p)) if pull is None else pull
    l1 = problem.l1

    def value(theta: FloatArray) -> float:
        added = float(curvatures @ (theta - centre) ** 2) / 2
        return float(problem.value(theta[:, None])[0]) + added

    theta, is_first = problem.minimum.theta, True
    current = value(theta)
    for _ in range(_MOST_STEPS):
        slope = problem.value_and_gradient(theta[:, None])[1][:, 0] + curvatures * (theta - centre)
        slope = slope if l1 is None else slope - l1 * np.sign(theta)
        hessian = problem.hessian(theta) + np.diag(curvatures)
        target, multipliers = _quadratic_programme(hessian, slope, theta, normals, offsets, l1)
        step = target - theta
        fall = -float(slope @ step)
        if l1 is not None:
            fall -= float(l1 @ (np.abs(target) - np.abs(theta)))
        scale, moved = 1.0, value(target)
        while not is_first and moved > current - 1e-4 * scale * fall and scale > 2.0**-_HALVINGS:
            scale /= 2
            moved = value(theta + scale * step)
        done = not is_first and (fall <= _CONVERGED * (1 + abs(current)) or moved > current)
        if not done or moved <= current:
            theta = target if scale == 1 else theta + scale * step
            if l1 is not None:
                theta[np.abs(theta) <= _ZERO * np.abs(theta).max()] = 0.0
            current = moved
        if done:
            break
        is_first = False
    return theta, multipliers


def _quadratic_programme(
    hessian: FloatArray,
    slope: FloatArray,
    theta: FloatArray,
    normals: FloatArray,
    offsets: FloatArray,
    l1: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Minimiser of a quadratic model plus Σ l1 |θ| under linear constraints, and multipliers."""
    if l1 is None:
        step, multipliers = least_distance(hessian, slope, normals, offsets - normals @ theta)
        return theta + step, multipliers
    # Orthant by orthant: a parameter at 0 changes its sign if that lets the objective fall.
    penalised = np.flatnonzero(l1 > 0)
    signs = np.where(theta != 0, np.sign(theta), -np.sign(slope) + (slope == 0))
    for _ in range(_MOST_STEPS):
        sides = np.vstack([normals, -np.diag(signs)[penalised]])
        room = np.append(offsets, np.zeros(len(penalised))) - sides @ theta
        step, multipliers = least_distance(hessian, slope + l1 * signs, sides, room)
        at_zero = multipliers[len(offsets) :]
        target = theta + step
        target[penalised[at_zero > 0]] = 0.0
        target[np.abs(target) <= _ZERO * np.abs(target).max()] = 0.0
        wrong = penalised[at_zero > 2 * l1[penalised]]
        signs[wrong] *= -1
        if not len(wrong):
            break
    return target, multipliers[: len(offsets)]


def least_distance(
    hessian: FloatArray, slope: FloatArray, normals: FloatArray, offsets: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimiser of ½dᵀHd + g·d subject to ``normals @ d ≤ offsets``, and multipliers (m,).

    By least squares with nonnegative coefficients (Lawson and Hanson 1974, chapter 23).
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    unit = hessian * scale[:, None] * scale
    root = np.linalg.cholesky(unit + 1e-14 * np.eye(len(scale)))
    free = solve_triangular(root, scale * slope, lower=True)  # minus the unconstrained solution
    sides = solve_triangular(root, scale[:, None] * normals.T, lower=True)  # (p, m)
    lengths = np.maximum(np.linalg.norm(sides, axis=0), 1e-300)
    sides, levels = -sides / lengths, -(offsets + sides.T @ free) / lengths
    if not (levels > 0).any():
        point, multipliers = np.zeros(len(free)), np.zeros(len(levels))
    else:
        size = float(np.abs(levels).max())  # so that the levels are of order 1
        system = np.vstack([sides, levels / size])
        weights, _ = nnls(
            system, np.append(np.zeros(len(free)), 1.0), maxiter=30 * len(levels) + 99
        )
        rest = 1.0 - float(levels @ weights) / size
        multipliers = weights * size / max(rest, 1e-300)
        point = sides @ multipliers
    step = scale * solve_triangular(root, point - free, lower=True, trans=1)
    return step, multipliers / lengths
