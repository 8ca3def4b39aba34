"""Columns that the last step of a pipeline sees: traced to the table, checked by changing it."""

from __future__ import annotations

import re
from collections import UserList
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.audits.statsmodels_results import Design

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
    if isinstance(step, FrozenEstimator):
        return trace(step.estimator, columns)
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
        start, stop = selection.start, selection.stop
        start = names.index(start) if isinstance(start, str) else start
        stop = names.index(stop) + 1 if isinstance(stop, str) else stop  # it holds a named end
        return columns[slice(start, stop, selection.step)]
    listed = [selection] if isinstance(selection, str | int | np.integer) else list(selection)
    if listed and all(isinstance(entry, bool | np.bool_) for entry in listed):
        return tuple(column for column, inside in zip(columns, listed, strict=True) if inside)
    return tuple(
        columns[names.index(entry) if isinstance(entry, str) else int(entry)] for entry in listed
    )


def _union(step: FeatureUnion, columns: Columns) -> Columns:
    parts = [part for _, part in step.transformer_list if part != "drop"]
    return tuple(column for part in parts for column in trace(part, columns))


def _standardised(step: Any, columns: Columns) -> Columns:
    centre = step.center_ if isinstance(step, preprocessing.RobustScaler) else step.mean_
    spread = step.scale_
    centres = np.zeros(len(columns)) if centre is None else np.asarray(centre)
    if isinstance(step, preprocessing.StandardScaler) and not step.with_mean:
        centres = np.zeros(len(columns))
    spreads = np.ones(len(columns)) if spread is None else np.asarray(spread)
    ends = zip(columns, centres, spreads, strict=True)
    return tuple(column.scaled(1 / float(s), -float(c) / float(s)) for column, c, s in ends)


def _spanned(step: Any, columns: Columns) -> Columns:
    factors = 1 / step.scale_ if isinstance(step, preprocessing.MaxAbsScaler) else step.scale_
    shifts = getattr(step, "min_", np.zeros(len(columns)))
    ends = zip(columns, factors, shifts, strict=True)
    return tuple(column.scaled(float(factor), float(shift)) for column, factor, shift in ends)


def _levels(step: preprocessing.OneHotEncoder, place: int) -> list[str]:
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


def _one_hot(step: preprocessing.OneHotEncoder, columns: Columns) -> Columns:
    return tuple(
        StepColumn(f"{column.name}_{level}", column.sources, level)
        for number, column in enumerate(columns)
        for level in _levels(step, number)
    )


def _selected(step: Any, columns: Columns) -> Columns:
    return tuple(columns[position] for position in np.flatnonzero(step.get_support()))


def _function(step: preprocessing.FunctionTransformer, columns: Columns) -> Columns:
    if step.func is None:
        return columns
    if step.feature_names_out is not None:
        return _unknown(step, columns)
    return tuple(_renewed(column, step) for column in columns)  # one to one, unless widths differ


def step_name(step: Any) -> str:
    """Name of a step for messages: its class, or a function's name with brackets."""
    step = step.estimator if isinstance(step, FrozenEstimator) else step
    name = getattr(getattr(step, "func", None), "__name__", "")
    return f"{name}()" if name.isidentifier() else type(step).__name__


def _renewed(column: StepColumn, step: Any) -> StepColumn:
    """Column of which a step makes another one: in units of its own."""
    return replace(
        column, level="", slope=1.0, offset=0.0, in_units=False, step=column.step or step_name(step)
    )


def _powers(step: preprocessing.PolynomialFeatures, columns: Columns) -> Columns:
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


_CODED = re.compile(r"(?:C\()?(\w+)(?:,.*)?\)?\[(?:T\.)?(.+)\]")
"""Column of a formula for one level, such as ``C(sex)[T.male]``: the column, and the level."""


def _design(step: Design, columns: Columns) -> Columns:
    """Columns of a formula: numbers and levels of the table, or what else it computes."""
    by_name = {column.name: column for column in columns}
    traced = []
    for name in step.columns:
        coded = _CODED.fullmatch(name)
        if name in by_name:
            traced.append(by_name[name])
        elif coded is not None and coded[1] in by_name:
            traced.append(StepColumn(name, by_name[coded[1]].sources, coded[2]))
        else:
            used = [c for c in columns if re.search(rf"(?<!\w){re.escape(c.name)}(?!\w)", name)]
            sources = _sources(used or columns)
            traced.append(StepColumn(name, sources, in_units=False, step="formula"))
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
    begin = "{0}(?!\\w)|{0}_"
    begins = [c for c in columns if re.match(begin.format(re.escape(c.name)), name)]
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
    (Design, _design),
    (ColumnTransformer, _column_transformer),
    (FeatureUnion, _union),
    ((preprocessing.StandardScaler, preprocessing.RobustScaler), _standardised),
    ((preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler), _spanned),
    (preprocessing.OneHotEncoder, _one_hot),
    (SelectorMixin, _selected),
    (preprocessing.FunctionTransformer, _function),
    (preprocessing.PolynomialFeatures, _powers),
)


Kind = Literal["nothing", "affine", "levels", "monotone", "other"]

_ROWS, _VALUES, _LEVELS = 4, 17, 40  # sampled rows, numbers and levels that are tried
_WIDE = 300  # columns of a table above which fewer are tried
_CELLS = 4_000_000  # of one call of the pipeline
_ROUNDING = 1e-9  # of the size of an encoded column


@dataclass(frozen=True)
class ColumnUse:
    """What one column of the table does to the rows that the last step sees."""

    kind: Kind
    moved: tuple[int, ...]  # columns of the last step that move with it
    slopes: FloatArray  # (columns of the last step,): per unit of an affine column
    additive: bool  # whether it moves them by the same amounts in every row
    step: str = ""  # step after which it is neither a number nor a level of the table


@dataclass(frozen=True)
class Response:
    """Encoded rows (rows, values, columns of the last step) after changes of one column."""

    values: pd.Series  # that were tried, as the table holds them
    encoded: FloatArray

    @property
    def numbers(self) -> FloatArray | None:
        """Tried values as numbers with NaN for missing ones; None for other values."""
        if not is_number(self.values):
            return None
        return np.asarray(self.values.to_numpy(dtype=float, na_value=np.nan), dtype=float)


@dataclass(frozen=True)
class TableColumnMap:
    """Uses of the table's columns, and the checked columns of the last step."""

    uses: dict[str, ColumnUse]
    columns: Columns
    rows_apart: bool  # whether a row is encoded alike, whatever rows are encoded with it


def is_number(column: pd.Series) -> bool:
    """Whether a column of a table holds numbers, or True and False."""
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def is_whole(column: pd.Series) -> bool:
    """Whether the numbers of a column are whole."""
    values = column.dropna().astype(float).to_numpy()
    return bool(len(values) and (values == np.rint(values)).all())


def tried_rows(column: pd.Series, most: int) -> list[int]:
    """Places in a column of at most about ``most`` different values, and of a missing one."""
    missing = np.flatnonzero(column.isna().to_numpy())[:1].tolist()
    present = column.dropna()
    first = pd.Series(np.flatnonzero(column.notna().to_numpy()), index=present.index)
    if not is_number(column):
        text = present.astype(str)
        common = text.value_counts().index[: max(most, _LEVELS)]
        positions = first.to_numpy()[~text.duplicated().to_numpy()]
        listed = [p for p in positions if str(column.iloc[p]) in set(common)]
        return [*map(int, listed), *missing]
    order = np.argsort(present.astype(float).to_numpy(), kind="stable")
    sorted_values = present.astype(float).to_numpy()[order]
    changes = np.flatnonzero(np.diff(sorted_values, prepend=-np.inf) > 0)
    if len(changes) > most:
        steps = np.linspace(0, len(changes) - 1, most).round().astype(int)
        changes = changes[np.unique(steps)]
    return [*first.to_numpy()[order][changes].tolist(), *missing]


_CURVE, _MOST_STEPS = 24, 40  # points of each kind on a curve, and changes of a step function


def shape_rows(column: pd.Series, encoded: FloatArray) -> list[int]:
    """Rows at whose values of a column its function is shown, in their order, missing last.

    A function with few steps has both ends of each; a curve has points even in rows and in values.
    """
    positions = np.array(tried_rows(column, len(column) if is_number(column) else 0))
    values = column.iloc[positions].reset_index(drop=True)
    if not is_number(column):
        values = values if values.dtype == "category" else values.astype(object).map(str, "ignore")
        return positions[values.sort_values(kind="stable").index].tolist()
    distinct = values.dropna().to_numpy(dtype=float)
    ends = np.flatnonzero((np.diff(encoded[positions[: len(distinct)]], axis=0) != 0).any(axis=1))
    points = np.concatenate([ends, ends + 1])
    if len(ends) > _MOST_STEPS:
        even = np.searchsorted(distinct, np.linspace(distinct[0], distinct[-1], _CURVE))
        points = np.append(np.linspace(0, len(distinct) - 1, _CURVE).round().astype(int), even)
    last = [0, max(len(distinct), 1) - 1, *range(len(distinct), len(positions))]
    return positions[np.unique([*points, *last])].tolist()


def changed_rows(table: pd.DataFrame, rows: Any, place: int, values: Any) -> pd.DataFrame:
    """Rows (rows × values) of a table, each row with each of the values of one of its columns."""
    count = len(values)
    repeated = table.iloc[np.repeat(np.asarray(rows), count)].copy()
    tiled = values.take(np.tile(np.arange(count), len(rows)))
    repeated.isetitem(place, tiled.set_axis(repeated.index))
    return repeated


def responses(
    encode: Callable[[pd.DataFrame], Any], table: pd.DataFrame, encoded: Any
) -> tuple[list[Response], bool]:
    """Responses of the encoded rows to each column, and whether rows are encoded one by one."""
    wide = table.shape[1] > _WIDE
    rng = np.random.default_rng(0)
    count = min(len(table), 2 if wide else _ROWS)
    rows = np.sort(rng.choice(len(table), count, replace=False))
    tried = [
        table.iloc[:, position].take(tried_rows(table.iloc[:, position], 4 if wide else _VALUES))
        for position in range(table.shape[1])
    ]
    blocks = [changed_rows(table, rows, position, values) for position, values in enumerate(tried)]
    parts: list[FloatArray] = []
    batch, size = [table.iloc[rows]], 0
    for position, block in enumerate(blocks):
        batch.append(block)
        size += block.size
        if size > _CELLS or position == len(blocks) - 1:
            parts.append(np.asarray(encode(pd.concat(batch)), dtype=float))
            batch, size = [], 0
    every = np.concatenate(parts)
    together = np.asarray(encoded, dtype=float)[rows]
    gap = np.abs(every[:count] - together)
    is_rowwise = bool((gap <= _ROUNDING * (1 + np.abs(together))).all())
    ends = np.cumsum([count, *(len(block) for block in blocks)])
    encoded_blocks = np.split(every, ends)[1:-1]
    probed = [
        Response(values, block.reshape(count, len(values), -1))
        for values, block in zip(tried, encoded_blocks, strict=True)
    ]
    return probed, is_rowwise


def column_map(
    encode: Callable[[pd.DataFrame], Any],
    table: pd.DataFrame,
    encoded: Any,
    columns: Columns,
    steps: str,
) -> TableColumnMap:
    """Map of a table's columns, from a pipeline's structure and checked by running it."""
    probed, is_rowwise = responses(encode, table, encoded)
    size = 1 + np.abs(np.asarray(encoded, dtype=float)).max(axis=0)
    names = [str(name) for name in table.columns]
    spreads = [np.ptp(response.encoded, axis=1).max(axis=0) for response in probed]
    moves = np.array(spreads) > _ROUNDING * size  # (columns of the table, of the last step)
    by_name = dict(zip(names, probed, strict=True))
    checked = tuple(
        _checked(column, position, by_name, moves[:, position], size, steps)
        for position, column in enumerate(columns)
    )
    uses = {}
    for name, response, moved in zip(names, probed, moves, strict=True):
        nothing = np.zeros(len(moved))
        uses[name] = ColumnUse("other", tuple(np.flatnonzero(moved)), nothing, False, steps)
        if is_rowwise:
            uses[name] = _use(response, moved, size, checked, steps)
    checked = tuple(
        replace(column, partial=not _is_whole_effect(column, uses, checked)) for column in checked
    )
    return TableColumnMap(uses, checked, is_rowwise)


def _is_whole_effect(column: StepColumn, uses: dict[str, ColumnUse], columns: Columns) -> bool:
    """Whether a number or level of the table is all that its column of the table moves."""
    if not column.in_units or len(column.sources) > 1 or not uses[column.sources[0]].moved:
        return True
    use = uses[column.sources[0]]
    moved_levels = [columns[position].level for position in use.moved]
    levels = [level for level in moved_levels if level]
    if use.kind not in ("affine", "levels") or len(set(levels)) < len(levels):
        return False
    return moved_levels.count("") <= (1 if not column.level or column.level == "missing" else 0)


def _slopes(response: Response, size: FloatArray) -> tuple[FloatArray, Mask]:
    """Slope (q,) of each column of the last step in the numbers, and whether it is affine."""
    numbers = response.numbers
    if numbers is None:
        none = np.zeros(len(size))
        return none, none.astype(bool)
    present = np.flatnonzero(~np.isnan(numbers))
    if len(present) < 2:
        return np.zeros(len(size)), np.ones(len(size), dtype=bool)
    values, curves = numbers[present], response.encoded[:, present]
    low, high = int(values.argmin()), int(values.argmax())
    span = values[high] - values[low]
    slope = (curves[:, high] - curves[:, low]).mean(axis=0) / span
    line = curves[:, low][:, None] + (values - values[low])[:, None] * slope
    error = np.abs(curves - line).max(axis=(0, 1))
    return slope, np.asarray(error <= _ROUNDING * (size + np.abs(slope) * span))


def _use(
    response: Response, moved: Mask, size: FloatArray, columns: Columns, step_names: str
) -> ColumnUse:
    moved_columns = tuple(np.flatnonzero(moved).tolist())
    changes = response.encoded - response.encoded[:, :1]
    additive = bool((np.abs(changes - changes[:1]).max(axis=(0, 1)) <= _ROUNDING * size).all())
    slopes, affine = _slopes(response, size)
    reason = next((columns[j].step for j in moved_columns if columns[j].step), step_names)

    def use(kind: Kind, step: str = "") -> ColumnUse:
        return ColumnUse(kind, moved_columns, np.where(moved, slopes, 0.0), additive, step)

    if not moved_columns:
        return use("nothing")
    numbers = response.numbers
    levels = all(columns[j].in_units and columns[j].level for j in moved_columns)
    if additive and (numbers is None or levels):
        return use("levels")
    if numbers is None:
        return use("other", reason)
    present = response.encoded[:, ~np.isnan(numbers)]
    shifting = np.flatnonzero(np.ptp(present, axis=1).max(axis=0) > _ROUNDING * size)
    if additive and affine[moved].all():
        return use("affine")
    if additive and len(shifting) == 1:
        steps = np.diff(present[0, :, shifting[0]])
        if (steps >= 0).all() or (steps <= 0).all():
            return use("monotone", reason)
    return use("other", reason)


def _checked(
    column: StepColumn,
    place: int,
    probed: dict[str, Response],
    moved: Mask,
    size: FloatArray,
    steps: str,
) -> StepColumn:
    """Column of the last step as the responses show it, whatever its structure says."""
    movers = tuple(name for name, moves in zip(probed, moved, strict=True) if moves)
    if not movers:
        return column
    column = replace(column, sources=movers)
    response = probed[movers[0]]
    values = response.encoded[:, :, place]
    tolerance = _ROUNDING * size[place]
    is_function = len(movers) == 1 and bool(np.abs(values - values[:1]).max() <= tolerance)
    if is_function and column.level and column.in_units and _indicates(column, response, values[0]):
        return column
    numbers = response.numbers
    if is_function and not column.level and numbers is not None:
        slopes, affine = _slopes(response, size)
        slope = float(slopes[place])
        if affine[place] and slope:
            if column.in_units and abs(slope - column.slope) <= 1e-6 * abs(column.slope):
                return column
            first = np.flatnonzero(~np.isnan(numbers))[0]
            offset = float(values[0, first] - slope * numbers[first])
            return replace(column, slope=slope, offset=offset, in_units=True, step="")
    return replace(column, in_units=False, level="", step=column.step or steps)


def _indicates(column: StepColumn, response: Response, values: FloatArray) -> bool:
    on = (values - column.offset) / column.slope
    if (np.minimum(np.abs(on), np.abs(on - 1)) > 1e-6).any():
        return False
    if column.level == "infrequent":
        return True
    expected = np.array([_is_level(value, column.level) for value in response.values])
    return bool((expected == (on > 0.5)).all())


def _is_level(value: Any, level: str) -> bool:
    if pd.isna(value):
        return level in ("missing", "nan", "None")
    if str(value) == level:
        return True
    try:  # an imputer makes 1.0 of 1 and True
        return float(value) == float(level)
    except (TypeError, ValueError):
        return False


def unique_names(names: Sequence[str]) -> list[str]:
    """Names with a number behind each that came before."""
    counts: dict[str, int] = {}
    numbered = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        numbered.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return numbered
