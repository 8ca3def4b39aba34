"""The minimiser of a loss with a linear term, certified as closely as its noise allows for."""

import math
from typing import cast

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses import Loss
from rashomon_explorer.minimum import Objective
from rashomon_explorer.minimum.ball import minimise_on_ball
from rashomon_explorer.problem import Problem

_ON_SPHERE = 1e-9


class Followed(Problem):
    """The same rows and domain, under another loss and ridge; nothing is copied.

    Parameters
    ----------
    problem : Problem
    loss : Loss
    ridge : float

    Examples
    --------
    >>> from rashomon_explorer.losses.clipped_pull import ClippedLogisticLoss
    >>> problem = Problem([[0.5], [-0.5]], [1, -1])
    >>> Followed(problem, ClippedLogisticLoss(), ridge=0.5).m
    0.5
    """

    def __init__(self, problem: Problem, loss: Loss, ridge: float) -> None:
        constants = Constants.of(
            loss,
            n=problem.n,
            p=problem.p,
            domain=problem.domain,
            row_bound=problem.row_bound,
            ridge=ridge,
        )
        self._pose_again(problem, domain=problem.domain, ridge=ridge, constants=constants)
        if loss != problem.loss:
            self.loss = loss
            self._objective = Objective(problem.of_loss(loss), ridge)


class Tilted:
    """A problem's objective with a linear term b·θ, for the solver.

    Parameters
    ----------
    problem : Problem
    tilt : ndarray of shape (p,)

    Examples
    --------
    >>> tilted = Tilted(Problem([[0.5], [-0.5]], [1, -1]), np.array([1.0, 0.0]))
    >>> tilted.value_and_gradient(np.zeros((2, 1)))[1].T
    array([[0.75, 0.  ]])
    """

    def __init__(self, problem: Problem, tilt: FloatArray) -> None:
        self._problem, self._tilt = problem, tilt

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` (p, K)."""
        value, gradient = self._problem.value_and_gradient(theta)
        return value + self._tilt @ theta, gradient + self._tilt[:, None]

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        return self._problem.hessian(theta)


def tilted_minimiser(problem: Problem, tilt: FloatArray, error: float) -> FloatArray:
    """Minimiser (p,) over the ball, certified to lie within ``error`` of the exact one.

    With r = ∇J(θ) + λθ, λ ≥ 0, the distance d has md² ≤ ‖r‖d + λ‖θ‖(R − ‖θ‖) (docs/theory.md §15).

    Raises
    ------
    SamplerError
        If rounding keeps it from being certified so closely.
    """
    objective, ball = cast(Objective, Tilted(problem, tilt)), cast(Ball, problem.domain)
    # Steps go on below it, for as long as they lower the gap.
    tolerance = problem.m * error**2 / 2
    theta = minimise_on_ball(objective, ball, tolerance, np.zeros(problem.p)).theta
    off = distance_bound(objective, theta, ball.radius, problem.m)
    if off > error:
        raise SamplerError(
            f"the tilted minimiser could not be certified to {error:.2e}, only to {off:.2e}: use "
            "more ridge or a larger epsilon"
        )
    return theta


def distance_bound(
    objective: Objective, theta: FloatArray, radius: float, strong_convexity: float
) -> float:
    """Bound ‖r‖/m + √(λ‖θ‖(R − ‖θ‖)/m) of the distance from the minimiser over the ball.

    Examples
    --------
    >>> problem = Problem([[0.5], [-0.5]], [1, -1], ridge=0.5)
    >>> best = problem.minimum.theta
    >>> objective = cast(Objective, Tilted(problem, np.zeros(2)))
    >>> distance_bound(objective, best, 4.0, 0.5) < 1e-6 < 0.1
    True
    >>> distance_bound(objective, best + 0.1, 4.0, 0.5) > 0.1
    True
    """
    gradient = objective.value_and_gradient(theta[:, None])[1][:, 0]
    length = float(np.linalg.norm(theta))
    held = length > radius * (1 - _ON_SPHERE)
    multiplier = max(0.0, -float(gradient @ theta) / length**2) if held else 0.0
    residual = float(np.linalg.norm(gradient + multiplier * theta))
    inside = multiplier * length * max(0.0, radius - length)
    return residual / strong_convexity + math.sqrt(inside / strong_convexity)
