"""Logistic loss log(1 + exp(−y z·θ)) with labels y in {−1, +1}."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from rashomon_explorer.losses.base import FloatArray
from rashomon_explorer.losses.blocks import map_row_blocks
from rashomon_explorer.losses.logistic_bound import LogisticBound

# exp(a) of this many units of margin stays far from the float64 overflow at 709.
_SAFE_EXPONENT = 600.0
_LARGEST_GROUP = 16


@dataclass(frozen=True)
class LogisticLoss:
    """Logistic loss of a linear score, for labels in {−1, +1}.

    Examples
    --------
    >>> loss = LogisticLoss()
    >>> loss.oscillation(reach=4.0), loss.smoothness(row_bound=1.0)
    (8.0, 0.25)
    """

    name: str = "logistic"
    task: str = "classification"
    link: str = "logistic"
    globally_lipschitz: bool = True
    labels: tuple[float, ...] = (-1.0, 1.0)
    outputs: int = 1

    def lipschitz(self, reach: float, row_bound: float) -> float:
        """Lipschitz constant B·σ(reach): |f'| = σ is increasing in the margin.

        Parameters
        ----------
        reach : float
            Largest |z·θ|.
        row_bound : float
            Bound B on the norm of a row.

        Returns
        -------
        float
        """
        return row_bound * float(expit(reach))

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²/4: f'' = σ(1 − σ) is at most 1/4.

        Parameters
        ----------
        row_bound : float
            Bound B on the norm of a row.

        Returns
        -------
        float
        """
        return row_bound**2 / 4

    def oscillation(self, reach: float) -> float:
        """Oscillation 2·reach of the difference of two rows' losses.

        One row's loss lies in [f(−s), f(s)] with s = reach, an interval of width
        log(1 + eˢ) − log(1 + e⁻ˢ) = s; the difference of two has twice that, and opposite rows
        attain it. Half the generic 2·L·diameter (own derivation, docs/theory.md §1).

        Parameters
        ----------
        reach : float
            Largest |z·θ|.

        Returns
        -------
        float
        """
        return 2.0 * reach

    def empirical(self, rows: FloatArray, targets: FloatArray) -> "LogisticRisk":
        """Mean logistic loss of ``rows`` (n, p) with ``targets`` (n,) in {−1, +1}.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        targets : ndarray of shape (n,)

        Returns
        -------
        LogisticRisk
        """
        return LogisticRisk(np.ascontiguousarray(rows * -targets[:, None]))


@dataclass(frozen=True)
class LogisticRisk:
    """Mean of log(1 + exp(z_i·θ)) over rows z_i = −y_i x_i.

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Rows with the label folded in.
    """

    z: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.z.shape[0])

    @property
    def p(self) -> int:
        """Number of parameters."""
        return int(self.z.shape[1])

    @cached_property
    def _longest_row(self) -> float:
        return float(np.sqrt(np.einsum("ij,ij->i", self.z, self.z).max()))

    def value(self, theta: FloatArray) -> FloatArray:
        """Mean loss of each column of ``theta`` of shape (p, K); returns shape (K,)."""
        group = self._group(theta)
        parts = map_row_blocks(
            lambda rows: _softplus_sum(self.z[rows] @ theta, group), self.n, theta.shape[1]
        )
        return np.sum(parts, axis=0) / self.n

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean loss (K,) and gradient (p, K) for each column of ``theta`` of shape (p, K)."""
        group = self._group(theta)

        def block(rows: slice) -> tuple[FloatArray, FloatArray]:
            margin = self.z[rows] @ theta
            if group < 1:
                return self.z[rows].T @ expit(margin), _softplus_sum(margin, group)
            odds = np.exp(margin, out=margin)
            factors = odds + 1.0
            odds /= factors  # now σ(margin): one exponential serves the loss and the gradient
            return self.z[rows].T @ odds, _log_product_sum(factors, group)

        parts = map_row_blocks(block, self.n, theta.shape[1])
        gradient = np.sum([part[0] for part in parts], axis=0) / self.n
        return np.sum([part[1] for part in parts], axis=0) / self.n, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        return (self.z * self._curvature(theta)[:, None]).T @ self.z

    def excess_bound(self, theta: FloatArray, whiten: FloatArray) -> LogisticBound:
        """Certified bound around ``theta``; see :class:`LogisticBound`."""
        sigma = expit(self.z @ theta)
        return LogisticBound.of(self.z @ whiten, sigma)

    def _curvature(self, theta: FloatArray) -> FloatArray:
        sigma = expit(self.z @ theta)
        return np.asarray(sigma * (1 - sigma) / self.n)

    def _group(self, theta: FloatArray) -> int:
        """How many factors 1 + exp(margin) one logarithm can take without overflow."""
        reach = self._longest_row * float(np.sqrt((theta**2).sum(0).max(initial=0.0)))
        return int(np.clip(_SAFE_EXPONENT / (reach + 1), 0, _LARGEST_GROUP))


def _softplus_sum(margin: FloatArray, group: int) -> FloatArray:
    """Column sums of log(1 + exp(margin)), with one logarithm for ``group`` cells.

    Logarithms dominate the elementwise work, and a product of a few factors cannot overflow
    because margins are bounded by the domain.
    """
    if group < 1:
        return np.asarray(np.logaddexp(0.0, margin).sum(0))
    factors = np.exp(margin, out=margin)
    factors += 1.0
    return _log_product_sum(factors, group)


def _log_product_sum(factors: FloatArray, group: int) -> FloatArray:
    """Column sums of log(factors), a logarithm for ``group`` rows."""
    whole = len(factors) // group * group
    grouped = factors[:whole].reshape(whole // group, group, factors.shape[1])
    total = np.log(np.multiply.reduce(grouped, axis=1)).sum(0)
    if whole < len(factors):
        total += np.log(factors[whole:]).sum(0)
    return np.asarray(total)
