"""The rows: how many, what columns, which groups (curator), or what is public of them."""

from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.plots.text import number, percent
from rashomon_explorer.report.blocks import Block, Facts, Table
from rashomon_explorer.report.kinds import kind_of
from rashomon_explorer.report.kinds.columns import declared
from rashomon_explorer.report.material import Curator, Release
from rashomon_explorer.report.sections.base import Skip


def curator(given: Curator) -> list[Block]:
    """Describe the rows the report was computed on."""
    if given.X is None and given.y is None:
        raise Skip("no rows were handed in: report(path, X, y)")
    blocks: list[Block] = [Facts(_counts(given))]
    if given.X is not None:
        blocks.append(_columns(given))
    if given.y is not None and given.models.task == "classification":
        blocks.append(Table(_shares(pd.Series(given.y), "class"), "Classes"))
    if given.groups is not None:
        caption = f"Groups by {given.groups.name}"
        blocks.append(Table(_shares(given.groups, str(given.groups.name)), caption))
    return blocks


def release(given: Release) -> list[Block]:
    """List what is public of the data: its size, its columns and what was declared of them."""
    return kind_of(given.models).columns(given)


def _counts(given: Curator) -> list[tuple[str, str, str]]:
    models = given.models
    n_rows = len(given.y if given.y is not None else ()) if given.n_rows is None else given.n_rows
    facts = [("Rows", f"{n_rows:,}", "those that were handed to the report")]
    facts += kind_of(models).rows(given)
    if given.y is not None and models.task == "regression":
        told = f"mean {number(float(np.mean(given.y)))}, std {number(float(np.std(given.y)))}"
        facts.append(("Target", told, ""))
    return facts


def _columns(given: Curator) -> Table:
    if isinstance(given.X, RowBlocks):
        return _columns_of_blocks(given, given.X)
    frame = pd.DataFrame(given.X)
    names = getattr(given.models, "feature_names", (*map(str, frame.columns), "intercept"))[:-1]
    if len(names) == frame.shape[1]:
        frame.columns = pd.Index(names)
    table = declared([str(name) for name in frame.columns], given.bounds)
    measured = frame.apply(pd.to_numeric, errors="coerce")
    for name in ("min", "mean", "max"):
        table[name] = getattr(measured, name)().to_numpy(dtype=float)
    return Table(table, "Features, as the models take them")


def _columns_of_blocks(given: Curator, rows: RowBlocks) -> Table:
    """Find means, and least and largest values, of all blocks."""
    least, sums, most = rows.reduce(_ends, merge=_wider)
    known = getattr(given.models, "feature_names", ())[:-1]
    names = known if len(known) == len(sums) else [f"x{j}" for j in range(len(sums))]
    table = declared([str(name) for name in names], given.bounds)
    table["min"], table["mean"], table["max"] = least, sums / rows.n, most
    return Table(table, "Features, as the models take them")


def _ends(rows: FloatArray, targets: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    return rows.min(axis=0), rows.sum(axis=0), rows.max(axis=0)


def _wider(one: Any, other: Any) -> Any:
    sums = one[1] + other[1]
    return np.minimum(one[0], other[0]), sums, np.maximum(one[2], other[2])


def _shares(values: "pd.Series", name: str) -> pd.DataFrame:
    counts = values.value_counts(dropna=False).sort_index()
    shares = [percent(float(count) / len(values)) for count in counts]
    index = pd.Index([str(value) for value in counts.index], name=name)
    return pd.DataFrame({"rows": counts.to_numpy(), "share": shares}, index=index)
