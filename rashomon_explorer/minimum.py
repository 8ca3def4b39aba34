"""The certified minimum of a convex loss on a ball."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rashomon_explorer.domains import Ball
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses import EmpiricalLoss

FloatArray = NDArray[np.float64]

_ON_SPHERE = 1e-9
_MOST_STEPS = 200
_ROUNDING = 8 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Minimum:
    """Best model, with a proof of how good it is.  Curator: computed from private rows.

    Parameters
    ----------
    theta : ndarray of shape (p,)
        Model whose loss is within ``gap`` of the least.
    value : float
        Its loss.
    gap : float
        Duality gap max_{ϑ in C} ∇L(θ)·(θ − ϑ), an upper bound of L(θ) − min L for convex L.
    multiplier : float
        λ ≥ 0 of the constraint: ∇L(θ) ≈ −λθ; 0 inside the ball.
    slack : float
        Upper bound of what the Lagrangian's minimum at θ leaves out, for points of the ball:
        2R‖∇L(θ) + λθ‖ + ½λ(R² − ‖θ‖²).
    """

    theta: FloatArray
    value: float
    gap: float
    multiplier: float
    slack: float

    @property
    def on_boundary(self) -> bool:
        """Whether the ball holds the minimiser back."""
        return self.multiplier > 0


def minimise(empirical: "Objective", domain: Ball, tolerance: float) -> Minimum:
    """Minimise on the ball by Newton steps with an exact quadratic subproblem.

    Parameters
    ----------
    empirical : Objective
        Convex objective with ``value_and_gradient`` of (p, K) blocks and ``hessian``.
    domain : Ball
    tolerance : float
        Duality gap to reach; it is a public constant, because the price of a draw depends on it.

    Returns
    -------
    Minimum

    Raises
    ------
    SamplerError
        If the gap cannot be certified.

    Notes
    -----
    Each step solves min over the ball of the second-order model by its secular equation and
    searches back along the chord, which is feasible because the ball is convex.
    """
    theta = np.zeros(empirical.p)
    value, gradient = _evaluate(empirical, theta)
    best: Minimum | None = None
    for _ in range(_MOST_STEPS):
        candidate = _certify(theta, value, gradient, domain.radius)
        if best is not None and candidate.gap >= best.gap and best.gap <= tolerance:
            break
        if best is None or candidate.gap < best.gap:
            best = candidate
        target = _model_minimiser(empirical.hessian(theta), gradient, theta, domain.radius)
        theta, value, gradient, moved = _search(empirical, theta, target, value, gradient)
        if not moved:
            break
    assert best is not None
    if best.gap > tolerance:
        raise SamplerError(
            f"the minimum could not be certified: duality gap {best.gap:.2e}, wanted "
            f"{tolerance:.2e}; add some ridge or drop collinear columns"
        )
    return best


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
        return self.loss.value(theta) + self.ridge / 2 * np.einsum("ij,ij->j", theta, theta)

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` (p, K)."""
        value, gradient = self.loss.value_and_gradient(theta)
        square = np.einsum("ij,ij->j", theta, theta)
        return value + self.ridge / 2 * square, gradient + self.ridge * theta

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        return self.loss.hessian(theta) + self.ridge * np.eye(self.p)


def _evaluate(empirical: Objective, theta: FloatArray) -> tuple[float, FloatArray]:
    value, gradient = empirical.value_and_gradient(theta[:, None])
    return float(value[0]), gradient[:, 0]


def _certify(theta: FloatArray, value: float, gradient: FloatArray, radius: float) -> Minimum:
    norm = float(np.linalg.norm(theta))
    length = radius * float(np.linalg.norm(gradient))
    gap = max(0.0, float(gradient @ theta) + length) + _ROUNDING * (length + abs(value))
    multiplier = 0.0
    if norm > radius * (1 - _ON_SPHERE):
        multiplier = max(0.0, -float(gradient @ theta) / norm**2)
    residual = float(np.linalg.norm(gradient + multiplier * theta))
    slack = 2 * radius * residual + multiplier / 2 * max(0.0, radius**2 - norm**2)
    return Minimum(theta, value, gap, multiplier, slack)


def _model_minimiser(
    hessian: FloatArray, gradient: FloatArray, theta: FloatArray, radius: float
) -> FloatArray:
    """Minimiser over the ball of the second-order model at ``theta``."""
    eigenvalues, vectors = np.linalg.eigh(hessian)
    floor = max(float(eigenvalues[-1]), 1e-300) * 1e-14
    eigenvalues = np.maximum(eigenvalues, floor)
    pull = eigenvalues * (vectors.T @ theta) - vectors.T @ gradient

    def outside(multiplier: float) -> float:
        return float(np.linalg.norm(pull / (eigenvalues + multiplier))) - radius

    multiplier = 0.0
    if outside(0.0) > 0:
        high = float(np.linalg.norm(pull)) / radius
        multiplier = float(brentq(outside, 0.0, high, xtol=1e-300, rtol=1e-15, maxiter=500))
    point = vectors @ (pull / (eigenvalues + multiplier))
    norm = float(np.linalg.norm(point))
    return point * (radius / norm) if multiplier > 0 or norm > radius else point


def _search(
    empirical: Objective, theta: FloatArray, target: FloatArray, value: float, gradient: FloatArray
) -> tuple[FloatArray, float, FloatArray, bool]:
    """Step towards ``target``, halved until the objective falls."""
    move = target - theta
    promise = float(gradient @ move)
    step = 1.0
    for _ in range(40):
        point = target if step == 1.0 else theta + step * move
        new, new_gradient = _evaluate(empirical, point)
        # Near the minimum the decrease drowns in rounding: accept what does not visibly climb.
        if new <= value + 1e-4 * step * promise + 4e-16 * max(1.0, math.fabs(value)):
            return point, new, new_gradient, not np.array_equal(point, theta)
        step /= 2
    return theta, value, gradient, False
