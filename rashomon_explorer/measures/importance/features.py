"""Which features are asked about: one by one, or several as one group."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = NDArray[np.intp]

Features = Sequence[Any] | Mapping[str, Sequence[Any]] | None
"""None for each feature alone; a list of names, places or lists of them; names for such lists."""


def feature_groups(features: Features, names: Sequence[str]) -> dict[str, Columns]:
    """Columns of each group of features, by the group's name.

    Columns that only make sense together, such as the indicators of one category, should be
    one group: switching them one by one would make rows that cannot exist.

    Parameters
    ----------
    features : None, sequence or mapping
        None: every feature by itself. A sequence: each entry a name, a column number, or a list
        of them, named by joining with " + ". A mapping: name of the group → its list.
    names : sequence of str
        Names of the columns, without the intercept.

    Returns
    -------
    dict of str to ndarray of int

    Raises
    ------
    ValueError
        If a feature is unknown, a group is empty or holds a column twice, or a name comes twice.

    Examples
    --------
    >>> feature_groups(None, ["age", "red", "blue"])["red"].tolist()
    [1]
    >>> feature_groups({"colour": ["red", "blue"]}, ["age", "red", "blue"])["colour"].tolist()
    [1, 2]
    >>> list(feature_groups(["age", [1, "blue"]], ["age", "red", "blue"]))
    ['age', 'red + blue']
    """
    if features is None:
        return {name: np.array([j], dtype=np.intp) for j, name in enumerate(names)}
    if isinstance(features, str):
        raise ValueError(f"features must be a list of features, write [{features!r}]")
    if isinstance(features, Mapping):
        return {str(name): _columns(members, names) for name, members in features.items()}
    groups: dict[str, Columns] = {}
    for entry in features:
        columns = _columns(entry, names)
        name = " + ".join(names[j] for j in columns)
        if name in groups:
            raise ValueError(f"features holds {name!r} twice")
        groups[name] = columns
    if not groups:
        raise ValueError("features must name at least one feature, got none; None means each")
    return groups


def _columns(entry: Any, names: Sequence[str]) -> Columns:
    members = [entry] if isinstance(entry, str | Integral) else list(entry)
    if not members:
        raise ValueError("a group of features must hold at least one feature, got none")
    columns = np.array([_column(member, names) for member in members], dtype=np.intp)
    if len(np.unique(columns)) < len(columns):
        raise ValueError(f"the group {members!r} holds a feature twice")
    return columns


def _column(member: Any, names: Sequence[str]) -> int:
    if isinstance(member, Integral) and not isinstance(member, bool | np.bool_):
        if 0 <= int(member) < len(names):
            return int(member)
        raise ValueError(f"there are {len(names)} features, numbered from 0, got {member!r}")
    if member in names:
        return list(names).index(member)
    raise ValueError(f"no feature is called {member!r}; there are {', '.join(names)}")
