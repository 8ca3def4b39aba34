"""Absolute error |y − z·θ| and its tilted form, the pinball loss of a quantile."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses.clipped_slope import ClippedSlope
from rashomon_explorer.losses.clipped_slope_risk import ClippedSlopeRisk
from rashomon_explorer.validation import check_positive


@dataclass(frozen=True)
class AbsoluteLoss:
    """Absolute error of a linear score, for targets in [−target_bound, target_bound].

    With r = y − z·θ the loss is 2·max(τr, (τ − 1)r): |r| for τ = ½, whose minimum is a median,
    and in general twice the pinball loss, whose minimum is a τ-quantile.

    Parameters
    ----------
    target_bound : float, default=1.0
        Bound Y on |y|; targets are clipped to it.
    tau : float, default=0.5
        Level of the quantile, between 0 and 1.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> AbsoluteLoss().oscillation(reach=0.5), AbsoluteLoss().oscillation(reach=4.0)
    (2.0, 10.0)
    """

    target_bound: float = 1.0
    tau: float = 0.5
    name: str = "absolute"
    task: str = "regression"
    link: str = "identity"
    globally_lipschitz: bool = True
    labels: None = None
    outputs: int = 1

    def __post_init__(self) -> None:
        """Refuse a bound that bounds nothing, and a level that is no quantile's."""
        check_positive(target_bound=self.target_bound)
        if not 0 < self.tau < 1:
            raise ValueError(f"tau must lie between 0 and 1, got {self.tau!r}")

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant 2B·max(τ, 1 − τ), B for the median.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound * self._steepest

    def smoothness(self, row_bound: float) -> float:
        """Infinite: the gradient jumps where the error is 0.

        Parameters
        ----------
        row_bound : float
            Bound on the norm of a row.
        """
        return math.inf

    def oscillation(self, reach: float) -> float:
        """Oscillation 4·max(τ, 1 − τ)·min(Y + s, 2s) of two rows' difference, s = reach.

        For a target y ≥ 0 one row's loss is at most max(2τ(y + s), 2(1 − τ)(s − y)) and at least
        2τ·max(y − s, 0): a range of at most 2·max(τ, 1 − τ)·min(Y + s, 2s), which y = ±Y has on
        its steeper side; the same for y < 0. The difference of two rows has at most twice that.
        y = y' = ±Y attain it with rows of full length at an angle whose cosine is
        −min(Y, s)/s: each has its largest loss where the other has its least.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        """
        return 2 * self._steepest * min(self.target_bound + reach, 2 * reach)

    def empirical(self, rows: FloatArray, targets: FloatArray) -> ClippedSlopeRisk:
        """Mean absolute error of ``rows`` (n, p) with ``targets`` (n,), clipped.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        targets : ndarray of shape (n,)
        """
        clipped = np.clip(targets, -self.target_bound, self.target_bound)
        shape = ClippedSlope(2 * (self.tau - 1), 2 * self.tau)
        return ClippedSlopeRisk(np.ascontiguousarray(-rows), clipped, shape)

    @property
    def _steepest(self) -> float:
        return 2 * max(self.tau, 1 - self.tau)
