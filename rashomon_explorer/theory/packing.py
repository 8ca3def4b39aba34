"""Wells of which any could be the right one: what no pure mechanism can find, and what one does."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.validation import check_count, check_positive


@dataclass(frozen=True)
class PackingLoss:
    """A record's loss is −Σ_j d_j·max(1 − ‖θ − c_j‖/α, 0): it digs the wells it votes for.

    Appendix F of Ganesh et al. 2023 and Theorem G.1 of the finite-time analysis, whose wells are
    1/α-Lipschitz and not 1, and whose centres must be 2α apart for the wells to be disjoint.

    Parameters
    ----------
    centres : ndarray of shape (p, k)
        Any two at least 2α apart.
    width : float
        α > 0.

    Raises
    ------
    ValueError
        If wells meet.

    Examples
    --------
    >>> loss = PackingLoss(np.array([[-1.0, 1.0]]), 0.5)
    >>> loss.value(np.array([[-1.0, 0.75, 0.0]]), np.array([[1, 0], [1, 1]])).tolist()
    [-1.0, -0.25, 0.0]
    """

    centres: FloatArray
    width: float

    def __post_init__(self) -> None:
        """Refuse wells that meet."""
        check_positive(width=self.width)
        apart = self._distances(self.centres)
        np.fill_diagonal(apart, np.inf)
        if apart.min() < 2 * self.width * (1 - 1e-9):
            raise ValueError(
                f"wells of width {self.width:g} meet: two centres are {apart.min():g} apart"
            )

    def value(self, theta: FloatArray, votes: NDArray[np.int_]) -> FloatArray:
        """Mean loss (K,) of models (p, K) on records (n, k) of 0 and 1.

        Parameters
        ----------
        theta : ndarray of shape (p, K)
        votes : ndarray of shape (n, k)
        """
        depth = np.maximum(1 - self._distances(theta) / self.width, 0.0)
        return np.asarray(-np.asarray(votes).mean(axis=0) @ depth)

    def _distances(self, theta: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(self.centres[:, :, None] - theta[:, None, :], axis=0))


def many_wells(p: int, radius: float, width: float) -> float:
    """How many disjoint wells a ball holds at least: (R/2α)^p.

    A largest set of centres that are 2α apart leaves no point farther than 2α from all of them.

    Examples
    --------
    >>> many_wells(3, 1.0, 0.05)
    1000.0
    """
    check_count(p=p)
    check_positive(radius=radius, width=width)
    return max(1.0, (radius / (2 * width)) ** p)


def most_found(k: float, votes: float, epsilon: float) -> float:
    """Probability that ε-DP finds the one of k wells that some records vote for, at most.

    1/(1 + (k − 1)e^(−εm)), on average over which it is: what is said on the table with m votes for
    j is said on that with m votes for another with e^(−εm) times the probability or more, and
    what is said adds up to 1. Randomised response attains it at m = 1.

    Examples
    --------
    >>> round(most_found(1000, 5, 1.0), 3)
    0.129
    """
    return 1 / (1 + (k - 1) * math.exp(-epsilon * votes))


def least_excess(k: float, n: int, epsilon: float) -> float:
    """Excess loss of the worst of k tables that every ε-DP mechanism has at least.

    With m votes among n records the well is m/n deep, and who misses it has all of that:
    max over m of (m/n)(1 − 1/(1 + (k − 1)e^(−εm))), about log(k)/(εn): p·log(R/2α)/(εn).

    Examples
    --------
    >>> round(least_excess(many_wells(10, 1.0, 0.05), 1000, 1.0), 4)
    0.0191
    """
    check_count(n=n)
    votes = np.unique(np.geomspace(1, n, 400).round())
    return max(float(m / n * (1 - most_found(k, m, epsilon))) for m in votes)


def well_excess(p: int, beta: float, *, radius: float = 1.0, width: float = 0.05) -> float:
    """Mean excess of the exponential mechanism where all records vote for the well in the middle.

    Of exp(−β·min{‖θ‖/α, 1}) on the ball, by quadrature of one radius.

    Examples
    --------
    >>> round(well_excess(4, 100.0), 3)
    0.04
    """
    check_count(p=p)
    edges = [np.linspace(0, width, 4001)[1:], np.linspace(width, radius, 4001)[1:]]
    r = np.concatenate(edges)
    loss = np.minimum(r / width, 1.0)
    log_density = -beta * loss + (p - 1) * np.log(r) + np.log(np.gradient(r))
    return math.exp(logsumexp(log_density, b=loss) - logsumexp(log_density))


def nonconvex_excess(p: int, n: int, epsilon: float, *, slope: float, diameter: float) -> float:
    """Bound of the exponential mechanism's mean excess without convexity, on a convex domain.

    (p/β)(1 + log(εn/2p)) + 1/β with β = εn/(2LD₀), L the slope, for p ≤ εn/2 (Theorem D.5 of the
    finite-time analysis, with its constants). The copy of the domain about the minimiser that is R
    times as large holds R^p of its volume and no excess above LRD₀; so that the excess passes
    LRD₀ + (p/β)log(1/R) + u with probability e^(−βu) at most, and R = p/(βLD₀).

    Examples
    --------
    >>> round(nonconvex_excess(2, 1000, 1.0, slope=1.0, diameter=2.0), 4)
    0.0562
    """
    check_count(p=p, n=n)
    check_positive(epsilon=epsilon, slope=slope, diameter=diameter)
    beta = epsilon * n / (2 * slope * diameter)
    if 2 * p > epsilon * n:
        return slope * diameter
    return (p * (1 + math.log(epsilon * n / (2 * p))) + 1) / beta
