"""A column of which nothing is declared: one that no model looks at."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.column import Column


@dataclass(frozen=True)
class Anything(Column):
    """Text or numbers of which nothing is declared, and so no feature.

    Parameters
    ----------
    name : str
    role : {"ignore", "sensitive", "target"}, default="ignore"
        A target of this kind has the labels that are found in it.
    missing, missing_values, description, learnt
        As for every :class:`Column`.

    Examples
    --------
    >>> Anything("customer number").role
    'ignore'
    """

    kind: ClassVar[str] = "anything"

    _: KW_ONLY
    role: str = "ignore"

    def _check(self) -> None:
        if self.role == "feature":
            raise DataError(
                f"{self._called} is a feature of which nothing is declared: say what it holds, "
                "such as Numeric(name, (low, high)) or Categorical(name, levels), or role='ignore'"
            )
