"""One column of a table in blocks, held by itself: a group, or the targets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.rows.chunked import RowBlocks
from rashomon_explorer.rows.source import as_it_is

if TYPE_CHECKING:
    import pandas as pd


def column_of(table: RowBlocks, name: str) -> "pd.Series":
    """Read one column of a table, by its name; a byte or a few a row are held.

    Parameters
    ----------
    table : RowBlocks
    name : str
        Any column of the files or of the DataFrame, whether it is a feature or not.

    Returns
    -------
    pandas.Series of shape (n,)
        Categorical.

    Raises
    ------
    DataError
        If there is no such column, or no column has a name.

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer.rows import row_blocks
    >>> frame = pd.DataFrame({"age": [30, 50], "home": ["rent", "own"]})
    >>> column_of(row_blocks(frame, [1, 0]), "home").cat.codes.tolist()
    [1, 0]
    """
    import pandas as pd
    from pandas.api.types import union_categoricals

    alone = replace(table, source=table.source.only(name), steps=(as_it_is,), seen=None)
    parts = alone.reduce(_coded, merge=_joined)
    return pd.Series(union_categoricals(list(parts), sort_categories=True), name=name)


def targets_of(table: RowBlocks) -> NDArray[Any]:
    """Read the targets (n,) of a table as they are in its source.

    Parameters
    ----------
    table : RowBlocks

    Raises
    ------
    TypeError
        If the rows have none.

    Examples
    --------
    >>> from rashomon_explorer.rows import row_blocks
    >>> targets_of(row_blocks(np.eye(2), np.array(["no", "yes"]))).tolist()
    ['no', 'yes']
    """
    if not table.source.labelled:
        raise TypeError("these rows have no targets: give y, or row_blocks(..., target=...)")
    parts = replace(table, steps=(as_it_is,), seen=None).reduce(_targets, merge=_joined)
    return np.concatenate(parts)


def each_row(table: RowBlocks, of: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Find what a function of rows makes of every row of a table, one entry or a few a row.

    Parameters
    ----------
    table : RowBlocks
    of : callable
        From rows (m, d) to an array (m,) or (m, k); picklable, for other processes.

    Returns
    -------
    ndarray of shape (n,) or (n, k)
        In the order of the rows.

    Examples
    --------
    >>> from rashomon_explorer.rows import row_blocks
    >>> each_row(row_blocks(np.eye(2), labelled=False), lambda rows: rows.sum(axis=1)).tolist()
    [1.0, 1.0]
    """
    return np.concatenate(table.reduce(_EachRow(of), merge=_joined))


@dataclass(frozen=True)
class _EachRow:
    of: Callable[[Any], NDArray[Any]]

    def __call__(self, rows: Any, targets: Any) -> tuple[NDArray[Any], ...]:
        return (self.of(rows),)


def _coded(rows: Any, targets: Any) -> tuple[Any, ...]:
    import pandas as pd

    return (pd.Categorical(rows.iloc[:, 0]),)


def _targets(rows: Any, targets: Any) -> tuple[NDArray[Any], ...]:
    return (np.array(targets),)


def _joined(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return one + other
