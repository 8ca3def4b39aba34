"""Penalties that were drawn: nothing in here was computed from rows otherwise."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.shown import Fact, Shown
from rashomon_explorer.tuning.stationary_plan import StationaryPlan
from rashomon_explorer.tuning.tuning_plan import TuningPlan


@dataclass(frozen=True, repr=False)
class PenaltySet(Shown):
    """Private draws from the Rashomon set of penalties.

    Parameters
    ----------
    penalties : ndarray of shape (n_draws, d)
        Drawn penalties: points of the public grid, or states of walks.
    names : tuple of str
        Of the d groups.
    plan : TuningPlan
    guarantee : Guarantee
        Of the draws and whatever was released with them.
    walks : ndarray of shape (n_draws, n_steps, d), optional
        Penalties at all states of the walks, which were paid for too.

    Examples
    --------
    >>> drawn = PenaltySet(np.array([[0.1], [1.0], [10.0]]), ("penalty",), None, None)
    >>> drawn.best.tolist(), drawn.range.ravel().tolist(), drawn.n_draws
    ([1.0], [0.1, 10.0], 3)
    """

    penalties: FloatArray
    names: tuple[str, ...]
    plan: TuningPlan | StationaryPlan
    guarantee: Guarantee
    walks: FloatArray | None = None

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.penalties)

    @property
    def best(self) -> FloatArray:
        """Draw (d,) nearest, in logarithms, to the median of the draws."""
        logs = np.log(self.penalties)
        gaps = ((logs - np.median(logs, axis=0)) ** 2).sum(axis=1)
        return np.asarray(self.penalties[int(gaps.argmin())])

    @property
    def range(self) -> FloatArray:
        """Least and largest draw of each penalty, of shape (2, d)."""
        return np.stack([self.penalties.min(axis=0), self.penalties.max(axis=0)])

    def _title(self) -> str:
        return f"PenaltySet: {self.n_draws:,} private draw{'' if self.n_draws == 1 else 's'}"

    def _facts(self) -> list[Fact]:
        low, high = self.range
        return [
            (name, f"{best:.3g}, drawn from {least:.3g} to {most:.3g}")
            for name, best, least, most in zip(self.names, self.best, low, high, strict=True)
        ]
