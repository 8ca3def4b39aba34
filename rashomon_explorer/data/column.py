"""Base class of column types, and ignored columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar, Self

import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data.cells import MISSING, Reading, cell_text
from rashomon_explorer.data.messages import Bounds, Level, check_among, quoted, suggestion
from rashomon_explorer.exceptions import DataError

ROLES = ("feature", "sensitive", "target", "ignore")
"""Uses of a column; models see only features."""

MISSING_RULES = ("unexpected", "fill", "indicator", "refuse")
"""Rules for a missing value."""

NO_VALUE = "(missing)"
"""Suffix of the missing-value indicator's name, after the column's name and "="."""


@dataclass(frozen=True)
class Column:
    """Declaration shared by all column types; all of its fields are public."""

    kind: ClassVar[str] = ""

    name: str
    _: KW_ONLY
    role: str = "feature"
    missing: str = "unexpected"
    missing_values: Sequence[Level] = ()
    description: str = ""
    learnt: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise DataError(f"a column must have a name, got {self.name!r}")
        check_among(self.role, ROLES, f"role of {self._called}")
        check_among(self.missing, MISSING_RULES, f"missing of {self._called}")
        for one in ("missing_values", "learnt"):
            object.__setattr__(self, one, self._listed(one))
        for one in self.learnt:
            check_among(one, ["kind", *_names_of(self)], f"learnt of {self._called}")
        self._check()

    def _check(self) -> None:
        """Raise if the settings specific to the kind are invalid."""

    @property
    def _called(self) -> str:
        return f"column {self.name!r}"

    def _listed(self, field: str) -> tuple[Any, ...]:
        given = getattr(self, field)
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise DataError(f"{field} of {self._called} must be a list, got {given!r}")
        return tuple(given)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Unconfirmed data-dependent values; empty for a column that no fit reads."""
        decided = "role" in self.learnt  # the role itself is data-dependent
        return tuple(self.learnt) if decided or self.role in ("feature", "target") else ()

    @property
    def voids_guarantee(self) -> bool:
        """Whether unconfirmed values void the guarantee; target labels are assumed to be public."""
        assumed = {"levels"} if self.role == "target" else set()
        return bool(set(self.unconfirmed) - assumed)

    @property
    def tokens(self) -> frozenset[str]:
        """Texts that denote a missing value."""
        return MISSING | {cell_text(value) for value in self.missing_values}

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        marked = (f"{self.name}={NO_VALUE}",) if self.missing == "indicator" else ()
        return (self.name, *marked)

    @property
    def encoded_bounds(self) -> tuple[Bounds, ...]:
        """Range of each encoded column, in the column's own units."""
        raise NotImplementedError

    @property
    def refuses(self) -> bool:
        """Whether a row's cell may raise an error, which reveals something about the row."""
        return self.missing == "refuse"

    def read(self, cells: pd.Series) -> Reading:
        """Parse the cells (n_rows,) one by one; raises no error."""
        raise NotImplementedError

    def refused(self, reading: Reading) -> bool:
        """Whether the declaration refuses any of the cells."""
        return self.missing == "refuse" and bool(reading.missing.any())

    def in_units(self, reading: Reading) -> FloatArray:
        """Columns (n_rows, k) in the column's own units; 0 and 1 for levels."""
        raise NotImplementedError

    def in_unit_size(self, reading: Reading) -> FloatArray:
        """Columns (n_rows, k) whose squares sum to about 1 in a typical row."""
        raise NotImplementedError

    @property
    def in_words(self) -> str:
        """Summary of the declaration in one line."""
        said = [" ".join(filter(None, [self.kind, self._values_in_words()]))]
        said += [f"missing: {self.missing}"] * (self.missing != "unexpected")
        said += [self.role] * (self.role != "feature")
        said += [f"LEARNT, to be confirmed: {', '.join(self.learnt)}"] * bool(self.learnt)
        return ", ".join(said)

    def _values_in_words(self) -> str:
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Kind and all settings that differ from the defaults, as plain values."""
        told: dict[str, Any] = {"kind": self.kind}
        shared = [field.name for field in fields(Column)]  # written last
        for field in sorted(fields(self), key=lambda one: one.name in shared):
            value = getattr(self, field.name)
            if field.name != "name" and value != field.default:
                told[field.name] = list(value) if isinstance(value, tuple) else value
        return told

    @classmethod
    def from_dict(cls, name: str, told: Mapping[str, Any]) -> Self:
        """Create a column from plain values.

        Raises
        ------
        DataError
            If a value is unknown, missing or invalid.
        """
        known = [field.name for field in fields(cls) if field.name != "name"]
        for field in told:
            if field not in known:
                raise DataError(
                    f"column {name!r} of kind {cls.kind!r} has no setting {field!r}"
                    f"{suggestion(field, known)}; the settings are {quoted(known, limit=20)}"
                )
        try:
            return cls(name, **told)
        except TypeError:
            needed = [field for field in known if field in cls.__match_args__ and field not in told]
            raise DataError(
                f"column {name!r} of kind {cls.kind!r} must declare its {quoted(needed)}"
            ) from None


def _names_of(column: Column) -> list[str]:
    return [field.name for field in fields(column)]


@dataclass(frozen=True)
class IgnoredColumn(Column):
    """Column without declared values; it cannot be a feature.

    Parameters
    ----------
    name : str
    role : {"ignore", "sensitive", "target"}, default="ignore"
        The labels of a target of this kind are computed from the rows.
    missing, missing_values, description, learnt
        As for every :class:`Column`.

    Examples
    --------
    >>> IgnoredColumn("customer number").role
    'ignore'
    """

    kind: ClassVar[str] = "anything"

    _: KW_ONLY
    role: str = "ignore"

    def _check(self) -> None:
        if self.role == "feature":
            raise DataError(
                f"{self._called} is a feature without a declaration: declare what it holds, such "
                f"as Numeric(name, (low, high)) or Categorical(name, levels), or role='ignore'"
            )
