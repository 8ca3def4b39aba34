"""How blocks are read: a source's pieces are cut to one size, taken through steps and looked at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks.seen import Seen
from rashomon_explorer.blocks.source import Piece, RowSource, numbers
from rashomon_explorer.blocks.tree import Node, Tree
from rashomon_explorer.blocks.workers import Span
from rashomon_explorer.cores import one_blas_thread, pause
from rashomon_explorer.exceptions import DataError, RowsChangedError

Step = Callable[[Any, Any], Piece]
"""Makes rows and targets of rows and targets, each from itself alone."""


@dataclass(frozen=True)
class How:
    """All that a worker needs beside the source."""

    steps: tuple[Step, ...]
    rows: int
    n: int
    seen: Seen | None


def branch_sum(source: RowSource, what: Any, span: Span) -> list[Node]:
    """Add up consecutive blocks: a pure function of rows, what to do, and which.

    Parameters
    ----------
    source : RowSource
    what : tuple
        :class:`How` blocks are read, what is found of each, and how two neighbours are joined.
    span : tuple of int
        The first block, and the first one after.

    Examples
    --------
    >>> from rashomon_explorer.blocks.source import ArrayRows
    >>> from rashomon_explorer.blocks.tree import added
    >>> rows, how = ArrayRows(np.ones((5, 2)), np.arange(5.0)), How((), rows=2, n=5, seen=None)
    >>> branch_sum(rows, (how, lambda rows, targets: (targets @ rows,), added), (0, 3))
    [(1, (array([6., 6.]),)), (0, (array([4., 4.]),))]
    """
    how, function, merge = what
    tree = Tree(merge)
    with one_blas_thread():
        for _, rows, targets in blocks_of(source, how, span):
            tree.push(0, function(rows, targets))
            pause()
    return tree.nodes()


def blocks_of(
    source: RowSource, how: How, span: Span
) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Read blocks in order: number, rows and targets.

    Examples
    --------
    >>> from rashomon_explorer.blocks.source import ArrayRows
    >>> rows, how = ArrayRows(np.ones((5, 2)), np.arange(5.0)), How((), rows=2, n=5, seen=None)
    >>> [(index, targets.tolist()) for index, _, targets in blocks_of(rows, how, (1, 3))]
    [(1, [2.0, 3.0]), (2, [4.0])]
    """
    low, high = span[0] * how.rows, min(span[1] * how.rows, how.n)
    cut = _cut(source.pieces(low, high), how.rows)
    for index, (rows, targets) in enumerate(cut, start=span[0]):
        first = index * how.rows
        try:
            made = _made(how.steps, rows, targets)
        except (ValueError, TypeError) as error:
            bad = first + _first_bad(how.steps, rows, targets)
            raise DataError(f"{source.place(bad)}: {error}") from error
        if how.seen is not None and not how.seen.agrees(index, *made):
            raise RowsChangedError(
                f"rows {first} to {first + len(made[0]) - 1}, from {source.place(first)} on, are "
                "not what they were when this fit looked at them first: let nobody write there "
                "while it runs, or work on a copy"
            )
        yield index, *made


def _cut(pieces: Iterator[Piece], size: int) -> Iterator[Piece]:
    """Pieces cut and joined to blocks of one size; the last may be smaller."""
    waiting: list[Piece] = []
    count = 0
    for X, y in pieces:
        start = 0
        while start < len(X):
            stop = min(start + size - count, len(X))
            waiting.append((_slice(X, start, stop), _slice(y, start, stop)))
            count, start = count + stop - start, stop
            if count == size:
                yield glued(waiting)
                waiting, count = [], 0
    if waiting:
        yield glued(waiting)


def _made(steps: tuple[Step, ...], rows: Any, targets: Any) -> tuple[FloatArray, FloatArray]:
    for step in steps:
        rows, targets = step(rows, targets)
    return (rows if steps else numbers(rows)), targets


def _first_bad(steps: tuple[Step, ...], rows: Any, targets: Any) -> int:
    """Place of the first row that fails by itself, 0 if none does."""
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _made(steps, _slice(rows, low, middle), _slice(targets, low, middle))
        except (ValueError, TypeError):
            high = middle
        else:
            low = middle
    return low


def _slice(values: Any, low: int, high: int) -> Any:
    if low == 0 and high == len(values):
        return values
    return values.iloc[low:high] if hasattr(values, "iloc") else values[low:high]


def glued(pieces: list[Piece]) -> Piece:
    """One piece of several, in their order.

    Examples
    --------
    >>> glued([(np.eye(1), np.zeros(1)), (np.ones((1, 1)), np.ones(1))])[1].tolist()
    [0.0, 1.0]
    """
    if len(pieces) == 1:
        return pieces[0]
    rows, targets = zip(*pieces, strict=True)
    return _joined_rows(rows), np.concatenate([np.asarray(part) for part in targets])


def _joined_rows(rows: tuple[Any, ...]) -> Any:
    if hasattr(rows[0], "iloc"):
        import pandas as pd

        return pd.concat(rows, ignore_index=True)
    return np.concatenate(rows)
