"""Load a CSV file with its schema."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer._utils.taint import mark
from rashomon_explorer.data import bunch, encoder, numerals
from rashomon_explorer.data.cells import MISSING, read_numbers
from rashomon_explorer.data.columns import Levelled, Numeric
from rashomon_explorer.data.messages import Bounds, check_unique, listed_columns
from rashomon_explorer.data.schema import TableSchema
from rashomon_explorer.exceptions import DataError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LOOKED_AT = 20
_STATED = re.compile(r'"?sep=(.+?)"?\n', re.IGNORECASE)  # Excel's first line
TEXT_TABLES = (".csv", ".tsv", ".txt")
"""Endings of the names of text files with a table."""


def is_text_table(path: Path) -> bool:
    """Whether a file's name is that of a CSV."""
    return path.suffix.lower() in TEXT_TABLES


def detect_separator(text: str) -> str:
    """Separator for which most of the first lines have as many columns as the header."""
    start = "\n".join(islice((line for line in text.split("\n") if line.strip()), _LOOKED_AT))
    # A comma in each line may be a decimal mark; any other separator in each line is none.
    return max(reversed(SEPARATORS), key=lambda separator: _lines_like_header(start, separator))


def _lines_like_header(start: str, separator: str) -> tuple[int, int]:
    """Count the lines as wide as the header; return this and its width, zeros for one column."""
    try:
        widths = [len(cells) for cells in _reader(start, separator, strict=False)]
    except csv.Error:
        return 0, 0
    if not widths or widths[0] < 2:
        return 0, 0
    return widths[1:].count(widths[0]), widths[0]


def _reader(text: str, separator: str, strict: bool = True) -> Any:
    stream = io.StringIO(text, newline="\n")
    spaced = separator != "\t"
    return csv.reader(stream, delimiter=separator, skipinitialspace=spaced, strict=strict)


_FIELD_LIMIT = RLock()  # the limit of the csv module holds for the process


@contextmanager
def _long_fields(text: str) -> Iterator[None]:
    with _FIELD_LIMIT:
        limit = csv.field_size_limit()
        csv.field_size_limit(max(limit, len(text)))
        try:
            yield
        finally:
            csv.field_size_limit(limit)


@dataclass(frozen=True)
class CsvTable:
    """Columns of a CSV and the 1-based file line where each row starts."""

    # (n_rows, n_columns): columns that hold only numbers are numeric, all others are text
    frame: pd.DataFrame
    lines: npt.NDArray[np.int64]  # (n_rows,)
    # description of the separator if it is not a comma, because it was inferred
    written: str = ""

    def row_name(self, position: int) -> str:
        """File line of a row, as text."""
        return f"line {self.lines[position]}"


def parse_csv(
    text: str,
    text_columns: Iterable[str] = (),
    number_columns: Iterable[str] = (),
    marks: numerals.NumberMarks | None = None,
) -> CsvTable:
    """Parse text with a header; a column is numeric if most cells are and none is a code."""
    with _long_fields(text):
        stated = _STATED.match(text)
        separator = detect_separator(text) if stated is None else _stated(stated[1])
        start = 0 if stated is None else stated.end()
        names, header_line, body = _split_header(
            text[start:], separator, first_line=1 + bool(start)
        )
        first_line = text[: len(text) - len(body)].count("\n") + 1
        rows, lines = _rows(body, len(names), first_line, separator)
    if not lines.size:
        raise DataError(
            f"the file has a header (line {header_line}) and no rows below it: add the rows"
        )
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    columns, written = _typed(cells, separator, set(text_columns), set(number_columns), marks)
    parts = [f"separated by {SEPARATORS[separator]}"] * (separator != ",") + written
    return CsvTable(pd.DataFrame(columns), lines, " with ".join(parts))


def _stated(separator: str) -> str:
    separator = {"\\t": "\t"}.get(separator, separator)
    if separator not in SEPARATORS:
        named = ", ".join(SEPARATORS.values())
        raise DataError(
            f"line 1 states the separator {separator!r}; values must be separated by one of {named}"
        )
    return separator


def _typed(
    cells: Mapping[str, Sequence[str]],
    separator: str,
    text_columns: set[str],
    number_columns: set[str],
    marks: numerals.NumberMarks | None,
) -> tuple[dict[str, pd.Series], list[str]]:
    """Columns as numbers, truth values or text, and words for marks other than a point."""
    columns: dict[str, pd.Series] = {}
    undecided: dict[str, numerals.NumberColumn] = {}
    for name, values in cells.items():
        parsed = None if name in text_columns else numerals.plain_numbers(values)
        if parsed is None and name not in text_columns:
            undecided[name] = numerals.NumberColumn(
                values, marks or numerals.NumberMarks(), MISSING
            )
            parsed = numerals.truths(values)
        columns[name] = pd.Series(values) if parsed is None else parsed
    numeric = {
        name: column
        for name, column in undecided.items()
        if column.has_numbers and (name in number_columns or not numerals.hold_codes(column.counts))
    }
    column_marks = [column.certain_marks for column in numeric.values()]
    floats = any(pd.api.types.is_float_dtype(column) for column in columns.values())
    file_marks = set().union({"."} if floats else set(), *column_marks)
    # Among commas a decimal comma is rare: one decimal point shows what the points are.
    file_marks = {"."} if separator == "," and file_marks == {"."} else set()
    decimals = set()
    for name, column in numeric.items():
        decimal = column.decimal(name, file_marks)
        columns[name] = column.numbers(decimal)
        decimals.add(decimal if any(decimal in word for word in column.counts) else "")
    return columns, ["decimal commas"] * ("," in decimals)


def _split_header(text: str, separator: str, first_line: int) -> tuple[list[str], int, str]:
    """Names in the header, its line, and the text below it."""
    reader = _reader(text, separator)
    line, names = first_line, []
    try:
        for names in reader:
            if len(names) > 1 or any(name.strip() for name in names):
                break
            line = first_line + reader.line_num
        else:
            raise DataError("the file is empty: it needs a header line and rows below it")
    except csv.Error as error:
        raise DataError(f"the header on line {line} cannot be read: {error}") from error
    names = [name.strip() for name in names]
    for position, name in enumerate(names, start=1):
        if not name:
            raise DataError(
                f"column {position} of {len(names)} has no name in the header on line {line}: "
                "name it, or remove the column (or the comma at the end of the lines)"
            )
    try:
        check_unique(names)
    except DataError as error:
        raise DataError(f"in the header on line {line}, {error}") from None
    below = text.split("\n", reader.line_num)[reader.line_num :]
    return names, line, "".join(below)


def _rows(
    body: str, width: int, first_line: int, separator: str
) -> tuple[list[list[str]], npt.NDArray[np.int64]]:
    """Rows and their file lines; quoted values may contain separators and line ends."""
    physical = body.split("\n")
    reader = _reader(body, separator)
    rows: list[list[str]] = []
    lines: list[int] = []
    start = 0
    try:
        for cells in reader:
            if physical[start].strip(" \t") or len(cells) > 1:
                if len(cells) != width:
                    word = SEPARATORS[separator].removesuffix("s")
                    raise DataError(
                        f"line {first_line + start} has {len(cells)} values, but the header names "
                        f"{width} columns: correct the line, and put a value that contains a "
                        f"{word} in double quotes"
                    )
                rows.append(cells)
                lines.append(first_line + start)
            start = reader.line_num
    except csv.Error as error:
        raise DataError(
            f"line {first_line + start} cannot be read ({error}): check its quotes"
        ) from error
    return rows, np.array(lines, dtype=np.int64)


CsvSource = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | IO[str]

_OTHER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    b"PK\x03\x04": "a zip or spreadsheet file",
    b"\x1f\x8b": "a gzip file",
    b"PAR1": "a Parquet file, which chunk_rows(path, target=...) reads",
}


def read_text(source: CsvSource) -> str:
    r"""Read a whole CSV as text with ``\n`` line ends and no byte-order mark."""
    content = _content(source)
    return plain_lines(content if isinstance(content, str) else decode(content)[0])


def plain_lines(text: str) -> str:
    r"""Text with ``\n`` line ends and no byte-order mark; raises if it is no text."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(
            f"line {line} holds a NUL character: this is not a CSV file of text, or it is UTF-16 "
            "text without its mark. Save it as 'CSV UTF-8'"
        )
    return text


def _content(source: Any) -> str | bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str) and "\n" in source:
        raise DataError(
            "a str is read as a path, but this one has several lines: pass the CSV text as "
            "bytes, text.encode()"
        )
    if isinstance(source, str | os.PathLike):
        try:
            return Path(source).read_bytes()
        except OSError as error:
            path, reason = os.fspath(source), error.strerror or error
            raise DataError(f"cannot read {path!r}: {reason}") from error
    if callable(getattr(source, "read", None)):
        try:
            content = source.read()
        except UnicodeDecodeError as error:
            raise DataError(
                f"the file was opened as text and is not {error.encoding}: open it in binary mode, "
                "open(path, 'rb'), to get an error with its line"
            ) from error
        if isinstance(content, str | bytes):
            return content
    frame = ": a table in memory goes in as load_csv(frame.to_csv(index=False).encode(), ...)"
    raise DataError(
        f"expected a path, bytes or an open file to read a CSV from, got {type(source).__name__}"
        f"{frame * callable(getattr(source, 'to_csv', None))}"
    )


def decode(content: bytes, fallback: str | None = None) -> tuple[str, str]:
    """Text of a file, and the name of its encoding unless it is UTF-8."""
    for first, kind in _OTHER_MARKS.items():
        if content.startswith(first):
            raise DataError(
                f"the file looks like {kind} (byte offset 0, line 1), but a plain CSV in UTF-8 "
                "is expected: save it as 'CSV UTF-8'"
            )
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return content.decode("utf-16"), "UTF-16 text"
        except UnicodeDecodeError as error:
            raise DataError(
                f"the file is UTF-16 text with half a character at byte offset {error.start} of "
                f"{len(content)}: it was probably cut short. Save or copy it again"
            ) from None
    try:
        return content.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        expected = "not UTF-8"
        if fallback is not None:
            name = _ENCODINGS.get(fallback, fallback)
            expected = f"neither UTF-8 text nor {name}"
            with suppress(UnicodeDecodeError):
                return content.decode(fallback), f"{name} text"
        before = content[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        line = before.count(b"\n") + 1
        raise DataError(
            f"the file is {expected}: byte 0x{content[error.start]:02x} at byte offset "
            f"{error.start}, line {line}. Save it as 'CSV UTF-8', or convert "
            "it, for example with data.decode('latin-1').encode('utf-8')"
        ) from None


_ENCODINGS = {"cp1252": "Windows-1252"}


def load_csv(
    source: CsvSource,
    *,
    target: str | None = None,
    sensitive: Sequence[str] = (),
    bounds: Mapping[str, Bounds] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    task: str | None = None,
    positive: Any = None,
    target_bounds: Bounds | None = None,
    classes: Sequence[Any] | None = None,
    schema: TableSchema | str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    name: str | None = None,
) -> Bunch:
    r"""Load a UTF-8 or UTF-16 file with a header, separated by commas, semicolons, tabs or bars.

    The first lines determine the separator, unless Excel's line ``sep=;`` states it. The numbers
    of a column determine its decimal mark: ``1,5`` and ``1.549,50`` have a comma, ``1.5`` and
    ``1,549.50`` a point. If they can be read two ways (``1,549``), ``decimal`` must say it.

    Every feature needs a public declaration: ``bounds`` for a numeric one, ``categories`` for a
    categorical one. A value outside the declared bounds is clipped to the nearer bound. This is
    not an error, because an error would reveal something about the rows.

    Parameters
    ----------
    source : path, bytes or file object
        File to read; the bytes of an upload are accepted.
    target : str
        Column to predict.
    sensitive : sequence of str
        Columns, numbers or text, that are returned in ``sensitive`` and not in ``X``.
    bounds : dict of str to (float, float)
        Range of every numeric feature, from knowledge of the domain.
    categories : dict of str to sequence
        Levels of every categorical feature, one 0/1 column ``"column=level"`` each. A sensitive
        column may have levels too; they are then checked.
    task : {"classification", "regression"}, optional
        By default regression if ``target_bounds`` is given; otherwise classification, provided
        that the target has at most 20 distinct labels, all text or whole numbers.
    positive : object, optional
        Class coded 1, all others 0. By default the classes are coded in sorted order.
    target_bounds : (float, float), optional
        Range of a regression target; values outside are clipped.
    classes : sequence, optional
        Every label of the target that may occur, in the order of their codes; another label is an
        error. Without them the labels are computed from the rows: ``schema`` marks the target,
        each guarantee states that the labels that occur are public, and an estimator with a
        ledger, or the page, asks for declared or confirmed ones.
    schema : TableSchema, str or path, optional
        The complete declaration, or its file, instead of ``target``, ``sensitive``, ``bounds``,
        ``categories``, ``target_bounds`` and ``classes``. It also sets the rules for missing
        values and unknown levels; without it both are refused.
    drop : sequence of str
        Columns to leave out, such as identifiers.
    decimal : {".", ","}, optional
        Decimal mark of all numbers. By default each column shows it, or it is asked for.
    thousands : str, optional
        Mark between groups of digits: ``, . ' _`` or a space. By default the point or comma that is
        not the decimal mark.
    name : str, optional
        By default the file's name without its ending, or "csv".

    Returns
    -------
    sklearn.utils.Bunch
        As :func:`load_dataset` returns; ``bounds_learnt`` is True if a bound is data-dependent.

    Raises
    ------
    DataError
        If a column or line is invalid; the message names it (the first line is 1) and a correction.

    Warns
    -----
    PrivacyLeakWarning
        If a bound was computed from the rows.
    RowsClippedWarning
        If more than 1 % of a column's values are outside its declared range (curator).

    Examples
    --------
    >>> rows = b"age,home,repaid\n20,rent,no\n44,own,yes\n90,own,yes\n"
    >>> data = load_csv(
    ...     rows,
    ...     target="repaid",
    ...     bounds={"age": (18, 90)},
    ...     categories={"home": ["own", "rent"]},
    ...     classes=["no", "yes"],
    ... )
    >>> data.X
        age  home=own  home=rent
    0  20.0       0.0        1.0
    1  44.0       1.0        0.0
    2  90.0       1.0        0.0
    >>> data.y.tolist(), data.classes
    ([0, 1, 1], ['no', 'yes'])
    """
    settings = {
        "target": target,
        "sensitive": listed_columns(sensitive, "sensitive"),
        "bounds": _mapping(bounds, "bounds"),
        "categories": _mapping(categories, "categories"),
        "target_bounds": target_bounds,
        "classes": classes,
    }
    declared = _declared(settings, schema)
    levelled = [column.name for column in declared.columns if isinstance(column, Levelled)]
    ignored = [column.name for column in declared.columns if column.role == "ignore"]
    unread = {*listed_columns(drop, "drop"), *ignored}
    table = parse_csv(
        read_text(source),
        text_columns=[*levelled, *unread],  # 01 must not become 1
        number_columns=[each.name for each in declared.columns if isinstance(each, Numeric)],
        marks=numerals.NumberMarks(decimal, thousands),
    )
    columns = list(table.frame.columns)
    frame = table.frame.drop(columns=listed_columns(drop, "drop", columns))
    if schema is None:
        bunch.check_columns(declared, list(frame.columns))
        _refuse_undeclared(frame, declared)
        declared = declared.in_order(list(frame.columns))
    data = bunch.make_bunch(
        frame,
        declared,
        task=task,
        positive=positive,
        name=name or (Path(source).stem if isinstance(source, str | os.PathLike) else "csv"),
        description=f"Rows of a CSV file{', ' * bool(table.written)}{table.written}, declared by "
        "the user.",
        source="your own CSV",
        row_name=table.row_name,
    )
    if data.bounds_learnt:
        for part in (data.X, data.y):
            mark(part, "bounds were computed from the rows")
        encoder.warn_unconfirmed(declared)
    return data


def _declared(settings: Mapping[str, Any], schema: Any) -> TableSchema:
    if schema is None:
        if settings["target"] is None:
            raise DataError(
                "name the column to predict, target=..., or give a schema with a target"
            )
        return bunch.declared_schema(**settings)
    if repeated := [name for name, value in settings.items() if value]:
        raise DataError(f"the schema declares these already: leave {', '.join(repeated)} out")
    return TableSchema.from_schema_or_path(schema)


def _refuse_undeclared(frame: pd.DataFrame, declared: TableSchema) -> None:
    """Raise an error that lists missing declarations, with a template without values of rows."""
    numeric: list[str] = []
    text: list[str] = []
    for name in (name for name in frame.columns if name not in set(declared)):
        cells = frame[name]
        # A column of numbers may have some missing or invalid values.
        holds_numbers = pd.api.types.is_numeric_dtype(cells) or (
            np.isfinite(read_numbers(cells)[0]).mean() > 0.5 and not numerals.hold_codes(set(cells))
        )
        (numeric if holds_numbers else text).append(name)
    parts = []
    if numeric:
        pairs = ", ".join(f"{column!r}: (low, high)" for column in numeric)
        parts.append(
            f"numeric columns without public bounds: {len(numeric)}. Pass, with numbers from "
            f"knowledge of the domain (not from the rows),\n    bounds={{{pairs}}}"
        )
    if text:
        pairs = ", ".join(f"{column!r}: ['level', 'level']" for column in text)
        parts.append(
            f"text columns without declared levels: {len(text)}. Pass\n"
            f"    categories={{{pairs}}}\nor make a column sensitive"
        )
    if parts:
        left_out = [*numeric, *text][:1]
        raise DataError("\n".join(parts) + f"\nor leave a column out: drop={left_out!r}")


def _mapping(pairs: Any, role: str) -> Mapping[str, Any]:
    if pairs is None:
        return {}
    if not isinstance(pairs, Mapping):
        raise DataError(f"{role} must be a dict with columns as keys, got {type(pairs).__name__}")
    return pairs
