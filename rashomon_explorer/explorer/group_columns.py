"""Columns by which people can be told apart, and what stands in them, in words."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.plots.text import number

MOST_LEVELS = 12
"""More groups than this are put together: numbers in quarters, the rarest levels in one group."""


def group_columns(data: Any) -> tuple[str, ...]:
    """Name the columns that tell people apart: the sensitive ones, those of few levels, the rest.

    Text that says something else of nearly everybody, such as a number of staff, makes no groups.

    >>> from sklearn.utils import Bunch
    >>> frame = pd.DataFrame({"age": [1, 2], "y": [0, 1], "sex": ["f", "m"], "one": [0, 0]})
    >>> target = Bunch(name="y")
    >>> group_columns(Bunch(frame=frame, sensitive=frame[["sex"]], schema=Bunch(target=target)))
    ('sex', 'age')
    """
    if data is None:
        return ()
    target = getattr(data.schema.target, "name", None)
    first = [str(name) for name in data.sensitive.columns]
    others = [str(name) for name in data.frame.columns if str(name) not in (*first, target)]
    levels = {name: _column(data, name).nunique(dropna=False) for name in [*first, *others]}
    others = [name for name in others if not _names_people(data, name, levels[name])]
    others.sort(key=lambda name: levels[name] > MOST_LEVELS)
    return tuple(name for name in [*first, *others] if levels[name] > 1)


def _names_people(data: Any, name: str, levels: int) -> bool:
    """Whether a column of text has more levels than every second person could share."""
    text = not pd.api.types.is_numeric_dtype(_column(data, name))
    return text and levels > max(MOST_LEVELS, len(data.frame) // 2)


def group_labels(data: Any, column: str) -> pd.Series:
    """Say in which group of a column each person is, as text; ordered as the groups are."""
    values = _column(data, column)
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST_LEVELS:
        return _quarters(values)
    words = values.astype(object).where(values.notna(), "no value").map(_word)
    common = words.value_counts().index[: MOST_LEVELS - 1]
    if words.nunique() > MOST_LEVELS:
        words = words.where(words.isin(common), f"{words.nunique() - len(common)} others")
    return words.rename(column)


def _column(data: Any, name: str) -> pd.Series:
    for table in (data.sensitive, data.frame):
        for place, own in enumerate(table.columns):
            if str(own) == name:
                return table.iloc[:, place]
    raise KeyError(f"the table has no column {name!r}")


def _word(value: Any) -> str:
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _quarters(values: pd.Series) -> pd.Series:
    """Four groups of about as many people each."""
    edges = np.unique(np.nanquantile(values.astype(float), [0.25, 0.5, 0.75]))
    places = np.searchsorted(edges, values.astype(float), side="left")
    ends = [number(float(edge)) for edge in edges]
    middle = [f"{low} to {high}" for low, high in pairwise(ends)]
    names = [f"up to {ends[0]}", *middle, f"over {ends[-1]}"]
    words = pd.Series([names[place] for place in places], index=values.index, name=values.name)
    return words.where(values.notna(), "no value")
