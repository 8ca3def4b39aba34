"""A column of numbers: where they can be, and where most of them are."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
import pandas as pd

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.cells import read_numbers
from rashomon_explorer.schema.checks import Bounds, check_bounds
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.reading import Reading
from rashomon_explorer.validation import is_finite

_FARTHEST = 1e100  # beyond it a value could not be squared
_PARTS = 4  # the typical range is cut into so many, where no thresholds are declared


@dataclass(frozen=True)
class Numeric(Column):
    """Numbers, clipped to public bounds and scaled by the range where most of them are.

    A value x becomes √3·(x − middle)/half-width of the typical range: values that are spread
    evenly over that range have mean 0 and mean square 1.

    Parameters
    ----------
    name : str
    bounds : (float, float)
        What a value can be, from knowledge of the domain. One outside is moved to the nearer end.
    typical : (float, float), optional
        Public range of most values, say of nine in ten; by default the bounds. It costs nothing and
        decides how much of the noise's scale the column gets.
    unit : str, default=""
        For people.
    fill : float, optional
        What a missing value is read as; by default the middle of the typical range.
    thresholds : sequence of float, default=()
        What sparse trees ask: whether the number is above each of these. By default three steps of
        the typical range, evenly spaced. Public, and never taken from the rows.
    role, missing, missing_values, description, learnt
        As for every :class:`Column`.

    Examples
    --------
    >>> import pandas as pd
    >>> income = Numeric("income", (0, 1e6), typical=(0, 100_000), unit="€ a year")
    >>> reading = income.read(pd.Series([50_000, 2e6, None]))
    >>> reading.values.tolist(), income.in_unit_size(reading).round(2).ravel().tolist()
    ([50000.0, 1000000.0, 50000.0], [0.0, 32.91, 0.0])
    >>> income.cuts, Numeric("age", (18, 90), thresholds=[65, 30]).cuts
    ((25000.0, 50000.0, 75000.0), (30.0, 65.0))
    """

    kind: ClassVar[str] = "numeric"

    bounds: Bounds
    _: KW_ONLY
    typical: Bounds | None = None
    unit: str = ""
    fill: float | None = None
    thresholds: Sequence[float] = ()

    def _check(self) -> None:
        object.__setattr__(self, "bounds", check_bounds(self.bounds, f"bounds of {self._called}"))
        if self.typical is not None:
            what = f"typical range of {self._called}"
            low, high = check_bounds(self.typical, what)
            if low < self.bounds[0] or high > self.bounds[1]:
                raise DataError(
                    f"{what} must lie within its bounds ({self.bounds[0]:g}, {self.bounds[1]:g}), "
                    f"got ({low:g}, {high:g})"
                )
            object.__setattr__(self, "typical", (low, high))
        self._check_reach()
        if self.fill is not None and not (
            isinstance(self.fill, Real) and self.bounds[0] <= self.fill <= self.bounds[1]
        ):
            raise DataError(
                f"fill of {self._called} must be a number within its bounds "
                f"({self.bounds[0]:g}, {self.bounds[1]:g}), got {self.fill!r}"
            )
        self._check_thresholds()

    def _check_thresholds(self) -> None:
        given = self._listed("thresholds")
        plain = all(
            isinstance(one, Real) and not isinstance(one, bool) and is_finite(one) for one in given
        )
        if not plain or len(set(given)) < len(given):
            raise DataError(
                f"thresholds of {self._called} must be finite numbers, each once, got {given!r}"
            )
        low, high = self.bounds
        outside = [one for one in given if not low <= one < high]
        if outside:
            raise DataError(
                f"thresholds of {self._called} must lie within its bounds ({low:g}, {high:g}), "
                f"below the upper one, or every row answers alike: got {outside[0]:g}"
            )
        object.__setattr__(self, "thresholds", tuple(sorted(map(float, given))))

    @property
    def cuts(self) -> tuple[float, ...]:
        """The thresholds, or the even steps where none are declared."""
        return tuple(self.thresholds) or self.even_cuts

    @property
    def even_cuts(self) -> tuple[float, ...]:
        """Three steps of the typical range, evenly spaced."""
        low, high = self.usual
        return tuple(low + (high - low) * k / _PARTS for k in range(1, _PARTS))

    def _check_reach(self) -> None:
        low, high = self.usual
        half = high / 2 - low / 2
        farthest = max(abs(end) for end in self.bounds)
        if not farthest < _FARTHEST * half:
            raise DataError(
                f"bounds of {self._called} reach more than {_FARTHEST:g} times as far as its "
                f"typical range is wide: declare a wider one than ({low:g}, {high:g})"
            )

    @property
    def encoded_bounds(self) -> tuple[Bounds, ...]:
        """The bounds, and those of the column that marks missing values."""
        return (self.bounds, (0.0, 1.0))[: len(self.encoded_names)]

    @property
    def usual(self) -> Bounds:
        """The typical range, or the bounds where none is declared."""
        return self.bounds if self.typical is None else self.typical

    def read(self, cells: pd.Series) -> Reading:
        """Read numbers, move them into the bounds and fill in those that are not there."""
        numbers, strange = read_numbers(cells, self.tokens)
        missing = np.isnan(numbers)
        middle = sum(self.usual) / 2 if self.fill is None else float(self.fill)
        held = np.clip(np.where(missing, middle, numbers), *self.bounds)
        undeclared = missing if self.missing == "unexpected" else strange
        return Reading(held, missing, ~missing & (held != numbers), undeclared)

    def in_units(self, reading: Reading) -> FloatArray:
        """Numbers as they are, and a 1 where one is missing if that is marked."""
        return self._with_mark(reading.values, reading)

    def in_unit_size(self, reading: Reading) -> FloatArray:
        """Numbers by the typical range, and the same mark."""
        low, high = self.usual
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        return self._with_mark(math.sqrt(3) * ((reading.values - middle) / half), reading)

    def _values_in_words(self) -> str:
        said = f"{_span(self.bounds)} {self.unit}".rstrip()
        said += "" if self.typical is None else f", typically {_span(self.typical)}"
        asked = ", ".join(f"{one:,.6g}" for one in self.thresholds)
        return f"{said}, asked above {asked}" if asked else said

    def _with_mark(self, values: FloatArray, reading: Reading) -> FloatArray:
        marks = [reading.missing.astype(float)] if self.missing == "indicator" else []
        return np.column_stack([values, *marks])


def _span(pair: Bounds) -> str:
    return f"{pair[0]:,.6g} to {pair[1]:,.6g}"
