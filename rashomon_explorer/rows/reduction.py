"""Sums over chunks along a fixed tree, with checksums."""

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread, pause
from rashomon_explorer.exceptions import DataError, RowsChangedError
from rashomon_explorer.rows.source import Piece, RowSource, as_floats

Span = tuple[int, int]
"""Number of the first chunk, and one past the last."""

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
    earlier: tuple[FloatArray, ...], later: tuple[FloatArray, ...]
) -> tuple[FloatArray, ...]:
    """Elementwise sums of the arrays of two branches."""
    return tuple(left + right for left, right in zip(earlier, later, strict=True))


def append_parts(earlier: tuple[Any, ...], later: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values of two branches, one after the other."""
    return earlier + later


Checksums = tuple[int, ...]
"""Checksum of every chunk, in order; data-dependent, for the curator only."""


def chunk_checksum(rows: FloatArray, targets: FloatArray) -> Checksums:
    """Checksum of a chunk's rows and targets; a change keeps it with probability 2⁻³²."""
    return (zlib.crc32(targets.data, zlib.crc32(rows.data)),)


Step = Callable[[Any, Any], Piece]
"""Row-wise function from rows and targets to rows and targets."""


@dataclass(frozen=True)
class ReadSettings:
    """Settings of a table that are the same for all of its parts."""

    steps: tuple[Step, ...]
    rows: int
    n: int

    def row_range(self, span: Span) -> range:
        """Rows of consecutive chunks."""
        return range(span[0] * self.rows, min(span[1] * self.rows, self.n))


@dataclass(frozen=True)
class Part:
    """Consecutive chunks of a table: their numbers, source and checksums."""

    span: Span
    rows: range
    source: Any
    offset: int = 0  # number of the source's first row
    checksums: Checksums | None = None
    on_workers: Any = None  # where workers of a cluster keep the chunks

    def with_own_rows(self) -> "Part":
        """Return the part with a source of its own rows, to be sent elsewhere."""
        low, high = self.rows.start - self.offset, self.rows.stop - self.offset
        source, offset = self.source.part(low, high)
        return replace(self, source=source, offset=self.offset + offset, on_workers=None)


class RowError(Exception):
    """Error of a row, by its number; the process that holds the whole source names the place."""

    def __init__(self, row: int, kind: type[Exception], before: str, after: str) -> None:
        super().__init__(row, kind, before, after)

    def located(self, source: RowSource) -> Exception:
        """Return the error for a user, with file, row group and row."""
        row, kind, before, after = self.args
        error: Exception = kind(f"{before}{source.locate(row)}{after}")
        return error


def branch_sum(shared: Any, what: Any, part: Part) -> list[Node]:
    """Reduce consecutive chunks: a pure function of the rows, the reduction and the range."""
    settings, function, merge = what
    tree = Tree(merge)
    with one_blas_thread():
        for _, rows, targets in read_chunks(part, settings):
            tree.push(0, function(rows, targets))
            pause()
    return tree.nodes()


@dataclass(frozen=True)
class Load:
    """Task that reads chunks once: checks them, counts, and applies a last step."""

    count: Callable[[FloatArray, FloatArray], tuple[FloatArray, ...]]
    last: Step
    settings: ReadSettings
    checked: bool  # whether checksums are computed
    limit: float = math.inf  # number of first chunks that are kept

    def __call__(self, shared: Any, work: Any, part: Part) -> "LoadedRows":
        """Return the chunks after the last step, their checksums and counts."""
        chunks: list[tuple[FloatArray, FloatArray]] = []
        checksums: Checksums = ()
        counts: tuple[FloatArray, ...] | None = None
        with one_blas_thread():
            for index, rows, targets in read_chunks(replace(part, checksums=None), self.settings):
                chunk_counts = self.count(rows, targets)
                counts = chunk_counts if counts is None else add_arrays(counts, chunk_counts)
                chunk = self.last(rows, targets)
                checksums += chunk_checksum(*chunk) if self.checked else ()
                if index + 1 <= self.limit:
                    chunks.append(chunk)
                pause()
        assert counts is not None
        return LoadedRows(chunks, tuple(checksums), counts)


@dataclass(frozen=True, eq=False, repr=False)
class LoadedRows(RowSource):
    """Chunks in memory after all steps of a table."""

    chunks: list[tuple[FloatArray, FloatArray]]
    checksums: Checksums
    counts: tuple[FloatArray, ...]

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        return iter(self.chunks)

    def __sizeof__(self) -> int:
        """Bytes in memory, by which a worker of Dask decides what it spills."""
        return sum(rows.nbytes + targets.nbytes for rows, targets in self.chunks)

    def check(self, part: Part) -> None:
        """Raise if chunks that were made again differ from those that were read first."""
        for index, (expected, checksum) in enumerate(
            zip(self.checksums, part.checksums or self.checksums, strict=True)
        ):
            if expected != checksum:
                size = len(self.chunks[0][0])
                raise _changed(part.rows.start + index * size, len(self.chunks[index][0]))


def read_chunks(part: Part, settings: ReadSettings) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Yield chunks in order: number, rows and targets."""
    low, high = part.rows.start - part.offset, part.rows.stop - part.offset
    cut = _cut(part.source.pieces(low, high), settings.rows)
    for index, (rows, targets) in enumerate(cut, start=part.span[0]):
        first = index * settings.rows
        try:
            chunk = _transform(settings.steps, rows, targets)
        except (ValueError, TypeError) as error:
            bad = first + _first_bad(settings.steps, rows, targets)
            raise RowError(bad, DataError, "", f": {error}") from error
        checksum = part.checksums[index - part.span[0]] if part.checksums else None
        if checksum is not None and checksum != chunk_checksum(*chunk)[0]:
            raise _changed(first, len(chunk[0]))
        yield index, *chunk


def _changed(first: int, rows: int) -> RowError:
    return RowError(
        first,
        RowsChangedError,
        f"rows {first} to {first + rows - 1}, from ",
        " on, have changed since this fit first read them: prevent writes to them while it runs, "
        "or work on a copy",
    )


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
    together = np.concatenate([np.asarray(part) for part in targets])
    if not hasattr(rows[0], "iloc"):
        return np.concatenate(rows), together
    return pd.concat(rows, ignore_index=True), together
