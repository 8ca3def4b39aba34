"""Released numbers with error bars: linear in the noise, ratios, and gaps of ratios."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.release.noise import LaplaceNoise, Noise

Interval = tuple[float, float]

_USUAL = 0.95  # confidence at which a group's size must differ from 0


@dataclass(frozen=True)
class Measured:
    """A value of these rows plus noise.

    Parameters
    ----------
    name : str
    noisy : float
        Value with noise, as released.
    noise : Noise
    low, high : float
        Natural range of the value, to which estimate and interval are clipped.
    n_mean : int, default=0
        Number of rows if the value is a mean of terms in [low, high]; 0 otherwise.
    note : str, default=""

    Examples
    --------
    >>> from rashomon_explorer.release.noise import GaussianNoise
    >>> share = Measured("ambiguity", -0.01, GaussianNoise(0.02), 0.0, 1.0, n_mean=400)
    >>> share.estimate, [round(end, 4) for end in share.interval()]
    (0.0, [0.0, 0.0392])
    """

    name: str
    noisy: float
    noise: Noise
    low: float
    high: float
    n_mean: int = 0
    note: str = ""

    @property
    def estimate(self) -> float:
        """Noisy value, clipped to its range."""
        return min(max(self.noisy, self.low), self.high)

    @property
    def standard_error(self) -> float:
        """Standard deviation of the noise."""
        return self.noise.deviation

    @property
    def rows_error(self) -> float:
        """√((m − low)(high − m)/n), as terms of mean m in a range have at most this variance.

        (Bhatia and Davis 2000; for a share it is the binomial error.) It assumes that rows are
        drawn independently and that the models are fixed in advance; m is the estimate.
        """
        if not self.n_mean:
            return math.nan
        mean = self.estimate
        return math.sqrt((mean - self.low) * (self.high - mean) / self.n_mean)

    def interval(self, confidence: float = _USUAL) -> Interval:
        """Estimate ± a quantile of the noise, clipped.

        The true value is in its range, so the clipped estimate is at least as close to it as the
        noisy one: coverage can only increase. An interval around the noisy value could lie outside
        the range, and its clipped form would falsely suggest certainty.
        """
        check_inner_share(confidence=confidence)
        half = self.noise.quantile(confidence)
        ends = (self.estimate - half, self.estimate + half)
        return _clipped(ends, self.low, self.high)


@dataclass(frozen=True)
class RateStatistic:
    """Share in a group of unknown size: ½ + S/N from noisy S and N."""

    name: str
    excess: float
    size: float
    excess_noise: Noise
    size_noise: Noise
    n_rows: int

    @property
    def known(self) -> bool:
        """Whether the size differs from 0 at 95 % confidence."""
        return self.size > self.size_noise.quantile(_USUAL)

    @property
    def estimate(self) -> float:
        """Ratio of the noisy values, clipped to [0, 1]; NaN if the size may be 0."""
        return min(max(0.5 + self.excess / self.size, 0.0), 1.0) if self.known else math.nan

    @property
    def standard_error(self) -> float:
        """√(var S + (rate − ½)²·var N)/N, to first order; NaN if the estimate is NaN."""
        if not self.known:
            return math.nan
        away = self.estimate - 0.5
        return math.hypot(self.excess_noise.deviation, away * self.size_noise.deviation) / self.size

    @property
    def rows_error(self) -> float:
        """√(rate(1 − rate)/N): binomial, and an upper bound for values between 0 and 1."""
        if not self.known:
            return math.nan
        return math.sqrt(self.estimate * (1 - self.estimate) / self.size)

    @property
    def note(self) -> str:
        """Reason for an unknown rate; empty if it is known."""
        if self.known:
            return ""
        return (
            f"the noise (± {self.size_noise.quantile(_USUAL):.3g} rows) hides the size of the "
            "group: use a larger budget, release fewer draws, or merge groups"
        )

    def interval(self, confidence: float = _USUAL) -> Interval:
        """Set of rates that the noisy S and N do not exclude, clipped to [0, 1].

        For Gaussian noise Fieller's set: S − (rate − ½)N is normal around 0 for any size
        (Fieller 1954). For Laplace noise S and N are each bounded with half the error probability.
        """
        check_inner_share(confidence=confidence)
        laplace = isinstance(self.excess_noise, LaplaceNoise)
        low, high = (self._box if laplace else self._fieller)(confidence)
        # A set beyond 0 or 1 is shifted with the estimate; otherwise it would shrink to a point.
        moved = self.estimate - (0.5 + self.excess / self.size) if self.known else 0.0
        ends = 0.5 + low + min(moved, 0.0), 0.5 + high + max(moved, 0.0)
        return _clipped(ends, 0.0, 1.0)

    def _fieller(self, confidence: float) -> Interval:
        z = float(ndtri((1 + confidence) / 2))
        s, n = z * self.excess_noise.scale, z * self.size_noise.scale
        # (S − rN)² ≤ s² + r²n²  ⇔  a r² − 2 b r + c ≤ 0
        a, b, c = self.size**2 - n**2, self.excess * self.size, self.excess**2 - s**2
        if a <= 0:  # the complement of an interval, or all rates
            return -0.5, 0.5
        root = math.sqrt(max(b * b - a * c, 0.0))
        return (b - root) / a, (b + root) / a

    def _box(self, confidence: float) -> Interval:
        each = (1 + confidence) / 2
        s, n = self.excess_noise.quantile(each), self.size_noise.quantile(each)
        fewest, most = max(self.size - n, 0.0), min(self.size + n, float(self.n_rows))
        if fewest <= 0 or most <= 0:
            return -0.5, 0.5
        corners = [(self.excess + e) / size for e in (-s, s) for size in (fewest, most)]
        return min(corners), max(corners)


@dataclass(frozen=True)
class Gap:
    """Largest rate minus least rate of several groups."""

    name: str
    rates: tuple[RateStatistic, ...]

    @property
    def estimate(self) -> float:
        """Gap of the estimated rates; NaN if one is NaN.  Noise increases it on average."""
        values = [rate.estimate for rate in self.rates]
        return float(np.max(values) - np.min(values))

    @property
    def standard_error(self) -> float:
        """Standard error of the difference between the two extreme groups, to first order."""
        return self._error([rate.standard_error for rate in self.rates])

    @property
    def rows_error(self) -> float:
        """Sampling error of the difference between the two extreme groups."""
        return self._error([rate.rows_error for rate in self.rates])

    @property
    def note(self) -> str:
        """Names of the groups that are too small for the noise."""
        hidden = [rate for rate in self.rates if not rate.known]
        return f"{', '.join(r.name for r in hidden)}: {hidden[0].note}" if hidden else ""

    def interval(self, confidence: float = _USUAL) -> Interval:
        """Interval from simultaneous intervals of the rates (Bonferroni)."""
        check_inner_share(confidence=confidence)
        each = 1 - (1 - confidence) / len(self.rates)
        ends = [rate.interval(each) for rate in self.rates]
        least = max(low for low, _ in ends) - min(high for _, high in ends)
        return max(0.0, least), max(high for _, high in ends) - min(low for low, _ in ends)

    def _error(self, errors: Sequence[float]) -> float:
        values = [rate.estimate for rate in self.rates]
        if any(map(math.isnan, values)):
            return math.nan
        return math.hypot(errors[int(np.argmax(values))], errors[int(np.argmin(values))])


Statistic = Measured | RateStatistic | Gap
"""A released number, computed from noisy values at no further privacy cost."""


def _clipped(ends: Interval, low: float, high: float) -> Interval:
    return min(max(ends[0], low), high), min(max(ends[1], low), high)
