"""Exact draws of a radius from a density known only through a monotone energy."""

from collections.abc import Callable

import numpy as np

from rashomon_explorer.array_types import FloatArray

_CELLS = 4096
_TAIL = 45.0  # nats below the peak; what lies beyond is sampled too, from coarse cells
_TAIL_CELLS = 64


class RadialLaw:
    """Law on [0, furthest] with density proportional to r^{p−1} exp(−energy(r)).

    A piecewise constant function *above* the density is sampled and thinned, so that the draws
    follow the density itself and not a table of it.

    The energy is nondecreasing and ≥ 0; p ≥ 1 is the dimension, ``furthest`` the end of the
    support.

    >>> law = RadialLaw(lambda r: r**2 / 2, p=2, furthest=20.0)
    >>> radii = law.sample(20_000, np.random.default_rng(0))
    >>> bool(abs((radii**2 / 2).mean() - 1.0) < 0.05)
    True
    """

    def __init__(self, energy: Callable[[FloatArray], FloatArray], p: int, furthest: float) -> None:
        self._energy = energy
        self._p = p
        edges = np.linspace(0.0, furthest, _CELLS + 1)
        for _ in range(2):
            edges = self._refined(edges)
        self._edges = edges
        self._upper = self._upper_log_density(edges)
        mass = np.exp(self._upper - self._upper.max()) * np.diff(edges)
        self._cumulative = np.cumsum(mass)

    @property
    def log_mass(self) -> float:
        """Logarithm of an upper bound of ∫ r^{p−1} exp(−energy(r)) dr, tight to the cells."""
        return float(self._upper.max() + np.log(self._cumulative[-1]))

    def log_density(self, radius: FloatArray) -> FloatArray:
        """Unnormalised log density at each radius > 0."""
        return (self._p - 1) * np.log(radius) - self._energy(radius)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Exact draws, ``size`` of them."""
        kept = np.empty(0)
        while len(kept) < size:
            kept = np.concatenate([kept, self._propose(size - len(kept) + 16, rng)])
        return kept[:size]

    def _propose(self, size: int, rng: np.random.Generator) -> FloatArray:
        place = rng.random(size) * self._cumulative[-1]
        last = len(self._cumulative) - 1
        cell = np.minimum(np.searchsorted(self._cumulative, place, side="right"), last)
        # 1 − U lies in (0, 1]: a radius of exactly 0 has no logarithm.
        low, high = self._edges[cell], self._edges[cell + 1]
        radius = low + (1.0 - rng.random(size)) * (high - low)
        log_ratio = self.log_density(radius) - self._upper[cell]
        return np.asarray(radius[np.log1p(-rng.random(size)) <= log_ratio])

    def _upper_log_density(self, edges: FloatArray) -> FloatArray:
        """Bound on each cell: the power at its right end, the energy at its left."""
        return (self._p - 1) * np.log(edges[1:]) - self._energy(edges[:-1])

    def _refined(self, edges: FloatArray) -> FloatArray:
        upper = self._upper_log_density(edges)
        heavy = np.flatnonzero(upper > upper.max() - _TAIL)
        low, high = edges[heavy[0]], edges[heavy[-1] + 1]
        pieces = [
            np.linspace(0.0, low, _TAIL_CELLS, endpoint=False) if low > 0 else np.empty(0),
            np.linspace(low, high, _CELLS, endpoint=False),
            np.linspace(high, edges[-1], _TAIL_CELLS) if high < edges[-1] else edges[-1:],
        ]
        return np.concatenate(pieces)
