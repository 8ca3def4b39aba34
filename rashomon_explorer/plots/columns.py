"""Distribution of one column over its declared bounds or levels."""

from itertools import pairwise

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.data import Numeric, columns
from rashomon_explorer.data.cells import as_text, is_missing, read_numbers
from rashomon_explorer.data.column import Column
from rashomon_explorer.plots import registry, theme
from rashomon_explorer.plots.text import number, plural, short_names

_BINS = 30
_MOST_LEVELS = 30


def column_table(cells: pd.Series, column: Column) -> pd.DataFrame:
    """Count the rows in each bin of the declared bounds, or at each declared level."""
    if isinstance(column, Numeric):
        numbers, _ = read_numbers(cells)
        clipped = np.clip(numbers[~np.isnan(numbers)], *column.bounds)
        counts, edges = np.histogram(clipped, _BINS, column.bounds)
        labels = [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]
        frame = pd.DataFrame({"rows": counts}, index=pd.Index(labels, name=column.name))
        frame.attrs["edges"] = edges
        return frame
    if not isinstance(column, columns.Levelled):
        raise TypeError(f"column {column.name!r} is declared as ignored: there is nothing to bin")
    text = as_text(cells)
    missing = is_missing(text)
    known = {level: int((text == level).sum()) for level in column.texts}
    known["anything else"] = int((~missing).sum()) - sum(known.values())
    known["missing"] = int(missing.sum())
    return pd.DataFrame({"rows": known}).rename_axis(column.name)


def plot_column(cells: pd.Series, column: Column) -> go.Figure:
    """Plot the distribution of a column over its declared bounds or levels."""
    table = column_table(cells, column)
    figure = theme.new_figure(f"Distribution of {column.name}", _column_note(cells, column))
    row_counts = table["rows"].head(_MOST_LEVELS)
    edges = table.attrs.get("edges")
    places = row_counts.index if edges is None else (edges[:-1] + edges[1:]) / 2
    figure.add_bar(
        x=short_names(places) if edges is None else places,
        y=row_counts.to_numpy(),
        name="rows",
        marker={"color": theme.BLUE},
        hovertext=[f"{name}: {plural(int(n), 'row')}" for name, n in row_counts.items()],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    unit = getattr(column, "unit", "")
    figure.update_layout(
        xaxis={"title": f"{column.name}{f' ({unit})' if unit else ''}"},
        yaxis={"title": "rows", "rangemode": "tozero"},
        bargap=0.06 if edges is not None else 0.25,
        showlegend=False,
    )
    if edges is not None:
        figure.update_xaxes(range=[edges[0], edges[-1]])
        for end in (edges[0], edges[-1]):
            figure.add_vline(x=float(end), line={"color": theme.GREY, "width": 2})
    return theme.curator_band(figure)


def _column_note(cells: pd.Series, column: Column) -> str:
    if not isinstance(column, Numeric):
        return f"{plural(len(getattr(column, 'levels', ())), 'declared level')}"
    numbers, _ = read_numbers(cells)
    low, high = column.bounds
    beyond = int(((numbers < low) | (numbers > high)).sum())
    missing = int(np.isnan(numbers).sum())
    notes = [f"declared {number(low)} to {number(high)}"]
    notes.append(
        f"{plural(beyond, 'value')} beyond, counted at the ends" if beyond else "none beyond"
    )
    return " · ".join([*notes, *[f"{missing:,} missing"] * bool(missing)])


FIGURES = (
    registry.FigureSpec(
        name="columns",
        title="Distribution of the values",
        label="Number of rows for each value of a column, within its declared bounds",
        terms=("distribution",),
        plot=plot_column,
        table=column_table,
        needs=("data",),
        on_demand=True,
        of_people=True,
    ),
)
