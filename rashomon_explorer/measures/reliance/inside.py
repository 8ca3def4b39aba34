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


def pulled_inside(problem: Problem, level: float, points: FloatArray) -> FloatArray:
    """Furthest models of the set on the segments from the best model to ``points`` (p, K).

    The set is convex, so that bisection finds where each segment leaves it.

    ``level`` is the largest loss of the set, at least the best model's.

    >>> problem = Problem([[0.5], [-0.5]], [1, -1], radius=2.0)
    >>> level = problem.minimum.value + 0.1
    >>> inside = pulled_inside(problem, level, np.array([[-9.0], [9.0]]))
    >>> bool(problem.value(inside)[0] <= level)
    True
    """
    best = problem.minimum.theta[:, None]
    move = points - best
    low, high = np.zeros(points.shape[1]), np.ones(points.shape[1])
    for halving in range(_HALVINGS):
        share = high if halving == 0 else (low + high) / 2
        theta = best + share * move
        inside = problem.domain.contains(theta) & (problem.value(theta) <= level)
        low, high = np.where(inside, share, low), np.where(inside, high, share)
    return best + low * move


def climbed(
    problem: Problem,
    level: float,
    start: FloatArray,
    function: ValueAndGradient,
    width: FloatArray | None = None,
) -> FloatArray:
    """Model (p,) of the set that a local search from ``start`` (p,) finds highest.

    A heuristic: sequential quadratic programming on the ball around the domain, and projected
    ascent on another domain. What it finds is attained, nothing more.

    ``function`` takes a model (p,) and gives value and gradient; ``width`` (p,) bounds |θ − θ*| on
    the set, beyond which the search need not look.
    """
    wide = np.full(problem.p, problem.domain.diameter) if width is None else 1.01 * width
    scale = max(level - problem.minimum.value, 1e-12)

    def slack(theta: FloatArray) -> FloatArray:
        return np.array(
            [
                (level - float(problem.value(theta[:, None])[0])) / scale,
                1 - float(theta @ theta) / problem.domain.radius**2,
            ]
        )

    def slope(theta: FloatArray) -> FloatArray:
        gradient = problem.value_and_gradient(theta[:, None])[1][:, 0]
        return np.stack([-gradient / scale, -2 * theta / problem.domain.radius**2])

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
