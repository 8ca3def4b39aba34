"""The table on screen as its models see it."""

import warnings
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks.source import numbers
from rashomon_explorer.estimators import PublicBoundsScaler
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.schema import Anything, Column, TableEncoder, TableSchema
from rashomon_explorer.schema.provenance import public_part
from rashomon_explorer.schema.units import UnitEncoder
from rashomon_explorer.schema.words import quoted


def features_of(schema: TableSchema) -> TableSchema:
    """Leave the target to the data set, which has coded it.

    >>> from rashomon_explorer.schema import Numeric, YesNo
    >>> features_of(TableSchema([Numeric("age", (18, 90)), YesNo("repaid", role="target")]))
    TableSchema
      age     numeric 18 to 90
      repaid  anything, ignore
    """
    public = public_part(schema)  # an encoder needs no more of columns that no model sees

    def kept(column: Column) -> Column:
        if column is schema.target:
            return Anything(column.name, role="ignore")
        return column if column.unconfirmed else public[column.name]

    return TableSchema([kept(column) for column in schema.columns])


def encoded(data: Bunch) -> tuple[TableEncoder, pd.DataFrame]:
    """Encode a data set by its schema, row by row; returns the encoder and the rows.

    Rows whose schema was learnt carry the mark of it; the page says so by itself.
    """
    encoder = TableEncoder(features_of(data.schema))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return encoder, encoder.fit_transform(data.frame)


def scaled(data: Bunch) -> pd.DataFrame:
    """Scale the same columns by their bounds, as they may have been charged elsewhere."""
    return PublicBoundsScaler(data.bounds).set_output(transform="pandas").fit_transform(data.X)


def rows_as_fitted(estimator: Any, data: Bunch) -> Any:
    """Rows of a data set as a fitted estimator's models take them.

    Columns that are encoded already, as in ``data.X``, or the table as it is, for whoever has a
    schema.
    """
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if hasattr(last, "encoder_"):
        encode = _in_units if isinstance(last.encoder_, UnitEncoder) else _by_schema
        return encode(last.encoder_, data)
    if last is estimator:
        return data.X
    first = estimator[0]
    if isinstance(first, TableEncoder) and first.schema is not None:
        rows = _by_schema(first, data)
        for _, step in estimator.steps[1:-1]:
            rows = step.transform(rows)
        return rows
    return estimator[:-1].transform(data.X)


def encoder_as_fitted(estimator: Any, data: Bunch) -> Any:
    """Return what encodes rows in blocks as a fitted estimator's models take them.

    Raises
    ------
    DataError
        If its rows went through other steps first, which nobody has put behind the blocks.
    """
    if isinstance(estimator, Pipeline):
        raise DataError(
            "rows in blocks are shown with an estimator that takes them as they come: fit "
            "RashomonClassifier(schema=...) to them, not a pipeline"
        )
    if hasattr(estimator, "encoder_"):
        return estimator.encoder_
    models = estimator.rashomon_set_
    held = getattr(models, "models", None)
    names = models.feature_names[:-1] if held is None else held.feature_names
    known = set(map(str, data.frame.columns))
    if lacking := [name for name in names if name not in known]:
        raise DataError(
            f"the models take {quoted(lacking)}, and the rows have {quoted(known)}: give the rows "
            "that the estimator was fitted to"
        )
    return AsTheyAre(tuple(names))


@dataclass(frozen=True)
class AsTheyAre:
    """Some columns as they came, of numbers: what models without a schema were fitted to.

    Parameters
    ----------
    columns : tuple of str

    Examples
    --------
    >>> AsTheyAre(("age",)).transform(pd.DataFrame({"age": [30], "id": ["x"]})).tolist()
    [[30.0]]
    """

    columns: tuple[str, ...]

    def transform(self, X: pd.DataFrame) -> FloatArray:
        """Give the columns as an array (n, d)."""
        return numbers(X[list(self.columns)])

    def get_feature_names_out(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.columns


def refuse_other_columns(models: Any, rows: pd.DataFrame) -> None:
    """Raise a DataError unless linear models take these columns."""
    names = getattr(models, "feature_names", None) if isinstance(models, RashomonSet) else None
    if names is None or list(names[:-1]) == [str(name) for name in rows]:
        return
    raise DataError(
        f"the set's models take {quoted(names[:-1])}, and the data set becomes {quoted(rows)}: "
        "show the set with the rows as its models take them, data=(X, y)"
    )


def _in_units(encoder: UnitEncoder, data: Bunch) -> pd.DataFrame:
    """Encode what the schema declares as trees take it."""
    known = set(encoder.schema)
    frame = data.frame[[name for name in data.frame if str(name) in known]]
    names = list(encoder.get_feature_names_out())
    return pd.DataFrame(encoder.transform(frame), columns=names, index=frame.index)


def _by_schema(encoder: TableEncoder, data: Bunch) -> Any:
    """Encode what the schema declares of the table; of a table without it, an error says what."""
    declared = set(encoder.schema_)
    return encoder.transform(data.frame[[name for name in data.frame if str(name) in declared]])
