"""Losses of scores, with their slopes: of classes, ordered classes, numbers and counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, logsumexp, softmax, xlogy

from rashomon_explorer._utils.arrays import FloatArray, unscale_targets

_LEAST_PROBABILITY = 1e-12
_LARGEST_LOG_RATE = 30.0

Slopes = tuple[FloatArray, FloatArray]
"""Derivatives of each row's loss by its scores (n, o), and by parameters of the loss (n, h)."""


@dataclass(frozen=True)
class RowLoss:
    """Loss of each row given its scores (n, o) and parameters η (h,) of the loss."""

    name: ClassVar[str]
    task: ClassVar[str] = "classification"

    @property
    def n_outputs(self) -> int:
        """Scores o of a row."""
        return 1

    @property
    def start(self) -> FloatArray:
        """Parameters (h,) of the loss at which paths start."""
        return np.empty(0)

    @property
    def bound(self) -> float:
        """Public bound to which a row's loss is clipped where losses are released."""
        raise NotImplementedError

    def values(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> FloatArray:
        """Losses (n,) ≥ 0."""
        raise NotImplementedError

    def slopes(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> Slopes:
        """Return derivatives of each loss by the scores (n, o) and by η (n, h)."""
        raise NotImplementedError

    def predictions(self, scores: FloatArray, eta: FloatArray) -> FloatArray:
        """Probability of the second class (n,) or of each (n, K), or predicted target (n,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Logistic(RowLoss):
    """Log loss of two classes, or of more by softmax; targets are 0, 1, …."""

    name: ClassVar[str] = "logistic"

    n_classes: int = 2

    @property
    def n_outputs(self) -> int:
        """Scores o of a row."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def bound(self) -> float:
        """Twice the loss of equal probabilities."""
        return 2 * math.log(self.n_classes)

    def values(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> FloatArray:
        """Losses (n,)."""
        if self.n_classes == 2:
            return np.asarray(-log_expit(np.where(targets > 0, scores[:, 0], -scores[:, 0])))
        picked = scores[np.arange(len(scores)), targets.astype(int)]
        return np.asarray(logsumexp(scores, axis=1) - picked)

    def slopes(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> Slopes:
        """Return the derivatives by scores and by η."""
        none = np.empty((len(scores), 0))
        if self.n_classes == 2:
            return expit(scores) - targets[:, None], none
        return softmax(scores, axis=1) - np.eye(self.n_classes)[targets.astype(int)], none

    def predictions(self, scores: FloatArray, eta: FloatArray) -> FloatArray:
        """Probabilities, or predicted targets."""
        if self.n_classes == 2:
            return np.asarray(expit(scores[:, 0]))
        return np.asarray(softmax(scores, axis=1))


@dataclass(frozen=True)
class Ordinal(RowLoss):
    """Log loss of ordered classes: P(y ≤ k) = σ(b_k − score), b_1 < b_2 < … (proportional odds).

    η holds b_1 and the logarithms of the gaps between neighbouring b.
    """

    name: ClassVar[str] = "ordinal"

    n_classes: int = 3

    @property
    def start(self) -> FloatArray:
        """Return η of equal probabilities."""
        ranks = np.arange(1, self.n_classes) / self.n_classes
        cuts = np.log(ranks / (1 - ranks))
        return np.concatenate([cuts[:1], np.log(np.diff(cuts))])

    bound = Logistic.bound

    def values(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> FloatArray:
        """Losses (n,)."""
        at = np.arange(len(scores)), targets.astype(int)
        return np.asarray(-np.log(self._probabilities(scores, eta)[at]))

    def slopes(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> Slopes:
        """Return the derivatives by scores and by η."""
        codes, n = targets.astype(int), len(scores)
        chances = self._probabilities(scores, eta)[np.arange(n), codes]
        cumulative = expit(self._cuts(eta)[None, :] - scores)  # (n, K − 1)
        density = cumulative * (1 - cumulative)
        padded = np.column_stack([np.zeros(n), density, np.zeros(n)])
        upper, lower = padded[np.arange(n), codes + 1], padded[np.arange(n), codes]
        by_cut = np.zeros((n, self.n_classes + 1))
        by_cut[np.arange(n), codes + 1] -= upper / chances
        by_cut[np.arange(n), codes] += lower / chances
        by_cut = by_cut[:, 1:-1]
        # b_k = b_1 + Σ_{j<k} exp(η_{j+1}): a gap moves all cuts above it.
        above = np.cumsum(by_cut[:, ::-1], axis=1)[:, ::-1]
        by_eta = np.column_stack([above[:, 0], above[:, 1:] * np.exp(eta[1:])])
        return ((upper - lower) / chances)[:, None], by_eta

    def predictions(self, scores: FloatArray, eta: FloatArray) -> FloatArray:
        """Probabilities, or predicted targets."""
        chances = self._probabilities(scores, eta)
        return chances[:, 1] if self.n_classes == 2 else chances

    def _cuts(self, eta: FloatArray) -> FloatArray:
        return np.cumsum(np.concatenate([eta[:1], np.exp(np.minimum(eta[1:], 20.0))]))

    def _probabilities(self, scores: FloatArray, eta: FloatArray) -> FloatArray:
        below = expit(self._cuts(eta)[None, :] - scores)
        n = len(scores)
        chances = np.diff(np.column_stack([np.zeros(n), below, np.ones(n)]), axis=1)
        return np.maximum(chances, _LEAST_PROBABILITY)


@dataclass(frozen=True)
class Squared(RowLoss):
    """Half the squared error of targets that are mapped from declared bounds onto [−1, 1]."""

    name: ClassVar[str] = "squared"
    task: ClassVar[str] = "regression"

    bounds: tuple[float, float] = (-1.0, 1.0)

    @property
    def bound(self) -> float:
        """Loss of a prediction at the other end of the range."""
        return 2.0

    def values(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> FloatArray:
        """Losses (n,)."""
        return np.asarray((scores[:, 0] - targets) ** 2 / 2)

    def slopes(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> Slopes:
        """Return the derivatives by scores and by η."""
        return scores - targets[:, None], np.empty((len(scores), 0))

    def predictions(self, scores: FloatArray, eta: FloatArray) -> FloatArray:
        """Probabilities, or predicted targets."""
        return np.asarray(unscale_targets(scores[:, 0], self.bounds))


@dataclass(frozen=True)
class Poisson(RowLoss):
    """Half the Poisson deviance of counts from 0 to a declared bound; the score is a log rate."""

    name: ClassVar[str] = "poisson"
    task: ClassVar[str] = "regression"

    bounds: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.bounds[0] != 0:
            raise ValueError(
                f"counts start at 0: target_bounds must be (0, most), got {self.bounds}"
            )

    @property
    def bound(self) -> float:
        """Loss of half the largest count for a row of none."""
        return self.bounds[1] / 2

    def values(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> FloatArray:
        """Losses (n,)."""
        counts, log_rates = self._counts(targets), self._log_rates(scores)
        saturated = xlogy(counts, counts) - counts
        return np.asarray(np.exp(log_rates) - counts * log_rates + saturated)

    def slopes(self, scores: FloatArray, targets: FloatArray, eta: FloatArray) -> Slopes:
        """Return the derivatives by scores and by η."""
        slopes = np.exp(self._log_rates(scores)) - self._counts(targets)
        return slopes[:, None], np.empty((len(scores), 0))

    def predictions(self, scores: FloatArray, eta: FloatArray) -> FloatArray:
        """Probabilities, or predicted targets."""
        return np.asarray(np.exp(self._log_rates(scores)))

    def _counts(self, targets: FloatArray) -> FloatArray:
        return np.asarray((targets + 1) / 2 * self.bounds[1])

    def _log_rates(self, scores: FloatArray) -> FloatArray:
        return np.clip(scores[:, 0], -_LARGEST_LOG_RATE, _LARGEST_LOG_RATE)
