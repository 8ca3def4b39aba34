"""A column of levels without an order: one column a level."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.schema.checks import Bounds
from rashomon_explorer.schema.column import NO_VALUE
from rashomon_explorer.schema.levels import Levelled
from rashomon_explorer.schema.reading import Reading, indicators

OTHER = "(other)"
"""How the column of unknown levels is called, behind the name and "="."""


@dataclass(frozen=True)
class Categorical(Levelled):
    """Levels without an order, one column ``"name=level"`` each.

    Of K levels the row's own becomes √(1 − 1/K) and each other −1/√(K(K − 1)): whichever level
    a row has, its squares add up to 1, all levels are equally far apart, and their middle is 0.

    Parameters
    ----------
    name : str
    levels : sequence of str, number or bool
        Every value that is declared, two or more.
    unknown : {"zero", "other", "refuse"}, default="zero"
        What becomes of another value: 0 in every column, which is the middle of all levels; a
        column of its own, ``"name=(other)"``; or an error, which tells something of the rows.
    fill : level, optional
        What a missing value is read as; by default 0 in every column.
    role, missing, missing_values, description, learnt
        As for every :class:`Column`; ``missing="indicator"`` makes ``"name=(missing)"`` one more
        level.

    Examples
    --------
    >>> import pandas as pd
    >>> home = Categorical("home", ["own", "rent"], unknown="other")
    >>> home.in_units(home.read(pd.Series(["rent", "tent", None]))).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    >>> home.encoded_names
    ('home=own', 'home=rent', 'home=(other)')
    """

    kind: ClassVar[str] = "categorical"
    unknown_rules: ClassVar[tuple[str, ...]] = ("zero", "other", "refuse")

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """A name a level, those of unknown and missing values last."""
        other = [OTHER] if self.unknown == "other" else []
        missing = [NO_VALUE] if self.missing == "indicator" else []
        return tuple(f"{self.name}={level}" for level in [*self.levels, *other, *missing])

    @property
    def encoded_bounds(self) -> tuple[Bounds, ...]:
        """0 to 1 each."""
        return ((0.0, 1.0),) * len(self.encoded_names)

    def in_units(self, reading: Reading) -> FloatArray:
        """0 and 1, at most one 1 a row."""
        places = reading.values.copy()
        if self.unknown == "other":
            places[self.unknown_in(reading)] = len(self.levels)
        if self.missing == "indicator":
            places[reading.missing] = len(self.encoded_names) - 1
        return indicators(places, len(self.encoded_names))

    def in_unit_size(self, reading: Reading) -> FloatArray:
        """Corners of a simplex around 0, at distance 1 from it."""
        table = self.in_units(reading)
        many = table.shape[1]
        known = table.sum(axis=1, keepdims=True) > 0
        return np.where(known, (table - 1 / many) / math.sqrt(1 - 1 / many), 0.0)
