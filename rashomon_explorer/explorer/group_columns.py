"""Columns by which people can be told apart, and what stands in them, in words."""

from typing import Any

import pandas as pd

from rashomon_explorer.explorer.grouping import MOST_LEVELS, Grouping


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
    return Grouping.of(values)(values).rename(column)


def grouping_of(data: Any, column: str) -> Grouping:
    """Rule by which a column's groups are told apart."""
    return Grouping.of(_column(data, column))


def _column(data: Any, name: str) -> pd.Series:
    for table in (data.sensitive, data.frame):
        for place, own in enumerate(table.columns):
            if str(own) == name:
                return table.iloc[:, place]
    raise KeyError(f"the table has no column {name!r}")
