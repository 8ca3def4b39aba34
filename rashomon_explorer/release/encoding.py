"""Encoding of private rows for a release: by public settings alone, and each row by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rashomon_explorer._utils.containers import column_labels
from rashomon_explorer.data.encoder import UnitEncoder, encoded_rows
from rashomon_explorer.data.tables import declared_labels, find_features
from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.measures.inputs import preprocessing
from rashomon_explorer.release.query import Paid, PublicShape
from rashomon_explorer.sets import ReleasedSet
from rashomon_explorer.sets.scores import (
    AMBIGUOUS,
    EncodedRows,
    is_ambiguous,
    is_encoded,
    rows_by_name,
)

if TYPE_CHECKING:
    from rashomon_explorer.data import TableSchema


@dataclass(frozen=True, eq=False)
class Encoding:
    """Map from the rows that were given to those that the models take, each row by itself."""

    # Chosen by names and shape before a charge, and applied after it. Tables that differ in one
    # record are mapped to tables that differ in one record, so that the sensitivity of a query of
    # encoded rows is that of the query of the table.
    models: Paid  # with the public part of their schema
    steps: Any = None  # transformation by the steps of a pipeline
    is_raw: bool = False  # whether the schema then encodes the rows
    columns: tuple[str, ...] = ()  # names of encoded rows, in the order of the models

    @classmethod
    def planned(cls, models: Any, public: PublicShape, X: Any, width: int) -> Encoding:
        """Choose the encoding by the names and the number of columns; raise if none fits."""
        steps, paid, schema = preprocessing(models), public.models, public.models.schema
        if steps is not None:
            _refuse_other_steps(models, width)
            return cls(paid, steps, schema is not None)
        if schema is None or not _is_raw(schema, X, width, paid, is_fitted=hasattr(models, "fit")):
            names = public.columns
            if width != len(names):
                raise ValueError(f"X must have shape (n_rows, {len(names)}), got {width} columns")
            rows_by_name(X, names, schema)
            return cls(paid, columns=tuple(names))
        find_features(schema, X)
        return cls(paid, None, is_raw=True)

    def __call__(self, X: Any) -> Any:
        """Return encoded rows; those of linear models are clipped where they are scored."""
        rows = X if self.steps is None else self.steps(X)
        schema = self.models.schema
        if not self.is_raw or schema is None:
            return rows_by_name(rows, self.columns, schema) if self.columns else rows
        if isinstance(self.models, ReleasedSet):
            return encoded_rows(schema, rows, self.models.row_norm)
        return UnitEncoder(schema).transform(rows)

    def labels(self, y: Any) -> Any:
        """Return targets as the models have them: labels as the schema writes them."""
        schema = self.models.schema
        if y is None or schema is None or schema.classes is None:
            return y
        return declared_labels(schema, y)


def _is_raw(schema: TableSchema, X: Any, width: int, paid: Paid, *, is_fitted: bool) -> bool:
    """Whether a table is raw, by names and width alone: values and their types are private."""
    if column_labels(X) is not None:
        return not is_encoded(schema, X)
    if isinstance(paid, ReleasedSet) and is_ambiguous(schema, X):
        if not is_fitted:
            raise DataError(AMBIGUOUS)
        return True
    return not isinstance(X, EncodedRows) and width != len(schema.encoded_names)


def _refuse_other_steps(pipeline: Any, width: int) -> None:
    """Raise unless a pipeline's earlier steps are public and take as many columns."""
    # Local imports: few releases are of pipelines.
    from sklearn.pipeline import Pipeline

    from rashomon_explorer.estimators import privacy_leaks

    leaks = privacy_leaks(Pipeline(pipeline.steps[:-1]))
    if leaks:
        raise CuratorOnlyError(
            f"aggregates of these rows cannot be released: {'; '.join(leaks)}. Fit with steps that "
            "prepare each row by itself, such as PublicBoundsScaler, or with schema=..."
        )
    n_features = getattr(pipeline, "n_features_in_", width)
    if width != n_features:
        raise ValueError(f"X must have shape (n_rows, {n_features}), got {width} columns")
