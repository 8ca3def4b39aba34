"""Sums over chunks along a fixed tree, with checksums."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread, pause
from rashomon_explorer.exceptions import DataError, RowsChangedError
from rashomon_explorer.rows.source import Piece, RowSource, as_floats
from rashomon_explorer.rows.workers import Span

Merge = Callable[[Any, Any], Any]
Node = tuple[int, Any]
"""Value of 2^level consecutive parts, and the level."""


class Tree:
    """Binary tree over consecutive parts; only unfinished branches are in memory."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._nodes: list[Node] = []

    def push(self, level: int, value: Any) -> None:
        """Add the next branch, of 2^level parts, which starts at a multiple of 2^level."""
        while self._nodes and self._nodes[-1][0] == level:
            value = self._merge(self._nodes.pop()[1], value)
            level += 1
        self._nodes.append((level, value))

    def nodes(self) -> list[Node]:
        """Branches without a merged neighbour, in the order of the parts."""
        return list(self._nodes)

    def total(self) -> Any:
        """Merge the remaining branches from the right; returns the result for all parts."""
        if not self._nodes:
            raise ValueError("there is nothing to add up: no part was given")
        *earlier, (_, total) = self._nodes
        for _, value in reversed(earlier):
            total = self._merge(value, total)
        return total


def branches(n_parts: int, workers: int) -> Iterator[tuple[int, int]]:
    """Divide parts 0 to n into branches of the tree, a few per worker."""
    size = 1
    while 4 * workers * size < n_parts:
        size *= 2
    for low in range(0, n_parts, size):
        yield low, min(low + size, n_parts)


def add_arrays(
    one: tuple[FloatArray, ...], other: tuple[FloatArray, ...]
) -> tuple[FloatArray, ...]:
    """Elementwise sums of the arrays of two branches."""
    return tuple(left + right for left, right in zip(one, other, strict=True))


def append_parts(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values of two branches, one after the other."""
    return one + other


Checksums = tuple[int, ...]
"""Checksum of every chunk, in order; data-dependent, for the curator only."""


def chunk_checksum(rows: FloatArray, targets: FloatArray) -> Checksums:
    """Checksum of a chunk's rows and targets; a change keeps it with probability 2⁻³²."""
    return (zlib.crc32(targets.data, zlib.crc32(rows.data)),)


Step = Callable[[Any, Any], Piece]
"""Row-wise function from rows and targets to rows and targets."""


@dataclass(frozen=True)
class ReadSettings:
    """Settings that a worker needs in addition to the source."""

    steps: tuple[Step, ...]
    rows: int
    n: int
    checksums: Checksums | None


def branch_sum(source: RowSource, what: Any, span: Span) -> list[Node]:
    """Reduce consecutive chunks: a pure function of the rows, the reduction and the range."""
    settings, function, merge = what
    tree = Tree(merge)
    with one_blas_thread():
        for _, rows, targets in read_chunks(source, settings, span):
            tree.push(0, function(rows, targets))
            pause()
    return tree.nodes()


def read_chunks(
    source: RowSource, settings: ReadSettings, span: Span
) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Yield chunks in order: number, rows and targets."""
    low, high = span[0] * settings.rows, min(span[1] * settings.rows, settings.n)
    cut = _cut(source.pieces(low, high), settings.rows)
    for index, (rows, targets) in enumerate(cut, start=span[0]):
        first = index * settings.rows
        try:
            chunk = _transform(settings.steps, rows, targets)
        except (ValueError, TypeError) as error:
            bad = first + _first_bad(settings.steps, rows, targets)
            raise DataError(f"{source.locate(bad)}: {error}") from error
        if settings.checksums and settings.checksums[index] != chunk_checksum(*chunk)[0]:
            raise RowsChangedError(
                f"rows {first} to {first + len(chunk[0]) - 1}, from {source.locate(first)} on, "
                "have changed since this fit first read them: prevent writes to them while it "
                "runs, or work on a copy"
            )
        yield index, *chunk


def _cut(pieces: Iterator[Piece], size: int) -> Iterator[Piece]:
    """Split and join pieces to chunks of one size; the last may be smaller."""
    waiting: list[Piece] = []
    count = 0
    for X, y in pieces:
        start = 0
        while start < len(X):
            stop = min(start + size - count, len(X))
            waiting.append((_slice(X, start, stop), _slice(y, start, stop)))
            count, start = count + stop - start, stop
            if count == size:
                yield concatenate_pieces(waiting)
                waiting, count = [], 0
    if waiting:
        yield concatenate_pieces(waiting)


def _transform(steps: tuple[Step, ...], rows: Any, targets: Any) -> tuple[FloatArray, FloatArray]:
    for step in steps:
        rows, targets = step(rows, targets)
    return (rows if steps else as_floats(rows)), targets


def _first_bad(steps: tuple[Step, ...], rows: Any, targets: Any) -> int:
    """Position of the first row that fails by itself; 0 if none does."""
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _transform(steps, _slice(rows, low, middle), _slice(targets, low, middle))
        except (ValueError, TypeError):
            high = middle
        else:
            low = middle
    return low


def _slice(values: Any, low: int, high: int) -> Any:
    if low == 0 and high == len(values):
        return values
    return values.iloc[low:high] if hasattr(values, "iloc") else values[low:high]


def concatenate_pieces(pieces: list[Piece]) -> Piece:
    """Concatenate pieces in their order."""
    if len(pieces) == 1:
        return pieces[0]
    rows, targets = zip(*pieces, strict=True)
    return _concatenate_rows(rows), np.concatenate([np.asarray(part) for part in targets])


def _concatenate_rows(rows: tuple[Any, ...]) -> Any:
    if hasattr(rows[0], "iloc"):
        import pandas as pd

        return pd.concat(rows, ignore_index=True)
    return np.concatenate(rows)
