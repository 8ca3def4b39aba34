"""The schema as an editable table, and warnings about the table (not private) before a draw."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.taint import mark
from rashomon_explorer.data import IgnoredColumn, TableSchema, propose_schema
from rashomon_explorer.data.bunch import make_bunch
from rashomon_explorer.data.cells import as_text, looks_like_dates, read_numbers
from rashomon_explorer.data.columns import KINDS, Column, Levelled, Numeric, YesNo
from rashomon_explorer.data.messages import quoted
from rashomon_explorer.data.numerals import NumberMarks
from rashomon_explorer.data.schema import data_dependent
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.explorer.table_rows import ChunkedTable, SampledChunks

OWN_SOURCE = "your own table"
_CALLED_TARGET = ("target", "label", "class", "outcome", "y")


@dataclass(frozen=True)
class TableEditor:
    """A raw table and its current schema; every edit returns a new object."""

    name: str
    frame: pd.DataFrame
    schema: TableSchema
    description: str = "A table of your own."
    source: str = OWN_SOURCE
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    sampled: SampledChunks | None = None

    @classmethod
    def proposed(cls, name: str, frame: pd.DataFrame, target: str | None = None) -> "TableEditor":
        """Create with a proposed schema that marks data-dependent values."""
        if target is not None:
            return cls(name, frame, propose_schema(frame, target=target))
        names = [str(column) for column in frame.columns]
        called = [name for name in names if name.strip().lower() in _CALLED_TARGET]
        target = called[0] if len(called) == 1 else names[-1]
        schema = propose_schema(frame, target=target)
        if isinstance(schema[target], IgnoredColumn):
            usable = [column for column in schema.columns if not isinstance(column, IgnoredColumn)]
            schema = propose_schema(frame, target=usable[-1].name) if usable else schema
        return cls(name, frame, schema)

    @classmethod
    def from_dataset(cls, data: Bunch) -> "TableEditor":
        described = data.DESCR.splitlines()[0]
        table = data.get("chunked")
        sampled = None if table is None else table.sampled
        return cls(data.name, data.frame, data.schema, described, data.source, sampled=sampled)

    def with_chunks(self, sampled: SampledChunks) -> "TableEditor":
        """Return a copy in which `frame` is a sample of these chunked rows."""
        description = "Chunked rows: sums over all of them; individuals from a fixed random sample."
        return replace(self, sampled=sampled, description=description, source="chunked rows")

    def edited(self, column: str, what: str, value: str) -> "TableEditor":
        before = self.schema[column]
        after = FIELDS[what](self, before, value.strip())
        if what != "kind":
            after = replace(after, learnt=[setting for setting in before.learnt if setting != what])
        return self._with(after)

    def confirmed(self, *columns: str) -> "TableEditor":
        return replace(self, schema=self.schema.confirm(*(columns or self.schema)))

    def with_schema(self, declared: TableSchema) -> "TableEditor":
        if strange := [name for name in declared if name not in set(self.schema)]:
            raise DataError(
                f"the dictionary declares {quoted(strange)}, which the table does not have; it has "
                f"{quoted(self.schema)}"
            )
        fallback = _without_target_role if declared.target is not None else lambda column: column
        columns = [
            declared[column.name] if column.name in set(declared) else fallback(column)
            for column in self.schema.columns
        ]
        return replace(self, schema=TableSchema(columns))

    def cached(self, key: Any, read: Callable[[], Any]) -> Any:
        """Return a value that was computed from the rows, or compute and store it."""
        if key not in self.memo:
            self.memo[key] = read()
        return self.memo[key]

    def data(self, positive: Any = None) -> Bunch:
        bunch = make_bunch(
            self.frame,
            self.schema,
            positive=positive,
            name=self.name,
            description=self.description,
            source=self.source,
        )
        if bunch.bounds_learnt:
            for part in (bunch.X, bunch.y):
                mark(part, bunch.schema.leak)
        if self.sampled is not None:
            bunch.chunked = ChunkedTable(self.sampled, bunch)
        return bunch

    def _with(self, changed: Column) -> "TableEditor":
        """Replace the column of the same name; a new target replaces the old one."""
        columns_before = self.schema.columns
        if changed.role == "target":
            columns_before = tuple(_without_target_role(column) for column in columns_before)
        columns = [changed if column.name == changed.name else column for column in columns_before]
        return replace(self, schema=TableSchema(columns))

    def as_kind(self, column: Column, kind: str) -> Column:
        """Change a column's kind; settings that the new kind lacks become data-dependent."""
        if kind not in KINDS:
            raise DataError(f"kind must be one of {quoted(KINDS)}, got {kind!r}")
        if kind == "anything":
            role = "ignore" if column.role == "feature" else column.role
            return IgnoredColumn(column.name, role=role, description=column.description)
        try:
            return self.schema.declare(column.name, kind=kind)[column.name]
        except DataError:
            return self._learnt(column, kind)

    def _learnt(self, column: Column, kind: str) -> Column:
        coded = [] if kind == "numeric" else [column.name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            guess = propose_schema(self.frame[[column.name]], categorical=coded)[column.name]
        fits = {"numeric": ("numeric",)}.get(kind, ("categorical", "yes/no"))
        if guess.kind not in fits:
            raise DataError(
                f"column {column.name!r} cannot be {kind}: its values look like {guess.kind}"
            )
        role = "feature" if column.role == "ignore" else column.role
        marks = [mark for mark in guess.learnt if mark != "kind"]
        if guess.kind == kind:
            return replace(guess, role=role, learnt=marks)
        fields = {"kind": kind, "role": role, "learnt": marks, "levels": guess.to_dict()["levels"]}
        return TableSchema([guess]).declare(column.name, **fields)[column.name]


def _without_target_role(column: Column) -> Column:
    if column.role != "target":
        return column
    return replace(column, role="ignore" if isinstance(column, IgnoredColumn) else "feature")


def _role(table: TableEditor, column: Column, value: str) -> Column:
    if value == "feature" and isinstance(column, IgnoredColumn):
        raise DataError(f"column {column.name!r} can be a feature once its kind is declared")
    return replace(column, role=value)


def _setter(setting: str) -> "Callable[[TableEditor, Column, str], Column]":
    def declare(table: TableEditor, column: Column, value: str) -> Column:
        return table.schema.declare(column.name, **{setting: value})[column.name]

    return declare


def _levels(table: TableEditor, column: Column, value: str) -> Column:
    parts = [part.strip() for part in value.split("|") if part.strip()]
    all_integers = all(
        part.isascii() and part.lstrip("-").isdigit() and str(int(part)) == part for part in parts
    )
    levels = [int(part) for part in parts] if all_integers else parts
    if isinstance(column, YesNo) and len(levels) != len(column.levels):
        raise DataError(f"column {column.name!r} must have two levels, no and then yes")
    return table.schema.declare(column.name, levels=levels)[column.name]


def _end(setting: str, which: int) -> "Callable[[TableEditor, Column, str], Column]":
    def declare(table: TableEditor, column: Column, value: str) -> Column:
        if not isinstance(column, Numeric):
            raise DataError(f"column {column.name!r} is not numeric: it has no range")
        if setting == "typical" and not value:
            return replace(column, typical=None)
        pair = list(column.bounds if setting == "bounds" else column.usual)
        pair[which] = _number(value, column.name)
        ends = (pair[0], pair[1])
        if setting == "typical":
            return replace(column, typical=ends)
        typical = None if column.typical is None else _within(column.typical, ends)
        thresholds = [cut for cut in column.thresholds if ends[0] <= cut < ends[1]]
        return replace(column, bounds=ends, typical=typical, thresholds=thresholds)

    return declare


def _thresholds(table: TableEditor, column: Column, value: str) -> Column:
    if not isinstance(column, Numeric):
        raise DataError(f"column {column.name!r} is not numeric: it has no thresholds")
    parts = [part.strip() for part in value.replace(";", ",").split(",") if part.strip()]
    return replace(column, thresholds=[_number(part, column.name) for part in parts])


def _number(value: str, name: str) -> float:
    number = NumberMarks(".").text(value, ".")  # 1,500 has a comma between thousands
    if number is None:
        raise DataError(f"column {name!r}: {value!r} is not a number; 1.5 is written with a point")
    return float(number)


def _within(typical: tuple[float, float], bounds: tuple[float, float]) -> Any:
    low, high = max(typical[0], bounds[0]), min(typical[1], bounds[1])
    return (low, high) if low < high else None


FIELDS: Mapping[str, Callable[[TableEditor, Column, str], Column]] = {
    "kind": TableEditor.as_kind,
    "role": _role,
    "unit": _setter("unit"),
    "missing": _setter("missing"),
    "levels": _levels,
    "low": _end("bounds", 0),
    "high": _end("bounds", 1),
    "typical_low": _end("typical", 0),
    "typical_high": _end("typical", 1),
    "thresholds": _thresholds,
}
"""Editable fields of a column on the page."""


_BARS = "▁▂▃▄▅▆▇█"
_BINS = 12
_MOST_SHOWN = 8


def release_rows(table: TableEditor) -> list[dict[str, Any]]:
    """One form row per column for a release; a marked column shows only its name."""
    rows = []
    for column in table.schema.columns:
        shown_column = IgnoredColumn(column.name) if column.learnt else column
        rows.append({**_line(shown_column), "withheld": bool(column.learnt)})
    return rows


def form_rows(table: TableEditor, problems: dict[str, str]) -> list[dict[str, Any]]:
    rows = []
    for column in table.schema.columns:
        histogram = table.cached(column, partial(shape, table.frame[column.name], column))
        problem = problems.get(column.name, "")
        rows.append({**_line(column), "shape": histogram, "problem": problem})
    return rows


def _line(column: Column) -> dict[str, Any]:
    texts = ("unit", "levels", "low", "high", "typical_low", "typical_high", "shape", "problem")
    named = ("name", "kind", "role", "missing")
    line: dict[str, Any] = {name: getattr(column, name) for name in named}
    line |= {"learnt": list(column.learnt), "withheld": False, **dict.fromkeys(texts, "")}
    if isinstance(column, Numeric):
        line["unit"] = column.unit
        line["low"], line["high"] = map(_short, column.bounds)
        if column.typical is not None:
            line["typical_low"], line["typical_high"] = map(_short, column.typical)
    if isinstance(column, Levelled):
        line["levels"] = " | ".join(map(str, column.levels))
    return line


def _short(value: float) -> str:
    return f"{value:.10g}"


def shape(cells: pd.Series, column: Column) -> str:
    """Histogram of the values within the declared range, as text (curator)."""
    counts = _counts(cells, column)
    largest = max(counts, default=0)
    if not largest:
        return ""
    steps = np.ceil(np.asarray(counts) / largest * (len(_BARS) - 1)).astype(int)
    return "".join(_BARS[step] for step in steps)


def _counts(cells: pd.Series, column: Column) -> list[int]:
    if isinstance(column, Numeric):
        numbers, _ = read_numbers(cells)
        values = np.clip(numbers[~np.isnan(numbers)], *column.bounds)
        return [int(n) for n in np.histogram(values, _BINS, column.bounds)[0]]
    if isinstance(column, Levelled):
        text = as_text(cells)
        return [int((text == level).sum()) for level in column.texts[:_MOST_SHOWN]]
    return []


_MOST_ROWS = 20_000
_SPLITS = 32
_TOO_WELL = 0.05  # largest suspicious share of a constant guess's errors
_MOST_CODES = 0.2  # share of the rows; columns with more distinct values identify rows


def remarks(table: TableEditor) -> list[str]:
    target, messages = table.schema.target, []
    if target is None:
        messages.append("No target column: give one column the role “target”.")
    if not table.schema.features:
        messages.append("No feature columns: give at least one column the role “feature”.")
    if target is not None:
        messages += [*_named_like_the_target(table, target), *_too_good(table, target)]
    return [*messages, *_dates(table)]


def confirmations(schema: TableSchema) -> list[str]:
    """Describe the values to confirm, and what depends on them."""
    fitted = schema.unconfirmed
    unused = [name for name in data_dependent(schema) if name not in fitted]
    messages = []
    if fitted:
        messages.append(
            f"To be confirmed: {quoted(fitted)}. Until then there is no guarantee and no charge."
        )
    if unused:
        messages.append(
            f"Data-dependent and not confirmed: {quoted(unused)}. No model uses them. Until they "
            f"are confirmed, they are excluded from bundles, groups of aggregates and the "
            f"release view."
        )
    return messages


def _named_like_the_target(table: TableEditor, target: Column) -> list[str]:
    stem = target.name.lower()
    alike = [
        c.name
        for c in table.schema.features
        if len(stem) > 2 and (stem in c.name.lower() or c.name.lower().startswith("target"))
    ]
    if not alike:
        return []
    return [
        f"{quoted(alike)} sounds like the target {target.name!r}: a copy of it among the features "
        "would make every model look perfect."
    ]


def _too_good(table: TableEditor, target: Column) -> list[str]:
    rows = table.frame.head(_MOST_ROWS)
    left = _errors_left(rows[target.name], isinstance(target, Numeric))

    def too_good(column: Column) -> bool:
        codes = _codes(rows[column.name], isinstance(column, Numeric))
        return codes is not None and left(codes) <= _TOO_WELL

    names = [
        column.name
        for column in table.schema.features
        if table.cached((column, target), partial(too_good, column))
    ]
    return [
        f"{name!r} alone predicts {target.name!r} almost without error: is it known before the "
        f"outcome? If not, exclude it."
        for name in names
    ]


def _codes(cells: pd.Series, numeric: bool) -> FloatArray | None:
    """Bins of a column; None if nearly every row has a different value."""
    if numeric:
        numbers, _ = read_numbers(cells)
        filled = np.where(np.isnan(numbers), -np.inf, numbers)
        edges = np.unique(np.quantile(filled[np.isfinite(filled)], np.linspace(0, 1, _SPLITS + 1)))
        return np.searchsorted(edges[1:-1], filled, side="right").astype(float)
    codes, words = pd.factorize(as_text(cells))
    return codes.astype(float) if len(words) <= max(_SPLITS, _MOST_CODES * len(cells)) else None


def _errors_left(target: pd.Series, numeric: bool) -> Callable[[FloatArray], float]:
    """Return a function: share of a constant guess's errors that remain, given codes."""
    if numeric:
        values, _ = read_numbers(target)
        values = np.where(np.isnan(values), np.nanmean(values), values)
        total = float(((values - values.mean()) ** 2).sum())

        def by_mean(codes: FloatArray) -> float:
            grouped = pd.Series(values).groupby(codes)
            within = float(((values - grouped.transform("mean")) ** 2).sum())
            return within / total if total else 1.0

        return by_mean
    labels, _ = pd.factorize(as_text(target))
    constant = len(labels) - int(np.bincount(labels).max()) if len(labels) else 0

    def by_majority(codes: FloatArray) -> float:
        counts = np.zeros((int(codes.max()) + 1, int(labels.max()) + 1), dtype=int)
        np.add.at(counts, (codes.astype(int), labels), 1)
        missed = len(labels) - int(counts.max(axis=1).sum())
        return missed / constant if constant else 1.0

    return by_majority


def _dates(table: TableEditor) -> list[str]:
    names = [
        column.name
        for column in table.schema.columns
        if isinstance(column, IgnoredColumn)
        and table.cached(
            ("dates", column.name), partial(looks_like_dates, table.frame[column.name])
        )
    ]
    if not names:
        return []
    many = len(names) > 1
    return [
        f"{quoted(names)} {'look' if many else 'looks'} like dates. Each date would be a separate "
        f"level, so {'they are' if many else 'it is'} left out. To use one, add a numeric column, "
        "such as days since a public date, and declare its bounds."
    ]
