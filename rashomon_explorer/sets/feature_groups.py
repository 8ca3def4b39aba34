"""Which columns are one feature: the indicators of one category belong together."""

from collections.abc import Mapping, Sequence

FeatureGroups = Mapping[str, tuple[str, ...]]
"""Name of a feature → the columns that it is made of; other columns are features themselves."""


def groups_by_name(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Find the groups that the names of columns tell of: two or more ``"name=level"``."""
    found: dict[str, list[str]] = {}
    for name in names:
        stem, sign, _ = name.partition("=")
        if sign and stem and stem not in names:
            found.setdefault(stem, []).append(name)
    return {stem: tuple(columns) for stem, columns in found.items() if len(columns) > 1}


def checked_groups(
    groups: Mapping[str, Sequence[str]], names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Check that groups are made of columns that there are, each in one group at most."""
    taken: dict[str, str] = {}
    for group, columns in groups.items():
        if isinstance(columns, str) or not len(columns):
            raise ValueError(f"the group {group!r} must be a list of columns, got {columns!r}")
        if group in names and group not in columns:
            raise ValueError(f"{group!r} is a column and cannot be a group of others")
        for column in columns:
            if column not in names:
                raise ValueError(f"the group {group!r} holds {column!r}, which is no column")
            if column in taken:
                raise ValueError(f"{column!r} is in the groups {taken[column]!r} and {group!r}")
            taken[column] = group
    return {str(group): tuple(columns) for group, columns in groups.items()}
