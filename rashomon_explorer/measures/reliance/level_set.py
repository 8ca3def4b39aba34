"""Ascent within a level set."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import minimize

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import Columns
from rashomon_explorer.measures.ranges.level_set import matched_subgradient
from rashomon_explorer.problem.problem import Problem

ValueAndGradient = Callable[[FloatArray], tuple[float, FloatArray]]

_HALVINGS = 50
_ASCENDED = 1e-8  # of ψ: a search ends where a step gains less
_AT_THE_RIM = 1e-13  # relative to ψ: a loss this close below the level counts as on it
_LAST_BITS = 1e-14
_NOTHING = 1e-15  # share of a segment that counts as rounding


def project_to_level_set(problem: Problem, level: float, points: FloatArray) -> FloatArray:
    """Furthest models of the set on the segments from the best model to ``points`` (p, K)."""
    best = problem.minimum.theta[:, None]
    move = points - best
    # The loss of a model differs in its last bits when evaluated together with other models.
    level -= min(_LAST_BITS * abs(level), (level - problem.minimum.value) / 2)
    room = level - problem.minimum.value
    high = _within_domain(problem, best, move)
    over = problem.value(best + high * move) - level
    low, under = np.where(over <= 0, high, 0.0), np.where(over <= 0, over, -room)
    halve = np.zeros(len(low), dtype=bool)
    for _ in range(_HALVINGS):
        open_ = np.flatnonzero((under < -_AT_THE_RIM * room) & (high - low > _NOTHING * high))
        if not len(open_):
            break
        wide = (high - low)[open_]
        chord = wide * under[open_] / (under - over)[open_]
        share = low[open_] + np.where(halve[open_], wide / 2, chord)
        excess = problem.value(best + share * move[:, open_]) - level
        below = excess <= 0
        low[open_[below]], under[open_[below]] = share[below], excess[below]
        high[open_[~below]], over[open_[~below]] = share[~below], excess[~below]
        halve[open_] = (high - low)[open_] > wide / 2
    return best + low * move


def _within_domain(problem: Problem, best: FloatArray, move: FloatArray) -> FloatArray:
    """Largest shares (K,) of the moves that end in the domain."""
    low, high = np.zeros(move.shape[1]), np.ones(move.shape[1])
    for halving in range(_HALVINGS):
        share = high if halving == 0 else (low + high) / 2
        inside = problem.domain.contains(best + share * move)
        low, high = np.where(inside, share, low), np.where(inside, high, share)
        if (low == high).all():
            break
    return low


def at_model(function: Any, theta: FloatArray) -> tuple[float, FloatArray]:
    """Value and gradient of a function of many models at a single one (p,)."""
    value, gradient = function.value_and_gradient(theta[:, None])
    return float(value[0]), gradient[:, 0]


def model_loss(problem: Problem) -> ValueAndGradient:
    """Objective and gradient of a problem at a single model (p,); the last value is cached."""
    last = lru_cache(maxsize=1)(lambda model: at_model(problem, np.frombuffer(model)))
    return lambda theta: last(theta.tobytes())


_KINK = 1e-6  # of a parameter's range over the set: it counts as 0 below


def l1_slope(problem: Any, psi: float, theta: FloatArray, rise: FloatArray) -> FloatArray:
    """Subgradient (p,) of the L1 penalty with which the objective's is most along ``rise`` (p,)."""
    l1 = getattr(problem, "l1", None)
    if l1 is None:
        return np.zeros_like(theta)
    square, smooth = problem.reach(psi).weight, at_model(problem, theta)[1] - l1 * np.sign(theta)
    kinked = np.where(np.abs(theta) < _KINK * np.sqrt(square), 0.0, theta)[:, None]
    start = smooth[:, None] + l1[:, None] * np.sign(kinked)
    subgradient = matched_subgradient(start, kinked, l1, rise[:, None], square)
    return np.asarray(np.clip(subgradient[:, 0] - smooth, -l1, l1))


def ascend_in_level_set(
    problem: Problem,
    level: float,
    start: FloatArray,
    function: ValueAndGradient,
    whiten: FloatArray | None = None,
    loss: ValueAndGradient | None = None,
) -> FloatArray:
    """Model (p,) of the set with the largest value in a local search from ``start`` (p,)."""
    loss, best = loss or model_loss(problem), problem.minimum.theta
    whiten = problem.domain.diameter * np.eye(problem.p) if whiten is None else whiten
    scale = max(level - problem.minimum.value, 1e-12)

    def slack(u: FloatArray) -> FloatArray:
        theta = best + whiten @ u
        return np.array(
            [(level - loss(theta)[0]) / scale, 1 - float(theta @ theta) / problem.domain.radius**2]
        )

    def slope(u: FloatArray) -> FloatArray:
        theta = best + whiten @ u
        return np.stack([-loss(theta)[1] / scale, -2 * theta / problem.domain.radius**2]) @ whiten

    def down(u: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(best + whiten @ u)
        return -value / scale, -gradient @ whiten / scale

    # Any: scipy's overloads do not cover functions that return value and gradient.
    search: Any = minimize
    with warnings.catch_warnings():
        # A step may round beyond the bounds; the result is projected into the set anyway.
        warnings.simplefilter("ignore", RuntimeWarning)
        result = search(
            down,
            np.linalg.solve(whiten, start - best),
            jac=True,
            method="SLSQP",
            bounds=[(-1.01, 1.01)] * problem.p,
            constraints=[{"type": "ineq", "fun": slack, "jac": slope}],
            options={"maxiter": 60, "ftol": _ASCENDED},
        )
    end = best + whiten @ result.x if np.isfinite(result.x).all() else start
    ends = project_to_level_set(problem, level, np.column_stack([start, end]))
    return np.asarray(ends[:, int(np.argmax([function(model)[0] for model in ends.T]))])


class Extreme(NamedTuple):
    """Bracket of the largest value over a set of models."""

    theta: FloatArray  # (p,): a model of the set
    attained: float  # its value
    bound: float  # upper bound over the set


@dataclass(frozen=True)
class Quadratic:
    """θᵀPθ + 2qᵀθ + r."""

    matrix: FloatArray  # (p, p): P, symmetric
    vector: FloatArray  # (p,)
    constant: float

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Value (K,) at each column of ``theta`` (p, K)."""
        return np.asarray(
            np.einsum("ik,ik->k", theta, self.matrix @ theta)
            + 2 * self.vector @ theta
            + self.constant
        )

    def __add__(self, other: "Quadratic") -> "Quadratic":
        return Quadratic(
            self.matrix + other.matrix, self.vector + other.vector, self.constant + other.constant
        )

    def __rmul__(self, factor: float) -> "Quadratic":
        return Quadratic(factor * self.matrix, factor * self.vector, factor * self.constant)

    def __sub__(self, other: "Quadratic") -> "Quadratic":
        return self + (-1.0) * other

    def shifted(self, amount: float) -> "Quadratic":
        """Add a constant."""
        return Quadratic(self.matrix, self.vector, self.constant + amount)


@dataclass(frozen=True)
class SquareMoments:
    """Moments of n rows that determine half the mean squared error, switched or not."""

    n: int
    gram: FloatArray  # (p, p): ZᵀZ/n
    cross: FloatArray  # (p,): Zᵀy/n
    energy: float  # yᵀy/n
    row_mean: FloatArray  # (p,)
    target_mean: float

    @classmethod
    def from_rows(cls, rows: FloatArray, targets: FloatArray) -> "SquareMoments":
        """Moments of rows (n, p) and targets (n,)."""
        return cls.from_sums(len(rows), *moment_sums(rows, targets))

    @classmethod
    def from_sums(cls, n: int, *sums: FloatArray) -> "SquareMoments":
        """Moments of n rows from :func:`moment_sums`, added over chunks."""
        gram, cross, energy, row_mean, target_mean = (total / n for total in sums)
        return cls(n, gram, cross, float(energy), row_mean, float(target_mean))

    def original(self) -> Quadratic:
        """e_orig(θ) = (1/2n) Σ (y_i − z_i·θ)²."""
        return Quadratic(self.gram / 2, -self.cross / 2, self.energy / 2)

    def rise(self, columns: Columns) -> Quadratic:
        """e_switch(θ) − e_orig(θ), the sample covariance of moving part and residual."""
        scale = self.n / (self.n - 1)
        covariance = scale * (self.gram - np.outer(self.row_mean, self.row_mean))
        with_target = scale * (self.cross - self.row_mean * self.target_mean)
        moves = np.zeros(len(self.cross), dtype=bool)
        moves[columns] = True
        across = np.where(moves[:, None] != moves, -covariance / 2, 0.0)
        return Quadratic(across, np.where(moves, with_target / 2, 0.0), 0.0)


def moment_sums(rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, ...]:
    """Sum what determines the moments over rows (n, p) and targets (n,)."""
    squares, total = np.asarray(targets @ targets), np.asarray(targets.sum())
    return rows.T @ rows, rows.T @ targets, squares, rows.sum(axis=0), total


_LOOKS = 42
_AWAY = 1e-3  # smallest distance of a trial weight from an end, relative to the interval
_CLOSE = 1e-11
_NEWTON = 50
_HELD = 1e-9  # relative violation up to which a constraint counts as satisfied


@dataclass(frozen=True)
class CertifiedMinimum:
    """A certified lower bound on a minimum, with candidates for the minimiser."""

    bound: float  # lower bound over the set
    # (p, k): candidates, possibly outside the set: the solutions of relaxations. They include the
    # minimiser if the relaxation is exact.
    points: FloatArray
    multiplier: float  # multiplier of the constraint


def least_on_ellipsoid(objective: Quadratic, ellipsoid: Quadratic) -> CertifiedMinimum:
    """Minimise any quadratic, convex or not, subject to a definite quadratic being ≤ 0."""
    root = cholesky(ellipsoid.matrix, lower=True, check_finite=False)
    inverse = solve_triangular(root, np.eye(len(root)), lower=True, check_finite=False)
    half = inverse @ -ellipsoid.vector
    centre = inverse.T @ half
    size = np.sqrt(max(float(half @ half) - ellipsoid.constant, 0.0))
    inner = size**2 * inverse @ objective.matrix @ inverse.T
    pull = size * inverse @ (objective.matrix @ centre + objective.vector)
    curvature, axes = np.linalg.eigh((inner + inner.T) / 2)
    steps, drop, multiplier = _trust_region(curvature, axes.T @ pull)
    points = centre[:, None] + size * inverse.T @ (axes @ steps)
    value = float(objective(centre[:, None])[0])
    reach = float(np.linalg.norm(centre) + size * np.linalg.norm(inverse))
    bound = value + drop - _rounding(objective, reach)
    return CertifiedMinimum(bound, points, multiplier / max(size**2, 1e-300))


def least_on_intersection(
    objective: Quadratic, first: Quadratic, second: Quadratic
) -> CertifiedMinimum:
    """Minimise any quadratic subject to two convex quadratics ≤ 0, with a certified bound."""
    search, minima = _Weight(), []
    for _ in range(_LOOKS):
        w = search.next()
        try:
            minimum = least_on_ellipsoid(objective, (1 - w) * first + w * second)
        except LinAlgError:  # a single constraint may leave directions unbounded
            continue
        minima.append(minimum)
        broken = np.stack([first(minimum.points), second(minimum.points)])
        if (broken <= _HELD).all(axis=0).any() or search.add(w, minimum, broken[1] - broken[0]):
            break
    best = max(minima, key=lambda candidate: candidate.bound)
    return replace(best, points=np.concatenate([candidate.points for candidate in minima], axis=1))


class _Weight:
    """Search for the weight of the second constraint that maximises the bound."""

    def __init__(self) -> None:
        self._places, self._values, self._slopes = [0.0, 1.0], [-np.inf, -np.inf], [np.nan, np.nan]
        self._count = 0

    def next(self) -> float:
        """Return the two ends first, then points inside the remaining interval."""
        self._count += 1
        if self._count <= 2:
            return float(self._count - 1)
        low, high = self._places
        (up, down), share = self._slopes, 0.5
        if up > 0 > down and self._count % 3 == 1:
            share = up / (up - down)
        elif up > 0 > down and self._count % 3 == 2:
            share = self._crossing()
        return low + min(max(share, _AWAY), 1 - _AWAY) * (high - low)

    def add(self, w: float, minimum: CertifiedMinimum, excess: FloatArray) -> bool:
        """Record the bound at w and the constraints' difference; True at the maximum."""
        side = int((excess <= 0).all())
        if excess.min() < 0 < excess.max():
            return True
        self._places[side], self._values[side] = w, minimum.bound
        self._slopes[side] = minimum.multiplier * float(excess[0])
        (low, high), (up, down) = self._places, self._slopes
        if not up > 0 > down:
            return high - low < _CLOSE
        above = self._values[0] + up * self._crossing() * (high - low)
        best = max(self._values)
        return above - best <= _CLOSE * abs(best) or high - low < _CLOSE

    def _crossing(self) -> float:
        """Intersection of the tangents at both ends, as a share of the interval."""
        (low, high), (up, down) = self._places, self._slopes
        wide = max(high - low, 1e-300)
        return ((self._values[1] - self._values[0]) / wide - down) / (up - down)


def _rounding(objective: Quadratic, reach: float) -> float:
    """Bound on the rounding error of a value within ``reach`` of the origin."""
    p = len(objective.vector)
    terms = float(np.linalg.norm(objective.matrix)) * reach**2
    terms += 2 * float(np.linalg.norm(objective.vector)) * reach + abs(objective.constant)
    return 8 * p * float(np.finfo(float).eps) * terms


def _trust_region(curvature: FloatArray, pull: FloatArray) -> tuple[FloatArray, float, float]:
    """Minimisers (p, k), dual bound and multiplier of Σ λ_i u_i² + 2 h_i u_i on the unit ball."""
    scale = max(float(np.abs(curvature).max()), float(np.linalg.norm(pull)), 1e-300)
    smallest = max(0.0, -float(curvature[0])) + 1e-14 * scale

    multiplier = _multiplier(curvature, pull, smallest)
    step = -pull / (curvature + multiplier)
    bound = float(pull @ step) - multiplier
    if curvature[0] > 0 and multiplier == smallest:
        return step[:, None], float(pull @ step) - smallest, multiplier
    square = float(step @ step)
    if square >= 1.0 - 1e-9:
        return (step / np.sqrt(square))[:, None], bound, multiplier
    # Extend to the sphere along the axis of least curvature; the hard case has two minimisers.
    both = np.repeat(step[:, None], 2, axis=1)
    rest = np.sqrt(max(0.0, 1.0 - float(step[1:] @ step[1:])))
    both[0] = rest, -rest
    return both, bound, multiplier


def _multiplier(curvature: FloatArray, pull: FloatArray, smallest: float) -> float:
    """Multiplier ≥ ``least`` at which the step has length at most 1."""
    multiplier = smallest
    for _ in range(_NEWTON):
        stiffness = curvature + multiplier
        square = (pull / stiffness) ** 2
        length = math.sqrt(float(square.sum()))
        if length <= 1.0:
            break
        more = (length - 1.0) * length**2 / float((square / stiffness).sum())
        if multiplier + more == multiplier:
            break
        multiplier += more
    return multiplier
