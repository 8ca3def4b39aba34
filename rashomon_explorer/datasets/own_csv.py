"""Your own CSV: rows of yours, bounds declared by you."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.datasets.bunch import make_bunch
from rashomon_explorer.datasets.checks import (
    check_declaration,
    check_known,
    undeclared_features,
)
from rashomon_explorer.datasets.declaration import Declaration
from rashomon_explorer.datasets.source import CsvSource, read_text
from rashomon_explorer.datasets.table import parse_csv
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.leaks import mark
from rashomon_explorer.schema import TableSchema
from rashomon_explorer.schema.cells import to_numbers
from rashomon_explorer.schema.checks import Bounds
from rashomon_explorer.schema.encoder import warn_of_unconfirmed
from rashomon_explorer.schema.levels import Levelled
from rashomon_explorer.schema.words import Place, quoted
from rashomon_explorer.users_line import users_line


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
    learn_bounds: bool = False,
    drop: Sequence[str] = (),
    name: str | None = None,
) -> Bunch:
    r"""Load a UTF-8 file with a header, separated by commas, semicolons, tabs or bars.

    Which of them is seen from the first lines. Where it is not commas, ``1,5`` is one and a half.

    Every feature needs a public declaration: a numeric one its ``bounds``, a categorical one its
    ``categories``. A value outside the declared bounds is clipped to the nearer bound; that is
    not an error, because complaining about it would tell something about the rows.

    Parameters
    ----------
    source : path, bytes or file object
        An upload's bytes do.
    target : str
        Column to predict.
    sensitive : sequence of str
        Columns, numbers or text, put in ``sensitive`` and kept out of ``X``.
    bounds : dict of str to (float, float)
        Range of every numeric feature, from knowledge of the domain.
    categories : dict of str to sequence
        Levels of every categorical feature: one 0/1 column ``"column=level"`` each. A sensitive
        column may have levels too; they are then checked.
    task : {"classification", "regression"}, optional
        By default regression if ``target_bounds`` is given; otherwise classification, provided
        that the target has at most 20 distinct labels, all text or whole numbers.
    positive : object, optional
        Class coded 1, all others 0. By default the classes are coded in sorted order.
    target_bounds : (float, float), optional
        Range of a regression target; values outside are clipped.
    classes : sequence, optional
        Every label of the target that may occur, in the order of their codes; any other is
        refused. Without them the labels are read off the rows: the target carries that mark in
        ``schema``, each guarantee states that the labels that occur are public, and an estimator
        with a ledger, or the page, asks for declared or confirmed ones.
    schema : TableSchema, str or path, optional
        The whole declaration, or its file, in place of ``target``, ``sensitive``, ``bounds``,
        ``categories``, ``target_bounds`` and ``classes``. What it says of missing values and
        unknown levels is done; without it both are refused.
    learn_bounds : bool, default=False
        Take bounds that are not declared from the smallest and largest value. This reads the
        rows: no privacy guarantee holds then.
    drop : sequence of str
        Columns left out altogether, such as identifiers.
    name : str, optional
        By default the file's name without its ending, or "csv".

    Returns
    -------
    sklearn.utils.Bunch
        As :func:`load_dataset` returns; ``bounds_learnt`` is True if any bound was learnt.

    Raises
    ------
    DataError
        Naming the column or the file line (from 1) that is wrong, and what to do.

    Warns
    -----
    PrivacyLeakWarning
        If a bound was learnt from the rows.
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
    said = {
        "target": target,
        "sensitive": _names(sensitive, "sensitive"),
        "bounds": _mapping(bounds, "bounds"),
        "categories": _mapping(categories, "categories"),
        "target_bounds": target_bounds,
        "classes": classes,
    }
    declared = _declared(said, schema, task, positive, learn_bounds)
    table = parse_csv(read_text(source), text_columns=_of_levels(declared))
    dropped = _names(drop, "drop")
    check_known(dropped, list(table.frame.columns), "drop")
    frame = table.frame.drop(columns=list(dropped))
    check_declaration(declared, list(frame.columns), len(frame))
    if learn_bounds:
        declared = _learn(frame, declared, table.place)
    _refuse_undeclared(frame, declared)
    data = make_bunch(
        frame,
        declared,
        name=name or _name(source),
        description=f"Rows of a CSV file{', ' * bool(table.written)}{table.written}, declared by "
        "the user.",
        source="your own CSV",
        place=table.place,
    )
    if data.bounds_learnt:
        for part in (data.X, data.y):
            mark(part, "bounds were learnt from the rows")
        _warn(declared)
    return data


def _refuse_undeclared(frame: pd.DataFrame, declared: Declaration) -> None:
    """Say which declarations are absent, with a skeleton that shows no value of the rows."""
    unknown = undeclared_features(frame.columns, declared.sensitive, declared)
    if not unknown:
        return
    numeric = [column for column in unknown if _looks_numeric(frame[column])]
    text = [column for column in unknown if column not in numeric]
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
    raise DataError("\n".join(parts) + f"\nor leave a column out: drop={unknown[:1]!r}")


def _warn(declared: Declaration) -> None:
    if declared.given is not None:
        warn_of_unconfirmed(declared.given)
        return
    warnings.warn(
        f"the bounds of {quoted(declared.learnt)} were learnt from the rows, so that no privacy "
        "guarantee holds; declare them from knowledge of the domain instead",
        PrivacyLeakWarning,
        stacklevel=users_line(),
    )


def _declared(
    said: Mapping[str, Any], schema: Any, task: str | None, positive: Any, learn_bounds: bool
) -> Declaration:
    if schema is None:
        if said["target"] is None:
            raise DataError("name the column to predict, target=..., or give a schema that does")
        return Declaration(**said, task=task, positive=positive)
    beside = [name for name, value in {**said, "learn_bounds": learn_bounds}.items() if value]
    if beside:
        raise DataError(f"the schema says all of it: take {', '.join(beside)} out")
    return Declaration.of_schema(TableSchema.of(schema), task, positive)


def _of_levels(declared: Declaration) -> list[str]:
    """Columns whose text is compared with levels, so that 01 must not become 1."""
    if declared.given is None:
        labels = [] if declared.classes is None else [declared.target]
        return [*declared.categories, *labels]
    return [column.name for column in declared.given.columns if isinstance(column, Levelled)]


def _learn(frame: pd.DataFrame, declared: Declaration, place: Place) -> Declaration:
    """Fill in the bounds that are not declared from the rows."""
    unknown = undeclared_features(frame.columns, declared.sensitive, declared)
    numeric = [column for column in unknown if _looks_numeric(frame[column])]
    learnt = {column: _range(frame[column], place) for column in numeric}
    declared = replace(declared, bounds={**declared.bounds, **learnt})
    if declared.task == "regression" and declared.target_bounds is None:
        pair = _range(frame[declared.target], place)
        learnt = {**learnt, declared.target: pair}
        declared = replace(declared, target_bounds=pair)
    return replace(declared, learnt=tuple(learnt))


def _range(values: pd.Series, place: Place) -> Bounds:
    numbers = to_numbers(values, place)
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        raise DataError(
            f"column {values.name!r} is constant, so that no bounds can be learnt: declare them, "
            f"or leave it out with drop=[{values.name!r}]"
        )
    return low, high


def _looks_numeric(values: pd.Series) -> bool:
    """Whether a column is one of numbers, be it with missing or spoilt values here and there."""
    if pd.api.types.is_numeric_dtype(values):
        return True
    return bool(pd.to_numeric(values, errors="coerce").notna().mean() > 0.5)


def _names(names: Any, role: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise DataError(f"{role} must be a list of column names, got the str {names!r}")
    return tuple(names)


def _mapping(pairs: Any, role: str) -> Mapping[str, Any]:
    if pairs is None:
        return {}
    if not isinstance(pairs, Mapping):
        raise DataError(f"{role} must be a dict with a column a key, got {type(pairs).__name__}")
    return pairs


def _name(source: CsvSource) -> str:
    return Path(source).stem if isinstance(source, str | os.PathLike) else "csv"
