"""What each column of a table does to the rows that a last step sees, found by changing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.audits.columns import Columns, StepColumn

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


def tried_places(column: pd.Series, most: int) -> list[int]:
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
        table.iloc[:, position].take(tried_places(table.iloc[:, position], 4 if wide else _VALUES))
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
    probed = [
        Response(values, every[start:end].reshape(count, len(values), -1))
        for values, start, end in zip(tried, ends, ends[1:], strict=False)
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
    moves = np.array([_moved(probe, size) for probe in probed])
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
    complete = [_is_whole_effect(column, uses, checked) for column in checked]
    checked = tuple(
        column if is_complete else replace(column, partial=True)
        for column, is_complete in zip(checked, complete, strict=True)
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


def _moved(response: Response, size: FloatArray) -> Mask:
    """Columns (q,) of the last step that change with a column of the table."""
    spread = np.ptp(response.encoded, axis=1).max(axis=0)
    return np.asarray(spread > _ROUNDING * size)


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
    response: Response, moved: Mask, size: FloatArray, columns: Columns, steps: str
) -> ColumnUse:
    moved_columns = tuple(np.flatnonzero(moved).tolist())
    changes = response.encoded - response.encoded[:, :1]
    additive = bool((np.abs(changes - changes[:1]).max(axis=(0, 1)) <= _ROUNDING * size).all())
    slopes, affine = _slopes(response, size)
    reason = next((columns[j].step for j in moved_columns if columns[j].step), steps)

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
    if additive and len(shifting) == 1 and _is_monotone(present[0, :, shifting[0]]):
        return use("monotone", reason)
    return use("other", reason)


def _is_monotone(values: FloatArray) -> bool:
    steps = np.diff(values)
    return bool((steps >= 0).all() or (steps <= 0).all())


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
    if is_function and not column.level:
        slopes, affine = _slopes(response, size)
        if affine[place] and slopes[place]:
            numbers = response.numbers
            present = np.flatnonzero(~np.isnan(numbers))  # type: ignore[arg-type]
            first = present[0]
            offset = values[0, first] - slopes[place] * numbers[first]  # type: ignore[index]
            close = abs(slopes[place] - column.slope) <= 1e-6 * abs(column.slope)
            if column.in_units and close:
                return column
            slope = float(slopes[place])
            return replace(column, slope=slope, offset=float(offset), in_units=True, step="")
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
