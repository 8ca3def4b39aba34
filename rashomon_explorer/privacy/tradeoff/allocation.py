"""Trade-off functions of Gaussian mechanisms on randomly allocated batches."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.validation import check_count, check_positive
from rashomon_explorer.privacy.tradeoff import curves
from rashomon_explorer.privacy.tradeoff.composition import power_rounding

_NODES = 160  # ε at which the profile of one epoch is computed; chords between them
_LEAST = 1e-17  # δ of the last node
_LARGEST_SHIFT = 6.0  # above it allocation is worth nothing, and numbers could overflow
_BEYOND = 25.0  # −log of the share of δ that lies beyond the grid and is added
_RARE = 1e-6  # probability of a value below the grid if m ≤ 1; its error is pessimistic
_FAR = 13.0  # no mass of a standard normal counts beyond it
_UP = 1 + 1e-8  # rounding of normal probabilities and of sums over the grid


def epoch_delta(shift: float, batches: int, epsilon: float) -> float:
    """Upper bound on δ(ε), ε ≥ 0, of one epoch, where m = ``shift`` ≤ 6."""
    # δ(ε) = scale·E max(0, ΣY_j) with Y = sinh(mW − ε/2), W standard normal under N0. Larger Y
    # than the grid's decide the sign of the sum.
    rare = -float(ndtri(_RARE ** (1 / max(1.0, shift)) / batches))
    spread = 8 * math.sqrt(batches) * math.sinh(shift) * math.cosh(epsilon / 2)
    drift = batches * math.exp(shift**2 / 2) * math.sinh(epsilon / 2)
    reach = math.sinh(shift * rare + epsilon / 2) + drift + spread
    high = min(reach, math.sinh(max(shift * (shift + _FAR) - epsilon / 2, shift)))
    low = -min(max(reach, high), math.sinh(shift * _FAR + epsilon / 2))
    # A coarse law chooses a tilt t, with the least M(t)^l/(et), and both ends of the tilted sum.
    w = np.linspace(-_FAR, _FAR + shift, 600)
    y, log_mass = np.clip(np.sinh(shift * w - epsilon / 2), low, high), -(w**2) / 2
    tilts = np.geomspace(1e-3 / (high * batches), 700 / high, 120)
    logs = batches * logsumexp(tilts[:, None] * y + log_mass, axis=1)
    best = np.argmin(logs - np.log(tilts))
    tilt, pushes = float(tilts[best]), tilts[best] * np.geomspace(1e-3, 30.0, 80)
    above, below = (
        batches * logsumexp((tilt + sign * pushes)[:, None] * y + log_mass, axis=1) - logs[best]
        for sign in (1, -1)
    )
    ends = (above + _BEYOND) / pushes
    push, top = float(pushes[np.argmin(ends)]), max(1 / tilt, float(ends.min()))
    bottom = max(0.0, float(((below + _BEYOND) / pushes).min()))
    # The mass of a cell of the grid goes to its ends, and keeps its mean.
    cells = 2**14 if shift <= 1 else 2**16
    step = 1.001 * max(top + bottom, high - low) / (cells - 4)
    first = math.floor(low / step)
    y = step * np.arange(first, math.ceil(high / step) + 1.0)
    w = (np.arcsinh(y) + epsilon / 2) / shift
    up, down = (
        math.exp(shift**2 / 2 + sign * epsilon / 2) / 2 * _masses(w + sign * shift)
        for sign in (-1, 1)
    )
    split, moment = _masses(w), up - down
    inner = moment[1:-1] - y[:-1] * split[1:-1] + 1e-15 * (up + down)[1:-1]  # rounded up
    right = np.clip(inner / step, 0.0, split[1:-1])
    mass = np.append(split[1:-1] - right, split[-1])
    mass[0] += split[0]
    mass[1:] += right
    # E max(0, S) = M^l E S e^(−tS) over S > 0 after tilting by t; S e^(−tS) ≤ 1/(et).
    weighted = mass * np.exp(tilt * (y - y[-1]))
    log_moment = math.log(weighted.sum()) + tilt * float(y[-1])
    tilted = np.zeros(cells)
    tilted[: len(mass)] = weighted / weighted.sum()
    sums = np.fft.irfft(np.fft.rfft(np.roll(tilted, first)) ** batches, cells)
    positive = step * np.arange(math.ceil(top / step) + 1.0)
    value = float(np.sum(positive * np.exp(-tilt * positive) * sums[: len(positive)]))
    with np.errstate(divide="ignore"):
        log_pushed = float(logsumexp((tilt + push) * y + np.log(mass)))
    log_beyond = batches * (log_pushed - log_moment) - push * float(positive[-1])
    error = power_rounding(tilted, cells, batches) + math.exp(min(0.0, log_beyond))
    log_scale = math.log(2 / batches) + epsilon / 2 - shift**2 / 2
    log_value = batches * log_moment + math.log(value + math.exp(-1) / tilt * error)
    rest = max(0.0, float(moment[-1] - y[-1] * split[-1]))  # E max(0, Y − L)
    finite = math.exp(min(0.0, log_scale + log_value))
    return min(1.0, _UP * (finite + batches * math.exp(log_scale) * rest))


def _masses(edges: FloatArray) -> FloatArray:
    """Return the standard normal mass below all edges, between them, and above them."""
    below, above = ndtr(edges), ndtr(-edges)
    inner = np.where(edges[:-1] > 0, above[:-1] - above[1:], below[1:] - below[:-1])
    return np.concatenate([below[:1], inner, above[-1:]])


@lru_cache(maxsize=64)
def epoch_profile(shift: float, batches: int) -> tuple[FloatArray, FloatArray]:
    """Return ε from 0 to where δ is negligible, and bounds on δ of one epoch."""
    gaussian = curves.Gaussian(2 * shift)
    high = gaussian.epsilon(_LEAST)
    top = bisect(lambda e: epoch_delta(shift, batches, e) <= _LEAST, high, 0.0, halvings=12)
    nodes = top * np.linspace(0.0, 1.0, _NODES) ** 2
    delta = [epoch_delta(shift, batches, epsilon) for epsilon in nodes.tolist()]
    return nodes, np.minimum.accumulate(np.minimum(delta, gaussian.delta(nodes)))


@dataclass(frozen=True)
class AllocatedBatches(curves.TradeOff):
    """Sums with Gaussian noise over the l batches of an epoch; each record is in one of them.

    Each record draws its batch independently and uniformly: "random allocation" (Feldman and
    Shenfeld 2025, arXiv 2502.08202). Each step releases the sum over one batch; it may depend on
    all earlier results. If one record is replaced, no neighbours tell more than

        (1/l) Σ_j N(m e_j, I) and (1/l) Σ_j N(−m e_j, I) in l dimensions, m = 1/σ

    (docs/composition.md); a convolution on a grid bounds their δ(ε) from above. Epochs, each with
    its own allocation, compose by :func:`compose_tradeoffs`.

    Parameters
    ----------
    sigma : float
        σ: standard deviation of the noise divided by the bound on the norm of a record in a sum.
        Sums may be divided by public numbers, such as n/l, but not by the size of a batch.
    batches : int
        l, number of batches and steps; the result is Gaussian if it is 1.

    Examples
    --------
    >>> from rashomon_explorer.privacy.tradeoff import Gaussian
    >>> epoch = AllocatedBatches(sigma=1.0, batches=16)
    >>> round(epoch.epsilon(1e-5), 2), round(Gaussian(2.0).epsilon(1e-5), 2)
    (2.25, 10.0)
    """

    sigma: float
    batches: int
    kind: ClassVar[str] = "allocated"

    def __post_init__(self) -> None:
        check_positive(sigma=self.sigma)
        check_count(batches=self.batches)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        # Joint convexity: the record's batch, the same for both neighbours, is revealed.
        unamplified = np.asarray(curves.Gaussian(2 / self.sigma).delta(epsilon))
        if self.batches == 1 or 1 / self.sigma > _LARGEST_SHIFT:
            return unamplified
        nodes, delta = epoch_profile(1 / self.sigma, self.batches)
        with np.errstate(over="ignore"):
            chords = np.interp(np.expm1(epsilon), np.expm1(nodes), delta)
        return np.minimum(unamplified, chords)

    @property
    def rho(self) -> float:
        """ρ of the same sums if the record's batch is known, which is an upper bound."""
        return 2 / self.sigma**2
