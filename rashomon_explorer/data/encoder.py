"""Encode the rows of a table as its schema describes."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer import exceptions
from rashomon_explorer._utils import containers, sklearn_compat, taint
from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.data import cells, columns, messages
from rashomon_explorer.data.columns import Column
from rashomon_explorer.data.schema import TableSchema

USUAL_NORM = 1.0
"""Default bound on ‖x‖, of an estimator without a schema and of the encoder before it."""

ENCODED_NORM = 2.0
"""Bound on ‖x‖ of an estimator that encodes rows itself; its constant 1 has a small cost then."""

ENCODED = "encoded"
"""Key in the ``attrs`` of a DataFrame that an encoder returned."""

_MOST_NAMED = 3


ColumnKey = Any
"""Label of a column in a frame, or its position in an array."""


def find_features(schema: TableSchema, X: Any) -> list[ColumnKey]:
    """Find the schema's features in a table; uses only labels and shape."""
    containers.check_readable("X", X)
    labels = containers.column_labels(X)
    if labels is not None:
        return find_by_name(schema, labels)
    _check_features(schema)
    shape = containers.container_shape(X, 2)
    if shape is None or len(shape) != 2:
        description = "a table that states no shape" if shape is None else f"shape {shape}"
        raise exceptions.DataError(f"X must be a table with rows and columns, got {description}")
    if shape[1] == len(schema.features):
        return list(range(shape[1]))
    if shape[1] == len(schema):
        return [j for j, column in enumerate(schema.columns) if column.role == "feature"]
    raise exceptions.DataError(
        f"the schema declares {len(schema.features)} features in {len(schema)} columns, got an "
        f"array of {shape[1]} columns"
    )


def feature_names(labels: Sequence[Any], positions: Sequence[ColumnKey]) -> NDArray[Any]:
    """Names of a frame's features, in the frame's order."""
    return np.array([str(label) for label in labels if label in set(positions)], dtype=object)


def find_by_name(schema: TableSchema, labels: Sequence[Any]) -> list[ColumnKey]:
    """Find the schema's features among labels; returns the labels as the table has them."""
    _check_features(schema)
    messages.check_unique(str(label) for label in labels)
    label_by_name = {str(label): label for label in labels}
    if strange := [name for name in label_by_name if name not in set(schema)]:
        raise exceptions.DataError(
            f"the table has {messages.quoted(strange)}, which the schema does not declare"
            f"{messages.suggestion(strange[0], schema)}: declare it, as IgnoredColumn(name) to "
            "ignore it, or leave it out"
        )
    if absent := [column.name for column in schema.features if column.name not in label_by_name]:
        raise exceptions.DataError(
            f"the table lacks {messages.quoted(absent)}, which the schema declares as a feature"
            f"{messages.suggestion(absent[0], label_by_name)}; it has "
            f"{messages.quoted(label_by_name)}"
        )
    return [label_by_name[column.name] for column in schema.features]


def _check_features(schema: TableSchema) -> None:
    if not schema.features:
        raise exceptions.DataError("the schema declares no feature: give a column of it that role")


def cell_reader(X: Any) -> Callable[[Column, ColumnKey], pd.Series]:
    """Return a function that reads a column's cells; the first access to values."""
    frame = containers.as_pandas(X)
    if isinstance(frame, pd.DataFrame):
        return lambda column, key: pd.Series(frame[key], name=column.name)
    # Text and numbers in one list would all become text.
    table = np.asarray(frame) if hasattr(frame, "dtype") else np.asarray(frame, dtype=object)
    if table.ndim != 2:
        raise exceptions.DataError("X must be a table whose rows are all of one length")
    return lambda column, key: pd.Series(table[:, key], name=column.name)


def declared_labels(schema: TableSchema, y: Any) -> NDArray[Any]:
    """Labels as the schema writes them: 1.0 or "1" in the table is the level 1."""
    classes = schema.classes or ()
    levels = np.asarray(classes)
    code_by_text = {cells.cell_text(level): code for code, level in enumerate(classes)}
    labels = np.asarray(y) if hasattr(y, "dtype") else np.asarray(y, dtype=object)
    text = cells.as_text(pd.Series(labels.reshape(-1)))
    codes, words = pd.factorize(text)
    if strange := [word for word in words if word not in code_by_text]:
        raise exceptions.DataError(
            f"y holds {strange[0]!r}, which is not among the declared classes {[*classes]}: "
            "declare it, or leave its rows out"
        )
    level_codes = np.array([code_by_text[word] for word in words], dtype=int)
    return np.asarray(levels[level_codes[codes]])


def encoded_rows(
    schema: TableSchema, X: Any, row_norm: float, *, quiet: bool = False
) -> FloatArray:
    """Encode a table so that a typical row has about the given norm."""
    read = read_features(schema, X, quiet=quiet)
    scale = row_norm / math.sqrt(len(read))
    return np.column_stack([scale * column.in_unit_size(reading) for column, reading in read])


def encoded_units(schema: TableSchema, row_norm: float) -> dict[str, tuple[float, float, str]]:
    """Offset, size and name of the unit of encoded columns: a cell is offset + size · encoded."""
    scale, units = row_norm / math.sqrt(len(schema.features)), {}
    for column in schema.features:
        levelled = isinstance(column, columns.Levelled)
        declared_cells: Any = getattr(column, "levels", None) or column.value_bounds
        reading = column.read(pd.Series([*declared_cells, "\0", None], dtype=object))
        unscaled, encoded = column.in_units(reading), scale * column.in_unit_size(reading)
        unit = "level" if levelled else getattr(column, "unit", "")
        for name, cell, value in zip(column.encoded_names, unscaled.T, encoded.T, strict=True):
            low, high = cell.argmin(), cell.argmax()
            size = float((cell[high] - cell[low]) / (value[high] - value[low]))
            is_indicator = name != column.name and not levelled
            offset = float(cell[low] - size * value[low])
            units[name] = offset, size, "missing" if is_indicator else unit
    return units


def read_features(
    schema: TableSchema, X: Any, *, quiet: bool = False
) -> list[tuple[Column, cells.Reading]]:
    """Parse every feature; raise for refused cells, and warn of undeclared ones unless quiet."""
    labels, reader = find_features(schema, X), cell_reader(X)
    read: list[tuple[Column, cells.Reading]] = []
    for column, label in zip(schema.features, labels, strict=True):
        reading = column.read(reader(column, label))
        if column.refused(reading):
            rules = {rule: getattr(column, rule, "") for rule in ("missing", "unknown")}
            refusing = [f"{rule}='refuse'" for rule in rules if rules[rule] == "refuse"]
            raise exceptions.DataError(
                f"column {column.name!r} holds a value that its declaration does not allow "
                f"({' and '.join(refusing)}): correct it, or declare how to handle it"
            )
        read.append((column, reading))
    if not quiet:
        outside = {column.name: reading.outside for column, reading in read}
        cells.warn_if_clipped(
            _share(outside),
            f"rows hold a value outside its declared bounds{most_often(outside)}",
            "If values outside the bounds are possible, declare wider bounds.",
        )
        warn_undeclared_cells({column.name: reading.undeclared for column, reading in read})
    return read


def warn_undeclared_cells(masks: Mapping[str, Mask]) -> None:
    """Warn the curator if more than 1 % of the rows contain undeclared values."""
    if _share(masks) > cells.WORTH_A_WORD:
        warnings.warn(
            "more than 1 % of the rows hold a value that the schema does not declare, or none "
            f"where one is expected{most_often(masks)}, and were handled by its rules. Declare "
            "the level, unknown='other', or missing='indicator' or 'fill'. (Curator: this was read "
            "from private rows.)",
            exceptions.UndeclaredValueWarning,
            stacklevel=exceptions.warn_stacklevel(),
        )


def _share(masks: Mapping[str, Mask]) -> float:
    return float(np.logical_or.reduce(list(masks.values())).mean())


def most_often(masks: Mapping[str, Mask]) -> str:
    """Name the columns with the largest shares of marked rows, in brackets; "" if none is."""
    shares = sorted((-mask.mean(), name) for name, mask in masks.items() if mask.any())
    worst = [name for _, name in shares[:_MOST_NAMED]]
    return f" (most often in {messages.quoted(worst)})" if worst else ""


class TableEncoder(taint.CarriesLeaks, TransformerMixin, BaseEstimator):
    """Encode a table by its schema: scaled numbers, levels as columns, marked missing values.

    The encoding of a row depends only on the schema and that row, so it has no privacy cost. Every
    feature has the same weight, a typical row has a norm of about ``row_norm``, and longer rows are
    clipped to it.

    Parameters
    ----------
    schema : TableSchema, str, path or None, default=None
        The declaration, or its file. None treats every column as a number from −1 to 1.
    row_norm : float, default=1.0
        Bound on the norm of a row, as ``row_norm`` of the estimator that follows, where ``"auto"``
        is 1 too; an estimator with the ``schema`` itself encodes to 2.

    Attributes
    ----------
    schema_ : TableSchema
        The schema in use.
    feature_groups_ : dict of str to tuple of str
        Encoded columns of each feature that is encoded as several.
    n_features_in_ : int
        Number of feature columns of the table; a target column does not count.
    feature_names_in_ : ndarray of str
        Their names in the table's order, if the table has names.

    See Also
    --------
    PublicBoundsScaler : For tables of numbers only, scaled so that row norms are at most 1.

    Notes
    -----
    A schema with unconfirmed data-dependent values warns, and models fitted to the encoded rows
    have no guarantee until the values are confirmed (see also :func:`privacy_leaks`). A column with
    ``missing="refuse"`` or ``unknown="refuse"`` may raise an error that reveals something about a
    row; if an estimator follows, no ledger is charged for that error.

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer.data import Categorical, Numeric, TableSchema
    >>> schema = TableSchema([Numeric("age", (20, 80)), Categorical("home", ["own", "rent"])])
    >>> frame = pd.DataFrame({"age": [50, None], "home": ["own", "tent"]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     TableEncoder(schema).fit_transform(frame).round(3)
       age  home=own  home=rent
    0  0.0       0.5       -0.5
    1  0.0       0.0        0.0
    """

    n_features_in_: int
    frame_attributes: ClassVar[dict[str, Any]] = {ENCODED: True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "schema": [TableSchema, str, os.PathLike, None],
        "row_norm": [sklearn_compat.Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        schema: TableSchema | str | os.PathLike[str] | None = None,
        *,
        row_norm: float = USUAL_NORM,
    ) -> None:
        self.schema = schema
        self.row_norm = row_norm

    @sklearn_compat.fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> TableEncoder:
        """Compare the table's columns with the schema; reads no value.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        y : ignored

        Raises
        ------
        DataError
            If columns are missing or not declared.

        Warns
        -----
        PrivacyLeakWarning
            If values of the schema were computed from the rows and not confirmed.
        """
        self.note_columns(X)
        warn_unconfirmed(self.schema_)
        return self

    def note_columns(self, X: Any) -> TableEncoder:
        """Do the same as :meth:`fit` without a warning, for callers that have warned already.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        """
        if self.schema is None:
            self._numbers(X, reset=True)
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                names = [f"x{j}" for j in range(self.n_features_in_)]
            self.schema_ = TableSchema(tuple(columns.Numeric(str(name), (-1, 1)) for name in names))
        else:
            self.schema_ = TableSchema.from_schema_or_path(self.schema)
            positions, labels = find_features(self.schema_, X), containers.column_labels(X)
            if labels is not None:
                self.feature_names_in_ = feature_names(labels, positions)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self.n_features_in_ = len(positions)
        self.feature_groups_ = self.schema_.feature_groups
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_encoded)
            A DataFrame with column names if X is a pandas DataFrame, unless ``set_output`` selects
            another type. It is marked if values of the schema, or the rows, are data-dependent.

        Raises
        ------
        DataError
            If columns are missing or not declared, or the schema refuses a cell.

        Warns
        -----
        RowsClippedWarning, UndeclaredValueWarning
            If more than 1 % of the rows have a value outside its bounds, or an undeclared value
            (for the curator).
        """
        rows = self._numbers(X, reset=False) if self.schema is None else X
        return cells.clip_rows(encoded_rows(self.schema_, rows, self.row_norm), self.row_norm)[0]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns: ``"age"``, ``"age=(missing)"``, ``"home=own"``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the table's columns, for a table of numbers without a schema.
        """
        check_is_fitted(self)
        if self.schema is None:
            return sklearn_compat.input_names(self, input_features)
        return np.asarray(self.schema_.encoded_names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Accept missing values and, with a schema, text; no fit is required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = self.schema is not None
        return tags

    def _numbers(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        """Array of numbers, validated as in scikit-learn."""
        containers.check_readable("X", X)
        rows = validate_data(
            self, containers.as_pandas(X), dtype=np.float64, ensure_all_finite=False, reset=reset
        )
        return np.asarray(rows)

    def _leak(self) -> str:
        return self.schema_.leak


def warn_unconfirmed(schema: TableSchema) -> None:
    """Warn that a schema with unconfirmed values has no privacy guarantee."""
    if schema.leak:
        waiting = ", ".join(f"{name} ({', '.join(of)})" for name, of in schema.unconfirmed.items())
        warnings.warn(
            f"{schema.leak}: {waiting}. No privacy guarantee holds for models fitted to these "
            f"rows. Check each value against public knowledge, correct it with "
            f"schema.declare(column, ...), and then call schema.confirm(column, ...); or remove "
            f"the line “learnt” from its file",
            exceptions.PrivacyLeakWarning,
            stacklevel=exceptions.warn_stacklevel(),
        )


@dataclass(frozen=True)
class UnitEncoder:
    """Row-wise encoder: unscaled numbers, levels as 0 and 1, ordered levels as indices from 0."""

    schema: TableSchema

    def transform(self, X: Any) -> FloatArray:
        """Encode a table."""
        read = read_features(self.schema, X)
        return np.column_stack([column.in_units(reading) for column, reading in read])

    def get_feature_names_out(self) -> NDArray[Any]:
        """Names of the encoded columns."""
        return np.array(self.schema.encoded_names, dtype=object)


_MANY = 10  # so many rows, all outside a named column's bounds, indicate scaled values
_RAW = (
    "Give the raw table, with the cells that the schema declares and not codes or scaled numbers; "
    "a DataFrame is read by its column names, an array in the schema's order"
)


def check_cell_kinds(schema: TableSchema, X: Any) -> None:
    """Raise if a table is encoded differently from the schema's declaration."""
    reader = cell_reader(X)
    labels = find_features(schema, X)
    for column, label in zip(schema.features, labels, strict=True):
        content = _foreign(column, reader(column, label), named=containers.is_frame(X))
        if content:
            raise exceptions.DataError(
                f"column {column.name!r} holds {content}, and the schema declares "
                f"{column.summary}. {_RAW}"
            )


def _foreign(column: Column, values: pd.Series, *, named: bool) -> str:
    """Name what a column holds instead of the declared values; empty if it holds those."""
    text = cells.as_text(values)
    present = ~text.isin(column.tokens).to_numpy(dtype=bool)
    if not present.any():
        return ""
    reading = column.read(values)
    if not isinstance(column, columns.Levelled):
        if reading.undeclared[present].all():
            return "no such value"
        few = named and present.sum() < _MANY
        return "" if few or not reading.outside[present].all() else "no value within its bounds"
    if not reading.undeclared[present].all():
        return ""
    numbers, levels = _are_numbers(text[present]), _are_numbers(pd.Series(column.texts))
    if numbers.all() and not levels.any():
        return "numbers"
    return "text" if levels.all() and not numbers.any() else ""


def _are_numbers(text: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return ~cells.read_numbers(text.astype(object), frozenset())[1]
