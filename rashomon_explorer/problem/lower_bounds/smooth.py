"""Lower bounds of logistic, softmax and squared losses around a model."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackError, eigsh
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses import base, chunked, logistic, scikit_learn, softmax


class ExcessBound:
    """A certified lower bound of the excess loss around a model θ*."""

    def radial(self, radius: FloatArray) -> FloatArray:
        """Lower bound as a function of the radius, nondecreasing, 0 at 0; same shape."""
        raise NotImplementedError

    def along(self, unit: FloatArray, radius: FloatArray) -> FloatArray | None:
        """Lower bound (K,) at radius·unit, for unit vectors (p, K); None if only by the radius."""
        return None

    def at(self, points: FloatArray) -> FloatArray:
        """Lower bound (K,) at whitened points (p, K)."""
        radius = np.sqrt(np.einsum("ij,ij->j", points, points))
        radial = self.radial(radius)
        along = self.along(points / np.maximum(radius, 1e-300), radius)
        return radial if along is None else np.maximum(radial, along)


@dataclass(frozen=True)
class QuadraticBound(ExcessBound):
    """r²/2, which is exact for every quadratic loss."""

    def radial(self, radius: FloatArray) -> FloatArray:
        return np.asarray(radius, dtype=float) ** 2 / 2

    def at(self, points: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->j", points, points) / 2)


_ALL_AT_ONCE = 400  # up to this size, all eigenvalues are computed
_ABOVE = 1 + 1e-11  # exceeds the error of a factorisation


def largest_eigenvalue(matrix: FloatArray) -> float:
    """Upper bound of λ_max(A), for A ⪰ 0, accurate to about 1e-11."""
    size = len(matrix)
    if size > _ALL_AT_ONCE:
        start = np.cos(np.arange(size))  # deterministic, and in no invariant subspace
        try:
            values = eigsh(matrix, k=1, which="LA", v0=start, return_eigenvectors=False)
        except ArpackError:
            values = np.zeros(1)
        above = float(values[0]) * _ABOVE
        if _none_above(above, matrix):
            return above
    return float(np.linalg.eigvalsh(matrix)[-1])


def _none_above(bound: float, matrix: FloatArray) -> bool:
    """Whether no eigenvalue of a matrix exceeds a bound, up to rounding."""
    gap = -matrix
    gap[np.diag_indices_from(gap)] += bound
    try:
        scipy.linalg.cholesky(gap, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


LARGEST_SPECTRUM = 64  # p(p+1)/2 = 2,080 columns; beyond, the eigenproblem takes minutes
_LARGEST_PAIRED = 40  # p⁴ numbers
_ROWS_AT_ONCE = 1024  # their squares stay in the cache
_ROUNDING = 1 + 1e-9  # eigenvalues and sums have errors of about 1e-14: keeps upper bounds valid


@dataclass(frozen=True)
class FourthMoment:
    """The form Σ w_i (b_i·v)⁴, w_i ≥ 0, as a quadratic form of vvᵀ."""

    # (q, q), q = p(p+1)/2: Σ w_i B_i B_iᵀ with B_i the coordinates of b_i b_iᵀ; see
    # :func:`outer_squares`
    gram: FloatArray
    p: int

    @classmethod
    def from_rows(cls, rows: FloatArray, weights: FloatArray) -> "FourthMoment":
        p = rows.shape[1]
        gram = np.zeros((p * (p + 1) // 2,) * 2)
        for part, squares in _squares(rows):
            squares *= np.sqrt(weights[part])
            gram += squares @ squares.T
        return cls(gram, p)

    def at(self, points: FloatArray, squares: FloatArray | None = None) -> FloatArray:
        """Σ w_i (b_i·u)⁴ for each column u of ``points`` (p, K); shape (K,)."""
        squares = outer_squares(points) if squares is None else squares
        return np.maximum(np.einsum("ij,ij->j", squares, self.gram @ squares), 0.0) * _ROUNDING

    def supremum(self) -> float:
        """tᵀGt/p² + (2/p)‖PGt‖√(1−1/p) + λ_max(PGP)(1−1/p) ≥ the form over unit vectors."""
        # t are the coordinates of the identity, and P projects orthogonally to t (theory §3).
        identity = outer_squares(np.eye(self.p)).sum(axis=1)
        on_identity = self.gram @ identity
        total = float(identity @ on_identity)
        across = on_identity - identity * (total / self.p)  # orthogonal to t: rank one, no product
        lost = np.outer(identity, across + identity * (total / (2 * self.p))) / self.p
        rest = 1 - 1 / self.p
        top = max(0.0, largest_eigenvalue(self.gram - (lost + lost.T)))
        cross = float(np.linalg.norm(across)) * math.sqrt(rest)
        return (total / self.p**2 + 2 / self.p * cross + top * rest) * _ROUNDING


@dataclass(frozen=True)
class ThirdMoment:
    """The form Σ κ_i (b_i·v)³ with weights of any sign."""

    unfolded: FloatArray  # (q, p): Σ κ_i B_i b_iᵀ

    @classmethod
    def from_rows(cls, rows: FloatArray, weights: FloatArray) -> "ThirdMoment":
        parts = (each @ (rows[part] * weights[part, None]) for part, each in _squares(rows))
        return cls(np.asarray(sum(parts)))

    def at(self, points: FloatArray, squares: FloatArray) -> FloatArray:
        """Σ κ_i (b_i·u)³ for each column u of ``points`` (p, K); shape (K,)."""
        return np.asarray(np.einsum("ij,ij->j", self.unfolded.T @ squares, points))

    def supremum(self) -> float:
        """Upper bound of the form's absolute value over unit vectors."""
        unfolded = float(np.linalg.norm(self.unfolded, 2))
        p = self.unfolded.shape[1]
        if not 1 < p <= _LARGEST_PAIRED:
            return unfolded * _ROUNDING
        rows, columns = np.triu_indices(p)
        scale = np.where(rows == columns, 1.0, math.sqrt(0.5))[:, None]
        tensor = np.zeros((p, p, p))
        tensor[rows, columns] = tensor[columns, rows] = self.unfolded * scale
        # Entry (i, j), (k, l) of the pairing is Σ_a T_a[i, k]·T_a[j, l].
        flat = tensor.reshape(p * p, p)
        paired = (flat @ flat.T).reshape(p, p, p, p).transpose(0, 2, 1, 3)
        gram = paired[rows, columns][:, rows, columns]
        gram = gram + paired[rows, columns][:, columns, rows]
        weight = np.where(rows == columns, 0.5, math.sqrt(0.5))
        gram = gram * np.outer(weight, 2 * weight)
        fourth = FourthMoment((gram + gram.T) / 2, p).supremum()
        return min(unfolded, math.sqrt(max(fourth, 0.0))) * _ROUNDING


def outer_squares(points: FloatArray) -> FloatArray:
    """Coordinates (q, K) of uuᵀ for each column u of ``points`` (p, K), as an isometry."""
    rows, columns = np.triu_indices(len(points))
    squares = points[rows]
    squares *= points[columns]
    squares *= np.where(rows == columns, 1.0, math.sqrt(2.0))[:, None]
    return squares


def _squares(rows: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Batches of rows (n, p), and the coordinates (q, m) of their outer squares."""
    for low in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(low, low + _ROWS_AT_ONCE)
        yield part, outer_squares(np.ascontiguousarray(rows[part].T))


_QUARTIC = 1 / 192  # f'''' = u(1 − 6u) ≥ −1/8 for u = f'' in [0, 1/4], over 4!
_SERIES_BELOW = 1e-2


Sums = tuple[FloatArray, ...]
"""A largest value, and three means over rows."""


@dataclass(frozen=True)
class LogisticBound(ExcessBound):
    """Largest of three lower bounds of the logistic excess on every ray (docs/theory.md §3)."""

    lever: float  # ℓ
    cubic: float  # C₃
    # third, fourth: T and Q; None for more than 64 parameters, when only the lever is used
    third: ThirdMoment | None
    fourth: FourthMoment | None
    # largest_third, largest_fourth: upper bounds of |T| and Q over unit vectors
    largest_third: float
    largest_fourth: float

    @classmethod
    def from_sums(
        cls, square: FloatArray, third: FloatArray, fourth: FloatArray, second: FloatArray
    ) -> "LogisticBound":
        """Bound from largest values and means over rows."""
        lever = float(np.sqrt(square))
        if third.size == 0:
            return cls(lever, lever, None, None, np.inf, np.inf)
        p = third.shape[1]
        skew, quartic = ThirdMoment(third), FourthMoment(fourth, p)
        cubic = float(np.sqrt(max(FourthMoment(second, p).supremum(), 0.0)))
        largest = skew.supremum(), quartic.supremum()
        return cls(lever, min(cubic, lever), skew, quartic, *largest)

    def radial(self, radius: FloatArray) -> FloatArray:
        radius = np.asarray(radius, dtype=float)
        t = self.lever * radius
        safe = np.maximum(t, _SERIES_BELOW)
        # An alternating series cut after a negative term is a lower bound; the closed form cancels.
        series = 0.5 - t / 6 + t**2 / 24 - t**3 / 120
        ratio = np.where(t > _SERIES_BELOW, (np.expm1(-safe) + safe) / safe**2, series)
        bounds = [radius**2 * ratio, _polynomial(radius, -self.cubic / 6, 0.0)]
        if self.fourth is not None:
            quartic = _QUARTIC * self.largest_fourth
            bounds.append(_polynomial(radius, -self.largest_third / 6, quartic))
        return np.asarray(np.max(bounds, axis=0))

    def along(self, unit: FloatArray, radius: FloatArray) -> FloatArray | None:
        """Lower bound (K,) at radius·unit, from the third and fourth derivatives."""
        if self.third is None or self.fourth is None:
            return None
        squares = outer_squares(unit)
        cubic = self.third.at(unit, squares) / 6
        # The sum of n signed terms has rounding errors: subtract more than their bound.
        cubic -= 1e-12 * (1 + self.largest_third)
        return _polynomial(radius, cubic, _QUARTIC * self.fourth.at(unit, squares))


def _logistic_sums(
    risk: logistic.LogisticRisk | scikit_learn.WeightedLogisticRisk,
    theta: FloatArray,
    whiten: FloatArray,
    most: int = LARGEST_SPECTRUM,
    *,
    quick: bool = False,
) -> Sums:
    rows, sigma = risk.rows @ whiten, expit(risk.rows @ theta)
    n, p = rows.shape
    square = np.einsum("ij,ij->i", rows, rows).max()
    if p > most:
        return square, *(np.empty(0),) * 3
    weights = getattr(risk, "weights", None)
    curvature = sigma * (1 - sigma) * (1.0 if weights is None else weights)
    skewness = curvature * (1 - 2 * sigma)
    third = np.zeros((p * (p + 1) // 2, p))
    fourth, second = np.zeros((2, len(third), len(third)))
    for part, squares in _squares(rows):
        third += squares @ (rows[part] * skewness[part, None])
        if not quick:
            curved = squares * np.sqrt(curvature[part])
            second += curved @ curved.T
        if weights is not None:
            squares *= np.sqrt(weights[part])
        fourth += squares @ squares.T
    # f'' ≤ 1/4: the looser form matters only where scores are far from 0.
    return square, third / n, fourth / n, (fourth / 4 if quick else second) / n


def _polynomial(
    radius: FloatArray, cubic: FloatArray | float, quartic: FloatArray | float
) -> FloatArray:
    """r²/2 + cubic·r³ − quartic·r⁴ up to the maximum of its ratio to r, then linear."""
    cubic, quartic = np.asarray(cubic, dtype=float), np.asarray(quartic, dtype=float)
    root = np.sqrt(cubic**2 + 1.5 * quartic)
    # Form without cancellation: (c + √…)/(3q) = ½/(√… − c) for c < 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(
            cubic > 0, (cubic + root) / (3 * quartic), 0.5 / np.maximum(root - cubic, 1e-300)
        )
    inner = np.minimum(radius, turn)
    slope = inner / 2 + cubic * inner**2 - quartic * inner**3
    return np.asarray(radius * np.maximum(slope, 0.0))


_SOFTMAX_ROUNDING = 1 + 1e-12


def _softmax_sums(
    risk: softmax.SoftmaxRisk,
    theta: FloatArray,
    whiten: FloatArray,
    most: int = LARGEST_SPECTRUM,
    *,
    quick: bool = False,
) -> Sums:
    parts = whiten.reshape(risk.classes, risk.rows.shape[1], -1)
    scores = np.stack([risk.rows @ part for part in parts])
    probability = risk.probabilities(theta)
    if risk.reference:
        scores = np.concatenate([np.zeros_like(scores[:1]), scores])
        probability = np.concatenate([1 - probability.sum(axis=0, keepdims=True), probability])
    weights = getattr(risk, "weights", None)
    _, n, p = scores.shape
    lever = np.asarray(_longest_lever(scores)) ** 2
    if p > most:
        return lever, *(np.empty(0),) * 3
    q = p * (p + 1) // 2
    second, fourth, third = np.zeros((q, q)), np.zeros((q, q)), np.zeros((q, p))
    for low in range(0, n, _ROWS_AT_ONCE):
        rows = slice(low, low + _ROWS_AT_ONCE)
        part = None if weights is None else weights[rows]
        variance, square, skewness = _forms(scores[:, rows], probability[:, rows], part)
        second += variance @ square.T / n
        fourth += square @ square.T / n
        third += skewness / n
    return lever, third, fourth, (second + second.T) / 2


def _longest_lever(scores: FloatArray) -> float:
    """Largest k over rows and unit steps: the largest difference of two of a row's scores."""
    longest = max(
        float(np.einsum("ij,ij->i", row_scores - later_scores, row_scores - later_scores).max())
        for k, row_scores in enumerate(scores)
        for later_scores in scores[k + 1 :]
    )
    return math.sqrt(longest) * _SOFTMAX_ROUNDING


def _forms(
    every: FloatArray, shares: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coordinates (q, m) of √w_i φ_i'' and √w_i K_i, and (q, p) of the third derivatives' sum."""
    mean = np.einsum("cm,cmp->mp", shares, every)
    centre = every.mean(axis=0)
    m, p = mean.shape
    variance, square = np.zeros((2, p * (p + 1) // 2, m))
    skewness = np.zeros((len(variance), p))
    for row_scores, share in zip(every, shares, strict=True):
        weighted = share * outer_squares((row_scores - mean).T)
        variance += weighted
        skewness += (weighted if weights is None else weighted * weights) @ (row_scores - mean)
        square += 2 * outer_squares((row_scores - centre).T)
    if weights is not None:
        variance, square = variance * np.sqrt(weights), square * np.sqrt(weights)
    return variance, square, skewness


SUMS: dict[type, Callable[..., Sums]] = {
    logistic.LogisticRisk: _logistic_sums,
    scikit_learn.WeightedLogisticRisk: _logistic_sums,
    softmax.SoftmaxRisk: _softmax_sums,
    scikit_learn.SymmetricSoftmaxRisk: _softmax_sums,
}
"""Arguments of :meth:`LogisticBound.from_sums`, from a mean loss, a model (p,) and a metric."""


def lever_bound(risk: base.EmpiricalLoss, theta: FloatArray, whiten: FloatArray) -> LogisticBound:
    """Lower bound of a loss of ``SUMS`` by its longest row alone: looser, in one matrix product."""
    return LogisticBound.from_sums(*SUMS[type(risk)](risk, theta, whiten, most=0))


def bound_of_sums(risk: base.EmpiricalLoss, theta: FloatArray, whiten: FloatArray) -> LogisticBound:
    """Lower bound of a loss of ``SUMS`` around a model, in one pass; looser for many chunks."""
    if not isinstance(risk, chunked.ChunkedRisk):
        return LogisticBound.from_sums(*SUMS[type(risk)](risk, theta, whiten))
    sums = _ChunkSums(risk.for_chunk, theta, whiten, risk.table.n_chunks > 1)
    square, *means = risk.table.reduce(sums, merge=_merged)
    return LogisticBound.from_sums(square, *(part / risk.n for part in means))


@dataclass(frozen=True, eq=False)
class _ChunkSums:
    for_chunk: chunked.ChunkLoss
    theta: FloatArray
    whiten: FloatArray
    quick: bool

    def __call__(self, rows: FloatArray, targets: FloatArray) -> Sums:
        risk = self.for_chunk(rows, targets)
        square, *means = SUMS[type(risk)](risk, self.theta, self.whiten, quick=self.quick)
        return square, *(len(rows) * part for part in means)


def _merged(first: Sums, second: Sums) -> Sums:
    means = (left + right for left, right in zip(first[1:], second[1:], strict=True))
    return np.maximum(first[0], second[0]), *means
