"""How far the draws are from the best model, as queries; and how many lie in the set, softly."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import NUMPY
from rashomon_explorer.constants import Constants, row_bound
from rashomon_explorer.domains import Ball
from rashomon_explorer.problem import Problem
from rashomon_explorer.release.losses import UNIT
from rashomon_explorer.release.noise import Noise
from rashomon_explorer.release.query import (
    Over,
    Query,
    Sensitivity,
    check_linear,
    check_over,
    measured,
    over_names,
    overall,
    overall_widths,
)
from rashomon_explorer.release.statistic import Statistic
from rashomon_explorer.release.table import Public, Rows
from rashomon_explorer.validation import check_nonnegative, check_positive

_LOSSES = ("logistic", "squared")


@dataclass(frozen=True, kw_only=True)
class ExcessQuery(Query):
    """A query of excess losses e = L(θ) − L*, with L* the least within the ball.

    For neighbours L_D − L_D' lies in an interval of width osc on the whole ball; L(θ) moves by a
    value in it and L* by another, so that e moves by at most osc = O(1/n). The least is known to
    a certified gap of at most the public ``gap_tolerance``, which is added.

    Parameters
    ----------
    radius : float
        Radius of the ball of models, as for the draws.
    ridge : float, default=0.0
        Ridge of the loss, as for the draws.
    """

    radius: float
    ridge: float = 0.0
    needs: ClassVar[tuple[str, ...]] = ("y",)

    def check(self, public: Public) -> None:
        """Refuse radii and losses out of range."""
        super().check(public)
        check_positive(radius=self.radius)
        check_nonnegative(ridge=self.ridge)
        check_linear(self, public)
        if public.linear.plan.loss not in _LOSSES:
            raise ValueError(
                f"{self.name} knows the losses {_LOSSES}, and the draws are for "
                f"{public.linear.plan.loss!r}: release 'loss_differences' instead"
            )

    def moved(self, public: Public) -> float:
        """Most that one record moves a draw's computed excess: osc + gap."""
        # Draws are rounded and may stick out of the ball by a hair; they are public.
        furthest = float(np.linalg.norm(public.linear.coef, axis=1).max())
        ball = self._constants(public, max(self.radius, furthest))
        return ball.osc + self._constants(public, self.radius).gap_tolerance

    def excess(self, rows: Rows) -> FloatArray:
        """Excess (n_draws,) of each draw.  Curator: not private."""
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

    def _constants(self, public: Public, radius: float) -> Constants:
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
        """``"excess"``, with the summary before."""
        return "excess" if self.over == "each" else f"{self.over}_excess"

    @property
    def definition(self) -> str:
        """In words."""
        which = "for each draw," if self.over == "each" else f"{self.over} over the draws of"
        return f"{which} its loss less {self._least}"

    def check(self, public: Public) -> None:
        """Refuse an unknown summary."""
        super().check(public)
        check_over(self.over)

    def sensitivity(self, public: Public) -> Sensitivity:
        """Of osc + gap a draw."""
        return Sensitivity.of(
            overall_widths(np.full(public.n_draws, self.moved(public)), self.over)
        )

    def compute(self, rows: Rows) -> FloatArray:
        """Excess losses."""
        return np.atleast_1d(overall(self.excess(rows), self.over))

    def statistics(self, noisy: FloatArray, noise: Noise, public: Public) -> tuple[Statistic, ...]:
        """One excess a draw, or one."""
        names = over_names("excess", self.over, public.n_draws)
        return measured(names, noisy, noise, (0.0, math.inf), note=UNIT[public.models.link])


@dataclass(frozen=True, kw_only=True)
class SoftHits(ExcessQuery):
    """Share of draws in the Rashomon set, from below and from above.

    Whether a draw's excess e is at most ψ can be turned by one record however many rows there
    are: the exact hit rate has no useful bound. But e moves by at most osc + gap, and so the ramps

        inner = mean of clip((ψ − e)/s, 0, 1) ≤ hit rate ≤ outer = mean of clip((ψ + s − e)/s, 0, 1)

    move by at most (osc + gap)/s **in sum**, because they rise on different stretches of e: their
    sum for one draw is clip((ψ + s − e)/s, 0, 2).

    Parameters
    ----------
    width : float
        s > 0, in units of the loss. Wide ramps have little noise and say less: what is between
        inner and outer are the draws with an excess within s of ψ.
    radius, ridge : float
        As for the draws.
    psi : float, optional
        ψ, by default that of the draws.

    Examples
    --------
    >>> SoftHits(width=0.01, radius=4.0).name
    'soft_hits'
    """

    width: float
    psi: float | None = None

    @property
    def name(self) -> str:
        """``"soft_hits"``."""
        return "soft_hits"

    @property
    def definition(self) -> str:
        """In words."""
        psi = "the draws' psi" if self.psi is None else f"{self.psi:g}"
        return (
            f"mean over the draws of a ramp from 1 to 0 as the excess rises over {self.width:g} up "
            f"to {psi} (inner), or beyond it (outer); excess over {self._least}"
        )

    def check(self, public: Public) -> None:
        """Refuse widths and thresholds out of range."""
        super().check(public)
        check_positive(width=self.width)
        if self.psi is not None:
            check_nonnegative(psi=self.psi)

    def sensitivity(self, public: Public) -> Sensitivity:
        """(osc + gap)/s in the sum, and at most 1 a ramp."""
        slope = self.moved(public) / self.width
        return Sensitivity(min(slope, 2.0), min(slope, math.sqrt(2)))

    def compute(self, rows: Rows) -> FloatArray:
        """Inner and outer share."""
        excess = self.excess(rows)
        psi = rows.models.psi if self.psi is None else self.psi
        ramps = [np.clip((psi + s - excess) / self.width, 0.0, 1.0) for s in (0.0, self.width)]
        return np.array([ramp.mean() for ramp in ramps])

    def statistics(self, noisy: FloatArray, noise: Noise, public: Public) -> tuple[Statistic, ...]:
        """Two shares, the hit rate between them."""
        hides = noise.quantile(0.95) >= 1
        hidden = ", but the noise hides it: take a larger width or pay more" if hides else ""
        found: list[Statistic] = []
        for place, (which, bound) in enumerate((("inner", "at least"), ("outer", "at most"))):
            note = f"the exact hit rate is {bound} this" + hidden
            found += measured([f"{which} hit rate"], noisy[[place]], noise, (0.0, 1.0), note=note)
        return tuple(found)


def _targets(rows: Rows) -> NDArray[Any]:
    """Labels −1 and 1, or targets on [−1, 1], as the loss knows them."""
    if rows.models.task == "classification":
        return 2 * rows.codes - 1
    low, high = rows.public.linear.target_bounds
    return np.asarray((rows.codes - (low + high) / 2) / ((high - low) / 2))
