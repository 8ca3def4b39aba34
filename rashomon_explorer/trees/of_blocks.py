"""Rows that come in blocks, as answers to questions, equal ones merged."""

from dataclasses import dataclass
from typing import Any

from rashomon_explorer.array_types import Mask
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.trees.questions import Questions
from rashomon_explorer.trees.rows import MergedRows, merged


def merged_blocks(table: RowBlocks, questions: Questions, n_labels: int) -> MergedRows:
    """Which answers occur, and how many rows of each label have them: eight bytes a row are held.

    Parameters
    ----------
    table : RowBlocks
        Rows as questions ask them, and labels as 0, 1, ….
    questions : Questions
    n_labels : int

    Raises
    ------
    DataError
        If a row cannot be used; the message says where it is.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.blocks import row_blocks
    >>> from rashomon_explorer.trees.questions import of_array
    >>> table = row_blocks(np.array([[25.0], [70.0], [80.0]]), np.array([0, 1, 1]))
    >>> merged_blocks(table, of_array(["age"], {"age": [30]}), 2).counts.tolist()
    [[1, 0], [0, 2]]
    """
    found: MergedRows = table.then(_Answered(questions)).reduce(_Merge(n_labels), merge=merged)
    return found


@dataclass(frozen=True, eq=False)
class _Answered:
    """A step, so that a row without an answer is named with its place."""

    questions: Questions

    def __call__(self, rows: Any, labels: Any) -> tuple[Mask, Any]:
        return self.questions.answers(rows), labels


@dataclass(frozen=True)
class _Merge:
    n_labels: int

    def __call__(self, rows: Any, labels: Any) -> MergedRows:
        return MergedRows.of(rows, labels, self.n_labels)
