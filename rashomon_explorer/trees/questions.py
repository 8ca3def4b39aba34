"""Questions with declared thresholds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import is_finite
from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.data.column import Column
from rashomon_explorer.data.columns import Levelled, Ordered
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.sets.models.trees import Leaf, Node, Split
from rashomon_explorer.sets.models.written import as_question
from rashomon_explorer.trees.rows import MergedRows, merged, yes_or_no


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
        plain = sorted({column for column, threshold in self.splits if threshold is None})
        if plain:
            _check_plain(table, plain, self.names)
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


def _check_plain(table: FloatArray, columns: list[int], names: tuple[str, ...]) -> None:
    try:
        yes_or_no(table[:, columns])
    except DataError:
        strange = [c for c in columns if not np.isin(table[:, c], (0, 1)).all()]
        raise DataError(
            f"column {names[strange[0]]!r} has values other than 0 and 1: declare thresholds "
            f"for its numbers, thresholds={{{names[strange[0]]!r}: [...]}}, or a schema"
        ) from None


def array_questions(names: Sequence[str], thresholds: Any) -> ThresholdQuestions:
    """Questions about a table of numbers."""
    if not isinstance(thresholds, Mapping):
        cuts: list[float | None] = [None] if thresholds is None else [*checked(thresholds)]
        splits = [(column, cut) for column in range(len(names)) for cut in cuts]
        return ThresholdQuestions(tuple(splits), tuple(names))
    own = {_place(key, names): checked(values) for key, values in thresholds.items()}
    splits = [(column, cut) for column in range(len(names)) for cut in own.get(column, (None,))]
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
        steps = [(0, place + 0.5) for place in range(len(column.levels) - 1)]
        return [*steps, *((at, 0.5) for at in range(1, width))]
    assert isinstance(column, Levelled)  # IgnoredColumn is not a feature
    skipped = 1 if width == 2 else 0  # of two levels, one is enough
    return [(at, 0.5) for at in range(skipped, width)]


def checked(thresholds: Any) -> tuple[float, ...]:
    """Raise unless thresholds are distinct finite numbers; one number is one threshold."""
    values = np.asarray(thresholds, dtype=object).ravel().tolist()
    good = values and all(
        isinstance(one, Real) and not isinstance(one, bool) and is_finite(one) for one in values
    )
    if not good or len(set(values)) < len(values):
        raise DataError(f"thresholds must be finite numbers, each once, got {thresholds!r}")
    return tuple(sorted(float(one) for one in values))


def _place(key: Any, names: Sequence[str]) -> int:
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
        return MergedRows.of(rows, labels, self.n_labels)
