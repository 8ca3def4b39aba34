"""Parquet files on disks and in object stores, listed by fsspec and pyarrow.dataset."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any, Self

import numpy as np

from rashomon_explorer._utils import arrays, containers, imports
from rashomon_explorer.exceptions import DataError, RowsChangedError, RowsGoneError
from rashomon_explorer.rows import source

Value = int | str | None
"""Value of a partition column: a whole number, text, or missing."""

_INDEX = re.compile(r"__index_level_\d+__")
_NAMES = (".parquet", ".parq", ".pq")


def is_parquet(data: Any) -> bool:
    """Whether data are a path, a list of paths or a ``pyarrow.dataset``; imports nothing."""
    if isinstance(data, list | tuple) and data:
        data = data[0]
    return isinstance(data, str | os.PathLike) or containers.is_parquet_dataset(data)


def parquet_dataset(paths: Any) -> Any:
    """Dataset of a file, a folder with ``key=value`` folders, a pattern or a list of files."""
    try:
        import pyarrow as pa
        from pyarrow import dataset
    except ImportError as error:
        raise imports.missing_package("A Parquet file", "pyarrow", "scale") from error
    if containers.is_parquet_dataset(paths):
        kind = getattr(getattr(paths, "format", None), "default_extname", None)
        if kind != "parquet" or getattr(paths, "_scan_options", None):
            raise DataError(
                "a pyarrow.dataset must be of Parquet files, without a filter, since rows are "
                "counted by footers: write the selected rows to Parquet, and pass their folder"
            )
        return paths
    system, files, folder = _listed(paths)
    try:
        return dataset.dataset(
            files,
            format="parquet",
            filesystem=system,
            partitioning="hive",
            partition_base_dir=folder,
        )
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{paths} cannot be read as Parquet: {error}") from error


def _listed(paths: Any) -> tuple[Any, list[str], str]:
    """File system, files in the order of their names, and the folder in which they lie."""
    if not isinstance(paths, str | os.PathLike):
        each = [_listed(path) for path in paths]
        files = [file for _, inside, _ in each for file in inside]
        if len({os.path.realpath(file) for file in files}) < len(files):
            raise DataError("a file is in the list twice, which would double its records")
        return each[0][0], files, os.path.commonpath([os.path.dirname(file) for file in files])
    from fsspec.core import url_to_fs

    system, path = url_to_fs(os.fspath(paths))
    if system.isfile(path):
        return system, [path], os.path.dirname(path)
    entries, folder = {path: {"type": "directory"}}, path
    if any(sign in path for sign in "*?[") and not system.exists(path):
        entries, folder = system.glob(path, detail=True), re.split(r"[*?\[]", path)[0]
        folder = folder.rpartition("/")[0]
    inside = {
        file
        for entry_path, entry in entries.items()
        for file in ([entry_path] if entry["type"] == "file" else _find(system, entry_path))
        if file.endswith(_NAMES)
    }
    # Such names mark what an unfinished job has left, as for every Parquet reader.
    files = sorted(
        file
        for file in inside
        if not any(name.startswith(("_", ".")) for name in file.removeprefix(folder).split("/"))
    )
    if not files:
        skipped = f" ({len(inside)} begin with _ or . and are skipped)" if inside else ""
        raise DataError(
            f"{path} is neither a Parquet file nor a folder of files named *.parquet{skipped}"
        )
    return system, files, folder


def _find(system: Any, folder: str) -> list[str]:
    try:
        files: list[str] = system.find(folder)
    except FileNotFoundError:
        return []
    return files


_ROWS_AT_ONCE = 2**14
_READ_AT_ONCE = 2**16  # bytes per column


@dataclass(frozen=True)
class RowGroup:
    """A row group of a file, known from the file's footer."""

    path: str
    number: int
    rows: int
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, repr=False)
class ParquetRows(source.RowSource):
    """Rows of Parquet files, in the order of their names or of a list."""

    columns: tuple[str, ...]
    target: str | None
    groups: tuple[RowGroup, ...]
    tabular: bool
    system: Any  # pyarrow's file system, which is sent to workers
    stored: tuple[str, ...]  # columns of the files
    partitions: tuple[tuple[str, bool], ...] = ()  # names in folders, and whether they are numbers

    @classmethod
    def from_paths(
        cls, paths: Any, target: str | None, columns: Sequence[str] | None = None
    ) -> Self:
        """Read the footers of the files of a path, a pattern, a list or a ``pyarrow.dataset``."""
        dataset = parquet_dataset(paths)
        groups: list[RowGroup] = []
        first: Any = None
        for fragment in dataset.get_fragments():
            kinds, values, read = _footer(fragment, dataset.schema)
            first = first or (fragment.path, kinds, list(values))
            if kinds != first[1]:
                raise DataError(f"{fragment.path} has other columns, or types, than {first[0]}")
            if list(values) != first[2]:
                raise DataError(
                    f"{fragment.path} lies in folders of columns {list(values)}, and {first[0]} in "
                    f"folders of {first[2]}: every file must lie in the same key=value folders"
                )
            groups += [
                RowGroup(fragment.path, group.id, group.num_rows, tuple(values.values()))
                for group in read
                if group.num_rows
            ]
        if not groups:
            raise DataError(f"{paths} holds no row")
        path, kinds, keys = first
        partitions = tuple((key, _is_number(dataset.schema.field(key).type)) for key in keys)
        stored, kinds = tuple(kinds), kinds | dict(partitions)
        if columns is None:  # without the row labels of pandas
            columns = [name for name in kinds if name != target and not _INDEX.fullmatch(name)]
        features = tuple(columns)
        for name in features if target is None else (target, *features):
            if name not in kinds:
                raise DataError(f"{path} has no column {name!r}: it has {list(kinds)}")
        tabular = not all(kinds[name] for name in features)
        system = dataset.filesystem
        return cls(features, target, tuple(groups), tabular, system, stored, partitions)

    @property
    def shape(self) -> tuple[int, int]:
        return sum(group.rows for group in self.groups), len(self.columns)

    names = arrays.Delegated[Sequence[str]]("columns")

    @property
    def labelled(self) -> bool:
        return self.target is not None

    @property
    def text_partitions(self) -> tuple[str, ...]:
        """Features that are text from folder names."""
        text = {name for name, is_number in self.partitions if not is_number}
        return tuple(name for name in self.columns if name in text)

    def part(self, low: int, high: int) -> tuple[Self, int]:
        part, first = source.parts_of_rows([group.rows for group in self.groups], low, high)
        return replace(self, groups=self.groups[part]), first

    def open_first(self) -> None:
        _open_file(self.groups[0].path, self.system).close()

    def pieces(self, low: int, high: int) -> Iterator[source.Piece]:
        """Yield rows low to high; of a split row group, earlier rows are read and dropped."""
        part, at = self.part(low, high)
        for path, groups in groupby(part.groups, key=attrgetter("path")):
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
            with _open_file(path, filesystem=self.system) as file:
                stored = [name for name in self._read if name not in dict(self.partitions)]
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

        for (name, is_number), value in zip(self.partitions, group.values, strict=True):
            if name in self._read:
                kind = pa.int64() if is_number else pa.string()
                batch = batch.append_column(name, pa.repeat(pa.scalar(value, kind), len(batch)))
        return batch

    def locate(self, row: int) -> str:
        part, first = self.part(row, row + 1)
        (group,) = part.groups
        return f"{group.path}, row group {group.number}, row {row - first} of it (row {row} of all)"

    def select_column(self, column: str) -> "ParquetRows":
        named = [name for name, _ in self.partitions]
        columns = (source.check_column(column, [*self.stored, *named]),)
        return replace(self, columns=columns, target=None, tabular=True)

    @property
    def _read(self) -> tuple[str, ...]:
        return self.columns if self.target is None else (*self.columns, self.target)

    def _piece(self, batch: Any) -> source.Piece:
        if self.target is None:
            targets = np.zeros(len(batch))
        else:
            targets = _to_pandas(batch.column(self.target)).to_numpy()
        if self.tabular:
            return _to_pandas(batch.select(list(self.columns))), targets
        rows = np.empty((len(batch), len(self.columns)))
        for j, name in enumerate(self.columns):  # a missing value becomes NaN, which is an error
            rows[:, j] = _numbers(batch.column(name))
        return rows, targets


_LAYOUT = (
    "the folder's layout is public: names of files and folders, such as region=EU, and the "
    "columns, types and numbers of rows in their footers do not depend on one record's cells"
)


class UnopenedParquet(source.RowSource):
    """Parquet files whose names and footers, which records may shape, are read at first use."""

    def __init__(self, paths: Any, target: str | None, columns: Sequence[str] | None) -> None:
        single = isinstance(paths, str | os.PathLike) or containers.is_parquet_dataset(paths)
        self._paths = paths if single else tuple(paths)
        self.target = target
        self._columns = columns if columns is None else tuple(columns)

    @cached_property
    def opened(self) -> ParquetRows:
        return ParquetRows.from_paths(self._paths, self.target, self._columns)

    @property
    def labelled(self) -> bool:
        return self.target is not None

    @property
    def layout_assumption(self) -> str:
        return _LAYOUT

    shape = arrays.Delegated[tuple[int, int]]("opened.shape")
    names = arrays.Delegated[Sequence[str]]("opened.names")
    text_partitions = arrays.Delegated[tuple[str, ...]]("opened.text_partitions")

    def part(self, low: int, high: int) -> tuple[source.RowSource, int]:
        return self.opened.part(low, high)

    def pieces(self, low: int, high: int) -> Iterator[source.Piece]:
        return self.opened.pieces(low, high)

    def locate(self, row: int) -> str:
        return self.opened.locate(row)

    def select_column(self, column: str) -> source.RowSource:
        return self.opened.select_column(column)


def _footer(fragment: Any, schema: Any) -> tuple[dict[str, bool], dict[str, Value], list[Any]]:
    """Columns of a file and whether they hold numbers, values of its folders, and row groups."""
    import pyarrow as pa
    from pyarrow.dataset import get_partition_keys

    try:
        file_schema, groups = fragment.physical_schema, fragment.row_groups
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{fragment.path} cannot be read as Parquet: {error}") from error
    named = get_partition_keys(fragment.partition_expression)
    for name in named:
        if fragment.path.count(f"/{name}=") > 1:
            raise DataError(f"{fragment.path} lies in two folders of column {name!r}, expected one")
        if name in file_schema.names:
            raise DataError(
                f"{fragment.path} has a column {name!r}, which its folder name contains too "
                f"({name}=...): rename one of them"
            )
    values = {name: named[name] for name in schema.names if name in named}
    return {field.name: _is_number(field.type) for field in file_schema}, values, groups


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(holds(kind) for holds in numeric)


def _check_unchanged(footer: Any, group: RowGroup) -> None:
    there = group.number < footer.num_row_groups
    rows = footer.row_group(group.number).num_rows if there else 0
    if rows != group.rows:
        raise RowsChangedError(
            f"{group.path} had {group.rows:,} rows in row group {group.number} when the folder was "
            f"opened, and has {rows:,}: open it again, and prevent writes to it"
        )


def _open_file(path: str, filesystem: Any) -> Any:
    """Open a file: on disks pages are read on demand, from stores a row group's columns at once."""
    from pyarrow.fs import LocalFileSystem
    from pyarrow.parquet import ParquetFile

    local = isinstance(filesystem, LocalFileSystem)
    size = _READ_AT_ONCE if local else 0
    return ParquetFile(path, filesystem=filesystem, pre_buffer=not local, buffer_size=size)


def _numbers(column: Any) -> Any:
    """Values of a column of numbers, without pandas where Arrow's array can be shared."""
    from pyarrow import types

    if types.is_floating(column.type) or types.is_integer(column.type):
        return column.to_numpy(zero_copy_only=False)
    return _to_pandas(column).to_numpy(dtype=np.float64)


def _to_pandas(read: Any) -> Any:
    """Convert to pandas in this thread: other threads would allocate memory of their own."""
    return read.to_pandas(use_threads=False)
