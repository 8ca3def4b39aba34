"""Brackets of the extremes of linear functions over a Rashomon set.

One search a person takes a few passes over all rows, so that n people take n² steps. Polynomial
bounds of a logistic loss therefore decide most people first; for other losses a few hundred models
on the boundary of the set are tried on everybody, and so are their tangents.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.measures.ranges import level_set, search
from rashomon_explorer.measures.ranges.expansion import Expansion
from rashomon_explorer.measures.ranges.penalised import ConvexProblem, PenalisedProblem
from rashomon_explorer.problem.domains import Ball


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
    need: FloatArray | None = None,
    starts: FloatArray | None = None,
) -> search.Extents:
    """Bracket max a·(ϑ − θ*) over G = {θ ∈ C : L(θ) ≤ L(θ*) + ψ} for columns a of (p, K)."""
    among = psi_level_set(problem, psi)
    need = np.full(directions.shape[1], np.nan) if need is None else need
    if not isinstance(problem, PenalisedProblem):
        return search.furthest(among, directions, tolerance, need, starts)
    finite = np.flatnonzero(problem.row_space.contains(directions))  # the rest is flat in part
    starts = None if starts is None else starts[:, finite]
    extents = search.furthest(among, directions[:, finite], tolerance, need[finite], starts)
    ends = np.full((2, directions.shape[1]), np.inf)
    ends[:, finite] = extents.inner, extents.outer
    points = np.repeat(among.centre[:, None], directions.shape[1], axis=1)
    points[:, finite] = extents.points
    return search.Extents(ends[0], ends[1], points)


_COMPARED = 4096  # compared with all shared models at once
_MODELS = 256  # of one round
_SEARCHES = 64  # that take as long as a round
_MOST_SHARES = 12
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
        for part in progress(_parts(count), "exact ranges"):
            outer[part] = among.outer(directions[:, part], centre, value, gradient)
        outer[~directions.any(axis=0)] = 0.0
        points = np.repeat(centre, count, axis=1)
        return cls(among, directions, np.zeros(count), outer, points)

    def open(self, need: FloatArray | None) -> NDArray[np.intp]:
        """Columns whose brackets hold their threshold, nearest first; without one the widest."""
        if need is None:
            columns = np.flatnonzero(np.isfinite(self.outer))
            return columns[np.argsort((self.inner - self.outer)[columns], kind="stable")]
        columns = np.flatnonzero((self.inner <= need) & (self.outer >= need))
        with np.errstate(divide="ignore", invalid="ignore"):
            nearness = need[columns] / self.outer[columns]
        return columns[np.argsort(nearness, kind="stable")]

    def fill(self, columns: NDArray[np.intp], within: level_set.EllipsoidReach) -> None:
        """Raise the inner ends of some columns to those of an ellipsoid within the set."""
        for part in _parts(len(columns)):
            some = columns[part]
            a = within.whiten.T @ self.directions[:, some]
            sizes = np.linalg.norm(a, axis=0)
            higher = within.extent * sizes > self.inner[some]
            unit = a[:, higher] / sizes[higher]
            self.inner[some[higher]] = within.extent * sizes[higher]
            steps = within.extent * (within.whiten @ unit)
            self.points[:, some[higher]] = self.among.centre[:, None] + steps

    def expand(self, expansion: Expansion, need: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """Decide open columns by polynomial bounds; return the rest, nearest first, and models."""
        columns = self.open(need)
        undecided, starts, distances = [columns[:0]], [self.directions[:, :0]], [need[:0]]
        for part in progress(_parts(len(columns)), "exact ranges"):
            some = columns[part]
            a = self.directions[:, some]
            flips, stays, models, excess = expansion.decide(a, need[some])
            gain = np.einsum("ij,ij->j", a, models - self.among.centre[:, None])
            self.inner[some[flips]] = gain[flips]
            self.points[:, some[flips]] = models[:, flips]
            self.outer[some[stays]] = np.nextafter(need[some[stays]], -np.inf)
            rest = ~(flips | stays)
            undecided.append(some[rest])
            starts.append(models[:, rest])
            distances.append(np.abs(excess[rest] - self.among.room))
        nearest = np.argsort(np.concatenate(distances), kind="stable")
        return np.concatenate(undecided)[nearest], np.hstack(starts)[:, nearest]

    def boundary(self, columns: NDArray[np.intp]) -> FloatArray:
        """Models (p, k) near the boundary, along some columns in the quadratic at the best one."""
        among, count = self.among, len(columns)
        centre = np.repeat(among.centre[:, None], count, axis=1)
        _, gradient = among.objective.value_and_gradient(centre[:, :1])
        at = self.directions[:, columns], centre, np.repeat(gradient, count, axis=1)
        metric = search.metric(among, among.objective.hessian(among.centre))
        room, stiff = np.full(count, among.room), np.ones(count)
        steps = metric.furthest(at, room, stiff, among.reach.radius) - centre
        excess = np.maximum(among.objective.value(centre + steps) - among.base, room / 16)
        steps *= np.sqrt(room / excess)  # towards the boundary: it grows nearly as a square
        return among.domain.project(centre + steps)

    def try_models(
        self, columns: NDArray[np.intp], models: FloatArray, sources: NDArray[np.intp]
    ) -> None:
        """Improve the brackets of some columns by models (p, T) and tangents for their sources."""
        among = self.among
        value, gradient = among.objective.value_and_gradient(models)
        if among.l1 is not None:  # any subgradient is a tangent
            weight, a = among.reach.weight, self.directions[:, sources]
            gradient = level_set.matched_subgradient(gradient, models, among.l1, a, weight)
        steps = models - among.centre[:, None]
        room = among.level - value + np.einsum("ij,ij->j", gradient, steps) + among.error
        room = np.maximum(room, among.room)
        inside = steps * among.shrink(value)
        models = among.centre[:, None] + inside
        for part in _parts(len(columns)):
            some = columns[part]
            a = self.directions[:, some]
            gains = a.T @ inside
            best = gains.argmax(axis=1)
            gain = gains[np.arange(len(some)), best]
            higher = gain > self.inner[some]
            self.inner[some[higher]] = gain[higher]
            self.points[:, some[higher]] = models[:, best[higher]]
            outer = _least_bounds(among, a, gradient, room)
            self.outer[some] = np.minimum(self.outer[some], outer)

    def take(self, columns: NDArray[np.intp], extents: search.Extents) -> None:
        """Improve the brackets of some columns by those of a search."""
        better = extents.inner > self.inner[columns]
        self.inner[columns[better]] = extents.inner[better]
        self.points[:, columns[better]] = extents.points[:, better]
        self.outer[columns] = np.minimum(self.outer[columns], extents.outer)


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


_COLUMNS = 512  # per part: efficient matrix products, and progress


_FEWEST = 32
_SEARCH, _LEAST = 3e-9, 5e-5  # nominal seconds of a search, per row and parameter, and at least
SECONDS = 10.0
"""Nominal seconds of all searches of single people, unless a number is given."""

_PAIRS = 10_000_000  # of models and columns that are compared after a search
_FOURTH = 3000  # a bound of the fourth derivative takes as long as p⁴ / 3000 searches
_NEAR = 3  # searches from nearly the right model in the time of one from the best
_AT_ONCE = 1.0  # nominal seconds of searches that need no shared models


def affordable(problem: ConvexProblem, seconds: float | None) -> int:
    """Count the searches of about that many nominal seconds, by the size of the table alone."""
    if seconds is None:
        return sys.maxsize
    return _FEWEST + int(seconds / (_LEAST + _SEARCH * problem.n * problem.p))


def bracketed(
    problem: ConvexProblem,
    psi: float,
    directions: FloatArray,
    tolerance: float,
    need: FloatArray | None = None,
    *,
    seconds: float | None = None,
) -> search.Extents:
    """Bracket max a·(ϑ − θ*) for columns a of (p, K); the rest stays wide and valid.

    With thresholds ``need`` (K,) a bracket is done once one of its ends has passed its own.
    """
    limit, starts = affordable(problem, seconds), None
    if need is None and directions.shape[1] <= limit:
        return _searched(problem, psi, directions, tolerance, None, None)
    with one_blas_thread():
        shared = SharedBrackets.at_best(psi_level_set(problem, psi), directions)
        if isinstance(problem, PenalisedProblem):  # also where no bounded bracket is known
            flat = ~problem.row_space.contains(directions)
            shared.inner[flat] = shared.outer[flat] = np.inf
        open_ = shared.open(need)
        if isinstance(problem, PenalisedProblem) and len(open_) > _MODELS:
            if (within := problem.inner_reach(psi)) is not None:
                shared.fill(open_, within)
                open_ = shared.open(need)
        if need is not None:
            many = len(open_) > max(_MODELS, problem.p**4 // _FOURTH)
            expansion = Expansion.around(shared.among) if many else None
            if expansion is not None:
                open_, starts = shared.expand(expansion, need)
            few = affordable(problem, _AT_ONCE) if starts is None else len(need) // _FEWEST
            if len(open_) > few:  # rare levels: the bounds decide less than shared models do
                starts = None
                rounds = range(min(_MOST_SHARES, 1 + limit // _SEARCHES))
                for _ in progress(rounds, "shared models"):
                    some = open_[:: max(1, len(open_) // _MODELS)][:_MODELS]
                    shared.try_models(open_, shared.boundary(some), some)
                    open_, before = shared.open(need), len(open_)
                    limit -= _SEARCHES
                    if len(open_) <= _MODELS or before - len(open_) < _SEARCHES:
                        break
    limit = max(limit if starts is None else _NEAR * limit, _FEWEST)
    searched, rest = open_[:limit], open_[limit:]
    if len(searched):
        part = None if need is None else need[searched]
        first = None if starts is None else starts[:, :limit]
        extents = _searched(problem, psi, directions[:, searched], tolerance, part, first)
        shared.take(searched, extents)
        if len(rest) and starts is None:
            most_models = max(1, min(_COLUMNS, _PAIRS // len(rest)))
            every = slice(None, None, -(-len(searched) // most_models))
            shared.try_models(rest, extents.points[:, every], searched[every])
    return search.Extents(shared.inner, shared.outer, shared.points)


def _searched(
    problem: ConvexProblem,
    psi: float,
    directions: FloatArray,
    tolerance: float,
    need: FloatArray | None,
    starts: FloatArray | None,
) -> search.Extents:
    """Apply :func:`brackets` to the different directions, in parts."""
    key = directions if need is None else np.vstack([directions, need])
    different, index = _different_columns(key)
    extents = []
    for low in progress(range(0, max(len(different), 1), _COLUMNS), "exact ranges"):
        part = different[low : low + _COLUMNS]
        test, start = (each if each is None else each[..., part] for each in (need, starts))
        a = directions[:, part]
        extents.append(brackets(problem, psi, a, tolerance, test, start))
    ends = ([getattr(each, end) for each in extents] for end in ("inner", "outer", "points"))
    return search.Extents(*(np.concatenate(each, axis=-1)[..., index] for each in ends))


def _different_columns(table: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First of each kind of equal columns, in their order, and the place of every column's kind."""
    _, first, kind = np.unique(table, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[kind.ravel()]
