"""Mean losses over all switched pairs of rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.fft import dct
from scipy.special import expit, log_softmax

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import check_two_rows
from rashomon_explorer.problem.losses import LOSSES

Function = Callable[[FloatArray], FloatArray]

_STRIP = 0.9 * math.pi  # the functions below are analytic for |Im z| < π
_ERROR = 1e-16
_FLAT = 1e-20  # half-width of an interval on which one node suffices for each function below
_FEW_POINTS = 2  # points a node up to which interpolation takes longer than it saves
_HEIGHT = 12.0  # on the strip each function below is at most |Re z| + 12


@dataclass(frozen=True)
class SoftplusKernel:
    """Σ_ij α_i g(b_i + a_j) β_j for g = log(1 + eˢ) and functions derived from it.

    Sums take the values (m, m') of g on the grid of both sides' nodes, ``g(kernel.arguments)``.
    """

    # The sides are kept separate from the interpolation: sums over rows are taken on polynomials
    # first, so no n × m product with an m × m matrix is needed.
    left: "Points"
    right: "Points"
    arguments: FloatArray  # (m, m'): t_k + u_l

    @classmethod
    def from_scores(cls, b: FloatArray, a: FloatArray) -> "SoftplusKernel":
        """Kernel of the unswitched scores b (n,) and the switched scores a (n,)."""
        reach = float(np.abs(b).max() + np.abs(a).max())
        left, right = _interpolation(b, reach), _interpolation(a, reach)
        return cls(left, right, left.nodes[:, None] + right.nodes)

    @staticmethod
    def cells(b: FloatArray, a: FloatArray) -> int:
        """Count the arguments; if there are almost as many as pairs, summing pairs is cheaper."""
        reach = float(np.abs(b).max() + np.abs(a).max())
        counts = (_degree(float(np.ptp(side)) / 2, reach) + 1 for side in (b, a))
        return math.prod(len(b) if len(b) <= _FEW_POINTS * count else count for count in counts)

    def total(self, values: FloatArray) -> float:
        """Σ_ij g(b_i + a_j)."""
        return float(self.left.sums @ values @ self.right.sums)

    def between(self, values: FloatArray, alpha: FloatArray, beta: FloatArray) -> FloatArray:
        """αᵀ g β (k, l) for α (n, k) and β (n, l)."""
        if not alpha.shape[1] * beta.shape[1]:
            return np.zeros((alpha.shape[1], beta.shape[1]))
        if alpha.shape[1] < beta.shape[1]:
            gathered = self.left.gathered(alpha).T @ values
            return np.asarray(self.right.at_points(gathered.T).T @ beta)
        return np.asarray(alpha.T @ self.left.at_points(values @ self.right.gathered(beta)))

    def left_sums(self, values: FloatArray) -> FloatArray:
        """Σ_j g(b_i + a_j) for each i, shape (n,)."""
        return self.left.at_points(values @ self.right.sums)

    def right_sums(self, values: FloatArray) -> FloatArray:
        """Σ_i g(b_i + a_j) for each j, shape (n,)."""
        return self.right.at_points(self.left.sums @ values)


@dataclass(frozen=True)
class Points:
    """Few points, which are their own nodes."""

    nodes: FloatArray  # (m,)

    @property
    def sums(self) -> FloatArray:
        """Weights (m,) of the nodes' values in a function's sum over the points."""
        return np.ones(len(self.nodes))

    def gathered(self, weights: FloatArray) -> FloatArray:
        """Weights (m, k) of the nodes' values in sums over the points weighted by (n, k)."""
        return weights

    def at_points(self, values: FloatArray) -> FloatArray:
        """Evaluate the function (n,) or (n, k) at the points, from (m,) or (m, k) at the nodes."""
        return values


def _interpolation(points: FloatArray, reach: float) -> Points:
    """Interpolation at points (n,), where ``reach`` bounds the sum of both sides' |values|."""
    middle, half = float(points.max() + points.min()) / 2, float(np.ptp(points)) / 2
    if half <= _FLAT:
        constant = np.ones((1, len(points)))
        return Chebyshev(np.array([middle]), constant, constant)
    count = _degree(half, reach) + 1
    if len(points) <= _FEW_POINTS * count:
        return Points(points)
    x = np.clip((points - middle) / half, -1.0, 1.0)
    step = max(2, math.isqrt(count))
    first = _chebyshev(x, step + 1)
    high = _chebyshev(first[step], -(-count // step))
    nodes = np.cos((np.arange(count) + 0.5) * (math.pi / count))
    return Chebyshev(middle + half * nodes, first[:step], high)


@dataclass(frozen=True)
class Chebyshev(Points):
    """Chebyshev interpolation of functions of some points."""

    low: FloatArray  # (q, n): T_0 … T_{q − 1} at each point
    high: FloatArray  # (m/q, n): T_0, T_q, T_2q, …

    @cached_property
    def sums(self) -> FloatArray:
        """See :class:`Points`."""
        return self._unfolded((self.high @ self.low.T)[:, :, None])[:, 0]

    def gathered(self, weights: FloatArray) -> FloatArray:
        """See :class:`Points`."""
        products = [(self.high * weight) @ self.low.T for weight in weights.T]
        return self._unfolded(np.stack(products, axis=2))

    def at_points(self, values: FloatArray) -> FloatArray:
        """See :class:`Points`."""
        if values.ndim == 2:
            return np.column_stack([self.at_points(column) for column in values.T])
        steps, width = len(self.high), len(self.low)
        c = np.zeros(steps * width)
        c[: len(values)] = dct(values) / len(values)
        c[0] /= 2
        for start in range((steps - 1) * width, 0, -width):
            above = c[start + 1 : start + width]
            c[start - 1 : start - width : -1] -= above
            above *= 2
        return np.asarray(((c.reshape(steps, width) @ self.low) * self.high).sum(axis=0))

    def _unfolded(self, products: FloatArray) -> FloatArray:
        """Weights (m, k) of the nodes' values, from sums (m/q, q, k) of T_{lq}·T_r."""
        steps, width, columns = products.shape
        sums = np.empty((steps * width, columns))
        sums[:width] = products[0]
        for start, product in zip(range(width, len(sums), width), products[1:], strict=True):
            sums[start] = product[0]
            below = sums[start - 1 : start - width : -1]
            sums[start + 1 : start + width] = 2 * product[1:] - below
        count = len(self.nodes)
        return np.asarray(dct(sums[:count], type=3, axis=0)) / count


def softplus(s: FloatArray) -> FloatArray:
    """log(1 + eˢ)."""
    return np.asarray(np.logaddexp(0.0, s))


def slope(s: FloatArray) -> FloatArray:
    """σ(s), its derivative."""
    return np.asarray(expit(s))


def majorant(s: FloatArray) -> FloatArray:
    """2λ(s) = tanh(s/2)/(2s), the curvature of the upper quadratic that touches at ±s."""
    safe = np.where(np.abs(s) < 1e-4, 1.0, s)
    return np.where(np.abs(s) < 1e-4, 0.25 - s * s / 48, np.tanh(safe / 2) / (2 * safe))


def _degree(half_width: float, reach: float) -> int:
    if half_width <= _FLAT:
        return 0
    log_rho = math.asinh(_STRIP / half_width)
    largest = reach + half_width * math.cosh(log_rho) + _HEIGHT
    return math.ceil((math.log(4 * largest / _ERROR) - math.log(math.expm1(log_rho))) / log_rho)


def _chebyshev(x: FloatArray, count: int) -> FloatArray:
    """T_0 … T_{count − 1} at x, shape (count, n)."""
    values = np.empty((count, len(x)))
    values[0] = 1.0
    if count > 1:
        values[1] = x
    twice = 2 * x
    for k in range(2, count):
        np.multiply(twice, values[k - 1], out=values[k])
        values[k] -= values[k - 2]
    return values


MOST_PAIRS = 4_000_000_000
"""Largest number of pairs of rows, over all models; more would take minutes."""

_BLOCK = 1_000_000


def switched_mean(
    base: FloatArray, moving: FloatArray, targets: FloatArray, loss: str
) -> FloatArray:
    """Mean over i ≠ j of ℓ(y_i, b_i + a_j), the e_switch of linear scores."""
    check_two_rows(base.shape[1])
    if loss in _FAST and base.shape[2] == 1:
        pairs = zip(base[..., 0], moving[..., 0], strict=True)
        return np.array([_FAST[loss](b, a, targets) for b, a in pairs])
    return _every_pair(base, moving, targets, loss)


def row_losses(loss: str, scores: FloatArray, targets: FloatArray) -> FloatArray:
    """Loss (…, n) of scores (…, n, outputs); with several outputs, class 0 has the score 0."""
    if loss not in ("zero_one", "softmax"):
        margin_loss: Any = LOSSES[loss]()
        score = scores[..., 0]
        of_errors = margin_loss.task == "regression"
        a = score - targets if of_errors else margin_loss.shift - (2 * targets - 1) * score
        return np.asarray(margin_loss.function.value(a))
    rivals = np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)
    if loss == "zero_one":
        return np.asarray(rivals.argmax(axis=-1) != targets).astype(float)
    codes = np.broadcast_to(targets.astype(int), rivals.shape[:-1])[..., None]
    return -np.take_along_axis(log_softmax(rivals, axis=-1), codes, axis=-1)[..., 0]


def _squared_pairs(b: FloatArray, a: FloatArray, y: FloatArray) -> float:
    # The mean of ½(r_i − a_j)² over i ≠ j with r = y − b, expanded.
    residual, n = y - b, len(y)
    crossed = (residual.sum() * a.sum() - residual @ a) / (n - 1)
    return float((residual @ residual + a @ a - 2 * crossed) / (2 * n))


def _zero_one_pairs(b: FloatArray, a: FloatArray, codes: FloatArray) -> float:
    # b + a > 0 exactly if a > −b: a floating-point sum is 0 only if the real sum is 0.
    n = len(a)
    positive = n - np.searchsorted(np.sort(a), -b, side="right")
    wrong = np.where(codes == 1, n - positive, positive).sum()
    diagonal = ((b + a > 0) != (codes == 1)).sum()
    return float(wrong - diagonal) / (n * (n - 1))


def _logistic_pairs(b: FloatArray, a: FloatArray, codes: FloatArray) -> float:
    n = len(a)
    if SoftplusKernel.cells(b, a) > max(n * n / 4, _BLOCK):
        scores = (b[None, :, None], a[None, :, None])
        return float(_every_pair(*scores, codes, "logistic")[0])
    kernel = SoftplusKernel.from_scores(b, a)
    total = kernel.total(softplus(kernel.arguments))
    total -= float((n * b + a.sum()) @ codes)  # log(1 + e^{−s}) = log(1 + eˢ) − s
    total -= float(row_losses("logistic", (b + a)[:, None], codes).sum())
    return total / (n * (n - 1))


_FAST: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float]] = {
    "squared": _squared_pairs,
    "logistic": _logistic_pairs,
    "zero_one": _zero_one_pairs,
}


def _every_pair(base: FloatArray, moving: FloatArray, targets: FloatArray, loss: str) -> FloatArray:
    models, n, _ = base.shape
    if models * n * n > MOST_PAIRS:
        raise ValueError(
            f"this loss needs all pairs of rows, {models} × {n:,}², more than the limit "
            f"{MOST_PAIRS:,}: pass fewer rows or models"
        )
    total = np.zeros(models)
    for b, a, model in zip(base, moving, range(models), strict=True):
        step = max(1, _BLOCK // (n * a.shape[1]))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            each = row_losses(loss, b[rows, None, :] + a[None, :, :], targets[rows, None])
            total[model] += each.sum()
        total[model] -= row_losses(loss, b + a, targets).sum()
    return total / (n * (n - 1))
