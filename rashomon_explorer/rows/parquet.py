"""Parquet files of a folder, with partition columns from ``key=value`` folder names."""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob
from itertools import accumulate, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from rashomon_explorer.exceptions import DataError, RowsChangedError, RowsGoneError
from rashomon_explorer.rows.source import Piece, RowSource, check_column

Value = int | str | None
"""Value of a partition column: a 32-bit integer, text, or missing."""

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A Parquet file, a folder of them, a pattern of their names, or a list of files."""

_INDEX = re.compile(r"__index_level_\d+__")
_HIDDEN = ("_", ".")
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?\d+")


@dataclass(frozen=True)
class PartitionColumn:
    """A column whose values are in folder names."""

    name: str
    is_number: bool


@dataclass(frozen=True)
class ParquetFolder:
    """Files in the order of their names, with the values of their partition columns."""

    files: tuple[Path, ...]
    partitions: tuple[PartitionColumn, ...]
    values: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, paths: Paths) -> "ParquetFolder":
        """List the files of a path, of a pattern such as ``"2024-*.parquet"`` or of a list."""
        if not isinstance(paths, str | os.PathLike):
            files = [Path(one).absolute() for one in paths]
            absent = [str(file) for file in files if not file.is_file()]
            if absent or not files:
                raise DataError(f"a list of Parquet files was expected; not found: {absent}")
            if len({file.resolve() for file in files}) < len(files):
                raise DataError("a file is in the list twice, which would double its records")
            # Equal folders of all files name no column that differs.
            return cls._named(files, Path(os.path.commonpath([file.parent for file in files])))
        path = Path(paths).absolute()
        if path.is_file():
            return cls((path,), (), ((),))
        if not path.exists() and (found := sorted(glob(str(path), recursive=True))):
            return cls.of([one for one in found if Path(one).is_file()])
        inside = sorted(path.glob("**/*.parquet"))
        files = [file for file in inside if file.is_file() and not _is_hidden(file, path)]
        if not files:
            skipped = f" ({len(inside)} begin with _ or . and are skipped)" if inside else ""
            raise DataError(
                f"{path} is neither a Parquet file nor a folder of files named *.parquet{skipped}"
            )
        return cls._named(files, path)

    @classmethod
    def _named(cls, files: list[Path], path: Path) -> "ParquetFolder":
        """Files with the values of the folders between them and a path."""
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
    """Values by key of ``key=value`` folder names; other folders are ignored."""
    values: dict[str, str] = {}
    for part in folder.parts:
        key, separator, value = part.partition("=")
        if not separator:
            continue
        if unquote(key) in values:
            raise DataError(f"{file} lies in two folders of column {unquote(key)!r}, expected one")
        values[unquote(key)] = unquote(value)
    return values


def _typed(values: Sequence[str]) -> list[Value]:
    present = [None if value == _MISSING else value for value in values]
    if all(value is None or _is_int32(value) for value in present):
        return [None if value is None else int(value) for value in present]
    return list(present)


def _is_int32(value: str) -> bool:
    return _WHOLE.fullmatch(value) is not None and -(2**31) <= int(value) < 2**31


_ROWS_AT_ONCE = 2**14
_READ_AT_ONCE = 2**16  # bytes per column


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file, known from the file's footer."""

    path: str
    number: int
    rows: int
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class ParquetRows(RowSource):
    """Rows of one Parquet file, or of all files in a folder in the order of their names."""

    groups: tuple[RowGroup, ...]
    columns: tuple[str, ...]
    target: str | None
    tabular: bool
    partitions: tuple[PartitionColumn, ...] = ()

    @classmethod
    def of(
        cls, path: Paths, target: str | None, columns: Sequence[str] | None = None
    ) -> "ParquetRows":
        """Read the footers of a file, of a folder, or of the files of a pattern or list."""
        folder = ParquetFolder.of(path)
        files = folder.files
        read: list[RowGroup] = []
        first: dict[str, bool] | None = None
        for file, values in zip(files, folder.values, strict=True):
            footer, kinds = _footer(file)
            first = kinds if first is None else first
            if kinds != first:
                raise DataError(f"{file} has other columns, or types, than {files[0]}")
            read += [
                RowGroup(str(file), number, footer.row_group(number).num_rows, values)
                for number in range(footer.num_row_groups)
            ]
        assert first is not None
        for partition in folder.partitions:
            if partition.name in first:
                raise DataError(
                    f"{files[0]} has a column {partition.name!r}, which its folder name contains "
                    f"too ({partition.name}=...): rename one of them"
                )
        first |= {partition.name: partition.is_number for partition in folder.partitions}
        if columns is None:  # without the row labels of pandas
            columns = [name for name in first if name != target and not _INDEX.fullmatch(name)]
        features = tuple(columns)
        for name in features if target is None else (target, *features):
            if name not in first:
                raise DataError(f"{files[0]} has no column {name!r}: it has {list(first)}")
        filled = tuple(group for group in read if group.rows)
        if not filled:
            raise DataError(f"{path} holds no row")
        tabular = not all(first[name] for name in features)
        return cls(filled, features, target, tabular, folder.partitions)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and features."""
        return sum(group.rows for group in self.groups), len(self.columns)

    @property
    def names(self) -> Sequence[str]:
        """Names of the features."""
        return self.columns

    @property
    def text_partitions(self) -> tuple[str, ...]:
        """Features that are text from folder names."""
        text = {partition.name for partition in self.partitions if not partition.is_number}
        return tuple(name for name in self.columns if name in text)

    @property
    def may_change(self) -> bool:
        """True: files are read in every pass."""
        return True

    @property
    def labelled(self) -> bool:
        """Whether a column holds the targets."""
        return self.target is not None

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield rows low to high; of a split row group, earlier rows are read and dropped."""
        ends = list(accumulate(group.rows for group in self.groups))
        first, last = bisect_right(ends, low), bisect_left(ends, high) + 1
        at = ends[first] - self.groups[first].rows if first < len(ends) else high
        for path, groups in groupby(self.groups[first:last], key=attrgetter("path")):
            for batch in self._batches(path, groups):
                start, stop = max(low - at, 0), min(high - at, len(batch))
                at += len(batch)
                if start < stop:
                    yield self._piece(batch.slice(start, stop - start))
                if at >= high:
                    return

    def _batches(self, path: str, groups: Iterator[RowGroup]) -> Iterator[Any]:
        """Read row groups; raise an error if a file changed after its footer was read."""
        import pyarrow as pa

        try:
            # Open each file once: the length of a footer grows with the number of row groups.
            with _open_file(path) as file:
                named = {partition.name for partition in self.partitions}
                stored = [name for name in self._read if name not in named]
                for group in groups:
                    _check_unchanged(file.metadata, group)
                    for batch in file.iter_batches(
                        _ROWS_AT_ONCE,
                        row_groups=[group.number],
                        columns=stored or file.schema_arrow.names[:1],  # to count the rows
                        use_threads=False,
                    ):
                        yield self._with_partitions(batch, group)
        except (OSError, ValueError, KeyError) as error:
            if isinstance(error, RowsChangedError):
                raise
            raise RowsGoneError(
                f"{path} was readable when the folder was opened and no longer is ({error}): "
                f"restore it, or open the folder again"
            ) from error
        except pa.ArrowException as error:
            if "launch worker thread" not in str(error):
                raise
            raise MemoryError("there is no memory for the stack of a thread") from None

    def _with_partitions(self, batch: Any, group: RowGroup) -> Any:
        """Add the requested partition columns to a batch of a row group."""
        import pyarrow as pa

        for partition, value in zip(self.partitions, group.values, strict=True):
            if partition.name in self._read:
                kind = pa.int32() if partition.is_number else pa.string()
                column = pa.repeat(pa.scalar(value, kind), len(batch))
                batch = batch.append_column(partition.name, column)
        return batch

    def locate(self, row: int) -> str:
        """Name file, row group and row."""
        ends = list(accumulate(group.rows for group in self.groups))
        group = self.groups[found := bisect_right(ends, row)]
        inside = row - (ends[found] - group.rows)
        return f"{group.path}, row group {group.number}, row {inside} of it (row {row} of all)"

    def select_column(self, column: str) -> "ParquetRows":
        """Return the same rows with one column of the files, feature or not."""
        _, kinds = _footer(Path(self.groups[0].path))
        columns = (check_column(column, [*kinds, *(each.name for each in self.partitions)]),)
        return replace(self, columns=columns, target=None, tabular=True)

    @property
    def _read(self) -> tuple[str, ...]:
        return self.columns if self.target is None else (*self.columns, self.target)

    def _piece(self, batch: Any) -> Piece:
        if self.target is None:
            targets = np.zeros(len(batch))
        else:
            targets = _to_pandas(batch.column(self.target)).to_numpy()
        if self.tabular:
            return _to_pandas(batch.select(list(self.columns))), targets
        rows = np.empty((len(batch), len(self.columns)))
        for j, name in enumerate(self.columns):  # a missing value becomes NaN, which is an error
            rows[:, j] = _to_pandas(batch.column(name)).to_numpy(dtype=np.float64)
        return rows, targets


def _footer(file: Path) -> tuple[Any, dict[str, bool]]:
    """Metadata of a file, and whether each of its columns holds numbers."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: install rashomon-explorer[scale]") from error
    try:
        with _open_file(file) as opened:
            schema, footer = opened.schema_arrow, opened.metadata
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{file} cannot be read as Parquet: {error}") from error
    kinds = pa.types
    numeric = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal)
    return footer, {field.name: any(is_(field.type) for is_ in numeric) for field in schema}


def _check_unchanged(footer: Any, group: RowGroup) -> None:
    there = group.number < footer.num_row_groups
    rows = footer.row_group(group.number).num_rows if there else 0
    if rows != group.rows:
        raise RowsChangedError(
            f"{group.path} had {group.rows:,} rows in row group {group.number} when the folder was "
            f"opened, and has {rows:,}: open it again, and prevent writes to it"
        )


def _open_file(path: str | Path) -> Any:
    """Open a file that reads pages on demand: a row group may be the whole table."""
    from pyarrow.parquet import ParquetFile

    return ParquetFile(path, pre_buffer=False, buffer_size=_READ_AT_ONCE)


def _to_pandas(read: Any) -> Any:
    """Convert to pandas in this thread: other threads would allocate memory of their own."""
    return read.to_pandas(use_threads=False)
