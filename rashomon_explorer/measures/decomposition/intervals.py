"""Intervals for the total, the width, the noise and its share."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.decomposition.estimate import Estimate, hit_interval, jackknife
from rashomon_explorer.measures.decomposition.mixture import Mixture
from rashomon_explorer.measures.decomposition.units import Layout, Units

KNOWN = 10**9  # degrees of freedom of what is no estimate
FEW = 5  # draws outside, below which a variance of theirs says nothing


@dataclass(frozen=True)
class Split:
    """Estimates of one group of rows.

    Parameters
    ----------
    total, width, noise, share_of_noise : Estimate
    """

    total: Estimate
    width: Estimate
    noise: Estimate
    share_of_noise: Estimate


def split_of(
    units: Units,
    mixture: Mixture,
    *,
    uniform: bool,
    most: float,
    confidence: float,
    least_hit_rate: float = 0.0,
    exact: bool = False,
) -> Split:
    """Estimates of a mixture.

    With at least five draws outside the intervals are Student's with the jackknife's variance,
    corrected for skewness, and as many degrees of freedom as the smaller of the samples has. With
    fewer, what the misses would say is not known from them: the interval of the noise, and with
    it the total's, then holds all that the interval of the hit rate leaves open. With fewer than
    five uniform models the width's is everything.

    ``most`` is the largest value of k, ``least_hit_rate`` what is proved for the mechanism, and
    ``exact`` says that the width is known and not estimated.
    """
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

    # The misses decide how far the total's law is from normal: they are what it is skewed by.
    total = interval(mixture.total, max(missed, FEW) - 1)
    known = float(mixture.width[0])

    def interval_of_width(confidence: float) -> Estimate:
        if exact:
            return Estimate(known, known, known)
        return interval(mixture.width, freedom, confidence).clipped(0, most)

    width = interval_of_width(confidence)
    if missed >= FEW:
        common = min(missed - 1, freedom)
        found = interval(noise, common)
        # A ratio's tail is held in by its denominator.
        share = interval(_over(noise, mixture.total), common, skewed=False)
    else:
        half = 0.5 + confidence / 2  # two statements, each wrong half as often
        outer = interval_of_width(half)
        inner, apart = outer, Estimate(0.0, 0.0, 0.0)
        if not uniform:
            hits = float(layout.hit.sum()) - 1
            inner = interval(mixture.values[0], hits, half).clipped(0, most)
            apart = interval(mixture.values[0] - mixture.width, min(hits, freedom), half)
        pairs = _pairs_with_a_miss(layout, least_hit_rate, half)
        found = _widest(float(noise[0]), pairs, inner, apart, most)
        share, total = _share(found, outer), _together(total, outer, found)
    return Split(
        total=total.clipped(0, most),
        width=width,
        noise=found.clipped(-most, most),
        share_of_noise=share.clipped(-math.inf, 1),
    )


def _pairs_with_a_miss(layout: Layout, least_hit_rate: float, confidence: float) -> float:
    """Largest chance that it leaves open for a pair of draws to have one outside, 1 − h²."""
    hits = hit_interval(int(layout.hit.sum()), int(layout.drawn.sum()), confidence)
    return 1 - max(hits.low, least_hit_rate) ** 2


def _widest(
    value: float, missing: float, inner: Estimate, apart: Estimate, most: float
) -> Estimate:
    """All that the share of pairs with a model outside leaves open: they may have any value.

    total = (1 − q)·W' + q·V with W' the measure inside, V ∈ [0, most] and q = 1 − h², so that
    noise = (W' − width) + q(V − W').
    """
    if missing <= 0:
        return Estimate(value, apart.low, apart.high)
    low, high = apart.low - missing * inner.high, apart.high + missing * (most - inner.low)
    return Estimate(value, low, high)


def _share(noise: Estimate, width: Estimate) -> Estimate:
    """noise/(width + noise) at the ends, where it is largest and least."""
    value = _fraction(noise.value, width.value, math.nan)
    low = _fraction(noise.low, width.low, -math.inf)
    return Estimate(value, low, _fraction(noise.high, width.low, 1.0))


def _together(total: Estimate, width: Estimate, noise: Estimate) -> Estimate:
    """Widen a total's interval to all that width and noise leave open."""
    low, high = min(total.low, width.low + noise.low), max(total.high, width.high + noise.high)
    return Estimate(total.value, low, high)


def _fraction(noise: float, width: float, otherwise: float) -> float:
    total = noise + width
    return noise / total if 0 < total < math.inf else otherwise


def _over(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _effective(weights: FloatArray) -> float:
    """(Σw)²/Σw², as many draws as these weights are worth (Kish 1965)."""
    square = float((weights**2).sum())
    return float(weights.sum()) ** 2 / square if square > 0 else 0.0
