"""Models of the Rashomon set: pulled into it, or pushed uphill in it."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains import Ball
from rashomon_explorer.problem import Problem

ValueAndGradient = Callable[[FloatArray], tuple[float, FloatArray]]

_HALVINGS = 50
_ASCENTS = 60
_AT_THE_RIM = 1e-13  # of ψ: a loss this close below the level is on it
_LAST_BITS = 1e-14
_NOTHING = 1e-15  # of a segment: rounding


def pulled_inside(problem: Problem, level: float, points: FloatArray) -> FloatArray:
    """Furthest models of the set on the segments from the best model to ``points`` (p, K).

    The set is convex, so that each segment leaves it once: first the domain, found by halving, then
    the level of the loss, which is convex along the segment, so that a chord's place lies inside.

    ``level`` is the largest loss of the set, at least the best model's.

    >>> problem = Problem([[0.5], [-0.5]], [1, -1], radius=2.0)
    >>> level = problem.minimum.value + 0.1
    >>> inside = pulled_inside(problem, level, np.array([[-9.0], [9.0]]))
    >>> bool(problem.value(inside)[0] <= level)
    True
    """
    best = problem.minimum.theta[:, None]
    move = points - best
    # A loss among other models' differs in its last bits from the same loss alone.
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
        found = problem.value(best + share * move[:, open_]) - level
        kept = found <= 0
        low[open_[kept]], under[open_[kept]] = share[kept], found[kept]
        high[open_[~kept]], over[open_[~kept]] = share[~kept], found[~kept]
        halve[open_] = (high - low)[open_] > wide / 2
    return best + low * move


def _within_domain(problem: Problem, best: FloatArray, move: FloatArray) -> FloatArray:
    """Furthest shares (K,) of the moves that end in the domain."""
    low, high = np.zeros(move.shape[1]), np.ones(move.shape[1])
    for halving in range(_HALVINGS):
        share = high if halving == 0 else (low + high) / 2
        inside = problem.domain.contains(best + share * move)
        low, high = np.where(inside, share, low), np.where(inside, high, share)
        if (low == high).all():
            break
    return low


class LastSeen:
    """A function of one model that remembers its last answer: searches ask several times.

    >>> seen = LastSeen(lambda theta: (print("looked"), theta))
    >>> _ = seen(np.zeros(1)), seen(np.zeros(1))
    looked
    """

    def __init__(self, function: ValueAndGradient) -> None:
        self._function = function
        self._asked: bytes | None = None

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at a model (p,)."""
        if theta.tobytes() != self._asked:
            self._answer = self._function(theta)
            self._asked = theta.tobytes()
        return self._answer


def loss_of(problem: Problem) -> LastSeen:
    """Objective and gradient of a problem at one model at a time.

    >>> loss_of(Problem([[0.5]], [1], loss="squared"))(np.zeros(2))[0]
    0.5
    """

    def look(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = problem.value_and_gradient(theta[:, None])
        return float(value[0]), gradient[:, 0]

    return LastSeen(look)


def climbed(
    problem: Problem,
    level: float,
    start: FloatArray,
    function: ValueAndGradient,
    width: FloatArray | None = None,
    loss: ValueAndGradient | None = None,
) -> FloatArray:
    """Model (p,) of the set that a local search from ``start`` (p,) finds highest.

    A heuristic: sequential quadratic programming on the ball around the domain, and projected
    ascent on another domain. What it finds is attained, nothing more.

    ``function`` takes a model (p,) and gives value and gradient; ``width`` (p,) bounds |θ − θ*| on
    the set, beyond which the search need not look. ``loss`` is :func:`loss_of` the problem, where
    ``function`` asks it too.
    """
    loss = loss or loss_of(problem)
    wide = np.full(problem.p, problem.domain.diameter) if width is None else 1.01 * width
    scale = max(level - problem.minimum.value, 1e-12)

    def slack(theta: FloatArray) -> FloatArray:
        return np.array(
            [
                (level - loss(theta)[0]) / scale,
                1 - float(theta @ theta) / problem.domain.radius**2,
            ]
        )

    def slope(theta: FloatArray) -> FloatArray:
        return np.stack([-loss(theta)[1] / scale, -2 * theta / problem.domain.radius**2])

    def down(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(theta)
        return -value / scale, -gradient / scale

    # Any: scipy's overloads do not know a function that returns its gradient too.
    search: Any = minimize
    with warnings.catch_warnings():
        # A step may round beyond the bounds; what is found is pulled inside anyway.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = search(
            down,
            start,
            jac=True,
            method="SLSQP",
            bounds=np.column_stack([problem.minimum.theta - wide, problem.minimum.theta + wide]),
            constraints=[{"type": "ineq", "fun": slack, "jac": slope}],
            options={"maxiter": 60, "ftol": 1e-10},
        )
    end = found.x if np.isfinite(found.x).all() else start
    ends = pulled_inside(problem, level, np.column_stack([start, end]))
    best: FloatArray = ends[:, int(np.argmax([function(one)[0] for one in ends.T]))]
    if isinstance(problem.domain, Ball):
        return best
    return _projected_ascent(problem, level, best, function)


def _projected_ascent(
    problem: Problem, level: float, theta: FloatArray, function: ValueAndGradient
) -> FloatArray:
    value, gradient = function(theta)
    step = problem.domain.diameter / max(float(np.linalg.norm(gradient)), 1e-300)
    for _ in range(_ASCENTS):
        outside = problem.domain.project((theta + step * gradient)[:, None])
        new = pulled_inside(problem, level, outside)[:, 0]
        new_value, new_gradient = function(new)
        if new_value > value:
            theta, value, gradient = new, new_value, new_gradient
        else:
            step /= 2
    return theta
