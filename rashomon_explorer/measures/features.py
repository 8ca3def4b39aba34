"""Selection of features: single ones, or several as one group."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.sets.block import groups_by_name

Columns = NDArray[np.intp]

Features = Sequence[Any] | Mapping[str, Sequence[Any]] | str | None
"""None, ``"columns"``, a list of names, places or lists of them, or names for such lists."""

COLUMNS = "columns"
"""Asks for every column by itself, also where several are one feature."""


def feature_groups(
    features: Features,
    names: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Columns]:
    """Columns of each selected feature, by its name.

    Columns that only make sense together, such as the indicators of one category, are one
    feature: switching them one by one would make rows that cannot exist.

    Parameters
    ----------
    features : None, "columns", sequence or mapping
        None: every feature once, with the columns of a group together. ``"columns"``: every column
        by itself. A sequence: each entry a name of a column or of a group, a column number, or a
        list of these, named by joining with " + ". A mapping: name → its list.
    names : sequence of str
        Names of the columns, without the intercept.
    groups : mapping of str to sequence of str, optional
        Columns that are one feature, as a set's ``feature_groups``. By default the columns
        ``"name=level"`` of each name.

    Returns
    -------
    dict of str to ndarray of int
        Places of the columns, by name.

    Raises
    ------
    ValueError
        If a feature is unknown, a group is empty or holds a column twice, or a name comes twice.

    Examples
    --------
    >>> names = ["age", "home=own", "home=rent"]
    >>> {name: columns.tolist() for name, columns in feature_groups(None, names).items()}
    {'age': [0], 'home': [1, 2]}
    >>> list(feature_groups("columns", names))
    ['age', 'home=own', 'home=rent']
    >>> feature_groups({"all": ["age", "home"]}, names)["all"].tolist()
    [0, 1, 2]
    >>> list(feature_groups(["age", [1, "age"]], names))
    ['age', 'home=own + age']
    """
    known = groups_by_name(names) if groups is None else groups
    if features is None:
        return _every_feature(names, known)
    if isinstance(features, str):
        if features != COLUMNS:
            raise ValueError(
                f"features must be a list of features or {COLUMNS!r}, write [{features!r}]"
            )
        return {name: np.array([j], dtype=np.intp) for j, name in enumerate(names)}
    if isinstance(features, Mapping):
        return {str(name): _columns(entry, names, known)[0] for name, entry in features.items()}
    found: dict[str, Columns] = {}
    for entry in features:
        columns, name = _columns(entry, names, known)
        if name in found:
            raise ValueError(f"features holds {name!r} twice")
        found[name] = columns
    if not found:
        raise ValueError("features must name at least one feature, got none; None means each")
    return found


def _every_feature(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> dict[str, Columns]:
    """Features in the order of their first columns."""
    group_of = {column: group for group, columns in groups.items() for column in columns}
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        found.setdefault(group_of.get(name, name), []).append(place)
    return {name: np.array(places, dtype=np.intp) for name, places in found.items()}


def _columns(
    entry: Any, names: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> tuple[Columns, str]:
    members = [entry] if isinstance(entry, str | Integral) else list(entry)
    if not members:
        raise ValueError("a group of features must hold at least one feature, got none")
    found: list[int] = []
    called: list[str] = []
    for member in members:
        if isinstance(member, str) and member in groups and member not in names:
            found += [_column(one, names) for one in groups[member]]
            called.append(member)
        else:
            found.append(_column(member, names))
            called.append(names[found[-1]])
    columns = np.array(found, dtype=np.intp)
    if len(np.unique(columns)) < len(columns):
        raise ValueError(f"the group {members!r} holds a feature twice")
    return columns, " + ".join(called)


def _column(member: Any, names: Sequence[str]) -> int:
    if isinstance(member, Integral) and not isinstance(member, bool | np.bool_):
        if 0 <= int(member) < len(names):
            return int(member)
        raise ValueError(f"there are {len(names)} features, numbered from 0, got {member!r}")
    if member in names:
        return list(names).index(member)
    raise ValueError(f"no feature is called {member!r}; there are {', '.join(names)}")
