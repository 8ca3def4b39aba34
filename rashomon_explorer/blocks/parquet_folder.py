"""The Parquet files of a folder, and the columns that ``key=value`` folder names give."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from rashomon_explorer.exceptions import DataError

Value = int | str | None
"""Of a partition column: a whole number of 32 bits, text, or missing."""

_HIDDEN = ("_", ".")
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?\d+")


@dataclass(frozen=True)
class PartitionColumn:
    """A column that folder names give.

    Parameters
    ----------
    name : str
    is_number : bool
        Whether it holds whole numbers.
    """

    name: str
    is_number: bool


@dataclass(frozen=True)
class ParquetFolder:
    """Files in the order of their names, with the values of their partition columns.

    Files and folders whose names begin with ``_`` or ``.`` are skipped, as other readers of Parquet
    do: they are what a failed or running job has left.

    Parameters
    ----------
    files : tuple of Path
    partitions : tuple of PartitionColumn
        The outermost folder's first.
    values : tuple of tuples
        Of each file, a value for each partition column.
    """

    files: tuple[Path, ...]
    partitions: tuple[PartitionColumn, ...]
    values: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, path: Path) -> "ParquetFolder":
        """List the files at a path; opens none.

        Raises
        ------
        DataError
            If there is no file, or folders name different columns.
        """
        if path.is_file():
            return cls((path,), (), ((),))
        found = sorted(path.glob("**/*.parquet"))
        files = [file for file in found if file.is_file() and not _is_hidden(file, path)]
        if not files:
            skipped = f" ({len(found)} begin with _ or . and are skipped)" if found else ""
            raise DataError(
                f"{path} is no Parquet file and no folder of files named *.parquet{skipped}"
            )
        named = [_named_values(file.relative_to(path).parent, file) for file in files]
        keys = tuple(named[0])
        for file, values in zip(files, named, strict=True):
            if tuple(values) != keys:
                raise DataError(
                    f"{file} lies in folders of columns {list(values)}, and {files[0]} in folders "
                    f"of {list(keys)}: every file must lie in the same key=value folders"
                )
        columns = [_typed([values[key] for values in named]) for key in keys]
        rows = tuple(tuple(column[at] for column in columns) for at in range(len(files)))
        partitions = (
            PartitionColumn(key, any(isinstance(value, int) for value in column))
            for key, column in zip(keys, columns, strict=True)
        )
        return cls(tuple(files), tuple(partitions), rows)


def _is_hidden(file: Path, root: Path) -> bool:
    return any(part.startswith(_HIDDEN) for part in file.relative_to(root).parts)


def _named_values(folder: Path, file: Path) -> dict[str, str]:
    """Values by key of ``key=value`` parts; other folders say nothing, as elsewhere."""
    found: dict[str, str] = {}
    for part in folder.parts:
        key, separator, value = part.partition("=")
        if not separator:
            continue
        if unquote(key) in found:
            raise DataError(f"{file} lies in two folders of column {unquote(key)!r}, expected one")
        found[unquote(key)] = unquote(value)
    return found


def _typed(values: Sequence[str]) -> list[Value]:
    given = [None if value == _MISSING else value for value in values]
    if all(value is None or _is_int32(value) for value in given):
        return [None if value is None else int(value) for value in given]
    return list(given)


def _is_int32(value: str) -> bool:
    return _WHOLE.fullmatch(value) is not None and -(2**31) <= int(value) < 2**31
