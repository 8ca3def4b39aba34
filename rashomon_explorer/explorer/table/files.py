"""Tables from files and chunks."""

import io
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer._utils import files
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.csv import parse_csv
from rashomon_explorer.data.schema import public_part
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.streamed_table import SampledChunks
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.parquet import ParquetRows

_LEAST_COLUMNS = 2


def _csv(content: bytes, name: str) -> pd.DataFrame:
    text, coding = _decoded(content, name)
    table = parse_csv(text.replace("\r\n", "\n"))
    table.frame.attrs["written"] = ", ".join(filter(None, (coding, table.written)))
    return table.frame


def _decoded(content: bytes, name: str) -> tuple[str, str]:
    """Text of a file, and the name of its encoding unless it is UTF-8."""
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        place = error.start
    try:
        return content.decode("cp1252"), "Windows-1252 text"
    except UnicodeDecodeError:
        raise DataError(
            f"{name} is neither UTF-8 text (byte {place}) nor Windows-1252: save it as a UTF-8 CSV "
            "file"
        ) from None


def _excel(content: bytes, name: str) -> pd.DataFrame:
    try:
        return pd.read_excel(io.BytesIO(content))
    except ImportError:
        raise DataError(
            f"{name} is an Excel file, and reading it needs openpyxl: pip install openpyxl, or "
            "save the table as CSV"
        ) from None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{name} cannot be read as Excel: {error}") from None


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
    ".xlsx": _excel,
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


_SCHEMA = "schema.toml"  # of a table of one's own, in the folder of its sets


def save_schema(ledger: Path, schema: TableSchema) -> None:
    """Save the public schema of a table beside its ledger, so that only the file is asked for."""
    folder = ledger.with_suffix(".sets")
    files.make_folder(folder)
    content = public_part(schema).to_toml().encode()
    files.replace_file(folder / _SCHEMA, lambda file: file.write(content))


def saved_schema(ledger: Path) -> TableSchema | None:
    """Return the schema saved beside a ledger; None if there is none that can be read."""
    path = ledger.with_suffix(".sets") / _SCHEMA
    try:
        return TableSchema.from_toml(path.read_text(encoding="utf-8")) if path.exists() else None
    except (OSError, ValueError) as error:
        LOGGER.error("%s could not be read", path, exc_info=error)
        return None


def own_tables(home: Path) -> list[str]:
    """Names of the tables of one's own that have a ledger and a saved schema."""
    ledgers = (folder.parent.with_suffix(".ledger") for folder in home.glob(f"*.sets/{_SCHEMA}"))
    return sorted(ledger.stem for ledger in ledgers if ledger.exists())


def last_table(home: Path) -> str:
    """Name of the table that was charged last; empty if there is none."""
    ledgers = {path.stat().st_mtime_ns: path.stem for path in home.glob("*.ledger")}
    return ledgers[max(ledgers)] if ledgers else ""


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
