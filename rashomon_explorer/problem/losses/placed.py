"""Losses on arrays of other libraries."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from rashomon_explorer._utils.arrays import ArrayBackend, FloatArray, is_foreign, to_host
from rashomon_explorer.problem.losses.base import EmpiricalLoss, Loss
from rashomon_explorer.problem.losses.kinked import (
    AbsoluteLoss,
    ClippedSlope,
    HingeLoss,
    SmoothedHingeLoss,
)
from rashomon_explorer.problem.losses.smooth import LogisticLoss, SquaredLoss, SquaredRisk
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss

_WORTH_COMPILING = 2**20  # scores; for fewer, a kernel launch takes longer than a pass


@cache
def fused(arrays: ArrayBackend, pointwise: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return sums and slopes of scores (K, m), compiled for an accelerator of PyTorch or JAX."""
    plain = partial(pointwise.losses_and_slopes, arrays.xp)
    compiler = _COMPILERS.get(arrays.library)
    if compiler is None or not arrays.accelerated:
        return plain
    return _Fused(plain, compiler(plain))


class _Fused:
    """A compiled function for many scores; the plain one for few, or without a compiler."""

    def __init__(self, plain: Callable[[Any], Any], compiled: Callable[[Any], Any]) -> None:
        self._plain, self._compiled = plain, compiled

    def __call__(self, scores: Any) -> tuple[Any, Any]:
        if scores.shape[0] * scores.shape[1] >= _WORTH_COMPILING:
            try:
                total, slopes = self._compiled(scores)
                return total, slopes
            except Exception as error:  # no compiler for the device: slower, equally exact
                logging.getLogger(__name__).warning(
                    "elementwise work is not fused, and takes about three times as long: %s", error
                )
                self._compiled = self._plain
        total, slopes = self._plain(scores)
        return total, slopes


def _by_torch(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    compiled: Callable[[Any], Any] = import_module("torch").compile(function, dynamic=False)
    return compiled


def _by_jax(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    compiled: Callable[[Any], Any] = import_module("jax").jit(function)
    return compiled


_COMPILERS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "torch": _by_torch,
    "jax": _by_jax,
}


GROUP = 16  # number of rows is padded to a multiple of this
# Scores per piece: a GiB on an accelerator, a core's cache on a CPU.
_CELLS_ACCELERATED, _CELLS_CPU = 2**27, 2**18


@dataclass(frozen=True)
class PlacedRows:
    """Rows on a device, padded with rows of zeros to a multiple of 16."""

    arrays: ArrayBackend
    rows: Any
    n: int
    cells: int

    @classmethod
    def of(cls, arrays: ArrayBackend, rows: FloatArray, signs: FloatArray | None) -> "PlacedRows":
        """Place ``rows`` (n, p), each multiplied by its sign, in one copy."""
        n, p = rows.shape
        filled = np.zeros((n + -n % GROUP, p))
        if signs is None:
            filled[:n] = rows
        else:
            np.multiply(rows, signs[:, None], out=filled[:n])
        cells = _CELLS_ACCELERATED if arrays.accelerated else _CELLS_CPU
        return cls(arrays, arrays.put(filled), n, cells)

    @property
    def p(self) -> int:
        """Number of entries of a row."""
        return int(self.rows.shape[1])

    @property
    def padding(self) -> int:
        """Number of rows of zeros at the end."""
        return int(self.rows.shape[0]) - self.n

    def place_column(self, values: FloatArray) -> Any:
        """Place one number per row (n,), with 0 for the rows of zeros."""
        filled = np.zeros(self.n + self.padding)
        filled[: self.n] = values
        return self.arrays.put(filled)

    def total(self, work: Callable[[slice], tuple[Any, ...]], width: int) -> tuple[Any, ...]:
        """Sum ``work`` over slices of rows, in their order."""
        filled = self.n + self.padding
        pieces = -(-filled * width // self.cells)
        size = -(-filled // (pieces * GROUP)) * GROUP
        sums = work(slice(0, size))
        for low in range(size, filled, size):
            more = work(slice(low, min(low + size, filled)))
            sums = tuple(total + part for total, part in zip(sums, more, strict=True))
        return sums

    def gram(self) -> Any:
        """Sum of zzᵀ (p, p)."""
        return self.rows.T @ self.rows


# exp of this is far below overflow at 88 in float32, 709 in float64.
_SAFE_EXPONENT = {"float32": 80.0, "float64": 600.0}


class Pointwise(Protocol):
    """A loss f of one score, for scores (K, m) of K models and m rows."""

    @property
    def at_zero(self) -> float:
        """f(0), the loss of a row of zeros."""
        ...

    @property
    def bend(self) -> float:
        """Largest f''; infinite with a kink."""
        ...

    def losses(self, xp: Any, scores: Any) -> Any:
        """Return the sums (K,) of f."""
        ...

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Return the sums (K,) of f, and f' (K, m)."""
        ...

    def curvature(self, xp: Any, scores: Any) -> Any:
        """Return f''; same shape."""
        ...


@dataclass(frozen=True)
class Softplus:
    """log(1 + eᵃ), for scores of any size."""

    at_zero: float = math.log(2)
    bend: float = 0.25

    def losses(self, xp: Any, scores: Any) -> Any:
        """Return the sums of log(1 + eᵃ)."""
        return self.losses_and_slopes(xp, scores)[0]

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Return the sums of log(1 + eᵃ), and σ(a)."""
        small = xp.exp(-xp.abs(scores))
        zeros = xp.zeros_like(scores)
        total = xp.sum(xp.maximum(scores, zeros) + xp.log1p(small), axis=-1)
        return total, xp.where(scores < 0, small, xp.ones_like(scores)) / (1 + small)

    def curvature(self, xp: Any, scores: Any) -> Any:
        """σ(1 − σ)."""
        small = xp.exp(-xp.abs(scores))
        return small / ((1 + small) * (1 + small))


@dataclass(frozen=True)
class BoundedSoftplus(Softplus):
    """log(1 + eᵃ) with one logarithm per 16 rows, for scores whose products do not overflow."""

    @classmethod
    def within(cls, reach: float, dtype: str) -> Softplus:
        """Return this form if scores up to ``reach`` allow it, else the one for any score."""
        return cls() if GROUP * (reach + 1) <= _SAFE_EXPONENT[dtype] else Softplus()

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Logarithms of products of sixteen 1 + eᵃ, and 1 − 1/(1 + eᵃ)."""
        factors = 1 + xp.exp(scores)
        models, rows = scores.shape
        products = xp.prod(xp.reshape(factors, (models, rows // GROUP, GROUP)), axis=-1)
        return xp.sum(xp.log(products), axis=-1), 1 - 1 / factors


@dataclass(frozen=True)
class PlacedClippedSlope:
    """f(a) = max_{low ≤ α ≤ high} αa − ½·smoothing·α²: hinge, smoothed hinge, absolute, pinball."""

    shape: ClippedSlope
    at_zero: float = 0.0

    @property
    def bend(self) -> float:
        """1/smoothing."""
        return 1 / self.shape.smoothing if self.shape.smoothing else math.inf

    def losses(self, xp: Any, scores: Any) -> Any:
        """Return the sums of f."""
        return self.losses_and_slopes(xp, scores)[0]

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Return the sums of f, and f' with the subgradient 0 at a kink."""
        shape = self.shape
        if shape.smoothing:
            slopes = xp.clip(scores / shape.smoothing, shape.low, shape.high)
            return xp.sum(slopes * (scores - shape.smoothing / 2 * slopes), axis=-1), slopes
        zeros, ones = xp.zeros_like(scores), xp.ones_like(scores)
        below = xp.where(scores < 0, ones * shape.low, zeros)
        slopes = xp.where(scores > 0, ones * shape.high, below)
        return xp.sum(slopes * scores, axis=-1), slopes

    def curvature(self, xp: Any, scores: Any) -> Any:
        """1/smoothing within the parabola's zone; 0 outside it and with a kink."""
        zeros, shape = xp.zeros_like(scores), self.shape
        if not shape.smoothing:
            return zeros
        share = scores / shape.smoothing
        inside = (share > shape.low) & (share < shape.high)
        return xp.where(inside, xp.ones_like(scores) / shape.smoothing, zeros)


def answered(arrays: ArrayBackend, work: Callable[[Any], Any], theta: Any) -> Any:
    """Evaluate models on the device; models from the host get a result on the host."""
    if is_foreign(theta):
        return work(theta)
    found = work(arrays.put(theta))
    return tuple(map(to_host, found)) if isinstance(found, tuple) else to_host(found)


@dataclass(frozen=True)
class PlacedRisk:
    """Mean of f(rows_i·θ + offset_i) over rows on a device."""

    placed: PlacedRows
    pointwise: Pointwise
    offsets: Any = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.placed.n

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.placed.p

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        found: FloatArray = answered(self.placed.arrays, self._value, theta)
        return found

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and a (sub)gradient (p, K) for each column of ``theta`` (p, K)."""
        value, gradient = answered(self.placed.arrays, self._value_and_gradient, theta)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        models, rows = self.placed.arrays.put(theta[:, None]), self.placed.rows

        def piece(part: slice) -> tuple[Any]:
            curvature = self.pointwise.curvature(self.placed.arrays.xp, self._scores(models, part))
            return (rows[part, :].T @ (rows[part, :] * curvature.T),)

        return to_host(self.placed.total(piece, self.p)[0]) / self.n

    def curvature_bound(self) -> FloatArray | None:
        """Largest f'' times the Gram matrix (p, p); None for a loss with kinks."""
        if not np.isfinite(self.pointwise.bend):
            return None
        return to_host(self.placed.gram()) * (self.pointwise.bend / self.n)

    def within(self, reach: float, dtype: Any = np.float64) -> "PlacedRisk":
        """Return the same loss for scores up to ``reach``, in the backend's precision."""
        if not isinstance(self.pointwise, Softplus):
            return self
        quicker = BoundedSoftplus.within(reach, self.placed.arrays.dtype)
        return replace(self, pointwise=quicker)

    def _value(self, theta: Any) -> Any:
        xp = self.placed.arrays.xp

        def piece(part: slice) -> tuple[Any]:
            return (self.pointwise.losses(xp, self._scores(theta, part)),)

        return self._mean(self.placed.total(piece, theta.shape[1])[0])

    def _value_and_gradient(self, theta: Any) -> tuple[Any, Any]:
        form: Any = self.pointwise  # a frozen dataclass, unlike its protocol
        work = fused(self.placed.arrays, form)

        def piece(part: slice) -> tuple[Any, Any]:
            total, slopes = work(self._scores(theta, part))
            return total, slopes @ self.placed.rows[part, :]

        total, gradient = self.placed.total(piece, theta.shape[1])
        return self._mean(total), gradient.T / self.n

    def _mean(self, total: Any) -> Any:
        return (total - self.placed.padding * self.pointwise.at_zero) / self.n

    def _scores(self, theta: Any, part: slice) -> Any:
        """Scores (K, m) of a piece; rows are last because they are summed."""
        scores = theta.T @ self.placed.rows[part, :].T
        return scores if self.offsets is None else scores + self.offsets[None, part]


@dataclass(frozen=True)
class PlacedSoftmax:
    """Mean cross-entropy of rows on a device; class 0 is the reference."""

    placed: PlacedRows
    own: Any

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.placed.n

    @property
    def p(self) -> int:
        """Number of parameters, (C − 1)·d."""
        return self._classes * self.placed.p

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        value, gradient = answered(self.placed.arrays, self._value_and_gradient, theta)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,)."""
        models, rows = self.placed.arrays.put(theta[:, None]), self.placed.rows
        xp = self.placed.arrays.xp

        def piece(part: slice) -> tuple[Any]:
            share = self._shares(models, part)[0][:, 0, :]
            here = rows[part, :]
            blocks = [
                xp.concat([here.T @ (here * w[:, None]) for w in self._bends(share, a)], axis=1)
                for a in range(self._classes)
            ]
            return (xp.concat(blocks, axis=0),)

        return to_host(self.placed.total(piece, self.p)[0]) / self.n

    def curvature_bound(self) -> FloatArray:
        """Gram matrix/2 for each class (p, p), /4 for two classes."""
        gram = to_host(self.placed.gram()) / ((4 if self._classes == 1 else 2) * self.n)
        return np.asarray(np.kron(np.eye(self._classes), gram), dtype=np.float64)

    def within(self, reach: float, dtype: Any = np.float64) -> "PlacedSoftmax":
        """Return the loss itself: rounding does not depend on ``reach``."""
        return self

    @property
    def _classes(self) -> int:
        """Number of classes without the reference."""
        return int(self.own.shape[0])

    def _value_and_gradient(self, theta: Any) -> tuple[Any, Any]:
        xp, count = self.placed.arrays.xp, theta.shape[1]

        def piece(part: slice) -> tuple[Any, Any]:
            share, log_total, scores = self._shares(theta, part)
            own = self.own[:, None, part]
            total = xp.sum(log_total - xp.sum(own * scores, axis=0), axis=-1)
            residual = xp.reshape(share - own, (self._classes * count, -1))
            return total, residual @ self.placed.rows[part, :]

        total, gradient = self.placed.total(piece, count * self._classes)
        value = (total - self.placed.padding * math.log(self._classes + 1)) / self.n
        by_class = xp.reshape(gradient, (self._classes, count, self.placed.p))
        gradient = xp.reshape(xp.permute_dims(by_class, (0, 2, 1)), (self.p, count))
        return value, gradient / self.n

    def _shares(self, theta: Any, part: slice) -> tuple[Any, Any, Any]:
        """π (C − 1, K, m), log Σ_c exp(score) (K, m) and the scores of a piece of m rows."""
        xp, d = self.placed.arrays.xp, self.placed.p
        models = xp.permute_dims(xp.reshape(theta, (self._classes, d, -1)), (0, 2, 1))
        flat = xp.reshape(models, (-1, d)) @ self.placed.rows[part, :].T
        scores = xp.reshape(flat, (self._classes, theta.shape[1], -1))
        highest = xp.max(scores, axis=0)
        top = xp.maximum(highest, xp.zeros_like(highest))  # the reference's score is 0
        parts = xp.exp(scores - top)
        total = xp.exp(-top) + xp.sum(parts, axis=0)
        return parts / total, top + xp.log(total), scores

    def _bends(self, share: Any, a: int) -> list[Any]:
        """Entries of row a of diag π − ππᵀ, one (m,) per class."""
        return [
            share[a, :] * ((1.0 if a == b else 0.0) - share[b, :]) for b in range(self._classes)
        ]


@dataclass(frozen=True)
class PlacedSquared:
    """Mean squared loss of models on a device or on the host."""

    arrays: ArrayBackend
    known: SquaredRisk
    gram: Any
    moment: Any

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.known.n

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.known.p

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        value, gradient = answered(self.arrays, self._value_and_gradient, theta)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p): the Gram matrix, for every ``theta``."""
        return self.known.gram

    def curvature_bound(self) -> FloatArray:
        """Return the Gram matrix, which equals every Hessian."""
        return self.known.gram

    def within(self, reach: float, dtype: Any = np.float64) -> "PlacedSquared":
        """Return the loss itself."""
        return self

    def _value_and_gradient(self, theta: Any) -> tuple[Any, Any]:
        gradient = self.gram @ theta - self.moment
        both = self.arrays.xp.sum(theta * (gradient - self.moment), axis=0)
        return 0.5 * (both + self.known.energy), gradient


def placed(
    loss: Loss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> EmpiricalLoss:
    """Mean loss of ``rows`` (n, p) with ``targets`` (n,), computed on a backend's device."""
    if type(loss) not in PLACED:
        raise ValueError(
            f'{loss.name} loss is computed on the host only: use array_backend("numpy"), or give '
            "X as a NumPy array"
        )
    return PLACED[type(loss)](loss, rows, targets, arrays)


def _logistic(
    loss: LogisticLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    return PlacedRisk(PlacedRows.of(arrays, rows, -targets), Softplus())


def _hinge(
    loss: HingeLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    return _of_margin(ClippedSlope(0.0, 1.0), rows, targets, arrays)


def _smoothed_hinge(
    loss: SmoothedHingeLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    return _of_margin(ClippedSlope(0.0, 1.0, loss.smoothing), rows, targets, arrays)


def _of_margin(
    shape: ClippedSlope, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    there = PlacedRows.of(arrays, rows, -targets)
    return PlacedRisk(there, PlacedClippedSlope(shape), there.place_column(np.ones(len(rows))))


def _absolute(
    loss: AbsoluteLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedRisk:
    there = PlacedRows.of(arrays, rows, np.full(len(rows), -1.0))
    clipped = np.clip(targets, -loss.target_bound, loss.target_bound)
    shape = ClippedSlope(2 * (loss.tau - 1), 2 * loss.tau)
    return PlacedRisk(there, PlacedClippedSlope(shape), there.place_column(clipped))


def _softmax(
    loss: SoftmaxLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedSoftmax:
    there = PlacedRows.of(arrays, rows, None)
    own = [there.place_column(targets == c) for c in range(1, loss.classes)]
    return PlacedSoftmax(there, arrays.xp.stack(own))


def _squared(
    loss: SquaredLoss, rows: FloatArray, targets: FloatArray, arrays: ArrayBackend
) -> PlacedSquared:
    there = PlacedRows.of(arrays, rows, None)
    clipped = np.clip(targets, -loss.target_bound, loss.target_bound)
    n = len(rows)
    moment = there.rows.T @ there.place_column(clipped)[:, None] / n
    gram, energy = there.gram() / n, float(clipped @ clipped) / n
    known = SquaredRisk(n, to_host(gram), to_host(moment)[:, 0], energy)
    return PlacedSquared(arrays, known, gram, moment)


PLACED: dict[type, Callable[[Any, FloatArray, FloatArray, ArrayBackend], EmpiricalLoss]] = {
    AbsoluteLoss: _absolute,
    HingeLoss: _hinge,
    LogisticLoss: _logistic,
    SmoothedHingeLoss: _smoothed_hinge,
    SoftmaxLoss: _softmax,
    SquaredLoss: _squared,
}
