"""The outer problem: the mean loss of a model on validation rows."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.tuning.margins import MarginLoss


@dataclass(frozen=True)
class OuterLoss:
    """F(y) = (1/n) Σ ℓ(clip(a_i·y), b_i) of validation rows.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        Validation rows, a constant column included.
    targets : ndarray of shape (n,)
    loss : MarginLoss
    margin_bound : float, optional
        Margins are clipped to [−margin_bound, margin_bound], which bounds what one validation row
        can say. Without it F is smooth, as the mechanisms that use gradients ask.

    Examples
    --------
    >>> from rashomon_explorer.tuning.margins import SquaredMargin
    >>> outer = OuterLoss(np.eye(2), np.ones(2), SquaredMargin(), margin_bound=1.0)
    >>> outer.value(np.array([[1.0, 5.0], [0.0, 1.0]])).tolist()
    [0.25, 0.0]
    """

    rows: FloatArray
    targets: FloatArray
    loss: MarginLoss
    margin_bound: float | None = None

    @property
    def n(self) -> int:
        """Number of validation rows."""
        return len(self.rows)

    def value(self, y: FloatArray) -> FloatArray:
        """Mean loss (K,) of each column of ``y`` (p, K)."""
        margins = self.rows @ y
        if self.margin_bound is not None:
            margins = np.clip(margins, -self.margin_bound, self.margin_bound)
        return np.asarray(self.loss.value(margins, self.targets[:, None]).mean(axis=0))

    def gradient(self, y: FloatArray) -> FloatArray:
        """∇F (p,) at one model (p,); a clipped margin has slope 0."""
        margins = self.rows @ y
        slopes = self.loss.slope(margins, self.targets)
        if self.margin_bound is not None:
            slopes = np.where(np.abs(margins) < self.margin_bound, slopes, 0.0)
        return np.asarray(self.rows.T @ slopes / self.n)
