"""Intervals for a mean that hold at every number of draws at once."""

import math

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_inner_share

_CELLS = 2000  # of the unit interval: ends are rounded outwards to one of these
_AT_ONCE = 32  # terms of one array: cells that they rule out cost nothing afterwards
_MOST_STAKE = 0.75  # share of the capital that a bet may lose


class ConfidenceSequence:
    """Interval for the mean of bounded terms, valid at every time and under optional stopping.

    P(mean ∈ interval after t terms, for all t ≥ 1) ≥ confidence. So one may look after every draw
    and stop when the interval is narrow enough; an interval of fixed sample size, looked at so,
    misses far more often than it says.

    Hedged betting (Waudby-Smith and Ramdas, JRSS B 2024, §4.4). For a candidate mean m two
    gamblers bet on terms above and below it, K⁺_t(m) = Π_i (1 + min(λ_i, c/m)(x_i − m)) and
    K⁻_t(m) = Π_i (1 − min(λ_i, c/(1 − m))(x_i − m)), where λ_i depends on the terms before i alone
    and c = ¾. At the true mean, if E[x_i | x_1..x_{i−1}] is that mean, both are nonnegative
    martingales from 1, and so is their average, which Ville's inequality keeps below 1/α for ever
    with probability 1 − α. The interval leaves out every m with ½K⁺ ≥ 1/α or ½K⁻ ≥ 1/α at any time
    so far. Each factor of K⁺ falls in m and of K⁻ rises: what is left out lies at the two ends, and
    ends rounded outwards to a grid stay valid.

    Parameters
    ----------
    confidence : float, default=0.95
    bounds : tuple of float, default=(0.0, 1.0)
        Known before the terms: every term lies between.

    Attributes
    ----------
    n_terms : int
    low, high : float
        The interval so far; it never widens.
    mean : float
        Mean of the terms, NaN before the first.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> sequence = ConfidenceSequence(confidence=0.95)
    >>> rng = np.random.default_rng(0)
    >>> while sequence.half_width > 0.05:
    ...     sequence.update(rng.random(20) < 0.1)
    >>> sequence.n_terms, sequence.low < 0.1 < sequence.high
    (460, True)
    """

    def __init__(self, confidence: float = 0.95, bounds: tuple[float, float] = (0.0, 1.0)) -> None:
        check_inner_share(confidence=confidence)
        lowest, highest = bounds
        if not (np.isfinite([lowest, highest]).all() and lowest < highest):
            raise ValueError(f"bounds must be finite and increasing, got {bounds!r}")
        self.confidence, self.bounds = confidence, (float(lowest), float(highest))
        self.n_terms = 0
        self._sum = 0.0
        self._squares = 0.25  # i·σ̂²_{i−1}: as if one term had been ½ away, so that bets start small
        self._means = np.linspace(0.0, 1.0, _CELLS + 1)
        self._capital = np.zeros((2, _CELLS + 1))
        self._ends = (0.0, 1.0)

    @property
    def low(self) -> float:
        """Lower end."""
        return self._scaled(self._ends[0])

    @property
    def high(self) -> float:
        """Upper end."""
        return self._scaled(self._ends[1])

    @property
    def mean(self) -> float:
        """Mean of the terms so far."""
        return self._scaled(self._sum / self.n_terms) if self.n_terms else float("nan")

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2

    def update(self, terms: ArrayLike) -> None:
        """Add terms in their order; one at a time or several at once give the same result.

        Parameters
        ----------
        terms : float or array-like of shape (k,)

        Raises
        ------
        ValueError
            If a term is not finite or out of bounds.
        """
        values = np.atleast_1d(np.asarray(terms, dtype=float))
        lowest, highest = self.bounds
        if values.ndim != 1 or not ((values >= lowest) & (values <= highest)).all():
            raise ValueError(
                f"terms must be numbers in [{lowest:g}, {highest:g}] of shape (k,), got "
                f"{np.array2string(values, threshold=5)}"
            )
        unit = (values - lowest) / (highest - lowest)
        stakes = self._stakes(unit)
        for start in range(0, len(unit), _AT_ONCE):
            self._bet(unit[start : start + _AT_ONCE], stakes[start : start + _AT_ONCE])

    def _stakes(self, unit: FloatArray) -> FloatArray:
        """λ_i = √(2·log(2/α)/(i·σ̂²_{i−1}·log(i + 1))) of each term, from the terms before it."""
        stakes = np.empty(len(unit))
        scale = 2 * math.log(2 / (1 - self.confidence))
        for place, term in enumerate(unit.tolist()):
            i = self.n_terms + 1
            stakes[place] = math.sqrt(scale / (self._squares * math.log(i + 1)))
            self.n_terms, self._sum = i, self._sum + term
            self._squares += (term - (0.5 + self._sum) / (i + 1)) ** 2
        return stakes

    def _bet(self, unit: FloatArray, stakes: FloatArray) -> None:
        limit = math.log(2 / (1 - self.confidence))
        up, down = capital(unit, stakes, self._means)
        capitals = np.stack([up, down]) + self._capital[:, None, :]
        ruled_out = np.asarray((capitals >= limit).any(axis=1))
        low, high = self._ends
        # The largest mean that K⁺ rules out, and the smallest that K⁻ does.
        if ruled_out[0].any():
            low = max(low, float(self._means[ruled_out[0]].max()))
        if ruled_out[1].any():
            high = min(high, float(self._means[ruled_out[1]].min()))
        self._ends = (low, max(low, high))
        alive = (self._means >= low) & (self._means <= self._ends[1])
        self._means, self._capital = self._means[alive], capitals[:, -1, alive]

    def _scaled(self, unit: float) -> float:
        lowest, highest = self.bounds
        return lowest + unit * (highest - lowest)


def capital(
    unit: FloatArray, stakes: FloatArray, means: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Logarithms of K⁺ and K⁻, (n_terms, n_means) each, for terms in [0, 1] and their stakes."""
    away = unit[:, None] - means
    with np.errstate(divide="ignore"):
        most_up, most_down = _MOST_STAKE / means, _MOST_STAKE / (1 - means)
    up = np.log1p(np.minimum(stakes[:, None], most_up) * away)
    down = np.log1p(-np.minimum(stakes[:, None], most_down) * away)
    return up.cumsum(axis=0), down.cumsum(axis=0)
