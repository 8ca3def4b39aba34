"""Who is compared with whom: groups of rows, also by several attributes at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.measures.groups import group_codes

Codes = NDArray[np.integer[Any]]
GroupsLike = ArrayLike | pd.Series | pd.DataFrame


@dataclass(frozen=True, eq=False)
class Groups:
    """Group of each row.

    >>> table = pd.DataFrame({"sex": ["f", "m", "f"], "age": ["old", "old", "young"]})
    >>> Groups.of(table, 3).names
    (('f', 'old'), ('f', 'young'), ('m', 'old'))
    """

    codes: Codes  # (n_rows,): place of the row's group in ``names``; each group has rows
    names: tuple[Any, ...]  # one a group; of several attributes a tuple of their values
    attributes: tuple[str, ...]  # what the groups are of

    @classmethod
    def of(cls, groups: "GroupsLike | Groups", n_rows: int) -> "Groups":
        """Read one attribute, or the crossing of several, one a column.

        Of a crossing only combinations that occur are groups.
        """
        if isinstance(groups, Groups):
            return groups
        columns = _columns(groups)
        coded = [_coded(column, name, n_rows) for name, column in columns.items()]
        sizes = [len(names) for _, names in coded]
        crossed = np.ravel_multi_index(tuple(codes for codes, _ in coded), tuple(sizes))
        found, codes = np.unique(crossed, return_inverse=True)
        if len(found) < 2:
            raise ValueError(
                "groups must hold at least two groups to compare, got one: every row is in "
                f"{coded[0][1][0]!r}"
            )
        places = np.column_stack(np.unravel_index(found, sizes)).tolist()
        names = [tuple(coded[j][1][k] for j, k in enumerate(place)) for place in places]
        plain = tuple(names) if len(coded) > 1 else tuple(name[0] for name in names)
        return cls(codes, plain, tuple(columns))

    @property
    def sizes(self) -> NDArray[np.int_]:
        """Rows of each group, shape (n_groups,)."""
        return np.bincount(self.codes, minlength=len(self.names))

    @property
    def texts(self) -> list[str]:
        """Each group in words."""
        return [in_words(name) for name in self.names]

    def everyone(self) -> "Groups":
        """Put all rows into one group."""
        return Groups(np.zeros_like(self.codes), ("all rows",), self.attributes)

    def series(self) -> pd.Series:
        """Name of each row's group."""
        names = np.empty(len(self.names), dtype=object)
        names[:] = self.names
        return pd.Series(names[self.codes])

    def table(self) -> pd.DataFrame:
        """Attributes of each row, one a column."""
        return self.index()[self.codes].to_frame(index=False)

    def index(self) -> pd.Index:
        """Names as an index, of several levels for several attributes."""
        if len(self.attributes) > 1:
            return pd.MultiIndex.from_tuples(list(self.names), names=list(self.attributes))
        return pd.Index(list(self.names), name=self.attributes[0])


def in_words(name: Any) -> str:
    """Write a group's name, values of several attributes with commas between.

    Examples
    --------
    >>> in_words("f"), in_words(("f", "old"))
    ('f', 'f, old')
    """
    return ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _columns(groups: GroupsLike) -> dict[str, Any]:
    columns: dict[str, Any]
    if isinstance(groups, pd.DataFrame):
        columns = {str(name): groups.iloc[:, place] for place, name in enumerate(groups.columns)}
        if len(columns) < groups.shape[1]:
            raise ValueError(f"groups must have columns of different names: {list(groups.columns)}")
    elif np.ndim(groups) == 2:
        array = np.asarray(groups)
        columns = {f"attribute {place}": column for place, column in enumerate(array.T)}
    else:
        name = getattr(groups, "name", None)
        columns = {"group" if name is None else str(name): groups}
    if not columns:
        raise ValueError("groups has no column: the data know no sensitive attribute")
    return columns


def _coded(column: Any, name: str, n_rows: int) -> tuple[Codes, list[Any]]:
    codes, names = group_codes(column, n_rows)
    empty = np.flatnonzero(np.bincount(codes, minlength=len(names)) == 0)
    if len(empty):
        raise ValueError(
            f"groups declares the category {names[empty[0]]!r} of {name!r}, which has no rows, so "
            "that it has no rates: leave it out, with .cat.remove_unused_categories()"
        )
    return codes, names
