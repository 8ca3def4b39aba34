"""Instances for lower bounds and for non-smooth losses."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray

_NODES = 41  # of Gauss and Hermite, for the mean over the noise
_HALVINGS = 60

Record = tuple[float, float, float]  # x, y and multiplicity


def hard_tables(n: int, width: float) -> tuple[list[Record], list[Record]]:
    """Tables of Theorem B.1 of Bassily et al. 2014, hard for much and for little smoothing."""
    tilt = min(1 / (32 * width), n / 2)
    smooth = [(-1.0, 1.0, n / 3), (1.0, -1.0, 2 * n / 3)]
    return smooth, [(-1.0, 1.0, n / 2 - tilt), (1.0, 1.0, n / 2 + tilt)]


def huber_barrier(n: int, width: float, epsilon: float, delta: float) -> float:
    """Mean excess, summed over records, of objective perturbation on the worse of two tables."""
    validation.check_count(n=n)
    validation.check_positive(width=width, epsilon=epsilon)
    validation.check_inner_share(delta=delta)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    noise = nodes * math.sqrt(8 * math.log(1 / delta)) / epsilon
    tables = hard_tables(n, width)
    return max(_mean_excess(table, width, epsilon, noise, weights) for table in tables)


def least_huber_barrier(n: int, epsilon: float, delta: float) -> float:
    """Mean excess of :func:`huber_barrier`, with the best width of smoothing."""
    widths = np.geomspace(0.01 / math.sqrt(n), 100 / math.sqrt(n), 41)
    return min(huber_barrier(n, float(width), epsilon, delta) for width in widths)


def _mean_excess(
    table: list[Record], width: float, epsilon: float, noise: FloatArray, weights: FloatArray
) -> float:
    theta = _perturbed(table, width, epsilon, noise)
    ends = np.array([-2.0, -1.0, 1.0, 2.0])  # kinks and ends: the minimum is at one of them
    excess = _hinges(table, theta) - _hinges(table, ends).min()
    return float(excess @ weights / weights.sum())


def _perturbed(table: list[Record], width: float, epsilon: float, noise: FloatArray) -> FloatArray:
    """Zero on [−2, 2] of the slope, which increases with θ, for every b."""
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
    """Sum of disjoint wells: a record's loss is −Σ_j d_j·max(1 − ‖θ − c_j‖/α, 0)."""

    centres: FloatArray
    width: float

    def __post_init__(self) -> None:
        validation.check_positive(width=self.width)
        apart = self._distances(self.centres)
        np.fill_diagonal(apart, np.inf)
        if apart.min() < 2 * self.width * (1 - 1e-9):
            raise ValueError(
                f"wells of width {self.width:g} overlap: two centres are {apart.min():g} apart"
            )

    def value(self, theta: FloatArray, votes: NDArray[np.int_]) -> FloatArray:
        """Mean loss (K,) of models (p, K) on records (n, k) of 0 and 1."""
        depth = np.maximum(1 - self._distances(theta) / self.width, 0.0)
        return np.asarray(-np.asarray(votes).mean(axis=0) @ depth)

    def _distances(self, theta: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.norm(self.centres[:, :, None] - theta[:, None, :], axis=0))


def many_wells(p: int, radius: float, width: float) -> float:
    """Lower bound (R/2α)^p on the number of disjoint wells in a ball."""
    validation.check_count(p=p)
    validation.check_positive(radius=radius, width=width)
    return max(1.0, (radius / (2 * width)) ** p)


def most_found(k: float, votes: float, epsilon: float) -> float:
    """Upper bound on the probability that ε-DP finds the one of k wells with ``votes`` votes."""
    return 1 / (1 + (k - 1) * math.exp(-epsilon * votes))


def least_excess(k: float, n: int, epsilon: float) -> float:
    """Lower bound on the excess of any ε-DP mechanism on the worst of k tables."""
    validation.check_count(n=n)
    votes = np.unique(np.geomspace(1, n, 400).round())
    return max(float(m / n * (1 - most_found(k, m, epsilon))) for m in votes)


def well_excess(p: int, beta: float, *, radius: float = 1.0, width: float = 0.05) -> float:
    """Mean excess of the exponential mechanism if all records vote for the middle well."""
    validation.check_count(p=p)
    edges = [np.linspace(0, width, 4001)[1:], np.linspace(width, radius, 4001)[1:]]
    r = np.concatenate(edges)
    loss = np.minimum(r / width, 1.0)
    log_density = -beta * loss + (p - 1) * np.log(r) + np.log(np.gradient(r))
    return math.exp(logsumexp(log_density, b=loss) - logsumexp(log_density))


def nonconvex_excess(p: int, n: int, epsilon: float, *, slope: float, diameter: float) -> float:
    """(p/β)(1 + log(εn/2p)) + 1/β, β = εn/(2LD₀): mean excess without convexity (Theorem D.5)."""
    validation.check_count(p=p, n=n)
    validation.check_positive(epsilon=epsilon, slope=slope, diameter=diameter)
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
    """Gaussian DP μ of the last of N states x ← P(φ(x) + N(0, σ²I)), for φ that may expand."""
    validation.check_positive(shift=shift, noise=noise, diameter=diameter)
    validation.check_nonnegative(jump=jump)
    validation.check_count(n_steps=n_steps)
    if not expansion >= 1:
        raise ValueError(f"expansion must be >= 1, got {expansion!r}: a contraction costs less")
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
