"""Fairness metrics on chunked rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.fairness.gaps import LABEL_GAPS, SCORE_GAPS, gap_table
from rashomon_explorer.measures.fairness.rates import LABEL_RATES, SCORE_RATES, Judged, Scored
from rashomon_explorer.measures.fairness.task import QUALITY, FairnessTask, of_class
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.columns import read_column, read_targets

_CELLS = 2**21  # models × rows in memory at a time
_QUALITY = "quality"
Sums = dict[str, Any]


def chunked_table(
    task: FairnessTask, table: ChunkedRows, scores_of: Callable[[Any], FloatArray], models: int
) -> pd.DataFrame:
    """Quality and gaps, as from :meth:`FairnessTask.table` on all rows."""
    sums = _sums(task, table, scores_of, models, (*_rates(task, True), *_rates(task, False)))
    quality = np.asarray(sums[_QUALITY] / table.n)
    labelled = [name for name in task.metrics if name in LABEL_GAPS]
    named = [name for name in task.metrics if name not in LABEL_GAPS]

    def of_labels(rate: str) -> tuple[FloatArray, FloatArray]:
        sizes = _sizes(task, rate)
        return sums[rate] / sizes, sums[rate].sum(axis=1, keepdims=True) / sizes.sum()

    def of_scores(name: str) -> tuple[FloatArray, FloatArray]:
        value, sizes = SCORE_RATES[name].value, task.groups.sizes
        whole = sums[name].sum(axis=1, keepdims=True)
        return value(sums[name], sizes), value(whole, np.array([table.n]))

    parts = [
        pd.DataFrame({QUALITY[task.task]: quality}).rename_axis(index="model"),
        gap_table(labelled, LABEL_GAPS, of_labels, task.agg, task.method),
        gap_table(named, SCORE_GAPS, of_scores, task.agg, task.method),
    ]
    found = pd.concat(parts, axis=1)
    return found[[QUALITY[task.task], *(f"{name}_{task.agg}" for name in task.metrics)]]


def chunked_rates(
    task: FairnessTask,
    table: ChunkedRows,
    scores_of: Callable[[Any], FloatArray],
    models: int,
    rate: str,
) -> FloatArray:
    """Rate (n_models, n_groups) of labels, one of ``LABEL_RATES``."""
    sizes = _sizes(task, rate)
    return np.asarray(_sums(task, table, scores_of, models, (rate,))[rate] / sizes)


def _sums(
    task: FairnessTask,
    table: ChunkedRows,
    scores_of: Callable[[Any], FloatArray],
    models: int,
    rates: tuple[str, ...],
) -> Sums:
    for rate in rates:
        _sizes(task, rate)  # raises if the rate is undefined for some group
    step = max(1, _CELLS // models)
    about = task.task, task.positive, len(task.groups.names), task.n_bins
    of_block = _ChunkSums(*about, scores_of, rates, step)
    beside = table.with_targets(truth=task.truth, group=task.groups.codes)
    found: Sums = beside.reduce(of_block, merge=_added)
    return found


def _rates(task: FairnessTask, labels: bool) -> list[str]:
    if not labels:
        return [name for name in task.metrics if name not in LABEL_GAPS]
    return [rate for name in task.metrics for rate in LABEL_GAPS.get(name, ())]


def _sizes(task: FairnessTask, rate: str) -> Any:
    """Return the number of rows of each group over which a rate is computed."""
    if rate not in LABEL_RATES:
        return task.groups.sizes
    truth = (task.truth == task.positive).astype(np.uint8)
    nobody = Judged(np.empty((0, len(truth)), np.uint8), truth, 1)
    return LABEL_RATES[rate].cells(nobody, task.groups, rate).sizes


@dataclass(frozen=True, eq=False)
class _ChunkSums:
    """Contribution of a chunk of rows to each rate's sums, (n_models, n_groups, …)."""

    task: str
    positive: int
    n_groups: int
    n_bins: int
    scores_of: Callable[[Any], FloatArray]
    rates: tuple[str, ...]
    step: int

    def __call__(self, rows: FloatArray, beside: Any) -> Sums:
        sums: Sums = {}
        for low in range(0, len(rows), self.step):
            part = slice(low, low + self.step)
            sums = _added(sums, self._of_some(rows[part], beside[part]))
        return sums

    def _of_some(self, rows: FloatArray, beside: Any) -> Sums:
        scores, truth = np.asarray(self.scores_of(rows)), np.ascontiguousarray(beside["truth"])
        if self.task == "classification":
            judged = Judged.of_scores(scores, truth, self.positive)
            right = np.count_nonzero(judged.codes == judged.truth, axis=1)
            sums: Sums = {_QUALITY: right}
            scores = of_class(scores, self.positive)
            scored = Scored.of(scores, judged.is_positive, self.n_bins)
        else:
            judged = None
            scored = Scored.of(scores, truth, self.n_bins)
            sums = {_QUALITY: np.abs(scores - truth).sum(axis=1)}
        for rate in self.rates:
            sums[rate] = np.stack(
                [
                    self._of_group(rate, judged, scored, beside["group"] == code)
                    for code in range(self.n_groups)
                ],
                axis=1,
            )
        return sums

    def _of_group(self, rate: str, judged: Judged | None, scored: Scored, chosen: Any) -> Any:
        if rate in SCORE_RATES:
            return SCORE_RATES[rate].summed(scored, chosen)
        assert judged is not None
        return LABEL_RATES[rate].summed(judged, chosen)


def _added(one: Sums, other: Sums) -> Sums:
    return {key: one[key] + value if key in one else value for key, value in other.items()}


def named_columns(table: ChunkedRows, y: Any, groups: Any) -> tuple[Any, Any]:
    """Read targets and groups that are given by column names."""
    truth = read_targets(table) if y is None else y
    if isinstance(groups, str):
        return truth, read_column(table, groups)
    if isinstance(groups, list | tuple) and 0 < len(groups) < table.n:
        if all(isinstance(name, str) for name in groups):
            return truth, pd.DataFrame({name: read_column(table, name) for name in groups})
    return truth, groups


@dataclass(frozen=True, eq=False)
class JoinedScores:
    """Scores of a set's models, followed by those of the best model."""

    inside: Any
    models: Any  # a set with a best model

    def __len__(self) -> int:
        return len(self.inside) + 1

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return scores (n_models + 1, m) or (n_models + 1, m, n_classes)."""
        best = np.asarray(self.models.best_scores(rows))[None]
        return np.concatenate([np.asarray(self.inside.scores(rows)), best])


@dataclass(frozen=True, eq=False)
class FirstLabels:
    """Labels of the first model of a set."""

    models: Any

    def __call__(self, rows: FloatArray) -> NDArray[np.int_]:
        """Return classes (m,)."""
        return np.asarray(self.models.labels(rows)[0])


_BLOCKS_CELLS = 2**22  # scores in memory at a time


def score_chunks(models: Any, X: Any, n_rows: int) -> Iterator[FloatArray]:
    """Yield the scores of a few models at a time to limit memory."""
    step = max(1, _BLOCKS_CELLS // max(1, n_rows * max(1, models.n_classes)))
    for start in range(0, models.n_draws, step):
        yield np.asarray(models[start : start + step].scores(X))
