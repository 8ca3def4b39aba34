"""Inputs that the page accepts."""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer import estimators, sets
from rashomon_explorer._utils.containers import is_frame
from rashomon_explorer.audits import Audit, audit
from rashomon_explorer.data import TableSchema
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.table.files import chunked_dataset
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows.dask import is_dask

_OURS = (
    estimators.RashomonClassifier,
    estimators.RashomonRegressor,
    estimators.RashomonTreeClassifier,
)
_LINEAR = (LogisticRegression, Ridge, LinearRegression)
_KNOWN = (
    "a data set (Bunch), chunked rows (chunk_rows(...)), a fitted RashomonClassifier, "
    "RashomonRegressor or RashomonTreeClassifier, a RashomonSet, a PredictorSet, an Audit, a "
    "fitted LogisticRegression, Ridge or LinearRegression, a Pipeline that ends in one, or a list "
    "of fitted models"
)
Show = Callable[[Session], None]


def coerce_input(shown: Any, data: Any = None) -> Show:
    """Return the function that shows the input in a session; raise TypeError if there is none."""
    last = shown[-1] if isinstance(shown, Pipeline) else shown
    for kinds, show in _WAYS:
        if isinstance(last, kinds):
            return show(shown, data)
    if isinstance(last, sets.ReleasedSet | sets.ReleasedTrees):
        raise TypeError(
            "Explorer needs a set with its private numbers, got a release: use "
            "rashomon_explorer.plots or report.release_report"
        )
    more = ": give it in a list, with its rows" if isinstance(last, BaseEstimator) else ""
    if is_frame(last):
        more = ": name its target, Explorer(chunk_rows(frame, target=...))"
    raise TypeError(f"Explorer shows {_KNOWN}, got {type(last).__name__}{more}")


def as_data(given: Any, declared: Mapping[str, Any], estimator: Any = None) -> Any:
    """Convert chunked rows to a data set of the page; return any other input unchanged."""
    if is_dask(given):
        raise TypeError(
            f"a Dask {type(given).__name__} needs a declared target: pass "
            "Explorer(chunk_rows(frame, target=...))"
        )
    if not isinstance(given, ChunkedRows):
        return given
    known = getattr(estimator, "schema", None)
    schema = declared.get("schema", known if _has_target(known) else None)
    return chunked_dataset(given, schema, declared.get("name"))


def _has_target(schema: Any) -> bool:
    return schema is not None and TableSchema.from_schema_or_path(schema).target is not None


def is_external_model(shown: Any) -> bool:
    """Whether it is an audit, a linear scikit-learn model, or a pipeline that ends in one."""
    if isinstance(shown, Audit):
        return shown.kind == "exact"
    return isinstance(shown[-1] if isinstance(shown, Pipeline) else shown, _LINEAR)


def _bunch(shown: Bunch, data: Any) -> Show:
    return lambda session: session.choose(shown)


def _fitted(shown: Any, data: Any) -> Show:
    check_is_fitted(shown[-1] if isinstance(shown, Pipeline) else shown)
    if data is not None and not isinstance(data, Bunch):
        raise TypeError(
            "data of a Rashomon estimator must be a Bunch, as load_csv returns, "
            f"got {type(data).__name__}"
        )
    return lambda session: session.show_fitted(shown, data)


def _set(shown: Any, data: Any) -> Show:
    if data is None or isinstance(data, Bunch):
        return lambda session: session.show_set(shown, data)
    X, _ = _pair(data)
    return lambda session: session.show_set(shown, None, rows=X)


def _linear(shown: Any, data: Any) -> Show:
    check_is_fitted(shown[-1] if isinstance(shown, Pipeline) else shown)
    found = audit(shown, *_pair(data))
    return lambda session: session.show_audit(found)


def _audit(shown: Audit, data: Any) -> Show:
    return lambda session: session.show_audit(shown)


def _several(shown: Any, data: Any) -> Show:
    X, y = _pair(data)
    models = sets.from_estimators(shown, X, y)
    return lambda session: session.show_set(models, None, rows=X)


def _pair(data: Any) -> tuple[Any, Any]:
    """Rows and targets of fitted models; raise an error if they are missing."""
    if isinstance(data, Bunch):
        return data.X, data.y
    if isinstance(data, tuple) and len(data) == 2:
        return data
    raise TypeError(
        "fitted models need the rows that they were fitted to: Explorer(model, data=(X, "
        f"y)), got data of type {type(data).__name__}"
    )


_WAYS: tuple[tuple[Any, Callable[[Any, Any], Show]], ...] = (
    (Bunch, _bunch),
    (_OURS, _fitted),
    ((sets.RashomonSet, sets.PredictorSet), _set),
    (Audit, _audit),
    (_LINEAR, _linear),
    ((list, tuple), _several),
)


TABLE_VARIABLE = "RASHOMON_EXPLORER_TABLE"
"""Environment variable with ``path``, ``target`` and ``schema`` of a chunked table, as JSON."""


def table_from_environment() -> Bunch | None:
    """Return the data set of ``rashomon-explorer --data``; None without that option."""
    text = os.environ.get(TABLE_VARIABLE)
    if not text:
        return None
    options = json.loads(text)
    return chunked_dataset(chunk_rows(options["path"], target=options["target"]), options["schema"])
