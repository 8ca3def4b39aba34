"""Answers of rows, merged where equal, and the threshold questions that give them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.validation import is_finite
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.data.columns import Column, Levelled, Ordered
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.sets.models.trees import Leaf, Node, Split
from rashomon_explorer.sets.models.written import as_question

BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(float)
"""Table (256, 8) of the eight answers in each packed byte."""


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Combinations of features that occur, and the number of rows of each label with each."""

    patterns: Mask  # (U, m), distinct
    counts: IntArray  # (U, C): rows of each label
    pattern_index: IntArray  # (n,): the combination of each row
    costs: IntArray | None = None  # (C, C): by the row's and the predicted label; None for 1

    @classmethod
    def from_rows(
        cls, X: ArrayLike, codes: ArrayLike, n_labels: int, costs: IntArray | None = None
    ) -> "MergedRows":
        """Merge the rows (n, m) of 0 and 1, with labels (n,) 0, 1, …."""
        table = yes_or_no(X)
        labels = np.asarray(codes).astype(np.int64)
        if labels.shape != (len(table),):
            raise DataError(f"{len(table)} rows need as many labels, got shape {labels.shape}")
        patterns, pattern_index = np.unique(table, axis=0, return_inverse=True)
        pattern_index = pattern_index.reshape(-1).astype(np.int64)
        flat = np.bincount(pattern_index * n_labels + labels, minlength=len(patterns) * n_labels)
        return cls(patterns, flat.reshape(-1, n_labels).astype(np.int64), pattern_index, costs)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.pattern_index)

    @cached_property
    def wrong(self) -> IntArray:
        """Cost (U, C) of each label on the rows of each combination."""
        return wrong(self.counts, self.costs)

    @cached_property
    def packed(self) -> NDArray[np.uint8]:
        """Answers (m/8, U) of each combination, eight questions per byte."""
        return np.packbits(self.patterns.T, axis=0)

    @cached_property
    def masks(self) -> list[int]:
        """Set of combinations with each feature, as the bits of an integer."""
        return [as_bits(column) for column in self.patterns.T]

    @cached_property
    def everything(self) -> int:
        """The set of all combinations."""
        return as_bits(np.ones(len(self.patterns), dtype=bool))

    @cached_property
    def weights(self) -> FloatArray:
        """Rows (U, (m + 1)·C) of each label with each feature, and all of them."""
        dtype = np.float32 if self.counts.sum() < 2**24 else np.float64  # both exact up to there
        counts = self.counts.astype(dtype)[:, None]
        every = np.concatenate([self.patterns[:, :, None] * counts, counts], axis=1)
        return np.asarray(every.reshape(len(self.patterns), -1))


def merged(left: MergedRows, right: MergedRows) -> MergedRows:
    """Rows of two tables with the same features and labels, the first table's first."""
    every = np.concatenate([left.patterns, right.patterns])
    patterns, pattern_index = np.unique(every, axis=0, return_inverse=True)
    pattern_index = pattern_index.reshape(-1)
    counts = np.zeros((len(patterns), left.counts.shape[1]), dtype=np.int64)
    np.add.at(counts, pattern_index, np.concatenate([left.counts, right.counts]))
    first, second = np.split(pattern_index, [len(left.patterns)])
    return MergedRows(
        patterns, counts, np.concatenate([first[left.pattern_index], second[right.pattern_index]])
    )


def wrong(rows: IntArray, costs: IntArray | None) -> IntArray:
    """Cost (…, C) of predicting each label for rows (…, C) of each label."""
    if costs is not None:
        return np.asarray(rows @ costs)
    if rows.shape[-1] == 2:
        return rows[..., ::-1]
    return np.asarray(all_labels(rows)[..., None] - rows)


def all_labels(rows: NDArray[Any]) -> IntArray:
    """Sum of rows (…, C) over the labels; numpy is slow over a short last axis."""
    return np.asarray(reduce(np.add, np.moveaxis(rows, -1, 0)))


def yes_or_no(X: Any) -> Mask:
    """Return a Boolean array; raise for values other than 0 and 1."""
    table = np.asarray(X)
    if table.ndim != 2 or 0 in table.shape:
        raise DataError(f"X must have rows and columns of 0 and 1, got shape {table.shape}")
    if table.dtype == bool:
        return table
    strange = ~np.isin(table, (0, 1))
    if strange.any():
        row, column = np.argwhere(strange)[0]
        value = table[row : row + 1, column].tolist()[0]
        raise DataError(
            f"column {column} of X holds {value!r} in row {row}, expected 0 or 1: "
            "CountedTrees.of_table(X, y, thresholds=...) asks about numbers, and schema=... "
            "about its levels"
        )
    return table.astype(bool)


def as_bits(mask: Mask) -> int:
    """Set of indices as the bits of an integer, index 0 the highest."""
    return int.from_bytes(np.packbits(mask).tobytes(), "big")


def as_masks(sets: list[int], size: int) -> NDArray[np.uint8]:
    """Inverse of :func:`as_bits` for many sets: 0 and 1 of shape (len(sets), size)."""
    width = (size + 7) // 8
    written = b"".join(subset.to_bytes(width, "big") for subset in sets)
    packed = np.frombuffer(written, dtype=np.uint8).reshape(len(sets), width)
    return np.unpackbits(packed, axis=1, count=size)


@dataclass(frozen=True)
class ThresholdQuestions:
    """Column and threshold of each question."""

    splits: tuple[tuple[int, float | None], ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.splits)

    @property
    def declared(self) -> tuple[tuple[str, float | None], ...]:
        """Column and threshold of each question, as a plan stores them."""
        return tuple((self.names[column], threshold) for column, threshold in self.splits)

    @property
    def in_words(self) -> tuple[str, ...]:
        """Text of each question."""
        return tuple(
            as_question(column, self.names)
            if threshold is None
            else as_question(column, self.names, ">", threshold)
            for column, threshold in self.splits
        )

    def answers(self, table: FloatArray) -> Mask:
        """Answers (n, m) for the rows of a table."""
        for column in sorted({c for c, threshold in self.splits if threshold is None}):
            if not np.isin(table[:, column], (0, 1)).all():
                name = self.names[column]
                raise DataError(
                    f"column {name!r} has values other than 0 and 1: declare thresholds for its "
                    f"numbers, thresholds={{{name!r}: [...]}}, or a schema"
                )
        columns = [
            table[:, column] > (0.5 if threshold is None else threshold)
            for column, threshold in self.splits
        ]
        return np.column_stack(columns)

    def about_columns(self, node: Node) -> Node:
        """Convert a tree on the questions to a tree on the columns."""
        if isinstance(node, Leaf):
            return node
        column, threshold = self.splits[node.feature]
        branches = self.about_columns(node.if_true), self.about_columns(node.if_false)
        if threshold is None:
            return Split(column, *branches)
        return Split(column, *branches, ">", threshold)


def array_questions(names: Sequence[str], thresholds: Any) -> ThresholdQuestions:
    """Questions about a table of numbers."""
    if not isinstance(thresholds, Mapping):
        cuts: list[float | None] = [None] if thresholds is None else [*checked(thresholds)]
        splits = [(column, cut) for column in range(len(names)) for cut in cuts]
        return ThresholdQuestions(tuple(splits), tuple(names))
    by_column = {_column_index(key, names): checked(cuts) for key, cuts in thresholds.items()}
    splits = [(j, cut) for j in range(len(names)) for cut in by_column.get(j, (None,))]
    return ThresholdQuestions(tuple(splits), tuple(names))


def schema_questions(schema: TableSchema, thresholds: Any) -> ThresholdQuestions:
    """Questions about a table with a schema, in the columns' own units."""
    if thresholds is not None and not isinstance(thresholds, Mapping):
        raise DataError("with a schema, thresholds must map numeric columns to their thresholds")
    thresholds = {str(key): checked(values) for key, values in (thresholds or {}).items()}
    numbers = [column.name for column in schema.features if isinstance(column, Numeric)]
    strange = [key for key in thresholds if key not in numbers]
    if strange:
        raise DataError(f"thresholds name {strange[0]!r}, which is not a numeric column: {numbers}")
    splits: list[tuple[int, float | None]] = []
    first = 0
    for column in schema.features:
        width = len(column.encoded_names)
        splits += [(first + at, cut) for at, cut in _cuts(column, thresholds.get(column.name))]
        first += width
    return ThresholdQuestions(tuple(splits), schema.encoded_names)


def _cuts(column: Column, thresholds: tuple[float, ...] | None) -> Iterable[tuple[int, float]]:
    """Index among a column's encoded columns, and threshold, of each question."""
    width = len(column.encoded_names)
    if isinstance(column, Numeric):
        return [
            *((0, cut) for cut in thresholds or column.cuts),
            *((at, 0.5) for at in range(1, width)),
        ]
    if isinstance(column, Ordered):
        steps = [(0, level + 0.5) for level in range(len(column.levels) - 1)]
        return [*steps, *((at, 0.5) for at in range(1, width))]
    assert isinstance(column, Levelled)  # IgnoredColumn is not a feature
    skipped = 1 if width == 2 else 0  # of two levels, one is enough
    return [(at, 0.5) for at in range(skipped, width)]


def checked(thresholds: Any) -> tuple[float, ...]:
    """Raise unless thresholds are distinct finite numbers; one number is one threshold."""
    values = np.asarray(thresholds, dtype=object).ravel().tolist()
    good = values and all(
        isinstance(value, Real) and not isinstance(value, bool) and is_finite(value)
        for value in values
    )
    if not good or len(set(values)) < len(values):
        raise DataError(f"thresholds must be finite numbers, each once, got {thresholds!r}")
    return tuple(sorted(float(value) for value in values))


def _column_index(key: Any, names: Sequence[str]) -> int:
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    if key in names:
        return list(names).index(key)
    raise DataError(f"thresholds name the column {key!r}, which is not in {list(names)}")


def merged_chunks(table: ChunkedRows, questions: ThresholdQuestions, n_labels: int) -> MergedRows:
    """Find the combinations of answers and their rows of each label, in eight bytes per row."""
    return table.then(_Answered(questions)).reduce(_Merge(n_labels), merge=merged)


@dataclass(frozen=True, eq=False)
class _Answered:
    """Step that answers the questions, so that an error names the row."""

    questions: ThresholdQuestions

    def __call__(self, rows: Any, labels: Any) -> tuple[Mask, Any]:
        return self.questions.answers(rows), labels


@dataclass(frozen=True)
class _Merge:
    n_labels: int

    def __call__(self, rows: Any, labels: Any) -> MergedRows:
        return MergedRows.from_rows(rows, labels, self.n_labels)
