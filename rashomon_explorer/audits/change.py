"""Recourse in the columns of the table, for an exact audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer import measures
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.audits.models import AuditedModel, row_labels
from rashomon_explorer.measures.ranges import Recourse


def table_recourse(
    problem: Any,
    psi: float,
    model: AuditedModel,
    rows: Any,
    changeable: Sequence[str],
    *,
    wanted: Any = None,
    costs: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    **options: Any,
) -> Recourse:
    """Least change of some columns of the table after which every good model accepts."""
    if wanted is None and len(model.classes) == 2:
        wanted = model.classes[1]
    if wanted not in model.classes:
        raise ValueError(f"wanted must be one of the labels {list(model.classes)}, got {wanted!r}")
    names, matrix, offset = _design(model)
    people = _features(model, model.encoded(rows), names).set_axis(row_labels(rows), axis=0)
    own = _features(model, model.rows, names)
    levels = _levels(model)
    numbers = [name for name in changeable if name not in levels]
    unknown = [name for name in numbers if name not in names]
    if unknown:
        raise ValueError(f"unknown column {unknown[0]!r}; columns: {', '.join([*levels, *names])}")
    usual = {name: (float(own[name].min()), float(own[name].max())) for name in numbers}
    spread = {name: 1 / max(float(own[name].std()), 1e-12) for name in numbers}
    return measures.recourse(
        problem,
        psi,
        people,
        list(changeable),
        costs={**spread, **dict(costs or {})},
        bounds={**usual, **dict(bounds or {})},
        levels=levels,
        design=(matrix, offset),
        wanted=model.classes.index(wanted),
        **options,
    )


def _design(model: AuditedModel) -> tuple[list[str], FloatArray, FloatArray]:
    """Features in the units of the table, and the affine map to what the last step sees."""
    names = list(dict.fromkeys(column.label for column in model.columns))
    matrix = np.zeros((len(model.columns), len(names)))
    for place, column in enumerate(model.columns):
        matrix[place, names.index(column.label)] = column.slope
    return names, matrix, np.array([column.offset for column in model.columns])


def _features(model: AuditedModel, encoded: Any, names: Sequence[str]) -> pd.DataFrame:
    """Features of rows that the last step sees; indicators are whole."""
    table, rows = {}, np.asarray(encoded, dtype=float)
    for column, values in zip(model.columns, rows.T, strict=True):
        own = (values - column.offset) / column.slope
        table[column.label] = np.rint(own) if column.level else own
    return pd.DataFrame(table)[list(names)]


def _levels(model: AuditedModel) -> dict[str, list[str | None]]:
    """Return the indicators of each categorical column; None is a level without one."""
    complete = {model.columns[places[0]].sources[0] for places in model.complete_levels()}
    found: dict[str, list[str | None]] = {}
    numbers = {one.sources[0] for one in model.columns if one.in_units and not one.level}
    for column in model.columns:
        if column.level and column.in_units and column.sources[0] not in numbers:
            found.setdefault(column.sources[0], []).append(column.label)
    return {name: own if name in complete else [*own, None] for name, own in found.items()}
