"""What is audited: the last step of a fitted model, on the rows that it sees."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.containers import as_pandas, is_frame
from rashomon_explorer.audits import columns as column_maps
from rashomon_explorer.audits.decisions import Decision, inner_model
from rashomon_explorer.measures.ranges.linear_models import fitted_parameters, row_weights

_SAMPLED = 5  # rows that show the width of each step
_ROUNDING = 1e-9
_TAGS = "__sklearn_tags__"
_MOST_CELLS = 200_000_000  # of the rows that the last step sees, without zeros left out


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
    if hasattr(model, "fit") and hasattr(model, _TAGS):
        check_is_fitted(model)
    if hasattr(model, "cv_results_") or getattr(model, "refit", None) is False:
        raise ValueError(f"{type(model).__name__} has no best estimator: fit it with refit=True")
    return (), model


def checked_parameters(model: AuditedModel, problem: Any) -> FloatArray:
    """Parameters (p,) of a fitted linear model; raise unless they predict what it predicts."""
    theta = fitted_parameters(model.estimator, problem)
    theta = -theta if model.reversed else theta
    scores = linear_scores(problem, theta, np.asarray(model.rows, dtype=float))
    if model.classes:
        what, differ = "another label", _label_differs(model, scores, model.cut(problem.loss.link))
    else:
        predicted = np.asarray(model.original.predict(model.fit_rows), dtype=float).ravel()
        gap = np.abs(predicted - scores[:, 0])
        what, differ = "another number", gap > 1e-6 * (1 + np.abs(scores).max())
    if differ.any():
        raise ValueError(
            f"the fitted model predicts {what} than its last step, "
            f"{type(model.estimator).__name__}, does for the transformed row: for "
            f"{int(differ.sum()):,} of {len(differ):,} rows, first {int(differ.argmax())}. "
            f"{_cause(model)}"
        )
    return theta


def linear_scores(problem: Any, theta: FloatArray, rows: FloatArray) -> FloatArray:
    """Scores (n_rows, outputs) of encoded rows without their constant."""
    each = theta.reshape(problem.loss.outputs, -1).T
    return np.asarray(rows @ each[:-1] + each[-1] if problem.intercept else rows @ each)


def codes_of_scores(scores: FloatArray, cut: float) -> NDArray[np.int_]:
    """Codes of labels from linear scores (n_rows, outputs)."""
    if scores.shape[1] > 1:
        return np.asarray(scores.argmax(axis=1))
    return (scores[:, 0] > cut).astype(int)


def _label_differs(model: AuditedModel, scores: FloatArray, cut: float) -> Mask:
    """Whether the linear scores give each row another label than the model, up to rounding."""
    codes = codes_of_scores(scores, cut)
    if scores.shape[1] > 1:
        first, second = np.sort(scores, axis=1)[:, [-1, -2]].T
        lead = first - second
    else:
        lead = np.abs(scores[:, 0] - cut)
    clear = lead > _ROUNDING * (1 + np.abs(scores).max(axis=1))
    return np.asarray((codes != model.codes) & clear)


def _cause(model: AuditedModel) -> str:
    """Name the step that transforms a row in two ways, or the rule."""
    rows = model.fit_rows
    for step in model.steps:
        after = _stepped(step, rows)
        again, first_row = _stepped(step, rows), _stepped(step, rows[:1])
        encoded_rows, twice, first = (
            np.asarray(_dense(encoded)) for encoded in (after, again, first_row)
        )
        if not np.array_equal(encoded_rows, twice) or not np.array_equal(encoded_rows[:1], first):
            name = column_maps.step_name(step)
            return f"{name} transforms a row in another way each time or with other rows"
        rows = after
    rule = type(model.original).__name__
    return f"The rule that decides, {rule}.predict, is not that of a linear score"


@dataclass(frozen=True, eq=False)
class AuditedModel:
    """A fitted model with the table and targets of its fit."""

    original: Any  # as given: an estimator, a pipeline or a search
    table: pd.DataFrame = field(repr=False)  # rows of the fit
    targets: NDArray[Any] = field(repr=False)  # (n_rows,)
    decision: Decision | None = None  # None for a regression
    reversed: bool = False  # whether scores are for the first of two classes, which is wanted
    takes: str = "frame"  # what the model takes: "frame", "array" or "texts"
    theta: FloatArray | None = None  # (p,): fitted parameters in its problem, if there is one
    people: float | None = None  # number of observations in its likelihood
    weights: FloatArray | None = None  # (n_rows,): in shares, rates and gaps; None if equal

    @classmethod
    def from_fit(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        threshold: float | None = None,
        wanted: Any = None,
        weights: ArrayLike | None = None,
    ) -> AuditedModel:
        """Check a fitted model, and the rows and targets of its fit."""
        fitted_steps(model)  # raises unless it is fitted
        _check_supervised(model)
        is_column = not isinstance(X, pd.DataFrame) and np.ndim(X) == 1 and len(X) == len(y)
        texts = is_column and all(isinstance(text, str) for text in X)
        table = as_table(model, X, texts=texts)
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
            row = int(np.argmax(pd.isna(targets)))
            raise ValueError(f"y has no value at row {row}: pass the rows of the fit")
        checked = None if weights is None else row_weights(None, targets, weights)
        container = _container(model, X, table, texts)
        audited = cls(model, table, targets, takes=container, weights=checked)
        if not audited.classes:
            if threshold is not None or wanted is not None:
                raise TypeError("threshold= and wanted= need classes, and this model has none")
            return audited
        decision = Decision.from_model(model, audited.classes, target, threshold, wanted)
        return replace(audited, decision=decision.fitting(model, audited.fit_rows))

    def scoring_wanted(self) -> AuditedModel:
        """Return the model with the wanted one of two classes as the second, which is scored."""
        first = self.decision is not None and len(self.classes) == 2
        if first and self.decision.wanted_code == 0:  # type: ignore[union-attr]
            return self.with_changes(reversed=True)
        return self

    def with_changes(self, **changes: Any) -> AuditedModel:
        """Copy with other fields, and with what does not depend on them."""
        copy = replace(self, **changes)
        for name in ("rows", "traced", "column_map", "separate_columns"):
            if name in self.__dict__:
                copy.__dict__[name] = self.__dict__[name]
        return copy

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
    def row_weights(self) -> FloatArray:
        """Weight (n_rows,) of each row in shares, rates and gaps."""
        return np.ones(len(self.table)) if self.weights is None else self.weights

    @property
    def estimator(self) -> Any:
        """The last step, which is audited."""
        return fitted_steps(self.original)[1]

    @property
    def name(self) -> str:
        """Class of the last step, after those of the steps before."""
        if hasattr(self.original, "audited_name_"):  # of another library
            return str(self.original.audited_name_)
        steps, last = fitted_steps(self.original)
        return " → ".join(type(inner_model(step) or step).__name__ for step in (*steps, last))

    @property
    def classes(self) -> tuple[Any, ...]:
        """Labels of the classes; empty for a regression."""
        last = self.estimator  # of another library perhaps, without tags
        classifies = is_classifier(last) if hasattr(last, _TAGS) else hasattr(last, "classes_")
        if not classifies:
            return ()
        classes = tuple(np.asarray(last.classes_).tolist())
        return classes[::-1] if self.reversed else classes

    @cached_property
    def traced(self) -> column_maps.Columns:
        """Columns that the last step sees as the structure of the steps describes them."""
        columns = column_maps.table_columns(list(self.table.columns))
        rows: Any = self._handed(self.table.iloc[:_SAMPLED])
        for step in self.steps:
            rows = _stepped(step, rows)
            names = [str(name) for name in getattr(rows, "columns", [])]
            names = names or [f"x{position}" for position in range(_width(rows))]
            try:
                after = column_maps.trace(step, columns)
            except Exception:  # no names, or no attribute that its kind has elsewhere
                after = ()
            named = len(after) == len(names)
            columns = after if named else column_maps.unnamed_columns(step, columns, names)
        return columns

    @cached_property
    def column_map(self) -> column_maps.TableColumnMap:
        """Use that the steps make of each column of the table, checked by running them."""
        steps = " → ".join(column_maps.step_name(step) for step in self.steps) or "the model"
        return column_maps.column_map(self._transformed, self.table, self.rows, self.traced, steps)

    @cached_property
    def separate_columns(self) -> tuple[dict[str, list[int]], dict[str, str]]:
        """Columns of the last step that one column of the table makes alone; why others do not.

        Checked on all rows: columns of the table that are mixed are shuffled together, and others
        each by itself. What they make must then be shuffled in the same way.
        """
        names, columns = [str(name) for name in self.table.columns], self.columns
        uses = np.array([[name in column.sources for column in columns] for name in names])
        n_parts, part_of = connected_components(uses.astype(int) @ uses.T.astype(int))
        rng = np.random.default_rng(0)
        orders = [rng.permutation(len(self.table)) for _ in range(n_parts)]
        table, rows = self.table.copy(), np.asarray(self.rows, dtype=float)
        for position, part in enumerate(part_of):
            shuffled: Any = self.table.iloc[:, position].take(orders[part])
            table.isetitem(position, shuffled.set_axis(table.index))
        gap, size = np.array(self._transformed(table), dtype=float), 1 + np.abs(rows).max(axis=0)
        for number, order in enumerate(orders):
            makes = uses[part_of == number].any(axis=0)
            gap[:, makes] -= rows[np.ix_(order, makes)]
        if (np.abs(gap[:, uses.any(axis=0)]) > _ROUNDING * size[uses.any(axis=0)]).any():
            return {}, dict.fromkeys(names, f"{self.name} mixes columns or rows")
        separate: dict[str, list[int]] = {}
        mixing: dict[str, str] = {}
        for name, used in zip(names, uses, strict=True):
            positions = np.flatnonzero(used).tolist()
            shared = next((columns[j] for j in positions if len(columns[j].sources) > 1), None)
            if shared is not None:
                mixing[name] = f"{shared.step or self.name} mixes it: {shared.feature}"
            elif positions:
                separate[name] = positions
        return separate, mixing

    @property
    def columns(self) -> column_maps.Columns:
        """Columns that the last step sees, traced to the columns of the table."""
        return self.column_map.columns

    @property
    def features(self) -> dict[str, list[int]]:
        """Columns that the last step sees, by place, for each feature of the table."""
        positions: dict[str, list[int]] = {}
        for position, column in enumerate(self.columns):
            positions.setdefault(column.feature, []).append(position)
        return positions

    @property
    def names(self) -> list[str]:
        """Different names of the columns that the last step sees, if possible of the table."""
        labels = [column.label for column in self.columns]
        tables = set(map(str, self.table.columns))
        names = [
            column.name if labels.count(label) > 1 and column.is_named(tables) else label
            for column, label in zip(self.columns, labels, strict=True)
        ]
        return column_maps.unique_names(names)

    @property
    def groups(self) -> dict[str, list[str]]:
        """Names of the columns that the last step sees, of each feature with others than its."""
        names = self.names
        named = {key: [names[column] for column in each] for key, each in self.features.items()}
        return {key: columns for key, columns in named.items() if columns != [key]}

    @property
    def steps(self) -> tuple[Any, ...]:
        """Transformers before the last step."""
        transformers = [
            step for step in fitted_steps(self.original)[0] if hasattr(step, "transform")
        ]
        return tuple(transformers)

    @property
    def resampler(self) -> str:
        """Name of a step that resampled the rows of the fit; empty without one."""
        steps = fitted_steps(self.original)[0]
        return next((type(step).__name__ for step in steps if hasattr(step, "fit_resample")), "")

    def other_rows_step(self) -> str:
        """Name of a step, such as TargetEncoder, whose ``fit_transform`` is not ``transform``."""
        rows = self.fit_rows
        for step in self.steps:
            try:
                fresh = clone(step)
                both = fresh.fit_transform(rows, self.targets), fresh.transform(rows)
                first, second = (np.asarray(_dense(values), dtype=float) for values in both)
            except Exception:  # a step that cannot be fitted again, or gives no numbers
                pass
            else:
                if first.shape != second.shape or not np.allclose(first, second):
                    return column_maps.step_name(step)
            rows = _stepped(step, rows)
        return ""

    @property
    def fit_rows(self) -> Any:
        """Rows of the fit as the model takes them."""
        return self._handed(self.table)

    def taken(self, rows: Any) -> Any:
        """Rows of a table as the model takes them: a DataFrame only if it was fitted to one."""
        return self._handed(self.read(rows))

    def read(self, rows: Any) -> pd.DataFrame:
        """Rows of a table with the columns of the fit."""
        return as_table(
            self.original, rows, like=list(self.table.columns), texts=self.takes == "texts"
        )

    def _handed(self, table: pd.DataFrame) -> Any:
        if self.takes == "texts":
            return table.iloc[:, 0]
        return table if self.takes == "frame" else table.to_numpy()

    @cached_property
    def rows(self) -> Any:
        """Rows of the fit as the last step sees them."""
        return self._transformed(self.table)

    def encoded(self, rows: Any) -> Any:
        """Rows of a table as the last step sees them."""
        return self._transformed(self.read(rows))

    def _transformed(self, table: pd.DataFrame) -> Any:
        rows = self._handed(table)
        for step in self.steps:
            rows = _stepped(step, rows)
        if math.prod(rows.shape) > _MOST_CELLS:
            name = column_maps.step_name(self.steps[-1])
            raise TypeError(f"{name} makes {_width(rows):,} columns, too many for proofs")
        return np.asarray(_dense(rows))

    def labels(self, codes: ArrayLike) -> NDArray[Any]:
        """Labels of class codes 0, 1, …."""
        return np.asarray(self.classes)[np.asarray(codes)]

    def directions(
        self, problem: Any, *, standardised: bool = False
    ) -> tuple[FloatArray, list[str]]:
        """Coefficients (k, p) in units of the table, complete levels from the most common one."""
        intercept, rows = problem.intercept, np.asarray(self.rows, dtype=float)
        slopes = np.array([column.slope for column in self.columns])
        is_level = [bool(column.level) for column in self.columns]
        # By standard deviation of the column in the units of the table; a level counts as 1.
        spreads = np.where(is_level, 1.0, rows.std(axis=0) / np.abs(slopes))
        matrix = np.diag(slopes * spreads if standardised else slopes)
        constant = np.array([column.offset for column in self.columns])
        names, is_listed = self.names, np.ones(len(matrix), dtype=bool)
        for positions, counts in self._complete_levels(rows):
            common = positions[int(np.argmax(counts))]
            constant = constant + matrix[common]
            is_listed[common] = False
            for position in positions:
                names[position] = f"{names[position]} vs {self.columns[common].level}"
                if position != common:
                    matrix[position] = matrix[position] - matrix[common]
        matrix = np.pad(matrix[is_listed], [(0, 0), (0, int(intercept))])
        names = [name for name, listed in zip(names, is_listed, strict=True) if listed]
        if intercept or constant.any():
            matrix = np.vstack([matrix, [*constant, *([1.0] * intercept)]])
            names = [*names, "intercept"]
        if problem.loss.outputs == 1:
            return matrix, names
        names = [f"{label}: {name}" for label in self.classes for name in names]
        return np.asarray(np.kron(problem.class_scores, matrix), dtype=float), names

    def _complete_levels(self, rows: FloatArray) -> Iterator[tuple[list[int], FloatArray]]:
        """Columns of each set of indicators of which one is 1 in every row, with their counts."""
        levels: dict[str, list[int]] = {}
        for position, column in enumerate(self.columns):
            if column.level and column.in_units:
                levels.setdefault(column.sources[0], []).append(position)
        for positions in levels.values():
            columns = [self.columns[position] for position in positions]
            offsets = np.array([column.offset for column in columns])
            indicators = (rows[:, positions] - offsets) / [column.slope for column in columns]
            if len(positions) > 1 and np.allclose(indicators.sum(axis=1), 1):
                yield positions, indicators.sum(axis=0)


def _dense(rows: Any) -> Any:
    return rows.toarray() if issparse(rows) else rows  # type: ignore[attr-defined]


def row_labels(rows: Any) -> pd.Index:
    """Index of a table's rows."""
    return rows.index if isinstance(rows, pd.DataFrame) else pd.RangeIndex(len(rows))


def _stepped(step: Any, rows: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names")
        return step.transform(rows)


def _width(rows: Any) -> int:
    return int(rows.shape[1]) if len(rows.shape) > 1 else 1


def _container(model: Any, X: Any, table: pd.DataFrame, texts: bool) -> str:
    if texts:
        return "texts"
    if hasattr(model, "feature_names_in_"):
        return "frame"
    if not isinstance(X, pd.DataFrame):
        return "array"
    options: list[tuple[str, Any]] = [("frame", table.head(2)), ("array", table.head(2).to_numpy())]
    if hasattr(model, "n_features_in_") and all(isinstance(name, str) for name in table.columns):
        options.reverse()  # a fit to a DataFrame would have stored its names
    for kind, rows in options:
        try:
            model.predict(rows)
        except Exception:  # of a step that takes the other kind
            continue
        return kind
    return options[0][0]


def _check_supervised(model: Any) -> None:
    last = fitted_steps(model)[1]
    if isinstance(last, list | tuple | dict | np.ndarray | pd.DataFrame):
        raise TypeError(
            "an audit needs a fitted model, or a list or mapping of them or of their predictions"
        )
    predicts = hasattr(last, "predict")
    if hasattr(last, _TAGS):  # another library says nothing of its kind
        predicts &= not (is_clusterer(last) or is_outlier_detector(last))
    if not predicts:
        raise TypeError(
            f"{type(last).__name__} does not predict targets: an audit needs a fitted classifier "
            "or regression, or a list of them"
        )


def as_table(
    model: Any, X: Any, *, like: Sequence[Any] | None = None, texts: bool = False
) -> pd.DataFrame:
    """Rows as a DataFrame with the columns that a model was fitted to, in their order."""
    if texts:
        if isinstance(X, pd.DataFrame):
            X = X.iloc[:, 0]
        column = pd.Series([X] if isinstance(X, str) else X, name=getattr(X, "name", None))
        return column.to_frame(str((like or [column.name])[0] or "text"))
    if isinstance(X, pd.DataFrame) and X.columns.has_duplicates:
        twice = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"X has several columns named {twice!r}: rename all but one")
    data = as_pandas(X)
    fitted = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    if isinstance(data, pd.Series):  # one row
        data = data.to_frame().T.infer_objects()
    if isinstance(data, pd.DataFrame) and fitted is not None:
        missing = [name for name in fitted if name not in data.columns]
        if missing:
            raise ValueError(
                f"X lacks the columns {missing[:5]} that the model was fitted to, got "
                f"{list(data.columns)[:10]}"
            )
        return data[list(fitted)]
    if is_frame(data):
        frame = data
    else:
        array = np.asarray(_dense(data))
        if array.ndim != 2 or not len(array):
            raise ValueError(f"X must be a table of shape (n_rows, n_features), got {array.shape}")
        names = fitted if fitted is not None else like
        if names is None or len(names) != array.shape[1]:
            names = [f"x{position}" for position in range(array.shape[1])]
        frame = pd.DataFrame(array, columns=[str(name) for name in names])
    if width is not None and frame.shape[1] != width:
        raise ValueError(
            f"X must have the {width} columns that the model was fitted to, got {frame.shape[1]}"
        )
    return frame
