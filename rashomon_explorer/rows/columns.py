"""One column of a chunked table in memory: a group or the targets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.source import as_it_is

if TYPE_CHECKING:
    import pandas as pd


def read_column(table: ChunkedRows, name: str) -> "pd.Series":
    """Read one column of a table by name; needs a few bytes of memory per row."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    alone = replace(table, source=table.source.only(name), steps=(as_it_is,), seen=None)
    parts = alone.reduce(_coded, merge=_joined)
    return pd.Series(union_categoricals(list(parts), sort_categories=True), name=name)


def read_targets(table: ChunkedRows) -> NDArray[Any]:
    """Read the targets (n,) of a table from its source."""
    if not table.source.labelled:
        raise TypeError("these rows have no targets: give y, or chunk_rows(..., target=...)")
    parts = replace(table, steps=(as_it_is,), seen=None).reduce(_targets, merge=_joined)
    return np.concatenate(parts)


def each_row(table: ChunkedRows, of: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Apply a function of rows to all chunks; the result has one or a few entries per row."""
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
