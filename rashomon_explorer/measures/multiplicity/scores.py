"""Multiplicity of scores."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer._utils.validation import check_nonnegative
from rashomon_explorer.measures import inputs
from rashomon_explorer.measures.multiplicity import labels, measure

_WATSON = "Watson-Daniels, Parkes and Ustun, AAAI 2023"
_GANESH = "Ganesh, Thakurta and Upadhyay, COLT 2023, §1.2"


def moved(
    predictions: inputs.Predictions, steps: inputs.Steps, tolerance: float
) -> inputs.Predictions:
    """Whether each model moves each row's score by the tolerance, as labels."""
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ValueError(
            f"tolerance must be a finite score change > 0, got {tolerance!r}; it is not a privacy "
            "parameter"
        )
    shape = predictions.values.shape
    far = np.empty(shape[:2], dtype=bool)
    for start, stop, _ in steps:
        change = np.subtract(predictions.values[start:stop], predictions.reference)
        each = np.abs(change, out=change) >= tolerance
        far[start:stop] = each.any(axis=2) if each.ndim == 3 else each
    return replace(predictions, values=far, reference=np.zeros(shape[1], dtype=bool))


def count_moves(kernel: Callable[[inputs.Predictions, inputs.Steps], Any]) -> Callable[..., Any]:
    """Kernel of scores that counts moves as a kernel of labels counts differences."""
    return lambda predictions, steps, tolerance: kernel(moved(predictions, steps, tolerance), steps)


ever_moves = count_moves(labels.ever_differs)
moved_rows = count_moves(labels.differing_rows)


def extremes(
    predictions: inputs.Predictions, steps: inputs.Steps
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield, for each size, the least and largest scores, each (n_rows[, n_classes])."""
    low = high = predictions.values[0]
    for start, stop, last in steps:
        block = predictions.values[start:stop]
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
        if last:
            yield low, high


def range_widths(predictions: inputs.Predictions, steps: inputs.Steps) -> FloatArray:
    """Sum over rows (n_sizes,) of the width of the range, of the widest class."""
    sums = []
    for low, high in extremes(predictions, steps):
        width = high - low
        sums.append((width.max(axis=1) if width.ndim == 2 else width).sum())
    return np.array(sums)


def spread_sums(predictions: inputs.Predictions, steps: inputs.Steps) -> FloatArray:
    """Sum variance and standard deviation over rows (2, n_sizes); classes are summed first."""
    running, sums = RunningMoments(), []
    for start, stop, last in steps:
        running.add(predictions.values[start:stop])
        if last:
            variance = running.variance(1)
            total = variance.sum(axis=1) if variance.ndim == 2 else variance
            sums.append([total.sum(), np.sqrt(total).sum()])
    return np.transpose(sums)


class RunningMoments:
    """Variance of each row's score over the models added (Chan, Golub and LeVeque 1983)."""

    def __init__(self) -> None:
        self.models = 0
        self.mean: FloatArray | float = 0.0
        self.squares: FloatArray | float = 0.0

    def add(self, block: FloatArray) -> None:
        """Add models."""
        count = self.models + len(block)
        mean = block.mean(axis=0)
        away = block - mean
        shift = mean - self.mean
        self.squares = self.squares + np.einsum("i...,i...->...", away, away)
        self.squares += shift**2 * (self.models * len(block) / count)
        self.mean = self.mean + shift * (len(block) / count)
        self.models = count

    def variance(self, ddof: int) -> FloatArray:
        """Variance (n_rows[, n_classes])."""
        if self.models <= ddof:
            return np.full(np.shape(self.squares), np.nan)
        return np.asarray(self.squares / (self.models - ddof))


DELTA_AMBIGUITY = measure.Measure(
    "delta_ambiguity",
    "scores",
    ever_moves,
    measure.mean_over_rows,
    measure.LOWER_BOUND,
    meaning="share of rows whose score some model moves by the tolerance",
    formula="(1/n) #{i : ∃f, |s_f − s₀| ≥ tolerance}",
    source=_WATSON,
    options=("tolerance", "baseline"),
)
DELTA_DISCREPANCY = measure.Measure(
    "delta_discrepancy",
    "scores",
    moved_rows,
    measure.largest_share,
    measure.LOWER_BOUND,
    meaning="most rows whose score one model moves by the tolerance",
    formula="max_f (1/n) #{i : |s_f − s₀| ≥ tolerance}",
    source=_WATSON,
    options=("tolerance", "baseline"),
)
DELTA_OBSCURITY = measure.Measure(
    "delta_obscurity",
    "scores",
    moved_rows,
    measure.mean_share,
    measure.ESTIMATE,
    meaning="share of scores moved by the tolerance, over rows and models",
    formula="mean over i and f of [|s_f − s₀| ≥ tolerance]",
    source=_WATSON,
    options=("tolerance", "baseline"),
)
RANGE_WIDTH = measure.Measure(
    "range_width",
    "scores",
    range_widths,
    measure.mean_over_rows,
    measure.LOWER_BOUND,
    meaning="mean width of a row's viable predictions",
    formula="mean over i of max_f s_f(x_i) − min_f s_f(x_i)",
    source=_WATSON,
)
SCORE_VARIANCE = measure.Measure(
    "score_variance",
    "scores",
    spread_sums,
    measure.mean_from(0),
    measure.ESTIMATE,
    meaning="variance of a row's scores over models, mean over rows",
    formula="(1/(m − 1)) Σ_f (s_f − s̄)²",
    source=_GANESH,
)
SCORE_STD = measure.Measure(
    "score_std",
    "scores",
    spread_sums,
    measure.mean_from(1),
    measure.ESTIMATE,
    meaning="standard deviation of a row's scores over models, mean over rows",
    formula="√ of the variance, row by row",
    source=_GANESH,
)


def delta_ambiguity(scores: ArrayLike, *, tolerance: float, baseline: int | ArrayLike = 0) -> float:
    """Share of rows whose score some model changes by the tolerance or more.

    (1/n) #{i : ∃ f, |f(x_i) − f₀(x_i)| ≥ tolerance} (δ-ambiguity of Watson-Daniels, Parkes and
    Ustun 2023, whose δ is not a privacy parameter). For several classes the largest change of one
    class's probability counts; for predicted targets the tolerance is in their units. For sampled
    models it is a lower bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Probabilities, or predicted targets.
    tolerance : float
        Smallest change that is counted, > 0, in the units of the scores.
    baseline : int or array-like of shape (n_rows[, n_classes]), default=0
        Reference model, by index or by its scores.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> delta_ambiguity([[0.2, 0.9], [0.4, 0.9], [0.3, 0.7]], tolerance=0.15)
    1.0
    """
    return DELTA_AMBIGUITY(scores, tolerance=tolerance, baseline=baseline)


def delta_discrepancy(
    scores: ArrayLike, *, tolerance: float, baseline: int | ArrayLike = 0
) -> float:
    """Largest share of rows whose score one model changes by the tolerance or more.

    max_f (1/n) #{i : |f(x_i) − f₀(x_i)| ≥ tolerance}; at most :func:`delta_ambiguity`. For
    sampled models it is a lower bound.

    Parameters
    ----------
    scores, tolerance, baseline
        As for :func:`delta_ambiguity`.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return DELTA_DISCREPANCY(scores, tolerance=tolerance, baseline=baseline)


def delta_obscurity(scores: ArrayLike, *, tolerance: float, baseline: int | ArrayLike = 0) -> float:
    """Mean over rows of the share of models that change the score by the tolerance or more.

    :func:`obscurity` for scores: (1/n) Σ_i (1/m) #{f : |f(x_i) − f₀(x_i)| ≥ tolerance}.

    Parameters
    ----------
    scores, tolerance, baseline
        As for :func:`delta_ambiguity`.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return DELTA_OBSCURITY(scores, tolerance=tolerance, baseline=baseline)


def viable_prediction_range(scores: ArrayLike) -> FloatArray:
    """Smallest and largest prediction of the models for each row.

    (Watson-Daniels, Parkes and Ustun 2023.) For sampled models the range is an inner bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Predicted targets, or probabilities of one class or of each.

    Returns
    -------
    ndarray of shape (n_rows, 2) or (n_rows, n_classes, 2)
        Lower and upper end, for each class separately.

    Examples
    --------
    >>> viable_prediction_range([[0.2, 0.9], [0.6, 0.8]]).tolist()
    [[0.2, 0.6], [0.8, 0.9]]
    """
    values = inputs.as_scores(scores)
    return np.stack([values.min(axis=0), values.max(axis=0)], axis=-1)


def range_width(scores: ArrayLike) -> float:
    """Mean over rows of the width of the viable prediction range.

    (1/n) Σ_i max_f f(x_i) − min_f f(x_i) (Watson-Daniels, Parkes and Ustun 2023); for several
    classes each row counts with its widest range. For sampled models it is a lower bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Probabilities, or predicted targets.

    Returns
    -------
    float
        In the units of the scores; 0 for one model.

    Examples
    --------
    >>> round(range_width([[0.2, 0.9], [0.6, 0.8]]), 6)
    0.25
    """
    return RANGE_WIDTH(scores)


def score_variance(scores: ArrayLike, *, ddof: int = 1) -> FloatArray:
    """Variance over the models of each row's score.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    ddof : {1, 0}, default=1
        1 divides by m − 1, which is unbiased for models drawn from a set. 0 divides by m, which is
        the variance of these models and exact if they are the whole set. (pandas divides by
        m − 1, NumPy by m.)

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        NaN for one model and ``ddof=1``.

    Examples
    --------
    >>> score_variance([[0.2, 0.9], [0.6, 0.9]]).round(6).tolist()
    [0.08, 0.0]
    """
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 or 1, got {ddof!r}")
    running = RunningMoments()
    for block in inputs.model_batches(inputs.as_scores(scores)):
        running.add(block)
    return running.variance(ddof)


def score_std(scores: ArrayLike, *, ddof: int = 1) -> FloatArray:
    """Return the standard deviation over the models of each row's score.

    Ganesh, Thakurta and Upadhyay (COLT 2023, §1.2) estimate it from draws to decide or abstain on
    a person: :func:`decide_or_abstain`.

    Parameters
    ----------
    scores, ddof
        As for :func:`score_variance`.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        In units of the score.
    """
    return np.asarray(np.sqrt(score_variance(scores, ddof=ddof)))


def decide_or_abstain(scores: ArrayLike, *, deviations: float = 2.0) -> NDArray[np.int_]:
    """Class of each row by the mean score, or −1 where the models vary too much to decide.

    A decision rule based on the standard deviation over draws of Ganesh, Thakurta and Upadhyay
    (COLT 2023, §1.2). Let g(f) be the lead of the class with the largest mean score over the
    second. Decide if mean_f g ≥ deviations·std_f g, else abstain. For two classes
    g = ±(2·score − 1). The rule abstains on a row whose mean scores are tied.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Probabilities of the positive class, or of each class.
    deviations : float, default=2.0
        Required lead in standard deviations (ddof 1), ≥ 0.

    Returns
    -------
    ndarray of shape (n_rows,)
        Index of the class, or −1.

    Raises
    ------
    ValueError
        If there is only one model, whose spread is unknown, or a shape or value is wrong.

    Examples
    --------
    >>> decide_or_abstain([[0.9, 0.6, 0.1], [0.8, 0.3, 0.2]]).tolist()
    [1, -1, 0]
    """
    check_nonnegative(deviations=deviations)
    values = inputs.as_probabilities(scores)
    if len(values) < 2:
        raise ValueError("scores must hold at least two models: the spread of one is unknown")
    mean = values.mean(axis=0)
    if values.ndim == 2:
        first = (mean > 0.5).astype(int)
        lead = (2 * values - 1) * np.where(first == 1, 1.0, -1.0)
    else:
        first, second = np.argsort(-mean, axis=1, kind="stable").T[:2]
        rows = np.arange(values.shape[1])
        lead = values[:, rows, first] - values[:, rows, second]
    margin, spread = lead.mean(axis=0), lead.std(axis=0, ddof=1)
    return np.where((margin > 0) & (margin >= deviations * spread), first, -1)


def conflicts(scores: FloatArray, best: FloatArray, codes: FloatArray) -> pd.DataFrame:
    """Conflict ratio, flip and largest change of the score of each person, over some models."""
    differs = likeliest(scores) != codes
    move = np.abs(scores - best).max(axis=0)
    return pd.DataFrame(
        {
            "conflict_ratio": differs.mean(axis=0),
            "flips": differs.any(axis=0),
            "move": move.max(axis=-1) if move.ndim == 2 else move,
        }
    )
