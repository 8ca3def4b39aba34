"""How many rows are longer than the row norm, as a query."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.release.noise import Noise
from rashomon_explorer.release.query import Query, Sensitivity, check_linear, measured
from rashomon_explorer.release.statistic import Statistic
from rashomon_explorer.release.table import Public, Rows


@dataclass(frozen=True)
class ClippedShare(Query):
    """Share of rows that are shortened to the row norm; one record moves it by 1/n, attained.

    Examples
    --------
    >>> ClippedShare().name
    'clipped_share'
    """

    name: str = "clipped_share"
    definition: str = "share of rows longer than the row norm, which are shortened to it"

    def check(self, public: Public) -> None:
        """Refuse models that shorten no rows."""
        super().check(public)
        check_linear(self, public)

    def sensitivity(self, public: Public) -> Sensitivity:
        """1/n."""
        return Sensitivity.of(1 / public.n_rows)

    def compute(self, rows: Rows) -> FloatArray:
        """Share (1,)."""
        # hypot after hypot: the square of a huge entry would overflow.
        norms = np.hypot.reduce(rows.X, axis=1)
        return np.array([(norms > rows.public.linear.row_norm).mean()])

    def statistics(self, noisy: FloatArray, noise: Noise, public: Public) -> tuple[Statistic, ...]:
        """One share."""
        return measured([self.name], noisy, noise, (0.0, 1.0), public.n_rows)
