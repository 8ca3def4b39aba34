"""Data set of rows, target and schema, with the checks of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.data.cells import (
    as_text,
    level_codes,
    refuse_missing_text,
    to_numbers,
    warn_if_out_of_range,
    within,
)
from rashomon_explorer.data.column import Column, IgnoredColumn
from rashomon_explorer.data.columns import Categorical, Levelled, Numeric
from rashomon_explorer.data.encoder import warn_undeclared_cells
from rashomon_explorer.data.messages import (
    Bounds,
    Place,
    check_bounds,
    check_unique,
    quoted,
    row_place,
    suggestion,
)
from rashomon_explorer.data.schema import TableSchema, labels_unconfirmed
from rashomon_explorer.data.tables import find_by_name
from rashomon_explorer.exceptions import DataError

_STRICT: Mapping[str, Any] = {"missing": "refuse", "unknown": "refuse"}


@dataclass(frozen=True)
class Declaration:
    """Public facts about a table: the part of a data set that is not private."""

    target: str  # column to predict
    # columns that models do not see, used only to compare groups
    sensitive: Sequence[str] = ()
    # range of every numeric feature, from knowledge of the domain. Values outside are clipped.
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    # levels of every categorical column; a feature is encoded as one 0/1 column per level
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # None: inferred from ``target_bounds`` and the target's labels
    task: str | None = None
    positive: Any = None  # class coded 1, all others 0. None keeps the sorted order of the classes.
    target_bounds: Bounds | None = None  # range of a regression target. Values outside are clipped.
    classes: Sequence[Any] | None = None  # every label that may occur, in the order of their codes
    learnt: Sequence[str] = ()  # columns whose bounds were computed from the rows
    complete: TableSchema | None = None  # a complete schema, returned by ``schema``

    @classmethod
    def from_schema(cls, schema: TableSchema, task: str | None, positive: Any) -> "Declaration":
        """Return the declaration of a schema; raise a DataError if it has no target."""
        if schema.target is None:
            raise DataError("the schema has no target: give one of its columns that role")
        bounds, name = schema.target_bounds, schema.target.name
        task = task or ("classification" if schema.classes else None)
        return cls(name, schema.sensitive, {}, {}, task, positive, bounds, complete=schema)

    def schema(self, columns: Iterable[str]) -> TableSchema:
        """Return the schema of a table with these columns."""
        return self.complete or TableSchema([self._column(str(column)) for column in columns])

    def _column(self, name: str) -> Column:
        learnt = ["bounds"] if name in self.learnt else []
        if name == self.target:
            if self.classes is not None:
                return Categorical(name, self.classes, role="target")
            if self.target_bounds is None:
                return IgnoredColumn(name, role="target")
            return Numeric(name, self.target_bounds, role="target", missing="refuse", learnt=learnt)
        role = "sensitive" if name in self.sensitive else "feature"
        if name in self.categories:
            return Categorical(name, self.categories[name], role=role, **_STRICT)
        if role == "sensitive":
            return IgnoredColumn(name, role=role)
        return Numeric(name, self.bounds[name], missing="refuse", learnt=learnt)


TASKS = ("classification", "regression")


def check_declaration(declared: Declaration, columns: Sequence[str], n_rows: int) -> None:
    """Raise unless the declaration fits a table with these columns and this many rows."""
    if declared.complete is not None:
        _check_sensitive_columns(declared.complete, columns)
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
            f"no feature columns are left apart from target {declared.target!r} and "
            f"sensitive {list(declared.sensitive)}: add a column to learn from"
        )


def check_known(names: Iterable[str], columns: Collection[str], role: str) -> None:
    """Raise if a name in an argument called ``role`` is not one of the columns."""
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
    if declared.complete is not None:
        return []
    known = {declared.target, *sensitive, *declared.bounds, *declared.categories}
    return [column for column in columns if column not in known]


def _check_sensitive_columns(schema: TableSchema, columns: Sequence[str]) -> None:
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


MAX_CLASSES = 20
"""Largest number of distinct labels that are treated as classes without a given ``task``."""


def infer_task(labels: pd.Series, declared: Declaration) -> str:
    """Task from the declaration, or from the labels if they determine it."""
    if declared.task is not None:
        return declared.task
    if declared.classes is not None:
        return "classification"
    if declared.target_bounds is not None:
        return "regression"
    distinct = labels.nunique()
    if distinct > MAX_CLASSES:
        raise DataError(
            f"target column {declared.target!r} has more than {MAX_CLASSES} distinct values: "
            "pass target_bounds=(low, high) for regression or task='classification'"
        )
    if pd.api.types.is_float_dtype(labels) and not (labels % 1 == 0).all():
        raise DataError(
            f"target column {declared.target!r} has values that are not whole numbers: "
            "pass target_bounds=(low, high) for regression or task='classification'"
        )
    return "classification"


def encode_classes(
    labels: pd.Series, positive: Any, place: Place, declared: Sequence[Any] | None = None
) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Code class labels as 0, 1, ..."""
    if declared is None:
        refuse_missing_text(labels, place)
        codes, distinct = pd.factorize(labels)
        names = [_label(value) for value in distinct]
        classes = sorted(set(names))
    else:
        codes, names = level_codes(labels, declared, place), list(declared)
        classes = names
    if len(classes) < 2:
        raise DataError(
            f"target column {labels.name!r} is constant: every row has the same label, "
            "so there is nothing to learn; choose another target"
        )
    if positive is None:
        places = np.array([classes.index(label) for label in names], dtype=np.int64)
        return places[codes], classes
    positive_label = _find_class(positive, classes, labels.name)
    others = [label for label in classes if label != positive_label]
    rest = others[0] if len(others) == 1 else f"not {positive_label}"
    positive_codes = np.array([label == positive_label for label in names], dtype=np.int64)[codes]
    return positive_codes, [rest, positive_label]


def labels_that_occur(labels: pd.Series) -> list[Any]:
    """Distinct labels in sorted order; they are data-dependent."""
    return sorted({_label(value) for value in labels.unique()})


def encode_numbers(
    labels: pd.Series, bounds: Any, place: Place
) -> tuple[npt.NDArray[np.float64], tuple[float, float]]:
    """Clip a regression target to its declared bounds."""
    if bounds is None:
        raise DataError(
            f"regression on {labels.name!r} needs target_bounds=(low, high): declare the range "
            "of the target from knowledge of the domain, not from the rows"
        )
    low, high = check_bounds(bounds, "target_bounds")
    values = to_numbers(labels, place)
    if (values == values[0]).all():
        raise DataError(
            f"target column {labels.name!r} is constant: every row has the same value, "
            "so there is nothing to learn; choose another target"
        )
    return within(labels, (low, high), place), (low, high)


def _label(value: Any) -> Any:
    """Plain Python label: whole floats become int, text is stripped."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    return plain.strip() if isinstance(plain, str) else plain


def _find_class(positive: Any, classes: list[Any], column: object) -> Any:
    for label in classes:
        if label == positive or str(label) == str(positive):
            return label
    raise DataError(
        f"positive={positive!r} is not a class of target column {column!r}; "
        f"the classes are {quoted(classes)}"
    )


def make_bunch(
    frame: pd.DataFrame,
    declared: Declaration,
    *,
    name: str,
    description: str,
    source: str,
    place: Place = row_place,
) -> Bunch:
    """Check a raw table against its declaration and encode it."""
    check_declaration(declared, list(frame.columns), len(frame))
    unknown = undeclared_features(frame.columns, declared.sensitive, declared)
    if unknown:
        raise DataError(f"no public bounds or categories are declared for {quoted(unknown)}")
    schema = declared.schema(frame.columns)
    frame = frame.reset_index(drop=True)
    sensitive = _sensitive(frame, schema, place)
    features, bounds = _features(frame, schema, place)
    task = infer_task(frame[declared.target], declared)
    labels: Sequence[Any] | np.ndarray
    if task == "classification":
        labels, classes = encode_classes(
            frame[declared.target], declared.positive, place, schema.classes
        )
        target_bounds = None
        if schema.classes is None:  # data-dependent, and marked as such
            levels = labels_that_occur(frame[declared.target])
            schema = schema.declare(
                declared.target, kind="categorical", levels=levels, learnt=("levels",)
            )
    else:
        if declared.positive is not None:
            raise DataError(
                f"positive={declared.positive!r} is for classification, but target "
                f"{declared.target!r} is regressed on: take it out"
            )
        labels, target_bounds = encode_numbers(
            frame[declared.target], declared.target_bounds, place
        )
        classes = None
    return Bunch(
        name=name,
        X=features,
        y=pd.Series(labels, name=declared.target),
        sensitive=sensitive,
        bounds=bounds,
        bounds_learnt=bool(schema.leak),
        target_bounds=target_bounds,
        task=task,
        classes=classes,
        feature_names=list(features.columns),
        feature_groups=schema.feature_groups,
        schema=schema,
        frame=frame,
        DESCR=_describe(description, schema, classes, target_bounds),
        source=source,
    )


def _features(
    frame: pd.DataFrame, schema: TableSchema, place: Place
) -> tuple[pd.DataFrame, dict[str, Bounds]]:
    """Encode numbers and levels in their own units, in the schema's order."""
    parts: list[pd.DataFrame] = []
    bounds: dict[str, Bounds] = {}
    undeclared = {}
    for column in schema.features:
        cells = frame[column.name]
        _refuse_strictly(column, cells, place)
        reading = column.read(cells)
        if isinstance(column, Numeric):
            warn_if_out_of_range(column.name, reading.outside, column.bounds)
        undeclared[column.name] = reading.undeclared
        parts.append(pd.DataFrame(column.in_units(reading), columns=list(column.encoded_names)))
        bounds.update(zip(column.encoded_names, column.encoded_bounds, strict=True))
    warn_undeclared_cells(undeclared)
    return pd.concat(parts, axis=1), bounds


def _refuse_strictly(column: Column, cells: pd.Series, place: Place) -> None:
    """Raise an error that locates a refused cell; the curator, who may see the rows, reads it."""
    if isinstance(column, Levelled) and column.unknown == "refuse":
        level_codes(cells, column.levels, place)
    if isinstance(column, Numeric) and column.missing == "refuse":
        to_numbers(cells, place)
    if column.refused(column.read(cells)):
        refuse_missing_text(cells, place)


def _sensitive(frame: pd.DataFrame, schema: TableSchema, place: Place) -> pd.DataFrame:
    """Return sensitive columns unchanged, or as text if levels are declared."""
    columns: dict[str, pd.Series] = {}
    for column in schema.columns:
        if column.role != "sensitive":
            continue
        values = frame[column.name]
        if isinstance(column, Levelled):
            _refuse_strictly(column, values, place)
            values = as_text(values)
        refuse_missing_text(values, place)
        columns[column.name] = values
    return pd.DataFrame(columns, index=frame.index)


def _describe(
    description: str, schema: TableSchema, classes: list[Any] | None, target_bounds: Bounds | None
) -> str:
    target = schema.target.name if schema.target is not None else ""
    lines = [description.strip(), ""]
    if classes is not None:
        coded = ", ".join(f"{code} = {label}" for code, label in enumerate(classes))
        lines.append(f"Target {target!r}, coded {coded}.")
        if labels_unconfirmed(schema):
            lines.append("Its labels were inferred from the rows; a ledger needs declared ones.")
    else:
        lines.append(f"Target {target!r}, clipped to its declared bounds {target_bounds}.")
    lines.append(
        "Some bounds were computed from the rows: no privacy guarantee holds."
        if schema.leak
        else "Bounds are declared, never computed from the rows; values outside are clipped."
    )
    return "\n".join(lines)
