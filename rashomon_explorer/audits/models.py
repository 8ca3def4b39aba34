"""What is audited: the last step of a fitted model, on the rows that it sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.containers import as_pandas, is_frame
from rashomon_explorer.audits.columns import Columns, table_columns, trace
from rashomon_explorer.audits.decisions import Decision, inner_model


def fitted_steps(model: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the transformers and the last step of a model, or of a search's best estimator."""
    if isinstance(model, type):
        raise TypeError(f"model must be a fitted model, got the class {model.__name__}")
    inner = inner_model(model)
    if inner is not None:
        return fitted_steps(inner)
    if isinstance(model, Pipeline):
        steps, last = fitted_steps(model.steps[-1][1])
        return (*(step for _, step in model.steps[:-1]), *steps), last
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if hasattr(model, "cv_results_") or getattr(model, "refit", None) is False:
        raise ValueError(f"{type(model).__name__} has no best estimator: fit it with refit=True")
    return (), model


@dataclass(frozen=True, eq=False)
class AuditedModel:
    """A fitted model with the table and targets of its fit."""

    original: Any  # as given: an estimator, a pipeline or a search
    table: pd.DataFrame = field(repr=False)  # rows of the fit
    targets: NDArray[Any] = field(repr=False)  # (n_rows,)
    class_names: tuple[Any, ...] = ()  # labels, if the fit was to codes 0, 1, …
    decision: Decision | None = None  # None for a regression
    reversed: bool = False  # whether scores are for the first of two classes, which is wanted

    @classmethod
    def from_fit(
        cls, model: Any, X: Any, y: Any, *, threshold: float | None = None, wanted: Any = None
    ) -> AuditedModel:
        """Check a fitted model, and the rows and targets of its fit."""
        fitted_steps(model)  # raises unless it is fitted
        table = as_table(model, X)
        target = str(getattr(y, "name", None) or "")
        targets = np.asarray(as_pandas(y))
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = targets[:, 0]
        if targets.shape != (len(table),):
            raise ValueError(
                f"y must hold one target for each of {len(table):,} rows of X, got shape "
                f"{targets.shape}"
            )
        if pd.isna(targets).any():
            place = int(np.argmax(pd.isna(targets)))
            raise ValueError(f"y has no value at row {place}: pass the rows of the fit")
        audited = cls(model, table, targets)
        if not audited.classes:
            if threshold is not None or wanted is not None:
                raise TypeError("threshold= and wanted= need classes, and this model has none")
            return audited
        decision = Decision.of_model(model, audited.classes, target, threshold, wanted)
        return replace(audited, decision=decision.fitting(model, audited.fit_rows))

    def scoring_wanted(self) -> AuditedModel:
        """Return the model with the wanted one of two classes as the second, which is scored."""
        first = self.decision is not None and len(self.classes) == 2
        if first and self.decision.wanted_code == 0:  # type: ignore[union-attr]
            return replace(self, reversed=True)
        return self

    @property
    def score_class(self) -> str:
        """Class that scores of two classes are for, such as ``approve='denied'``."""
        if self.decision is None or len(self.classes) != 2:
            return ""
        return self.decision.scored_text

    def cut(self, link: str) -> float:
        """Score of a linear model above which a person gets the second class."""
        if self.decision is None or len(self.classes) != 2:
            return 0.0
        cut = self.decision.cut(link)
        return -cut if self.reversed else cut

    @cached_property
    def codes(self) -> NDArray[np.int_]:
        """Codes 0, 1, … of the labels (n_rows,) that the decision rule gives the rows."""
        if self.decision is None:
            raise TypeError("labels need classes, and this model predicts numbers")
        codes = self.decision.codes(self.original, self.fit_rows)
        return 1 - codes if self.reversed else codes

    @property
    def estimator(self) -> Any:
        """The last step, which is audited."""
        return fitted_steps(self.original)[1]

    @property
    def name(self) -> str:
        """Class of the last step, after those of the steps before."""
        steps, last = fitted_steps(self.original)
        return " → ".join(type(one).__name__ for one in (*steps, last))

    @property
    def classes(self) -> tuple[Any, ...]:
        """Labels of the classes; empty for a regression."""
        if not is_classifier(self.estimator):
            return ()
        classes = self.class_names or tuple(np.asarray(self.estimator.classes_).tolist())
        return classes[::-1] if self.reversed else classes

    @cached_property
    def columns(self) -> Columns:
        """Columns that the last step sees, traced to the columns of the table."""
        columns = table_columns(list(self.table.columns))
        for step in fitted_steps(self.original)[0]:
            columns = trace(step, columns)
        return columns

    @property
    def features(self) -> dict[str, list[int]]:
        """Columns that the last step sees, by place, for each feature of the table."""
        found: dict[str, list[int]] = {}
        for place, column in enumerate(self.columns):
            found.setdefault(column.feature, []).append(place)
        return found

    @property
    def names(self) -> list[str]:
        """Different names of the columns that the last step sees, if possible of the table."""
        labels = [column.label for column in self.columns]
        return labels if len(set(labels)) == len(labels) else [one.name for one in self.columns]

    @property
    def groups(self) -> dict[str, list[str]]:
        """Names of the columns that the last step sees, of each feature with several."""
        names = self.names
        every = self.features.items()
        return {key: [names[j] for j in places] for key, places in every if len(places) > 1}

    @property
    def fit_rows(self) -> Any:
        """Rows of the fit as the model takes them."""
        return self.taken(self.table)

    def taken(self, rows: Any) -> Any:
        """Rows of a table as the model takes them: a DataFrame only if it was fitted to one."""
        table = as_table(self.original, rows, like=list(self.table.columns))
        return table if hasattr(self.original, "feature_names_in_") else table.to_numpy()

    @cached_property
    def rows(self) -> Any:
        """Rows of the fit as the last step sees them."""
        return self._transformed(self.table)

    def encoded(self, rows: Any) -> Any:
        """Rows of a table as the last step sees them."""
        return self._transformed(as_table(self.original, rows, like=list(self.table.columns)))

    def _transformed(self, table: pd.DataFrame) -> Any:
        steps, last = fitted_steps(self.original)
        rows: Any = table
        for step in (*steps, last):
            if not hasattr(step, "feature_names_in_") and isinstance(rows, pd.DataFrame):
                rows = rows.to_numpy()
            if step is not last and not (isinstance(step, str) and step == "passthrough"):
                rows = step.transform(rows) if step is not None else rows
        return _dense(rows)

    def labels(self, codes: ArrayLike) -> NDArray[Any]:
        """Labels of class codes 0, 1, …."""
        return np.asarray(self.classes)[np.asarray(codes)]

    def directions(
        self, intercept: bool, scores: FloatArray, *, standardised: bool = False
    ) -> tuple[FloatArray, list[str]]:
        """Coefficients in the units of the table, as directions (k, p) with their names.

        A column slope·v + offset adds its coefficient times ``slope`` per unit of v, and times
        ``offset`` to the intercept. Complete levels count from the most common one, which is part
        of the intercept; a standardised number, per standard deviation. ``scores`` is (k, outputs).
        """
        slopes = np.array([column.slope for column in self.columns])
        own = np.diag(slopes * self._spreads if standardised else slopes)
        constant = np.array([column.offset for column in self.columns])
        names, kept = self.names, np.ones(len(own), dtype=bool)
        for places in self.complete_levels():
            common = places[int(np.argmax(self._indicators(places).sum(axis=0)))]
            constant = constant + own[common]
            kept[common] = False
            for place in places:
                names[place] = f"{names[place]} vs {self.columns[common].level}"
                own[place] = own[place] - (own[common] if place != common else 0.0)
        own = np.pad(own[kept], [(0, 0), (0, int(intercept))])
        names = [name for name, listed in zip(names, kept, strict=True) if listed]
        if intercept or constant.any():
            own = np.vstack([own, [*constant, *([1.0] * intercept)]])
            names = [*names, "intercept"]
        if scores.size == 1:
            return own, names
        classes = map(str, self.classes)
        return np.asarray(np.kron(scores, own), dtype=float), [
            f"{c}: {name}" for c in classes for name in names
        ]

    @property
    def _spreads(self) -> FloatArray:
        """Standard deviation (p,) of each column in the units of the table, and 1 for levels."""
        spreads = np.asarray(self.rows, dtype=float).std(axis=0)
        return np.array(
            [
                1.0 if one.level else float(spread) / abs(one.slope)
                for one, spread in zip(self.columns, spreads, strict=True)
            ]
        )

    def complete_levels(self) -> list[list[int]]:
        """Return the columns of each set of indicators of which exactly one is 1 in every row."""
        levels: dict[str, list[int]] = {}
        for place, column in enumerate(self.columns):
            if column.level and column.in_units:
                levels.setdefault(column.sources[0], []).append(place)
        several = [places for places in levels.values() if len(places) > 1]
        return [one for one in several if np.allclose(self._indicators(one).sum(axis=1), 1)]

    def _indicators(self, places: list[int]) -> FloatArray:
        """Return the indicators (n_rows, k) of levels, without the scaling of later steps."""
        slopes, offsets = np.array(
            [(self.columns[j].slope, self.columns[j].offset) for j in places]
        ).T
        rows = np.asarray(self.rows, dtype=float)[:, places]
        return np.asarray((rows - offsets) / slopes)


@dataclass(frozen=True, eq=False)
class StoredModel:
    """The best of some models of which only the predictions are known."""

    table: pd.DataFrame = field(repr=False)  # rows that were predicted; without columns if unknown
    targets: NDArray[Any] = field(repr=False)
    classes: tuple[Any, ...]
    name = "stored predictions"
    original = None

    def labels(self, codes: ArrayLike) -> NDArray[Any]:
        """Labels of class codes 0, 1, …."""
        return np.asarray(self.classes)[np.asarray(codes)]

    def taken(self, rows: Any) -> Any:
        """Raise TypeError: other rows cannot be predicted."""
        raise TypeError("stored predictions do not tell what other rows would get")


def _dense(rows: Any) -> Any:
    return rows.toarray() if issparse(rows) else rows  # type: ignore[attr-defined]


def row_labels(rows: Any) -> pd.Index:
    """Index of a table's rows."""
    return rows.index if isinstance(rows, pd.DataFrame) else pd.RangeIndex(len(rows))


def as_table(model: Any, X: Any, *, like: Sequence[Any] | None = None) -> pd.DataFrame:
    """Rows as a DataFrame with the columns that a model was fitted to, in their order."""
    data = as_pandas(X)
    fitted = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    if isinstance(data, pd.Series):  # one row
        data = data.to_frame().T.infer_objects()
    if isinstance(data, pd.DataFrame) and fitted is not None:
        return _fitted_columns(data, list(fitted))
    frame = data if is_frame(data) else _unnamed(data, fitted if fitted is not None else like)
    if width is not None and frame.shape[1] != width:
        raise ValueError(
            f"X must have the {width} columns that the model was fitted to, got {frame.shape[1]}"
        )
    return frame


def _fitted_columns(data: pd.DataFrame, fitted: list[Any]) -> pd.DataFrame:
    missing = [name for name in fitted if name not in data.columns]
    if missing:
        raise ValueError(
            f"X lacks the columns {missing[:5]} that the model was fitted to, got "
            f"{list(data.columns)[:10]}"
        )
    return data[fitted]


def _unnamed(data: Any, names: Sequence[Any] | None) -> pd.DataFrame:
    array = np.asarray(_dense(data))
    if array.ndim != 2 or not len(array):
        raise ValueError(f"X must be a table of shape (n_rows, n_features), got {array.shape}")
    if names is None or len(names) != array.shape[1]:
        names = [f"x{place}" for place in range(array.shape[1])]
    return pd.DataFrame(array, columns=[str(name) for name in names])
