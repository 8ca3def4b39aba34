"""Objective perturbation of logistic models, with constants that hold for replacing one row.

A peer, not a part of the package: Chaudhuri, Monteleoni and Sarwate (2011), Kifer, Smith and
Thakurta (2012). The minimiser of Σℓ + (Δ/2)‖θ‖² + b·θ, with rows of norm at most B, reveals b
through a map whose determinant one row of a linear model changes by a factor of at most
1 + B²/(4Δ): Δ = B²/(4(e^{ε/2} − 1)) keeps that within ε/2. Replacing a row moves the gradient by
at most 2B, and b's density by the other half:

- δ = 0: density ∝ exp(−ε‖b‖/(4B)).
- δ > 0: N(0, σ²I). The move is in the span of two rows, where b has norm at most σ√(2 log(1/δ))
  with probability 1 − δ: u = 2B/σ with u√(2 log(1/δ)) + u²/2 = ε/2.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray


def fit(
    rows: FloatArray, signs: FloatArray, epsilon: float, delta: float, rng: np.random.Generator
) -> FloatArray:
    """Private model (p,) of rows (n, p), the constant included, and labels −1 and 1."""
    bound = float(np.sqrt(2.0))
    ridge = bound**2 / 4 / np.expm1(epsilon / 2)
    pull = noise(rows.shape[1], bound, epsilon, delta, rng)
    turned = rows * -signs[:, None]

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        margins = turned @ theta
        value = np.logaddexp(0.0, margins).sum() + ridge / 2 * theta @ theta + pull @ theta
        return float(value), turned.T @ expit(margins) + ridge * theta + pull

    start = np.zeros(rows.shape[1])
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=_EXACTLY)
    return np.asarray(found.x)


_EXACTLY = {"maxiter": 5_000, "ftol": 1e-14, "gtol": 1e-9}


def noise(
    p: int, bound: float, epsilon: float, delta: float, rng: np.random.Generator
) -> FloatArray:
    """Draw b (p,)."""
    direction = rng.standard_normal(p)
    if delta == 0:
        length = rng.gamma(p, 4 * bound / epsilon)
        return np.asarray(direction * length / np.linalg.norm(direction))
    return np.asarray(direction * 2 * bound / _ratio(epsilon, delta))


def _ratio(epsilon: float, delta: float) -> float:
    """Solve u√(2 log(1/δ)) + u²/2 = ε/2 for u."""
    tail = np.sqrt(2 * np.log(1 / delta))
    return float(np.sqrt(tail**2 + epsilon) - tail)
