"""Rates of labels and scores by group."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask, as_numbers, likeliest
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.measures import inputs

Codes = NDArray[np.integer[Any]]
GroupsLike = ArrayLike | pd.Series | pd.DataFrame


@dataclass(frozen=True, eq=False)
class Groups:
    """Group of each row."""

    codes: Codes  # (n_rows,): index of the row's group in ``names``; each group has rows
    names: tuple[Any, ...]  # one per group; for several attributes a tuple of their values
    attributes: tuple[str, ...]  # names of the attributes that define the groups

    @classmethod
    def from_attributes(cls, groups: "GroupsLike", n_rows: int) -> "Groups":
        """Read groups from one attribute, or from several attributes, one per column."""
        columns = _columns(groups)
        coded = [_coded(column, name, n_rows) for name, column in columns.items()]
        sizes = [len(names) for _, names in coded]
        crossed = np.ravel_multi_index(tuple(codes for codes, _ in coded), tuple(sizes))
        present, codes = np.unique(crossed, return_inverse=True)
        if len(present) < 2:
            raise ValueError(
                "groups must hold at least two groups to compare, got one: every row is in "
                f"{coded[0][1][0]!r}"
            )
        combinations = np.column_stack(np.unravel_index(present, sizes)).tolist()
        names = [tuple(coded[j][1][k] for j, k in enumerate(levels)) for levels in combinations]
        group_names = tuple(names) if len(coded) > 1 else tuple(name[0] for name in names)
        return cls(codes, group_names, tuple(columns))

    @property
    def sizes(self) -> NDArray[np.int_]:
        """Number of rows of each group, shape (n_groups,)."""
        return np.bincount(self.codes, minlength=len(self.names))

    @property
    def texts(self) -> list[str]:
        """Name of each group as text."""
        return [
            ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)
            for name in self.names
        ]

    def table(self) -> pd.DataFrame:
        """Attributes of each row, one per column."""
        return self.index()[self.codes].to_frame(index=False)

    def index(self) -> pd.Index:
        """Names as an index, with one level per attribute."""
        if len(self.attributes) > 1:
            return pd.MultiIndex.from_tuples(list(self.names), names=list(self.attributes))
        return pd.Index(list(self.names), name=self.attributes[0])


def _columns(groups: GroupsLike) -> dict[str, Any]:
    columns: dict[str, Any]
    if isinstance(groups, pd.DataFrame):
        columns = {str(name): groups.iloc[:, index] for index, name in enumerate(groups.columns)}
        if len(columns) < groups.shape[1]:
            raise ValueError(f"groups must have unique column names, got {list(groups.columns)}")
    elif np.ndim(groups) == 2:
        array = np.asarray(groups)
        columns = {f"attribute {index}": column for index, column in enumerate(array.T)}
    else:
        name = getattr(groups, "name", None)
        columns = {"group" if name is None else str(name): groups}
    if not columns:
        raise ValueError("groups has no columns: the data have no sensitive attribute")
    return columns


def _coded(column: Any, name: str, n_rows: int) -> tuple[Codes, list[Any]]:
    codes, names = inputs.group_codes(column, n_rows)
    empty = np.flatnonzero(np.bincount(codes, minlength=len(names)) == 0)
    if len(empty):
        raise ValueError(
            f"groups declares the category {names[empty[0]]!r} of {name!r}, which has no rows and "
            "hence no rates: remove it, with .cat.remove_unused_categories()"
        )
    return codes, names


@dataclass(frozen=True, eq=False)
class Cells:
    """Selected rows of a chunk in the order of their groups."""

    order: NDArray[np.intp]  # (n_selected,): rows, sorted by group
    sizes: NDArray[np.int_]  # (n_groups,): number of selected rows of each group

    @classmethod
    def from_codes(cls, codes: Codes, n_groups: int, selected: Mask | None = None) -> "Cells":
        """Order all rows, or the selected ones, by group."""
        rows = np.arange(len(codes)) if selected is None else np.flatnonzero(selected)
        order = rows[np.argsort(codes[rows], kind="stable")]
        return cls(order, np.bincount(codes[rows], minlength=n_groups))

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum (n_models, n_groups) of values (n_models, n_selected) that are in this order."""
        kind = np.int64 if values.dtype.kind in "bui" else np.float64
        counted = values.view(np.uint8) if values.dtype == np.bool_ else values
        totals = np.zeros((len(values), len(self.sizes)), dtype=kind)
        present = self.sizes > 0
        if present.any():
            starts = (np.cumsum(self.sizes) - self.sizes)[present]
            totals[:, present] = np.add.reduceat(counted, starts, axis=1, dtype=kind)
        return totals


@dataclass(frozen=True, eq=False)
class LabelOutcomes:
    """Coded labels of models and the true labels."""

    values: inputs.Bytes  # (n_models, n_rows)
    truth: inputs.Bytes  # (n_rows,): codes of the true labels
    positive: int  # code of the label that counts as positive

    @classmethod
    def from_labels(cls, labels: ArrayLike, y: ArrayLike, positive: Any = None) -> "LabelOutcomes":
        """Check and code labels of any type."""
        coded = inputs.Predictions.from_labels(labels)
        coded = replace(coded, classes=_plain(coded.classes))
        truth = _truth(y, coded)
        codes = inputs.code_labels(truth, coded.classes, "y")
        label = _positive(positive, coded, truth)
        code = inputs.code_labels(np.array([label]), coded.classes, "positive")[0]
        return cls(coded.values, codes, int(code))

    @classmethod
    def from_scores(cls, scores: FloatArray, truth: ArrayLike, positive: int) -> "LabelOutcomes":
        """Labels predicted from scores, and codes of the true labels."""
        codes = likeliest(scores).astype(np.uint8)
        return cls(codes, np.asarray(truth).astype(np.uint8), positive)

    @property
    def is_positive(self) -> Mask:
        """Mask of the rows whose true label is the positive one."""
        return self.truth == self.positive


@dataclass(frozen=True, eq=False)
class ScoreOutcomes:
    """Scores of models and the true targets."""

    values: FloatArray  # (n_models, n_rows)
    # (n_rows,): targets; for probabilities 1 if the row is of their class and 0 otherwise
    truth: FloatArray
    n_bins: int = 10  # number of bins of the expected calibration error

    @classmethod
    def from_scores(cls, scores: ArrayLike, y: ArrayLike, n_bins: int = 10) -> "ScoreOutcomes":
        """Check scores and targets."""
        values = inputs.as_models_by_rows(scores, "scores")
        truth = as_numbers(y, "y must be numbers (for probabilities 1 for their class, else 0)")
        if truth.shape != values.shape[1:]:
            raise ValueError(
                f"y must hold one target for each of {values.shape[1]} rows, got {truth.shape}"
            )
        if not np.isfinite(truth).all():
            raise ValueError(f"y holds NaN or infinity at row {int(np.isfinite(truth).argmin())}")
        check_count(n_bins=n_bins)
        return cls(values, truth, int(n_bins))


Outcomes = LabelOutcomes | ScoreOutcomes


@dataclass(frozen=True)
class Rate:
    """Mean of terms of a model's predictions in a group, from sums over chunks of rows."""

    # Terms (n_models, k) of (outcomes, values (n_models, k), truth (k,)).
    terms: Callable[[Any, NDArray[Any], NDArray[Any]], NDArray[Any]]
    among: str = "all"
    signed: bool = False

    def chunk_sums(self, outcomes: Any, codes: Codes, n_groups: int) -> NDArray[Any]:
        """Sum over the rows of a chunk, (n_models, n_groups, …)."""
        cells = Cells.from_codes(codes, n_groups, self._selection(outcomes))
        truth = outcomes.truth[cells.order]
        blocks = (block[:, cells.order] for block in inputs.model_batches(outcomes.values))
        return np.concatenate([self._sums(outcomes, block, truth, cells) for block in blocks])

    def value(self, sums: FloatArray, sizes: IntArray) -> FloatArray:
        """Value (n_models, n_groups), from sums over all rows and the groups' sizes."""
        return np.asarray(sums / sizes)

    def _sums(
        self, outcomes: Any, values: NDArray[Any], truth: NDArray[Any], cells: Cells
    ) -> NDArray[Any]:
        return cells.sums(self.terms(outcomes, values, truth))

    def sizes(self, name: str, outcomes: Any, groups: Groups) -> IntArray:
        """Count the rows (n_groups,) of the rate; raise if a group has none."""
        cells = Cells.from_codes(groups.codes, len(groups.names), self._selection(outcomes))
        if not cells.sizes.all():
            group = int(np.argmin(cells.sizes))
            raise ValueError(
                f"{name} counts rows {self.among} in y; the group {groups.names[group]!r} "
                f"({groups.sizes[group]} rows) has none, so the metric is undefined there: merge "
                "the group with another, remove its rows, or omit the metric"
            )
        return cells.sizes

    def _selection(self, outcomes: Any) -> Mask | None:
        if self.among == "all":
            return None
        positive: Mask = outcomes.is_positive
        return positive if self.among == "positive" else ~positive


class CalibrationError(Rate):
    """Sum over bins of the scores of the size of a mean residual, times the bin's share."""

    def _sums(
        self, outcomes: ScoreOutcomes, values: FloatArray, truth: FloatArray, cells: Cells
    ) -> FloatArray:
        """Sum the residuals (n_models, n_groups, n_bins)."""
        if values.size:
            inputs.as_probabilities(values)
        if not np.isin(truth, (0, 1)).all():
            raise ValueError(
                "expected_calibration_error needs y of 0 and 1 (1: class of the scores)"
            )
        shape = len(values), len(cells.sizes), outcomes.n_bins
        bin_of = np.minimum((values * shape[2]).astype(np.intp), shape[2] - 1)
        group_of = np.repeat(np.arange(shape[1]), cells.sizes)
        cell = (np.arange(shape[0])[:, None] * shape[1] + group_of) * shape[2] + bin_of
        residuals = self.terms(outcomes, values, truth).ravel()
        sums = np.bincount(cell.ravel(), residuals, minlength=math.prod(shape))
        return np.asarray(sums.reshape(shape))

    def value(self, sums: FloatArray, sizes: IntArray) -> FloatArray:
        """Value (n_models, n_groups), from sums over all rows and the groups' sizes."""
        return np.asarray(np.abs(sums).sum(axis=2) / sizes)


def _selected(labels: LabelOutcomes, codes: inputs.Bytes, truth: inputs.Bytes) -> Mask:
    return codes == labels.positive


def _rejected(labels: LabelOutcomes, codes: inputs.Bytes, truth: inputs.Bytes) -> Mask:
    return codes != labels.positive


def _residuals(_: Any, scores: FloatArray, truth: FloatArray) -> FloatArray:
    return truth - scores


LABEL_RATES: Mapping[str, Rate] = {
    "selection_rate": Rate(_selected),
    "true_positive_rate": Rate(_selected, among="positive"),
    "false_negative_rate": Rate(_rejected, among="positive"),
    "false_positive_rate": Rate(_selected, among="negative"),
    "true_negative_rate": Rate(_rejected, among="negative"),
    "accuracy_score": Rate(lambda _, codes, truth: codes == truth),
}
"""Rates of labels, by their names in fairlearn and scikit-learn."""

SCORE_RATES: Mapping[str, Rate] = {
    "mean_prediction": Rate(lambda _, scores, truth: scores, signed=True),
    "mean_absolute_error": Rate(lambda _, scores, truth: np.abs(truth - scores)),
    "calibration_in_the_large": Rate(_residuals, signed=True),
    "expected_calibration_error": CalibrationError(_residuals),
}
"""Values of scores by name, of probabilities s of one class or predicted targets s.

``calibration_in_the_large`` is the mean of y − s (Van Calster et al. 2019), signed, so groups with
opposite errors of the same size have a gap. ``expected_calibration_error`` is
Σ_b (n_b/n)·|mean y − mean s in b| over bins of equal width (Naeini, Cooper and Hauskrecht 2015); it
is biased upwards, more so for fewer rows (docs/measures.md).
"""


_DEFAULTS = ({0, 1}, {-1, 1})


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Convert labels of pandas object columns to a numeric or text array."""
    return np.asarray(labels.tolist()) if labels.dtype == object else labels


def _truth(y: ArrayLike, coded: inputs.Predictions) -> NDArray[Any]:
    truth = np.asarray(y)
    n_rows = coded.values.shape[1]
    if truth.shape != (n_rows,):
        raise ValueError(f"y must hold one label for each of {n_rows} rows, got {truth.shape}")
    if pd.isna(truth).any():
        raise ValueError("y holds a missing label: remove the row")
    return _plain(truth)


def _positive(positive: Any, coded: inputs.Predictions, truth: NDArray[Any]) -> Any:
    """Positive label among those that occur in the truth or in a model; codes may not occur."""
    labels = np.unique(truth).tolist()
    for code, label in enumerate(coded.classes.tolist()):
        if label not in labels and any(
            (block == code).any() for block in inputs.model_batches(coded.values)
        ):
            labels.append(label)
    labels.sort()
    if positive is not None:
        if positive not in labels:
            raise ValueError(f"positive must be one of the labels {labels}, got {positive!r}")
        return positive
    if any(pair.issuperset(labels) for pair in _DEFAULTS):
        return 1
    raise ValueError(
        f"positive must be the label of {labels} that the rates count: it is optional only for "
        "labels 0 and 1, or -1 and 1"
    )
