"""The column to predict: class codes, or numbers inside declared bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rashomon_explorer.datasets.declaration import Declaration
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.cells import level_codes, refuse_missing_text, to_numbers, within
from rashomon_explorer.schema.checks import check_bounds
from rashomon_explorer.schema.words import Place, quoted

MAX_CLASSES = 20
"""More distinct labels than this are not taken for classes unless ``task`` says so."""


def infer_task(labels: pd.Series, declared: Declaration) -> str:
    """Task from the declaration; from the labels only where they leave no doubt.

    ``declared.task`` wins, then ``classes`` and ``target_bounds``; more than 20 labels, or
    fractions, leave doubt.

    >>> import pandas as pd
    >>> infer_task(pd.Series(["no", "yes"]), Declaration(target="repaid"))
    'classification'
    """
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
    """Code class labels as 0, 1, ...

    ``positive`` is coded 1 against all the others; None codes the labels in turn: the declared
    ones as they are listed, or those that occur, sorted.

    >>> import pandas as pd
    >>> encode_classes(pd.Series(["b", "a", "c"], name="kind"), "c", str)
    (array([0, 0, 1]), ['not c', 'c'])
    """
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
    chosen = _find_class(positive, classes, labels.name)
    others = [label for label in classes if label != chosen]
    rest = others[0] if len(others) == 1 else f"not {chosen}"
    chosen_codes = np.array([label == chosen for label in names], dtype=np.int64)[codes]
    return chosen_codes, [rest, chosen]


def labels_that_occur(labels: pd.Series) -> list[Any]:
    """Different labels, in order; they are read off the rows.

    Examples
    --------
    >>> labels_that_occur(pd.Series([1.0, 0.0, 1.0]))
    [0, 1]
    """
    return sorted({_label(value) for value in labels.unique()})


def encode_numbers(
    labels: pd.Series, bounds: Any, place: Place
) -> tuple[npt.NDArray[np.float64], tuple[float, float]]:
    """Clip a regression target into its declared bounds.

    >>> import pandas as pd
    >>> encode_numbers(pd.Series([5, 300], name="progress"), (0, 350), str)
    (array([  5., 300.]), (0.0, 350.0))
    """
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
