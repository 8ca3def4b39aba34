"""The files that a schema is kept in, as plain values."""

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.data_dictionary import dictionary_values
from rashomon_explorer.schema.toml_text import toml_text
from rashomon_explorer.schema.words import quoted

Values = dict[str, Any]


def toml_values(text: str) -> Values:
    r"""Read TOML.

    Raises
    ------
    DataError
        With the line that cannot be read.

    Examples
    --------
    >>> toml_values("[columns.age]\nkind = 'numeric'")
    {'columns': {'age': {'kind': 'numeric'}}}
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"the schema is not TOML: {error}") from None


def json_text(values: Mapping[str, Any]) -> str:
    r"""Write JSON, indented.

    Examples
    --------
    >>> json_text({"columns": {}})
    '{\n  "columns": {}\n}\n'
    """
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def json_values(text: str) -> Values:
    """Read JSON.

    Raises
    ------
    DataError
        With the line that cannot be read.

    Examples
    --------
    >>> json_values('{"columns": {}}')
    {'columns': {}}
    """
    try:
        values: Values = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"the schema is not JSON: {error}") from None
    return values


_READ: Mapping[str, Callable[[str], Values]] = {
    ".toml": toml_values,
    ".json": json_values,
    ".csv": dictionary_values,
}
_WRITE: Mapping[str, Callable[[Mapping[str, Any]], str]] = {".toml": toml_text, ".json": json_text}


def values_of_file(path: str | os.PathLike[str]) -> Values:
    """Read a file by the ending of its name.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    read = _READ.get(Path(path).suffix.lower())
    if read is None:
        raise DataError(f"{os.fspath(path)!r} must end in one of {quoted(_READ)} to be a schema")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {os.fspath(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)!r} is not UTF-8 text (byte {error.start})") from None
    return read(text)


def write_file(path: str | os.PathLike[str], values: Values, *, overwrite: bool) -> None:
    """Write a file by the ending of its name.

    Raises
    ------
    DataError
        If there is one already and it is not to be overwritten, or the ending is not known.
    """
    write = _WRITE.get(Path(path).suffix.lower())
    if write is None:
        raise DataError(f"{os.fspath(path)!r} must end in one of {quoted(_WRITE)} to hold a schema")
    try:
        with Path(path).open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(write(values))
    except FileExistsError:
        raise DataError(
            f"{os.fspath(path)!r} is there already, and may have been edited: choose another name, "
            "or overwrite=True"
        ) from None
    except OSError as error:
        raise DataError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from error
