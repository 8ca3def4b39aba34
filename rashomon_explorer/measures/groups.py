"""Which rows belong to which group."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import Mask


def group_masks(groups: ArrayLike | pd.Series, n_rows: int) -> dict[Any, Mask]:
    """Rows of each group, categories without rows included, in the order of the categories.

    >>> group_masks(["b", "a"], 2)["a"].tolist()
    [False, True]
    """
    codes, names = group_codes(groups, n_rows)
    return {name: codes == code for code, name in enumerate(names)}


def group_codes(
    groups: ArrayLike | pd.Series, n_rows: int
) -> tuple[NDArray[np.integer[Any]], list[Any]]:
    """Place (n_rows,) of each row's group among the categories, and the categories in order.

    >>> codes, names = group_codes(["b", "a"], 2)
    >>> codes.tolist(), names
    ([1, 0], ['a', 'b'])
    """
    column = pd.Series(groups) if np.ndim(groups) == 1 else None
    if column is None or len(column) != n_rows:
        raise ValueError(
            f"groups must hold one group for each of {n_rows} rows, got shape {np.shape(groups)}"
        )
    if column.isna().any():
        raise ValueError(
            f"groups holds no group for row {int(column.isna().to_numpy().argmax())}: give such "
            "rows a group of their own, or leave them out"
        )
    kinds = column.astype("category").cat
    return kinds.codes.to_numpy(), kinds.categories.tolist()
