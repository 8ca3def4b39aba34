"""Instances of lower bounds and of rough losses."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import (
    check_count,
    check_inner_share,
    check_nonnegative,
    check_positive,
)

_NODES = 41  # of Gauss and Hermite, for the mean over the noise
_HALVINGS = 60

Record = tuple[float, float, float]  # x, y and how many there are


def huberised(z: FloatArray, width: float) -> FloatArray:
    """max(z, 0) made smooth on [−h, h]: z²/4h + z/2 + h/4 there.

    Examples
    --------
    >>> huberised(np.array([-2.0, 0.0, 2.0]), 1.0).tolist()
    [0.0, 0.25, 2.0]
    """
    inside = (np.clip(z, -width, width) + width) ** 2 / (4 * width)
    return np.asarray(np.where(z > width, z, inside))


def hard_tables(n: int, width: float) -> tuple[list[Record], list[Record]]:
    """Make the tables of Theorem B.1 of Bassily et al. 2014: for much smoothing, and little.

    Examples
    --------
    >>> hard_tables(300, 0.1)[0]
    [(-1.0, 1.0, 100.0), (1.0, -1.0, 200.0)]
    """
    tilt = min(1 / (32 * width), n / 2)
    smooth = [(-1.0, 1.0, n / 3), (1.0, -1.0, 2 * n / 3)]
    return smooth, [(-1.0, 1.0, n / 2 - tilt), (1.0, 1.0, n / 2 + tilt)]


def huber_barrier(n: int, width: float, epsilon: float, delta: float) -> float:
    """Mean excess, summed over records, of objective perturbation on the worse of both tables.

    θ = argmin over [−2, 2] of Σf̂(y − xθ) + θ²/(8hε) + bθ with b ~ N(0, 8log(1/δ)/ε²), and the
    excess is that of Σmax(y − xθ, 0). On the first table θ is off by h/3, nh/9 in loss; on the
    second the ridge, which a smoothness of 1/2h asks for, holds θ near ε/4 where 1 is best, 1/16h
    in loss. The larger is about √n/12, where an exponential mechanism has 2LD/ε: smoothing a kink
    is no way round it (Theorem B.1 of Bassily et al. 2014).

    Parameters
    ----------
    n : int
    width : float
        h of the smoothing.
    epsilon, delta : float
        As printed, for the noise and the ridge.

    Examples
    --------
    >>> round(huber_barrier(900, 0.025, 1.0, 1e-6), 2)
    2.67
    """
    check_count(n=n)
    check_positive(width=width, epsilon=epsilon)
    check_inner_share(delta=delta)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    noise = nodes * math.sqrt(8 * math.log(1 / delta)) / epsilon
    tables = hard_tables(n, width)
    return max(_mean_excess(table, width, epsilon, noise, weights) for table in tables)


def least_huber_barrier(n: int, epsilon: float, delta: float) -> float:
    """Give the same with the best smoothing that there is.

    Examples
    --------
    >>> least_huber_barrier(10_000, 1.0, 1e-6) > 100 / 12 * 0.8
    True
    """
    widths = np.geomspace(0.01 / math.sqrt(n), 100 / math.sqrt(n), 41)
    return min(huber_barrier(n, float(width), epsilon, delta) for width in widths)


def _mean_excess(
    table: list[Record], width: float, epsilon: float, noise: FloatArray, weights: FloatArray
) -> float:
    theta = _perturbed(table, width, epsilon, noise)
    ends = np.array([-2.0, -1.0, 1.0, 2.0])  # kinks and ends: the least is at one of them
    excess = _hinges(table, theta) - _hinges(table, ends).min()
    return float(excess @ weights / weights.sum())


def _perturbed(table: list[Record], width: float, epsilon: float, noise: FloatArray) -> FloatArray:
    """Where the slope, which rises with θ, is 0 on [−2, 2], for every b."""
    low, high = np.full_like(noise, -2.0), np.full_like(noise, 2.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope = middle / (4 * width * epsilon) + noise
        for x, y, many in table:
            z = np.clip(y - x * middle, -width, width)
            slope = slope - many * x * (z + width) / (2 * width)
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return np.asarray((low + high) / 2)


def _hinges(table: list[Record], theta: FloatArray) -> FloatArray:
    return np.asarray(sum(many * np.maximum(y - x * theta, 0.0) for x, y, many in table))


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


_MOST_HIDDEN = 4096
_LARGE = 1e100


def rough_last_state_mu(
    *,
    expansion: float,
    jump: float = 0.0,
    shift: float,
    noise: float,
    diameter: float,
    n_steps: int,
) -> float:
    """Gaussian DP of the last of N states x ← P(φ(x) + N(0, σ²I)) for maps that need not contract.

    For ‖φ(x) − φ(y)‖ ≤ c‖x − y‖ + j and ‖φ(x) − φ'(x)‖ ≤ s the last K steps alone count, from
    states that are D apart at most: shifts a_t with z ← cz + j + s − a, from D to 0, cost Σa²/σ²
    (shifted interpolation, Bok, Su and Altschuler 2024, whose induction asks for no more), which is
    least for a_t ∝ c^(K − t). The whole path costs N·s²/σ², because from one start nothing is apart
    and nothing jumps. That is what arXiv 2410.01068 and 2501.04134 are about, here without their
    constants.

    Parameters
    ----------
    expansion : float
        c ≥ 1: 1 + ηM for a step η along the gradient of an M-smooth loss.
    jump : float, default=0.0
        j: η times the jump of the gradient.
    shift : float
        s: how far one record moves a step.
    noise : float
        σ a coordinate of one step.
    diameter : float
        D, of the domain onto which P projects.
    n_steps : int
        N.

    Returns
    -------
    float
        μ, at most that of the whole path.

    Examples
    --------
    >>> path = {"shift": 1e-3, "noise": 0.1, "diameter": 2.0}
    >>> [round(rough_last_state_mu(expansion=1.001, n_steps=n, **path), 2)
    ...  for n in (1_000, 1_000_000, 100_000_000)]
    [0.32, 1.27, 1.27]
    >>> rough_last_state_mu(expansion=1.0, jump=0.1, n_steps=1_000, **path) > 0.31
    True
    """
    check_positive(shift=shift, noise=noise, diameter=diameter)
    check_nonnegative(jump=jump)
    check_count(n_steps=n_steps)
    if not expansion >= 1:
        raise ValueError(f"expansion must be >= 1, got {expansion!r}: who contracts pays less")
    best = math.sqrt(n_steps) * shift
    ahead = squares = 0.0
    grown = 1.0
    for _ in range(min(n_steps, _MOST_HIDDEN)):
        ahead, squares = ahead + grown, squares + grown**2
        grown *= expansion
        if grown > _LARGE:
            break
        best = min(best, (grown * diameter + (jump + shift) * ahead) / math.sqrt(squares))
    return best / noise
