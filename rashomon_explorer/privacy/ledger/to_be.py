"""A ledger that will be created when something is charged to it."""

import os
from dataclasses import dataclass
from pathlib import Path

from rashomon_explorer.privacy.zcdp import filter_order


@dataclass(frozen=True)
class LedgerToBe(os.PathLike[str]):
    """Where a ledger will be, and the budget it will have: plans are made for it as if it were.

    Whatever opens it finds no file, which is an error.

    Parameters
    ----------
    path : Path
        Where it will be.
    epsilon, delta : float
        Its budget.

    Examples
    --------
    >>> round(LedgerToBe(Path("new.ledger"), 1.0, 1e-6).order, 1)
    22.0
    """

    path: Path
    epsilon: float
    delta: float

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def order(self) -> float | None:
        """Order at which it will add up Rényi divergences, None if at none."""
        return filter_order(self.epsilon, self.delta)
