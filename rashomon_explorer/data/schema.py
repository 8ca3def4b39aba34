"""Public description of a table: its columns, their values and roles."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer.data import schema_files
from rashomon_explorer.data.columns import (
    KINDS,
    Column,
    IgnoredColumn,
    Levelled,
    Numeric,
    column_from_values,
)
from rashomon_explorer.data.messages import Bounds, Level, check_unique, quoted, suggestion
from rashomon_explorer.exceptions import DataError

LEARNT = "values of the schema were computed from the rows and nobody confirmed them"
"""Reason why a schema that was only proposed has no guarantee."""


@dataclass(frozen=True, repr=False)
class TableSchema(ReprMixin):
    """Public description of a table: its columns, their possible values and their roles.

    A fit with a schema reads no row to find the number of columns or their scale, so these have no
    privacy cost. Unconfirmed data-dependent values (:func:`propose_schema`) void the guarantee
    until they are confirmed.

    Parameters
    ----------
    columns : sequence of Column
        :class:`Numeric`, :class:`Categorical`, :class:`Ordered`, :class:`YesNo` or
        :class:`IgnoredColumn`, in the table's order.

    Raises
    ------
    DataError
        If a name occurs twice, or more than one column is the target.

    Examples
    --------
    >>> from rashomon_explorer.data import Categorical, Numeric, YesNo
    >>> schema = TableSchema(
    ...     [
    ...         Numeric("age", (18, 100), typical=(20, 70), missing="indicator"),
    ...         Categorical("home", ["own", "rent", "free"]),
    ...         YesNo("repaid", role="target"),
    ...     ]
    ... )
    >>> schema
    TableSchema
      age     numeric 18 to 100, typically 20 to 70, missing: indicator
      home    categorical 'own', 'rent', 'free'
      repaid  yes/no 'no', 'yes', target
    >>> schema.encoded_names
    ('age', 'age=(missing)', 'home=own', 'home=rent', 'home=free')
    """

    columns: Sequence[Column]

    def __post_init__(self) -> None:
        if isinstance(self.columns, Mapping):
            raise DataError("columns must be a list of columns; pass a dict to from_dict")
        columns = tuple(self.columns)
        for column in columns:
            if not isinstance(column, Column):
                raise DataError(f"columns must be declared columns, got {column!r}")
        object.__setattr__(self, "columns", columns)
        check_unique(column.name for column in columns)
        targets = [column.name for column in columns if column.role == "target"]
        if len(targets) > 1:
            raise DataError(f"only one column can be the target, got {quoted(targets)}")
        check_unique(self.encoded_names)

    def __iter__(self) -> Iterator[str]:
        return (column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(
            f"the schema has no column {name!r}{suggestion(name, self)}; it has {quoted(self)}"
        )

    @property
    def features(self) -> tuple[Column, ...]:
        """Columns that models see."""
        return tuple(column for column in self.columns if column.role == "feature")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the columns used to compare groups."""
        return tuple(column.name for column in self.columns if column.role == "sensitive")

    @property
    def target(self) -> Column | None:
        """The column to predict."""
        return next((column for column in self.columns if column.role == "target"), None)

    @property
    def classes(self) -> tuple[Level, ...] | None:
        """Declared labels of the target; None if undeclared or if the target is a number."""
        return tuple(self.target.levels) if isinstance(self.target, Levelled) else None

    @property
    def target_bounds(self) -> Bounds | None:
        """Declared range of a numeric target."""
        return self.target.bounds if isinstance(self.target, Numeric) else None

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns; their number is public."""
        return tuple(name for column in self.features for name in column.encoded_names)

    @property
    def scale_shares(self) -> tuple[float, float]:
        """Shares of encoded columns: numbers with a typical range, and numbers without one."""
        counts = [0, 0]
        for column in self.features:
            if isinstance(column, Numeric):
                counts[column.typical is None] += len(column.encoded_names)
        typical, wide = (count / max(1, len(self.encoded_names)) for count in counts)
        return typical, wide

    @property
    def feature_groups(self) -> dict[str, tuple[str, ...]]:
        """Encoded columns of each feature that is encoded as several."""
        several = [column for column in self.features if len(column.encoded_names) > 1]
        return {column.name: column.encoded_names for column in several}

    @property
    def unconfirmed(self) -> dict[str, tuple[str, ...]]:
        """Unconfirmed data-dependent values that affect a fit, by column."""
        return {column.name: column.unconfirmed for column in self.columns if column.unconfirmed}

    @property
    def leak(self) -> str:
        """Reason why the schema has no guarantee; empty if at most labels are unconfirmed."""
        return LEARNT if any(column.voids_guarantee for column in self.columns) else ""

    @property
    def refusing(self) -> tuple[str, ...]:
        """Columns whose cells may raise an error, which reveals something about the rows."""
        return tuple(column.name for column in self.features if column.refuses)

    def confirm(self, *names: str, only: Iterable[str] | None = None) -> Self:
        """Confirm that the data-dependent values of some columns are public knowledge.

        Parameters
        ----------
        *names : str
            Columns to confirm; ``*schema`` for all of them.
        only : iterable of str, optional
            Settings to confirm, such as ``["bounds"]``; by default all.

        Raises
        ------
        DataError
            If no column is named, or a name is unknown.
        """
        if not names:
            waiting = quoted(each.name for each in self.columns if each.learnt) or "none"
            raise DataError(f"name the columns that you have checked; unconfirmed are {waiting}")
        changed = self
        for name in names:
            column = self[name]
            confirmed = column.learnt if only is None else tuple(only)
            rest = tuple(value for value in column.learnt if value not in confirmed)
            changed = changed._with(replace(column, learnt=rest))
        return changed

    def declare(self, name: str, **values: Any) -> Self:
        """Declare settings of a column; declared settings need no confirmation.

        Parameters
        ----------
        name : str
            A column of the schema.
        **values
            ``kind`` or settings of its kind. Settings that a new kind does not have are dropped.

        Raises
        ------
        DataError
            If there is no such column or setting, or a value is invalid.
        """
        column = self[name]
        kind = KINDS.get(values.get("kind", column.kind), type(column))
        settings_of_kind = kind.__dataclass_fields__
        settings = {
            key: value for key, value in column.to_dict().items() if key in settings_of_kind
        }
        learnt = [
            setting
            for setting in column.learnt
            if setting in settings_of_kind and setting != "kind" and setting not in values
        ]
        merged = {"kind": column.kind, **settings, "learnt": learnt, **values}
        return self._with(column_from_values(name, merged))

    def in_order(self, names: Sequence[str]) -> Self:
        """Return the schema with its columns in the order of a table's names, others at the end.

        Parameters
        ----------
        names : sequence of str
            Names of the table's columns.
        """
        order = {name: position for position, name in enumerate(names)}
        columns = sorted(self.columns, key=lambda column: order.get(column.name, len(order)))
        return replace(self, columns=columns)

    def _with(self, changed: Column) -> Self:
        columns = [changed if column.name == changed.name else column for column in self.columns]
        return replace(self, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, as stored in a file."""
        return {"columns": {column.name: column.to_dict() for column in self.columns}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Create a schema from plain values.

        Raises
        ------
        DataError
            If a column is invalid; the message names it and the reason.
        """
        columns = values.get("columns") if isinstance(values, Mapping) else None
        if not isinstance(columns, Mapping) or not columns:
            raise DataError('a schema must have a table "columns" with one entry per column')
        if strange := [key for key in values if key != "columns"]:
            raise DataError(f'a schema has only "columns", got also {quoted(strange)}')
        return cls(tuple(column_from_values(name, about) for name, about in columns.items()))

    def to_toml(self) -> str:
        """Serialise the schema as TOML; a person removes the marks of unconfirmed values.

        Examples
        --------
        >>> from rashomon_explorer.data import Numeric
        >>> print(TableSchema([Numeric("age", (18, 90), learnt=["bounds"])]).to_toml())
        [columns.age]
        kind = "numeric"
        bounds = [18.0, 90.0]
        learnt = ["bounds"]
        <BLANKLINE>
        """
        return schema_files.toml_text(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read the TOML that :meth:`to_toml` or a person writes; a DataError names any mistake."""
        return cls.from_dict(schema_files.toml_values(text))

    @classmethod
    def from_data_dictionary(cls, text: str) -> Self:
        r"""Read a data dictionary: a CSV with one line per column of the table.

        Its header contains ``name`` and ``kind``, and any of ``low``, ``high``,
        ``typical_low``, ``typical_high``, ``levels`` (separated by ``|``), ``role``, ``missing``,
        ``missing_values``, ``thresholds`` (separated by ``|``), ``unknown``, ``unit``,
        ``description``. An empty cell leaves the setting out.

        Raises
        ------
        DataError
            If a line or column is invalid; the message names it and the reason.

        Examples
        --------
        >>> text = "name,kind,low,high,levels\nage,numeric,18,90,\nhome,categorical,,,own|rent\n"
        >>> TableSchema.from_data_dictionary(text)
        TableSchema
          age   numeric 18 to 90
          home  categorical 'own', 'rent'
        """
        return cls.from_dict(schema_files.dictionary_values(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a TOML file, or a data dictionary in CSV; the suffix selects the format.

        Raises
        ------
        DataError
            If it cannot be read, or its content is invalid.
        """
        return cls.from_dict(schema_files.read_values(path))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a TOML file.

        Raises
        ------
        DataError
            If the file exists and ``overwrite`` is false, or its name does not end in ".toml".
        """
        schema_files.write_file(path, self.to_dict(), overwrite=overwrite)

    @classmethod
    def from_schema_or_path(cls, schema: TableSchema | str | os.PathLike[str]) -> TableSchema:
        """Return a schema unchanged, or load it from the path of its file.

        Raises
        ------
        DataError
            If it is neither.
        """
        if isinstance(schema, TableSchema):
            return schema
        if isinstance(schema, str | os.PathLike):
            return cls.load(schema)
        raise DataError(
            f"schema must be a TableSchema or the path of its file, got {type(schema).__name__}"
        )

    def _facts(self) -> Iterable[Fact]:
        return [(column.name, column.summary) for column in self.columns]


def data_dependent(schema: TableSchema) -> dict[str, tuple[str, ...]]:
    """Unconfirmed values that were computed from the rows, by column, in every role."""
    return {column.name: tuple(column.learnt) for column in schema.columns if column.learnt}


def public_part(schema: TableSchema) -> TableSchema:
    """Releasable part; a column with a data-dependent value keeps only its name and role."""
    columns: list[Column] = []
    for column in schema.columns:
        # Whether a proposal ignores a column is data-dependent; the other two roles are the user's.
        role = column.role if column.role in ("sensitive", "target") else "ignore"
        bare = IgnoredColumn(column.name, role=role, description=column.description)
        columns.append(bare if column.learnt else column)
    return TableSchema(columns)


def labels_unconfirmed(schema: TableSchema | None) -> bool:
    """Whether the target's labels were inferred from the rows and are unconfirmed."""
    target = None if schema is None else schema.target
    return target is not None and "levels" in target.learnt
