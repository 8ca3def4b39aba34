"""Schemas as TOML files and data dictionaries."""

import csv
import io
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rashomon_explorer.data.messages import quoted, suggestion
from rashomon_explorer.exceptions import DataError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(values: Mapping[str, Any]) -> str:
    """Write tables of plain values as TOML."""
    return "\n".join(_tables(values, ()))


def _tables(values: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    entries = [
        f"{_key(key)} = {_value(value)}" for key, value in values.items() if not _is_table(value)
    ]
    inner = [(key, value) for key, value in values.items() if _is_table(value)]
    header = [f"[{'.'.join(map(_key, path))}]"] if path and (entries or not inner) else []
    texts = ["\n".join([*header, *entries]) + "\n"] if header or entries else []
    for key, value in inner:
        texts += _tables(value, (*path, key))
    return texts


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, except for one character that TOML also escapes.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_OTHER_WORDS = {
    "column": "name",
    "variable": "name",
    "type": "kind",
    "min": "low",
    "max": "high",
    "values": "levels",
}
_PAIRS = {"low": "bounds", "high": "bounds", "typical_low": "typical", "typical_high": "typical"}


def dictionary_values(text: str) -> dict[str, Any]:
    r"""Read a data dictionary as the plain values of a schema."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), skipinitialspace=True)
    lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    if not lines:
        raise DataError("the data dictionary is empty: it needs a header and one line per column")
    header = _header(lines[0][1])
    columns: dict[str, Any] = {}
    for line, cells in lines[1:]:
        if len(cells) != len(header):
            raise DataError(
                f"line {line} of the data dictionary has {len(cells)} cells, expected "
                f"{len(header)}: put text with a comma in double quotes"
            )
        cells_by_word = {word: cell.strip() for word, cell in zip(header, cells, strict=True)}
        name = cells_by_word.pop("name")
        if not name or name in columns:
            wrong = f"names {name!r} a second time" if name else "names no column"
            raise DataError(f"line {line} of the data dictionary {wrong}")
        columns[name] = _settings(
            {word: cell for word, cell in cells_by_word.items() if cell}, line
        )
    return {"columns": columns}


def _header(cells: list[str]) -> list[str]:
    words = [cell.strip().lower().replace(" ", "_") for cell in cells]
    header = [_OTHER_WORDS.get(word, word) for word in words]
    allowed = ["name", "kind", *_PAIRS, *_PLAIN]
    for word in header:
        if word not in allowed:
            raise DataError(
                f"the data dictionary's header has {word!r}{suggestion(word, allowed)}; "
                f"it can have {quoted(allowed, limit=20)}"
            )
        if header.count(word) > 1:
            raise DataError(f"the data dictionary's header has {word!r} twice: keep one")
    for word in ("name", "kind"):
        if word not in header:
            raise DataError(f"the data dictionary's header must have {word!r}, got {quoted(cells)}")
    return header


def _settings(cells: Mapping[str, str], line: int) -> dict[str, Any]:
    values: dict[str, Any] = {"kind": cells["kind"]} if "kind" in cells else {}
    for low, high in (("low", "high"), ("typical_low", "typical_high")):
        if low in cells or high in cells:
            ends = [_number(cells.get(end, ""), end, line) for end in (low, high)]
            values[_PAIRS[low]] = ends
    return values | {word: _PLAIN[word](cell) for word, cell in cells.items() if word in _PLAIN}


def _number(text: str, what: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(
            f"line {line} of the data dictionary has {text!r} for {what}, expected a number"
        ) from None


def _several(text: str) -> list[Any]:
    """Levels; as integers if all of them are integers, as in the table."""
    parts = [part.strip() for part in text.split("|")]
    try:
        integers = [int(part) for part in parts]
    except ValueError:
        return parts
    return integers if [str(number) for number in integers] == parts else parts


def _numbers(text: str) -> list[Any]:
    """Thresholds; text that is not a number stays text, and the column's check names it."""
    return [_one(part.strip()) for part in text.split("|")]


def _one(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


_PLAIN: Mapping[str, Callable[[str], Any]] = {
    "levels": _several,
    "role": str,
    "missing": str,
    "missing_values": _several,
    "thresholds": _numbers,
    "unknown": str,
    "unit": str,
    "description": str,
}


Values = dict[str, Any]


def toml_values(text: str) -> Values:
    r"""Read TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"the schema is not TOML: {error}") from None


SCHEMA_READERS: Mapping[str, Callable[[str], Values]] = {
    ".toml": toml_values,
    ".csv": dictionary_values,
}
"""Function that reads the text of a schema's file, by the file's suffix."""


def read_values(path: str | os.PathLike[str]) -> Values:
    """Read a file in the format of its suffix."""
    read = SCHEMA_READERS.get(Path(path).suffix.lower())
    if read is None:
        raise DataError(
            f"{os.fspath(path)!r} must end in one of {quoted(SCHEMA_READERS)} to be a schema"
        )
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {os.fspath(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)!r} is not UTF-8 text (byte {error.start})") from None
    return read(text)


def write_file(path: str | os.PathLike[str], values: Values, *, overwrite: bool) -> None:
    """Write a TOML file."""
    if Path(path).suffix.lower() != ".toml":
        raise DataError(f"{os.fspath(path)!r} must end in '.toml' to hold a schema")
    try:
        with Path(path).open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(toml_text(values))
    except FileExistsError:
        raise DataError(
            f"{os.fspath(path)!r} exists already and may have been edited: choose another name, "
            "or overwrite=True"
        ) from None
    except OSError as error:
        raise DataError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from error
