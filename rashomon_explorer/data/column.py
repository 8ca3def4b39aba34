"""Base class of column types, and ignored columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data.cells import MISSING, ColumnSample, Reading, cell_text
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
        for name in ("missing_values", "learnt"):
            object.__setattr__(self, name, self._listed(name))
        settings = ["kind", *(field.name for field in fields(self))]
        for setting in self.learnt:
            check_among(setting, settings, f"learnt of {self._called}")
        self._check()

    def _check(self) -> None:
        """Raise if the settings specific to the kind are invalid."""

    @property
    def _called(self) -> str:
        return f"column {self.name!r}"

    def _listed(self, field: str) -> tuple[Any, ...]:
        values = getattr(self, field)
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DataError(f"{field} of {self._called} must be a list, got {values!r}")
        return tuple(values)

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
    def value_bounds(self) -> Bounds:
        """Range of a value, in the column's own units."""
        raise NotImplementedError

    @property
    def encoded_bounds(self) -> tuple[Bounds, ...]:
        """Range of each encoded column, in the column's own units."""
        return (self.value_bounds, (0.0, 1.0))[: len(self.encoded_names)]

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

    def with_indicator(self, values: FloatArray, reading: Reading) -> FloatArray:
        """Columns (n_rows, k) of the values, and of the missing-value indicator if declared."""
        indicator = [reading.missing.astype(float)] if self.missing == "indicator" else []
        return np.column_stack([values, *indicator])

    @classmethod
    def propose(cls, sample: ColumnSample) -> Column | None:
        """Return a declaration that fits the cells; None if this kind does not fit them."""
        return None

    @property
    def summary(self) -> str:
        """Summary of the declaration in one line."""
        parts = [" ".join(filter(None, [self.kind, self._values_text()]))]
        parts += [f"missing: {self.missing}"] * (self.missing != "unexpected")
        parts += [self.role] * (self.role != "feature")
        parts += [f"LEARNT, to be confirmed: {', '.join(self.learnt)}"] * bool(self.learnt)
        return ", ".join(parts)

    def _values_text(self) -> str:
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Kind and all settings that differ from the defaults, as plain values."""
        values: dict[str, Any] = {"kind": self.kind}
        shared = [field.name for field in fields(Column)]  # written last
        for field in sorted(fields(self), key=lambda setting: setting.name in shared):
            value = getattr(self, field.name)
            if field.name != "name" and value != field.default:
                values[field.name] = list(value) if isinstance(value, tuple) else value
        return values

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> Self:
        """Create a column from plain values."""
        settings = [field.name for field in fields(cls) if field.name != "name"]
        for field in values:
            if field not in settings:
                raise DataError(
                    f"column {name!r} of kind {cls.kind!r} has no setting {field!r}"
                    f"{suggestion(field, settings)}; the settings are {quoted(settings, limit=20)}"
                )
        try:
            return cls(name, **values)
        except TypeError:
            needed = [
                setting
                for setting in settings
                if setting in cls.__match_args__ and setting not in values
            ]
            raise DataError(
                f"column {name!r} of kind {cls.kind!r} must declare its {quoted(needed)}"
            ) from None


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
