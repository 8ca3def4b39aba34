"""Columns that the last step of a pipeline sees, traced back to the columns of the table."""

from __future__ import annotations

import re
from collections import UserList
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

_MOST_SOURCES = 3
_MISSING = "missingindicator_"
_UNNAMED = re.compile(r"x\d+")


@dataclass(frozen=True)
class StepColumn:
    """Column of the last step: slope·v + offset for the value v in the table."""

    name: str  # there
    sources: tuple[str, ...]  # columns of the table that it is computed from
    level: str = ""  # level of a categorical column that it indicates; empty for numbers
    slope: float = 1.0
    offset: float = 0.0
    in_units: bool = True  # whether v is a number or level of the table; not after a spline
    partial: bool = False  # whether other columns move with its column of the table, too
    step: str = ""  # step after which it is not; or the name of its function, such as "log()"

    @property
    def label(self) -> str:
        """Name in the units of the table: the column, or column=level; else what it is of."""
        if self.in_units:
            name = f"{self.sources[0]}={self.level}" if self.level else self.sources[0]
            return f"{name} (one of several terms)" if self.partial else name
        if self.is_named(self.sources):
            return self.name
        if self.step.endswith("()") and len(self.sources) == 1:
            return f"{self.step[:-2]}({self.feature})"
        text = f"{self.name} of {self.feature}" if len(self.sources) > 1 else self.feature
        return f"{text} (after {self.step.removesuffix('()')})" if self.step else text

    def is_named(self, others: Collection[str]) -> bool:
        """Whether the step gave it a name of its own, other than those of the table's columns."""
        return self.name not in others and not _UNNAMED.fullmatch(self.name)

    @property
    def feature(self) -> str:
        """Name of the table's columns that it is computed from."""
        if len(self.sources) > _MOST_SOURCES:
            return f"{' + '.join(self.sources[:2])} + {len(self.sources) - 2} more"
        return " + ".join(self.sources)

    def scaled(self, factor: float, shift: float) -> StepColumn:
        """Column factor·x + shift of this column x."""
        return replace(self, slope=factor * self.slope, offset=factor * self.offset + shift)


Columns = tuple[StepColumn, ...]


def table_columns(names: Sequence[Any]) -> Columns:
    """Columns of the table itself."""
    return tuple(StepColumn(str(name), (str(name),)) for name in names)


def trace(step: Any, columns: Columns) -> Columns:
    """Columns that a fitted transformer returns for the given columns."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    rule = next((rule for kinds, rule in _RULES if isinstance(step, kinds)), _unknown)
    return rule(step, columns)


def _pipeline(step: Pipeline, columns: Columns) -> Columns:
    for _, part in step.steps:
        columns = trace(part, columns)
    return columns


def _column_transformer(step: ColumnTransformer, columns: Columns) -> Columns:
    traced: list[StepColumn] = []
    entries = sorted(step.transformers_, key=lambda entry: step.output_indices_[entry[0]].start)
    for _, transformer, selection in entries:
        selected = _input_columns(selection, columns)
        if len(selected) and not (isinstance(transformer, str) and transformer == "drop"):
            traced += trace(transformer, selected)
    return tuple(traced)


def _input_columns(selection: Any, columns: Columns) -> Columns:
    names = [column.name for column in columns]
    if isinstance(selection, UserList):  # the remainder of scikit-learn 1.6 and 1.7 warns when read
        selection = selection.data
    if isinstance(selection, slice):
        ends = (
            names.index(end) if isinstance(end, str) else end
            for end in (selection.start, selection.stop)
        )
        start, stop = ends
        named = isinstance(selection.stop, str)  # a slice of names holds its end
        return columns[
            slice(start, stop + 1 if named and stop is not None else stop, selection.step)
        ]
    listed = [selection] if isinstance(selection, str | int | np.integer) else list(selection)
    if listed and all(isinstance(entry, bool | np.bool_) for entry in listed):
        return tuple(column for column, inside in zip(columns, listed, strict=True) if inside)
    return tuple(
        columns[names.index(entry) if isinstance(entry, str) else int(entry)] for entry in listed
    )


def _union(step: FeatureUnion, columns: Columns) -> Columns:
    parts = [
        trace(part_step, columns) for _, part_step in step.transformer_list if part_step != "drop"
    ]
    return tuple(column for part in parts for column in part)


def _standardised(step: Any, columns: Columns) -> Columns:
    centre = step.center_ if isinstance(step, RobustScaler) else step.mean_
    spread = step.scale_
    centres = np.zeros(len(columns)) if centre is None else np.asarray(centre)
    if isinstance(step, StandardScaler) and not step.with_mean:
        centres = np.zeros(len(columns))
    spreads = np.ones(len(columns)) if spread is None else np.asarray(spread)
    ends = zip(columns, centres, spreads, strict=True)
    return tuple(column.scaled(1 / float(s), -float(c) / float(s)) for column, c, s in ends)


def _spanned(step: Any, columns: Columns) -> Columns:
    factors = 1 / step.scale_ if isinstance(step, MaxAbsScaler) else step.scale_
    shifts = getattr(step, "min_", np.zeros(len(columns)))
    ends = zip(columns, factors, shifts, strict=True)
    return tuple(column.scaled(float(factor), float(shift)) for column, factor, shift in ends)


def _levels(step: OneHotEncoder, place: int) -> list[str]:
    levels = list(step.categories_[place])
    rare = step.infrequent_categories_[place] if hasattr(step, "infrequent_categories_") else None
    rare = [] if rare is None else list(rare)
    dropped = None if step.drop_idx_ is None else step.drop_idx_[place]
    without = None if dropped is None else levels[dropped]
    frequent = [level for level in levels if level not in rare]
    names = [
        "missing" if level is None or level != level else str(level)
        for level in frequent
        if dropped is None or level is not without
    ]
    return [*names, *(["infrequent"] if rare and without not in rare else [])]


def _one_hot(step: OneHotEncoder, columns: Columns) -> Columns:
    return tuple(
        StepColumn(f"{column.name}_{level}", column.sources, level)
        for number, column in enumerate(columns)
        for level in _levels(step, number)
    )


def _selected(step: Any, columns: Columns) -> Columns:
    support = step.get_support()
    return tuple(
        column for column, is_selected in zip(columns, support, strict=True) if is_selected
    )


def _function(step: FunctionTransformer, columns: Columns) -> Columns:
    if step.func is None:
        return columns
    if step.feature_names_out is not None:
        return _unknown(step, columns)
    return tuple(_renewed(column, step) for column in columns)  # one to one, unless widths differ


def step_name(step: Any) -> str:
    """Name of a step for messages: its class, or a function's name with brackets."""
    name = getattr(getattr(step, "func", None), "__name__", "")
    return f"{name}()" if name.isidentifier() else type(step).__name__


def _renewed(column: StepColumn, step: Any) -> StepColumn:
    """Column of which a step makes another one: in units of its own."""
    return replace(
        column, level="", slope=1.0, offset=0.0, in_units=False, step=column.step or step_name(step)
    )


def _powers(step: PolynomialFeatures, columns: Columns) -> Columns:
    names = step.get_feature_names_out([column.name for column in columns])
    traced = []
    for name, powers in zip(names, step.powers_, strict=True):
        used = np.flatnonzero(powers)
        if len(used) == 1 and powers[used[0]] == 1:
            traced.append(columns[used[0]])
        else:
            sources = _sources([columns[j] for j in used])
            traced.append(StepColumn(str(name), sources, in_units=False, step=step_name(step)))
    return tuple(traced)


def _sources(columns: Sequence[StepColumn]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for column in columns for source in column.sources))


def _unknown(step: Any, columns: Columns) -> Columns:
    """Columns of any other transformer, by its names: an imputer keeps columns, a spline none."""
    names = [column.name for column in columns]
    by_name = {column.name: column for column in columns}
    keeps = hasattr(step, "statistics_") or type(step).__name__.endswith("Imputer")
    traced = []
    for name in map(str, step.get_feature_names_out(names)):
        origin = by_name.get(name.removeprefix(_MISSING))
        if origin is not None and name.startswith(_MISSING):
            traced.append(StepColumn(name, origin.sources, "missing"))
        elif origin is not None:
            traced.append(origin if keeps else _renewed(origin, step))
        else:
            traced.append(_derived(name, columns, step_name(step)))
    return tuple(traced)


def _derived(name: str, columns: Columns, step: str) -> StepColumn:
    """Column whose name begins with that of a column, such as ``age_sp_0``, or else of all."""
    begins = [
        c for c in columns if re.match(rf"{re.escape(c.name)}(?!\w)|{re.escape(c.name)}_", name)
    ]
    parents = [max(begins, key=lambda column: len(column.name))] if begins else columns
    return StepColumn(name, _sources(parents), in_units=False, step=step)


def unnamed_columns(step: Any, columns: Columns, names: Sequence[str]) -> Columns:
    """Columns of a step of which only the names are known, computed from any of those before."""
    by_name = {column.name: column for column in columns}
    step_text, sources = step_name(step), _sources(columns)
    return tuple(
        _renewed(by_name[name], step)
        if name in by_name
        else StepColumn(name, sources, in_units=False, step=step_text)
        for name in names
    )


_Rule = Callable[[Any, Columns], Columns]
_RULES: tuple[tuple[Any, _Rule], ...] = (
    (Pipeline, _pipeline),
    (ColumnTransformer, _column_transformer),
    (FeatureUnion, _union),
    ((StandardScaler, RobustScaler), _standardised),
    ((MinMaxScaler, MaxAbsScaler), _spanned),
    (OneHotEncoder, _one_hot),
    (SelectorMixin, _selected),
    (FunctionTransformer, _function),
    (PolynomialFeatures, _powers),
)
