"""Scorecards of an exact set: whole points with one multiplier, or a proof that there is none.

The points k of a card are a direction: the ellipsoid around the best model contains a model k/c
for some c > 0 if, with the Cholesky factor R of its matrix, Σ(R k)² Σ(R θ)² is little more than
(R k·R θ)². The sum over the last coordinates is a lower bound, so that points are set from the
last column backwards, thousands of partial cards at a time; a whole card is fitted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.audits.choice.region import Region
from rashomon_explorer.audits.choice.sparse import OutOfTime, WorkBudget

_BATCH = 512  # partial cards, and cards that are fitted at once
_STEPS = 30  # of Newton's method for a multiplier and a constant
_NODE, _NODE_POINTS = 1e-6, 6e-8  # nominal seconds of a partial card, and of each of its points
_FIT_ROW = 2e-7  # nominal seconds of the fit of a card, per row
_ROUNDING = 1e-7
_ZERO = 1e-12
_DIFFERENCE, _CONVERGED, _HALVINGS = 1e-5, 1e-13, 20
_UNCERTAIN = 1e-9  # of an objective: a card this close above the level proves nothing


class Card(NamedTuple):
    """Points of the columns, and the model that they give."""

    points: NDArray[np.int_]  # (width,)
    multiplier: float
    theta: FloatArray  # (p,)


class CardSearch:
    """Search for whole points k with a model of the region whose parameters are m·k/slopes."""

    def __init__(self, region: Region, slopes: FloatArray, budget: WorkBudget) -> None:
        self.region, self.budget = region, budget
        problem, reach = region.restricted, region.reach()
        n_slopes, self.n_columns = problem.p - problem.intercept, len(slopes)
        self.slopes = slopes[region.columns[: len(slopes)]]  # of the columns that are used
        centre = problem.minimum.theta[:n_slopes] * self.slopes
        root = reach.whiten[:n_slopes] * self.slopes[:, None]
        covariance = root @ root.T
        # The most certain column is set first, which is the last row of R.
        self.order = np.argsort(centre**2 / np.maximum(np.diag(covariance), 1e-300), kind="stable")
        covariance = covariance[np.ix_(self.order, self.order)]
        inverse = np.linalg.inv(covariance)
        self.root = np.linalg.cholesky((inverse + inverse.T) / 2).T
        self.along = self.root @ centre[self.order]
        self.room = reach.extent**2 * (1 + _ROUNDING) + _ROUNDING * float(self.along @ self.along)
        self.tails = np.cumsum(self.along[::-1] ** 2)[::-1]  # of the last coordinates

    def least_range(self, largest: int) -> tuple[Card | None, int]:
        """Card with points from −r to r for the least r ≤ largest, and a proved bound on r.

        Without a card the bound is ``largest + 1`` if it is proved that there is none.
        """
        card, smallest, seconds = None, 1, self.budget.left
        constant = self.region.using(np.arange(len(self.region.columns)) >= self.n_columns)
        if self.region.contains(constant.best.theta):
            return Card(np.zeros(len(self.region.columns), dtype=int), 1.0, constant.best.theta), 0
        try:
            self.budget.left = seconds / 2
            card = self._search(largest)
            if card is None:
                return None, largest + 1
        except OutOfTime:
            pass
        finally:
            self.budget.left += seconds / 2
        upper = largest if card is None else int(np.abs(card.points).max())
        try:
            while smallest < upper:
                narrower = self._search(smallest)
                if narrower is not None:
                    return narrower, smallest
                smallest += 1
        except OutOfTime:
            pass
        return card, smallest

    def _search(self, largest: int) -> Card | None:
        """Card with points from −largest to largest, or None if it is proved that there is none."""
        n_columns = len(self.order)
        values = np.arange(-largest, largest + 1)
        stack = [(n_columns, np.zeros((1, n_columns), dtype=np.int64), np.zeros((2, 1)))]
        while stack:
            level, points, sums = stack.pop()
            if level == 0:
                card = self._fitted(points, sums[0] / np.maximum(sums[1], _ZERO))
                if card is not None:
                    return card
                continue
            row = level - 1
            self.budget.spend(len(points) * (_NODE + _NODE_POINTS * len(values) * n_columns))
            offset = points[:, level:] @ self.root[row, level:]
            change = offset[:, None] + self.root[row, row] * values  # (B, values): of R k
            product = sums[0][:, None] + change * self.along[row]
            square = sums[1][:, None] + change**2
            # The least Σ(R k/c − R θ)² over c > 0.
            gain = np.maximum(product, 0.0) ** 2 / np.where(square > _ZERO, square, 1.0)
            cost = self.tails[row] - np.where(square > _ZERO, gain, 0.0)
            parents, choices = np.nonzero(cost <= self.room)
            # The cheapest are set on first; ties go to few points.
            ranks = np.argsort(-cost[parents, choices] - _ZERO * np.abs(values[choices]))
            parents, choices = parents[ranks], choices[ranks]
            children = points[parents]
            children[:, row] = values[choices]
            both = np.stack([product[parents, choices], square[parents, choices]])
            for start in range(0, len(children), _BATCH):
                part = slice(start, start + _BATCH)
                stack.append((row, children[part], both[:, part]))
        return None

    def _fitted(self, points: NDArray[np.int_], multipliers: FloatArray) -> Card | None:
        """Best card of the region among the points (B, n_columns), or None."""
        some = points.any(axis=1)
        points, multipliers = points[some], multipliers[some]
        if not len(points):
            return None
        region, problem = self.region, self.region.restricted
        self.budget.spend(_FIT_ROW * problem.n * len(points))
        units = np.zeros_like(points, dtype=float)
        units[:, self.order] = points
        units /= self.slopes
        theta, distances = _scaled_models(problem, units, multipliers)
        values = problem.value(theta.T)
        close = _UNCERTAIN * (1 + abs(region.level))
        is_open = (values > region.level) & (values - distances <= region.level + close)
        for index in np.argsort(values, kind="stable"):
            if values[index] > region.level:
                break
            every = np.zeros(region.problem.p)
            every[region.parameters] = theta[index]
            room = region.offsets - region.normals @ every
            violated = room < -_ZERO * (1 + np.abs(region.offsets))
            if violated.any() or not region.contains(every):
                # Another multiplier or constant may do, unless the points themselves are at fault.
                constants = region.normals[:, len(region.columns) - problem.intercept :]
                is_open[index] = not (
                    violated & (region.offsets == 0) & ~constants.any(axis=1)
                ).any()
            else:
                columns = np.flatnonzero(region.columns)[self.order]
                every_point = np.zeros(len(region.columns), dtype=int)
                every_point[columns] = points[index]
                size = np.linalg.norm(every[: len(region.columns)][columns])
                multiplier = float(size / np.linalg.norm(units[index][self.order]))
                return Card(every_point, multiplier, every)
        if is_open.any():
            raise OutOfTime
        return None


def _scaled_models(
    problem: Any, units: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Models (B, p) of least loss along directions (B, width), with constants: Newton's method.

    Also how far (B,) the least loss may lie below theirs: Newton's decrement, twice.
    """
    width = units.shape[1]
    axes = np.zeros((len(units), 1 + problem.intercept, problem.p))
    axes[:, 0, :width] = units
    axes[:, 1:, width:] = 1.0
    n_axes = axes.shape[1]
    at = np.zeros((len(units), n_axes))
    at[:, 0] = start
    at[:, 1:] = problem.minimum.theta[width:]

    rest, result = np.arange(len(units)), np.zeros((len(units), problem.p))
    distances = np.zeros(len(units))

    def models(where: FloatArray, axes: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("bd,bdp->bp", where, axes))

    def slopes(where: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = problem.value_and_gradient(models(where, axes).T)
        return value, np.einsum("pb,bdp->bd", gradient, axes)

    for _ in range(_STEPS):
        value, slope = slopes(at, axes)
        hessian = np.empty((len(at), n_axes, n_axes))
        for axis in range(n_axes):
            width_of_step = _DIFFERENCE * (1e-3 + np.abs(at[:, axis]))
            moved = at.copy()
            moved[:, axis] += width_of_step
            hessian[:, axis] = (slopes(moved, axes)[1] - slope) / width_of_step[:, None]
        hessian = (hessian + hessian.transpose(0, 2, 1)) / 2
        hessian += _ZERO * np.einsum("bii->b", hessian)[:, None, None] * np.eye(n_axes)
        step = -np.linalg.solve(hessian, slope[..., None])[..., 0]
        fall = -(step * slope).sum(axis=1)
        factor = np.where(at[:, 0] + step[:, 0] > 0, 1.0, -0.5 * at[:, 0] / step[:, 0])
        for _ in range(_HALVINGS):
            target = at + factor[:, None] * step
            higher = problem.value(models(target, axes).T) > value + _ZERO
            if not higher.any():
                break
            factor = np.where(higher, factor / 2, factor)
        at = at + np.where(higher, 0.0, factor)[:, None] * step
        # A direction that points the wrong way shrinks to 0, and is no card.
        going = (fall > _CONVERGED * (1 + np.abs(value))) & ~higher & (at[:, 0] > _ZERO * start)
        result[rest] = models(at, axes)
        distances[rest] = np.where(at[:, 0] > _ZERO * start, 2 * fall, 0.0)
        rest, at, axes, start = rest[going], at[going], axes[going], start[going]
        if not len(rest):
            break
    return result, distances
