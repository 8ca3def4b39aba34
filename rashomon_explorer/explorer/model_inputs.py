"""Encoded rows, group columns, and models that were fitted elsewhere."""

from typing import Any, TypeAlias

import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer import estimators
from rashomon_explorer.explorer import family, table_rows
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.rows import ChunkedRows


def group_columns(data: Any) -> tuple[str, ...]:
    """Columns that can define groups: sensitive ones first, then those with few levels."""
    if data is None:
        return ()
    target = getattr(getattr(data.get("schema"), "target", None), "name", None)
    first = [str(name) for name in data.sensitive.columns]
    other_columns = [str(name) for name in data.frame.columns if str(name) not in (*first, target)]
    levels = {name: _column(data, name).nunique(dropna=False) for name in [*first, *other_columns]}
    most_levels = max(table_rows.MOST_LEVELS, len(data.frame) // 2)  # names have more
    is_number = {name: pd.api.types.is_numeric_dtype(_column(data, name)) for name in other_columns}
    other_columns = [n for n in other_columns if is_number[n] or levels[n] <= most_levels]
    other_columns.sort(key=lambda name: levels[name] > table_rows.MOST_LEVELS)
    return tuple(name for name in [*first, *other_columns] if levels[name] > 1)


def group_labels(data: Any, column: str) -> pd.Series:
    """Group of each person by a column, as text; categories in the groups' order."""
    values = _column(data, column)
    return table_rows.Grouping.from_values(values)(values).rename(column)


def _column(data: Any, name: str) -> pd.Series:
    for table in (data.sensitive, data.frame):
        for position, label in enumerate(table.columns):
            if str(label) == name:
                return table.iloc[:, position]
    raise KeyError(f"the table has no column {name!r}")


def _audit_table(audit: Any) -> Bunch:
    groups, table = audit.inputs.groups, audit.inputs.model.table
    sensitive = pd.DataFrame(index=table.index) if groups is None else groups.to_frame()
    return Bunch(sensitive=sensitive, frame=table)


class ModelInputs:
    """Rows, targets and groups in the names and codes of the models on screen."""

    state: ExplorerState
    rows: Any
    _encoder: Any
    _chunk_encoder: Any
    _encoded: Any
    _audited: tuple[Any, Any] = (None, None)

    @property
    def encoder(self) -> Any:
        """Encoder of the rows on screen; None for rows that were given encoded."""
        return self._encoder if self.rows is not None and self.rows is self._encoded else None

    @property
    def group_table(self) -> Any:
        """Table whose columns can define groups: the data set, or the rows of an audit."""
        data, audit = self.state.data, self.state.audit
        if data is not None or audit is None:
            return data
        if self._audited[0] is not audit:
            self._audited = audit, _audit_table(audit)
        return self._audited[1]

    @property
    def targets(self) -> Any:
        """Targets of the data set in the coding of the models on screen: codes or labels."""
        data, audit = self.state.data, self.state.audit
        if audit is not None:
            return audit.inputs.model.targets
        if data is None:
            return None
        return data.y if self._uses_codes else data.frame[data.schema.target.name]

    @property
    def _uses_codes(self) -> bool:
        """Whether the models on screen use class codes instead of labels."""
        data, models = self.state.data, self.state.rashomon_set
        named = () if models is None else getattr(models, "classes", ())
        return set(named) <= set(range(len(data.classes or ())))

    @property
    def chunks(self) -> ChunkedRows | None:
        """All rows and targets in the encoding of the models; None for a table in memory."""
        if not self.is_chunked:
            return None
        encoder = self._chunk_encoder
        if encoder is None and family.trees_in(self.state.rashomon_set) is not None:
            encoder = table_rows.IN_UNITS
        table: table_rows.ChunkedTable = table_rows.table_rows(self.state.data)
        return table.encoded(encoder, labels=not self._uses_codes)

    @property
    def is_chunked(self) -> bool:
        return bool(table_rows.table_rows(self.state.data).is_chunked)

    @property
    def sample_words(self) -> str:
        """Describe the sample of people in a chunked table; empty if all people are shown."""
        return str(table_rows.table_rows(self.state.data).words)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of all rows, in memory or chunked, and of encoded columns."""
        n, columns = self.rows.shape
        return (table_rows.table_rows(self.state.data).n if self.is_chunked else n), int(columns)


ESTIMATOR_TYPES: TypeAlias = (
    estimators.RashomonClassifier | estimators.RashomonRegressor | estimators.RashomonTreeClassifier
)


def check_fitted_estimator(estimator: Any) -> ESTIMATOR_TYPES:
    """Return the fitted Rashomon estimator: the object or the last step of a pipeline."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, ESTIMATOR_TYPES):
        raise TypeError(
            "estimator must be a fitted RashomonClassifier, RashomonRegressor or "
            f"RashomonTreeClassifier, or a Pipeline that ends in one, got {type(last).__name__}"
        )
    check_is_fitted(last)
    return last
