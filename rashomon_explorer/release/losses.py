"""Queries on losses and excess losses."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rashomon_explorer._utils.arrays import NUMPY, FloatArray
from rashomon_explorer._utils.validation import check_nonnegative, check_positive
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release.noise import Noise
from rashomon_explorer.release.query import (
    Over,
    PublicShape,
    Query,
    Rows,
    Sensitivity,
    check_draws,
    check_linear,
    check_over,
    check_task,
    measured,
    over_names,
    overall,
    overall_widths,
)
from rashomon_explorer.release.statistic import Statistic

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
    (:func:`loss_ranges`). Replacing a record changes its mean by at most r_i/n, and k means by
    √(Σ r_i²)/n in the ℓ₂ norm. This is nearly attained if a record that all models label correctly
    is replaced by its opposite. The largest or least mean changes by at most max r_i/n.

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
        """``"losses"``, prefixed with the summary if there is one."""
        return "losses" if self.over == "each" else f"{self.over}_loss"

    @property
    def definition(self) -> str:
        """Definition in words."""
        which = "for each draw," if self.over == "each" else f"{self.over} over the draws of"
        return f"{which} the mean loss over rows"

    def check(self, public: PublicShape) -> None:
        """Raise an error for an unknown summary."""
        super().check(public)
        check_over(self.over)

    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """Ranges of the losses divided by n."""
        low, high = loss_ranges(public)
        return Sensitivity.of(overall_widths((high - low) / public.n_rows, self.over))

    def compute(self, rows: Rows) -> FloatArray:
        """Return mean losses."""
        return np.atleast_1d(overall(rows.mean_losses(), self.over))

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[Statistic, ...]:
        """One loss per draw, or a single one."""
        names = over_names("loss", self.over, public.n_draws)
        low, high = (np.atleast_1d(overall(end, self.over)) for end in loss_ranges(public))
        mean = public.n_rows if self.over in ("each", "mean") else 0
        note = UNIT[public.models.link]
        return measured(names, noisy, noise, (low, high), mean, note)


@dataclass(frozen=True)
class LossDifferences(Query):
    """Mean loss of each draw minus that of draw 0, which compares draws with less noise."""

    name: str = "loss_differences"
    definition: str = "for each draw, the mean over rows of its loss minus that of draw 0"
    needs: ClassVar[tuple[str, ...]] = ("y",)

    def check(self, public: PublicShape) -> None:
        """Raise an error for a single draw."""
        super().check(public)
        check_draws(self, public, 2)

    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """2√(Σ d_i²)/n in the ℓ₂ norm."""
        return Sensitivity.of(2 * _differences(public) / public.n_rows)

    def compute(self, rows: Rows) -> FloatArray:
        """Return differences (n_draws − 1,)."""
        losses = rows.mean_losses()
        return np.asarray(losses[1:] - losses[0])

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[Statistic, ...]:
        """One difference per draw except the first."""
        names = [f"loss of draw {draw} minus draw 0" for draw in range(1, public.n_draws)]
        most = _differences(public)
        note = UNIT[public.models.link]
        return measured(names, noisy, noise, (-most, most), public.n_rows, note)


@dataclass(frozen=True)
class Accuracies(Query):
    """Share of rows that each draw labels correctly, or the mean, largest or least share."""

    over: Over = "each"
    needs: ClassVar[tuple[str, ...]] = ("y",)

    @property
    def name(self) -> str:
        """``"accuracies"``, prefixed with the summary if there is one."""
        return "accuracies" if self.over == "each" else f"{self.over}_accuracy"

    @property
    def definition(self) -> str:
        """Definition in words."""
        which = "for each draw," if self.over == "each" else f"{self.over} over the draws of"
        return f"{which} the share of rows labelled correctly"

    def check(self, public: PublicShape) -> None:
        """Raise an error for regressions."""
        super().check(public)
        check_over(self.over)
        check_task(self, public, "classification")

    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """1/n per coordinate."""
        return Sensitivity.of(overall_widths(np.full(public.n_draws, 1 / public.n_rows), self.over))

    def compute(self, rows: Rows) -> FloatArray:
        """Return shares."""
        return np.atleast_1d(overall((rows.labels == rows.codes).mean(axis=1), self.over))

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[Statistic, ...]:
        """One share per draw, or a single one."""
        names = over_names("accuracy", self.over, public.n_draws)
        mean = public.n_rows if self.over in ("each", "mean") else 0
        return measured(names, noisy, noise, (0.0, 1.0), mean)


def loss_ranges(public: PublicShape) -> tuple[FloatArray, FloatArray]:
    """Least and largest loss (n_draws,) of each draw over all allowed rows and targets."""
    return _RANGES[public.models.link](public)


def _logistic(public: PublicShape) -> tuple[FloatArray, FloatArray]:
    reach = public.reach()
    return np.logaddexp(0.0, -reach), np.logaddexp(0.0, reach)


def _zero_one(public: PublicShape) -> tuple[FloatArray, FloatArray]:
    return np.zeros(public.n_draws), np.ones(public.n_draws)


def _half_square(public: PublicShape) -> tuple[FloatArray, FloatArray]:
    low, high = public.linear.target_bounds
    return np.zeros(public.n_draws), ((high - low) / 2 * (1 + public.reach())) ** 2 / 2


def _softmax(public: PublicShape) -> tuple[FloatArray, FloatArray]:
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


def _differences(public: PublicShape) -> FloatArray:
    """Bound (n_draws − 1,) on |loss − loss of draw 0| for one row."""
    low, high = loss_ranges(public)
    plain = np.maximum(high[1:] - low[0], high[0] - low[1:])
    if public.models.link == "logistic":
        slope = expit(public.reach())  # steepest slope of the loss within the larger reach
        return np.minimum(plain, np.maximum(slope[1:], slope[0]) * public.apart(0)[1:])
    if public.models.link == "identity":
        low_end, high_end = public.linear.target_bounds
        reach = public.reach()
        steepest = 1 + np.maximum(reach[1:], reach[0])
        unit = ((high_end - low_end) / 2) ** 2
        return np.minimum(plain, unit * steepest * public.apart(0)[1:])
    return plain


@dataclass(frozen=True)
class ClippedShare(Query):
    """Share of clipped rows; replacing one record changes it by at most 1/n, which is attained."""

    name: str = "clipped_share"
    definition: str = "share of rows above the row norm, which are clipped to it"

    def check(self, public: PublicShape) -> None:
        """Raise an error for models that do not clip rows."""
        super().check(public)
        check_linear(self, public)

    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """Return 1/n in both norms."""
        return Sensitivity.of(1 / public.n_rows)

    def compute(self, rows: Rows) -> FloatArray:
        """Return the share (1,)."""
        # Nested hypot, because the square of a huge entry would overflow.
        norms = np.hypot.reduce(rows.X, axis=1)
        return np.array([(norms > rows.public.linear.row_norm).mean()])

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[Statistic, ...]:
        """Return a single share."""
        return measured([self.name], noisy, noise, (0.0, 1.0), public.n_rows)


_LOSSES = ("logistic", "squared")


@dataclass(frozen=True, kw_only=True)
class ExcessQuery(Query):
    """Query on excess losses e = L(θ) − L*, where L* is the least loss in the ball."""

    radius: float
    ridge: float = 0.0
    needs: ClassVar[tuple[str, ...]] = ("y",)

    def check(self, public: PublicShape) -> None:
        """Raise an error for a radius or loss out of range."""
        super().check(public)
        check_positive(radius=self.radius)
        check_nonnegative(ridge=self.ridge)
        check_linear(self, public)
        if public.linear.plan.loss not in _LOSSES:
            raise ValueError(
                f"{self.name} supports the losses {_LOSSES}, but the draws use "
                f"{public.linear.plan.loss!r}: release 'loss_differences' instead"
            )

    def moved(self, public: PublicShape) -> float:
        """Bound on the change of a draw's computed excess by one record: osc + gap."""
        # Rounded draws may lie slightly outside the ball; they are public.
        furthest = float(np.linalg.norm(public.linear.coef, axis=1).max())
        ball = self._constants(public, max(self.radius, furthest))
        return ball.osc + self._constants(public, self.radius).gap_tolerance

    def excess(self, rows: Rows) -> FloatArray:
        """Return the excess (n_draws,) of each draw.  Curator: not private."""
        models = rows.public.linear
        problem = Problem(
            models.rows(rows.X),
            _targets(rows),
            loss=models.plan.loss,
            radius=self.radius,
            row_norm=models.row_norm,
            ridge=self.ridge,
            arrays=NUMPY,
        )
        return np.asarray(problem.value(models.coef.T) - problem.minimum.value)

    def _constants(self, public: PublicShape, radius: float) -> Constants:
        models = public.linear
        return Constants.of(
            models.plan.loss,
            n=public.n_rows,
            p=models.coef.shape[1],
            domain=Ball(radius),
            row_bound=row_bound(models.row_norm, intercept=True),
            ridge=self.ridge,
        )

    @property
    def _least(self) -> str:
        return f"the least loss within radius {self.radius:g}, ridge {self.ridge:g}"


@dataclass(frozen=True, kw_only=True)
class Excess(ExcessQuery):
    """Excess loss of each draw, or their mean, largest or least, in the units of the plan's ψ.

    Parameters
    ----------
    radius, ridge : float
        As for the draws.
    over : {"mean", "largest", "least", "each"}, default="mean"

    Examples
    --------
    >>> Excess(radius=4.0).name
    'mean_excess'
    """

    over: Over = "mean"

    @property
    def name(self) -> str:
        """``"excess"``, prefixed with the summary."""
        return "excess" if self.over == "each" else f"{self.over}_excess"

    @property
    def definition(self) -> str:
        """Definition in words."""
        which = "for each draw," if self.over == "each" else f"{self.over} over the draws of"
        return f"{which} its loss minus {self._least}"

    def check(self, public: PublicShape) -> None:
        """Raise an error for an unknown summary."""
        super().check(public)
        check_over(self.over)

    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """Bounds from osc + gap per draw."""
        return Sensitivity.of(
            overall_widths(np.full(public.n_draws, self.moved(public)), self.over)
        )

    def compute(self, rows: Rows) -> FloatArray:
        """Return excess losses."""
        return np.atleast_1d(overall(self.excess(rows), self.over))

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[Statistic, ...]:
        """One excess per draw, or a single one."""
        names = over_names("excess", self.over, public.n_draws)
        return measured(names, noisy, noise, (0.0, math.inf), note=UNIT[public.models.link])


@dataclass(frozen=True, kw_only=True)
class SoftHits(ExcessQuery):
    """Lower and upper soft share of draws in the Rashomon set.

    For any number of rows, one record can change whether the excess e of a draw is at most ψ. The
    exact hit rate has no useful bound. But e changes by at most osc + gap, so the ramps

        inner = mean of clip((ψ − e)/s, 0, 1) ≤ hit rate ≤ outer = mean of clip((ψ + s − e)/s, 0, 1)

    change by at most (osc + gap)/s **in sum**, because they increase on different intervals of e:
    their sum for one draw is clip((ψ + s − e)/s, 0, 2).

    Parameters
    ----------
    width : float
        s > 0, in units of the loss. Wide ramps have little noise and are less informative: inner
        and outer differ by the draws with an excess within s of ψ.
    radius, ridge : float
        As for the draws.
    psi : float, optional
        ψ; by default that of the draws.

    Examples
    --------
    >>> SoftHits(width=0.01, radius=4.0).name
    'soft_hits'
    """

    width: float
    psi: float | None = None

    @property
    def name(self) -> str:
        """Return ``"soft_hits"``."""
        return "soft_hits"

    @property
    def definition(self) -> str:
        """Definition in words."""
        psi = "the draws' psi" if self.psi is None else f"{self.psi:g}"
        return (
            f"mean over the draws of a ramp from 1 to 0 as the excess rises over {self.width:g} up "
            f"to {psi} (inner), or beyond it (outer); excess over {self._least}"
        )

    def check(self, public: PublicShape) -> None:
        """Raise an error for a width or threshold out of range."""
        super().check(public)
        check_positive(width=self.width)
        if self.psi is not None:
            check_nonnegative(psi=self.psi)

    def sensitivity(self, public: PublicShape) -> Sensitivity:
        """(osc + gap)/s in the ℓ₁ norm, and at most 1 per ramp."""
        slope = self.moved(public) / self.width
        return Sensitivity(min(slope, 2.0), min(slope, math.sqrt(2)))

    def compute(self, rows: Rows) -> FloatArray:
        """Return the inner and outer share."""
        excess = self.excess(rows)
        psi = rows.models.psi if self.psi is None else self.psi
        ramps = [np.clip((psi + s - excess) / self.width, 0.0, 1.0) for s in (0.0, self.width)]
        return np.array([ramp.mean() for ramp in ramps])

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: PublicShape
    ) -> tuple[Statistic, ...]:
        """Two shares that bracket the hit rate."""
        hides = noise.quantile(0.95) >= 1
        hidden = ", but the noise hides it: use a larger width or a larger budget" if hides else ""
        found: list[Statistic] = []
        for place, (which, bound) in enumerate((("inner", "at least"), ("outer", "at most"))):
            note = f"the exact hit rate is {bound} this" + hidden
            found += measured([f"{which} hit rate"], noisy[[place]], noise, (0.0, 1.0), note=note)
        return tuple(found)


def _targets(rows: Rows) -> NDArray[Any]:
    """Labels −1 and 1, or targets in [−1, 1], as the loss requires them."""
    if rows.models.task == "classification":
        return 2 * rows.codes - 1
    low, high = rows.public.linear.target_bounds
    return np.asarray((rows.codes - (low + high) / 2) / ((high - low) / 2))
