"""A column of levels in an order: one column of evenly spaced scores."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.schema.checks import Bounds
from rashomon_explorer.schema.levels import Levelled
from rashomon_explorer.schema.reading import Reading


@dataclass(frozen=True)
class Ordered(Levelled):
    """Levels from least to most, in one column of evenly spaced scores.

    Level k of K becomes √(3(K − 1)/(K + 1))·(2k/(K − 1) − 1): the scores have mean 0 and mean
    square 1 over the levels.

    Parameters
    ----------
    name : str
    levels : sequence of str, number or bool
        Every value that is declared, the least first.
    unknown : {"zero", "refuse"}, default="zero"
        What becomes of another value: the middle, or an error, which tells something of the rows.
    fill : level, optional
        What a missing value is read as; by default the middle.
    role, missing, missing_values, description, learnt
        As for every :class:`Column`.

    Examples
    --------
    >>> import pandas as pd
    >>> grade = Ordered("grade", ["low", "mid", "high"])
    >>> grade.in_unit_size(grade.read(pd.Series(["high", "mid", "?"]))).round(3).ravel().tolist()
    [1.225, 0.0, 0.0]
    """

    kind: ClassVar[str] = "ordered"

    @property
    def encoded_bounds(self) -> tuple[Bounds, ...]:
        """Places from 0, and those of the column that marks missing values."""
        return ((0.0, len(self.levels) - 1.0), (0.0, 1.0))[: len(self.encoded_names)]

    def in_units(self, reading: Reading) -> FloatArray:
        """Places among the levels from 0, and a 1 where one is missing if that is marked."""
        middle = (len(self.levels) - 1) / 2
        return self._with_mark(np.where(np.isnan(reading.values), middle, reading.values), reading)

    def in_unit_size(self, reading: Reading) -> FloatArray:
        """Scores, and the same mark."""
        last = len(self.levels) - 1
        scores = math.sqrt(3 * last / (last + 2)) * (2 * reading.values / last - 1)
        return self._with_mark(np.where(np.isnan(scores), 0.0, scores), reading)

    def _with_mark(self, values: FloatArray, reading: Reading) -> FloatArray:
        marks = [reading.missing.astype(float)] if self.missing == "indicator" else []
        return np.column_stack([values, *marks])
