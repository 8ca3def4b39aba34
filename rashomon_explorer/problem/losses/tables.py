"""Rows of a mean loss on the host or on a device, with the products and sums over them."""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import ArrayBackend, FloatArray, is_foreign, to_host
from rashomon_explorer.problem.losses.base import batch_rows, stack_rows, sum_row_batches

ALL_ROWS = slice(None)
_HESSIAN_ROWS = 4096
_GROUP = 16  # a device's number of rows is padded to a multiple of this
# Scores per piece: a GiB on an accelerator, a core's cache on a CPU.
_CELLS_ACCELERATED, _CELLS_CPU = 2**27, 2**18


@dataclass(frozen=True)
class HostRows:
    """Rows (n, p) in NumPy; scores have shape (..., m, K) for m rows and K models."""

    rows: NDArray[np.floating[Any]]
    xp = np
    rows_axis = -2
    padding = 0

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        """Number of entries of a row."""
        return int(self.rows.shape[1])

    @property
    def dtype(self) -> Any:
        """Precision of the rows."""
        return self.rows.dtype

    @cached_property
    def longest(self) -> float:
        """Norm of the longest row."""
        return float(np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows).max()))

    @cached_property
    def sum(self) -> FloatArray:
        """Sum (p,) of the rows."""
        return np.asarray(self.rows.sum(axis=0, dtype=np.float64))

    def column(self, values: FloatArray) -> FloatArray:
        """Column of one number per row (n,), which scores (m, K) can be added to."""
        return values[:, None].astype(self.rows.dtype, copy=False)

    def within(self, dtype: Any) -> "HostRows":
        """Return the same rows in a precision."""
        return HostRows(np.ascontiguousarray(self.rows, dtype=dtype))

    def evaluate(self, work: Callable[[Any], Any], theta: FloatArray) -> Any:
        """Evaluate models in the precision of the rows."""
        return work(np.asarray(theta, dtype=self.rows.dtype))

    def scores(self, models: NDArray[Any], part: slice) -> NDArray[Any]:
        """Scores of models (..., p, K) on a part of the rows."""
        return np.asarray(self.rows[part] @ models)

    def pull(self, weights: NDArray[Any], part: slice) -> NDArray[Any]:
        """Return sums (..., p, K) of a part's rows with weights in the shape of scores."""
        return np.asarray(self.rows[part].T @ weights)

    def total(
        self, work: Callable[[slice], tuple[NDArray[Any], ...]], models: NDArray[Any]
    ) -> tuple[FloatArray, ...]:
        """Sum ``work`` over batches of rows, in float64."""
        width = models.size // self.p
        block = batch_rows(self.n, width, models.itemsize, self.p)
        block = stack_rows(self.n) if models.ndim > 2 else block
        return sum_row_batches(work, self.n, width, item_bytes=models.itemsize, block=block)

    def mean_outer(self, weights: Callable[[Any, slice], Any], theta: FloatArray) -> FloatArray:
        """Mean (p, p) of w_i·z_i·z_iᵀ, for weights in the shape of scores of one model (p,)."""
        every = weights(theta[:, None], ALL_ROWS)[:, 0] / self.n
        total = np.zeros((self.p, self.p))
        for start in range(0, self.n, _HESSIAN_ROWS):  # avoids a copy of the table
            part = self.rows[start : start + _HESSIAN_ROWS]
            total += (part * every[start : start + _HESSIAN_ROWS, None]).T @ part
        return total

    def gram(self) -> FloatArray:
        """Sum of z_i·z_iᵀ (p, p), in float64."""
        return np.asarray(self.rows.T @ self.rows, dtype=np.float64)


@dataclass(frozen=True)
class DeviceRows:
    """Rows on a device, padded with zeros; scores have shape (..., K, m): sums run along m."""

    arrays: ArrayBackend
    rows: Any
    n: int
    cells: int
    rows_axis = -1

    @classmethod
    def of(cls, arrays: ArrayBackend, rows: FloatArray) -> "DeviceRows":
        """Place ``rows`` (n, p), padded to a multiple of sixteen."""
        n, p = rows.shape
        padded = np.zeros((n + -n % _GROUP, p))
        padded[:n] = rows
        cells = _CELLS_ACCELERATED if arrays.accelerated else _CELLS_CPU
        return cls(arrays, arrays.put(padded), n, cells)

    @property
    def xp(self) -> Any:
        """Namespace of the arrays."""
        return self.arrays.xp

    @property
    def dtype(self) -> Any:
        """Precision of the rows, which is the backend's."""
        return np.dtype(self.arrays.dtype)

    @property
    def p(self) -> int:
        """Number of entries of a row."""
        return int(self.rows.shape[1])

    @property
    def padding(self) -> int:
        """Number of rows of zeros at the end."""
        return int(self.rows.shape[0]) - self.n

    def column(self, values: FloatArray) -> Any:
        """Place one number per row (n,), with 0 for the rows of zeros, to add to scores."""
        padded = np.zeros(self.n + self.padding)
        padded[: self.n] = values
        return self.arrays.put(padded[None])

    def within(self, dtype: Any) -> "DeviceRows":
        """Return the rows themselves: a backend has one precision."""
        return self

    def evaluate(self, work: Callable[[Any], Any], theta: Any) -> Any:
        """Evaluate models on the device; models from the host get a result on the host."""
        if is_foreign(theta):
            return work(theta)
        found = work(self.arrays.put(theta))
        return tuple(map(to_host, found)) if isinstance(found, tuple) else to_host(found)

    def scores(self, models: Any, part: slice) -> Any:
        """Scores of models (..., p, K) on a part of the rows."""
        return self.xp.matrix_transpose(models) @ self.rows[part, :].T

    def pull(self, weights: Any, part: slice) -> Any:
        """Return sums (..., p, K) of a part's rows with weights in the shape of scores."""
        return self.xp.matrix_transpose(weights @ self.rows[part, :])

    def total(self, work: Callable[[slice], tuple[Any, ...]], models: Any) -> tuple[Any, ...]:
        """Sum ``work`` over pieces of the rows, in their order."""
        padded = self.n + self.padding
        width = math.prod(models.shape) // self.p
        pieces = -(-padded * width // self.cells)
        size = -(-padded // (pieces * _GROUP)) * _GROUP
        sums = work(slice(0, size))
        for low in range(size, padded, size):
            more = work(slice(low, min(low + size, padded)))
            sums = tuple(total + part for total, part in zip(sums, more, strict=True))
        return sums

    def mean_outer(self, weights: Callable[[Any, slice], Any], theta: FloatArray) -> FloatArray:
        """Mean (p, p) of w_i·z_i·z_iᵀ, for weights in the shape of scores of one model (p,)."""
        models = self.arrays.put(theta[:, None])

        def piece(part: slice) -> tuple[Any]:
            rows = self.rows[part, :]
            return (rows.T @ (rows * weights(models, part).T),)

        return to_host(self.total(piece, models)[0]) / self.n

    def gram(self) -> FloatArray:
        """Sum of z_i·z_iᵀ (p, p), on the host."""
        return to_host(self.rows.T @ self.rows)


Rows = HostRows | DeviceRows


def place(rows: FloatArray, arrays: ArrayBackend) -> Rows:
    """Rows (n, p) on a backend, without a copy on the host if they are contiguous."""
    if arrays.on_host:
        return HostRows(np.ascontiguousarray(rows))
    return DeviceRows.of(arrays, rows)


_WORTH_COMPILING = 2**20  # scores; for fewer, a kernel launch takes longer than a pass


@cache
def fused(arrays: ArrayBackend, function: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return sums and slopes of scores (K, m), compiled for an accelerator of PyTorch or JAX."""
    plain = partial(function.sums_and_slopes, axis=-1, xp=arrays.xp)
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
    return import_module("torch").compile(function, dynamic=False)


def _by_jax(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return import_module("jax").jit(function)


_COMPILERS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "torch": _by_torch,
    "jax": _by_jax,
}
