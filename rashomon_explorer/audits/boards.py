"""Several models to compare: fitted ones, results of statsmodels, or predictions of the rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from rashomon_explorer._utils.containers import as_pandas
from rashomon_explorer.audits.statsmodels_results import is_statsmodels, results_pipeline
from rashomon_explorer.sets.models.fitted import fingerprint

_SEVERAL = list | tuple | dict | pd.DataFrame


def is_board(models: Any) -> bool:
    """Whether these are several models or their predictions, and not one model."""
    return isinstance(models, _SEVERAL) and len(models) > 0


def board_models(models: Any, table: Any, y: NDArray[Any]) -> dict[str, Any]:
    """Models by name, each with ``predict``; of stored predictions only for these rows."""
    if isinstance(models, Mapping | pd.DataFrame):
        named = {str(name): model for name, model in models.items()}
    else:
        named = {f"model {number}": model for number, model in enumerate(models)}
    if len(named) < len(models if isinstance(models, list | tuple) else list(models)):
        raise ValueError("names of models must differ")
    predictors = {name: _predictor(name, model, table, y) for name, model in named.items()}
    columns = {tuple(getattr(model, "feature_names_in_", ())) for model in predictors.values()}
    is_stored = any(isinstance(model, StoredModel) for model in predictors.values())
    if not is_stored and len(columns) == 1:
        return predictors
    # Predictions know their rows by all columns, and models of other columns need others.
    return {name: _stored(name, model, table, y) for name, model in predictors.items()}


def _predictor(name: str, model: Any, table: Any, y: NDArray[Any]) -> Any:
    if is_statsmodels(model):
        try:
            return results_pipeline(model)
        except TypeError:  # of another likelihood: its predictions of these rows
            return StoredModel(name, model.predict(table), table, y)
    if hasattr(model, "predict") or isinstance(model, type):
        return model
    return StoredModel(name, model, table, y)


def _stored(name: str, model: Any, table: Any, y: NDArray[Any]) -> Any:
    """Predictions of a model for the rows, with its own labels."""
    if isinstance(model, StoredModel) or isinstance(model, type):
        return model
    names = getattr(model, "feature_names_in_", None)
    rows = table if names is None or not isinstance(table, pd.DataFrame) else table[list(names)]
    labels = model.predict(rows)
    if not hasattr(model, "predict_proba"):
        return StoredModel(name, labels, table, y)
    stored = StoredModel(name, model.predict_proba(rows), table, y)
    stored.values = np.asarray(labels)
    return stored


class StoredModel:
    """Predictions of one model for the audited rows: probabilities, labels, or numbers.

    Parameters
    ----------
    name : str
    predictions : array-like of shape (n_rows,) or (n_rows, n_classes)
        Of two classes one number is the probability of the second class in sorted order.
    rows : array-like of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,)
    """

    def __init__(self, name: str, predictions: Any, rows: Any, y: NDArray[Any]) -> None:
        try:
            values = np.asarray(as_pandas(predictions))
        except (TypeError, ValueError):  # lists of different lengths
            values = np.empty(0)
        if values.shape[:1] != y.shape or values.ndim > 2:
            raise TypeError(
                f"{name} must be a fitted model or one prediction for each of {len(y):,} rows, got "
                f"{type(predictions).__name__} of shape {values.shape}"
            )
        self.values = values[:, 0] if values.shape[1:] == (1,) else values
        self._rows, self.audited_name_ = fingerprint(rows), f"predictions of {name}"
        if type_of_target(y).startswith("continuous"):
            return
        labels = np.unique(y)
        is_number = values.dtype.kind in "fiub"
        if self.values.ndim == 2:
            self._store_probabilities(name, self.values, labels)
        elif np.isin(self.values, labels).all():
            self.classes_ = labels
        elif is_number and len(labels) == 2 and self.values.min() >= 0 and self.values.max() <= 1:
            self._store_probabilities(name, np.column_stack([1 - values, values]), labels)
        elif not is_number or y.dtype.kind not in "fiu":
            raise ValueError(
                f"{name} must predict the labels {labels[:5].tolist()} or their probabilities, got "
                f"{self.values[:3].tolist()}"
            )

    def _store_probabilities(self, name: str, shares: Any, labels: NDArray[Any]) -> None:
        if shares.shape[1] != len(labels):
            raise ValueError(
                f"{name} has probabilities of {shares.shape[1]} classes, and y has {len(labels)}"
            )
        self.classes_, self.values = labels, labels[shares.argmax(axis=1)]
        self.predict_proba = lambda rows: self._known(rows, shares)

    def predict(self, rows: Any) -> Any:
        """Labels or numbers that were predicted for the rows."""
        return self._known(rows, self.values)

    def _known(self, rows: Any, values: Any) -> Any:
        if fingerprint(rows) != self._rows:
            raise TypeError(
                "predictions of the audited rows alone are known: pass fitted models for others"
            )
        return values
