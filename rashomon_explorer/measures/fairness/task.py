"""Fairness task of a set: quality of each model and gaps between groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures.fairness import gaps
from rashomon_explorer.measures.fairness import rates as rate_terms

_USUAL = {
    "classification": (*gaps.USUAL_LABEL_GAPS, *gaps.USUAL_SCORE_GAPS),
    "regression": ("mean_prediction", "mean_absolute_error", "calibration_in_the_large"),
}
_QUALITY = "quality"
QUALITY = {"classification": "accuracy", "regression": "mean_absolute_error"}


@dataclass(frozen=True, eq=False)
class FairnessTask:
    """Truth, groups and metrics."""

    task: str
    truth: NDArray[Any]  # (n_rows,): codes of classes, or targets
    groups: rate_terms.Groups
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
        groups: rate_terms.GroupsLike,
        metrics: Sequence[str] | None,
        positive: Any,
        *,
        agg: str,
        method: str,
        n_bins: int,
    ) -> "FairnessTask":
        """Create a task with targets in the models' coding."""
        from rashomon_explorer.sets.models.fitted import class_codes

        gaps.check_kinds(agg, method)
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
        found = rate_terms.Groups.from_attributes(groups, len(truth))
        task = cls(models.task, truth, found, code, names, agg, method, n_bins)
        if metrics is not None:
            return task
        left_out = task._undefined_metrics()
        defined = tuple(name for name in names if name not in left_out)
        return replace(task, metrics=defined, left_out=left_out)

    def _undefined_metrics(self) -> dict[str, str]:
        """Metrics that are undefined for some group, and the reason for each."""
        reasons = {}
        for name in self.metrics:
            for rate in gaps.GAPS[name]:
                try:
                    self.sizes(rate)
                except ValueError as error:
                    reasons[name] = str(error)
        return reasons

    @property
    def rates(self) -> dict[str, IntArray]:
        """Rates of the metrics, with the number of rows (n_groups,) over which each is computed."""
        return {rate: self.sizes(rate) for name in self.metrics for rate in gaps.GAPS[name]}

    def sizes(self, rate: str) -> IntArray:
        """Count the rows (n_groups,) of a rate; raise if a group has none."""
        truth = (self.truth == self.positive).astype(np.uint8)
        empty = rate_terms.LabelOutcomes(np.empty((0, len(truth)), np.uint8), truth, 1)
        return gaps.RATES[rate].sizes(rate, empty, self.groups)

    def sums(
        self, names: Iterable[str], scores: FloatArray, truth: NDArray[Any], codes: rate_terms.Codes
    ) -> dict[Any, Any]:
        """Sum quality and rates over a chunk of scores (n_models, n_rows[, n_classes])."""
        if scores.shape[1] != len(truth):
            raise ValueError(
                f"y must hold one target for each of {scores.shape[1]} rows, got {len(truth)}"
            )
        shape = len(self.groups.names), self.method
        labelled = [rate for rate in names if rate in rate_terms.LABEL_RATES]
        others = [rate for rate in names if rate not in rate_terms.LABEL_RATES]
        if self.task == "regression":
            scored = rate_terms.ScoreOutcomes.from_scores(scores, truth, self.n_bins)
            quality = np.abs(scores - truth).sum(axis=1)
            return {_QUALITY: quality, **gaps.rate_sums(others, scored, codes, *shape)}
        labels = rate_terms.LabelOutcomes.from_scores(scores, truth, self.positive)
        own = scores[:, :, self.positive] if scores.ndim == 3 else scores
        own = 1 - own if scores.ndim == 2 and self.positive != 1 else own
        scored = rate_terms.ScoreOutcomes.from_scores(own, labels.is_positive, self.n_bins)
        return {
            _QUALITY: np.count_nonzero(labels.values == labels.truth, axis=1),
            **gaps.rate_sums(labelled, labels, codes, *shape),
            **gaps.rate_sums(others, scored, codes, *shape),
        }

    def table(self, sums: Mapping[Any, Any]) -> pd.DataFrame:
        """Quality and gaps of models, from sums over all rows."""
        quality = np.asarray(sums[_QUALITY] / len(self.truth))
        table = gaps.gap_table(self.metrics, dict(sums), self.rates, self.agg, self.method)
        table.insert(0, QUALITY[self.task], quality)
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
    known = {**gaps.SCORE_GAPS, **(gaps.LABEL_GAPS if models.task == "classification" else {})}
    if metrics is not None:
        return tuple(gaps.check_names(metrics, known))
    no_ratio = [
        name for name, rate in rate_terms.SCORE_RATES.items() if rate.signed and agg == "ratio"
    ]
    no_chance = gaps.USUAL_SCORE_GAPS if getattr(models, "link", None) == "sign" else ()
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
