"""Sums over all pairs of a smooth function of b_i + a_j, without looking at the pairs."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray

Function = Callable[[FloatArray], FloatArray]

_STRIP = 0.9 * math.pi  # the functions below are analytic for |Im z| < π
_ERROR = 1e-16
_FLAT = 1e-20  # no function below moves by more on an interval of this half-width: one node does
_HEIGHT = 12.0  # on the strip each of them is at most |Re z| + 12


@dataclass(frozen=True)
class SoftplusKernel:
    """Σ_ij α_i g(b_i + a_j) β_j for g = log(1 + eˢ) and what is built of it.

    log(1 + eˢ), σ(s), σ'(s) and tanh(s/2)/(4s) are analytic in the strip |Im s| < π. On an
    interval of half-width w their Chebyshev interpolants of degree m err by at most
    4·M·ρ^{−m}/(ρ − 1), with M their largest modulus on the Bernstein ellipse
    log ρ = arsinh(0.9π/w), which lies inside the strip (Trefethen, Approximation Theory and
    Approximation Practice, 2013, Theorem 8.2). So the n × n matrix g(b_i + a_j) is
    T(b)·C·g(t_k + u_l)·Cᵀ·T(a)ᵀ to rounding, with some 12·w + 10 nodes t, u a side, and every sum
    over pairs costs O(n·m) instead of O(n²).

    >>> b, a = np.array([0.0, 1.0]), np.array([0.5, -2.0])
    >>> kernel, ones = SoftplusKernel.of(b, a), np.ones((2, 1))
    >>> exact = np.logaddexp(0, b[:, None] + a).sum()
    >>> bool(abs(kernel.between(softplus, ones, ones)[0, 0] - exact) < 1e-14)
    True
    """

    # left, right: (n, m) and (n, m'): Chebyshev polynomials at b and a, times the interpolation at
    # the nodes
    left: FloatArray
    right: FloatArray
    arguments: FloatArray  # (m, m'): t_k + u_l

    @classmethod
    def of(cls, b: FloatArray, a: FloatArray) -> "SoftplusKernel":
        """Kernel of the scores b (n,) that stay and a (n,) that move."""
        reach = float(np.abs(b).max() + np.abs(a).max())
        stay, left = _interpolation(b, reach)
        move, right = _interpolation(a, reach)
        return cls(left, right, stay[:, None] + move)

    @staticmethod
    def nodes(b: FloatArray, a: FloatArray) -> int:
        """Nodes of both sides together: with more of them than rows, pairs are cheaper."""
        reach = float(np.abs(b).max() + np.abs(a).max())
        return sum(_degree(float(np.ptp(one)) / 2, reach) + 1 for one in (b, a))

    def between(self, g: Function, alpha: FloatArray, beta: FloatArray) -> FloatArray:
        """αᵀ g β (k, l) for α (n, k) and β (n, l)."""
        return np.asarray((alpha.T @ self.left) @ g(self.arguments) @ (self.right.T @ beta))

    def of_left(self, g: Function) -> FloatArray:
        """Σ_j g(b_i + a_j) for each i, shape (n,)."""
        return np.asarray(self.left @ (g(self.arguments) @ self.right.sum(axis=0)))

    def of_right(self, g: Function) -> FloatArray:
        """Σ_i g(b_i + a_j) for each j, shape (n,)."""
        return np.asarray(self.right @ (g(self.arguments).T @ self.left.sum(axis=0)))


def softplus(s: FloatArray) -> FloatArray:
    """log(1 + eˢ)."""
    return np.asarray(np.logaddexp(0.0, s))


def slope(s: FloatArray) -> FloatArray:
    """σ(s), its derivative."""
    return np.asarray(expit(s))


def curvature(s: FloatArray) -> FloatArray:
    """σ'(s) = σ(s)σ(−s), its second derivative."""
    return np.asarray(expit(s) * expit(-s))


def majorant(s: FloatArray) -> FloatArray:
    """2λ(s) = tanh(s/2)/(2s), the curvature of the quadratic that touches from above at ±s.

    log(1 + eᵗ) ≤ log(1 + eˢ) + σ(s)(t − s) + λ(s)(t − s)² for every t (Jaakkola and Jordan,
    Bayesian parameter estimation via variational methods, 2000): log(1 + eᵗ) − t/2 is a concave
    function of t².

    Examples
    --------
    >>> majorant(np.array([0.0])).tolist()
    [0.25]
    """
    safe = np.where(np.abs(s) < 1e-4, 1.0, s)
    return np.where(np.abs(s) < 1e-4, 0.25 - s * s / 48, np.tanh(safe / 2) / (2 * safe))


def _degree(half_width: float, reach: float) -> int:
    if half_width <= _FLAT:
        return 0
    log_rho = math.asinh(_STRIP / half_width)
    largest = reach + half_width * math.cosh(log_rho) + _HEIGHT
    return math.ceil((math.log(4 * largest / _ERROR) - math.log(math.expm1(log_rho))) / log_rho)


def _interpolation(points: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
    """Nodes (m,) of the points' interval, and each point's weights of them (n, m)."""
    middle, half = float(points.max() + points.min()) / 2, float(np.ptp(points)) / 2
    count = _degree(half, reach) + 1
    angle = (np.arange(count) + 0.5) * (math.pi / count)
    if half <= _FLAT:
        return np.array([middle]), np.ones((len(points), 1))
    x = np.clip((points - middle) / half, -1.0, 1.0)
    to_coefficients = np.cos(np.outer(np.arange(count), angle)) * (2.0 / count)
    to_coefficients[0] /= 2
    return middle + half * np.cos(angle), _chebyshev(x, count).T @ to_coefficients


def _chebyshev(x: FloatArray, count: int) -> FloatArray:
    """T_0 … T_{count − 1} at x, shape (count, n)."""
    values = np.ones((count, len(x)))
    if count > 1:
        values[1] = x
    for k in range(2, count):
        np.multiply(2 * x, values[k - 1], out=values[k])
        values[k] -= values[k - 2]
    return values
