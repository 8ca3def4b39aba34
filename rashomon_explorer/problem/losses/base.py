"""Protocols of losses, and sums over row batches."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import cores, one_blas_thread


class EmpiricalLoss(Protocol):
    """The mean loss of given rows, for K models at once."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def p(self) -> int:
        """Number of parameters."""

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and its gradient (p, K) for each column of ``theta`` of shape (p, K)."""

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""

    def within(self, reach: float) -> "EmpiricalLoss":
        """Return the same loss for scores up to ``reach``."""


class Loss(Protocol):
    """A loss of linear scores z·θ, with constants that hold for every row within the bounds.

    ``reach`` below is the largest |z·θ| over allowed rows and models: radius times row bound.
    """

    @property
    def name(self) -> str:
        """Key in the registry."""

    @property
    def task(self) -> str:
        """One of ``"classification"`` (two classes), ``"multiclass"`` and ``"regression"``."""

    @property
    def link(self) -> str:
        """Link: ``"logistic"``, ``"sign"``, ``"softmax"`` or ``"identity"``."""

    @property
    def globally_lipschitz(self) -> bool:
        """Whether the loss is Lipschitz on all of R^p, not only on a bounded domain."""

    @property
    def labels(self) -> tuple[float, ...] | None:
        """Allowed targets; None for any finite number."""

    @property
    def outputs(self) -> int:
        """Scores per row; the number of parameters per entry of a row."""

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant of one row's loss on the domain."""

    def smoothness(self, row_bound: float) -> float:
        """Lipschitz constant of one row's gradient; infinite for a loss with kinks."""

    def oscillation(self, reach: float) -> float:
        """Largest max − min, over the domain, of the difference between two rows' losses."""

    def empirical(self, rows: FloatArray, targets: FloatArray) -> EmpiricalLoss:
        """Mean loss of ``rows`` (n, p) with ``targets`` (n,)."""


_BLOCK_BYTES = 2**19  # a batch's scores and their temporaries stay in a core's L2 cache
_READ_BYTES = 2**22  # a batch's rows, which a gradient reads twice, stay in its share of the L3
_FEWEST_ROWS = 64
_LANES = 4
_SERIAL_CELLS = 2**19  # below this, threads take longer than they save
_BLAS_CELLS = 2**12  # below this, BLAS uses one thread anyway, and setting it takes 30 µs


def sum_row_batches(
    work: Callable[[slice], tuple[NDArray[Any], ...]],
    n_rows: int,
    n_columns: int,
    *,
    block: int | None = None,
    workers: int | None = None,
) -> tuple[FloatArray, ...]:
    """Sum ``work`` over consecutive batches of rows, in float64."""
    size = batch_rows(n_rows, n_columns) if block is None else block
    cells = n_rows * n_columns
    # Each lane is one thread: BLAS threads inside would compete for the same cores.
    blas = one_blas_thread() if cells > _BLAS_CELLS else nullcontext()
    if 0 < n_rows <= size:  # a small table, evaluated thousands of times by a search
        with blas:
            return tuple(np.array(part, dtype=np.float64) for part in work(slice(0, n_rows)))
    blocks = [slice(low, min(low + size, n_rows)) for low in range(0, n_rows, size)]
    lanes = min(_LANES, len(blocks))
    cuts = [len(blocks) * lane // lanes for lane in range(lanes + 1)]

    def lane(low: int, high: int) -> tuple[FloatArray, ...]:
        sums = tuple(np.array(part, dtype=np.float64) for part in work(blocks[low]))
        for block in blocks[low + 1 : high]:
            for total, part in zip(sums, work(block), strict=True):
                total += part
        return sums

    workers = min(_LANES, cores()) if workers is None else workers
    with blas:
        if workers == 1 or lanes == 1 or cells < _SERIAL_CELLS:
            parts = [lane(*cut) for cut in pairwise(cuts)]
        else:
            parts = list(_pool(workers, os.getpid()).map(lane, cuts[:-1], cuts[1:]))
    return tuple(sum(sums[1:], start=sums[0]) for sums in zip(*parts, strict=True))


def batch_rows(n_rows: int, n_columns: int, row_entries: int = 1) -> int:
    """Rows per batch of :func:`sum_row_batches`: a multiple of 16."""
    size = min(_BLOCK_BYTES // (8 * max(1, n_columns)), n_rows + 15)
    size = min(size, _READ_BYTES // (8 * max(1, row_entries)))
    return max(_FEWEST_ROWS, size // 16 * 16)


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    # One per process: a fork inherits the pool without its threads and would wait forever.
    return ThreadPoolExecutor(workers, thread_name_prefix="rashomon-rows")


ALL_ROWS = slice(None)


@dataclass(frozen=True)
class TableRows:
    """Rows (n, p) in NumPy; scores have shape (..., m, K) for m rows and K models."""

    rows: NDArray[np.floating[Any]]

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def p(self) -> int:
        return int(self.rows.shape[1])

    @cached_property
    def longest(self) -> float:
        """Norm of the longest row."""
        return float(np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows).max()))

    @cached_property
    def sum(self) -> FloatArray:
        """Sum (p,) of the rows."""
        return np.asarray(self.rows.sum(axis=0, dtype=np.float64))

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
        return sum_row_batches(work, self.n, width, block=batch_rows(self.n, width, self.p))

    def mean_outer(self, weights: Callable[[Any, slice], Any], theta: FloatArray) -> FloatArray:
        """Mean (p, p) of w_i·z_i·z_iᵀ, for weights w ≥ 0 in the shape of scores of a model (p,)."""
        models = theta[:, None]

        def batch(part: slice) -> tuple[FloatArray]:
            scaled = self.rows[part] * np.sqrt(weights(models, part))
            return (scaled.T @ scaled,)  # BLAS computes half of a product with its own transpose

        return sum_row_batches(batch, self.n, self.p)[0] / self.n
