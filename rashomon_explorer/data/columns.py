"""Columns of a schema: numeric, categorical, ordered, yes/no, and ignored ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import is_finite
from rashomon_explorer.data import cells, messages
from rashomon_explorer.data.messages import Bounds, Level
from rashomon_explorer.exceptions import DataError

ROLES = ("feature", "sensitive", "target", "ignore")
"""Uses of a column; models see only features."""

MISSING_RULES = ("unexpected", "fill", "indicator", "refuse")
"""Rules for a missing value."""

NO_VALUE = "(missing)"
"""Suffix of the missing-value indicator's name, after the column's name and "="."""

_MOST_SHOWN = 6


@dataclass(frozen=True)
class Column:
    """Declaration shared by all column types; all of its fields are public."""

    kind: ClassVar[str] = ""

    name: str
    _: KW_ONLY
    role: str = "feature"
    missing: str = "unexpected"
    missing_values: Sequence[Level] = ()
    description: str = ""
    learnt: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise DataError(f"a column must have a name, got {self.name!r}")
        messages.check_among(self.role, ROLES, f"role of {self._called}")
        messages.check_among(self.missing, MISSING_RULES, f"missing of {self._called}")
        for name in ("missing_values", "learnt"):
            object.__setattr__(self, name, self._listed(name))
        settings = ["kind", *(field.name for field in fields(self))]
        for setting in self.learnt:
            messages.check_among(setting, settings, f"learnt of {self._called}")
        self._check()

    def _check(self) -> None:
        """Raise if the settings specific to the kind are invalid."""

    @property
    def _called(self) -> str:
        return f"column {self.name!r}"

    def _listed(self, field: str) -> tuple[Any, ...]:
        values = getattr(self, field)
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DataError(f"{field} of {self._called} must be a list, got {values!r}")
        return tuple(values)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Unconfirmed data-dependent values; empty for a column that no fit reads."""
        decided = "role" in self.learnt  # the role itself is data-dependent
        return tuple(self.learnt) if decided or self.role in ("feature", "target") else ()

    @property
    def voids_guarantee(self) -> bool:
        """Whether unconfirmed values void the guarantee; target labels are assumed to be public."""
        assumed = {"levels"} if self.role == "target" else set()
        return bool(set(self.unconfirmed) - assumed)

    @property
    def tokens(self) -> frozenset[str]:
        """Texts that denote a missing value."""
        return cells.MISSING | {cells.cell_text(value) for value in self.missing_values}

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        marked = (f"{self.name}={NO_VALUE}",) if self.missing == "indicator" else ()
        return (self.name, *marked)

    @property
    def value_bounds(self) -> Bounds:
        """Range of a value, in the column's own units."""
        raise NotImplementedError

    @property
    def encoded_bounds(self) -> tuple[Bounds, ...]:
        """Range of each encoded column, in the column's own units."""
        return (self.value_bounds, (0.0, 1.0))[: len(self.encoded_names)]

    @property
    def refuses(self) -> bool:
        """Whether a row's cell may raise an error, which reveals something about the row."""
        return self.missing == "refuse"

    def read(self, column: pd.Series) -> cells.Reading:
        """Parse the cells (n_rows,) one by one; raises no error."""
        raise NotImplementedError

    def refused(self, reading: cells.Reading) -> bool:
        """Whether the declaration refuses any of the cells."""
        return self.missing == "refuse" and bool(reading.missing.any())

    def in_units(self, reading: cells.Reading) -> FloatArray:
        """Columns (n_rows, k) in the column's own units; 0 and 1 for levels."""
        raise NotImplementedError

    def in_unit_size(self, reading: cells.Reading) -> FloatArray:
        """Columns (n_rows, k) whose squares sum to about 1 in a typical row."""
        raise NotImplementedError

    def with_indicator(self, values: FloatArray, reading: cells.Reading) -> FloatArray:
        """Columns (n_rows, k) of the values, and of the missing-value indicator if declared."""
        indicator = [reading.missing.astype(float)] if self.missing == "indicator" else []
        return np.column_stack([values, *indicator])

    @classmethod
    def propose(cls, sample: cells.ColumnSample) -> Column | None:
        """Return a declaration that fits the cells; None if this kind does not fit them."""
        return None

    @property
    def summary(self) -> str:
        """Summary of the declaration in one line."""
        parts = [" ".join(filter(None, [self.kind, self._values_text()]))]
        parts += [f"missing: {self.missing}"] * (self.missing != "unexpected")
        parts += [self.role] * (self.role != "feature")
        parts += [f"LEARNT, to be confirmed: {', '.join(self.learnt)}"] * bool(self.learnt)
        return ", ".join(parts)

    def _values_text(self) -> str:
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Kind and all settings that differ from the defaults, as plain values."""
        values: dict[str, Any] = {"kind": self.kind}
        shared = [field.name for field in fields(Column)]  # written last
        for field in sorted(fields(self), key=lambda setting: setting.name in shared):
            value = getattr(self, field.name)
            if field.name != "name" and value != field.default:
                values[field.name] = list(value) if isinstance(value, tuple) else value
        return values

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> Self:
        """Create a column from plain values."""
        settings = [field.name for field in fields(cls) if field.name != "name"]
        for field in values:
            if field not in settings:
                raise DataError(
                    f"column {name!r} of kind {cls.kind!r} has no setting {field!r}"
                    f"{messages.suggestion(field, settings)}; "
                    f"the settings are {messages.quoted(settings, limit=20)}"
                )
        try:
            return cls(name, **values)
        except TypeError:
            needed = [
                setting
                for setting in settings
                if setting in cls.__match_args__ and setting not in values
            ]
            raise DataError(
                f"column {name!r} of kind {cls.kind!r} must declare its {messages.quoted(needed)}"
            ) from None


@dataclass(frozen=True)
class IgnoredColumn(Column):
    """Column without declared values; it cannot be a feature.

    Parameters
    ----------
    name : str
    role : {"ignore", "sensitive", "target"}, default="ignore"
        The labels of a target of this kind are computed from the rows.
    missing, missing_values, description, learnt
        As for every :class:`Column`.

    Examples
    --------
    >>> IgnoredColumn("customer number").role
    'ignore'
    """

    kind: ClassVar[str] = "anything"

    _: KW_ONLY
    role: str = "ignore"

    def _check(self) -> None:
        if self.role == "feature":
            raise DataError(
                f"{self._called} is a feature without a declaration: declare what it holds, such "
                f"as Numeric(name, (low, high)) or Categorical(name, levels), or role='ignore'"
            )


@dataclass(frozen=True)
class Levelled(Column):
    """Base class of columns with levels; values and levels are compared as text."""

    unknown_rules: ClassVar[tuple[str, ...]] = ("zero", "refuse")
    n_proposed: ClassVar[range] = range(0)  # numbers of levels for which the kind is proposed

    levels: Sequence[Level]
    _: KW_ONLY
    unknown: str = "zero"

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
        messages.check_among(self.unknown, self.unknown_rules, f"unknown of {self._called}")

    @property
    def texts(self) -> list[str]:
        """Levels as text, as used in comparisons."""
        return [cells.cell_text(level) for level in self.levels]

    @property
    def tokens(self) -> frozenset[str]:
        """Texts that denote a missing value, except those that are levels."""
        return super().tokens - set(self.texts)

    @property
    def refuses(self) -> bool:
        """Whether a row's cell may raise an error."""
        return "refuse" in (self.missing, self.unknown)

    def _values_text(self) -> str:
        return messages.quoted(self.levels, limit=_MOST_SHOWN)

    @classmethod
    def propose(cls, sample: cells.ColumnSample) -> Column | None:
        """Distinct values as levels, unless the column holds dates or row numbers."""
        if sample.has_dates or sample.numbers_rows or len(sample.levels) not in cls.n_proposed:
            return None
        learnt = ("kind", "levels", "missing")
        return cls(sample.name, sample.levels, learnt=learnt, **sample.settings)

    def read(self, column: pd.Series) -> cells.Reading:
        """Parse level codes; NaN for unknown and missing values."""
        text = cells.as_text(column)
        codes, words = pd.factorize(text)
        code_of_level = {level: float(code) for code, level in enumerate(self.texts)}
        absent = np.array([word in self.tokens for word in words], dtype=bool)[codes]
        values = np.array([code_of_level.get(word, np.nan) for word in words], dtype=float)[codes]
        unknown = np.isnan(values) & ~absent
        undeclared = unknown | absent if self.missing == "unexpected" else unknown
        return cells.Reading(values, absent, np.zeros(len(values), dtype=bool), undeclared)

    def refused(self, reading: cells.Reading) -> bool:
        """Whether the declaration refuses any of the cells."""
        return super().refused(reading) or (
            self.unknown == "refuse" and bool(self.unknown_in(reading).any())
        )

    def unknown_in(self, reading: cells.Reading) -> Mask:
        """Mask of the values that are not among the levels."""
        return reading.undeclared & ~reading.missing


OTHER = "(other)"
"""Suffix of the unknown-level column's name, after the column's name and "="."""


@dataclass(frozen=True)
class Categorical(Levelled):
    """Unordered levels, encoded as one column ``"name=level"`` each.

    With K levels, the column of the row's level is √(1 − 1/K) and each other −1/√(K(K − 1)). For
    every level the squares sum to 1, all levels are equally far apart, and their mean is 0.

    Parameters
    ----------
    name : str
    levels : sequence of str, number or bool
        All declared values, two or more.
    unknown : {"zero", "other", "refuse"}, default="zero"
        Encoding of any other value: 0 in every column, which is the mean of all levels; a column
        ``"name=(other)"``; or an error, which reveals something about the rows.
    role, missing, missing_values, description, learnt
        As for every :class:`Column`; ``missing="indicator"`` adds ``"name=(missing)"`` as a
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
    n_proposed: ClassVar[range] = range(3, 51)

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """One name per level, followed by those of unknown and missing values."""
        unknown = [OTHER] if self.unknown == "other" else []
        missing = [NO_VALUE] if self.missing == "indicator" else []
        return tuple(f"{self.name}={level}" for level in [*self.levels, *unknown, *missing])

    @property
    def encoded_bounds(self) -> tuple[Bounds, ...]:
        """Range 0 to 1 for each column."""
        return ((0.0, 1.0),) * len(self.encoded_names)

    def in_units(self, reading: cells.Reading) -> FloatArray:
        """0/1 columns with at most one 1 per row."""
        codes = reading.values.copy()
        if self.unknown == "other":
            codes[self.unknown_in(reading)] = len(self.levels)
        if self.missing == "indicator":
            codes[reading.missing] = len(self.encoded_names) - 1
        return cells.indicators(codes, len(self.encoded_names))

    def in_unit_size(self, reading: cells.Reading) -> FloatArray:
        """Vertices of a simplex centred at 0, at distance 1 from it."""
        table = self.in_units(reading)
        many = table.shape[1]
        has_level = table.sum(axis=1, keepdims=True) > 0
        return np.where(has_level, (table - 1 / many) / math.sqrt(1 - 1 / many), 0.0)


_FARTHEST = 1e100  # largest ratio that is allowed, so that squares do not overflow
_PARTS = 4  # equal parts of the typical range, for default thresholds
_TAILS = (0.05, 0.01, 0.001)  # on each side; later ones if nearly all values are equal


@dataclass(frozen=True)
class Numeric(Column):
    """Numbers, clipped to public bounds and scaled by their typical range.

    A value x is encoded as √3·(x − middle)/half-width of the typical range: values that are uniform
    on that range have mean 0 and mean square 1.

    Parameters
    ----------
    name : str
    bounds : (float, float)
        Possible values, from knowledge of the domain; values outside are clipped.
    typical : (float, float), optional
        Public range of most values, for example nine in ten; by default the bounds. It has no
        privacy cost and determines the column's share of the noise scale.
    unit : str, default=""
        Unit of the values, for display.
    thresholds : sequence of float, default=()
        Cut points for sparse trees: a question is whether the value exceeds one of them. By default
        three evenly spaced points of the typical range. Public, never computed from the rows.
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
    thresholds: Sequence[float] = ()

    def _check(self) -> None:
        object.__setattr__(
            self, "bounds", messages.check_bounds(self.bounds, f"bounds of {self._called}")
        )
        if self.typical is not None:
            what = f"typical range of {self._called}"
            low, high = messages.check_bounds(self.typical, what)
            if low < self.bounds[0] or high > self.bounds[1]:
                raise DataError(
                    f"{what} must lie within its bounds ({self.bounds[0]:g}, {self.bounds[1]:g}), "
                    f"got ({low:g}, {high:g})"
                )
            object.__setattr__(self, "typical", (low, high))
        low, high = self.usual
        farthest = max(abs(end) for end in self.bounds)
        if not farthest < _FARTHEST * (high / 2 - low / 2):
            raise DataError(
                f"bounds of {self._called} exceed {_FARTHEST:g} times the half-width of its "
                f"typical range: declare a wider one than ({low:g}, {high:g})"
            )
        self._check_thresholds()

    def _check_thresholds(self) -> None:
        thresholds = self._listed("thresholds")
        all_finite = all(
            isinstance(threshold, Real) and not isinstance(threshold, bool) and is_finite(threshold)
            for threshold in thresholds
        )
        if not all_finite or len(set(thresholds)) < len(thresholds):
            raise DataError(
                f"thresholds of {self._called} must be finite numbers, each once, got "
                f"{thresholds!r}"
            )
        low, high = self.bounds
        out_of_bounds = [threshold for threshold in thresholds if not low <= threshold < high]
        if out_of_bounds:
            raise DataError(
                f"thresholds of {self._called} must lie within its bounds ({low:g}, {high:g}), "
                f"below the upper one, otherwise every row gives the same answer: got "
                f"{out_of_bounds[0]:g}"
            )
        object.__setattr__(self, "thresholds", tuple(sorted(map(float, thresholds))))

    @property
    def cuts(self) -> tuple[float, ...]:
        """Declared thresholds, or evenly spaced ones if none are declared."""
        return tuple(self.thresholds) or self.even_cuts

    @property
    def even_cuts(self) -> tuple[float, ...]:
        """Three evenly spaced points inside the typical range."""
        low, high = self.usual
        return tuple(low + (high - low) * k / _PARTS for k in range(1, _PARTS))

    @property
    def value_bounds(self) -> Bounds:
        """The bounds."""
        return self.bounds

    @classmethod
    def propose(cls, sample: cells.ColumnSample) -> Column | None:
        """Minimum and maximum as bounds, and the middle nine tenths as typical range."""
        if sample.coded or not sample.has_numbers or sample.numbers_rows:
            return None
        numbers = sample.numbers[np.isfinite(sample.numbers)]
        if numbers.min() == numbers.max():  # a word such as "1" among others
            return None
        bounds = float(numbers.min()), float(numbers.max())
        learnt = ("kind", "bounds", "typical", "missing")
        typical = None  # also if nearly all values are equal
        for tail in _TAILS:
            low, high = (float(end) for end in np.quantile(numbers, [tail, 1 - tail]))
            if low < high:
                typical = None if (low, high) == bounds else (low, high)
                break
        return cls(sample.name, bounds, typical=typical, learnt=learnt, **sample.settings)

    @property
    def usual(self) -> Bounds:
        """The typical range, or the bounds if none is declared."""
        return self.bounds if self.typical is None else self.typical

    def read(self, values: pd.Series) -> cells.Reading:
        """Parse numbers, clip them to the bounds and fill in missing values."""
        numbers, strange = cells.read_numbers(values, self.tokens)
        missing = np.isnan(numbers)
        middle = sum(self.usual) / 2
        clipped = np.clip(np.where(missing, middle, numbers), *self.bounds)
        undeclared = missing if self.missing == "unexpected" else strange
        return cells.Reading(clipped, missing, ~missing & (clipped != numbers), undeclared)

    def in_units(self, reading: cells.Reading) -> FloatArray:
        """Unscaled numbers, and the missing-value indicator if declared."""
        return self.with_indicator(reading.values, reading)

    def in_unit_size(self, reading: cells.Reading) -> FloatArray:
        """Numbers scaled by the typical range, and the missing-value indicator if declared."""
        low, high = self.usual
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        return self.with_indicator(math.sqrt(3) * ((reading.values - middle) / half), reading)

    def _values_text(self) -> str:
        text = f"{_span(self.bounds)} {self.unit}".rstrip()
        text += "" if self.typical is None else f", typically {_span(self.typical)}"
        thresholds = ", ".join(f"{threshold:,.6g}" for threshold in self.thresholds)
        return f"{text}, thresholds {thresholds}" if thresholds else text


def _span(pair: Bounds) -> str:
    return f"{pair[0]:,.6g} to {pair[1]:,.6g}"


@dataclass(frozen=True)
class Ordered(Levelled):
    """Levels from least to greatest, encoded as one column of evenly spaced scores.

    Level k of 0, …, K − 1 is encoded as √(3(K − 1)/(K + 1))·(2k/(K − 1) − 1): over the levels, the
    scores have mean 0 and mean square 1.

    Parameters
    ----------
    name : str
    levels : sequence of str, number or bool
        All declared values, the least first.
    unknown : {"zero", "refuse"}, default="zero"
        Encoding of another value: the middle, or an error, which reveals something about the rows.
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
    def value_bounds(self) -> Bounds:
        """Range of the level indices."""
        return 0.0, len(self.levels) - 1.0

    def in_units(self, reading: cells.Reading) -> FloatArray:
        """Return the levels as indices from 0, and the missing-value indicator if declared."""
        middle = (len(self.levels) - 1) / 2
        return self.with_indicator(
            np.where(np.isnan(reading.values), middle, reading.values), reading
        )

    def in_unit_size(self, reading: cells.Reading) -> FloatArray:
        """Scores, and the missing-value indicator if declared."""
        last = len(self.levels) - 1
        scores = math.sqrt(3 * last / (last + 2)) * (2 * reading.values / last - 1)
        return self.with_indicator(np.where(np.isnan(scores), 0.0, scores), reading)


@dataclass(frozen=True)
class YesNo(Ordered):
    """Two values in one column: the first is encoded as −1, the second as 1.

    Parameters
    ----------
    name : str
    levels : (level, level), default=("no", "yes")
        Values that mean no and yes in the table, such as ``(0, 1)`` or ``(False, True)``.
    unknown, role, missing, missing_values, description, learnt
        As for :class:`Ordered`.

    Examples
    --------
    >>> import pandas as pd
    >>> owns = YesNo("owns", (0, 1))
    >>> owns.in_unit_size(owns.read(pd.Series([1, 0, None]))).ravel().tolist()
    [1.0, -1.0, 0.0]
    """

    kind: ClassVar[str] = "yes/no"
    n_proposed: ClassVar[range] = range(2, 3)

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
"""Column types by kind, in the order in which a proposal tries them."""


def column_from_values(name: str, values: Any) -> Column:
    """Create a column from its settings in a file."""
    if not isinstance(values, Mapping):
        raise DataError(f"column {name!r} must be a table of settings, got {values!r}")
    if "kind" not in values:
        raise DataError(
            f"column {name!r} must declare its kind, one of {', '.join(map(repr, KINDS))}"
        )
    messages.check_among(values["kind"], list(KINDS), f"kind of column {name!r}")
    settings = {field: value for field, value in values.items() if field != "kind"}
    return KINDS[values["kind"]].from_dict(name, settings)
