"""Brackets of the extremes of linear functions over a Rashomon set.

One search a person takes a few passes over all rows, so that n people take n² steps. A few hundred
models on the boundary of the set are therefore tried on everybody first, and so are their tangents.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.measures.ranges import level_set, search
from rashomon_explorer.measures.ranges.penalised import ConvexProblem, PenalisedProblem
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.rows.workers import resolve_workers


def psi_level_set(problem: ConvexProblem, psi: float) -> level_set.LevelSet:
    """Level set G = {θ ∈ C : L(θ) ≤ L(θ*) + ψ} around the best model."""
    check_positive(psi=psi)
    best, level = problem.minimum, problem.minimum.value + float(psi)
    if isinstance(problem, PenalisedProblem):
        reach = problem.outer_reach(float(psi))
        domain, l1 = problem.domain, problem.l1
        return level_set.LevelSet(problem, best.theta, best.value, level, reach, domain, l1)
    ball = cast(Ball, problem.domain)
    return level_set.LevelSet(
        problem, best.theta, best.value, level, level_set.BallReach(ball.radius, best.theta), ball
    )


@one_blas_thread()
def brackets(
    problem: ConvexProblem,
    psi: float,
    directions: FloatArray,
    tolerance: float,
    decided: search.Decide | None = None,
) -> search.Extents:
    """Bracket max a·(ϑ − θ*) over G = {θ ∈ C : L(θ) ≤ L(θ*) + ψ} for columns a of (p, K)."""
    among = psi_level_set(problem, psi)
    if not isinstance(problem, PenalisedProblem):
        return search.furthest(among, directions, tolerance, decided=decided)
    finite = np.flatnonzero(problem.row_space.contains(directions))  # the rest is flat in part
    subset = search.decided_columns(decided, finite)
    extents = search.furthest(among, directions[:, finite], tolerance, decided=subset)
    ends = np.full((2, directions.shape[1]), np.inf)
    ends[:, finite] = extents.inner, extents.outer
    points = np.repeat(among.centre[:, None], directions.shape[1], axis=1)
    points[:, finite] = extents.points
    return search.Extents(ends[0], ends[1], points)


_COMPARED = 4096  # compared with all shared models at once
_MODELS = 256  # of one round
_MOST_SHARES = 12
_HALVINGS = 8
_MOST_DOUBLINGS = 60
_CORNER = 1e-3
_ROUNDING = 1e-13  # relative, of squared lengths that are differences


@dataclass
class SharedBrackets:
    """Brackets of max a·(ϑ − θ*) over a level set for columns a of (p, K)."""

    among: level_set.LevelSet
    directions: FloatArray
    inner: FloatArray  # (K,): attained by ``points``
    outer: FloatArray  # (K,)
    points: FloatArray  # (p, K): the best model where nothing better is known

    @classmethod
    def at_best(cls, among: level_set.LevelSet, directions: FloatArray) -> SharedBrackets:
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
        for _ in range(_MOST_SHARES):
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
    return [slice(low, low + _COMPARED) for low in range(0, count, _COMPARED)]


def _least_bounds(
    among: level_set.LevelSet, directions: FloatArray, gradients: FloatArray, room: FloatArray
) -> FloatArray:
    """Least bounds (K,) on a·(ϑ − θ*) by tangents g (p, T): λ·price + radius·‖a − λg‖."""
    reach, shift = among.reach, 0.0 * directions[0]
    if isinstance(reach, level_set.BallReach):
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


_COLUMNS = 512  # columns per part: efficient matrix products, yet enough parts for workers


@dataclass(frozen=True)
class Past:
    """Threshold test that is decided once one end of a bracket has passed the threshold."""

    need: FloatArray

    def __call__(self, columns: NDArray[np.intp], inner: FloatArray, outer: FloatArray) -> Mask:
        """Whether the search for these columns can stop."""
        need = self.need[columns]
        return np.asarray((inner > need) | (outer < need))


_SEARCH, _LEAST = 3e-9, 5e-5  # nominal seconds of a search, per row and parameter, and at least
SECONDS = 10.0
"""Nominal seconds of all searches of single people, unless a number is given."""

_PAIRS = 10_000_000  # of models and columns that are compared after a search
_AT_ONCE = 1.0  # nominal seconds of searches that need no shared models


def affordable(problem: ConvexProblem, seconds: float | None) -> int:
    """Count the searches of about that many nominal seconds, by the size of the table alone."""
    if seconds is None:
        return sys.maxsize
    return 32 + int(seconds / (_LEAST + _SEARCH * problem.n * problem.p))


def bracketed(
    problem: ConvexProblem,
    psi: float,
    directions: FloatArray,
    tolerance: float,
    decided: Past | None = None,
    *,
    seconds: float | None = None,
    n_jobs: int | None = None,
) -> search.Extents:
    """Bracket max a·(ϑ − θ*) for columns a of (p, K); the rest stays wide and valid."""
    limit = affordable(problem, seconds)
    if decided is None and directions.shape[1] <= limit:
        return _searched(problem, psi, directions, tolerance, None, n_jobs)
    with one_blas_thread():
        shared = SharedBrackets.at_best(psi_level_set(problem, psi), directions)
        if isinstance(problem, PenalisedProblem):  # also where no bounded bracket is known
            flat = ~problem.row_space.contains(directions)
            shared.inner[flat] = shared.outer[flat] = np.inf
        if decided is None:
            widest = np.argsort(-shared.outer, kind="stable")
            open_ = widest[np.isfinite(shared.outer[widest])]
        else:
            open_ = shared.open(decided.need)
            if len(open_) > affordable(problem, _AT_ONCE):
                shared.share(decided.need)
                open_ = shared.open(decided.need)
    searched, rest = np.sort(open_[:limit]), np.sort(open_[limit:])
    if len(searched):
        part = None if decided is None else Past(decided.need[searched])
        extents = _searched(problem, psi, directions[:, searched], tolerance, part, n_jobs)
        better = extents.inner > shared.inner[searched]
        shared.inner[searched[better]] = extents.inner[better]
        shared.take_points(searched[better], extents.points[:, better])
        shared.outer[searched] = np.minimum(shared.outer[searched], extents.outer)
        if len(rest):
            most_models = max(1, min(_COLUMNS, _PAIRS // len(rest)))
            shared.try_models(rest, extents.points[:, :: -(-len(searched) // most_models)])
    return search.Extents(shared.inner, shared.outer, shared.points)


def _searched(
    problem: ConvexProblem,
    psi: float,
    directions: FloatArray,
    tolerance: float,
    decided: Past | None,
    n_jobs: int | None,
) -> search.Extents:
    """Apply :func:`brackets` to the different directions, here or by joblib."""
    need = np.empty((0, directions.shape[1])) if decided is None else decided.need[None]
    different, index = _different_columns(np.vstack([directions, need]))
    directions = directions[:, different]
    decided = None if decided is None else Past(decided.need[different])
    starts = range(0, max(directions.shape[1], 1), _COLUMNS)
    columns = [slice(low, low + _COLUMNS) for low in starts]
    parts = [
        (directions[:, some], None if decided is None else Past(decided.need[some]))
        for some in columns
    ]
    what = (psi, tolerance)
    if n_jobs is None:
        results: Iterator[search.Extents] = (_bracket(problem, what, part) for part in parts)
    else:
        _ = problem.minimum  # computed once and sent to the workers
        results = resolve_workers(n_jobs, None).run(_bracket, problem, what, parts)
    results = progress(results, "exact ranges", total=len(parts))
    inner, outer, points = zip(
        *((extents.inner, extents.outer, extents.points) for extents in results), strict=True
    )
    ends = np.concatenate(inner)[index], np.concatenate(outer)[index]
    return search.Extents(*ends, np.concatenate(points, axis=1)[:, index])


def _different_columns(table: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First of each kind of equal columns, in their order, and the place of every column's kind."""
    _, first, kind = np.unique(table, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[kind.ravel()]


def _bracket(
    problem: ConvexProblem, what: tuple[float, float], part: tuple[FloatArray, Past | None]
) -> search.Extents:
    psi, tolerance = what
    directions, decided = part
    return brackets(problem, psi, directions, tolerance, decided)
