"""Data set of rows, target and schema, with the checks of them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.data import cells, messages
from rashomon_explorer.data.columns import Categorical, Column, IgnoredColumn, Levelled, Numeric
from rashomon_explorer.data.encoder import find_by_name, warn_undeclared_cells
from rashomon_explorer.data.schema import TableSchema, labels_unconfirmed
from rashomon_explorer.exceptions import DataError

TASKS = ("classification", "regression")
MAX_CLASSES = 20
"""Largest number of distinct labels that are treated as classes without a given ``task``."""


def declared_schema(
    target: str,
    sensitive: Sequence[str] = (),
    bounds: Mapping[str, messages.Bounds] | None = None,
    categories: Mapping[str, Sequence[Any]] | None = None,
    target_bounds: messages.Bounds | None = None,
    classes: Sequence[Any] | None = None,
) -> TableSchema:
    """Return the schema of the columns that a loader's arguments name; it refuses missing cells."""
    bounds, categories = bounds or {}, categories or {}
    uses: dict[str, Iterable[str]] = {"target": [target], "sensitive": sensitive}
    uses |= {"bounds": bounds, "categories": categories}
    for (first_use, names), (second_use, second_names) in combinations(uses.items(), 2):
        both = [name for name in names if name in second_names]
        if both and (first_use, second_use) != ("sensitive", "categories"):
            hint = "; a regression target is bounded by target_bounds"
            raise DataError(
                f"column {both[0]!r} is in {first_use} and in {second_use}: take it out of one of "
                f"the two{hint * ((first_use, second_use) == ('target', 'bounds'))}"
            )
    strict: dict[str, Any] = {"missing": "refuse", "unknown": "refuse"}
    roles = {name: "sensitive" if name in sensitive else "feature" for name in categories}
    columns: list[Column] = [_target_column(target, target_bounds, classes)]
    columns += (Categorical(name, categories[name], role=roles[name], **strict) for name in roles)
    columns += (Numeric(name, pair, missing="refuse") for name, pair in bounds.items())
    unlevelled = [name for name in sensitive if name not in categories]
    return TableSchema([*columns, *(IgnoredColumn(name, role="sensitive") for name in unlevelled)])


def _target_column(
    name: str, bounds: messages.Bounds | None, classes: Sequence[Any] | None
) -> Column:
    if bounds is not None and classes is not None:
        raise DataError(
            f"classes are for classification, but target {name!r} is regressed on: take out "
            "classes, or target_bounds"
        )
    if classes is not None:
        return Categorical(name, classes, role="target")
    if bounds is not None:
        return Numeric(name, bounds, role="target", missing="refuse")
    return IgnoredColumn(name, role="target")


def check_columns(schema: TableSchema, columns: Sequence[str]) -> None:
    """Raise unless a table with these columns has all that the schema declares."""
    for column in schema.columns:
        if column.role != "ignore" and column.name not in columns:
            raise DataError(
                f"the table lacks {column.name!r}, which is declared as {column.role}"
                f"{messages.suggestion(column.name, columns)}; it has {messages.quoted(columns)}"
            )


def infer_task(labels: pd.Series, schema: TableSchema, task: str | None) -> str:
    """Task as given, else from the declared target, else from labels that determine it."""
    declared = "classification" if schema.classes else "regression" if schema.target_bounds else ""
    if task is not None:
        messages.check_among(task, TASKS, "task")
        if declared and task != declared:
            raise DataError(
                f"task={task!r}, but target {labels.name!r} is declared for {declared}: take out "
                "one of them"
            )
    if task or declared:
        return task or declared
    wrong = ""
    if labels.nunique() > MAX_CLASSES:
        wrong = f"more than {MAX_CLASSES} distinct values"
    elif pd.api.types.is_float_dtype(labels) and not (labels % 1 == 0).all():
        wrong = "values that are not whole numbers"
    if wrong:
        raise DataError(
            f"target column {labels.name!r} has {wrong}: pass target_bounds=(low, high) for "
            "regression or task='classification'"
        )
    return "classification"


def encode_classes(
    labels: pd.Series, classes: Sequence[Any], positive: Any, row_name: messages.RowName
) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Code class labels as 0, 1, ...; or the positive class as 1 and all others as 0."""
    codes = cells.level_codes(labels, classes, row_name).astype(np.int64)
    if positive is None:
        return codes, list(classes)
    positive_codes = [k for k, label in enumerate(classes) if str(label) == str(positive)]
    if not positive_codes:
        raise DataError(
            f"positive={positive!r} is not a class of target column {labels.name!r}; "
            f"the classes are {messages.quoted(classes)}"
        )
    positive_class = classes[positive_codes[0]]
    negative_classes = [label for label in classes if label != positive_class]
    rest = negative_classes[0] if len(negative_classes) == 1 else f"not {positive_class}"
    return (codes == positive_codes[0]).astype(np.int64), [rest, positive_class]


def labels_that_occur(labels: pd.Series, row_name: messages.RowName) -> list[Any]:
    """Distinct labels in sorted order; they are data-dependent."""
    cells.refuse_missing_text(labels, row_name)
    labels_found = sorted({_label(value) for value in labels.unique()})
    if len(labels_found) < 2:
        raise _constant(labels, "label")
    return labels_found


def encode_numbers(
    labels: pd.Series, bounds: messages.Bounds | None, row_name: messages.RowName
) -> npt.NDArray[np.float64]:
    """Clip a regression target to its declared bounds."""
    if bounds is None:
        raise DataError(
            f"regression on {labels.name!r} needs target_bounds=(low, high): declare the range "
            "of the target from knowledge of the domain, not from the rows"
        )
    values = cells.to_numbers(labels, row_name)
    if (values == values[0]).all():
        raise _constant(labels, "value")
    clipped = np.clip(values, *bounds)
    cells.warn_if_out_of_range(labels.name, values != clipped, bounds)
    return clipped


def _constant(labels: pd.Series, what: str) -> DataError:
    return DataError(
        f"target column {labels.name!r} is constant: every row has the same {what}, so there is "
        "nothing to learn; choose another target"
    )


def _label(value: Any) -> Any:
    """Plain Python label: whole floats become int, text is stripped."""
    label = value.item() if isinstance(value, np.generic) else value
    if isinstance(label, float) and label.is_integer():
        return int(label)
    return label.strip() if isinstance(label, str) else label


def make_bunch(
    frame: pd.DataFrame,
    schema: TableSchema,
    *,
    task: str | None = None,
    positive: Any = None,
    name: str,
    description: str,
    source: str,
    row_name: messages.RowName = messages.numbered_row,
) -> Bunch:
    """Check a raw table against its schema and encode it."""
    if schema.target is None:
        raise DataError("the schema has no target: give one of its columns that role")
    check_columns(schema, list(frame.columns))
    find_by_name(schema, list(frame.columns))
    if len(frame) < 2:
        raise DataError(f"the table has {len(frame)} row(s), but at least 2 are needed: add rows")
    frame, target = frame.reset_index(drop=True), schema.target.name
    sensitive = _sensitive(frame, schema, row_name)
    features, bounds = _features(frame, schema, row_name)
    task = infer_task(frame[target], schema, task)
    labels: np.ndarray
    classes = None
    if task == "classification":
        if schema.classes is None:  # data-dependent, and marked as such
            levels = labels_that_occur(frame[target], row_name)
            schema = schema.declare(target, kind="categorical", levels=levels, learnt=("levels",))
        labels, classes = encode_classes(frame[target], schema.classes or (), positive, row_name)
    elif positive is not None:
        raise DataError(
            f"positive={positive!r} is for classification, but target {target!r} is regressed on: "
            "take it out"
        )
    else:
        labels = encode_numbers(frame[target], schema.target_bounds, row_name)
    return Bunch(
        name=name,
        X=features,
        y=pd.Series(labels, name=target),
        sensitive=sensitive,
        bounds=bounds,
        bounds_learnt=bool(schema.leak),
        target_bounds=schema.target_bounds,
        task=task,
        classes=classes,
        feature_names=list(features.columns),
        feature_groups=schema.feature_groups,
        schema=schema,
        frame=frame,
        DESCR=_describe(description, schema, classes),
        source=source,
    )


def _features(
    frame: pd.DataFrame, schema: TableSchema, row_name: messages.RowName
) -> tuple[pd.DataFrame, dict[str, messages.Bounds]]:
    """Encode numbers and levels in their own units, in the schema's order."""
    parts: list[pd.DataFrame] = []
    bounds: dict[str, messages.Bounds] = {}
    undeclared = {}
    for column in schema.features:
        _refuse_strictly(column, frame[column.name], row_name)
        reading = column.read(frame[column.name])
        if isinstance(column, Numeric):
            cells.warn_if_out_of_range(column.name, reading.outside, column.bounds)
        undeclared[column.name] = reading.undeclared
        parts.append(pd.DataFrame(column.in_units(reading), columns=list(column.encoded_names)))
        bounds.update(zip(column.encoded_names, column.encoded_bounds, strict=True))
    warn_undeclared_cells(undeclared)
    return pd.concat(parts, axis=1), bounds


def _refuse_strictly(column: Column, values: pd.Series, row_name: messages.RowName) -> None:
    """Raise an error that locates a refused cell; the curator, who may see the rows, reads it."""
    if isinstance(column, Levelled) and column.unknown == "refuse":
        cells.level_codes(values, column.levels, row_name)
    if isinstance(column, Numeric) and column.missing == "refuse":
        cells.to_numbers(values, row_name)
    if column.refused(column.read(values)):
        cells.refuse_missing_text(values, row_name)


def _sensitive(
    frame: pd.DataFrame, schema: TableSchema, row_name: messages.RowName
) -> pd.DataFrame:
    """Return sensitive columns unchanged, or as text if levels are declared."""
    columns: dict[str, pd.Series] = {}
    for column in schema.columns:
        if column.role != "sensitive":
            continue
        values = frame[column.name]
        if isinstance(column, Levelled):
            _refuse_strictly(column, values, row_name)
            values = cells.as_text(values)
        cells.refuse_missing_text(values, row_name)
        columns[column.name] = values
    return pd.DataFrame(columns, index=frame.index)


def _describe(description: str, schema: TableSchema, classes: list[Any] | None) -> str:
    target = schema.target.name if schema.target is not None else ""
    lines = [description.strip(), ""]
    if classes is not None:
        coded = ", ".join(f"{code} = {label}" for code, label in enumerate(classes))
        lines.append(f"Target {target!r}, coded {coded}.")
        if labels_unconfirmed(schema):
            lines.append("Its labels were inferred from the rows; a ledger needs declared ones.")
    else:
        lines.append(f"Target {target!r}, clipped to its declared bounds {schema.target_bounds}.")
    lines.append(
        "Some bounds were computed from the rows: no privacy guarantee holds."
        if schema.leak
        else "Bounds are declared, never computed from the rows; values outside are clipped."
    )
    return "\n".join(lines)
