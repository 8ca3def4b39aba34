"""The one way from raw columns and a declaration to the Bunch that every loader returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.datasets.checks import check_declaration, undeclared_features
from rashomon_explorer.datasets.declaration import Declaration
from rashomon_explorer.datasets.target import (
    encode_classes,
    encode_numbers,
    infer_task,
    labels_that_occur,
)
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema import Column, Numeric, TableSchema
from rashomon_explorer.schema.cells import (
    as_text,
    level_codes,
    refuse_missing_text,
    say_if_outside,
    to_numbers,
)
from rashomon_explorer.schema.checks import Bounds
from rashomon_explorer.schema.encoding import say_what_was_undeclared
from rashomon_explorer.schema.levels import Levelled
from rashomon_explorer.schema.provenance import labels_unconfirmed
from rashomon_explorer.schema.words import Place, quoted, row_place


def make_bunch(
    frame: pd.DataFrame,
    declared: Declaration,
    *,
    name: str,
    description: str,
    source: str,
    place: Place = row_place,
) -> Bunch:
    """Check a raw table against its declaration and encode it.

    ``place`` names a row in messages. ``classes`` is None for a regression; ``frame`` is the table
    as it was and ``schema`` its declaration, for ``RashomonClassifier(schema=...)``. Labels that
    nobody declared carry a mark there: they were read off the rows.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 90], "repaid": ["no", "yes"]})
    >>> declared = Declaration(target="repaid", bounds={"age": (18, 90)})
    >>> data = make_bunch(frame, declared, name="demo", description="Demo.", source="here")
    >>> data.X["age"].tolist(), data.y.tolist(), data.classes
    ([20.0, 90.0], [0, 1], ['no', 'yes'])
    """
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
        if schema.classes is None:  # read off the rows, and marked so
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
            say_if_outside(column.name, reading.outside, column.bounds)
        undeclared[column.name] = reading.undeclared
        parts.append(pd.DataFrame(column.in_units(reading), columns=list(column.encoded_names)))
        bounds.update(zip(column.encoded_names, column.encoded_bounds, strict=True))
    say_what_was_undeclared(undeclared)
    return pd.concat(parts, axis=1), bounds


def _refuse_strictly(column: Column, cells: pd.Series, place: Place) -> None:
    """Say where a cell is that the declaration refuses; its curator is the one who reads it."""
    if isinstance(column, Levelled) and column.unknown == "refuse":
        level_codes(cells, column.levels, place)
    if isinstance(column, Numeric) and column.missing == "refuse":
        to_numbers(cells, place)
    if column.refused(column.read(cells)):
        refuse_missing_text(cells, place)


def _sensitive(frame: pd.DataFrame, schema: TableSchema, place: Place) -> pd.DataFrame:
    """Sensitive columns as they are; text where levels are declared."""
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
            lines.append("Its labels were read off the rows; a ledger needs declared ones.")
    else:
        lines.append(f"Target {target!r}, clipped to its declared bounds {target_bounds}.")
    lines.append(
        "Some bounds were learnt from the rows: no privacy guarantee holds."
        if schema.leak
        else "Bounds are declared, never learnt from the rows; values outside are clipped."
    )
    return "\n".join(lines)
