"""One column at a time: text to numbers, text to declared levels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rashomon_explorer.clipping import warn_if_clipped
from rashomon_explorer.datasets.checks import Place, quoted
from rashomon_explorer.exceptions import DataError

MISSING = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>"})
"""Texts that stand for a value that is not there."""


def to_numbers(values: pd.Series, place: Place) -> npt.NDArray[np.float64]:
    """Turn a column into finite floats.

    >>> import pandas as pd
    >>> to_numbers(pd.Series(["1", " 2.5"], name="age"), str)
    array([1. , 2.5])
    """
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        text = as_text(values)
        numbers = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64)
        _refuse_text(values.name, np.isnan(numbers) & ~is_missing(text), place)
    _refuse_missing(values, np.isnan(numbers), place)
    _refuse_infinite(values.name, np.isinf(numbers), place)
    return numbers


def within(values: pd.Series, bounds: tuple[float, float], place: Place) -> npt.NDArray[np.float64]:
    """Turn a column into floats, those outside its declared range moved to the nearer end.

    More than 1 % of them warns, as a curator's word.

    >>> import pandas as pd
    >>> within(pd.Series([20.0] * 99 + [130.0]), (18.0, 90.0), str)[[0, -1]].tolist()
    [20.0, 90.0]
    """
    numbers = to_numbers(values, place)
    held = np.clip(numbers, *bounds)
    low, high = bounds
    warn_if_clipped(
        float((numbers != held).mean()),
        f"values of {values.name!r} are outside the declared range [{low:g}, {high:g}]",
        "Check the range and the unit: it is declared from knowledge, not from the rows.",
    )
    return np.asarray(held)


def one_hot(values: pd.Series, levels: Sequence[Any], place: Place) -> pd.DataFrame:
    """Turn a column into one 0/1 column a declared level, none of them dropped.

    A level is compared to a value by its text.

    >>> import pandas as pd
    >>> one_hot(pd.Series(["rent", "own"], name="home"), ["own", "rent"], str)
       home=own  home=rent
    0       0.0        1.0
    1       1.0        0.0
    """
    codes = level_codes(values, levels, place)
    table = np.equal.outer(codes, np.arange(len(levels))).astype(np.float64)
    return pd.DataFrame(table, columns=[f"{values.name}={level}" for level in levels])


def level_codes(values: pd.Series, levels: Sequence[Any], place: Place) -> npt.NDArray[np.intp]:
    """Position of every value among the declared levels; an undeclared one is a DataError."""
    text = as_text(values)
    codes = pd.Index([str(level) for level in levels]).get_indexer(pd.Index(text))
    unseen = np.flatnonzero(codes < 0)
    if unseen.size:
        first = int(unseen[0])
        value = text.iloc[first]
        # `place` names the line; the level itself is public by the user's own declaration
        what = f"level {value!r}"
        if value in MISSING:
            what = f"a missing value ({value!r})" if value else "a missing value"
        raise DataError(
            f"column {values.name!r} has {what} at {place(first)}, which is not among its "
            f"declared levels {quoted(levels)}: add it to the categories or correct the value"
        )
    return codes


def as_text(values: pd.Series) -> pd.Series:
    """Values as stripped text, ``""`` where missing; whole floats lose their ``.0``.

    Examples
    --------
    >>> import pandas as pd
    >>> as_text(pd.Series([1.0, None, 3.0])).tolist()
    ['1', '', '3']
    """
    if isinstance(values.dtype, pd.StringDtype):  # long columns of few words
        codes, words = pd.factorize(values)
        told = np.array([*(str(word).strip() for word in words), ""], dtype=object)
        return pd.Series(told[codes], index=values.index, name=values.name, dtype=object)
    if pd.api.types.is_float_dtype(values):
        cells: list[str] = ["" if np.isnan(v) else _number_text(v) for v in values.to_numpy(float)]
    else:
        blank = values.isna().to_numpy()
        cells = [
            "" if missing else str(value).strip()
            for value, missing in zip(values, blank, strict=True)
        ]
    return pd.Series(cells, index=values.index, name=values.name, dtype=object)


def is_missing(text: pd.Series) -> npt.NDArray[np.bool_]:
    """Mark the texts that stand for a missing value."""
    return text.isin(MISSING).to_numpy(dtype=bool)


def refuse_missing_text(values: pd.Series, place: Place) -> None:
    """Raise a DataError if a text or numeric column has a missing value."""
    numeric = pd.api.types.is_numeric_dtype(values)
    where = values.isna().to_numpy() if numeric else is_missing(as_text(values))
    _refuse_missing(values, where, place)


def _refuse_text(column: object, where: npt.NDArray[np.bool_], place: Place) -> None:
    if where.any():
        raise DataError(
            f"column {column!r} is not numeric: {place(int(where.argmax()))} is not a number "
            f"({where.sum()} such values in all). Correct it, declare its levels with "
            f"categories={{{column!r}: [...]}}, or leave the column out"
        )


def _refuse_missing(values: pd.Series, where: npt.NDArray[np.bool_], place: Place) -> None:
    if where.any():
        first = int(where.argmax())
        token = _token(as_text(values.iloc[[first]]).iloc[0])
        raise DataError(
            f"column {values.name!r} has no value at {place(first)}{token} ({where.sum()} "
            "missing in all). Rows are never dropped silently: fill the values in, remove those "
            "lines, or leave the column out"
        )


def _refuse_infinite(column: object, where: npt.NDArray[np.bool_], place: Place) -> None:
    if where.any():
        raise DataError(
            f"column {column!r} is infinite at {place(int(where.argmax()))} ({where.sum()} "
            "such values in all): replace them by finite numbers"
        )


def _token(text: str) -> str:
    """Quote the word that was taken for a missing value, such as "?"; nothing for an empty cell."""
    return f", where {text!r} stands for a missing value" if text else ""


def _number_text(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(float(value))
