"""Sets of penalties, and the split of the rows."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import Fact, ReprMixin
from rashomon_explorer.mechanisms.penalties.plan import PenaltyPlan
from rashomon_explorer.privacy import Guarantee


@dataclass(frozen=True, repr=False)
class PenaltySet(ReprMixin):
    """Private draws from the Rashomon set of penalties."""

    penalties: FloatArray
    names: tuple[str, ...]
    plan: PenaltyPlan
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


def validation_rows(n: int, fraction: float) -> Mask:
    """Mask (n,) of the validation rows, which are spread evenly over the table."""
    if n < 2:
        raise ValueError(
            f"n_samples={n}: tuning needs at least 2 rows, to fit some and validate on others"
        )
    many = min(max(round(fraction * n), 1), n - 1)
    ends = np.arange(n + 1) * many // n
    return np.asarray(np.diff(ends) == 1)
