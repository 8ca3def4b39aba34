"""A column of two values that are yes and no."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.checks import Level
from rashomon_explorer.schema.ordered import Ordered


@dataclass(frozen=True)
class YesNo(Ordered):
    """Two values, in one column: the first is −1 and the second 1.

    Parameters
    ----------
    name : str
    levels : (level, level), default=("no", "yes")
        What no and yes are called in the table, such as ``(0, 1)`` or ``(False, True)``.
    unknown, fill, role, missing, missing_values, description, learnt
        As for :class:`Ordered`.

    Examples
    --------
    >>> import pandas as pd
    >>> owns = YesNo("owns", (0, 1))
    >>> owns.in_unit_size(owns.read(pd.Series([1, 0, None]))).ravel().tolist()
    [1.0, -1.0, 0.0]
    """

    kind: ClassVar[str] = "yes/no"

    levels: Sequence[Level] = ("no", "yes")

    def _check(self) -> None:
        super()._check()
        if len(self.levels) != 2:
            raise DataError(
                f"levels of {self._called} must be two, no and yes, got {list(self.levels)}"
            )
