"""One column of a chunked table in memory: a group or the targets."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.reduction import append_parts

if TYPE_CHECKING:
    import pandas as pd


def read_column(table: ChunkedRows, name: str) -> "pd.Series":
    """Read one column of a table by name; needs a few bytes of memory per row."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    parts = table.raw(table.source.select_column(name)).reduce(_coded, merge=append_parts)
    return pd.Series(union_categoricals(list(parts), sort_categories=True), name=name)


def read_targets(table: ChunkedRows) -> NDArray[Any]:
    """Read the targets (n,) of a table from its source."""
    if not table.source.labelled:
        raise TypeError("these rows have no targets: give y, or chunk_rows(..., target=...)")
    return np.concatenate(table.raw().reduce(_targets, merge=append_parts))


def map_rows(table: ChunkedRows, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Apply a function of rows to all chunks; the result has one or a few entries per row."""
    return np.concatenate(table.reduce(partial(_on_rows, function), merge=append_parts))


def _on_rows(
    function: Callable[[Any], NDArray[Any]], rows: Any, targets: Any
) -> tuple[NDArray[Any], ...]:
    return (function(rows),)


def _coded(rows: Any, targets: Any) -> tuple[Any, ...]:
    import pandas as pd

    return (pd.Categorical(rows.iloc[:, 0]),)


def _targets(rows: Any, targets: Any) -> tuple[NDArray[Any], ...]:
    return (np.array(targets),)
