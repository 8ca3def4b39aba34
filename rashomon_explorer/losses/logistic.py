"""Logistic loss log(1 + exp(−y z·θ)) with labels y in {−1, +1}."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from rashomon_explorer.losses.base import FloatArray
from rashomon_explorer.losses.blocks import map_row_blocks
from rashomon_explorer.losses.fourth_moment import third_moment_bound

# exp(a) of this many units of margin stays far from the float64 overflow at 709.
_SAFE_EXPONENT = 600.0
_LARGEST_GROUP = 16
_SERIES_BELOW = 1e-2


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
            return self.z[rows].T @ expit(margin), _softplus_sum(margin, group)

        parts = map_row_blocks(block, self.n, theta.shape[1])
        gradient = np.sum([part[0] for part in parts], axis=0) / self.n
        return np.sum([part[1] for part in parts], axis=0) / self.n, gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model of shape (p,)."""
        return (self.z * self._curvature(theta)[:, None]).T @ self.z

    def radial_bound(self, theta: FloatArray, whiten: FloatArray) -> "LogisticRadialBound":
        """Certified radial bound around ``theta``; see :class:`LogisticRadialBound`."""
        whitened = self.z @ whiten
        lever = float(np.sqrt(np.einsum("ij,ij->i", whitened, whitened).max()))
        third = third_moment_bound(whitened, self._curvature(theta))
        return LogisticRadialBound(third_moment=min(third, lever), lever=lever)

    def _curvature(self, theta: FloatArray) -> FloatArray:
        sigma = expit(self.z @ theta)
        return np.asarray(sigma * (1 - sigma) / self.n)

    def _group(self, theta: FloatArray) -> int:
        """How many factors 1 + exp(margin) one logarithm can take without overflow."""
        reach = self._longest_row * float(np.sqrt((theta**2).sum(0).max(initial=0.0)))
        return int(np.clip(_SAFE_EXPONENT / (reach + 1), 0, _LARGEST_GROUP))


@dataclass(frozen=True)
class LogisticRadialBound:
    """Lower bound of the logistic excess loss by |f'''| ≤ f''.

    Per row f(a + b) ≥ f(a) + f'(a) b + f''(a)(e^{−|b|} + |b| − 1). With Σ w_i (b_i·v)² ≤ 1 for
    unit v this gives, for the non-linear part along every ray (docs/theory.md §3),

        r²/2 − C₃ r³/6                (up to r = 3/(2 C₃), then linearly, by convexity)
        r² (e^{−ℓr} + ℓr − 1)/(ℓr)²   with ℓ = max_i ‖b_i‖,

    and the larger of the two is used.

    Parameters
    ----------
    third_moment : float
        C₃ with Σ w_i |b_i·v|³ ≤ C₃ for every unit v.
    lever : float
        ℓ, the longest whitened row.

    Examples
    --------
    >>> bound = LogisticRadialBound(third_moment=1.0, lever=3.0)
    >>> bound(np.array([0.0, 0.1])).round(6).tolist()
    [0.0, 0.004833]
    """

    third_moment: float
    lever: float

    def __call__(self, radius: FloatArray) -> FloatArray:
        """Lower bound at each radius, same shape as ``radius``."""
        turn = 1.5 / self.third_moment if self.third_moment > 0 else np.inf
        inner = np.minimum(radius, turn)
        by_moment = inner**2 / 2 - self.third_moment * inner**3 / 6
        if np.isfinite(turn):
            by_moment = by_moment + np.maximum(radius - turn, 0.0) * (turn / 4)
        t = self.lever * np.asarray(radius, dtype=float)
        safe = np.maximum(t, _SERIES_BELOW)
        # An alternating series cut after a negative term stays below; the closed form cancels.
        series = 0.5 - t / 6 + t**2 / 24 - t**3 / 120
        ratio = np.where(t > _SERIES_BELOW, (np.expm1(-safe) + safe) / safe**2, series)
        return np.maximum(by_moment, radius**2 * ratio)


def _softplus_sum(margin: FloatArray, group: int) -> FloatArray:
    """Column sums of log(1 + exp(margin)), with one logarithm for ``group`` cells.

    Logarithms dominate the elementwise work, and a product of a few factors cannot overflow
    because margins are bounded by the domain.
    """
    if group < 1:
        return np.asarray(np.logaddexp(0.0, margin).sum(0))
    factors = np.exp(margin, out=margin)
    factors += 1.0
    whole = len(factors) // group * group
    products = np.multiply.reduce(
        factors[:whole].reshape(whole // group, group, factors.shape[1]), axis=1
    )
    return np.asarray(np.log(products).sum(0) + np.log(factors[whole:]).sum(0))
