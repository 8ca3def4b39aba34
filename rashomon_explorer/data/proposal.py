"""Propose a schema from the rows, for a person to correct and confirm."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rashomon_explorer._utils.containers import check_readable, column_labels
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.data.cells import ColumnSample
from rashomon_explorer.data.columns import KINDS, Column, IgnoredColumn
from rashomon_explorer.data.encoder import cell_reader
from rashomon_explorer.data.messages import check_unique, listed_columns
from rashomon_explorer.data.schema import TableSchema
from rashomon_explorer.exceptions import DataError


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
        A TOML file to write, for an editor. An existing file is not overwritten.

    Raises
    ------
    DataError
        If a column is not in the table, or the file cannot be written.

    Examples
    --------
    >>> import pandas as pd
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
    codes = listed_columns(categorical, "categorical", names)
    cells = cell_reader(frame)
    columns = [
        _proposed(
            ColumnSample(
                name,
                cells(IgnoredColumn(name), label),
                role=roles.get(name, "feature"),
                coded=name in codes,
            )
        )
        for name, label in progress(list(zip(names, labels, strict=True)), "columns")
    ]
    schema = TableSchema(tuple(columns))
    if path is not None:
        schema.save(path)
    return schema


def _roles(names: list[str], target: str | None, by_role: dict[str, Any]) -> dict[str, str]:
    columns = {role: listed_columns(listed, role, names) for role, listed in by_role.items()}
    columns["target"] = listed_columns([] if target is None else [target], "target", names)
    roles: dict[str, str] = {}
    for role, listed in columns.items():
        for name in listed:
            if name in roles:
                raise DataError(f"column {name!r} is {roles[name]} and {role}: choose one role")
            roles[name] = role
    return roles


def _proposed(sample: ColumnSample) -> Column:
    """Return the declaration of the first kind that fits; a feature that none fits is ignored."""
    if sample.role == "ignore":
        return IgnoredColumn(sample.name)
    proposals = (kind.propose(sample) for kind in KINDS.values())
    role = "ignore" if sample.role == "feature" else sample.role
    ignored = IgnoredColumn(sample.name, role=role, learnt=("role",))
    return next((column for column in proposals if column is not None), ignored)
