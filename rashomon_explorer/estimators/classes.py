"""Classes of a target: declared, or found in the labels and then treated as public."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.schema import labels_unconfirmed

LABELS_ARE_PUBLIC = "the labels that occur in y are public"
"""Assumption of guarantees when the classes are read from the rows."""

CLASSES_BEFORE_LABELS = (
    "the ledger is charged before a label is read, so the classes must be declared: "
    "classes=[...] with every label that may occur, or a schema whose target has levels"
)


def known_classes(classes: ArrayLike | None, schema: TableSchema | None) -> NDArray[Any] | None:
    """Return the labels declared by ``classes`` or by the schema's target, or None."""
    if schema is not None and schema.target_bounds is not None:
        raise ValueError(
            f"the schema's target {schema.target.name!r} is a number: draw with "  # type: ignore[union-attr]
            "RashomonRegressor or fit a DPRegressor, or declare its levels"
        )
    return agreed_classes(classes, schema)


def agreed_classes(classes: ArrayLike | None, schema: TableSchema | None) -> NDArray[Any] | None:
    """Return the sorted declared labels; raise if ``classes`` and the schema disagree."""
    levels = None if schema is None else schema.classes
    of_schema = None if levels is None else declared_classes(levels)
    if classes is None:
        return of_schema
    known = declared_classes(classes)
    if labels_unconfirmed(schema):  # an explicit declaration overrides levels found in the rows
        return known
    if of_schema is not None and known.tolist() != of_schema.tolist():
        raise ValueError(
            f"classes are {known.tolist()} and the schema's target has {of_schema.tolist()}: "
            "leave classes out"
        )
    return known


def classes_found(classes: ArrayLike | None, schema: TableSchema | None) -> bool:
    """Whether the classes come from labels, in ``y`` or in a schema proposed from rows."""
    if classes is not None:
        return False
    return schema is None or schema.classes is None or labels_unconfirmed(schema)


def check_charged_classes(classes: ArrayLike | None, schema: TableSchema | None) -> None:
    """Raise if classes were found in the rows and a ledger is to be charged."""
    if not classes_found(classes, schema):
        return
    if schema is None or schema.target is None or not labels_unconfirmed(schema):
        raise ValueError(CLASSES_BEFORE_LABELS)
    if schema.leak:
        return
    name = schema.target.name
    raise ValueError(
        f"{CLASSES_BEFORE_LABELS}. The levels of {name!r} in this schema were read off the rows: "
        f"if they are public knowledge, confirm them, schema.confirm({name!r})"
    )


def declared_classes(classes: ArrayLike) -> NDArray[Any]:
    """Sort declared labels, as scikit-learn does."""
    labels = np.asarray(classes)
    one_kind = labels.ndim == 1 and labels.dtype.kind in "biufUS"
    if not one_kind or labels.tolist() != list(classes):  # type: ignore[arg-type]
        raise ValueError(f"classes must be labels of one kind, text or numbers, got {classes!r}")
    distinct = np.unique(labels)
    if len(distinct) < 2 or len(distinct) < len(labels):
        raise ValueError(f"classes must be at least two labels, each named once, got {classes!r}")
    return distinct


CLASSES_OF_BLOCKS = (
    "chunked rows are not read to find the classes: declare them, classes=[...], or in a schema"
)


def check_labels(y: NDArray[Any]) -> None:
    """Raise if ``y`` is no classification target, or has labels that cannot be sorted."""
    try:
        check_classification_targets(y)
    except TypeError as error:
        raise ValueError(
            "y holds labels of several types, such as None and text: drop such rows, or convert "
            "all labels to text"
        ) from error


def found_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Sorted distinct labels of ``y``."""
    check_labels(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class, {classes.tolist()[0]!r}: two classes are needed. If others could "
            "occur, declare them all: classes=[...]"
        )
    return classes


def class_codes(y: NDArray[Any], classes: NDArray[Any]) -> FloatArray:
    """Codes 0, 1, … of labels (n,) in the order of ``classes``, as floats for the loss."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    labels, rows = np.unique(y, return_inverse=True)
    strange = [label for label in labels.tolist() if label not in place]
    if strange:
        raise ValueError(
            f"y holds {strange[0]!r}, which is not among the declared classes {[*place]}: declare "
            "it, or leave its rows out"
        )
    codes = np.array([place[label] for label in labels.tolist()], dtype=float)
    return codes[rows.reshape(-1)]
