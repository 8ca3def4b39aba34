"""Estimates with intervals, and the result of a decomposition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.decomposition.kernels import PAIR_MEASURES, Layout, PairSums, Units
from rashomon_explorer.privacy.audit import binomial_interval

if TYPE_CHECKING:
    from rashomon_explorer.measures.decomposition.inputs import Inputs


@dataclass(frozen=True)
class Estimate:
    """A number and its confidence interval.

    Parameters
    ----------
    value, low, high : float
        NaN and infinite ends if unknown.

    Examples
    --------
    >>> print(Estimate(0.031, 0.028, 0.034))
    0.031 [0.028, 0.034]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return value and ends with three digits."""
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def clipped(self, least: float, most: float) -> Estimate:
        """Clip the ends to the known bounds of the quantity."""
        return Estimate(self.value, max(self.low, least), min(self.high, most))


def jackknife(
    replicates: FloatArray, drawn: Mask, confidence: float, freedom: float, *, skewed: bool = False
) -> Estimate:
    """Student interval with the delete-one jackknife variance, for one or two samples."""
    value = float(replicates[0])
    spread = sum(float(variance(replicates[1:][of])) for of in (drawn, ~drawn))
    if math.isnan(value) or math.isnan(spread) or freedom < 1:
        return Estimate(value, -math.inf, math.inf)
    t, error = float(stdtrit(freedom, 0.5 + confidence / 2)), math.sqrt(spread)
    third = sum(_third_moment(replicates[1:][of]) for of in (drawn, ~drawn))
    tilt = third / (6 * error**3) * (1 + 2 * t**2) if skewed and error else 0.0
    shift = min(max(tilt, -t / 2), t / 2)
    return Estimate(value, value + (shift - t) * error, value + (shift + t) * error)


def hit_interval(hits: int, n_draws: int, confidence: float) -> Estimate:
    """Share of independent draws that hit, with the interval of Clopper and Pearson (1934)."""
    return Estimate(hits / n_draws, *binomial_interval(hits, n_draws, confidence))


def variance(without: FloatArray) -> FloatArray:
    """Jackknife variance from the leave-one-out statistics, along the first axis."""
    if not len(without):
        return np.zeros(without.shape[1:])
    return (len(without) - 1) * without.var(axis=0)


def _third_moment(without: FloatArray) -> float:
    """Σ of cubed influences over k³: six times the acceleration, times the cubed error."""
    if not len(without):
        return 0.0
    influence = (len(without) - 1) * (without.mean() - without)
    return float((influence**3).sum()) / len(without) ** 3


PAIRS = ("both inside", "one outside", "both outside")


@dataclass(frozen=True)
class Mixture:
    """A pairwise measure of draws as a mixture over kinds of pairs, with leave-one-out values."""

    # (3, 1 + n_units, …): shares of the pairs with 0, 1 and 2 models outside: m(m − 1), 2m(k − m)
    # and (k − m)(k − m − 1) over k(k − 1) for m of k draws inside. Their sum is 1.
    pairs: FloatArray
    # (3, 1 + n_units, …): the measure over these pairs; NaN if there are none
    values: FloatArray
    width: FloatArray  # (1 + n_units, …): the measure of the uniform law on the Rashomon set

    @classmethod
    def from_units(
        cls, units: PairSums, uniform: bool, exact: FloatArray | float | None = None
    ) -> Mixture:
        """Compute the mixture; reference models are pooled with the hits if these are uniform."""
        layout = units.layout
        hit, reference = layout.hit.astype(float), (~layout.drawn).astype(float)
        missed = layout.missed * layout.weights
        inside = hit + reference if uniform else hit
        counts = (units.pairs(hit, hit), 2 * units.pairs(hit, missed), units.pairs(missed, missed))
        sides = ((inside, inside), (inside, missed), (missed, missed))
        values = np.stack([_mean(units, *side) for side in sides])
        if exact is not None:
            width = np.broadcast_to(np.asarray(exact, dtype=float), values[0].shape)
            values = np.stack([width, *values[1:]]) if uniform else values
        else:
            width = values[0] if uniform else _mean(units, reference, reference)
        return cls(
            pairs=_ratio(np.stack(counts), np.sum(counts, axis=0)), values=values, width=width
        )

    @property
    def total(self) -> FloatArray:
        """The measure of the draws' law, (1 + n_units,)."""
        return np.asarray(self.terms.sum(axis=0))

    @property
    def terms(self) -> FloatArray:
        """Contribution of each kind of pair to the total, (3, 1 + n_units)."""
        return _product(self.pairs, self.values)

    @property
    def noise_terms(self) -> FloatArray:
        """Contribution of each kind of pair to total − width, (3, 1 + n_units)."""
        return _product(self.pairs, self.values - self.width)


def _mean(units: PairSums, first: FloatArray, second: FloatArray) -> FloatArray:
    return _ratio(units.total(first, second), units.pairs(first, second))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    result = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    return np.divide(above, below, out=result, where=below > 0)


def _product(pairs: FloatArray, values: FloatArray) -> FloatArray:
    # A kind without pairs contributes 0, although its value is NaN.
    return np.where(pairs > 0, pairs * np.where(pairs > 0, values, 0.0), 0.0)


KNOWN = 10**9  # degrees of freedom of an exact value
FEW = 5  # smallest sample size for which a variance is used


@dataclass(frozen=True)
class GroupEstimates:
    """Estimates for one group of rows."""

    total: Estimate
    width: Estimate
    noise: Estimate
    share_of_noise: Estimate

    def columns(self) -> dict[str, float]:
        """Value and interval ends of every estimate, as columns of a table."""
        columns = {}
        for name, estimate in vars(self).items():
            columns[name] = estimate.value
            columns[f"{name}_low"], columns[f"{name}_high"] = estimate.low, estimate.high
        return columns


def mixture_estimates(
    found: Inputs, units: Units, mixture: Mixture, confidence: float
) -> GroupEstimates:
    """Estimates, with intervals, from a mixture."""
    uniform, most, exact = found.uniform, found.most, found.exact is not None
    layout, noise = units.layout, mixture.total - mixture.width
    wide = int((~layout.drawn).sum() + (layout.hit.sum() if uniform else 0))
    missed = _effective(layout.weights[layout.missed])
    freedom = wide - 1 if wide >= FEW else 0
    if exact:
        freedom = KNOWN

    def interval(
        replicates: FloatArray, freedom: float, confidence: float = confidence, skewed: bool = True
    ) -> Estimate:
        return jackknife(replicates, layout.drawn, confidence, freedom, skewed=skewed)

    # The misses skew the distribution of the total, so their number sets its degrees of freedom.
    total = interval(mixture.total, max(missed, FEW) - 1)
    known = float(mixture.width[0])

    def interval_of_width(confidence: float) -> Estimate:
        if exact:
            return Estimate(known, known, known)
        return interval(mixture.width, freedom, confidence).clipped(0, most)

    width = interval_of_width(confidence)
    if missed >= FEW:
        common = min(missed - 1, freedom)
        difference = interval(noise, common)
        # No skewness correction: the denominator limits the tail of a ratio.
        share = interval(_ratio(noise, mixture.total), common, skewed=False)
    else:
        half = 0.5 + confidence / 2  # union bound: two statements with half the error each
        outer = interval_of_width(half)
        inner, apart = outer, Estimate(0.0, 0.0, 0.0)
        if not uniform:
            hits = float(layout.hit.sum()) - 1
            inner = interval(mixture.values[0], hits, half).clipped(0, most)
            apart = interval(mixture.values[0] - mixture.width, min(hits, freedom), half)
        pairs = _pairs_with_a_miss(layout, found.least_hit_rate, half)
        difference = _widest(float(noise[0]), pairs, inner, apart, most)
        share, total = _share(difference, outer), _sum_interval(total, outer, difference)
    return GroupEstimates(
        total=total.clipped(0, most),
        width=width,
        noise=difference.clipped(-most, most),
        share_of_noise=share.clipped(-math.inf, 1),
    )


def _pairs_with_a_miss(layout: Layout, least_hit_rate: float, confidence: float) -> float:
    """Upper confidence bound on 1 − h², the probability that a pair has a draw outside."""
    hits = hit_interval(int(layout.hit.sum()), int(layout.drawn.sum()), confidence)
    return 1 - max(hits.low, least_hit_rate) ** 2


def _widest(
    value: float, missing: float, inner: Estimate, apart: Estimate, most: float
) -> Estimate:
    """Worst-case interval in which pairs with a model outside may have any value."""
    if missing <= 0:
        return Estimate(value, apart.low, apart.high)
    low, high = apart.low - missing * inner.high, apart.high + missing * (most - inner.low)
    return Estimate(value, low, high)


def _share(noise: Estimate, width: Estimate) -> Estimate:
    """noise/(width + noise), with its smallest and largest values over the intervals."""
    value = _fraction(noise.value, width.value, math.nan)
    low = _fraction(noise.low, width.low, -math.inf)
    return Estimate(value, low, _fraction(noise.high, width.low, 1.0))


def _sum_interval(total: Estimate, width: Estimate, noise: Estimate) -> Estimate:
    """Widen a total's interval to cover the sums of the width and noise intervals."""
    low, high = min(total.low, width.low + noise.low), max(total.high, width.high + noise.high)
    return Estimate(total.value, low, high)


def _fraction(noise: float, width: float, otherwise: float) -> float:
    total = noise + width
    return noise / total if 0 < total < math.inf else otherwise


def _effective(weights: FloatArray) -> float:
    """Effective sample size (Σw)²/Σw² of the weights (Kish 1965)."""
    square = float((weights**2).sum())
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0


CURATOR = "Curator: computed from private rows, not private"


@dataclass(frozen=True, eq=False)
class DisagreementDecomposition:
    """A measure of private draws, decomposed into model-set width and mechanism noise.

    **Curator: computed from private rows, not private.**

    Parameters
    ----------
    measure : str
        Key of the measure.
    confidence : float
        Level of each interval separately.
    total : Estimate
        The measure under the law of the draws.
    width : Estimate
        The measure under the uniform law on the Rashomon set.
    noise : Estimate
        total − width. Below 0 if models outside agree more than those inside.
    share_of_noise : Estimate
        noise/total, NaN where all draws agree.
    hit_rate : Estimate
        Probability that a draw lies in the set.
    parts : pandas.DataFrame
        One row for each kind of pair, ``"both inside"``, ``"one outside"``, ``"both outside"``:
        ``pairs``, their share; ``value``, the measure over them; ``total`` and ``noise``, their
        contributions. Columns ``pairs``, ``total`` and ``noise`` sum to 1, the total and the
        noise.
    groups : pandas.DataFrame or None
        One row per group: ``rows``, and value and ends of each estimate.
    n_draws, n_hits, n_reference : int
        Numbers of draws, draws inside, and reference models (all counted trees).
    cross_check : float or None
        Width of the hits minus that of the reference, in standard errors. Beyond 3 the two do
        not describe the same set. None without a reference, or with too few hits.
    guaranteed : bool
        Whether the draws are known to carry a privacy guarantee; False for arrays.
    assumed : str
        Assumption made for arrays, whose law is unknown.
    counted : bool
        Whether the width is computed exactly from all counted trees of the set.

    See Also
    --------
    disagreement_decomposition : Computes the decomposition.
    """

    view: ClassVar[str] = CURATOR

    measure: str
    confidence: float
    total: Estimate
    width: Estimate
    noise: Estimate
    share_of_noise: Estimate
    hit_rate: Estimate
    parts: pd.DataFrame
    groups: pd.DataFrame | None
    n_draws: int
    n_hits: int
    n_reference: int
    cross_check: float | None
    guaranteed: bool
    assumed: str = ""
    counted: bool = False

    @property
    def within_between(self) -> pd.Series:
        """Split the total by the law of total variance; the terms sum exactly to it.

        E k = h·k(U, U) + (1 − h)·k(Q, Q) + 2h(1 − h)·[k(U, Q) − ½k(U, U) − ½k(Q, Q)]. For the score
        variance the bracket is half the squared distance of the two mean scores; for
        disagreement it is half their energy distance. It is ≥ 0 up to sampling error, so noise
        is negative only if models outside agree more with each other than those inside.

        Returns
        -------
        pandas.Series
            ``"inside"``, ``"outside"``, ``"between"``; NaN for the last two with one draw outside.
        """
        pairs, value = self.parts["pairs"].to_numpy(), self.parts["value"].to_numpy()
        inside = pairs[0] + pairs[1] / 2
        terms = [inside * value[0], 0.0, 0.0]
        if pairs[1:].any():
            terms[0] = inside * value[0] if inside else 0.0
            terms[1] = (1 - inside) * value[2]
            if pairs[1]:
                terms[2] = pairs[1] * (value[1] - value[0] / 2 - value[2] / 2)
        return pd.Series(terms, index=["inside", "outside", "between"], name=self.measure)

    def __str__(self) -> str:
        """Return the result in words."""
        return _sentence(self)


def _sentence(found: DisagreementDecomposition) -> str:
    measure = PAIR_MEASURES[found.measure].in_words
    misses = f"{_percent(1 - found.hit_rate.value)} of the draws missed the set"
    if math.isnan(found.share_of_noise.value):
        return f"The draws show no {measure}, so there is nothing to decompose; {misses}."
    assumed = f" Assumed: {found.assumed}." if found.assumed else ""
    trees = (
        f" Its width is that of all {found.n_reference:,} trees within ψ." if found.counted else ""
    )
    return f"{_split(found, measure)}: {misses}.{trees}{_warned(found)}{assumed}"


def _split(found: DisagreementDecomposition, measure: str) -> str:
    share, total = found.share_of_noise, f"{found.total.value:.3g}"
    if share.value < 0:
        return (
            f"The {measure} of the model set ({found.width.value:.3g}) exceeds that of these "
            f"draws ({total}): mechanism noise is {_percent(share.value)} {_ends(share)}"
        )
    own = _percent(1 - share.value)
    return (
        f"{own} of the {measure} among these draws ({total}) is model-set width; "
        f"{_percent(share.value)} {_ends(share)} is mechanism noise"
    )


def _warned(found: DisagreementDecomposition) -> str:
    if found.cross_check is None or abs(found.cross_check) <= 3:
        return ""
    return (
        f" Hits and reference are {abs(found.cross_check):.1f} standard errors apart: they do "
        "not describe the same set."
    )


def _ends(share: Estimate) -> str:
    low = "−∞" if math.isinf(share.low) else _percent_text(share.low)
    return f"[{low}, {_percent_text(share.high)}]"


def _percent(share: float) -> str:
    return f"{_percent_text(share)} %"


def _percent_text(share: float) -> str:
    return f"{round(100 * share)}".replace("-", "−")
