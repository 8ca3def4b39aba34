"""Fairness task of a set: quality of each model and gaps between groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.measures.fairness.gaps import (
    LABEL_GAPS,
    SCORE_GAPS,
    check_kinds,
    check_names,
    label_table,
    score_table,
)
from rashomon_explorer.measures.fairness.rates import (
    LABEL_RATES,
    SCORE_RATES,
    Groups,
    GroupsLike,
    Judged,
    Scored,
)

_USUAL = {
    "classification": (
        "demographic_parity",
        "equal_opportunity",
        "equalized_odds",
        "accuracy_score",
        "calibration_in_the_large",
        "expected_calibration_error",
    ),
    "regression": ("mean_prediction", "mean_absolute_error", "calibration_in_the_large"),
}
_OF_PROBABILITIES = ("calibration_in_the_large", "expected_calibration_error")
QUALITY = {"classification": "accuracy", "regression": "mean_absolute_error"}


@dataclass(frozen=True, eq=False)
class FairnessTask:
    """Truth, groups and metrics."""

    task: str
    truth: NDArray[Any]  # (n_rows,): codes of classes, or targets
    groups: Groups
    positive: int  # code of the positive class; unused for a regression
    metrics: tuple[str, ...]
    agg: str
    method: str
    n_bins: int
    # default metrics that are undefined for some group, and why
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        models: Any,
        y: ArrayLike,
        groups: GroupsLike,
        metrics: Sequence[str] | None,
        positive: Any,
        *,
        agg: str,
        method: str,
        n_bins: int,
    ) -> "FairnessTask":
        """Create a task with targets in the models' coding."""
        from rashomon_explorer.sets.models.fitted import class_codes

        check_kinds(agg, method)
        names = _metrics(models, metrics, agg)
        given = np.asarray(y)
        if given.ndim != 1:
            raise ValueError(f"y must hold one target per row, got shape {given.shape}")
        truth, code = given, 0
        if models.task == "classification":
            classes = tuple(models.classes) or tuple(range(models.n_classes or 2))
            truth, code = class_codes(given, classes, "y"), _code(positive, classes)
        elif positive is not None:
            raise ValueError(f"positive must be None for a regression, got {positive!r}")
        found = Groups.of(groups, len(truth))
        left_out = _not_defined(names, truth == code, found) if metrics is None else {}
        names = tuple(name for name in names if name not in left_out)
        return cls(models.task, truth, found, code, names, agg, method, n_bins, left_out)

    def table(self, scores: FloatArray) -> pd.DataFrame:
        """Quality and gaps of models with scores (n_models, n_rows[, n_classes])."""
        if scores.shape[1] != len(self.truth):
            raise ValueError(
                f"y must hold one target for each of {scores.shape[1]} rows, got {len(self.truth)}"
            )
        truth, values = self.truth, scores
        parts = []
        if self.task == "classification":
            judged = self.judged(scores)
            parts.append(_column("accuracy", (judged.codes == judged.truth).mean(axis=1)))
            labelled = [name for name in self.metrics if name in LABEL_GAPS]
            parts.append(label_table(judged, self.groups, labelled, self.agg, self.method))
            truth, values = judged.is_positive, of_class(scores, self.positive)
        else:
            parts.append(_column("mean_absolute_error", np.abs(values - truth).mean(axis=1)))
        scored = Scored.of(values, truth, self.n_bins)
        named = [name for name in self.metrics if name not in LABEL_GAPS]
        parts.append(score_table(scored, self.groups, named, self.agg, self.method))
        table = pd.concat(parts, axis=1)
        return table[[QUALITY[self.task], *(f"{name}_{self.agg}" for name in self.metrics)]]

    def judged(self, scores: FloatArray) -> Judged:
        """Predicted labels of models and the true labels."""
        return Judged.of_scores(scores, self.truth, self.positive)


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
    known = {**SCORE_GAPS, **(LABEL_GAPS if models.task == "classification" else {})}
    if metrics is not None:
        return tuple(check_names(metrics, known))
    no_ratio = [name for name, rate in SCORE_RATES.items() if rate.signed and agg == "ratio"]
    no_chance = _OF_PROBABILITIES if getattr(models, "link", None) == "sign" else ()
    return tuple(
        name for name in _USUAL[models.task] if name not in no_ratio and name not in no_chance
    )


def _not_defined(names: Sequence[str], positive: Mask, groups: Groups) -> dict[str, str]:
    """Label metrics that are undefined for some group, and the reason for each."""
    truth = positive.astype(np.uint8)
    nobody = Judged(np.empty((0, len(truth)), np.uint8), truth, 1)
    reasons = {}
    for name in names:
        for rate in LABEL_GAPS.get(name, ()):
            try:
                LABEL_RATES[rate].cells(nobody, groups, rate)
            except ValueError as error:
                reasons[name] = str(error)
    return reasons


def _code(positive: Any, classes: tuple[Any, ...]) -> int:
    if positive is None:
        if len(classes) > 2:
            raise ValueError(
                f"positive must be the one of the classes {list(classes)} that the rates count"
            )
        return 1
    if positive not in classes:
        raise ValueError(f"positive must be one of the classes {list(classes)}, got {positive!r}")
    return classes.index(positive)


def of_class(scores: FloatArray, code: int) -> FloatArray:
    """Scores (n_models, n_rows) of one class."""
    if scores.ndim == 3:
        return scores[:, :, code]
    return scores if code == 1 else 1 - scores


def _column(name: str, values: FloatArray) -> pd.DataFrame:
    return pd.DataFrame({name: values}).rename_axis(index="model")
