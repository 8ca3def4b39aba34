"""Means of scores and their errors, group by group: calibration, and regression."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray, IntArray, Mask
from rashomon_explorer.measures.checks import as_models_by_rows, as_probabilities
from rashomon_explorer.measures.fairness.cells import Cells
from rashomon_explorer.measures.fairness.groups import Groups
from rashomon_explorer.measures.nested import blocks
from rashomon_explorer.validation import check_count


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of models, beside the truth."""

    scores: FloatArray  # (n_models, n_rows)
    # (n_rows,): targets; for probabilities 1 where the row is of their class and 0 elsewhere
    truth: FloatArray
    n_bins: int = 10  # of the expected calibration error

    @classmethod
    def of(cls, scores: ArrayLike, y: ArrayLike, n_bins: int = 10) -> "Scored":
        """Check scores and targets."""
        values = as_models_by_rows(scores, "scores")
        try:
            truth = np.asarray(y, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"y must be numbers, for probabilities 1 for their class and 0: {error}"
            ) from error
        if truth.shape != values.shape[1:]:
            raise ValueError(
                f"y must hold one target for each of {values.shape[1]} rows, got {truth.shape}"
            )
        if not np.isfinite(truth).all():
            raise ValueError(f"y holds NaN or infinity at row {int(np.isfinite(truth).argmin())}")
        check_count(n_bins=n_bins)
        return cls(values, truth, int(n_bins))


def _errors(scored: Scored, scores: FloatArray, truth: FloatArray, cells: Cells) -> FloatArray:
    return np.asarray(cells.sums(np.abs(truth - scores)))


def _residuals(scored: Scored, scores: FloatArray, truth: FloatArray, cells: Cells) -> FloatArray:
    return np.asarray(cells.sums(truth - scores))


def _scores(scored: Scored, scores: FloatArray, truth: FloatArray, cells: Cells) -> FloatArray:
    return np.asarray(cells.sums(scores))


def _binned(scored: Scored, scores: FloatArray, truth: FloatArray, cells: Cells) -> FloatArray:
    as_probabilities(scores)
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("expected_calibration_error needs y of 0 and 1, the class of the scores")
    models, groups, bins = len(scores), len(cells.sizes), scored.n_bins
    bin_of = np.minimum((scores * bins).astype(np.intp), bins - 1)
    group_of = np.repeat(np.arange(groups), cells.sizes)
    cell = (np.arange(models)[:, None] * groups + group_of) * bins + bin_of
    sums = np.bincount(cell.ravel(), (truth - scores).ravel(), minlength=models * groups * bins)
    return np.asarray(sums.reshape(models, groups, bins))


def _mean(sums: FloatArray, sizes: IntArray) -> FloatArray:
    return np.asarray(sums / sizes)


def _mean_over_bins(sums: FloatArray, sizes: IntArray) -> FloatArray:
    return np.asarray(np.abs(sums).sum(axis=2) / sizes)


@dataclass(frozen=True)
class ScoreRate:
    """Number that a model's scores have in a group."""

    # from the whole, scores (n_models, k) and truth (k,) in the order of cells, and the cells, to
    # sums (n_models, n_groups, …)
    sums: Callable[[Scored, FloatArray, FloatArray, Cells], FloatArray]
    # from sums over all rows and the groups' sizes (n_groups,) to the number (n_models, n_groups)
    value: Callable[[FloatArray, IntArray], FloatArray] = _mean
    signed: bool = False  # whether it may be negative, so that it has no ratio

    def rates(self, scored: Scored, groups: Groups, name: str) -> FloatArray:
        """Measure every model in every group, (n_models, n_groups)."""
        cells = Cells.of(groups)
        truth = scored.truth[cells.order]
        return np.concatenate(
            [
                self.value(self.sums(scored, block[:, cells.order], truth, cells), cells.sizes)
                for block in blocks(scored.scores)
            ]
        )

    def summed(self, scored: Scored, chosen: Mask) -> FloatArray:
        """Add up (n_models, …) over the rows chosen, of which there may be none."""
        where = np.flatnonzero(chosen)
        one = Cells(where, np.zeros(1, dtype=np.intp), np.array([len(where)]))
        if not len(where):  # what a sum over no row is: the shape of a sum, and zeros
            return np.zeros_like(self.summed(scored, ~chosen))
        found = self.sums(scored, scored.scores[:, where], scored.truth[where], one)
        return np.asarray(found[:, 0])


SCORE_RATES: Mapping[str, ScoreRate] = {
    "mean_prediction": ScoreRate(_scores, signed=True),
    "mean_absolute_error": ScoreRate(_errors),
    "calibration_in_the_large": ScoreRate(_residuals, signed=True),
    "expected_calibration_error": ScoreRate(_binned, _mean_over_bins),
}
"""Numbers of scores by name; see :func:`score_gaps`."""
