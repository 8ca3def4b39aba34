"""What is minimised: the mean loss with its ridge."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import is_foreign, namespace
from rashomon_explorer.losses import EmpiricalLoss


class Objective:
    """Mean loss plus ½·ridge·‖θ‖², for K models at once.

    Parameters
    ----------
    loss : EmpiricalLoss
    ridge : float
    """

    def __init__(self, loss: EmpiricalLoss, ridge: float) -> None:
        self.loss = loss
        self.ridge = ridge
        self.p = loss.p

    def value(self, theta: FloatArray) -> FloatArray:
        """Objective (K,) of each column of ``theta`` (p, K)."""
        value = self.loss.value(theta)
        return value + self.ridge / 2 * _squares(theta) if self.ridge else value

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` (p, K), or of a stack."""
        value, gradient = self.loss.value_and_gradient(theta)
        if self.ridge == 0:
            return value, gradient
        return value + self.ridge / 2 * _squares(theta), gradient + self.ridge * theta

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        return self.loss.hessian(theta) + self.ridge * np.eye(self.p)


def _squares(theta: FloatArray) -> FloatArray:
    """‖θ‖² of each column of ``theta`` (..., p, K), a NumPy array's or another library's."""
    if is_foreign(theta):
        squares: FloatArray = namespace(theta).sum(theta * theta, axis=-2)
        return squares
    return np.asarray(np.einsum("...ij,...ij->...j", theta, theta))


@dataclass(frozen=True)
class Place:
    """A model, its value and its gradient."""

    theta: FloatArray
    value: float
    gradient: FloatArray

    @classmethod
    def of(cls, objective: Objective, theta: FloatArray) -> "Place":
        """Evaluate one model (p,)."""
        value, gradient = objective.value_and_gradient(theta[:, None])
        return cls(theta, float(value[0]), gradient[:, 0])


def step_towards(objective: Objective, place: Place, target: FloatArray) -> Place:
    """Step towards ``target``, halved until the objective falls; the same place if it does not."""
    move = target - place.theta
    promise = float(place.gradient @ move)
    step = 1.0
    for _ in range(40):
        new = Place.of(objective, target if step == 1.0 else place.theta + step * move)
        # Near the minimum the decrease drowns in rounding: accept what does not visibly climb.
        allowed = 1e-4 * step * promise + 4e-16 * max(1.0, math.fabs(place.value))
        if new.value <= place.value + allowed:
            return place if np.array_equal(new.theta, place.theta) else new
        step /= 2
    return place
