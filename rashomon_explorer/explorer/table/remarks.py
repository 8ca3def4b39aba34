"""Warnings about a table before its first draw. Not private: computed from the rows."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import IgnoredColumn, Numeric, TableSchema
from rashomon_explorer.data.cells import as_text, looks_like_dates, read_numbers
from rashomon_explorer.data.column import Column
from rashomon_explorer.data.messages import quoted
from rashomon_explorer.data.schema import data_dependent
from rashomon_explorer.explorer.table.editor import TableEditor

_MOST_ROWS = 20_000
_BINS = 32
_TOO_WELL = 0.05  # largest suspicious share of a constant guess's errors
_MOST_CODES = 0.2  # share of the rows; columns with more distinct values identify rows


def remarks(table: TableEditor) -> list[str]:
    """List probable errors in a schema, one sentence each."""
    return [message for remark in _REMARKS for message in remark(table)]


def confirmations(schema: TableSchema) -> list[str]:
    """Describe the values to confirm, and what depends on them."""
    fitted = schema.unconfirmed
    others = [name for name in data_dependent(schema) if name not in fitted]
    messages = []
    if fitted:
        messages.append(
            f"To be confirmed: {quoted(fitted)}. Until then there is no guarantee and no charge."
        )
    if others:
        messages.append(
            f"Data-dependent and not confirmed: {quoted(others)}. No model uses them. Until they "
            f"are confirmed, they are excluded from bundles, groups of aggregates and the "
            f"release view."
        )
    return messages


def _target(table: TableEditor) -> list[str]:
    if table.schema.target is None:
        return ["No target column: give one column the role “target”."]
    return []


def _features(table: TableEditor) -> list[str]:
    return (
        []
        if table.schema.features
        else ["No feature columns: give at least one column the role “feature”."]
    )


def _named_like_the_target(table: TableEditor) -> list[str]:
    target = table.schema.target
    if target is None:
        return []
    stem = target.name.lower()
    alike = [
        one.name
        for one in table.schema.features
        if len(stem) > 2 and (stem in one.name.lower() or one.name.lower().startswith("target"))
    ]
    if not alike:
        return []
    return [
        f"{quoted(alike)} sounds like the target {target.name!r}: a copy of it among the features "
        "would make every model look perfect."
    ]


def _too_good(table: TableEditor) -> list[str]:
    target = table.schema.target
    if target is None:
        return []
    rows = table.frame.head(_MOST_ROWS)
    left = _errors_left(rows[target.name], isinstance(target, Numeric))

    def too_good(one: Column) -> bool:
        codes = _codes(rows[one.name], isinstance(one, Numeric))
        return codes is not None and left(codes) <= _TOO_WELL

    found = [
        one.name
        for one in table.schema.features
        if table.once((one, target), partial(too_good, one))
    ]
    return [
        f"{name!r} alone predicts {target.name!r} almost without error: is it known before the "
        f"outcome? If not, exclude it."
        for name in found
    ]


def _codes(cells: pd.Series, numeric: bool) -> FloatArray | None:
    """Bins of a column; None if nearly every row has a different value."""
    if numeric:
        numbers, _ = read_numbers(cells)
        filled = np.where(np.isnan(numbers), -np.inf, numbers)
        edges = np.unique(np.quantile(filled[np.isfinite(filled)], np.linspace(0, 1, _BINS + 1)))
        return np.searchsorted(edges[1:-1], filled, side="right").astype(float)
    codes, words = pd.factorize(as_text(cells))
    return codes.astype(float) if len(words) <= max(_BINS, _MOST_CODES * len(cells)) else None


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
    found = [
        one.name
        for one in table.schema.columns
        if isinstance(one, IgnoredColumn)
        and table.once(("dates", one.name), partial(looks_like_dates, table.frame[one.name]))
    ]
    if not found:
        return []
    many = len(found) > 1
    return [
        f"{quoted(found)} {'look' if many else 'looks'} like dates. Each date would be a separate "
        f"level, so {'they are' if many else 'it is'} left out. To use one, add a numeric column, "
        "such as days since a public date, and declare its bounds."
    ]


_REMARKS: tuple[Callable[[TableEditor], list[str]], ...] = (
    _target,
    _features,
    _named_like_the_target,
    _too_good,
    _dates,
)
