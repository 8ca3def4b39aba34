"""A table for trees, of which only shape and names are known until its price is charged."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, IntArray
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.blocks.steps import AsNumbers, Transformed
from rashomon_explorer.carries_leaks import with_leak
from rashomon_explorer.estimators.block_table import BlockTable
from rashomon_explorer.estimators.classes import check_labels, class_codes
from rashomon_explorer.estimators.declared_table import DeclaredTable
from rashomon_explorer.estimators.unread import UnreadTable
from rashomon_explorer.schema import TableSchema
from rashomon_explorer.schema.labels import declared_labels
from rashomon_explorer.schema.units import UnitEncoder
from rashomon_explorer.trees.of_blocks import merged_blocks
from rashomon_explorer.trees.questions import Questions


class TreeTable(DeclaredTable):
    """Declared columns in their own units: what trees compare with thresholds."""

    @cached_property
    def _encoded(self) -> Any:
        return with_leak(UnitEncoder(self.schema).transform(self._X), self._X)

    def public(self) -> dict[str, Any]:
        """Fitted attributes that say nothing of a row, the encoder for other rows among them."""
        return {**super().public(), "encoder_": UnitEncoder(self.schema)}


class TreeBlocks(BlockTable):
    """The same for rows in blocks, with a schema or without."""

    @cached_property
    def numeric(self) -> RowBlocks:
        """Rows as numbers in their own units, and targets as they are."""
        if self.schema is None:
            return self._blocks.then(AsNumbers())
        found = self._blocks.source.names
        names = None if found is None else tuple(found)
        return self._blocks.then(Transformed(UnitEncoder(self.schema), names))

    def public(self) -> dict[str, Any]:
        """Fitted attributes that say nothing of a row, the encoder for other rows among them."""
        found = super().public()
        return found if self.schema is None else {**found, "encoder_": UnitEncoder(self.schema)}


def answers_of(
    table: UnreadTable | BlockTable, questions: Questions, classes: NDArray[Any]
) -> tuple[Any, IntArray | None]:
    """Read the rows as answers and the labels as codes: what ``CountedTrees`` takes.

    Parameters
    ----------
    table : UnreadTable or TreeBlocks
    questions : Questions
    classes : ndarray
        Declared or known.

    Returns
    -------
    ndarray of shape (n, m), ndarray of shape (n,)
        Or merged rows and None, of a table in blocks.
    """
    if isinstance(table, BlockTable):
        coded = table.coded(_Codes(classes, table.schema))
        return merged_blocks(coded, questions, len(classes)), None
    rows, labels = table.values
    check_labels(labels)
    return questions.answers(rows), class_codes(labels, classes).astype(int)


@dataclass(frozen=True, eq=False)
class _Codes:
    classes: NDArray[Any]
    schema: TableSchema | None

    def __call__(self, rows: FloatArray, labels: Any) -> tuple[FloatArray, FloatArray]:
        if self.schema is not None and self.schema.classes is not None:
            labels = declared_labels(self.schema, labels)
        return rows, class_codes(labels, self.classes)
