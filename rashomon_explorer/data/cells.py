"""Cells of a table: parsing, and clipping to the declared ranges."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.data.messages import Level, RowName, quoted
from rashomon_explorer.data.numerals import hold_codes, plain_number
from rashomon_explorer.exceptions import DataError, RowsClippedWarning, warn_stacklevel

WORTH_A_WORD = 0.01
"""Share of the rows, or targets, above which clipping is reported."""

_ROUNDING = 1e-12
_WELL_INSIDE = 1 - 1e-9
_BLOCK = 4096


def warn_if_clipped(share: float, what: str, remedy: str) -> None:
    """Warn the curator if more than 1 % of the values were clipped to their declared range."""
    if share > WORTH_A_WORD:
        warnings.warn(
            f"more than 1 % of the {what}, and were clipped to it. {remedy} (Curator: this was "
            "read from private rows.)",
            RowsClippedWarning,
            stacklevel=warn_stacklevel(),
        )


def clip_rows(rows: FloatArray, row_norm: float) -> tuple[FloatArray, float]:
    """Rows clipped to ``row_norm``, and the share that exceeded it (for the curator only)."""
    clipped, by_more = rows, 0
    for start in range(0, len(rows), _BLOCK):  # avoids several copies of the table
        block = rows[start : start + _BLOCK]
        # A squared norm clearly below the bound, without overflow, needs no exact norm.
        square = np.einsum("ij,ij->i", block, block)
        near = np.flatnonzero(~(square < row_norm**2 * _WELL_INSIDE))
        if not near.size:
            continue
        largest = np.abs(block[near]).max(axis=1, initial=1e-300)
        unit = block[near] / largest[:, None]
        length = np.linalg.norm(unit, axis=1)
        with np.errstate(over="ignore"):
            norm = largest * length
        longer = norm > row_norm
        # A row that was clipped before exceeds the bound by rounding at most: it is not counted.
        by_more += int((norm > row_norm * (1 + _ROUNDING)).sum())
        if longer.any():
            clipped = rows.copy() if clipped is rows else clipped
            shortened = unit[longer] * (row_norm / length[longer])[:, None]
            clipped[start + near[longer]] = shortened
    return clipped, by_more / max(1, len(rows))


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """Map x ↦ (x − centre)/spread, with rows clipped to ``row_norm`` before and after."""

    centre: FloatArray
    spread: FloatArray
    row_norm: float

    def rows(self, X: ArrayLike) -> FloatArray:
        """Return mapped rows (n, n_features), as models of the mapped columns use them."""
        table = np.asarray(X, dtype=float)
        mapped = np.empty(table.shape)
        for start in range(0, len(table), _BLOCK):  # avoids several copies of the table
            some = slice(start, start + _BLOCK)
            clipped = clip_rows(table[some], self.row_norm)[0]
            mapped[some] = clip_rows((clipped - self.centre) / self.spread, self.row_norm)[0]
        return mapped

    def original(self, theta: FloatArray) -> FloatArray:
        """Return models (…, n_features + 1) of mapped columns in units of the original columns."""
        slopes = theta[..., :-1] / self.spread
        moved = theta[..., -1:] - (slopes * self.centre).sum(axis=-1, keepdims=True)
        return np.concatenate([slopes, moved], axis=-1)

    def scaled(self, theta: FloatArray) -> FloatArray:
        """Inverse of :meth:`original`."""
        moved = theta[..., -1:] + (theta[..., :-1] * self.centre).sum(axis=-1, keepdims=True)
        return np.concatenate([theta[..., :-1] * self.spread, moved], axis=-1)


MISSING = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>"})
"""Texts that denote a missing value."""


def to_numbers(values: pd.Series, row_name: RowName) -> npt.NDArray[np.float64]:
    """Convert a column to finite floats."""
    numbers, strange = read_numbers(values)
    if strange.any():
        raise DataError(
            f"column {values.name!r} is not numeric: {row_name(int(strange.argmax()))} is not a "
            f"number ({strange.sum()} such values in all). Correct it, declare its levels with "
            f"categories={{{values.name!r}: [...]}}, or leave the column out"
        )
    _refuse_missing(values, np.isnan(numbers), row_name)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DataError(
            f"column {values.name!r} is infinite at {row_name(int(infinite.argmax()))} "
            f"({infinite.sum()} such values in all): replace them by finite numbers"
        )
    return numbers


def read_numbers(
    values: pd.Series, tokens: frozenset[str] = MISSING
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Parse a column's numbers cell by cell; raises no error."""
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
        try:
            numbers = values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        except (TypeError, ValueError):  # complex numbers
            numbers = np.full(len(values), np.nan)
        for token in tokens - MISSING:
            numbers[numbers == plain_number(token)] = np.nan
        return numbers, np.zeros(len(numbers), dtype=bool)
    text = as_text(values)
    codes, words = pd.factorize(text)
    parsed = np.array(
        [np.nan if word in tokens else plain_number(word) for word in words], dtype=float
    )
    absent = np.array([word in tokens for word in words], dtype=bool)
    numbers = parsed[codes]
    return numbers, np.isnan(numbers) & ~absent[codes]


def warn_if_out_of_range(
    name: object, outside: npt.NDArray[np.bool_], bounds: tuple[float, float]
) -> None:
    """Warn the curator if more than 1 % of a column's values are outside its declared range."""
    low, high = bounds
    warn_if_clipped(
        float(outside.mean()),
        f"values of {name!r} are outside the declared range [{low:g}, {high:g}]",
        "Check the range and the unit: it is declared from knowledge, not from the rows.",
    )


def level_codes(
    values: pd.Series, levels: Sequence[Any], row_name: RowName
) -> npt.NDArray[np.intp]:
    """Position of each value among the declared levels; an undeclared one raises a DataError."""
    text = as_text(values)
    codes = pd.Index([cell_text(level) for level in levels]).get_indexer(pd.Index(text))
    unseen = np.flatnonzero(codes < 0)
    if unseen.size:
        first = int(unseen[0])
        value = text.iloc[first]
        # `row_name` names the line; the message quotes the cell, for the curator
        what = f"level {value!r}"
        if value in MISSING:
            what = f"a missing value ({value!r})" if value else "a missing value"
        raise DataError(
            f"column {values.name!r} has {what} at {row_name(first)}, which is not among its "
            f"declared levels {quoted(levels)}: add it to the categories or correct the value"
        )
    return codes


def as_text(values: pd.Series) -> pd.Series:
    """Values as stripped text, ``""`` if missing; integer-valued floats lose their ``.0``."""
    if isinstance(values.dtype, pd.StringDtype) or pd.api.types.is_any_real_numeric_dtype(values):
        codes, words = pd.factorize(values)  # columns with few distinct values
        texts = np.array([*map(cell_text, words), ""], dtype=object)
        cells: Any = texts[codes]
    else:  # value by value: factorize would merge True and 1
        blank = values.isna().to_numpy()
        cells = [
            "" if missing else cell_text(value)
            for value, missing in zip(values, blank, strict=True)
        ]
    return pd.Series(cells, index=values.index, name=values.name, dtype=object)


def cell_text(value: object) -> str:
    """Text used to compare a value with a declared level."""
    if isinstance(value, Integral):
        return str(value) if isinstance(value, bool) else str(int(value))
    if isinstance(value, Real):
        number = float(value)
        if not np.isfinite(number):
            return "" if np.isnan(number) else repr(number)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value).strip()


def is_missing(text: pd.Series) -> npt.NDArray[np.bool_]:
    """Mark the texts that denote a missing value."""
    return text.isin(MISSING).to_numpy(dtype=bool)


def refuse_missing_text(values: pd.Series, row_name: RowName) -> None:
    """Raise a DataError if a text or numeric column has a missing value."""
    numeric = pd.api.types.is_numeric_dtype(values)
    where = values.isna().to_numpy() if numeric else is_missing(as_text(values))
    _refuse_missing(values, where, row_name)


def _refuse_missing(values: pd.Series, where: npt.NDArray[np.bool_], row_name: RowName) -> None:
    if where.any():
        first = int(where.argmax())
        text = as_text(values.iloc[[first]]).iloc[0]
        token = f", where {text!r} stands for a missing value" if text else ""
        raise DataError(
            f"column {values.name!r} has no value at {row_name(first)}{token} ({where.sum()} "
            "missing in all). Rows are never dropped silently: fill the values in, remove those "
            "lines, or leave the column out"
        )


@dataclass(frozen=True)
class Reading:
    """One column's cells, parsed by its declaration."""

    values: FloatArray
    missing: Mask
    outside: Mask
    undeclared: Mask


def indicators(codes: FloatArray, how_many: int) -> FloatArray:
    """0/1 columns (n_rows, how_many) with a 1 at each position; all 0 for NaN."""
    table: NDArray[np.bool_] = codes[:, None] == np.arange(how_many)
    return table.astype(float)


_DAY, _MONTH = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])"
_CLOCK = r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"\d{{4}}([-/.]){_MONTH}(\1{_DAY}{_CLOCK})?",  # 2019-01, 2019-01-05, optionally a time
        rf"{_DAY}([-/.]){_MONTH}\2\d{{4}}{_CLOCK}",  # 05.01.2019
        rf"{_MONTH}([-/.])({_DAY}\2)?\d{{4}}",  # 01/05/2019, 01/2019
    )
)


def looks_like_dates(cells: pd.Series) -> bool:
    """Whether all values are dates or months in one format, with more than two distinct ones."""
    if pd.api.types.is_datetime64_any_dtype(cells):
        return True
    if pd.api.types.is_numeric_dtype(cells):
        return False
    words = as_text(cells)
    distinct = pd.Series(words[~is_missing(words)].unique())
    if np.isfinite(read_numbers(distinct)[0]).any():  # 1.2019 is a number
        return False
    return len(distinct) > 2 and any(
        all(form.fullmatch(text) for text in distinct) for form in _FORMS
    )


_MOST_CLASSES = 20
_FEWEST_ROWS = 50  # with fewer rows, integer measurements may all differ and lie close


@dataclass(frozen=True, eq=False)
class ColumnSample:
    """Cells of a column for which a declaration is proposed.  Curator: not private."""

    name: str
    cells: pd.Series
    role: str
    coded: bool  # whether numbers are codes of levels

    @cached_property
    def present(self) -> pd.Series:
        """Cells that are not missing."""
        return self.cells[~is_missing(as_text(self.cells))]

    @cached_property
    def numbers(self) -> FloatArray:
        """Numbers of the present cells; NaN for text."""
        return read_numbers(self.present)[0]

    @property
    def texts(self) -> set[str]:
        """Distinct present cells as text."""
        return set(as_text(self.present))

    @cached_property
    def levels(self) -> list[Level]:
        """Distinct values in order, as plain Python: 1.0 in a column with missing values is 1."""
        levels: dict[str, Level] = {}
        values = self.present.drop_duplicates()
        for value, text in zip(values, as_text(values), strict=True):
            level_value = value.item() if isinstance(value, np.generic) else value
            if isinstance(level_value, float) and level_value.is_integer():
                level_value = int(level_value)
            levels.setdefault(
                text, level_value if isinstance(level_value, bool | int | float) else text
            )
        numbers = all(isinstance(level, int | float) for level in levels.values())
        return sorted(levels.values()) if numbers else [levels[text] for text in sorted(levels)]

    @property
    def has_numbers(self) -> bool:
        """Whether most values are numbers, with more than two (in a target, many) distinct ones."""
        if pd.api.types.is_bool_dtype(self.present) or not len(self.present):
            return False
        if not pd.api.types.is_numeric_dtype(self.present) and hold_codes(self.texts):
            return False
        fewest = _MOST_CLASSES if self.role == "target" else 2
        return bool(np.isfinite(self.numbers).mean() > 0.5) and self.present.nunique() > fewest

    @property
    def numbers_rows(self) -> bool:
        """Whether the integers of a feature number the rows, in any order."""
        if self.role != "feature" or self.coded or len(self.numbers) < _FEWEST_ROWS:
            return False
        if not np.isfinite(self.numbers).all():
            return False
        steps = np.diff(np.sort(self.numbers))
        integral = (self.numbers % 1 == 0).all()
        return bool(integral and (steps > 0).all() and np.median(steps) == 1)

    @property
    def has_dates(self) -> bool:
        """Whether the values are dates or months."""
        return not self.coded and self.role != "sensitive" and looks_like_dates(self.cells)

    @property
    def settings(self) -> dict[str, Any]:
        """Role and, for a feature with missing cells, their rule."""
        absent = self.role == "feature" and len(self.present) < len(self.cells)
        return {"role": self.role, **({"missing": "indicator"} if absent else {})}
