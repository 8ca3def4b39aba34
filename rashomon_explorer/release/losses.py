"""How good the draws are, as queries: losses, accuracies and differences of losses."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.release.noise import Noise
from rashomon_explorer.release.query import (
    Over,
    Query,
    Sensitivity,
    check_draws,
    check_over,
    check_task,
    measured,
    over_names,
    overall,
    overall_widths,
)
from rashomon_explorer.release.statistic import Statistic
from rashomon_explorer.release.table import Public, Rows

UNIT = {
    "logistic": "log loss, nats",
    "softmax": "log loss, nats",
    "sign": "share of wrong labels",
    "identity": "half squared error",
}


@dataclass(frozen=True)
class Losses(Query):
    """Mean loss of each draw, or their mean, largest or least.

    A draw is public, and so is the range r_i of its loss over all rows of the allowed norm
    (:func:`loss_ranges`). Replacing a record moves its mean by at most r_i/n; k of them by
    √(Σ r_i²)/n in length, which the record that all models get right, replaced by its contrary,
    comes near. Their largest or least moves by at most max r_i/n.

    Parameters
    ----------
    over : {"each", "mean", "largest", "least"}, default="each"

    Examples
    --------
    >>> Losses("least").definition
    'least over the draws of the mean loss over rows'
    """

    over: Over = "each"
    needs: ClassVar[tuple[str, ...]] = ("y",)

    @property
    def name(self) -> str:
        """``"losses"``, or with the summary before."""
        return "losses" if self.over == "each" else f"{self.over}_loss"

    @property
    def definition(self) -> str:
        """In words."""
        which = "for each draw," if self.over == "each" else f"{self.over} over the draws of"
        return f"{which} the mean loss over rows"

    def check(self, public: Public) -> None:
        """Refuse an unknown summary."""
        super().check(public)
        check_over(self.over)

    def sensitivity(self, public: Public) -> Sensitivity:
        """Ranges of the losses over n."""
        low, high = loss_ranges(public)
        return Sensitivity.of(overall_widths((high - low) / public.n_rows, self.over))

    def compute(self, rows: Rows) -> FloatArray:
        """Mean losses."""
        return np.atleast_1d(overall(rows.mean_losses(), self.over))

    def statistics(self, noisy: FloatArray, noise: Noise, public: Public) -> tuple[Statistic, ...]:
        """One loss a draw, or one."""
        names = over_names("loss", self.over, public.n_draws)
        low, high = (np.atleast_1d(overall(end, self.over)) for end in loss_ranges(public))
        mean = public.n_rows if self.over in ("each", "mean") else 0
        note = UNIT[public.models.link]
        return measured(names, noisy, noise, (low, high), mean, note)


@dataclass(frozen=True)
class LossDifferences(Query):
    """Mean loss of each draw less that of draw 0: how the draws compare, at less noise.

    For 1-Lipschitz losses of one score the difference on a row lies in [−d_i, d_i] with
    d_i = B‖w_i − w_0‖ + |b_i − b_0|, public and small where draws are alike. So a record moves the
    k − 1 means by at most 2√(Σ d_i²)/n in length, or by the sums of both losses' ranges if less.

    Examples
    --------
    >>> LossDifferences().name
    'loss_differences'
    """

    name: str = "loss_differences"
    definition: str = "for each draw, the mean over rows of its loss less draw 0's"
    needs: ClassVar[tuple[str, ...]] = ("y",)

    def check(self, public: Public) -> None:
        """Refuse a single draw."""
        super().check(public)
        check_draws(self, public, 2)

    def sensitivity(self, public: Public) -> Sensitivity:
        """2√(Σ d_i²)/n in length."""
        return Sensitivity.of(2 * _differences(public) / public.n_rows)

    def compute(self, rows: Rows) -> FloatArray:
        """Differences (n_draws − 1,)."""
        losses = rows.mean_losses()
        return np.asarray(losses[1:] - losses[0])

    def statistics(self, noisy: FloatArray, noise: Noise, public: Public) -> tuple[Statistic, ...]:
        """One difference a draw but the first."""
        names = [f"loss of draw {draw} less draw 0's" for draw in range(1, public.n_draws)]
        most = _differences(public)
        note = UNIT[public.models.link]
        return measured(names, noisy, noise, (-most, most), public.n_rows, note)


@dataclass(frozen=True)
class Accuracies(Query):
    """Share of rows that each draw labels rightly, or the mean, largest or least share.

    Each share moves by at most 1/n, and so does their mean, largest or least; k of them by
    √k/n in length, attained where all models change from right to wrong.

    Parameters
    ----------
    over : {"each", "mean", "largest", "least"}, default="each"

    Examples
    --------
    >>> Accuracies("largest").name
    'largest_accuracy'
    """

    over: Over = "each"
    needs: ClassVar[tuple[str, ...]] = ("y",)

    @property
    def name(self) -> str:
        """``"accuracies"``, or with the summary before."""
        return "accuracies" if self.over == "each" else f"{self.over}_accuracy"

    @property
    def definition(self) -> str:
        """In words."""
        which = "for each draw," if self.over == "each" else f"{self.over} over the draws of"
        return f"{which} the share of rows labelled rightly"

    def check(self, public: Public) -> None:
        """Refuse regressions."""
        super().check(public)
        check_over(self.over)
        check_task(self, public, "classification")

    def sensitivity(self, public: Public) -> Sensitivity:
        """1/n a coordinate."""
        return Sensitivity.of(overall_widths(np.full(public.n_draws, 1 / public.n_rows), self.over))

    def compute(self, rows: Rows) -> FloatArray:
        """Shares."""
        return np.atleast_1d(overall((rows.labels == rows.codes).mean(axis=1), self.over))

    def statistics(self, noisy: FloatArray, noise: Noise, public: Public) -> tuple[Statistic, ...]:
        """One share a draw, or one."""
        names = over_names("accuracy", self.over, public.n_draws)
        mean = public.n_rows if self.over in ("each", "mean") else 0
        return measured(names, noisy, noise, (0.0, 1.0), mean)


def loss_ranges(public: Public) -> tuple[FloatArray, FloatArray]:
    """Least and largest loss (n_draws,) of each draw over all rows and targets allowed.

    With s = B‖w‖ + |b| the largest score: log(1 + e^(∓s)), a width of s, for logistic loss; 0 and
    1 for wrong labels; 0 and ½(1 + s)² in units of half the target's range for half the squared
    error; for K classes log(1 + (K − 1)e^(∓D)) with D the largest difference of two scores.
    """
    return _RANGES[public.models.link](public)


def _logistic(public: Public) -> tuple[FloatArray, FloatArray]:
    reach = public.reach()
    return np.logaddexp(0.0, -reach), np.logaddexp(0.0, reach)


def _zero_one(public: Public) -> tuple[FloatArray, FloatArray]:
    return np.zeros(public.n_draws), np.ones(public.n_draws)


def _half_square(public: Public) -> tuple[FloatArray, FloatArray]:
    low, high = public.linear.target_bounds
    return np.zeros(public.n_draws), ((high - low) / 2 * (1 + public.reach())) ** 2 / 2


def _softmax(public: Public) -> tuple[FloatArray, FloatArray]:
    slopes, intercepts = public.split
    slopes = np.concatenate([np.zeros_like(slopes[:, :1]), slopes], axis=1)
    intercepts = np.concatenate([np.zeros_like(intercepts[:, :1]), intercepts], axis=1)
    norms = np.linalg.norm(slopes[:, :, None] - slopes[:, None], axis=-1)
    gaps = np.abs(intercepts[:, :, None] - intercepts[:, None])
    widest = (public.linear.row_norm * norms + gaps).max(axis=(1, 2))
    others = math.log(public.models.n_classes - 1)
    return np.logaddexp(0.0, others - widest), np.logaddexp(0.0, others + widest)


_RANGES = {
    "logistic": _logistic,
    "sign": _zero_one,
    "identity": _half_square,
    "softmax": _softmax,
}


def _differences(public: Public) -> FloatArray:
    """Bound (n_draws − 1,) of |loss − draw 0's loss| on one row."""
    low, high = loss_ranges(public)
    plain = np.maximum(high[1:] - low[0], high[0] - low[1:])
    if public.models.link == "logistic":
        slope = expit(public.reach())  # the loss's steepest descent within the larger reach
        return np.minimum(plain, np.maximum(slope[1:], slope[0]) * public.apart(0)[1:])
    if public.models.link == "identity":
        low_end, high_end = public.linear.target_bounds
        reach = public.reach()
        steepest = 1 + np.maximum(reach[1:], reach[0])
        unit = ((high_end - low_end) / 2) ** 2
        return np.minimum(plain, unit * steepest * public.apart(0)[1:])
    return plain
