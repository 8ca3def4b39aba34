"""Search for extremes of linear functions over a level set."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.measures.ranges.level_set import FaceMetric, LevelSet, Points
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss

_MOST_STEPS = 60
_INNER_STEPS = 60
_CLOSE = 1e-13


@dataclass(frozen=True)
class SharedMetric:
    """One B for all columns, scaled per column; with its axes a step costs O(p²) per column."""

    curvature: FloatArray  # (p,): > 0
    vectors: FloatArray  # (p, p)

    def furthest(
        self, at: Points, room: FloatArray, stiff: FloatArray, radius: float
    ) -> FloatArray:
        """Maximiser of a·ϑ over {g·(ϑ − θ) + ½·stiff·(ϑ − θ)ᵀB(ϑ − θ) ≤ room, ‖ϑ‖ ≤ radius}."""
        a, start, g = (self.vectors.T @ part for part in at)
        stiffness = self.curvature[:, None] * stiff
        square = np.maximum(2 * room + (g * g / stiffness).sum(axis=0), 0.0)
        centre, along = start - g / stiffness, a / stiffness
        length = np.maximum((a * along).sum(axis=0), 1e-300)
        point = centre + along * np.sqrt(square / length)
        out = np.flatnonzero(np.linalg.norm(point, axis=0) > radius)
        if len(out):
            room = square[out] / 2
            x = _in_axes(a[:, out].T, centre[:, out].T, stiffness[:, out].T, room, radius)
            point[:, out] = x.T
        return np.asarray(self.vectors @ point)

    def least_on_hyperplanes(
        self, at: Points, level: FloatArray, stiff: FloatArray, radius: float
    ) -> FloatArray:
        """Minimiser of g·ϑ + ½·stiff·(ϑ − θ)ᵀB(ϑ − θ) over {a·ϑ = level, ‖ϑ‖ ≤ radius}."""
        a, start, slope = (self.vectors.T @ part for part in at)
        stiffness = self.curvature[:, None] * stiff
        x = least_on_hyperplanes(stiffness, stiffness * start - slope, a, level, radius)
        return np.asarray(self.vectors @ x)


def _in_axes(
    a: FloatArray, c: FloatArray, stiff: FloatArray, room: FloatArray, radius: float
) -> FloatArray:
    """Maximisers (K, p) for a diagonal B; ``a``, ``c`` and ``stiff`` are (K, p)."""
    scale = np.sqrt(2 * np.maximum(room, 1e-300) / np.maximum((a * a / stiff).sum(1), 1e-300))
    low, high = np.log(scale) - 12, np.log(scale) + 25
    for _ in range(_MOST_STEPS):
        middle = (low + high) / 2
        x = _best_of_ball(stiff, stiff * c + np.exp(middle)[:, None] * a, radius)
        inside = 0.5 * (stiff * (x - c) ** 2).sum(axis=1) <= room
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        if (high - low < _CLOSE * np.maximum(1.0, np.abs(low))).all():
            break
    return _best_of_ball(stiff, stiff * c + np.exp(low)[:, None] * a, radius)


def _best_of_ball(stiff: FloatArray, pull: FloatArray, radius: float) -> FloatArray:
    """Minimiser (K, p) of ½xᵀdiag(stiff)x − pull·x over ‖x‖ ≤ radius, by its secular equation."""
    multiplier = np.zeros(len(pull))
    for _ in range(_INNER_STEPS):
        x = pull / (stiff + multiplier[:, None])
        norm = np.linalg.norm(x, axis=1)
        over = norm > radius * (1 + 1e-14)
        if not over.any():
            break
        fall = (x * x / (stiff + multiplier[:, None])).sum(axis=1) / np.maximum(norm, 1e-300) ** 2
        move = (norm / radius - 1) / np.maximum(fall, 1e-300)
        multiplier = np.where(over, multiplier + move, multiplier)
    x = pull / (stiff + multiplier[:, None])
    norm = np.linalg.norm(x, axis=1)
    return np.asarray(x * np.minimum(1.0, radius / np.maximum(norm, 1e-300))[:, None])


_HALVINGS = 80


def least_on_hyperplanes(
    stiff: FloatArray, pull: FloatArray, a: FloatArray, level: FloatArray, radius: float
) -> FloatArray:
    """Minimisers (p, K) of ½xᵀdiag(stiff)x − pull·x subject to a·x = level and ‖x‖ ≤ radius."""

    def minimiser(multiplier: FloatArray) -> FloatArray:
        soft = 1 / (stiff + multiplier)
        square = np.maximum((a * a * soft).sum(axis=0), 1e-300)
        return np.asarray((pull + (level - (a * pull * soft).sum(axis=0)) / square * a) * soft)

    x = minimiser(np.zeros(a.shape[1]))
    out = np.linalg.norm(x, axis=0) > radius
    if not out.any():
        return x
    scale = np.log(stiff.max(axis=0))
    low, high = scale - 60, scale + 60
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        outside = np.linalg.norm(minimiser(np.exp(middle)), axis=0) > radius
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return np.where(out, minimiser(np.exp(high)), x)


Metric = SharedMetric | FaceMetric
"""Quadratic models of the objective, with or without an L1 penalty."""

_MOST_ROUNDS = 60
_SHARED_ROUNDS = 8  # rounds with a shared metric; columns still open then get their own
_FLAT = 1e-12
_FLAT_SHARE = 1e-6
_CORNER = 1e-3
_STIFFER, _SOFTER = 4.0, 0.5
_AT_ONCE = 64  # columns with metrics of their own
_MEMORY = 0.8  # share of the earlier Hessians of a loss that is curved in narrow zones alone


@dataclass(frozen=True)
class Extents:
    """Brackets of max a·(ϑ − θ*) over a level set."""

    inner: FloatArray  # (K,): lower bound on the maximum, attained by ``points``
    outer: FloatArray  # (K,): upper bound on the maximum, proved by a tangent
    points: FloatArray  # (p, K): models of the set


def furthest(
    among: LevelSet,
    directions: FloatArray,
    tolerance: float,
    need: FloatArray,
    starts: FloatArray | None = None,
) -> Extents:
    """Bracket max a·(ϑ − θ*) over the set for every column a, by default from its centre on.

    A search also ends once its bracket does not hold the number in ``need``, which may be NaN.
    """
    search = _Search(among, directions, need)
    if starts is not None:
        search.move(np.arange(directions.shape[1]), starts)
    common = metric(among, among.objective.hessian(among.centre))
    wide = search.run(common, _SHARED_ROUNDS, tolerance)
    blocks = [wide[low : low + _AT_ONCE] for low in range(0, len(wide), _AT_ONCE)]
    for block in progress(blocks, "exact ranges"):
        # Restart from θ*: a shared metric that did not converge may have led far away.
        again = _Search(among, directions[:, block], need[block])
        again.run(None, _MOST_ROUNDS, tolerance)
        search.take(block, again)
    return Extents(search.inner, search.outer, search.points)


class _Search:
    """State of each column's search: current point, bracket and best model."""

    def __init__(self, among: LevelSet, directions: FloatArray, need: FloatArray) -> None:
        count = directions.shape[1]
        self.among, self._directions, self._need = among, directions, need
        self.theta = np.repeat(among.centre[:, None], count, axis=1)
        self._value = np.full(count, among.base)
        _, gradient = among.objective.value_and_gradient(among.centre[:, None])
        self._gradient = np.repeat(gradient, count, axis=1)
        self.stiff = np.ones(count)
        self.inner = np.zeros(count)
        self.outer = np.full(count, np.inf)
        self.points = self.theta.copy()
        self._hessians: dict[int, FloatArray] = {}
        self._observe(np.arange(count), self.theta, self._value, self._gradient)

    def run(self, metric: Metric | None, rounds: int, tolerance: float) -> NDArray[np.intp]:
        """Search with a metric, or the Hessian at each point; return the columns still open."""
        active = self._open(np.arange(len(self.inner)), tolerance)
        for _ in range(rounds):
            if not len(active):
                break
            self._advance(metric, active)
            active = self._open(active, tolerance)
        return active

    def _own_metrics(self, active: NDArray[np.intp]) -> Iterator[Metric]:
        """Metric of the Hessian at each column's current point."""
        objective, theta = self.among.objective, self.theta[:, active]
        nearby = getattr(objective, "nearby_hessians", lambda each: map(objective.hessian, each.T))
        for column, hessian in zip(active.tolist(), nearby(theta), strict=True):
            if isinstance(getattr(objective, "loss", None), SmoothedHingeLoss):
                # One point sees few of the zones.
                earlier = self._hessians.get(column, hessian)
                hessian = self._hessians[column] = _MEMORY * earlier + (1 - _MEMORY) * hessian
            yield metric(self.among, hessian)

    def _open(self, active: NDArray[np.intp], tolerance: float) -> NDArray[np.intp]:
        inner, outer, need = self.inner[active], self.outer[active], self._need[active]
        closed = outer - inner <= tolerance * np.abs(outer)
        return active[~(closed | (inner > need) | (outer < need))]

    def _advance(self, metric: Metric | None, active: NDArray[np.intp]) -> None:
        room, radius = self.among.level - self._value[active], self.among.reach.radius
        stiff, theta = self.stiff[active], self.theta[:, active]
        at = self._directions[:, active], theta, self._gradient[:, active]
        if metric is not None:
            theta = metric.furthest(at, room, stiff, radius)
        else:
            for j, own_metric in enumerate(self._own_metrics(active)):
                part = slice(j, j + 1)
                column = at[0][:, part], at[1][:, part], at[2][:, part]
                theta[:, part] = own_metric.furthest(column, room[part], stiff[part], radius)
        factor = np.where(self.move(active, theta), _SOFTER, _STIFFER)
        self.stiff[active] = np.maximum(1.0, stiff * factor)

    def move(self, active: NDArray[np.intp], theta: FloatArray) -> Mask:
        """Evaluate models (p, K), go to those that narrow a bracket, and return which do."""
        theta = self.among.domain.project(theta)
        value, gradient = self.among.objective.value_and_gradient(theta)
        before = self.outer[active] - self.inner[active]
        climbed = self._observe(active, theta, value, gradient)
        better = climbed | (self.outer[active] - self.inner[active] < 0.9 * before)
        moved = active[better]
        self.theta[:, moved] = theta[:, better]
        self._value[moved] = value[better]
        self._gradient[:, moved] = gradient[:, better]
        return np.asarray(better)

    def _observe(
        self, active: NDArray[np.intp], theta: FloatArray, value: FloatArray, gradient: FloatArray
    ) -> Mask:
        """Tighten both bounds by the values at ``theta``; return which inner ones improved."""
        among, a = self.among, self._directions[:, active]
        outer = among.outer(a, theta, value, gradient)
        self.outer[active] = np.fmin(self.outer[active], outer)
        step = (theta - among.centre[:, None]) * among.shrink(value)
        inner = np.einsum("ij,ij->j", a, step)
        climbed = inner > self.inner[active]
        moved = active[climbed]
        self.inner[moved] = inner[climbed]
        self.points[:, moved] = among.centre[:, None] + step[:, climbed]
        return np.asarray(climbed)

    def take(self, block: NDArray[np.intp], partial: "_Search") -> None:
        """Merge the results of another search for some columns."""
        self.outer[block] = np.minimum(self.outer[block], partial.outer)
        better = partial.inner > self.inner[block]
        self.inner[block[better]] = partial.inner[better]
        self.points[:, block[better]] = partial.points[:, better]


def metric(among: LevelSet, hessian: FloatArray) -> Metric:
    """Metric of a Hessian (p, p) of the objective."""
    if among.l1 is not None:
        # Faces may be corners of the set, where the loss alone has no curvature.
        around = among.objective.hessian(among.centre)
        hessian = hessian + _CORNER * np.diag(np.diag(around))
        return FaceMetric.from_hessian(hessian, among.l1)
    # A small share of the room over the ball; 0 without a ball, whose radius is infinite.
    return axes(hessian, _FLAT_SHARE * among.room / among.reach.radius**2)


def axes(hessian: FloatArray, smallest: float) -> SharedMetric:
    """Metric of a Hessian whose curvatures are at least ``least``."""
    curvature, vectors = np.linalg.eigh(hessian)
    floor = max(_FLAT * float(curvature[-1]), smallest)
    return SharedMetric(np.maximum(curvature, floor), vectors)
