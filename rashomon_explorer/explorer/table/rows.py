"""A declaration as lines of a form, a column each."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.schema import Anything, Numeric
from rashomon_explorer.schema.cells import as_text, read_numbers
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.levels import Levelled

_BARS = "▁▂▃▄▅▆▇█"
_BINS = 12
_MOST_SHOWN = 8


def release_rows(table: TableEditor) -> list[dict[str, Any]]:
    """Write a line for each column as a release may show it: of a marked one its name alone."""
    return [
        {**_line(one), "shape": "", "problem": "", "withheld": False}
        if not one.learnt
        else {**_line(Anything(one.name)), "shape": "", "problem": "", "withheld": True}
        for one in table.schema.columns
    ]


def form_rows(table: TableEditor, problems: dict[str, str]) -> list[dict[str, Any]]:
    """Write a line for each column; ``problems`` are said beside theirs.

    >>> frame = pd.DataFrame({"age": [20, 44, 90], "repaid": ["no", "yes", "yes"]})
    >>> line = form_rows(TableEditor.proposed("loans", frame), {})[0]
    >>> line["name"], line["low"], line["high"], line["learnt"], line["shape"]
    ('age', '20', '90', ['kind', 'bounds', 'typical', 'missing'], '█▁▁▁█▁▁▁▁▁▁█')
    """
    return [
        {
            **_line(one),
            "shape": table.once(one, partial(shape, table.frame[one.name], one)),
            "problem": problems.get(one.name, ""),
            "withheld": False,
        }
        for one in table.schema.columns
    ]


def _line(column: Column) -> dict[str, Any]:
    line: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "role": column.role,
        "missing": column.missing,
        "learnt": list(column.learnt),
        "unit": "",
        "levels": "",
    }
    for end in ("low", "high", "typical_low", "typical_high"):
        line[end] = ""
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
    """Draw how the values lie within what is declared, in a few characters (curator).

    >>> shape(pd.Series([1, 1, 1, 4]), Numeric("x", (0, 12)))
    '▁█▁▁▄▁▁▁▁▁▁▁'
    """
    counts = _counts(cells, column)
    most = max(counts, default=0)
    if not most:
        return ""
    steps = np.ceil(np.asarray(counts) / most * (len(_BARS) - 1)).astype(int)
    return "".join(_BARS[step] for step in steps)


def _counts(cells: pd.Series, column: Column) -> list[int]:
    if isinstance(column, Numeric):
        numbers, _ = read_numbers(cells)
        held = np.clip(numbers[~np.isnan(numbers)], *column.bounds)
        return [int(n) for n in np.histogram(held, _BINS, column.bounds)[0]]
    if isinstance(column, Levelled):
        text = as_text(cells)
        return [int((text == level).sum()) for level in column.texts[:_MOST_SHOWN]]
    return []
