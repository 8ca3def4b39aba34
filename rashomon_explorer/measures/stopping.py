"""Stopping rule for the number of draws, based on confidence sequences."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.imports import missing_package
from rashomon_explorer._utils.validation import check_inner_share, check_positive
from rashomon_explorer.measures.inputs import Predictions, as_models_by_rows
from rashomon_explorer.measures.multiplicity.measure import LOWER_BOUND
from rashomon_explorer.measures.multiplicity.table import MEASURES

_CELLS = 2000  # grid cells of the unit interval: interval ends are rounded outwards to the grid
_AT_ONCE = 32  # terms per array: cells excluded by earlier terms need no further work
_MOST_STAKE = 0.75  # largest share of the capital that one bet may lose


class ConfidenceSequence:
    """Interval for the mean of bounded terms, valid at every time and under optional stopping.

    P(mean ∈ interval after t terms, for all t ≥ 1) ≥ confidence. The interval may be inspected
    after every draw, and sampling may stop when it is narrow enough. An interval for a fixed
    sample size, inspected in this manner, has a larger error rate than its nominal one.

    Hedged betting (Waudby-Smith and Ramdas, JRSS B 2024, §4.4). For a candidate mean m the two
    capital processes are K⁺_t(m) = Π_i (1 + min(λ_i, c/m)(x_i − m)) and
    K⁻_t(m) = Π_i (1 − min(λ_i, c/(1 − m))(x_i − m)). λ_i depends only on the terms before i, and
    c = ¾. At the true mean, if E[x_i | x_1..x_{i−1}] is that mean, both are nonnegative
    martingales starting at 1, and so is their average. By Ville's inequality the average stays
    below 1/α at all times with probability ≥ 1 − α. The interval excludes every m for which
    ½K⁺ ≥ 1/α or ½K⁻ ≥ 1/α at any time so far. Each factor decreases in m for K⁺ and increases for
    K⁻, so the excluded m lie at the two ends; rounding the ends outwards to a grid is valid.

    Parameters
    ----------
    confidence : float, default=0.95
    bounds : tuple of float, default=(0.0, 1.0)
        Bounds of every term, fixed before the terms are seen.

    Attributes
    ----------
    n_terms : int
    low, high : float
        The interval so far; it never widens.
    mean : float
        Mean of the terms, NaN before the first.

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
        self._squares = 0.25  # i·σ̂²_{i−1}: one prior term at distance ½ keeps the first bets small
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
        """Add terms in order; adding them one by one or together gives the same result.

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
        stakes = np.empty(len(unit))
        scale = 2 * math.log(2 / (1 - self.confidence))
        # λ_i = √(2·log(2/α)/(i·σ̂²_{i−1}·log(i + 1))), from the earlier terms.
        for index, term in enumerate(unit.tolist()):
            i = self.n_terms + 1
            stakes[index] = math.sqrt(scale / (self._squares * math.log(i + 1)))
            self.n_terms, self._sum = i, self._sum + term
            self._squares += (term - (0.5 + self._sum) / (i + 1)) ** 2
        for start in range(0, len(unit), _AT_ONCE):
            self._bet(unit[start : start + _AT_ONCE], stakes[start : start + _AT_ONCE])

    def _bet(self, unit: FloatArray, stakes: FloatArray) -> None:
        limit = math.log(2 / (1 - self.confidence))
        up, down = capital(unit, stakes, self._means)
        capitals = np.stack([up, down]) + self._capital[:, None, :]
        ruled_out = np.asarray((capitals >= limit).any(axis=1))
        low, high = self._ends
        # The largest mean that K⁺ excludes, and the smallest that K⁻ excludes.
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
    """Return log K⁺ and log K⁻, (n_terms, n_means) each, for terms in [0, 1] and their stakes."""
    away = unit[:, None] - means
    with np.errstate(divide="ignore"):
        most_up, most_down = _MOST_STAKE / means, _MOST_STAKE / (1 - means)
    up = np.log1p(np.minimum(stakes[:, None], most_up) * away)
    down = np.log1p(-np.minimum(stakes[:, None], most_down) * away)
    return up.cumsum(axis=0), down.cumsum(axis=0)


_FEWEST = 4  # states per chain; with fewer ArviZ returns no effective sample size


def chain_interval(
    terms: FloatArray, n_chains: int, confidence: float, largest: float
) -> tuple[float, float, float, float]:
    """Mean, interval ends and effective sample size of terms in [0, largest] of pairs of chains."""
    check_inner_share(confidence=confidence)
    if n_chains % 2 or not n_chains:
        raise ValueError(
            f"n_chains must be an even number, got {n_chains}: the models of a pair must come from "
            "two chains"
        )
    columns = n_chains // 2
    length = len(terms) // columns
    if length < _FEWEST * (1 + (columns == 1)):
        raise ValueError(
            f"{2 * len(terms)} states of {n_chains} chains are too few to estimate "
            f"their dependence: at least {_FEWEST} of each chain are needed; draw more, "
            "or pass n_chains= if there were fewer chains"
        )
    truncated = terms[: length * columns]
    effective = effective_size(truncated.reshape(length, columns).T)
    mean = float(truncated.mean())
    if not effective > 1:
        return mean, 0.0, largest, effective
    reach = float(stdtrit(effective - 1, (1 + confidence) / 2)) * float(truncated.std(ddof=1))
    half = reach / math.sqrt(effective)
    return mean, max(0.0, mean - half), min(largest, mean + half), effective


def effective_size(chains: FloatArray) -> float:
    """Effective sample size of the mean of values (n_chains, n_draws), by ArviZ; not private."""
    if np.ptp(chains) == 0:
        return math.nan
    if len(chains) == 1:
        half = chains.shape[1] // 2
        chains = np.stack([chains[0, :half], chains[0, -half:]])
    # Local import: xarray takes longer to import than this whole package.
    try:
        from arviz_stats.base import array_stats
    except ImportError as error:
        raise missing_package("The size of chains", "arviz_stats", "diagnostics") from error
    size = float(array_stats.ess(chains, method="mean", chain_axis=0, draw_axis=1))
    return min(size, float(chains.size))


@dataclass(frozen=True)
class Enough:
    """Result of :func:`enough_draws`."""

    measure: str
    enough: bool
    low: float
    high: float
    value: float
    half_width: float
    confidence: float
    n_draws: int
    stopped_at: int | None
    effective: float | None = None

    def __str__(self) -> str:
        interval = f"{self.measure} in [{self.low:.4f}, {self.high:.4f}] at {self.confidence:.0%}"
        if self.effective is not None:
            interval += f" (asymptotic, for one look; effective size {self.effective:.0f})"
        if self.enough:
            return f"{interval}: ±{self.half_width:g} after {self.stopped_at} draws: enough"
        return f"{interval} after {self.n_draws} draws: not yet ±{self.half_width:g}"


def enough_draws(
    measure: str,
    values: ArrayLike,
    *,
    half_width: float = 0.01,
    confidence: float = 0.95,
    mechanism: str = "exact",
    n_chains: int | None = None,
) -> Enough:
    """Whether the models drawn so far determine a measure to ± ``half_width``.

    The result is valid under optional stopping (:class:`ConfidenceSequence`): each measure is the
    mean of independent bounded terms, one per *disjoint* pair of models, (1, 2), (3, 4), ….
    Overlapping pairs would give a narrower interval, but they are dependent.
    Draws of ``"exact"``, ``"finite_grid"`` and ``"ellipsoid"`` are independent. So are those of
    them that lie inside the Rashomon set, in the order of drawing; sorted draws are not. States of
    chains (``"hit_and_run"``) or of one path (``"langevin"``, whose pairs are half of the path
    apart) are dependent: their interval is asymptotic, uses ArviZ's effective sample size, and is
    marked as such.

    Parameters
    ----------
    measure : {"disagreement", "score_variance"}
        The score variance is of probabilities of one class. Extremes over the set (ambiguity,
        discrepancy, ranges, capacity) are not means: no number of draws bounds them from above.
        The exact ranges over the set do.
    values : array-like of shape (n_models, n_rows)
        Labels, or probabilities for the score variance, in the order of drawing.
    half_width : float, default=0.01
    confidence : float, default=0.95
    mechanism : str, default="exact"
        Name of the mechanism that drew the models (``rashomon_set_.mechanism``).
    n_chains : int, optional
        Number of chains, whose states alternate in ``values``; by default the sampler's own.

    Raises
    ------
    ValueError
        If the measure is an extreme, the mechanism is unknown, there are fewer than two models,
        chains are too few or too short, or a number is out of range.
    ImportError
        For chains, if ArviZ is not installed (the extra ``diagnostics``).

    Examples
    --------
    >>> labels = np.random.default_rng(0).random((3000, 50)) < 0.05
    >>> print(enough_draws("disagreement", labels))
    disagreement in [0.0910, 0.0985] at 95%: ±0.01 after 764 draws: enough
    """
    if measure in MEASURES and MEASURES[measure].sampled == LOWER_BOUND:
        raise ValueError(
            f"the {measure} is an extreme over the set: draws bound it from below only; "
            "use exact ranges over the set for the other side"
        )
    if measure not in _LARGEST:
        raise ValueError(f"measure must be one of {sorted(_LARGEST)}, got {measure!r}")
    check_positive(half_width=half_width)
    chains = _checked_chains(mechanism, n_chains)
    one_path = chains == 1
    terms, largest = _pair_terms(measure, values, halves=one_path), _LARGEST[measure]
    stopped_at = effective = None
    if chains:
        chains = 2 if one_path else chains  # the halves of a path
        value, low, high, effective = chain_interval(terms, chains, confidence, largest)
        if (high - low) / 2 <= half_width:
            stopped_at = 2 * len(terms)
    else:
        sequence = ConfidenceSequence(confidence, (0.0, largest))
        for index, term in enumerate(terms.tolist(), start=1):
            sequence.update(term)
            if stopped_at is None and sequence.half_width <= half_width:
                stopped_at = 2 * index
        value, low, high = sequence.mean, sequence.low, sequence.high
    return Enough(
        measure=measure,
        enough=stopped_at is not None,
        low=low,
        high=high,
        value=value,
        half_width=half_width,
        confidence=confidence,
        n_draws=2 * len(terms),
        stopped_at=stopped_at,
        effective=effective,
    )


def _checked_chains(mechanism: str, n_chains: int | None) -> int:
    """Return the number of chains, 0 for independent draws; raise if the dependence is unknown."""
    # Local import: confidence sequences of numbers load no mechanism.
    from rashomon_explorer.mechanisms.registry import MECHANISMS, mechanism_traits

    traits = mechanism_traits(mechanism)
    if n_chains is None and not traits.dependence_known:
        allowed = sorted(name for name, kind in MECHANISMS.items() if kind.traits.dependence_known)
        raise ValueError(
            f"the dependence between draws of the mechanism {mechanism!r} is unknown: use one of "
            f"{allowed}, or pass n_chains= for states of chains"
        )
    return traits.n_chains if n_chains is None else n_chains


_LARGEST = {"disagreement": 1.0, "score_variance": 0.5}
"""Largest term of each measure."""


def _pair_terms(measure: str, values: ArrayLike, *, halves: bool) -> FloatArray:
    """Term of each disjoint pair: its share of differing labels, or ½ of squared differences."""
    if measure == "disagreement":
        models = Predictions.from_labels(values).values
    else:
        models = as_models_by_rows(values, "scores")
        if models.min() < 0 or models.max() > 1:
            raise ValueError(
                "scores must be probabilities in [0, 1], which bounds the terms, got "
                f"[{models.min():g}, {models.max():g}]"
            )
    if len(models) < 2:
        raise ValueError(f"at least two models are needed for a pair, got {len(models)}")
    half = len(models) // 2
    if halves:
        first, second = models[:half], models[-half:]
    else:
        first, second = models[0 : 2 * half : 2], models[1 : 2 * half : 2]
    if measure == "disagreement":
        return np.asarray((first != second).mean(axis=1))
    return np.asarray(((first - second) ** 2).mean(axis=1) / 2)
