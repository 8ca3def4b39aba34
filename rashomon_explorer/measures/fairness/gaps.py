"""Gaps between groups, their frontier with the loss, and the task of a set's models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, as_numbers
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures.fairness import rates
from rashomon_explorer.measures.inputs import by_index

LABEL_GAPS: Mapping[str, tuple[str, ...]] = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("true_positive_rate",),
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
    **{name: (name,) for name in rates.LABEL_RATES},
}
"""Rates of which each gap is computed; of two rates the worse gap counts."""

SCORE_GAPS: Mapping[str, tuple[str, ...]] = {name: (name,) for name in rates.SCORE_RATES}

GAPS = {**LABEL_GAPS, **SCORE_GAPS}
RATES = {**rates.LABEL_RATES, **rates.SCORE_RATES}

USUAL_LABEL_GAPS = ("demographic_parity", "equal_opportunity", "equalized_odds", "accuracy_score")
USUAL_SCORE_GAPS = ("calibration_in_the_large", "expected_calibration_error")


@by_index
def fairness_gaps(
    labels: ArrayLike,
    y: ArrayLike,
    groups: rates.GroupsLike,
    metrics: Sequence[str] = USUAL_LABEL_GAPS,
    *,
    positive: Any = None,
    agg: str = "difference",
    method: str = "between_groups",
) -> pd.DataFrame:
    """Group gaps of every model's labels, as defined by fairlearn.

    With r_g the rate of group g and r that of all rows, ``"difference"`` is max_g r_g − min_g r_g
    and ``"ratio"`` min_g r_g / max_g r_g; with ``method="to_overall"`` they are max_g |r_g − r|
    and min_g min(r_g/r, r/r_g). The rates:

    - ``demographic_parity``: P(f = positive | g);
    - ``equal_opportunity``: P(f = positive | y = positive, g) (Hardt, Price and Srebro 2016);
    - ``equalized_odds``: the worse of that and P(f = positive | y ≠ positive, g) (same);
    - ``accuracy_score``, and every other rate of ``LABEL_RATES`` by its own name.

    The values equal those of ``fairlearn.metrics.<name>_<agg>``, which takes about half a second
    for one model and metric on 50,000 rows; here groups are counted for all models at once. One
    difference: a group without rows to count is an error here. In fairlearn its rate is 0, which
    alone may cause a gap of 1.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.
    y : array-like of shape (n_rows,)
        True labels.
    groups : array-like of shape (n_rows,), or table of shape (n_rows, n_attributes)
        Group of each row; for several attributes every combination that occurs is a group.
    metrics : sequence of str
        Keys of ``LABEL_GAPS``.
    positive : label, optional
        The label that counts as positive. Optional for labels 0 and 1 or −1 and 1, otherwise
        required.
    agg : {"difference", "ratio"}, default="difference"
    method : {"between_groups", "to_overall"}, default="between_groups"

    Returns
    -------
    pandas.DataFrame
        One row per model; columns are named like fairlearn's functions, such as
        ``demographic_parity_difference``. A ratio of 0 and 0 is NaN.

    Raises
    ------
    ValueError
        If a shape, value or name is wrong, there is only one group, a category has no rows, or a
        rate is undefined for a group.

    Examples
    --------
    >>> labels, y, groups = [[1, 0, 1, 1], [1, 0, 0, 1]], [1, 0, 0, 1], ["a", "a", "b", "b"]
    >>> fairness_gaps(labels, y, groups, ["demographic_parity", "accuracy_score"]).values.tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    check_kinds(agg, method)
    names = check_names(metrics, LABEL_GAPS)
    outcomes = rates.LabelOutcomes.from_labels(labels, y, positive)
    coded = rates.Groups.from_attributes(groups, len(outcomes.truth))
    needed = _unique(rate for name in names for rate in GAPS[name])
    sizes = {rate: RATES[rate].sizes(rate, outcomes, coded) for rate in needed}
    sums = rate_sums(needed, outcomes, coded.codes, len(coded.names))
    return gap_table(names, rate_values(sums, sizes), agg, method).add_suffix(f"_{agg}")


RateValues = dict[str, FloatArray]
"""Values (n_models, n_groups + 1) of each rate: in each group, and in the last column over all."""


def rate_sums(
    names: Iterable[str], outcomes: rates.Outcomes, codes: rates.Codes, n_groups: int
) -> dict[str, NDArray[Any]]:
    """Sum each rate over the rows of a chunk, in each group."""
    return {name: RATES[name].chunk_sums(outcomes, codes, n_groups) for name in names}


def rate_values(sums: Mapping[str, NDArray[Any]], sizes: Mapping[str, IntArray]) -> RateValues:
    """Values of the rates, from sums over all rows and the groups' sizes."""
    values = {}
    for name, size in sizes.items():
        by_group = RATES[name].value(sums[name], size)
        total = sums[name].sum(axis=1, keepdims=True)
        overall = RATES[name].value(total, size.sum(keepdims=True))
        values[name] = np.concatenate([by_group, overall], axis=1)
    return values


def gap_table(names: Sequence[str], values: RateValues, agg: str, method: str) -> pd.DataFrame:
    """Gaps of every model, one column per metric."""
    gaps: dict[str, FloatArray] = {}
    for rate in _unique(rate for name in names for rate in GAPS[name]):
        if agg == "ratio" and RATES[rate].signed:
            raise ValueError(f"{rate} may be negative and allows no ratio: use agg='difference'")
        gaps[rate] = _GAPS[agg, method](values[rate][:, :-1], values[rate][:, -1:])
    columns = {name: _WORSE[agg]([gaps[rate] for rate in GAPS[name]]) for name in names}
    return pd.DataFrame(columns).rename_axis(index="model")


def check_names(metrics: Sequence[str], allowed: Mapping[str, Any]) -> list[str]:
    """Return the names of metrics without duplicates."""
    if isinstance(metrics, str) or not len(metrics):
        raise ValueError(f"metrics must be a list of names, at least one, got {metrics!r}")
    for name in metrics:
        if name not in allowed:
            raise ValueError(f"metrics must be among {sorted(allowed)}, got {name!r}")
    return _unique(metrics)


def check_kinds(agg: str, method: str) -> None:
    """Raise ValueError for an unknown aggregation or method."""
    if agg not in _WORSE:
        raise ValueError(f"agg must be 'difference' or 'ratio', got {agg!r}")
    if (agg, method) not in _GAPS:
        raise ValueError(f"method must be 'between_groups' or 'to_overall', got {method!r}")


def _unique(names: Any) -> list[str]:
    return list(dict.fromkeys(names))


# From rates (n_models, n_groups) and those of all rows (n_models, 1) to gaps (n_models,).
_GAPS: dict[tuple[str, str], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ("difference", "between_groups"): lambda rates, overall: np.ptp(rates, axis=1),
    ("ratio", "between_groups"): lambda rates, overall: _quotient(
        rates.min(axis=1), rates.max(axis=1)
    ),
    ("difference", "to_overall"): lambda rates, overall: np.abs(rates - overall).max(axis=1),
    ("ratio", "to_overall"): lambda rates, overall: _quotient(
        np.minimum(rates, overall), np.maximum(rates, overall)
    ).min(axis=1),
}
_WORSE: dict[str, Callable[[list[FloatArray]], FloatArray]] = {
    "difference": lambda gaps: np.asarray(np.max(gaps, axis=0)),
    "ratio": lambda gaps: np.asarray(np.min(gaps, axis=0)),
}


def _quotient(less: FloatArray, more: FloatArray) -> FloatArray:
    return np.divide(less, more, out=np.full_like(more, np.nan), where=more > 0)


def frontier(
    gaps: ArrayLike, *, accuracy: ArrayLike | None = None, losses: ArrayLike | None = None
) -> pd.DataFrame:
    """Pareto frontier of the models in accuracy (or loss) and group gap.

    A model is excluded if another is at least as good in both and better in one. For sampled
    models the frontier is an inner bound: the set has models on or beyond it. It is also
    optimistic, since models are selected on the rows of evaluation (docs/measures.md).

    Parameters
    ----------
    gaps : array-like of shape (n_models,)
        Smaller is fairer; for a ratio pass 1 − ratio. Models with NaN are excluded.
    accuracy : array-like of shape (n_models,), optional
        Larger is better. Pass either this or ``losses``.
    losses : array-like of shape (n_models,), optional
        Smaller is better.

    Returns
    -------
    pandas.DataFrame
        Index ``model``, the index in the input; columns ``accuracy`` or ``loss``, and ``gap``; the
        most accurate first. Of models that tie in both only the first is listed.

    Raises
    ------
    ValueError
        If not exactly one of accuracy and losses is given, lengths differ, accuracies or losses
        are not finite, or no model has a gap.

    Examples
    --------
    >>> frontier([0.10, 0.05, 0.07, 0.02], accuracy=[0.80, 0.79, 0.78, 0.77]).index.tolist()
    [0, 1, 3]
    """
    if (accuracy is None) == (losses is None):
        raise ValueError("pass exactly one of accuracy and losses")
    name, sign = ("loss", 1.0) if accuracy is None else ("accuracy", -1.0)
    quality = _numbers(losses if accuracy is None else accuracy, name)
    values = _numbers(gaps, "gaps", missing=True)
    if values.shape != quality.shape:
        raise ValueError(f"gaps has shape {values.shape}, but {name} has {quality.shape}")
    defined = np.flatnonzero(~np.isnan(values))
    if not len(defined):
        raise ValueError("gaps must be a number for at least one model")
    order = defined[np.lexsort((defined, values[defined], sign * quality[defined]))]
    below = np.minimum.accumulate(np.concatenate([[np.inf], values[order][:-1]]))
    undominated = order[values[order] < below]
    table = pd.DataFrame({name: quality[undominated], "gap": values[undominated]})
    return table.set_index(pd.Index(undominated, name="model"))


def _numbers(values: ArrayLike | None, name: str, *, missing: bool = False) -> FloatArray:
    array = as_numbers(values, f"{name} must be numbers, one per model")
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n_models,), got {array.shape}")
    wrong = np.isinf(array) if missing else ~np.isfinite(array)
    if wrong.any():
        raise ValueError(f"{name} must be finite, got {array[wrong][0]} at {int(wrong.argmax())}")
    return array


_USUAL = {
    "classification": (*USUAL_LABEL_GAPS, *USUAL_SCORE_GAPS),
    "regression": ("mean_prediction", "mean_absolute_error", "calibration_in_the_large"),
}
_QUALITY = "quality"
QUALITY = {"classification": "accuracy", "regression": "mean_absolute_error"}


@dataclass(frozen=True, eq=False)
class FairnessTask:
    """Truth, groups and metrics."""

    task: str
    truth: NDArray[Any]  # (n_rows,): codes of classes, or targets
    groups: rates.Groups
    positive: int  # code of the positive class; unused for a regression
    metrics: tuple[str, ...]
    agg: str
    method: str
    n_bins: int
    # default metrics that are undefined for some group, and why
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_models(
        cls,
        models: Any,
        y: ArrayLike,
        groups: rates.GroupsLike,
        metrics: Sequence[str] | None,
        positive: Any,
        *,
        agg: str,
        method: str,
        n_bins: int,
    ) -> FairnessTask:
        """Create a task with targets in the models' coding."""
        from rashomon_explorer.sets.models.fitted import class_codes

        check_kinds(agg, method)
        names = _metrics(models, metrics, agg)
        targets = np.asarray(y)
        if targets.ndim != 1:
            raise ValueError(f"y must hold one target per row, got shape {targets.shape}")
        truth, code = targets, 0
        if models.task == "classification":
            classes = tuple(models.classes) or tuple(range(models.n_classes or 2))
            truth, code = class_codes(targets, classes, "y"), _code(positive, classes)
        elif positive is not None:
            raise ValueError(f"positive must be None for a regression, got {positive!r}")
        coded_groups = rates.Groups.from_attributes(groups, len(truth))
        task = cls(models.task, truth, coded_groups, code, names, agg, method, n_bins)
        if metrics is not None:
            return task
        left_out = {}
        for name in names:
            for rate in GAPS[name]:
                try:
                    task.sizes(rate)
                except ValueError as error:
                    left_out[name] = str(error)
        defined = tuple(name for name in names if name not in left_out)
        return replace(task, metrics=defined, left_out=left_out)

    @property
    def rates(self) -> dict[str, IntArray]:
        """Rates of the metrics, with the number of rows (n_groups,) over which each is computed."""
        return {rate: self.sizes(rate) for name in self.metrics for rate in GAPS[name]}

    def sizes(self, rate: str) -> IntArray:
        """Count the rows (n_groups,) of a rate; raise if a group has none."""
        truth = (self.truth == self.positive).astype(np.uint8)
        empty = rates.LabelOutcomes(np.empty((0, len(truth)), np.uint8), truth, 1)
        return RATES[rate].sizes(rate, empty, self.groups)

    def sums(
        self, names: Iterable[str], scores: FloatArray, truth: NDArray[Any], codes: NDArray[Any]
    ) -> dict[Any, Any]:
        """Sum quality and rates over a chunk of scores (n_models, n_rows[, n_classes])."""
        if scores.shape[1] != len(truth):
            raise ValueError(
                f"y must hold one target for each of {scores.shape[1]} rows, got {len(truth)}"
            )
        n_groups = len(self.groups.names)
        labelled = [rate for rate in names if rate in rates.LABEL_RATES]
        scored_rates = [rate for rate in names if rate not in rates.LABEL_RATES]
        if self.task == "regression":
            scored = rates.ScoreOutcomes.from_scores(scores, truth, self.n_bins)
            quality = np.abs(scores - truth).sum(axis=1)
            return {_QUALITY: quality, **rate_sums(scored_rates, scored, codes, n_groups)}
        labels = rates.LabelOutcomes.from_scores(scores, truth, self.positive)
        positive = scores if scores.ndim == 2 else scores[:, :, self.positive]
        if scores.ndim == 2 and self.positive != 1:
            positive = 1 - scores
        scored = rates.ScoreOutcomes.from_scores(positive, labels.is_positive, self.n_bins)
        return {
            _QUALITY: np.count_nonzero(labels.values == labels.truth, axis=1),
            **rate_sums(labelled, labels, codes, n_groups),
            **rate_sums(scored_rates, scored, codes, n_groups),
        }

    def table(self, sums: Mapping[Any, Any], values: RateValues) -> pd.DataFrame:
        """Quality and gaps of models, from sums over all rows and the rates."""
        table = gap_table(self.metrics, values, self.agg, self.method).add_suffix(f"_{self.agg}")
        table.insert(0, QUALITY[self.task], np.asarray(sums[_QUALITY] / len(self.truth)))
        return table


def need_curator(models: object, instead: str) -> None:
    """Raise for sets for which the models inside ψ are unknown."""
    from rashomon_explorer.sets import CuratorSet, ReleasedSet

    if isinstance(models, ReleasedSet):
        raise CuratorOnlyError(
            "a release does not state which draws lie in the Rashomon set; on public rows use "
            f"{instead}, which covers all released draws"
        )
    if not isinstance(models, CuratorSet):
        raise TypeError(
            f"models must be a RashomonSet or PredictorSet, got {type(models).__name__}"
        )


def _metrics(models: Any, metrics: Sequence[str] | None, agg: str) -> tuple[str, ...]:
    allowed = {**SCORE_GAPS, **(LABEL_GAPS if models.task == "classification" else {})}
    if metrics is not None:
        return tuple(check_names(metrics, allowed))
    no_ratio = [name for name, rate in rates.SCORE_RATES.items() if rate.signed and agg == "ratio"]
    no_chance = USUAL_SCORE_GAPS if getattr(models, "link", None) == "sign" else ()
    return tuple(
        name for name in _USUAL[models.task] if name not in no_ratio and name not in no_chance
    )


def _code(positive: Any, classes: tuple[Any, ...]) -> int:
    if positive is None:
        if len(classes) > 2:
            raise ValueError(
                f"positive must be the one of the classes {list(classes)} that the rates count, "
                f"such as positive={classes[-1]!r}"
            )
        return 1
    if positive not in classes:
        raise ValueError(f"positive must be one of the classes {list(classes)}, got {positive!r}")
    return classes.index(positive)
