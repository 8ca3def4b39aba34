"""Sets in files: arrays and JSON in one npz archive, never pickle."""

import json
import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rashomon_set.parts import Arrays, Values

Wanted = TypeVar("Wanted")
Class = TypeVar("Class", bound=type)

FORMAT = "rashomon-explorer set"
VERSION = 1
_HEADER = "header"

# MemoryError: an array that claims to be larger than its entry. RuntimeError: an encrypted entry.
_UNREADABLE = (ValueError, OSError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile)


class Parts(Protocol):
    """What can be taken apart into arrays and JSON values, and put together again."""

    def to_parts(self) -> tuple[Arrays, Values]:
        """Arrays and values for a file."""

    @classmethod
    def from_parts(cls, arrays: Arrays, values: Values) -> Self:
        """Inverse of :meth:`to_parts`."""


@dataclass(frozen=True)
class Kind:
    """A type of set that files hold."""

    holds: type[Parts]
    public: bool  # whether others than the owner may read the file
    reader: str  # what reads it, for an error


_KINDS: dict[str, Kind] = {}  # filled by the types of sets themselves, which stand above this file


def written_as(name: str, *, reader: str, public: bool = False) -> Callable[[Class], Class]:
    """Enter a type of set under the name that its files say."""

    def enter(kind: Class) -> Class:
        _KINDS[name] = Kind(kind, public, reader)
        return kind

    return enter


def save(models: Parts, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a set; see the set's own ``save``."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} is there already: choose another name or overwrite=True")
    name, kind = next((name, kind) for name, kind in _KINDS.items() if type(models) is kind.holds)
    arrays, values = models.to_parts()
    header = {"format": FORMAT, "version": VERSION, "kind": name, **values}
    written = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
    _write(target, {**arrays, _HEADER: written}, public=kind.public)


def load(path: str | PathLike[str], wanted: type[Wanted]) -> Wanted:
    """Read a set of the wanted type."""
    arrays = _read(path)
    header = _header(path, arrays)
    if header["kind"] not in _KINDS:
        raise DataError(f"{path} holds {header['kind']!r}, expected one of {[*_KINDS]}")
    kind = _KINDS[header["kind"]]
    if not issubclass(kind.holds, wanted):
        raise DataError(f"{path} holds a {kind.holds.__name__}: read it with {kind.reader}")
    try:
        models = kind.holds.from_parts(arrays, header)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(f"{path} is damaged: {error!r}") from error
    if not isinstance(models, wanted):
        raise DataError(f"{path} holds a {type(models).__name__}")
    return models


def _write(target: Path, arrays: dict[str, Any], *, public: bool) -> None:
    """Write beside the place and move there: half a file is never found under the name."""
    # mkstemp lets its owner alone read, which is right for what curators keep.
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        if public:
            os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _read(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    with open(path, "rb") as file:  # a missing file is an ordinary FileNotFoundError
        if not zipfile.is_zipfile(file):
            raise DataError(f"{path} is no file of a set: it is not an npz archive")
        try:
            expands = _expands(file)
            arrays = {} if expands else _arrays(file)
        except _UNREADABLE as error:
            raise DataError(f"{path} is damaged, or was not written by save") from error
    if expands:
        raise DataError(
            f"{path} was not read: it is compressed or expands beyond its own size, and a file "
            "written by save does neither. Save the set again where it was made"
        )
    return arrays


def _arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _expands(file: BinaryIO) -> bool:
    """Whether reading the entries of an archive can take more memory than its size on disk."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    stored = all(
        one.compress_type == zipfile.ZIP_STORED and one.compress_size == one.file_size
        for one in entries
    )
    # Entries can share their bytes, so that their sum counts.
    return not stored or sum(one.file_size for one in entries) > os.fstat(file.fileno()).st_size


def _header(path: str | PathLike[str], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    try:
        header = json.loads(arrays[_HEADER].tobytes().decode())
        known, version = header["format"] == FORMAT, int(header["version"])
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path} is no file of a set: it has no readable header") from error
    if not known:
        raise DataError(f"{path} is a {header['format']!r}, expected a {FORMAT!r}")
    if version > VERSION:
        raise DataError(
            f"{path} was written by a newer version of rashomon-explorer (file version {version}, "
            f"this one reads up to {VERSION}): upgrade the package"
        )
    return header
