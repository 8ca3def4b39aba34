"""Batches that a noisy step reads: their gradients, and the variance of these."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice, repeat

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.imports import install_text
from rashomon_explorer.mechanisms.noisy_descent import Map
from rashomon_explorer.mechanisms.request import ALLOCATED, SAMPLED, Request
from rashomon_explorer.problem.clipped_rows import ClippedRows
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import Problem

Rows = NDArray[np.int64]
"""Numbers of some rows."""

_SUMS = "gradient_sum"  # method of a mean loss that keeps its rows

_EXTRA = f" (sampled rows need an extra: {install_text('accounting')})"
_IN_CHUNKS = " (chunked rows are summed, not sampled)"
_WITHOUT_ORDER = " (in a ledger without a Rényi order, where sampling costs more)"


def unsampled_because(request: Request) -> str:
    """Reason why every step uses all rows; empty if rows may be sampled."""
    if request.in_chunks:
        return _IN_CHUNKS
    if request.ledger and request.cost_at_order is None:
        return _WITHOUT_ORDER
    return "" if find_spec("dp_accounting") else _EXTRA


def batch_variance(slope: float, n: int, rate: float, order: str) -> float:
    """Bound on E‖g − ∇L‖² of the batch's gradient g, for row gradients of norm at most ``slope``.

    docs/theory.md §30; a batch that rows are allocated to has that of a Poisson batch.
    """
    if rate == 1:
        return 0.0
    corrected = n / (n - 1) if order == SAMPLED else 1.0
    return float(corrected * (1 - rate) * slope**2 / (rate * n))


def batch_gradient(problem: Problem, rate: float, rng: np.random.Generator) -> Map:
    """Gradient (p, 1) over all rows, or (Σ over Poisson rows of ∇ℓ_i)/(qn) + ∇ridge."""
    if rate == 1:
        return problem.objective.gradient
    gradient = gradient_on(problem, rate)

    def of_batch(theta: FloatArray) -> FloatArray:
        size = rng.binomial(problem.n, rate)
        if size == 0:
            return np.asarray(problem.ridge * theta)
        rows = rng.choice(problem.n, size, replace=False, shuffle=False)
        return gradient(rows, theta[:, 0])[:, None]

    return of_batch


def gradient_on(
    problem: Problem, rate: float, data: ClippedRows | None = None
) -> Callable[[Rows, FloatArray], FloatArray]:
    """Gradient (p,) at one model of (Σ of the losses of some rows)/(qn), with the ridge's.

    ``data`` holds the rows that numbers refer to, by default the problem's.
    """
    expected, ridge, loss = rate * problem.n, problem.ridge, problem.loss
    table = problem.data if data is None else data
    sums = getattr(problem.objective.loss if data is None else data.objective(loss), _SUMS, None)

    def gradient(rows: Rows, theta: FloatArray) -> FloatArray:
        if sums is not None:
            total = sums(theta, rows)
        elif len(rows) == 0:
            total = np.zeros_like(theta)
        else:
            mean = MinimisedObjective(table.objective(loss, rows), 0.0)
            total = len(rows) * mean.gradient(theta[:, None])[:, 0]
        return np.asarray(total / expected + ridge * theta if ridge else total / expected)

    return gradient


def step_gradients(
    problem: Problem, rate: float, order: str, rng: np.random.Generator
) -> Iterator[Callable[[FloatArray], FloatArray]]:
    """Yield the gradient (p,) that each step takes at one model (p,), without end."""
    if rate == 1:
        whole = problem.evaluator()
        yield from repeat(lambda theta: whole.gradient(theta[:, None])[:, 0])
    batches = row_batches(problem.n, rate, order, rng)
    chunks = problem.data
    if isinstance(chunks, ClippedRows):
        gradient = gradient_on(problem, rate)
        yield from (partial(gradient, rows) for rows in batches)
    assert not isinstance(chunks, ClippedRows)
    while True:  # chunked rows: those of many steps are read in one pass
        group = list(islice(batches, steps_in_memory(problem.n, problem.p, rate)))
        numbers, places = np.unique(np.concatenate(group), return_inverse=True)
        gradient = gradient_on(problem, rate, chunks.read(numbers))
        parts = np.split(places, np.cumsum([len(rows) for rows in group])[:-1])
        yield from (partial(gradient, rows) for rows in parts)


_ENTRIES_IN_MEMORY = 2**26  # of sampled rows that are read in one pass


def steps_in_memory(n: int, p: int, rate: float) -> int:
    """Return the number of steps whose batches are read from chunked rows in one pass."""
    return max(1, math.floor(_ENTRIES_IN_MEMORY / (rate * n * p))) if rate < 1 else 1


_AT_ONCE = 2**16  # rows that are sampled together, for several steps


def row_batches(n: int, rate: float, order: str, rng: np.random.Generator) -> Iterator[Rows]:
    """Yield batches of rows without end: Poisson samples, a fixed number, or allocated rows.

    A Poisson sample of the rows of k steps is one of k·n cells, with geometric gaps.
    """
    while order == SAMPLED:
        yield rng.choice(n, round(rate * n), replace=False, shuffle=False)
    while order == ALLOCATED:  # each row draws one of the batches of an epoch
        drawn = rng.integers(round(1 / rate), size=n)
        ends = np.cumsum(np.bincount(drawn, minlength=round(1 / rate)))
        yield from np.split(np.argsort(drawn, kind="stable"), ends[:-1])
    together = max(1, round(_AT_ONCE / (rate * n)))
    ends = n * np.arange(1, together)
    while True:
        cells, last = list[Rows](), -1
        while last < together * n:
            left = rate * (together * n - last)
            gaps = rng.geometric(rate, size=math.ceil(left + 4 * math.sqrt(left)) + 1)
            cells.append(last + np.cumsum(gaps))
            last = int(cells[-1][-1])
        sampled = np.concatenate(cells)
        sampled = sampled[: np.searchsorted(sampled, together * n)]
        yield from np.split(sampled % n, np.searchsorted(sampled, ends))
