"""Brackets of many linear functions over a Rashomon set by models that they share.

One search a person takes a few passes over all rows, so that n people take n² steps. Here a few
hundred models on the boundary of the set are tried on everybody, and so are their tangents.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.ranges import search
from rashomon_explorer.measures.ranges.level_set import BallReach, LevelSet

_COLUMNS = 4096  # compared with all shared models at once
_MODELS = 256  # of one round
_MOST_ROUNDS = 12
_HALVINGS = 8
_MOST_DOUBLINGS = 60
_CORNER = 1e-3
_ROUNDING = 1e-13  # relative, of squared lengths that are differences


@dataclass
class SharedBrackets:
    """Brackets of max a·(ϑ − θ*) over a level set for columns a of (p, K)."""

    among: LevelSet
    directions: FloatArray
    inner: FloatArray  # (K,): attained by ``points``
    outer: FloatArray  # (K,)
    points: FloatArray  # (p, K): the best model where nothing better is known

    @classmethod
    def at_best(cls, among: LevelSet, directions: FloatArray) -> "SharedBrackets":
        """Brackets by the best model and the set's outer ellipsoid or ball alone, in one pass."""
        count, centre = directions.shape[1], among.centre[:, None]
        value, gradient = among.objective.value_and_gradient(centre)
        outer = np.empty(count)
        for part in _parts(count):
            some = directions[:, part]
            gradients = np.repeat(gradient, some.shape[1], axis=1)
            thetas = np.repeat(centre, some.shape[1], axis=1)
            outer[part] = among.outer(some, thetas, value, gradients)
        outer[~directions.any(axis=0)] = 0.0
        points = np.broadcast_to(centre, directions.shape)
        return cls(among, directions, np.zeros(count), outer, points)

    def take_points(self, columns: NDArray[np.intp], models: FloatArray) -> None:
        """Store the models (p, k) that attain the inner bounds of some columns."""
        if not self.points.flags.writeable:
            self.points = self.points.copy()
        self.points[:, columns] = models

    def open(self, need: FloatArray) -> NDArray[np.intp]:
        """Columns whose brackets hold their threshold, those nearest to it first."""
        columns = np.flatnonzero((self.inner <= need) & (self.outer >= need))
        with np.errstate(divide="ignore", invalid="ignore"):
            nearness = need[columns] / self.outer[columns]
        return columns[np.argsort(nearness, kind="stable")]

    def share(self, need: FloatArray) -> None:
        """Try models towards some open columns on all of them, while many are decided by it."""
        hessian = self.among.objective.hessian(self.among.centre)
        if self.among.l1 is not None:
            hessian = hessian + _CORNER * np.diag(np.diag(hessian))
        metric = search.axes(hessian, 0.0)
        for _ in range(_MOST_ROUNDS):
            columns = self.open(need)
            if len(columns) <= _MODELS:
                return
            selected = columns[:: len(columns) // _MODELS][:_MODELS]
            self.try_models(columns, self._boundary(metric, self.directions[:, selected]))
            if len(columns) - len(self.open(need)) < _MODELS:
                return

    def try_models(self, columns: NDArray[np.intp], models: FloatArray) -> None:
        """Improve the brackets of some columns by models (p, T) of the set and their tangents."""
        among = self.among
        value, gradient = among.objective.value_and_gradient(models)
        steps = models - among.centre[:, None]
        room = among.level - value + np.einsum("ij,ij->j", gradient, steps) + among.error
        room = np.maximum(room, among.room)
        for part in _parts(len(columns)):
            some = columns[part]
            a = self.directions[:, some]
            gains = a.T @ steps
            best = gains.argmax(axis=1)
            gain = gains[np.arange(len(some)), best]
            higher = gain > self.inner[some]
            self.inner[some[higher]] = gain[higher]
            self.take_points(some[higher], models[:, best[higher]])
            if among.l1 is None:  # with it every column needs a subgradient of its own
                outer = _least_bounds(among, a, gradient, room)
                self.outer[some] = np.minimum(self.outer[some], outer)

    def _boundary(self, metric: search.SharedMetric, directions: FloatArray) -> FloatArray:
        """Models (p, T) near the boundary of the set, furthest in the metric's own ellipsoid."""
        among = self.among
        turned = (metric.vectors.T @ directions) / metric.curvature[:, None]
        moves = metric.vectors @ turned
        sizes = np.sqrt(np.maximum(np.einsum("ij,ij->j", moves, directions), 1e-300))
        moves *= np.sqrt(2 * among.room) / sizes
        centre = among.centre[:, None]

        def inside(share: FloatArray) -> NDArray[np.bool_]:
            points = centre + share * moves
            within = among.objective.value(points) <= among.level
            return np.asarray(within & among.domain.contains(points))

        low, high = np.zeros(moves.shape[1]), np.ones(moves.shape[1])
        for _ in range(_MOST_DOUBLINGS):
            within = inside(high)
            if not within.any():
                break
            low, high = np.where(within, high, low), np.where(within, 2 * high, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            within = inside(middle)
            low, high = np.where(within, middle, low), np.where(within, high, middle)
        return among.verified(centre + low * moves)


def _parts(count: int) -> list[slice]:
    return [slice(low, low + _COLUMNS) for low in range(0, count, _COLUMNS)]


def _least_bounds(
    among: LevelSet, directions: FloatArray, gradients: FloatArray, room: FloatArray
) -> FloatArray:
    """Least of the bounds (K,) on a·(ϑ − θ*) that the tangents with these gradients (p, T) prove.

    Each is λ·price + radius·‖a − λg‖ for some λ ≥ 0, from inner products alone; their rounding is
    added.
    """
    reach, shift = among.reach, 0.0 * directions[0]
    if isinstance(reach, BallReach):
        radius, shift = reach.radius, reach.centre @ directions
        room = room + reach.centre @ gradients
    else:
        radius = reach.extent
        directions, gradients = reach.whiten.T @ directions, reach.whiten.T @ gradients
    squares = np.einsum("ij,ij->j", directions, directions)[:, None]
    sizes = np.maximum(np.einsum("ij,ij->j", gradients, gradients), 1e-300)
    products = directions.T @ gradients
    best = products / sizes
    away = np.sqrt(np.maximum(squares - best * products, 0.0))
    rest = radius**2 * sizes - room**2
    with np.errstate(divide="ignore", invalid="ignore"):
        multiplier = best - away * room / np.sqrt(sizes * np.maximum(rest, 0.0))
    valid = (rest > 0) & np.isfinite(multiplier)
    multiplier = np.where(valid, np.maximum(multiplier, 0.0), 0.0)
    lengths = squares - 2 * multiplier * products + multiplier**2 * sizes
    lengths = np.maximum(lengths, 0.0) + _ROUNDING * (squares + multiplier**2 * sizes)
    return np.asarray((multiplier * room + radius * np.sqrt(lengths)).min(axis=1) - shift)
