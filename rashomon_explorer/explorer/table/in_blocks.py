"""From rows in blocks to the data set that the page shows."""

import os
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.blocks.parquet import ParquetRows
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.explorer.whole import Came
from rashomon_explorer.schema import TableSchema


def data_in_blocks(
    rows: RowBlocks,
    schema: TableSchema | str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Bunch:
    """Make the page's data set of rows in blocks; holds a fixed random sample of them alone.

    Parameters
    ----------
    rows : RowBlocks
        With targets, as they came.
    schema : TableSchema, str or path, optional
        What is public about them, or its file. Without one it is proposed from the sample, and
        nothing has a guarantee before somebody has confirmed it.
    name : str, optional
        Of the table and its ledger; by default that of the folder or file.

    Raises
    ------
    DataError, TypeError
        If rows or declaration cannot be used, saying what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.blocks import row_blocks
    >>> X = np.random.default_rng(0).uniform(size=(6_000, 2))
    >>> data = data_in_blocks(row_blocks(X, (X[:, 0] > 0.5).astype(int)))
    >>> data.whole.words, len(data.X), data.bounds_learnt
    ('a fixed random sample of 5,000 of 6,000 people', 5000, True)
    """
    came = Came.of(rows)
    called = name or _name(rows.source)
    frame = came.people
    if schema is None:
        table = TableEditor.proposed(called, frame, target=came.target)
    else:
        table = TableEditor(called, frame, TableSchema.of(schema))
    return table.behind(came).data()


def _name(source: Any) -> str:
    """Call a table as its file or folder is called."""
    if not isinstance(source, ParquetRows):
        return "table"
    paths = {Path(group.path) for group in source.groups}
    first = min(paths)
    if len(paths) == 1:
        return first.stem
    return next(folder.name for folder in first.parents if "=" not in folder.name)
