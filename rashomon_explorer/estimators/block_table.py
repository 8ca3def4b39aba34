"""A table in blocks, of which only shape and names are known until its price is charged."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import NUMPY
from rashomon_explorer.blocks import RowBlocks, Step
from rashomon_explorer.blocks.steps import AsNumbers, Encoded
from rashomon_explorer.estimators.classes import class_codes
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.leak_memory import recall
from rashomon_explorer.leaks import leak_of
from rashomon_explorer.privacy.ledger.fingerprint import row_hashes
from rashomon_explorer.privacy.ledger.tables import recognise_hashes
from rashomon_explorer.schema import TableEncoder, TableSchema
from rashomon_explorer.schema.labels import declared_labels
from rashomon_explorer.schema.tables import find_features, names_of_features

_OF_A_FIT = 2**25  # bytes
_UNCOUNTED = (
    "the partitions of this Dask DataFrame have unknown lengths, and a ledger must be charged "
    "before a partition is computed: give row_blocks(X, y, lengths=[...]) the rows of each "
    "partition, or lengths=True to count them now, outside of any charge; or write the rows to "
    "Parquet, whose footers say it. Nothing was read or charged"
)


class BlockTable:
    """What a fit asks of a table, for one that is never held: no block is read to make it.

    Parameters
    ----------
    blocks : RowBlocks
        From :func:`rashomon_explorer.blocks.row_blocks`.
    schema : TableSchema or None
    row_norm : float
        About the norm of a typical row that a schema encodes.
    charged : bool
        Whether a ledger is given: then nothing is computed to find the number of rows.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and of columns as models see them.
    may_be_long : bool
        Whether rows longer than they should be are worth a warning.

    Raises
    ------
    DataError
        If columns lack or are not declared, or a charged table does not know its number of rows.
    MemoryLimitError
        If this process's limits leave no room for work on a block.
    """

    arrays = NUMPY  # blocks are worked on by the host's cores

    def __init__(
        self, blocks: RowBlocks, schema: TableSchema | None, row_norm: float, *, charged: bool
    ) -> None:
        if not blocks.source.labelled:
            raise TypeError("these rows have no targets to fit: give row_blocks y, or target=")
        if charged and not blocks.is_counted:
            raise DataError(_UNCOUNTED)
        text = getattr(blocks.source, "text_partitions", ())
        if schema is None and text and not blocks.steps:
            raise DataError(
                f"{', '.join(text)} holds text, from the names of folders: declare it in a schema, "
                "or leave it out with row_blocks(..., columns=[...])"
            )
        self._blocks, self.schema, self._row_norm = blocks, schema, row_norm
        n, self.n_columns = blocks.source.shape
        self.may_be_long = schema is None
        if schema is not None:
            self._places = find_features(schema, self._nobody)
            self.n_columns = len(self._places)
        self.shape = (n, self.n_columns if schema is None else len(schema.encoded_names))
        # Before anything is charged: a fit holds plans, and a ledger's a hash of each row.
        blocks.check_room(self.shape[1], more=_OF_A_FIT + 3 * 8 * n)

    @property
    def names(self) -> NDArray[Any] | None:
        """Column names of X, where it has them; with a schema of its features."""
        found = self._blocks.source.names
        if found is None or self.schema is None:
            return None if found is None else np.array(found, dtype=object)
        return names_of_features(found, self._places)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns that models see."""
        if self.schema is not None:
            return list(self.schema.encoded_names)
        return [f"x{j}" for j in range(self.shape[1])] if self.names is None else [*self.names]

    @property
    def feature_groups(self) -> dict[str, tuple[str, ...]] | None:
        """Which of them are one feature; None leaves it to their names."""
        return None if self.schema is None else self.schema.feature_groups

    @property
    def unconfirmed(self) -> str:
        """Why there is no guarantee behind the schema; empty if all of it is confirmed."""
        return "" if self.schema is None else self.schema.leak

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee assumes of where the rows are and who adds them up."""
        return self._blocks.assumptions

    @cached_property
    def numeric(self) -> RowBlocks:
        """Rows as numbers, encoded by the schema, and targets as they are."""
        step = AsNumbers() if self.schema is None else Encoded(self.schema, self._row_norm)
        return self._blocks.then(step)

    def coded(self, *steps: Step) -> RowBlocks:
        """Return rows as numbers, and targets taken through steps."""
        return self.numeric.then(*steps)

    @property
    def leak(self) -> str:
        """What the first block's numbers tell that they were made with; looks at them."""
        given = getattr(self._blocks.source, "X", None)
        rows, _ = next(self.numeric.blocks(0, 1))
        return leak_of(given) or recall(rows)

    def recognised(self, ledger: Path) -> None:
        """Note the table in the registry beside a ledger; warn if it is charged to another."""
        each = self.numeric.reduce(_hashes, merge=_one_after_the_other)
        recognise_hashes(ledger, self.shape, each)

    def public(self) -> dict[str, Any]:
        """Fitted attributes that say nothing of a row."""
        names = {} if self.names is None else {"feature_names_in_": self.names}
        fitted = {"n_features_in_": self.n_columns, **names}
        if self.schema is None:
            return fitted
        encoder = TableEncoder(self.schema, row_norm=self._row_norm).note_columns(self._nobody)
        return {**fitted, "encoder_": encoder}

    @property
    def _nobody(self) -> Any:
        """A table of the same columns without a row."""
        names = self._blocks.source.names
        if names is None:
            return np.empty((0, self._blocks.source.shape[1]))
        import pandas as pd

        return pd.DataFrame(columns=list(names))


@dataclass(frozen=True, eq=False)
class ClassCodes:
    """Labels as codes that a loss takes: −1 and 1 for two classes, 0, 1, … for more.

    Parameters
    ----------
    classes : ndarray
        Declared.
    schema : TableSchema or None
        How labels are written, where it says.
    """

    classes: NDArray[Any]
    schema: TableSchema | None

    def __call__(self, rows: FloatArray, labels: Any) -> tuple[FloatArray, FloatArray]:
        """Return the rows as they are, and the codes (m,)."""
        if self.schema is not None and self.schema.classes is not None:
            labels = declared_labels(self.schema, labels)
        codes = class_codes(np.asarray(labels), self.classes)
        return rows, 2 * codes - 1 if len(self.classes) == 2 else codes


@dataclass(frozen=True)
class OnUnit:
    """Targets mapped from declared bounds onto [−1, 1]; those beyond stay beyond.

    Parameters
    ----------
    low, high : float
    """

    low: float
    high: float

    def __call__(self, rows: FloatArray, targets: Any) -> tuple[FloatArray, FloatArray]:
        """Return the rows as they are, and the mapped targets (m,)."""
        half = (self.high - self.low) / 2
        values = np.asarray(targets, dtype=np.float64)
        held = np.clip(values, self.low - half, self.high + half)  # or mapping may overflow
        return rows, (held - (self.low + self.high) / 2) / half


def _hashes(rows: FloatArray, targets: Any) -> tuple[NDArray[np.uint64]]:
    return (row_hashes(rows),)


def _one_after_the_other(one: tuple[Any], other: tuple[Any]) -> tuple[Any]:
    return (np.concatenate([one[0], other[0]]),)
