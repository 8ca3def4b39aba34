"""From CSV text to a DataFrame whose every row knows the file line it came from."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from rashomon_explorer.datasets.separators import SEPARATORS, separator_of, with_points
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.checks import check_unique


@dataclass(frozen=True)
class CsvTable:
    """Columns of a CSV and the 1-based file line where each row starts."""

    # (n_rows, n_columns): columns that hold only numbers are numeric, all others are text
    frame: pd.DataFrame
    lines: npt.NDArray[np.int64]  # (n_rows,)
    # how the values are separated where that is not by commas: what was taken for granted
    written: str = ""

    def place(self, position: int) -> str:
        """Name the file line of a row."""
        return f"line {self.lines[position]}"


def parse_csv(text: str, text_columns: Iterable[str] = ()) -> CsvTable:
    r"""Parse text with a header, separated by commas, semicolons, tabs or bars.

    Which of them is seen from the header and the first lines; where it is not commas, decimals may
    be written with a comma. Blank lines are skipped; ``text_columns`` stay text even if all their
    values look like numbers.

    >>> table = parse_csv("age,home\n20,rent\n\n31,own\n")
    >>> table.frame["age"].tolist(), table.lines.tolist()
    ([20, 31], [2, 4])
    >>> parse_csv("age;rate\n20;1,5\n").frame["rate"].tolist()
    [1.5]
    """
    separator = separator_of(text)
    names, header_line, body = _split_header(text, separator)
    first_line = text[: len(text) - len(body)].count("\n") + 1
    quoted = '"' in body
    lines = (_lines_quoted if quoted else _lines_plain)(body, len(names), first_line, separator)
    if not lines.size:
        raise DataError(
            f"the file has a header (line {header_line}) and no rows below it: add the rows"
        )
    frame = pd.read_csv(
        io.StringIO(body),
        sep=separator,
        header=None,
        names=names,
        index_col=False,
        dtype={name: str for name in text_columns if name in names},
        # pandas must not guess that "NA" is missing: columns.py says it with the line
        na_filter=False,
        low_memory=False,
        skipinitialspace=separator != "\t",
    )
    if separator == ",":
        return CsvTable(frame, lines)
    frame, decimals = with_points(frame, text_columns)
    written = f"separated by {SEPARATORS[separator]}{' with decimal commas' if decimals else ''}"
    return CsvTable(frame, lines, written)


def _split_header(text: str, separator: str) -> tuple[list[str], int, str]:
    """Read the header without pandas, which would rename a repeated column to ``name.1``."""
    stream = io.StringIO(text, newline="\n")
    spaced = separator != "\t"
    reader = csv.reader(stream, delimiter=separator, skipinitialspace=spaced, strict=True)
    line, names = 1, []
    try:
        for names in reader:
            if len(names) > 1 or any(name.strip() for name in names):
                break
            line = reader.line_num + 1
        else:
            raise DataError("the file is empty: it needs a header line and rows below it")
    except csv.Error as error:
        raise DataError(f"the header on line {line} cannot be read: {error}") from error
    names = [name.strip() for name in names]
    _check_header(names, line)
    return names, line, text[stream.tell() :]


def _check_header(names: list[str], line: int) -> None:
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


def _lines_plain(body: str, width: int, first_line: int, separator: str) -> npt.NDArray[np.int64]:
    """Row lines where no value is quoted: separators are counted on the bytes, a line at a time."""
    content = np.frombuffer(body.encode(), dtype=np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    if content.size and content[-1] != ord("\n"):
        ends = np.append(ends, content.size)
    starts = np.concatenate([[0], ends + 1])[: ends.size]
    commas = np.flatnonzero(content == ord(separator))
    counts = np.searchsorted(commas, ends) - np.searchsorted(commas, starts) + 1
    # only a line without a separator can be blank, so that few lines are looked at one by one
    lone = np.flatnonzero(counts == 1)
    blank = [
        line for line in lone if not content[starts[line] : ends[line]].tobytes().strip(b" \t")
    ]
    rows = np.delete(np.arange(ends.size), blank)
    wrong = rows[counts[rows] != width]
    if wrong.size:
        _refuse_ragged(first_line + int(wrong[0]), int(counts[wrong[0]]), width, separator)
    return (first_line + rows).astype(np.int64)


def _lines_quoted(body: str, width: int, first_line: int, separator: str) -> npt.NDArray[np.int64]:
    """Row lines where a quoted value may hold separators and line ends."""
    physical = body.split("\n")
    reader = csv.reader(
        io.StringIO(body, newline="\n"),
        delimiter=separator,
        skipinitialspace=separator != "\t",
        strict=True,
    )
    lines: list[int] = []
    start = 0
    try:
        for cells in reader:
            if physical[start].strip(" \t") or len(cells) > 1:
                if len(cells) != width:
                    _refuse_ragged(first_line + start, len(cells), width, separator)
                lines.append(first_line + start)
            start = reader.line_num
    except csv.Error as error:
        raise DataError(
            f"line {first_line + start} cannot be read ({error}): check its quotes"
        ) from error
    return np.array(lines, dtype=np.int64)


def _refuse_ragged(line: int, found: int, width: int, separator: str) -> None:
    word = SEPARATORS[separator].removesuffix("s")
    raise DataError(
        f"line {line} has {found} values, but the header names {width} columns: correct the "
        f"line, and put a value that contains a {word} in double quotes"
    )
