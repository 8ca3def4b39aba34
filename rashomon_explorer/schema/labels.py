"""Labels of a target as its schema writes them."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.cells import as_text, cell_text
from rashomon_explorer.schema.table_schema import TableSchema


def declared_labels(schema: TableSchema, y: Any) -> NDArray[Any]:
    """Labels as the schema writes them: 1.0 or "1" in the table is its level 1.

    Parameters
    ----------
    schema : TableSchema
        Its target has levels.
    y : array-like of shape (n,)

    Raises
    ------
    DataError
        If a label is not among them.

    Examples
    --------
    >>> from rashomon_explorer.schema import YesNo
    >>> declared_labels(TableSchema([YesNo("repaid", (0, 1), role="target")]), ["1", 0.0])
    array([1, 0])
    """
    classes = schema.classes or ()
    levels = np.asarray(classes)
    place = {cell_text(level): code for code, level in enumerate(classes)}
    given = np.asarray(y) if hasattr(y, "dtype") else np.asarray(y, dtype=object)
    text = as_text(pd.Series(given.reshape(-1)))
    codes, words = pd.factorize(text)
    if strange := [word for word in words if word not in place]:
        raise DataError(
            f"y holds {strange[0]!r}, which is not among the declared classes {[*classes]}: "
            "declare it, or leave its rows out"
        )
    found = np.array([place[word] for word in words], dtype=int)
    return np.asarray(levels[found[codes]])
