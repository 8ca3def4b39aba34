"""Checks that every loader shares: a table and its declaration must agree before rows are used."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rashomon_explorer.datasets.declaration import Declaration
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.checks import check_bounds, check_unique
from rashomon_explorer.schema.table_schema import TableSchema
from rashomon_explorer.schema.tables import find_by_name
from rashomon_explorer.schema.words import quoted, suggestion

TASKS = ("classification", "regression")


def check_declaration(declared: Declaration, columns: Sequence[str], n_rows: int) -> None:
    """Raise unless the declaration fits a table with these columns and this many rows."""
    if declared.given is not None:
        _check_given(declared.given, columns)
    check_unique(columns)
    _check_target(declared, columns)
    check_known(declared.sensitive, columns, "sensitive")
    check_known(declared.bounds, columns, "bounds")
    check_known(declared.categories, columns, "categories")
    _check_roles(declared)
    for column, pair in declared.bounds.items():
        check_bounds(pair, f"bounds of column {column!r}")
    for column, levels in declared.categories.items():
        _check_levels(f"categories of column {column!r}", levels)
    if declared.classes is not None:
        _check_levels(f"classes of target {declared.target!r}", declared.classes)
    _check_task(declared)
    if n_rows < 2:
        raise DataError(
            f"the table has {_count(n_rows, 'row')}, but at least 2 are needed: add rows"
        )
    if not set(columns) - {declared.target, *declared.sensitive}:
        raise DataError(
            f"no feature columns are left beside target {declared.target!r} and "
            f"sensitive {list(declared.sensitive)}: add a column to learn from"
        )


def check_known(names: Iterable[str], columns: Collection[str], role: str) -> None:
    """Raise if a name in an argument called ``role`` is not one of the columns.

    Examples
    --------
    >>> check_known(["agee"], ["age", "income"], "bounds")
    Traceback (most recent call last):
    rashomon_explorer.exceptions.DataError: bounds names 'agee', which is not a column \
(did you mean 'age'?); the columns are 'age', 'income'
    """
    for name in names:
        if name not in columns:
            raise DataError(
                f"{role} names {name!r}, which is not a column{suggestion(name, columns)}; "
                f"the columns are {quoted(columns)}"
            )


def undeclared_features(
    columns: Iterable[str], sensitive: Collection[str], declared: Declaration
) -> list[str]:
    """List the features that have neither bounds nor categories, in column order."""
    if declared.given is not None:
        return []
    known = {declared.target, *sensitive, *declared.bounds, *declared.categories}
    return [column for column in columns if column not in known]


def _check_given(schema: TableSchema, columns: Sequence[str]) -> None:
    find_by_name(schema, columns)
    for column in schema.columns:
        if column.role == "sensitive" and column.name not in columns:
            raise DataError(
                f"the table lacks {column.name!r}, which the schema declares as sensitive"
                f"{suggestion(column.name, columns)}"
            )


def _check_target(declared: Declaration, columns: Sequence[str]) -> None:
    if declared.target not in columns:
        raise DataError(
            f"target column {declared.target!r} is not in the table"
            f"{suggestion(declared.target, columns)}; the columns are {quoted(columns)}"
        )
    roles: Mapping[str, Collection[str]] = {
        "sensitive": declared.sensitive,
        "bounds": declared.bounds,
        "categories": declared.categories,
    }
    for role, names in roles.items():
        if declared.target in names:
            hint = "; a regression target is bounded by target_bounds" if role == "bounds" else ""
            raise DataError(
                f"column {declared.target!r} is the target, so it cannot be in {role}: "
                f"take it out{hint}"
            )


def _check_roles(declared: Declaration) -> None:
    for column in declared.bounds:
        if column in declared.categories:
            raise DataError(
                f"column {column!r} is in bounds and in categories: it is either a number "
                "or a category, so keep one of the two"
            )
        if column in declared.sensitive:
            raise DataError(
                f"column {column!r} is sensitive, so no model sees it: take it out of bounds"
            )


def _check_levels(what: str, levels: Any) -> None:
    if isinstance(levels, str | bytes) or not isinstance(levels, Sequence) or len(levels) < 2:
        raise DataError(f"{what} must be a list of at least 2 levels, got {levels!r}")
    texts = [str(level) for level in levels]
    for level in texts:
        if texts.count(level) > 1:
            raise DataError(f"{what} name level {level!r} twice: keep one")


def _check_task(declared: Declaration) -> None:
    if declared.task not in (None, *TASKS):
        raise DataError(f"task must be one of {quoted(TASKS)}, got {declared.task!r}")
    if declared.classes is not None and (
        declared.task == "regression" or declared.target_bounds is not None
    ):
        raise DataError(
            f"classes are for classification, but target {declared.target!r} is regressed on: "
            "take out classes, or target_bounds and task='regression'"
        )
    if declared.target_bounds is not None:
        check_bounds(declared.target_bounds, "target_bounds")
        if declared.task == "classification":
            raise DataError(
                f"target_bounds is for regression, but task='classification' for target "
                f"{declared.target!r}: take one of them out"
            )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
