"""What a person uploads, as a table: CSV or Parquet, by the ending of the name."""

import io
from collections.abc import Callable, Mapping
from pathlib import PurePath

import pandas as pd

from rashomon_explorer.datasets.table import parse_csv
from rashomon_explorer.exceptions import DataError

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
            f"{name} is a Parquet file, and pyarrow, which reads one, is not installed here: pip "
            "install pyarrow, or save the table as CSV"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{name} cannot be read as Parquet: {error}") from None


READERS: Mapping[str, Callable[[bytes, str], pd.DataFrame]] = {
    ".csv": _csv,
    ".parquet": _parquet,
    ".pq": _parquet,
}
"""How a file is read, by the ending of its name."""


def read_table(name: str, content: bytes) -> pd.DataFrame:
    r"""Read an uploaded table.

    >>> read_table("loans.csv", b"age,repaid\n20,no\n44,yes\n").shape
    (2, 2)
    """
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
