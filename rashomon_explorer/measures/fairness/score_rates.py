"""Means of scores and their errors, group by group: calibration, and regression."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
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
    return cells.means(np.abs(truth - scores))


def _residuals(scored: Scored, scores: FloatArray, truth: FloatArray, cells: Cells) -> FloatArray:
    return cells.means(truth - scores)


def _scores(scored: Scored, scores: FloatArray, truth: FloatArray, cells: Cells) -> FloatArray:
    return cells.means(scores)


def _binned(scored: Scored, scores: FloatArray, truth: FloatArray, cells: Cells) -> FloatArray:
    as_probabilities(scores)
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("expected_calibration_error needs y of 0 and 1, the class of the scores")
    models, groups, bins = len(scores), len(cells.sizes), scored.n_bins
    bin_of = np.minimum((scores * bins).astype(np.intp), bins - 1)
    group_of = np.repeat(np.arange(groups), cells.sizes)
    cell = (np.arange(models)[:, None] * groups + group_of) * bins + bin_of
    sums = np.bincount(cell.ravel(), (truth - scores).ravel(), minlength=models * groups * bins)
    return np.asarray(np.abs(sums).reshape(models, groups, bins).sum(axis=2) / cells.sizes)


@dataclass(frozen=True)
class ScoreRate:
    """Number that a model's scores have in a group."""

    # from the whole, scores (n_models, k) and truth (k,) in the order of cells, and the cells
    measured: Callable[[Scored, FloatArray, FloatArray, Cells], FloatArray]
    signed: bool = False  # whether it may be negative, so that it has no ratio

    def rates(self, scored: Scored, groups: Groups, name: str) -> FloatArray:
        """Measure every model in every group, (n_models, n_groups)."""
        cells = Cells.of(groups)
        truth = scored.truth[cells.order]
        return np.concatenate(
            [
                self.measured(scored, block[:, cells.order], truth, cells)
                for block in blocks(scored.scores)
            ]
        )


SCORE_RATES: Mapping[str, ScoreRate] = {
    "mean_prediction": ScoreRate(_scores, signed=True),
    "mean_absolute_error": ScoreRate(_errors),
    "calibration_in_the_large": ScoreRate(_residuals, signed=True),
    "expected_calibration_error": ScoreRate(_binned),
}
"""Numbers of scores by name; see :func:`score_gaps`."""
