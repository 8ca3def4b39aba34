"""Private release of the kinds, levels and ranges of columns that nobody declared."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.formatting import Fact
from rashomon_explorer.data.cells import as_text, is_missing, read_numbers
from rashomon_explorer.data.columns import Categorical, Column, IgnoredColumn, Numeric, YesNo
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.privacy.guarantee import epsilon_delta_text

_LOWEST, _HIGHEST = -40, 64  # exponents of the octaves (2^(e-1), 2^e]
_OCTAVES = _HIGHEST - _LOWEST + 1
_ZERO, _MISSING, _ENTRIES = 2 * _OCTAVES, 2 * _OCTAVES + 1, 2 * _OCTAVES + 2
_CLEAR = 4.0  # deviations of the noise above which a count is not taken for noise
_NOISY = 2.0  # deviations that an octave must exceed to extend the range
_WORTH_A_COLUMN = 0.01  # share of missing cells from which they get an indicator
_FEWEST_BINS, _MOST_BINS = 4, 64
_REACH = 10.0  # half-widths of the typical range up to which numbers are not clipped
_SAFE = 1 - 1e-9


@dataclass(frozen=True)
class PreparationPlan:
    """Privacy cost and noise of the two releases that describe ``k`` columns of ``n`` rows.

    The first counts the cells of each column by kind: missing, zero, the octave of a number, the
    level of a text; the second counts numbers by equal bins of the range that the first found.
    docs/theory.md §31 proves their costs.
    """

    n: int
    k: int
    epsilon: float
    delta: float

    def scale(self, n_columns: int) -> float:
        """Deviation of the Gaussian noise, or scale of the geometric noise, of one release."""
        if self.delta > 0:
            mu = gdp_mu(self.epsilon, self.delta / 2) * _SAFE
            return math.sqrt(2 * n_columns) / (mu * math.sqrt(0.5))
        return 2 * n_columns / (self.epsilon / 2 * _SAFE)

    def deviation(self, n_columns: int) -> float:
        """Return the standard deviation of the noise of one count."""
        return self.scale(n_columns) * (1.0 if self.delta > 0 else math.sqrt(2))

    @property
    def threshold(self) -> float:
        """Least noisy count of a level that is released, noise rounded to integers."""
        if self.delta == 0:
            return math.inf
        chance = self.delta / 2 / (self.k * (1 + math.exp(self.epsilon)))
        return math.ceil(1.5 + self.scale(self.k) * float(norm.isf(chance)))

    @property
    def clear(self) -> float:
        """Count of the first release above which it is not taken for noise, which has tails."""
        return _CLEAR * self.deviation(self.k) * (1 if self.delta > 0 else 2)

    @property
    def hides_all(self) -> bool:
        """Whether no count of the rows can be told from the noise."""
        return self.clear >= self.n

    @property
    def facts(self) -> list[Fact]:
        """Labels and texts of a plan's summary."""
        if not self.k:
            return [("columns", "all declared: nothing is released, and the model has the budget")]
        levels = (
            f"levels of about {math.ceil(self.threshold):,} rows or more"
            if self.delta > 0
            else "no levels, which need delta > 0 or a declaration"
        )
        cost = epsilon_delta_text(self.epsilon, self.delta)
        found = f"{self.k} undeclared: ranges, gaps, {levels}"
        noise = f"a count is off by about {self.deviation(self.k):,.0f} of {self.n:,} rows"
        return [("columns", found), ("preparation", f"{cost}; {noise}")]


def release_columns(
    columns: Mapping[str, pd.Series],
    planned: PreparationPlan,
    rng: np.random.Generator,
    *,
    categorical: Collection[str] = (),
) -> list[Column]:
    """Declare columns from noisy counts; a column that the noise hides is ignored."""
    readings = [_Cells.of(cells, name in categorical) for name, cells in columns.items()]
    kinds = [_noisy_kind(cells, planned, rng) for cells in readings]
    n_numeric = sum(kind.span is not None for kind in kinds)
    declared: list[Column] = []
    for name, cells, kind in zip(columns, readings, kinds, strict=True):
        if kind.span is None:
            declared.append(_with_levels(name, kind))
            continue
        # Equal bins, a column's share of the second release.
        (low, high), deviation = kind.span, planned.deviation(n_numeric)
        n_bins = int(np.clip(planned.n / (_CLEAR * deviation), _FEWEST_BINS, _MOST_BINS))
        edges = np.linspace(low, high, n_bins + 1)
        numbers = cells.numbers[~np.isnan(cells.numbers)]
        counts, _ = np.histogram(np.clip(numbers, low, high), edges)
        noisy = _noisy(counts, planned.scale(n_numeric), planned, rng)
        start, stop, mass = densest(noisy - deviation)
        typical = (edges[start], edges[stop]) if mass > 0 else (low, high)
        middle, half = (typical[0] + typical[1]) / 2, (typical[1] - typical[0]) / 2
        lower, upper = middle - _REACH * half, middle + _REACH * half
        bounds = max(0.0, lower) if low >= 0 else lower, min(0.0, upper) if high <= 0 else upper
        declared.append(Numeric(name, bounds, typical=typical, missing=kind.missing))
    return declared


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of a column: numbers (n,), NaN where none is, and the texts of the other cells."""

    numbers: FloatArray
    texts: pd.Series

    @classmethod
    def of(cls, values: pd.Series, is_coded: bool) -> _Cells:
        """Parse cells one by one; true and false are text."""
        text = as_text(values)
        numbers = np.full(len(values), np.nan)
        if not (is_coded or pd.api.types.is_bool_dtype(values)):
            numbers = read_numbers(values)[0]
        return cls(numbers, text[np.isnan(numbers) & ~is_missing(text)])

    @property
    def counts(self) -> IntArray:
        """Counts by kind: 2·105 octaves, negative ones first, zero, and missing."""
        numbers = self.numbers[~np.isnan(self.numbers)]
        mantissa, exponent = np.frexp(np.where(np.isinf(numbers), 2.0**_HIGHEST, np.abs(numbers)))
        octave = np.clip(exponent - (mantissa == 0.5), _LOWEST, _HIGHEST) - _LOWEST
        entry = np.where(numbers < 0, octave, octave + _OCTAVES)
        entry[numbers == 0] = _ZERO
        counts = np.bincount(entry, minlength=_ENTRIES)
        counts[_MISSING] = len(self.numbers) - len(numbers) - len(self.texts)
        return counts


class _Kind(NamedTuple):
    """What the noisy counts of a column say."""

    span: tuple[float, float] | None  # range of the numbers; None if the column holds levels
    levels: list[str]
    missing: str


def _noisy(
    counts: IntArray, scale: float, planned: PreparationPlan, rng: np.random.Generator
) -> FloatArray:
    """Add rounded Gaussian or geometric noise: integers have no low bits to read."""
    if planned.delta > 0:
        return np.asarray(np.rint(counts + rng.normal(scale=scale, size=counts.shape)))
    stop = -math.expm1(-1 / scale)
    return counts + (rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)) * 1.0


def _noisy_kind(cells: _Cells, planned: PreparationPlan, rng: np.random.Generator) -> _Kind:
    """Release a column's counts, at its share of the first release."""
    scale, deviation = planned.scale(planned.k), planned.deviation(planned.k)
    counts = _noisy(cells.counts, scale, planned, rng)
    by_text = cells.texts.value_counts().sort_index()
    noisy = _noisy(np.asarray(by_text, dtype=np.int64), scale, planned, rng)
    released = noisy >= planned.threshold  # which is infinite under pure DP
    octaves = np.split(counts[: 2 * _OCTAVES] - _NOISY * deviation, 2)
    sides = [
        (sign, part)
        for sign, part in zip((-1, 1), map(densest, octaves), strict=True)
        if part[2] > planned.clear
    ]
    has_zero = counts[_ZERO] > planned.clear
    ends = [0.0] if has_zero else []
    n_numbers = float(counts[_ZERO]) if has_zero else 0.0
    for sign, (start, stop, mass) in sides:
        ends += [sign * 2.0 ** (_LOWEST + start - 1), sign * 2.0 ** (_LOWEST + stop - 1)]
        n_numbers += mass + (stop - start) * _NOISY * deviation
    gaps = counts[_MISSING] > max(planned.clear, _WORTH_A_COLUMN * planned.n)
    is_numeric = sides and n_numbers >= noisy[released].sum()
    span = (min(ends), max(ends)) if is_numeric else None
    return _Kind(span, list(by_text.index[released]), "indicator" if gaps else "fill")


def densest(gains: FloatArray) -> tuple[int, int, float]:
    """Start and end of the contiguous interval with the largest sum, and that sum."""
    totals = np.concatenate([[0.0], np.cumsum(gains)])
    rises = totals[1:] - np.minimum.accumulate(totals)[:-1]
    stop = int(np.argmax(rises)) + 1
    return int(np.argmin(totals[:stop])), stop, float(rises[stop - 1])


def _with_levels(name: str, kind: _Kind) -> Column:
    """Declare levels; a column without any is ignored."""
    if not kind.levels:
        return IgnoredColumn(name)
    if len(kind.levels) > 2:
        return Categorical(name, kind.levels, unknown="other", missing=kind.missing)
    # One level stands against everything else, which is encoded as the middle.
    levels = kind.levels if len(kind.levels) == 2 else [f"not {kind.levels[0]}", *kind.levels]
    return YesNo(name, levels, missing=kind.missing)
