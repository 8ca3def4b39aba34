"""The one way from raw columns and a declaration to the Bunch that every loader returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.datasets.checks import (
    Place,
    check_declaration,
    check_unique,
    quoted,
    row_place,
    undeclared_features,
)
from rashomon_explorer.datasets.columns import (
    as_text,
    level_codes,
    one_hot,
    refuse_missing_text,
    within,
)
from rashomon_explorer.datasets.declaration import Bounds, Declaration
from rashomon_explorer.datasets.target import encode_classes, encode_numbers, infer_task
from rashomon_explorer.exceptions import DataError


def make_bunch(
    frame: pd.DataFrame,
    declared: Declaration,
    *,
    name: str,
    description: str,
    source: str,
    bounds_learnt: bool = False,
    place: Place = row_place,
) -> Bunch:
    """Check a raw table against its declaration and encode it.

    ``bounds_learnt`` says that some bounds were read off the rows, which voids every guarantee;
    ``place`` names a row in messages. ``classes`` is None for a regression.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 90], "repaid": ["no", "yes"]})
    >>> declared = Declaration(target="repaid", bounds={"age": (18, 90)})
    >>> data = make_bunch(frame, declared, name="demo", description="Demo.", source="here")
    >>> data.X["age"].tolist(), data.y.tolist(), data.classes
    ([20.0, 90.0], [0, 1], ['no', 'yes'])
    """
    check_declaration(declared, list(frame.columns), len(frame))
    frame = frame.reset_index(drop=True)
    sensitive = _sensitive(frame, declared, place)
    features, bounds, groups = _features(frame, declared, place)
    task = infer_task(frame[declared.target], declared)
    labels: Sequence[Any] | np.ndarray
    if task == "classification":
        labels, classes = encode_classes(frame[declared.target], declared.positive, place)
        target_bounds = None
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
        bounds_learnt=bounds_learnt,
        target_bounds=target_bounds,
        task=task,
        classes=classes,
        feature_names=list(features.columns),
        feature_groups=groups,
        DESCR=_describe(description, declared.target, classes, target_bounds, bounds_learnt),
        source=source,
    )


def _features(
    frame: pd.DataFrame, declared: Declaration, place: Place
) -> tuple[pd.DataFrame, dict[str, Bounds], dict[str, tuple[str, ...]]]:
    """Encode numbers and levels, in the table's order; say which columns are one feature."""
    unknown = undeclared_features(frame.columns, declared.sensitive, declared)
    if unknown:
        raise DataError(f"no public bounds or categories are declared for {quoted(unknown)}")
    parts: list[pd.DataFrame] = []
    bounds: dict[str, Bounds] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for column in frame.columns:
        if column == declared.target or column in declared.sensitive:
            continue
        if column in declared.categories:
            part = one_hot(frame[column], declared.categories[column], place)
            bounds.update(dict.fromkeys(part.columns, (0.0, 1.0)))
            groups[str(column)] = tuple(part.columns)
        else:
            low, high = (float(end) for end in declared.bounds[column])
            part = pd.DataFrame({column: within(frame[column], (low, high), place)})
            bounds[column] = (low, high)
        parts.append(part)
    features = pd.concat(parts, axis=1)
    check_unique(features.columns)
    return features, bounds, groups


def _sensitive(frame: pd.DataFrame, declared: Declaration, place: Place) -> pd.DataFrame:
    """Sensitive columns as they are; text where levels are declared."""
    columns: dict[str, pd.Series] = {}
    for column in declared.sensitive:
        values = frame[column]
        if column in declared.categories:
            level_codes(values, declared.categories[column], place)
            values = as_text(values)
        refuse_missing_text(values, place)
        columns[column] = values
    return pd.DataFrame(columns, index=frame.index)


def _describe(
    description: str,
    target: str,
    classes: list[Any] | None,
    target_bounds: Bounds | None,
    bounds_learnt: bool,
) -> str:
    lines = [description.strip(), ""]
    if classes is not None:
        coded = ", ".join(f"{code} = {label}" for code, label in enumerate(classes))
        lines.append(f"Target {target!r}, coded {coded}.")
    else:
        lines.append(f"Target {target!r}, clipped to its declared bounds {target_bounds}.")
    lines.append(
        "Some bounds were learnt from the rows: no privacy guarantee holds."
        if bounds_learnt
        else "Bounds are declared, never learnt from the rows; values outside are clipped."
    )
    return "\n".join(lines)
