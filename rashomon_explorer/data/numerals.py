"""Numbers written as text: their marks, the readings that are possible, and codes."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from rashomon_explorer.exceptions import DataError

_OTHER = {".": ",", ",": "."}
_NAMES = {".": "point", ",": "comma"}
_GROUP_MARKS = " ,.'’_\u00a0\u2009\u202f"
_PLAIN = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.IGNORECASE
)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
# Leading zeros, international telephone numbers, and more digits than an integer holds.
_CODE = re.compile(r"[+-]?0[0-9].*|\+[0-9]{7,}|[+-]?[0-9]{19,}")
_CODE_LIKE_POWER = re.compile(r"[0-9]+[eE][0-9]+")
_TRUTHS = {one: value for value in (True, False) for one in (f"{value}", f"{value}".upper())}
_MAJORITY = 0.5


class UnclearMarkError(DataError):
    """Numbers of a column can be read two ways; ``decimal`` says which one holds."""


def plain_number(text: str) -> float:
    """Return a number of ASCII digits with a decimal point; NaN for other text (``"18_25"``)."""
    text = text.strip()
    return float(text) if _PLAIN.fullmatch(text) else np.nan


def hold_codes(texts: Iterable[str]) -> bool:
    """Whether distinct texts are codes that a number would change, such as ``"01067"``."""
    texts = [text.strip() for text in texts]
    if any(_CODE.fullmatch(text) for text in texts):
        return True
    powers = [text for text in texts if _CODE_LIKE_POWER.fullmatch(text)]
    return bool(powers) and all(
        _CODE_LIKE_POWER.fullmatch(text) or _WHOLE.fullmatch(text) for text in texts
    )


@cache
def _pattern(decimal: str, thousands: str, regular: bool) -> re.Pattern[str]:
    """Numbers with these marks; regular ones have three digits in every group."""
    mark, group = re.escape(decimal), f"[{re.escape(thousands)}]"
    middle = "[0-9]{3}" if regular else "[0-9]{2,3}"
    grouped = rf"[1-9][0-9]{{0,2}}(?:{group}{middle})*{group}[0-9]{{3}}(?:{mark}[0-9]*)?"
    single = rf"(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    return re.compile(rf"[+-]?(?:{grouped}|{single})")


@dataclass(frozen=True)
class NumberMarks:
    """Decimal mark and mark of thousands; None for one that each column must show."""

    decimal: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal not in _OTHER:
            raise DataError(f"decimal must be '.' or ',', got {self.decimal!r}")
        mark = self.thousands
        if mark is not None and (len(mark) != 1 or mark not in _GROUP_MARKS):
            raise DataError(f"thousands must be one of , . ' ’ _ or a space, got {mark!r}")
        if mark is not None and mark == self.decimal:
            raise DataError(f"decimal and thousands must differ, got {mark!r} for both")

    @property
    def decimals(self) -> tuple[str, ...]:
        """Decimal marks that are possible."""
        if self.decimal is not None:
            return (self.decimal,)
        return (".", ",") if self.thousands is None else (_OTHER.get(self.thousands, "."),)

    def text(self, word: str, decimal: str) -> str | None:
        """Return the number with a point and without groups; None if this is no number."""
        group = self.thousands or _OTHER[decimal]
        if group == " ":
            group = " \u00a0\u2009\u202f"
        if not _pattern(decimal, group, self.thousands is None).fullmatch(word):
            return None
        for mark in group:
            word = word.replace(mark, "")
        return word.replace(decimal, ".")


_POINTS = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?)?\n)*")
_A_POINT = re.compile(r"^-?(?:0|[0-9]{4,}|[0-9]+(?=\.(?:[0-9]{1,2}|[0-9]{4,})$))\.", re.MULTILINE)


def plain_numbers(cells: Sequence[str]) -> pd.Series | None:
    """Numbers of a column that can be read one way only, in a single pass; else None."""
    joined = "\n".join(cells) + "\n"
    if not _POINTS.fullmatch(joined):
        return None
    if "." in joined:
        return pd.Series(np.array(cells, dtype=float)) if _A_POINT.search(joined) else None
    return pd.Series([int(cell) for cell in cells]) if max(map(len, cells)) <= 18 else None


class NumberColumn:
    """Cells of a column, and by decimal mark the number that each may be, or None."""

    def __init__(self, cells: Sequence[str], marks: NumberMarks, missing: frozenset[str]) -> None:
        self.cells = cells
        counts = Counter(map(str.strip, cells))
        self.counts = {word: n for word, n in counts.items() if word not in missing}
        self.readings = {
            mark: {word: marks.text(word, mark) for word in self.counts} for mark in marks.decimals
        }

    @property
    def has_numbers(self) -> bool:
        """Whether most of the cells are numbers with one decimal mark."""
        return max(map(self._n_numbers, self.readings)) > _MAJORITY * sum(self.counts.values())

    def _n_numbers(self, decimal: str) -> int:
        reading = self.readings[decimal]
        return sum(n for word, n in self.counts.items() if reading[word] is not None)

    @property
    def certain_marks(self) -> set[str]:
        """Decimal marks with a cell that is a number with this mark alone."""
        return {
            mark
            for mark in self.readings
            for word in self.counts
            if [decimal for decimal, reading in self.readings.items() if reading[word] is not None]
            == [mark]
        }

    def decimal(self, name: object, file_marks: set[str]) -> str:
        """Decimal mark that the cells show, or the file's; raises if it is unclear."""
        marks = self.certain_marks or file_marks
        if len(marks) == 1:
            return next(iter(marks))
        for word in self.counts:
            read = {mark: reading[word] for mark, reading in self.readings.items()}
            if None not in read.values() and len(set(read.values())) > 1:
                raise UnclearMarkError(_two_readings(name, word, read))
        return max(self.readings, key=self._n_numbers)

    def numbers(self, decimal: str) -> pd.Series:
        """Return numbers if all cells are; else text in which numbers have a decimal point."""
        reading = self.readings[decimal]
        written = [reading.get(cell.strip()) or cell for cell in self.cells]
        if None in reading.values() or sum(self.counts.values()) < len(self.cells):
            return pd.Series(written)
        if all(map(_WHOLE.fullmatch, written)):
            return pd.Series([int(text) for text in written])
        return pd.Series(np.array(written, dtype=float))


def _two_readings(name: object, word: str, read: Mapping[str, str | None]) -> str:
    mark = next(character for character in word if character in _OTHER)
    point = _NAMES[mark]
    return (
        f"column {name!r} has numbers that can be read two ways: {word} is {read[_OTHER[mark]]} "
        f"({point}s separate thousands) or {read[mark]} (decimal {point}). Pass "
        f"decimal={_OTHER[mark]!r} for the first reading, decimal={mark!r} for the second"
    )


def truths(cells: Sequence[str]) -> pd.Series | None:
    """Return the cells as booleans if all of them are ``True`` or ``False``."""
    if set(cells) <= set(_TRUTHS):
        return pd.Series([_TRUTHS[cell] for cell in cells])
    return None
