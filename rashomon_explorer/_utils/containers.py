"""Conversion of tables and columns of other libraries, by type."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from rashomon_explorer._utils.validation import public_shape

_FRAMES = {
    "polars": ("DataFrame",),
    "pyarrow": ("Table", "RecordBatch"),
    "narwhals": ("DataFrame",),
}
_COLUMNS = {"polars": ("Series",), "pyarrow": ("Array", "ChunkedArray"), "narwhals": ("Series",)}
_NAMED = {name: (*kinds, *_COLUMNS.get(name, ())) for name, kinds in _FRAMES.items()}
_KNOWN = (*_FRAMES, "duckdb", "_duckdb", "xarray")
_LAZY = "use .collect(), or write it with .sink_parquet(path) and use chunk_rows(path, target=...)"
_REMEDY = {
    ("polars", "LazyFrame"): _LAZY,
    ("narwhals", "LazyFrame"): _LAZY,
    ("duckdb", "DuckDBPyRelation"): "use .df() or .to_arrow_table()",
    ("_duckdb", "DuckDBPyRelation"): "use .df() or .to_arrow_table()",
    ("pyarrow", "Dataset"): "use chunk_rows(X, target=...) or .to_table()",
    ("pyarrow", "RecordBatchReader"): "use .read_all()",
    ("xarray", "Dataset"): "use .to_dataframe()",
    ("xarray", "DataArray"): "use .to_pandas(), or its array, .data",
    ("numpy", "MaskedArray"): "use .filled(np.nan), and declare a schema for missing values",
}
_FRAME_PROTOCOLS = ("__dataframe__", "__arrow_c_stream__", "iloc")
_READABLE = "a NumPy array, a DataFrame of pandas or polars, an Arrow table or a list of rows"


def is_readable(data: Any) -> bool:
    """Whether a container can be read, judged by its type; reads no value."""
    # By its type: looking up an attribute of unknown data could read values.
    if isinstance(data, np.ma.MaskedArray):
        return False
    if isinstance(data, np.ndarray | pd.DataFrame | pd.Series | pd.Index):
        return True
    if isinstance(data, Sequence):
        return not isinstance(data, str | bytes)
    if is_from_library(data, ("narwhals",)) and _is_kind(data, _NAMED):
        return is_readable(data.to_native())
    if is_from_library(data, _KNOWN):
        return _is_kind(data, _NAMED)
    kind = type(data)
    return hasattr(kind, "__array__") and not any(hasattr(kind, name) for name in _FRAME_PROTOCOLS)


def check_readable(name: str, data: Any) -> None:
    """Raise if a container's type cannot be read, before a ledger is charged."""
    if issparse(data):
        raise TypeError(
            f"{name} is sparse, expected a dense table: use {name}.toarray(), "
            "or sparse_output=False in an encoder"
        )
    if is_readable(data):
        return
    homes = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(data).__mro__]
    remedy = next((_REMEDY[home] for home in homes if home in _REMEDY), f"give {_READABLE}")
    raise TypeError(
        f"{name} is a {type(data).__name__}, which cannot be read as a table or column: {remedy}. "
        "Nothing was read or charged"
    )


def is_frame(data: Any) -> bool:
    """Whether a table has named columns: a frame of pandas, polars, narwhals or Arrow."""
    return column_labels(data) is not None


def is_parquet_dataset(data: Any) -> bool:
    """Whether data are a ``pyarrow.dataset``."""
    return _is_kind(data, {"pyarrow": ("Dataset",)})


def column_labels(X: Any) -> list[Any] | None:
    """Labels of a frame's columns; None if there are none."""
    if isinstance(X, pd.DataFrame):
        return list(X.columns)
    if not _is_kind(X, _FRAMES):
        return None
    if is_from_library(X, ("pyarrow",)):
        return list(X.schema.names)
    return list(X.columns)


def container_shape(data: Any, dimensions: int) -> tuple[int, ...] | None:
    """Shape of a container by :func:`public_shape`; also supports columns of Arrow and others."""
    if _is_kind(data, _COLUMNS):
        return (len(data),)
    return public_shape(data, dimensions)


def select_columns(frame: Any, labels: Sequence[Any]) -> Any:
    """Return the given columns of a frame, in this order."""
    if isinstance(frame, pd.DataFrame) or not _is_kind(frame, _FRAMES):
        return frame[list(labels)]
    return frame.select(list(labels))


def column_order(labels: Sequence[Any], names: Sequence[str]) -> list[int] | None:
    """Position of each name among a frame's labels; None unless they are the same set of names."""
    positions = {str(label): position for position, label in enumerate(labels)}
    if len(positions) < len(labels):
        twice = next(
            label for position, label in enumerate(labels) if positions[str(label)] != position
        )
        raise ValueError(f"X has two columns named {twice!s}: give every column a name of its own")
    if positions.keys() != set(names):
        return None
    return [positions[name] for name in names]


def columns_at(frame: Any, positions: Sequence[int]) -> Any:
    """Return the columns of a frame at the given positions; the frame itself if they are all."""
    labels = column_labels(frame) or []
    if list(positions) == list(range(len(labels))):
        return frame
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[:, list(positions)]
    return select_columns(frame, [labels[position] for position in positions])


def rows_like(X: Any, name: str, values: Any, other: str = "X") -> Any:
    """Bring a Series or DataFrame into the order of the index of X; others are unchanged."""
    kinds = pd.Series | pd.DataFrame
    index = X.index if isinstance(X, kinds) else X
    if not isinstance(index, pd.Index) or not isinstance(values, kinds):
        return values
    if len(values) != len(index) or values.index.equals(index):
        return values
    cure = f"pass {name}.to_numpy() if its rows are in the order of {other}'s"
    if not (values.index.is_unique and index.is_unique):
        raise ValueError(
            f"{name} and {other} have different indexes that name rows twice, so that their rows "
            f"cannot be matched: {cure}"
        )
    positions = values.index.get_indexer(index)
    if (positions < 0).any():
        label = index[int(np.argmax(positions < 0))]
        raise ValueError(
            f"{name} has another index than {other}, such as no row {label!r}: rows are matched "
            f"by index. Pass {name}.loc[{other}.index], or {cure}"
        )
    return values.iloc[positions]


def take_rows(table: Any, positions: Any) -> Any:
    """Rows of a frame, column or array by position."""
    return table.iloc[positions] if hasattr(table, "iloc") else np.asarray(table)[positions]


def as_pandas(data: Any) -> Any:
    """Convert a frame or column of another library to pandas; return other values unchanged."""
    if _is_kind(data, {"narwhals": _NAMED["narwhals"]}):
        data = data.to_native()
    if _is_kind(data, {"pyarrow": _FRAMES["pyarrow"]}):
        # Ignore pandas metadata, by which a column would become the index.
        return data.to_pandas(ignore_metadata=True, date_as_object=False)
    if _is_kind(data, {"pyarrow": _COLUMNS["pyarrow"]}):
        return data.to_pandas(date_as_object=False)
    if _is_kind(data, {"polars": ("Series",)}):
        return pd.Series(data.to_numpy(), name=data.name)
    if _is_kind(data, {"polars": ("DataFrame",)}):
        return pd.DataFrame({name: pd.Series(data[name].to_numpy()) for name in data.columns})
    return data


def is_from_library(data: Any, libraries: Sequence[str]) -> bool:
    """Whether a type or one of its bases is from one of these libraries; imports none."""
    return any(kind.__module__.partition(".")[0] in libraries for kind in type(data).__mro__)


def _is_kind(data: Any, kinds: dict[str, tuple[str, ...]]) -> bool:
    """Whether a type or one of its bases is among these classes; imports no library."""
    return any(
        kind.__name__ in kinds.get(kind.__module__.partition(".")[0], ())
        for kind in type(data).__mro__
    )
