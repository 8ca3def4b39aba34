"""Exact draws from a law on finitely many points, with integer weights."""

import bisect
import math
from itertools import accumulate

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, IntArray

_BITS = 40
_DEEPEST = 255


class IntegerLaw:
    """Law ∝ exp(−min{energy, 255·log 2}) on 0, …, N − 1, drawn with uniform bits.

    Weight i is the integer ``mantissas[i]`` < 2⁴⁰ times 2^−``depths[i]``, exact up to a factor
    1 ± 2⁻³⁹. The sums are exact integers, so no probability is rounded to 0, and a draw has exactly
    the law of these weights (the idea of the base-2 exponential mechanism, Ilvento 2020).
    """

    def __init__(self, energies: FloatArray) -> None:
        capped = np.minimum(energies, _DEEPEST * math.log(2))
        mantissa, exponent = np.frexp(np.exp(-capped))
        self.mantissas: IntArray = np.floor(np.ldexp(mantissa, _BITS)).astype(np.int64)
        self.depths: IntArray = 1 - exponent.astype(np.int64)
        self._order = np.argsort(self.depths, kind="stable")
        # sums[i] is the sum of the mantissas of the first i points by depth.
        self._sums = np.concatenate([[0], np.cumsum(self.mantissas[self._order])])
        depths, starts = np.unique(self.depths[self._order], return_index=True)
        self._shifts = [int(depths[-1] - depth) for depth in depths]
        self._starts = [int(self._sums[start]) for start in starts]
        widths = np.diff(self._sums[np.append(starts, len(energies))]).tolist()
        masses = [width << shift for width, shift in zip(widths, self._shifts, strict=True)]
        self._ends = list(accumulate(masses))

    @property
    def probabilities(self) -> FloatArray:
        """Probabilities (N,), rounded to doubles."""
        weights = np.ldexp(self.mantissas.astype(float), -self.depths)
        return np.asarray(weights / weights.sum())

    @property
    def total(self) -> int:
        """Sum of the weights in units of 2^−max(depths)."""
        return self._ends[-1]

    def at(self, place: int) -> int:
        """Point that owns ``place`` in 0, …, total − 1; it owns as many places as its weight."""
        band = bisect.bisect_right(self._ends, place)
        within = (place - (self._ends[band - 1] if band else 0)) >> self._shifts[band]
        owner = np.searchsorted(self._sums, self._starts[band] + within, side="right") - 1
        return int(self._order[owner])

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Draw independent points (size,)."""
        return np.array([self.at(_below(self.total, rng)) for _ in range(size)], dtype=np.int64)


def _below(total: int, rng: np.random.Generator) -> int:
    """Draw uniformly from 0, …, total − 1."""
    bits = total.bit_length()
    n_bytes = (bits + 7) // 8
    while True:
        place = int.from_bytes(rng.bytes(n_bytes), "little") >> (8 * n_bytes - bits)
        if place < total:
            return place
