"""Squared loss ½(y − z·θ)² with targets clipped to a declared bound."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.validation import check_positive


@dataclass(frozen=True)
class SquaredLoss:
    """Half the squared error of a linear score, for targets in [−target_bound, target_bound].

    Parameters
    ----------
    target_bound : float, default=1.0
        Bound Y on |y|; targets are clipped to it.

    Examples
    --------
    >>> SquaredLoss().oscillation(reach=2.0), SquaredLoss().oscillation(reach=0.5)
    (9.0, 2.0)
    """

    target_bound: float = 1.0
    name: str = "squared"
    task: str = "regression"
    link: str = "identity"
    globally_lipschitz: bool = False
    labels: None = None
    outputs: int = 1

    def __post_init__(self) -> None:
        """Refuse a bound that bounds nothing."""
        check_positive(target_bound=self.target_bound)

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B(Y + reach): the residual is at most Y + reach.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound * (self.target_bound + reach)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B².

        Parameters
        ----------
        row_bound : float
            Bound B on the norm of a row.
        """
        return row_bound**2

    def oscillation(self, reach: float) -> float:
        """Oscillation (Y + s)² − max(Y − s, 0)² of the difference of two rows' losses, s = reach.

        One row's loss ½(y − a)² with |a| ≤ s varies by at most
        ½(Y + s)² − ½max(Y − s, 0)² over the domain; the difference of two varies by at most
        twice that, and y = y' = Y with rows at the angle −Y/s (or opposite rows for s ≤ Y)
        attains it (docs/theory.md §1).

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        """
        return (self.target_bound + reach) ** 2 - max(self.target_bound - reach, 0.0) ** 2

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "SquaredRisk":
        """Mean squared loss of ``rows`` (n, p) with ``targets`` (n,), clipped.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        targets : ndarray of shape (n,)
        """
        clipped = np.clip(targets, -self.target_bound, self.target_bound)
        n = len(rows)
        return SquaredRisk(
            n=n,
            gram=rows.T @ rows / n,
            moment=rows.T @ clipped / n,
            energy=float(clipped @ clipped) / n,
        )


@dataclass(frozen=True)
class SquaredRisk:
    """Mean squared loss ½(θᵀSθ − 2 s·θ + c), from sufficient statistics alone.

    Parameters
    ----------
    n : int
        Number of rows.
    gram : ndarray of shape (p, p)
        S = XᵀX/n.
    moment : ndarray of shape (p,)
        s = Xᵀy/n.
    energy : float
        c = yᵀy/n.
    """

    n: int
    gram: FloatArray
    moment: FloatArray
    energy: float

    @property
    def p(self) -> int:
        """Number of parameters."""
        return len(self.moment)

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        gradient = self.gram @ theta - self.moment[:, None]
        value = 0.5 * (np.sum(theta * (gradient - self.moment[:, None]), axis=-2) + self.energy)
        return value, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p): the Gram matrix, whatever ``theta``."""
        return self.gram

    def curvature_bound(self) -> FloatArray:
        """Return the Gram matrix, which is every Hessian."""
        return self.gram

    def within(self, reach: float, dtype: type[np.floating[Any]] = np.float64) -> "SquaredRisk":
        """Return the loss itself: its statistics are small, and kept in float64."""
        return self
