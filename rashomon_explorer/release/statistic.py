"""Noise of a query, and released numbers: values, ratios and their gaps, thresholds of scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.measures.inputs import set_and_rows

_GRID_PER_SCALE = 1024
_HAIR = 1 + 1e-9  # sensitivities are computed in doubles: the factor covers their rounding


GAUSSIAN, LAPLACE, GUMBEL = "Gaussian", "Laplace", "Gumbel"
_DEVIATIONS = {GAUSSIAN: 1.0, LAPLACE: math.sqrt(2), GUMBEL: math.pi / math.sqrt(6)}


@dataclass(frozen=True)
class Noise:
    """Independent noise of one scale on each coordinate of a query.

    Gaussian: ℓ₂ sensitivity Δ becomes Δ/σ-GDP (Dong, Roth and Su 2022, Theorem 2.7, §2.4).
    Laplace: ℓ₁ sensitivity Δ becomes Δ/b-DP (Dwork et al. 2006, Proposition 1). Gumbel: only the
    index of the largest noisy utility is released; it is j with probability ∝ exp(u_j/g), the
    exponential mechanism (McSherry and Talwar 2007). One record moves each utility by at most 1,
    so its range is bounded by 2/g.
    """

    scale: float
    law: str = GAUSSIAN

    @property
    def kind(self) -> str:
        """Law of which noise on a grid is the discrete form."""
        return self.law.removeprefix("discrete ")

    @property
    def deviation(self) -> float:
        return _DEVIATIONS[self.kind] * self.scale

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw independent values (size,)."""
        samplers = {GAUSSIAN: rng.normal, LAPLACE: rng.laplace, GUMBEL: rng.gumbel}
        return samplers[self.kind](scale=self.scale, size=size)

    def quantile(self, confidence: float) -> float:
        """Bound that Gaussian or Laplace noise exceeds with probability 1 − confidence."""
        if self.kind == LAPLACE:
            return -self.scale * math.log1p(-confidence)
        return self.scale * float(ndtri((1 + confidence) / 2))


def noise_scale(sensitivity: float, price: float) -> float:
    """Scale Δ/price, slightly enlarged for rounding errors."""
    return sensitivity / price * _HAIR


def on_grid(values: FloatArray, noise: Noise) -> FloatArray:
    """Round to a public grid: the largest power of two up to scale, /1024 (floating-point.md)."""
    if noise.scale == 0:
        return values
    step = 2.0 ** math.floor(math.log2(noise.scale)) / _GRID_PER_SCALE
    return np.asarray(np.round(values / step) * step + 0.0)


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
    >>> from rashomon_explorer.release.statistic import Noise
    >>> share = Measured("ambiguity", -0.01, Noise(0.02), 0.0, 1.0, n_mean=400)
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
        find_set = self._box if self.excess_noise.kind == LAPLACE else self._fieller
        low, high = find_set(confidence)
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
        half_confidence = (1 + confidence) / 2
        s = self.excess_noise.quantile(half_confidence)
        n = self.size_noise.quantile(half_confidence)
        low_size, high_size = max(self.size - n, 0.0), min(self.size + n, float(self.n_rows))
        if low_size <= 0 or high_size <= 0:
            return -0.5, 0.5
        corners = [(self.excess + e) / size for e in (-s, s) for size in (low_size, high_size)]
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
        low_gap = max(low for low, _ in ends) - min(high for _, high in ends)
        return max(0.0, low_gap), max(high for _, high in ends) - min(low for low, _ in ends)

    def _error(self, errors: Sequence[float]) -> float:
        values = [rate.estimate for rate in self.rates]
        if any(map(math.isnan, values)):
            return math.nan
        return math.hypot(errors[int(np.argmax(values))], errors[int(np.argmin(values))])


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of the population's best model, and what leaves it open.

    Parameters
    ----------
    name : str
    value : float
    standard_error, rows_error : float
        Standard deviations by the noise and by sampling.
    choice : float
        √(2ψ(H⁻¹)_jj): how far models within ψ reach to either side, by quadratic approximation.
    radius : float
        Radius of the ball of models.
    psi : float
    doubt : str, default=""
        Reason why the coefficient is unknown; empty if it is known.
    bias : float, default=0.0
        Bound on the error of the last step's linear approximation, if it matters.

    Examples
    --------
    >>> slope = Coefficient("slope", 1.0, 0.03, 0.04, 0.5, 4.0, 0.01)
    >>> [round(end, 3) for end in slope.interval()]
    [0.902, 1.098]
    """

    name: str
    value: float
    standard_error: float
    rows_error: float
    choice: float
    radius: float
    psi: float
    doubt: str = ""
    bias: float = 0.0

    @property
    def estimate(self) -> float:
        """Coefficient; NaN if it is unknown."""
        return math.nan if self.doubt else self.value

    @property
    def note(self) -> str:
        """Range of the models within ψ, or the reason why it is unknown."""
        if self.doubt:
            return self.doubt
        low, high = self.value - self.choice, self.value + self.choice
        ends = f"{max(low, -self.radius):.3g} to {min(high, self.radius):.3g}"
        wider = f"; wider by ± {self.bias:.2g}, as the start is far away" if self.bias else ""
        return f"within ψ = {self.psi:g} models reach from {ends} (quadratic approximation){wider}"

    def interval(self, confidence: float = _USUAL) -> Interval:
        """Interval of the population's coefficient, noise and sampling included.

        No model of the ball has a larger coefficient than the radius.
        """
        check_inner_share(confidence=confidence)
        if self.doubt:
            return -self.radius, self.radius
        errors = math.hypot(self.standard_error, self.rows_error)
        half = float(ndtri((1 + confidence) / 2)) * errors + self.bias
        return _clipped((self.value - half, self.value + half), -self.radius, self.radius)


@dataclass(frozen=True)
class ReleasedThreshold:
    """Threshold of the scores of labels, for prediction sets of public people.

    Parameters
    ----------
    name : str
    level, levels : int
        The threshold is level/levels.
    over : {"mean", "largest"}
        How a label's score, 1 minus its probability, summarises the draws.
    note : str
        What the sets promise.

    Examples
    --------
    >>> from rashomon_explorer.sets import from_predictions
    >>> threshold = ReleasedThreshold("score threshold", 70, 100, "mean", "")
    >>> models = from_predictions([[0.9, 0.5, 0.1]], [1, 1, 0])
    >>> threshold.labels(models).tolist()
    [1, -1, 0]
    """

    name: str
    level: int
    levels: int
    over: str
    note: str

    # The promise of the note contains noise and sampling: the threshold has no error of its own.
    standard_error: ClassVar[float] = math.nan
    rows_error: ClassVar[float] = math.nan

    @property
    def estimate(self) -> float:
        """Threshold."""
        return self.level / self.levels

    def interval(self, confidence: float = _USUAL) -> Interval:
        """Return the threshold twice."""
        check_inner_share(confidence=confidence)
        return self.estimate, self.estimate

    def sets(self, models: Any, X: Any = None) -> NDArray[np.bool_]:
        """Whether each label is in each person's prediction set.

        Parameters
        ----------
        models : set of models or fitted estimator
            The draws of the release; over "largest" also any selection of them.
        X : array-like or DataFrame of shape (n_people, n_columns)
            Public rows, or the curator's.

        Returns
        -------
        ndarray of bool of shape (n_people, n_classes)
            Whether the label's score is at most the threshold; a set may be empty.
        """
        models, rows = set_and_rows(models, X)
        scores = label_scores(models.scores(rows), self.over)
        return np.asarray(score_levels(scores, self.levels) <= self.level)

    def labels(self, models: Any, X: Any = None) -> NDArray[np.int_]:
        """Class 0, 1, … (n_people,) if it is alone in the prediction set, else −1 to abstain.

        As the sets miss the label of at most a share alpha of people, at most this share of all
        people gets a wrong label. Parameters as for :meth:`sets`.
        """
        inside = self.sets(models, X)
        return np.where(inside.sum(axis=1) == 1, inside.argmax(axis=1), -1)


SCORES_OVER: dict[str, Any] = {"mean": np.mean, "largest": np.max}
"""Summaries of the scores of a label over the draws."""


def label_scores(scores: FloatArray, over: str) -> FloatArray:
    """Scores (n_rows, n_classes): 1 minus the probability of each label, over the models."""
    each = np.stack([1 - scores, scores], axis=-1) if scores.ndim == 2 else scores
    return np.asarray(SCORES_OVER[over](1 - each, axis=0))


def score_levels(scores: FloatArray, levels: int) -> NDArray[np.int_]:
    """Least level 0, 1, …, levels that a score does not exceed; hairs above it are ignored."""
    return np.clip(np.ceil(scores * levels - 1e-9), 0, levels).astype(int)


Statistic = Measured | RateStatistic | Gap | Coefficient | ReleasedThreshold
"""A released number, computed from noisy values at no further privacy cost."""


def _clipped(ends: Interval, low: float, high: float) -> Interval:
    return min(max(ends[0], low), high), min(max(ends[1], low), high)
