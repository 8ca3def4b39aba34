"""Tables from files and chunks."""

import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.csv import parse_csv
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.streamed_table import SampledChunks
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.parquet import ParquetRows

_LEAST_COLUMNS = 2


def _csv(content: bytes, name: str) -> pd.DataFrame:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} is not UTF-8 text (byte {error.start}): save it as a UTF-8 CSV file"
        ) from None
    table = parse_csv(text.replace("\r\n", "\n"))
    table.frame.attrs["written"] = table.written
    return table.frame


def _parquet(content: bytes, name: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(io.BytesIO(content))
    except ImportError:
        raise DataError(
            f"{name} is a Parquet file, and reading it needs pyarrow: pip install pyarrow, or "
            "save the table as CSV"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{name} cannot be read as Parquet: {error}") from None


READERS: Mapping[str, Callable[[bytes, str], pd.DataFrame]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".pq": _parquet,
}
"""Reader functions by file extension."""


def read_table(name: str, content: bytes) -> pd.DataFrame:
    r"""Read an uploaded table."""
    reader = READERS.get(PurePath(name).suffix.lower())
    if reader is None:
        raise DataError(f"{name} is none of {', '.join(READERS)}: save the table as one of them")
    frame = reader(content, name)
    if frame.shape[1] < _LEAST_COLUMNS:
        raise DataError(
            f"{name} has {frame.shape[1]} column(s), expected a target and at least one feature"
        )
    frame.columns = [str(label) for label in frame.columns]
    return frame


def chunked_dataset(
    rows: ChunkedRows,
    schema: TableSchema | str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Bunch:
    """Return the page's data set of chunked rows; holds only a fixed random sample of them."""
    sampled = SampledChunks.from_chunks(rows)
    called = name or _name(rows.source)
    frame = sampled.people
    if schema is None:
        table = TableEditor.proposed(called, frame, target=sampled.target)
    else:
        table = TableEditor(called, frame, TableSchema.from_schema_or_path(schema))
    return table.behind(sampled).data()


def _name(source: Any) -> str:
    """Return the name of a table's file or folder."""
    if not isinstance(source, ParquetRows):
        return "table"
    paths = {Path(group.path) for group in source.groups}
    first = min(paths)
    if len(paths) == 1:
        return first.stem
    return next(folder.name for folder in first.parents if "=" not in folder.name)
