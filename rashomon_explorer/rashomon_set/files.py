"""Sets in files: arrays and JSON in one npz archive, never pickle."""

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.durable_files import replace_file
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
    arrays = _arrays_of(models)
    mode = 0o644 if _kind_of(models)[1].public else 0o600
    replace_file(target, lambda file: np.savez(file, **arrays), mode=mode)


def write(models: Parts, file: BinaryIO) -> None:
    """Write a set into an open file, as ``save`` does into one of its own."""
    np.savez(file, **_arrays_of(models))


def _kind_of(models: Parts) -> tuple[str, Kind]:
    return next((name, kind) for name, kind in _KINDS.items() if type(models) is kind.holds)


def _arrays_of(models: Parts) -> dict[str, Any]:
    """Arrays of a set, with its values as one of them."""
    arrays, values = models.to_parts()
    header = {"format": FORMAT, "version": VERSION, "kind": _kind_of(models)[0], **values}
    written = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), dtype=np.uint8)
    return {**arrays, _HEADER: written}


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


def _read(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    with open(path, "rb") as file:  # a missing file is an ordinary FileNotFoundError
        try:
            return _unpacked(file, path)
        except DataError:
            raise
        except _UNREADABLE:
            pass
    # zipfile takes an error of the disk, which may pass, for damage: judge bytes that were read.
    content = BytesIO(Path(path).read_bytes())
    if not zipfile.is_zipfile(content):
        raise DataError(f"{path} is no file of a set: it is not an npz archive")
    try:
        return _unpacked(content, path)
    except DataError:
        raise
    except _UNREADABLE as error:
        raise DataError(f"{path} is damaged, or was not written by save") from error


def _unpacked(file: BinaryIO, path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    if not zipfile.is_zipfile(file):
        raise zipfile.BadZipFile
    if _expands(file):
        raise DataError(
            f"{path} was not read: it is compressed or expands beyond its own size, and a file "
            "written by save does neither. Save the set again where it was made"
        )
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _expands(file: BinaryIO) -> bool:
    """Whether reading the entries of an archive can take more memory than its own size."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    stored = all(
        one.compress_type == zipfile.ZIP_STORED and one.compress_size == one.file_size
        for one in entries
    )
    # Entries can share their bytes, so that their sum counts.
    return not stored or sum(one.file_size for one in entries) > file.seek(0, os.SEEK_END)


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
