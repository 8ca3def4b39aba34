"""The Rashomon ratio: the set's volume over the domain's, with a confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from rashomon_explorer._utils.validation import check_inner_share, check_nonnegative
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.privacy.audit import binomial_interval

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.rejection.envelope import Envelope
    from rashomon_explorer.problem.problem import Problem

_AT_ONCE = 2**22  # rows × models whose loss is computed at a time


@dataclass(frozen=True)
class Ratio:
    """An estimated ratio of volumes and its exact binomial interval.  Curator: reads private rows.

    Values are stored as logarithms, since a ratio in high dimension may underflow.

    Parameters
    ----------
    log_value, log_low, log_high : float
        Natural logarithms of the estimate and of the ends of the interval.
    confidence : float
        Lower bound on the probability, over the draws, that the interval contains the ratio.
    n_draws, hits : int
        Number of independent uniform points, and number of those in the set.

    Examples
    --------
    >>> rashomon_ratio([0.05, 0.2, 0.01, 0.4], psi=0.1).value
    0.5
    """

    log_value: float
    log_low: float
    log_high: float
    confidence: float
    n_draws: int
    hits: int

    @property
    def value(self) -> float:
        """Estimate; 0.0 if it underflows."""
        return math.exp(self.log_value)

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end."""
        return math.exp(self.log_low), math.exp(self.log_high)


def rashomon_ratio(excess: ArrayLike, psi: float, *, confidence: float = 0.95) -> Ratio:
    """Share of models, drawn uniformly from the whole class, that lie in the Rashomon set.

    The Rashomon ratio vol(R)/vol(F) (Semenova, Rudin and Parr, FAccT 2022) by plain rejection,
    with the interval of Clopper and Pearson (1934). It is valid for any class with uniform draws.
    It is uninformative for ratios below about 1/n_draws: usually no draw hits and the lower end
    is 0. For linear models use :func:`linear_rashomon_ratio`.

    Parameters
    ----------
    excess : array-like of shape (n_draws,)
        Excess losses of independent draws that are uniform on the *class*, not of draws from the
        set.
    psi : float
        Rashomon threshold, ≥ 0.
    confidence : float, default=0.95

    Examples
    --------
    >>> found = rashomon_ratio(np.linspace(0, 1, 1001), psi=0.1)
    >>> found.hits, tuple(round(end, 3) for end in found.interval)
    (101, (0.083, 0.121))
    """
    values = np.asarray(excess, dtype=float)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"excess must have shape (n_draws,), at least one, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("excess holds NaN or infinity")
    _check(psi, confidence)
    return _from_hits(int((values <= psi).sum()), len(values), 0.0, confidence)


def linear_rashomon_ratio(
    problem: Problem,
    psi: float,
    *,
    n_draws: int = 10_000,
    confidence: float = 0.95,
    random_state: int | np.random.RandomState | None = None,
) -> Ratio:
    """Volume of a convex problem's Rashomon set over its domain's.  Curator: reads private rows.

    The certified radial bound of the loss gives an ellipsoid E around the best model that contains
    the set and has a known volume. Points are drawn independently and uniformly from E, so the
    share in the set has an exact binomial interval, and

        vol(G)/vol(C) = P(θ ∈ G | θ uniform on E)·vol(E)/vol(C).

    No annealing and no mixing of chains are involved: the interval is exact in any dimension.
    The share of draws that miss grows with the dimension, because E exceeds G. Without a hit the
    lower end is 0.

    Parameters
    ----------
    problem : Problem
        Its domain is a ball.
    psi : float
        Rashomon threshold, > 0.
    n_draws : int, default=10_000
    confidence : float, default=0.95
    random_state : int, RandomState instance or None, default=None

    Raises
    ------
    ValueError
        If a number is out of range, or the domain is no ball.
    SamplerError
        If no ellipsoid is certified because the loss is flat.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> problem = Problem([[0.5], [-0.5]] * 50, [1, -1, 1, 1] * 25, radius=5.0, intercept=False)
    >>> found = linear_rashomon_ratio(problem, psi=0.01, random_state=0)
    >>> found.interval[0] < 0.1307 < found.interval[1]
    True
    """
    _check(psi, confidence)
    if psi == 0 or n_draws < 1:
        raise ValueError(f"psi must be > 0 and n_draws >= 1, got {psi!r} and {n_draws!r}")
    from rashomon_explorer.measures.ranges.level_set import check_problem
    from rashomon_explorer.mechanisms.rejection.envelope import Envelope
    from rashomon_explorer.mechanisms.target import GibbsTarget

    check_problem(problem)
    envelope = Envelope.of(GibbsTarget(problem, beta=problem.p / psi, psi=psi))
    radius = envelope.outer_radius(psi)
    log_share = _log_ellipsoid(envelope, radius, problem.p)
    log_share -= problem.domain.log_volume_bound(problem.p)
    hits = _hits(problem, envelope, radius, psi, n_draws, random_state)
    return _from_hits(hits, n_draws, log_share, confidence)


def _hits(
    problem: Problem,
    envelope: Envelope,
    radius: float,
    psi: float,
    n_draws: int,
    random_state: int | np.random.RandomState | None,
) -> int:
    """Return the number of uniform points of the ellipsoid that lie in the set."""
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    hits, left = 0, n_draws
    while left:
        size = min(left, max(1, _AT_ONCE // problem.n))
        direction = rng.standard_normal((problem.p, size))
        length = radius * rng.random_sample(size) ** (1 / problem.p)
        points = direction * (length / np.linalg.norm(direction, axis=0))
        theta = envelope.centre[:, None] + envelope.step(points, envelope.least_pad)
        theta = theta[:, problem.domain.contains(theta)]
        if theta.shape[1]:
            hits += int((problem.value(theta) <= problem.minimum.value + psi).sum())
        left -= size
    return hits


def _log_ellipsoid(envelope: Envelope, radius: float, p: int) -> float:
    if not np.isfinite(radius) or radius <= 0:
        raise SamplerError(
            f"the certified bound of the loss gives an ellipsoid of radius {radius}: the loss is "
            "flat around its minimum; use a larger ridge or fewer columns"
        )
    ball = p / 2 * math.log(math.pi) - float(gammaln(p / 2 + 1)) + p * math.log(radius)
    return ball + envelope.log_volume(envelope.least_pad)


def _from_hits(hits: int, n_draws: int, log_share: float, confidence: float) -> Ratio:
    ends = (hits / n_draws, *binomial_interval(hits, n_draws, confidence))
    logs = [math.log(x) + log_share if x else -math.inf for x in ends]
    return Ratio(logs[0], logs[1], min(logs[2], 0.0), confidence, n_draws, hits)


def _check(psi: float, confidence: float) -> None:
    check_nonnegative(psi=psi)
    check_inner_share(confidence=confidence)
