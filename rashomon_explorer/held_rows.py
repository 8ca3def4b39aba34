"""Rows as a problem holds them: once, as its loss wants them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import EmpiricalLoss, Loss
from rashomon_explorer.losses.margins import of_margins

Some = slice | NDArray[np.intp]
"""Which rows."""

ALL = slice(None)
"""Every row."""


@dataclass(frozen=True)
class HeldRows:
    """Clipped rows (n, d) and targets (n,); labels may be folded into the rows.

    Attributes
    ----------
    held : ndarray of shape (n, d)
        Rows, or −y times each.
    targets : ndarray of shape (n,)
    are_folded : bool
    """

    held: FloatArray
    targets: FloatArray
    are_folded: bool = False

    @classmethod
    def of(cls, rows: FloatArray, targets: FloatArray, loss: Loss, *, owned: bool) -> "HeldRows":
        """Fold labels into rows that are nobody else's, for a loss that asks for no more.

        A second table would else stand beside the first.

        Examples
        --------
        >>> from rashomon_explorer.losses import get_loss
        >>> rows, labels = np.array([[2.0], [3.0]]), np.array([1.0, -1.0])
        >>> held = HeldRows.of(rows, labels, get_loss("logistic"), owned=True)
        >>> held.held.ravel(), held.rows().ravel()
        (array([-2.,  3.]), array([2., 3.]))
        """
        fold = owned and of_margins(loss)
        if fold:
            rows *= -targets[:, None]
        return cls(rows, targets, fold)

    def some(self, which: Some) -> "HeldRows":
        """Return some of the rows by themselves, held alike."""
        return replace(self, held=self.held[which], targets=self.targets[which])

    def rows(self, some: Some = ALL) -> FloatArray:
        """Return rows as they were clipped; a copy where labels are folded in."""
        rows = self.held[some]
        return np.asarray(rows * -self.targets[some, None]) if self.are_folded else rows

    def empirical(self, loss: Loss, some: Some = ALL) -> EmpiricalLoss:
        """Mean loss of some of the rows; what has its label folded in is as good as of label −1."""
        if self.are_folded and of_margins(loss):
            held = self.held[some]
            return loss.empirical(held, np.full(len(held), -1.0))
        return loss.empirical(self.rows(some), self.targets[some])
