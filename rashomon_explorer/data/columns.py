"""Kinds of columns: numeric, categorical, ordered, yes/no."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import is_finite
from rashomon_explorer.data.cells import Reading, as_text, cell_text, indicators, read_numbers
from rashomon_explorer.data.column import NO_VALUE, Column, IgnoredColumn
from rashomon_explorer.data.messages import Bounds, Level, check_among, check_bounds, quoted
from rashomon_explorer.exceptions import DataError

_MOST_SHOWN = 6


@dataclass(frozen=True)
class Levelled(Column):
    """Base class of columns with levels; a value is compared with a level as text."""

    unknown_rules: ClassVar[tuple[str, ...]] = ("zero", "refuse")

    levels: Sequence[Level]
    _: KW_ONLY
    unknown: str = "zero"
    fill: Level | None = None

    def _check(self) -> None:
        object.__setattr__(self, "levels", self._listed("levels"))
        texts = self.texts
        if len(texts) < 2:
            raise DataError(
                f"levels of {self._called} must be a list of at least 2, got {list(self.levels)}"
            )
        for level, text in zip(self.levels, texts, strict=True):
            if not isinstance(level, str | int | float):
                raise DataError(
                    f"levels of {self._called} must be text, numbers or true and false, got "
                    f"{level!r}"
                )
            if texts.count(text) > 1:
                raise DataError(f"levels of {self._called} name {text!r} twice: keep one")
        check_among(self.unknown, self.unknown_rules, f"unknown of {self._called}")
        if self.fill is not None and cell_text(self.fill) not in texts:
            raise DataError(
                f"fill of {self._called} must be one of its levels {quoted(self.levels)}, got "
                f"{self.fill!r}"
            )

    @property
    def texts(self) -> list[str]:
        """Levels as text, as used in comparisons."""
        return [cell_text(level) for level in self.levels]

    @property
    def tokens(self) -> frozenset[str]:
        """Texts that stand for a missing value; a word that is a level is none."""
        return super().tokens - set(self.texts)

    @property
    def refuses(self) -> bool:
        """Whether a row's cell may raise an error."""
        return "refuse" in (self.missing, self.unknown)

    def _values_in_words(self) -> str:
        return quoted(self.levels, limit=_MOST_SHOWN)

    def read(self, cells: pd.Series) -> Reading:
        """Read places among the levels; NaN where the value is none of them, or missing."""
        text = as_text(cells)
        codes, words = pd.factorize(text)
        place = {level: float(code) for code, level in enumerate(self.texts)}
        absent = np.array([word in self.tokens for word in words], dtype=bool)[codes]
        values = np.array([place.get(word, np.nan) for word in words], dtype=float)[codes]
        unknown = np.isnan(values) & ~absent
        if self.fill is not None:
            values[absent] = place[cell_text(self.fill)]
        undeclared = unknown | absent if self.missing == "unexpected" else unknown
        return Reading(values, absent, np.zeros(len(values), dtype=bool), undeclared)

    def refused(self, reading: Reading) -> bool:
        """Whether a cell is one that the declaration refuses."""
        return super().refused(reading) or (
            self.unknown == "refuse" and bool(self.unknown_in(reading).any())
        )

    def unknown_in(self, reading: Reading) -> Mask:
        """Where a value is that is not among the levels."""
        return reading.undeclared & ~reading.missing


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


_FARTHEST = 1e100  # beyond it a value could not be squared
_PARTS = 4  # the typical range is cut into so many, where no thresholds are declared


@dataclass(frozen=True)
class Numeric(Column):
    """Numbers, clipped to public bounds and scaled by their typical range.

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
                f"below the upper one, otherwise every row gives the same answer: got "
                f"{outside[0]:g}"
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
        """The bounds, and those of the missing-value indicator."""
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
        """Unscaled numbers, and a missing-value indicator if declared."""
        return self._with_mark(reading.values, reading)

    def in_unit_size(self, reading: Reading) -> FloatArray:
        """Numbers scaled by the typical range, and the same indicator."""
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
        """Indices from 0, and the bounds of the missing-value indicator."""
        return ((0.0, len(self.levels) - 1.0), (0.0, 1.0))[: len(self.encoded_names)]

    def in_units(self, reading: Reading) -> FloatArray:
        """Return the levels as indices from 0, and a missing-value indicator if declared."""
        middle = (len(self.levels) - 1) / 2
        return self._with_mark(np.where(np.isnan(reading.values), middle, reading.values), reading)

    def in_unit_size(self, reading: Reading) -> FloatArray:
        """Scores, and the same indicator."""
        last = len(self.levels) - 1
        scores = math.sqrt(3 * last / (last + 2)) * (2 * reading.values / last - 1)
        return self._with_mark(np.where(np.isnan(scores), 0.0, scores), reading)

    def _with_mark(self, values: FloatArray, reading: Reading) -> FloatArray:
        marks = [reading.missing.astype(float)] if self.missing == "indicator" else []
        return np.column_stack([values, *marks])


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


KINDS: Mapping[str, type[Column]] = {
    kind.kind: kind for kind in (Numeric, Categorical, Ordered, YesNo, IgnoredColumn)
}
"""What a column can be."""


def column_from_values(name: str, told: Any) -> Column:
    """Column from its settings in a file."""
    if not isinstance(told, Mapping):
        raise DataError(f"column {name!r} must be a table of settings, got {told!r}")
    if "kind" not in told:
        raise DataError(
            f"column {name!r} must declare its kind, one of {', '.join(map(repr, KINDS))}"
        )
    check_among(told["kind"], list(KINDS), f"kind of column {name!r}")
    settings = {field: value for field, value in told.items() if field != "kind"}
    return KINDS[told["kind"]].from_dict(name, settings)
