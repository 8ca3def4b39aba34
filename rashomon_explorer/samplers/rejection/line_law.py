"""Exact draws from a log-concave density on an interval."""

from collections.abc import Callable

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import EnvelopeError

_TAIL = 45.0  # nats below the peak; what lies beyond is sampled too, from coarse cells
_TAIL_CELLS = 64
_SLACK = 1e-9  # added to the bounds: log densities are right to about 1e-13 of their size
_ROUNDING = 1e-12


class LineLaw:
    """Law on [low, high] with a log-concave density, known up to a factor.

    A concave function lies below the continuations of the chords on either side of a cell, so
    that the lesser of their largest values bounds it there. The piecewise constant bound is
    sampled and thinned: draws follow the density itself and not a table of it.

    More cells, a tighter bound.

    >>> law = LineLaw(lambda t: -(t**2) / 2, -20.0, 30.0)
    >>> places = law.sample(20_000, np.random.default_rng(0))
    >>> bool(abs(places.std() - 1.0) < 0.02), round(law.log_mass, 2)
    (True, 0.92)
    """

    def __init__(
        self,
        log_density: Callable[[FloatArray], FloatArray],
        low: float,
        high: float,
        cells: int = 2048,
    ) -> None:
        self._log_density, self._cells = log_density, cells
        edges = _evenly(low, high, cells)
        for _ in range(2):
            edges = self._refined(edges)
        self._edges = edges
        self._upper = self._upper_log_density(edges)
        mass = np.exp(self._upper - self._upper.max()) * np.diff(edges)
        self._cumulative = np.cumsum(mass)

    @property
    def log_mass(self) -> float:
        """Logarithm of an upper bound of the density's integral, tight to the cells."""
        return float(self._upper.max() + np.log(self._cumulative[-1]))

    @property
    def mean(self) -> float:
        """Mean of the law, as far as the cells tell it."""
        mass = np.diff(self._cumulative, prepend=0.0) / self._cumulative[-1]
        return float(mass @ ((self._edges[1:] + self._edges[:-1]) / 2))

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Exact draws, ``size`` of them.

        A density found above its bound is not log-concave, which is an error.
        """
        kept = np.empty(0)
        while len(kept) < size:
            kept = np.concatenate([kept, self._propose(size - len(kept) + 16, rng)])
        return kept[:size]

    def _propose(self, size: int, rng: np.random.Generator) -> FloatArray:
        place = rng.random(size) * self._cumulative[-1]
        last = len(self._cumulative) - 1
        cell = np.minimum(np.searchsorted(self._cumulative, place, side="right"), last)
        low, high = self._edges[cell], self._edges[cell + 1]
        t = low + rng.random(size) * (high - low)
        log_ratio = self._log_density(t) - self._upper[cell]
        if (log_ratio > 0).any():
            raise EnvelopeError(
                f"a log density lies {log_ratio.max():.2e} above its bound: it is not concave, and "
                "the draws would not be exact; please report the settings"
            )
        return np.asarray(t[np.log1p(-rng.random(size)) <= log_ratio])

    def _upper_log_density(self, edges: FloatArray) -> FloatArray:
        """Bound on each cell, by the chords of its neighbours."""
        # Slices and not np.diff: a search for a plane makes thousands of these little tables.
        heights, width = self._log_density(edges), edges[1:] - edges[:-1]
        with np.errstate(invalid="ignore"):
            slope = (heights[1:] - heights[:-1]) / width
        from_left, from_right = np.empty(len(width)), np.empty(len(width))
        from_left[0] = from_right[-1] = np.inf
        from_left[1:] = heights[1:-1] + np.maximum(slope[:-1] * width[1:], 0.0)
        from_right[:-1] = heights[1:-1] + np.maximum(-slope[1:] * width[:-1], 0.0)
        upper = np.fmin(from_left, from_right)
        return upper + _SLACK + _ROUNDING * np.abs(upper)

    def _refined(self, edges: FloatArray) -> FloatArray:
        upper = self._upper_log_density(edges)
        heavy = np.flatnonzero(upper > upper.max() - _TAIL)
        low, high = edges[heavy[0]], edges[heavy[-1] + 1]
        pieces = [_evenly(low, high, self._cells)]
        if low > edges[0]:
            pieces.insert(0, _evenly(edges[0], low, _TAIL_CELLS)[:-1])
        if high < edges[-1]:
            pieces.append(_evenly(high, edges[-1], _TAIL_CELLS)[1:])
        return np.concatenate(pieces)


def _evenly(low: float, high: float, cells: int) -> FloatArray:
    """Edges (cells + 1,) of cells of one width, quicker than ``np.linspace`` for so few."""
    edges = np.arange(cells + 1.0) * ((high - low) / cells) + low
    edges[-1] = high
    return edges
