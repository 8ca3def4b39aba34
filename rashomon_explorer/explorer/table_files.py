"""Tables from files and chunks."""

import io
import os
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer._utils import files
from rashomon_explorer.data import TableSchema, csv, messages, numerals
from rashomon_explorer.data.cells import cell_text
from rashomon_explorer.data.schema import public_part
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.explorer.table_rows import SampledChunks
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.parquet import UnopenedParquet

_LEAST_COLUMNS = 2


def _csv(content: bytes, name: str, decimal: str | None = None) -> pd.DataFrame:
    text, encoding = csv.decode(content, fallback="cp1252")
    table = csv.parse_csv(csv.plain_lines(text), marks=numerals.NumberMarks(decimal))
    table.frame.attrs["written"] = ", ".join(filter(None, (encoding, table.written)))
    return table.frame


def _excel(content: bytes, name: str) -> pd.DataFrame:
    """Read the first sheet that has a table, without empty rows and columns around it."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_unpacked(name, sum(member.file_size for member in archive.infolist()))
    sheets = pd.read_excel(
        io.BytesIO(content), sheet_name=None, header=None, keep_default_na=False, na_values=[""]
    )
    for title, cells in sheets.items():
        table = cells.dropna(how="all").dropna(how="all", axis=1)
        if table.shape[1] < _LEAST_COLUMNS:
            continue
        frame, line = _below_header(table, f"sheet {title!r} of {name}")
        position = [f"sheet {title!r}"] * (len(sheets) > 1) + [f"header in line {line}"] * (
            line > 1
        )
        frame.attrs["written"] = ", ".join(position)
        return frame
    raise DataError(f"{name} has no sheet with {_LEAST_COLUMNS} columns or more")


def _below_header(cells: pd.DataFrame, where: str) -> tuple[pd.DataFrame, int]:
    """Split a sheet at its header, which may stand below titles; return the header's line too."""
    filled = cells.notna()
    start = int((filled.sum(axis=1) > 1).to_numpy().argmax())  # a title is one cell
    names = cells.iloc[start]
    if names.isna().any() and start + 1 < len(cells):  # cells merged over the names of columns
        below = cells.iloc[start + 1]
        if all(isinstance(label, str) for label in below):
            start, names = start + 1, below
    line = int(cells.index[start]) + 1
    if names.isna().any():
        column = int(names.index[names.isna()][0]) + 1
        raise DataError(
            f"column {column} has no name in line {line} of {where}: name it, or remove the column"
        )
    frame = cells.iloc[start + 1 :].set_axis([cell_text(name) for name in names], axis=1)
    try:
        messages.check_unique([*map(str, frame)])
    except DataError as error:
        raise DataError(f"in line {line} of {where}, {error}") from None
    if frame.empty:
        raise DataError(f"{where} has a header (line {line}) and no rows below it: add the rows")
    return frame.reset_index(drop=True).infer_objects(), line


_MOST_CELLS, _MOST_UNPACKED = 20_000_000, 400_000_000
"""Limits on what an uploaded file unpacks to: cells of a Parquet file, and bytes of any file."""


def _check_unpacked(name: str, size: int, cells: int = 0) -> None:
    if size <= _MOST_UNPACKED and cells <= _MOST_CELLS:
        return
    counted = f" and {cells:,} cells" if cells else ""
    raise DataError(
        f"{name} unpacks to {size / 1e6:,.0f} MB{counted}; the page reads "
        f"{_MOST_UNPACKED / 1e6:,.0f} MB and {_MOST_CELLS:,} cells at most: read it in Python, "
        "Explorer(chunk_rows(path, target=...))"
    )


def _parquet(content: bytes, name: str) -> pd.DataFrame:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(io.BytesIO(content))
    messages.check_unique(file.schema_arrow.names)
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    columns = [group.column(k) for group in groups for k in range(group.num_columns)]
    unpacked = sum(part.total_uncompressed_size for part in columns)
    _check_unpacked(name, unpacked, sum(part.num_values for part in columns))
    names = {"string", "binary", "large_string", "large_binary"}
    texts = [part.name for part in file.schema_arrow if str(part.type) in names]
    # A text that is repeated in many rows is stored once until its copies are counted.
    frame = ParquetFile(io.BytesIO(content), read_dictionary=texts).read().to_pandas()
    for _, cells in frame.select_dtypes("category").items():
        lengths = np.array([*(len(str(part)) for part in cells.cat.categories), 0])  # 0: missing
        _check_unpacked(name, int(lengths[cells.cat.codes].sum()))
    frame = frame.astype(dict.fromkeys(set(texts) & set(frame), object))
    return frame.reset_index() if any(frame.index.names) else frame.reset_index(drop=True)


def _binary(
    kind: str, needs: str, read: Callable[[bytes, str], pd.DataFrame], content: bytes, name: str
) -> pd.DataFrame:
    """Read a file of an optional library, with errors that say what to do."""
    try:
        return read(content, name)
    except ImportError:
        raise DataError(
            f"{name} is {kind} file, and reading it needs {needs}: pip install {needs}, or save "
            "the table as CSV"
        ) from None
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, SyntaxError, zipfile.BadZipFile) as error:
        raise DataError(f"{name} cannot be read as {kind} file: {error}") from None


READERS: Mapping[str, Callable[[bytes, str], pd.DataFrame]] = {
    **dict.fromkeys(csv.TEXT_TABLES, _csv),
    ".xlsx": partial(_binary, "an Excel", "openpyxl", _excel),
    ".parquet": partial(_binary, "a Parquet", "pyarrow", _parquet),
    ".pq": partial(_binary, "a Parquet", "pyarrow", _parquet),
}
"""Reader functions by file extension."""


def read_table(name: str, content: bytes, decimal: str | None = None) -> pd.DataFrame:
    reader = READERS.get(PurePath(name).suffix.lower())
    if reader is None:
        raise DataError(f"{name} is none of {', '.join(READERS)}: save the table as one of them")
    frame = reader(content, name) if decimal is None else _csv(content, name, decimal)
    if frame.shape[1] < _LEAST_COLUMNS:
        raise DataError(
            f"{name} has {frame.shape[1]} column(s), expected a target and at least one feature"
        )
    frame.columns = [str(label) for label in frame.columns]
    return frame


_SCHEMA = "schema.toml"  # of a table of one's own, in the folder of its sets


def save_schema(ledger: Path, schema: TableSchema) -> None:
    """Save the public schema of a table beside its ledger, so that only the file is asked for."""
    folder = ledger.with_suffix(".sets")
    files.make_folder(folder)
    content = public_part(schema).to_toml().encode()
    files.replace_file(folder / _SCHEMA, lambda file: file.write(content))


def saved_schema(ledger: Path) -> TableSchema | None:
    path = ledger.with_suffix(".sets") / _SCHEMA
    try:
        return TableSchema.from_toml(path.read_text(encoding="utf-8")) if path.exists() else None
    except (OSError, ValueError) as error:
        LOGGER.error("%s could not be read", path, exc_info=error)
        return None


def own_tables(home: Path) -> list[str]:
    ledgers = (folder.parent.with_suffix(".ledger") for folder in home.glob(f"*.sets/{_SCHEMA}"))
    return sorted(ledger.stem for ledger in ledgers if ledger.exists())


def last_table(home: Path) -> str:
    ledgers = {path.stat().st_mtime_ns: path.stem for path in home.glob("*.ledger")}
    return ledgers[max(ledgers)] if ledgers else ""


def text_dataset(path: Path, target: str, schema: str | os.PathLike[str] | None) -> Bunch:
    frame = read_table(path.name, path.read_bytes())
    frame.attrs.clear()
    if schema is None:
        return TableEditor.proposed(path.stem, frame, target=target).data()
    return TableEditor(path.stem, frame, TableSchema.from_schema_or_path(schema)).data()


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
    return table.with_chunks(sampled).data()


def _name(source: Any) -> str:
    if not isinstance(source, UnopenedParquet):
        return "table"
    paths = {Path(group.path) for group in source.opened.groups}
    first = min(paths)
    if len(paths) == 1:
        return first.stem
    return next(folder.name for folder in first.parents if "=" not in folder.name)
