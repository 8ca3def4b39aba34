"""Multiplicity of scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import check_nonnegative, check_share
from rashomon_explorer.measures.inputs import (
    Bytes,
    Labels,
    as_probabilities,
    as_scores,
    evaluate_nested,
    model_batches,
)


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

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> round(range_width([[0.2, 0.9], [0.6, 0.8]]), 6)
    0.25
    """
    return float(evaluate_nested(as_scores(scores), Range)[0])


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

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> score_variance([[0.2, 0.9], [0.6, 0.9]]).round(6).tolist()
    [0.08, 0.0]
    """
    values = as_scores(scores)
    tally = RunningMoments(ddof)
    for block in model_batches(values):
        tally.add(block)
    return tally.variance()


def score_std(scores: ArrayLike, *, ddof: int = 1) -> FloatArray:
    """Return the standard deviation over the models of each row's score.

    Ganesh, Thakurta and Upadhyay (COLT 2023, §1.2) estimate it from draws to decide or abstain on
    a person: :func:`decide_or_abstain`.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    ddof : {1, 0}, default=1
        As in :func:`score_variance`.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        In units of the score.

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> score_std([[0.2, 0.9], [0.6, 0.9]], ddof=0).round(6).tolist()
    [0.2, 0.0]
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
    values = as_probabilities(scores)
    if len(values) < 2:
        raise ValueError("scores must hold at least two models: the spread of one is unknown")
    first, lead = _leads(values)
    margin, spread = lead.mean(axis=0), lead.std(axis=0, ddof=1)
    return np.where((margin > 0) & (margin >= deviations * spread), first, -1)


def _leads(values: FloatArray) -> tuple[NDArray[np.int_], FloatArray]:
    """Class with the largest mean (n_rows,), and its lead in each model (n_models, n_rows)."""
    mean = values.mean(axis=0)
    if values.ndim == 2:
        first = (mean > 0.5).astype(int)
        return first, (2 * values - 1) * np.where(first == 1, 1.0, -1.0)
    order = np.argsort(-mean, axis=1, kind="stable")
    rows = np.arange(values.shape[1])
    lead = values[:, rows, order[:, 0]] - values[:, rows, order[:, 1]]
    return order[:, 0], lead


class Range:
    """Mean width of the rows' ranges over the models added."""

    def __init__(self) -> None:
        self.low: FloatArray | None = None
        self.high: FloatArray | None = None

    def add(self, block: FloatArray) -> None:
        """Add models."""
        low, high = block.min(axis=0), block.max(axis=0)
        self.low = low if self.low is None else np.minimum(self.low, low)
        self.high = high if self.high is None else np.maximum(self.high, high)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and largest scores, each (n_rows[, n_classes])."""
        if self.low is None or self.high is None:
            raise ValueError("no model has been added")
        return self.low, self.high

    def value(self) -> float:
        """Mean width."""
        low, high = self.ends()
        width = high - low
        return float((width.max(axis=1) if width.ndim == 2 else width).mean())


class RunningMoments:
    """Variance of each row's score over the models added, without cancellation.

    Sums of squares about the mean are merged batch by batch (Chan, Golub and LeVeque 1983).
    """

    def __init__(self, ddof: int = 1) -> None:
        if ddof not in (0, 1):
            raise ValueError(f"ddof must be 0 or 1, got {ddof!r}")
        self.ddof = ddof
        self.models = 0
        self.mean: FloatArray | float = 0.0
        self.squares: FloatArray | float = 0.0

    def add(self, block: FloatArray) -> None:
        """Add models."""
        count = self.models + len(block)
        mean = block.mean(axis=0)
        away = block - mean
        apart = mean - self.mean
        self.squares = self.squares + np.einsum("i...,i...->...", away, away)
        self.squares += apart**2 * (self.models * len(block) / count)
        self.mean = self.mean + apart * (len(block) / count)
        self.models = count

    def variance(self) -> FloatArray:
        """Variance (n_rows[, n_classes])."""
        if self.models <= self.ddof:
            return np.full(np.shape(self.squares), np.nan)
        return np.asarray(self.squares / (self.models - self.ddof))

    def value(self) -> float:
        """Mean variance over rows; for several classes of the sum over classes."""
        variance = self.variance()
        return float((variance.sum(axis=1) if variance.ndim == 2 else variance).mean())


class Deviations(RunningMoments):
    """Mean over rows of the standard deviation; for several classes variances are summed first."""

    def value(self) -> float:
        """Mean standard deviation."""
        variance = self.variance()
        total = variance.sum(axis=1) if variance.ndim == 2 else variance
        return float(np.sqrt(total).mean())


variance_tally = partial(RunningMoments, 1)


Differs = Callable[[NDArray[Any]], Mask]


class AnyDiffers:
    """Share of rows on which some model differs from the baseline."""

    def __init__(self, differs: Differs) -> None:
        self.differs = differs
        self.ever: Mask | None = None

    def add(self, block: NDArray[Any]) -> None:
        """Add models."""
        now = np.asarray(self.differs(block).any(axis=0))
        self.ever = now if self.ever is None else self.ever | now

    def value(self) -> float:
        """Share of rows."""
        return float("nan") if self.ever is None else float(self.ever.mean())


class MostDiffer:
    """Largest share of rows on which one model differs from the baseline."""

    def __init__(self, differs: Differs) -> None:
        self.differs = differs
        self.share = 0.0

    def add(self, block: NDArray[Any]) -> None:
        """Add models."""
        self.share = max(self.share, float(self.differs(block).mean(axis=1).max()))

    def value(self) -> float:
        """Share of rows."""
        return self.share


class MeanDiffers:
    """Mean share of rows on which a model differs from the baseline."""

    def __init__(self, differs: Differs) -> None:
        self.differs = differs
        self.cells = self.different = 0

    def add(self, block: NDArray[Any]) -> None:
        """Add models."""
        differs = self.differs(block)
        self.different += int(np.count_nonzero(differs))
        self.cells += differs.size

    def value(self) -> float:
        """Share of rows and models."""
        return self.different / self.cells


class Votes:
    """Number of models that assign each class to each row."""

    def __init__(self, n_classes: int, n_rows: int) -> None:
        self.models = 0
        self.counts = np.zeros((n_classes, n_rows), dtype=np.int64)

    @classmethod
    def over(cls, labels: Labels) -> Votes:
        """Count all models at once."""
        votes = cls(labels.n_classes, labels.codes.shape[1])
        for block in model_batches(labels.codes):
            votes.add(block)
        return votes

    def add(self, block: Bytes) -> None:
        """Add at most 255 models."""
        self.models += len(block)
        rest = np.full(block.shape[1], len(block))
        for code in range(1, len(self.counts)):
            # Two-class codes are the votes for class 1; sums of at most 255 fit into a byte.
            votes = block if len(self.counts) == 2 else (block == code).view(np.uint8)
            count = votes.sum(axis=0, dtype=np.uint8)
            self.counts[code] += count
            rest -= count
        self.counts[0] += rest

    def row_agreement(self) -> FloatArray:
        """Probability (n_rows,) that two different models agree; NaN for one model."""
        if self.models < 2:
            return np.full(self.counts.shape[1], np.nan)
        agreeing = (self.counts * (self.counts - 1)).sum(axis=0)
        return np.asarray(agreeing / (self.models * (self.models - 1)))

    def row_disagreement(self) -> FloatArray:
        """Probability (n_rows,) that two different models disagree."""
        return np.asarray(1 - self.row_agreement())

    def value(self) -> float:
        """Mean disagreement."""
        return float(self.row_disagreement().mean())


def self_consistency(labels: ArrayLike) -> FloatArray:
    """Probability, for each row, that two different models give the same label.

    SC(x) = 1 − 2·B₀B₁/(B(B − 1)) with B₀ and B₁ of B models for the two classes (Cooper et al.,
    AAAI 2024, Definition 3); for several classes Σ_c B_c(B_c − 1)/(B(B − 1)), which agrees for
    two. It equals 1 − :func:`row_disagreement`.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    ndarray of shape (n_rows,)
        At most 1; for two classes at least (1 − 1/(B − 1))/2, for equal halves. NaN for one
        model.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> self_consistency([[0, 0], [0, 1], [0, 1]]).round(6).tolist()
    [1.0, 0.333333]
    """
    return Votes.over(Labels.of(labels)).row_agreement()


def abstention(labels: ArrayLike, *, kappa: float = 0.75) -> Mask:
    """Mask of the rows to abstain on, whose self-consistency is below κ.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.
    kappa : float, default=0.75
        Smallest self-consistency for a decision, in [0, 1]; the default is that of Cooper et al.
        (AAAI 2024). It is not Cohen's kappa.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        Its mean is the abstention rate.

    Raises
    ------
    ValueError
        If there is only one model, or an argument is wrong.

    Examples
    --------
    >>> abstention([[0, 0], [0, 1], [0, 1]]).tolist()
    [False, True]
    """
    check_share(kappa=kappa)
    consistency = self_consistency(labels)
    if np.isnan(consistency).all():
        raise ValueError(
            "labels must hold at least two models: the self-consistency of one is unknown"
        )
    return consistency < kappa


class Consistency(Votes):
    """Mean self-consistency of the models added."""

    def value(self) -> float:
        """Mean over rows; NaN for one model."""
        return float(self.row_agreement().mean())


class Abstention(Votes):
    """Share of rows whose self-consistency is below κ."""

    def __init__(self, n_classes: int, n_rows: int, kappa: float = 0.75) -> None:
        super().__init__(n_classes, n_rows)
        check_share(kappa=kappa)
        self.kappa = kappa

    def value(self) -> float:
        """Share of rows; NaN for one model."""
        agreement = self.row_agreement()
        return float("nan") if self.models < 2 else float((agreement < self.kappa).mean())


def consistency_tally(labels: Labels) -> Consistency:
    """Tally of the mean of :func:`self_consistency`."""
    return Consistency(labels.n_classes, labels.codes.shape[1])


def abstention_tally(labels: Labels, kappa: float = 0.75) -> Abstention:
    """Tally of the mean of :func:`abstention`."""
    return Abstention(labels.n_classes, labels.codes.shape[1], kappa)
