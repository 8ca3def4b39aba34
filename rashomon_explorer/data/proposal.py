"""Propose a schema from the rows, for a person to correct and confirm."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.containers import check_readable, column_labels
from rashomon_explorer.data.cells import as_text, is_missing, looks_like_dates, read_numbers
from rashomon_explorer.data.column import Column, IgnoredColumn
from rashomon_explorer.data.columns import Categorical, Numeric, YesNo
from rashomon_explorer.data.messages import Bounds, Level, check_unique, quoted, suggestion
from rashomon_explorer.data.schema import TableSchema
from rashomon_explorer.data.tables import cell_reader
from rashomon_explorer.exceptions import DataError

_MOST_LEVELS = 50
_MOST_CLASSES = 20
_FEWEST_ROWS = 50  # with fewer rows, integer measurements may all differ and lie close
_TAILS = (0.05, 0.01, 0.001)  # on each side; later ones if nearly all values are equal


def propose_schema(
    frame: Any,
    *,
    target: str | None = None,
    sensitive: Iterable[str] = (),
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    path: str | os.PathLike[str] | None = None,
) -> TableSchema:
    """Propose a schema from the rows; every data-dependent value is marked.

    It only saves typing: numbers get their minimum and maximum as bounds and the middle nine tenths
    as typical range, text gets its levels. These values are data-dependent, so no guarantee holds
    with the schema until a person has checked them against public knowledge
    (:meth:`TableSchema.declare`, :meth:`TableSchema.confirm`, or the file).

    Parameters
    ----------
    frame : DataFrame of pandas or polars, Arrow table
    target : str, optional
        Column to predict.
    sensitive : iterable of str, default=()
        Columns that no model sees.
    ignore : iterable of str, default=()
        Columns to leave out. Text with more than 50 levels, dates and months, constant columns, and
        integers that number the rows (1, 2, 3, ..., in any order) are always left out.
    categorical : iterable of str, default=()
        Columns whose numbers are codes of levels.
    path : str or path, optional
        A TOML or JSON file to write, for an editor. An existing file is not overwritten.

    Raises
    ------
    DataError
        If a column is not in the table, or the file cannot be written.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20, 44, 90], "home": ["own", "rent", None]})
    >>> propose_schema(frame)  # doctest: +NORMALIZE_WHITESPACE
    TableSchema
      age   numeric 20 to 90, typically 22.4 to 85.4,
            LEARNT, to be confirmed: kind, bounds, typical, missing
      home  yes/no 'own', 'rent', missing: indicator,
            LEARNT, to be confirmed: kind, levels, missing
    """
    check_readable("frame", frame)
    labels = column_labels(frame)
    if labels is None:
        raise DataError(f"a schema is proposed for a DataFrame, got {type(frame).__name__}")
    names = [str(label) for label in labels]
    check_unique(names)
    roles = _roles(names, target, {"sensitive": sensitive, "ignore": ignore})
    codes = _known(names, categorical, "categorical")
    cells = cell_reader(frame)
    columns = [
        _proposed(
            cells(IgnoredColumn(name), label), name, roles.get(name, "feature"), name in codes
        )
        for name, label in zip(names, labels, strict=True)
    ]
    schema = TableSchema(tuple(columns))
    if path is not None:
        schema.save(path)
    return schema


def _known(names: list[str], asked: Any, what: str) -> list[str]:
    if isinstance(asked, str):
        raise DataError(f"{what} must be a list of column names, got the str {asked!r}")
    for name in (found := list(asked)):
        if name not in names:
            raise DataError(
                f"{what} names {name!r}, which is not a column{suggestion(name, names)}; the "
                f"columns are {quoted(names)}"
            )
    return found


def _roles(names: list[str], target: str | None, others: dict[str, Any]) -> dict[str, str]:
    asked = {role: _known(names, given, role) for role, given in others.items()}
    asked["target"] = _known(names, [] if target is None else [target], "target")
    roles: dict[str, str] = {}
    for role, given in asked.items():
        for name in given:
            if name in roles:
                raise DataError(f"column {name!r} is {roles[name]} and {role}: choose one role")
            roles[name] = role
    return roles


def _proposed(cells: pd.Series, name: str, role: str, coded: bool) -> Column:
    if role == "ignore":
        return IgnoredColumn(name)
    absent = is_missing(as_text(cells))
    missing: dict[str, Any] = {"missing": "indicator"} if absent.any() and role == "feature" else {}
    if role == "feature" and not coded and _names_rows(cells[~absent]):
        return IgnoredColumn(name, learnt=("role",))
    if not coded and _is_number(cells[~absent], role):
        return _numeric(cells, name, {"role": role, **missing})
    levels = _levels(cells[~absent])
    dated = not coded and role != "sensitive" and looks_like_dates(cells)
    if len(levels) < 2 or len(levels) > _MOST_LEVELS or dated:
        return IgnoredColumn(name, role="ignore" if role == "feature" else role, learnt=("role",))
    kind = YesNo if len(levels) == 2 else Categorical
    return kind(name, levels, role=role, learnt=("kind", "levels", "missing"), **missing)


def _is_number(present: pd.Series, role: str) -> bool:
    """Whether most values are numbers, with more than two (in a target, many) distinct ones."""
    if pd.api.types.is_bool_dtype(present) or not len(present):
        return False
    numbers, _ = read_numbers(present)
    fewest = _MOST_CLASSES if role == "target" else 2
    return bool(np.isfinite(numbers).mean() > 0.5) and present.nunique() > fewest


def _names_rows(present: pd.Series) -> bool:
    """Whether integers are row identifiers, which are not features."""
    numbers, _ = read_numbers(present)
    if len(numbers) < _FEWEST_ROWS or not np.isfinite(numbers).all():
        return False
    steps = np.diff(np.sort(numbers))
    return bool((numbers % 1 == 0).all() and (steps > 0).all() and np.median(steps) == 1)


def _numeric(cells: pd.Series, name: str, settings: dict[str, Any]) -> Column:
    numbers, _ = read_numbers(cells)
    numbers = numbers[np.isfinite(numbers)]
    low, high = float(numbers.min()), float(numbers.max())
    return Numeric(
        name,
        (low, high),
        typical=_typical(numbers, (low, high)),
        learnt=("kind", "bounds", "typical", "missing"),
        **settings,
    )


def _typical(numbers: FloatArray, bounds: Bounds) -> Bounds | None:
    """Range of most values; None if that is the bounds, or if nearly all values are equal."""
    for tail in _TAILS:
        low, high = (float(end) for end in np.quantile(numbers, [tail, 1 - tail]))
        if low < high:
            return None if (low, high) == bounds else (low, high)
    return None


def _levels(values: pd.Series) -> list[Level]:
    """Distinct values in order, as plain Python: 1.0 in a column with missing values is 1."""
    found: dict[str, Level] = {}
    values = values.drop_duplicates()
    for value, text in zip(values, as_text(values), strict=True):
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, float) and plain.is_integer():
            plain = int(plain)
        found.setdefault(text, plain if isinstance(plain, bool | int | float) else text)
    numbers = all(isinstance(level, int | float) for level in found.values())
    return sorted(found.values()) if numbers else [found[text] for text in sorted(found)]
