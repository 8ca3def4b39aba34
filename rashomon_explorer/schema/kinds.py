"""The kinds of columns, by the name that files give them."""

from collections.abc import Mapping
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.anything import Anything
from rashomon_explorer.schema.categorical import Categorical
from rashomon_explorer.schema.checks import check_among
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.numeric import Numeric
from rashomon_explorer.schema.ordered import Ordered
from rashomon_explorer.schema.yes_no import YesNo

KINDS: Mapping[str, type[Column]] = {
    kind.kind: kind for kind in (Numeric, Categorical, Ordered, YesNo, Anything)
}
"""What a column can be."""


def column_of(name: str, told: Any) -> Column:
    """Make a column of what a file says about it.

    Parameters
    ----------
    name : str
    told : mapping
        ``kind``, and the settings of that kind.

    Raises
    ------
    DataError
        If the kind or a setting is not known, lacks, or cannot be used.

    Examples
    --------
    >>> column_of("age", {"kind": "numeric", "bounds": [18, 90]}).encoded_bounds
    ((18.0, 90.0),)
    """
    if not isinstance(told, Mapping):
        raise DataError(f"column {name!r} must be a table of settings, got {told!r}")
    if "kind" not in told:
        raise DataError(f"column {name!r} must say its kind, one of {', '.join(map(repr, KINDS))}")
    check_among(told["kind"], list(KINDS), f"kind of column {name!r}")
    settings = {field: value for field, value in told.items() if field != "kind"}
    return KINDS[told["kind"]].from_dict(name, settings)
