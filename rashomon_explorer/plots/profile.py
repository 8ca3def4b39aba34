"""One feature: its function, partial dependence of the models on it, and its distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.containers import take_rows
from rashomon_explorer.data import Numeric, columns
from rashomon_explorer.data.cells import as_text, is_missing, read_numbers
from rashomon_explorer.data.columns import Column
from rashomon_explorer.measures.importance import partial_dependence
from rashomon_explorer.measures.importance.profiles import curve_band
from rashomon_explorer.measures.inputs import preprocessing
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.sets import CuratorSet
from rashomon_explorer.sets.models.fitted import FittedModels

_TITLE = "Partial dependence of the models"
_MOST_LINES = 25
Places = NDArray[np.float32]

_PREDICTIONS, _PREDICTIONS_OF_OTHERS = 10_000_000, 1_000_000
"""Predictions of linear models or trees, and of other models, that take about a second."""
_FEWEST_ROWS = 100


def plot_profile(
    models: Any,
    X: Any,
    feature: Any,
    *,
    transform: Callable[[Any], Any] | None = None,
    n_points: int = 20,
    max_rows: int | None = None,
    answer: str = "",
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the partial dependence of the models of the set on one feature.

    Parameters
    ----------
    models : RashomonSet or PredictorSet
        Models; only those inside the set count (curator only).
    X, feature, transform, n_points
        As for ``measures.importance.partial_dependence``.
    max_rows : int, optional
        Maximum number of rows; by default so many that they take about a second. Larger tables use
        a fixed subsample, which the figure states.
    answer : str
        Name of the predicted quantity; by default the last class, or "prediction".
    highlight : sequence of int
        Row numbers of models to draw as separate lines; those outside the set are not shown.

    Returns
    -------
    plotly.graph_objects.Figure
        A band over the models with its middle 90 %, and the best model; for a category one bar per
        level. The title states the direction of the curves. A message if no model lies inside.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, because profiles are computed from private rows.
    ValueError
        As for the measure.
    """
    transform = transform or preprocessing(models)
    models = text.need_curator(models, "plot_profile")
    if text.models_within_psi(models).is_empty:
        return text.empty_set_figure(_TITLE, models)
    curves = profiles(models, X, feature, transform, n_points=n_points, max_rows=max_rows)
    return profile_figure(models, curves, feature, answer, highlight)


def profiles(
    models: Any,
    X: Any,
    feature: Any,
    transform: Callable[[Any], Any] | None = None,
    *,
    n_points: int = 20,
    max_rows: int | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Curve of every model inside ψ, their band, and a text with the number of rows read."""
    inside = text.need_inside(models)
    if max_rows is None:
        is_other_kind = isinstance(getattr(inside, "models", None), FittedModels)
        max_predictions = _PREDICTIONS_OF_OTHERS if is_other_kind else _PREDICTIONS
        max_rows = max(_FEWEST_ROWS, max_predictions // (inside.n_draws * n_points))
    positions = text.sample_rows(len(X), max_rows)
    rows = take_rows(X, positions)
    some = f"{max_rows:,} of " if len(X) > max_rows else ""
    read = f"mean over {some}{len(X):,} rows"
    curves = partial_dependence(inside, rows, feature, transform=transform, n_points=n_points)
    return curves, curve_band(curves, inside, rows, feature, transform=transform), read


def profile_figure(
    models: Any,
    found: tuple[pd.DataFrame, pd.DataFrame, str],
    feature: Any,
    answer: str = "",
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the result of :func:`profiles`."""
    counts, (curves, band, read) = text.models_within_psi(models), found
    grid = list(curves.columns)
    numbers = all(isinstance(value, int | float) for value in grid)
    name = text.short_name(str(feature))
    figure = theme.new_figure(_finding(curves, name, numbers), f"{counts.words} · {read}")
    grid_points = np.asarray(grid if numbers else range(len(grid)), dtype=np.float32)
    draw = _band if numbers else _ranges
    draw(figure, band, grid_points, counts.span)
    _best(figure, band, grid_points, numbers)
    _lines(figure, curves.to_numpy()[counts.highlighted(highlight)], grid_points)
    x: dict[str, Any] = {"title": name}
    if not numbers:
        x |= {"tickmode": "array", "tickvals": grid_points, "ticktext": text.short_names(grid, 14)}
    figure.update_layout(xaxis=x, yaxis={"title": _answer(models, answer)}, uirevision=str(feature))
    return text.models_band(figure, models)


def _answer(models: Any, answer: str) -> str:
    if models.task != "classification":
        return f"mean prediction of {escape(answer)}" if answer else "mean prediction"
    if answer:
        return f"mean probability of {escape(answer)}"
    names = getattr(models, "class_names", ()) or ()
    label = escape(str(names[-1])) if names else "the last class"
    return f"mean probability of {label}"


def _finding(curves: pd.DataFrame, name: str, numbers: bool) -> str:
    values = curves.to_numpy()
    if values.shape[1] < 2:
        return f"{name} has only one value"
    if not numbers:
        tops = curves.idxmax(axis=1)
        first = tops.mode().iloc[0]
        share = float((tops == first).mean())
        who = "every model" if share == 1 else f"{text.percent(share)} of the models"
        return f"{name}: {text.short_name(str(first))} is highest for {who}"
    rises = float((values[:, -1] > values[:, 0]).mean())
    if rises in (0.0, 1.0):
        return f"Every model's prediction {'rises' if rises else 'falls'} with {name}"
    return (
        f"The models disagree about {name}: the prediction of {text.percent(rises)} of them rises"
    )


def _band(figure: go.Figure, band: pd.DataFrame, places: Places, span: str) -> None:
    for low, high, fill, label in (
        ("min", "max", "rgba(86,180,233,0.35)", span),
        ("q05", "q95", "rgba(0,114,178,0.40)", "middle 90 %"),
    ):
        ends = band[low].to_numpy(np.float32), band[high].to_numpy(np.float32)
        marks.shade(figure, places, ends, (low, label), fill)


def _ranges(figure: go.Figure, band: pd.DataFrame, places: Places, span: str) -> None:
    for low, high, colour, width, label in (
        ("min", "max", theme.SKY, 0.5, span),
        ("q05", "q95", theme.BLUE, 0.3, "middle 90 %"),
    ):
        figure.add_bar(
            x=places,
            base=band[low].to_numpy(np.float32),
            y=(band[high] - band[low]).to_numpy(np.float32),
            width=width,
            marker={"color": colour, "line": {"width": 0}},
            name=label,
            hoverinfo="skip",
        )
    figure.update_layout(barmode="overlay")


def _best(figure: go.Figure, band: pd.DataFrame, places: Places, numbers: bool) -> None:
    if "best" not in band:
        return
    hover = " %{y:.3f}<br>models %{customdata[0]:.3f} to %{customdata[1]:.3f}"
    ends = band[["min", "max"]].to_numpy(np.float32)
    look = {
        "mode": "lines" if numbers else "markers",
        "line": {"color": theme.BEST_MODEL, "width": 2},
    }
    best = band["best"].to_numpy(np.float32)
    marks.mark_best(figure, places, best, hover, 10, customdata=ends, **look)


def _lines(figure: go.Figure, curves: FloatArray, places: Places) -> None:
    for line, curve in enumerate(curves[:_MOST_LINES]):
        look: dict[str, Any] = {
            "mode": "lines+markers",
            "line": {"color": theme.PURPLE, "width": 1.2},
        }
        look |= {"marker": {"size": 4, "color": theme.PURPLE}, "showlegend": not line}
        hover = "selected draw: %{y:.3f}"
        marks.add_marks(figure, places, curve.astype(np.float32), "selected draws", hover, **look)


_PANELS, _IN_A_ROW, _RUG = 6, 3, 300
_BAND = "rgba(86,180,233,0.45)"


def shape_table(models: Any) -> pd.DataFrame:
    """Tabulate the functions of additive models over the models; of a release over all of them."""
    if isinstance(models, CuratorSet):
        models = text.need_inside(models)
    functions = models.shape_functions()  # (n_draws, columns, knots, outputs)
    labels = models.classes[-functions.shape[3] :] or ("prediction",)
    knots = np.linspace(-1.0, 1.0, functions.shape[2])  # of the scaled columns
    axes = [labels, models.feature_names[:-1], knots]
    index = pd.MultiIndex.from_product(axes, names=["class", "feature", "value"])
    values = functions.transpose(0, 3, 1, 2).reshape(len(functions), -1)
    ends = {"low": values.min(axis=0), "mean": values.mean(axis=0), "high": values.max(axis=0)}
    table = pd.DataFrame(ends, index)
    return table if len(labels) > 1 else table.droplevel("class")


def plot_shapes(
    shapes: Any, feature: str | None = None, *, rows: Any = None, label: Any = None
) -> go.Figure:
    """Plot the function of each column of an additive model, with its band over the good models.

    Parameters
    ----------
    shapes : DataFrame or set of additive models
        Result of :attr:`rashomon_explorer.audits.Audit.shapes`, with exact bands; or a curator's or
        released set of networks with ``model="additive"``, with bands over its models.
    feature : str, optional
        Column to show; by default the six with the largest functions.
    rows : DataFrame, optional
        Rows, whose values are marked at the bottom (curator).
    label : object, optional
        Class that the score is for, of several; by default the last one.

    Returns
    -------
    plotly.graph_objects.Figure
        A panel for each column: the fitted function, or the mean of a set's, and the band.

    Raises
    ------
    ValueError
        If the column has no function of its own.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from rashomon_explorer import audit
    >>> X, y = pd.DataFrame({"age": [0.0, 1.0, 2.0]}), [0.0, 1.0, 1.0]
    >>> found = audit(Ridge().fit(X, y), X, y, tolerance=0.01)
    >>> plot_shapes(found.shapes).layout.title.text.partition("<br>")[0]
    'No good model is constant in 1 of 1 column'
    """
    models = None if isinstance(shapes, pd.DataFrame) else shapes
    table: Any = shapes if models is None else shape_table(models)
    if "class" in table.index.names:
        label = table.index.get_level_values("class")[-1] if label is None else label
        table = table.xs(label, level="class")
    reach = np.maximum(-table["low"], table["high"]).groupby(level="feature", sort=False).max()
    if feature is not None and feature not in reach:
        why = table.attrs.get("mixing", {}).get(feature, f"the columns are {list(reach.index)}")
        raise ValueError(f"{feature!r} has no function of its own: {why}")
    names = [feature] if feature else list(reach.nlargest(_PANELS).index)
    cut = f"the {len(names)} largest of {len(reach)}" if len(reach) > len(names) > 1 else ""
    if models is None:
        settled = table["settled"].groupby(level="feature").any()
        columns = f"{int(settled.sum())} of {text.plural(len(settled), 'column')}"
        title, note = f"No good model is constant in {columns}", "line: fitted · mean 0 over rows"
    else:
        title, note = f"Functions of {text.plural(models.n_draws, 'model')}", "line: mean of them"
    of_label = "" if label is None else f"score of {escape(str(label))}"
    n_rows = -(-len(names) // _IN_A_ROW)
    notes = text.join_notes(cut, of_label, note)
    figure = theme.new_figure(title, notes, height=150 + 210 * n_rows)
    make_subplots(n_rows, min(_IN_A_ROW, len(names)), vertical_spacing=0.35 / n_rows, figure=figure)
    for position, name in enumerate(names):
        cell = {"row": position // _IN_A_ROW + 1, "col": position % _IN_A_ROW + 1}
        sample = pd.Series() if rows is None else rows[name]
        _shape_panel(figure, table.xs(name, level="feature"), sample, cell)
        unit = " (scaled)" if models is not None else ""
        figure.update_xaxes(title=text.short_name(name) + unit, tickangle=0, **cell)
    figure.update_yaxes(title=escape(str(table.columns.name or "score")), col=1)
    figure.update_layout(showlegend=False)
    return theme.curator_band(figure) if models is None else text.models_band(figure, models)


def _shape_panel(figure: go.Figure, curve: pd.DataFrame, cells: pd.Series, cell: Any) -> None:
    """Add the function of one column: a band along numbers, then a range for each other value."""
    n = sum(isinstance(value, int | float | np.number) for value in curve.index)
    numbers, levels = curve.index[:n].to_numpy(dtype=float), curve.index[n:]
    step = float(np.ptp(numbers)) / 6 if n > 1 else 1.0
    x = np.append(numbers, (numbers[-1] if n else 0.0) + step * np.arange(1, 1 + len(levels)))
    low, middle, high = curve.iloc[:, :3].to_numpy(dtype=np.float32).T
    marks.shade(figure, numbers, (low[:n], high[:n]), ("low", "good models"), _BAND, **cell)
    bars = {"array": (high - middle)[n:], "arrayminus": (middle - low)[n:], "width": 0}
    look = {"error_y": {**bars, "color": theme.SKY, "thickness": 5}}
    line = {"mode": "lines", "line": {"color": theme.BEST_MODEL, "width": 2}}
    hover, ends = "%{y:.3g} (%{customdata[0]:.3g} to %{customdata[1]:.3g})", np.stack([low, high]).T
    for part, how in ((slice(n), line), (slice(n, None), look)):
        how |= {"customdata": ends[part], "marker": {"color": theme.BEST_MODEL}, **cell}
        marks.add_marks(figure, x[part], middle[part], "model", hover, **how)
    if n and len(cells):
        some = cells.iloc[text.sample_rows(len(cells), _RUG)].dropna().to_numpy(dtype=float)
        rug = {"symbol": "line-ns-open", "color": theme.GREY, "size": 6}
        marks.add_marks(figure, some, np.full(len(some), low.min()), "rows", marker=rug, **cell)
    if len(levels):
        ticks = [*numbers[:1], *numbers[1:][-1:]]
        names = [*map(text.number, ticks), *text.short_names(levels, 14)]
        figure.update_xaxes(tickvals=[*ticks, *x[n:]], ticktext=names, **cell)


_BINS = 30
_MOST_LEVELS = 30


def column_table(cells: pd.Series, column: Column) -> pd.DataFrame:
    """Count the rows in each bin of the declared bounds, or at each declared level."""
    if isinstance(column, Numeric):
        numbers, _ = read_numbers(cells)
        clipped = np.clip(numbers[~np.isnan(numbers)], *column.bounds)
        counts, edges = np.histogram(clipped, _BINS, column.bounds)
        labels = [f"{text.number(low)} to {text.number(high)}" for low, high in pairwise(edges)]
        frame = pd.DataFrame({"rows": counts}, index=pd.Index(labels, name=column.name))
        frame.attrs["edges"] = edges
        return frame
    if not isinstance(column, columns.Levelled):
        raise TypeError(f"column {column.name!r} is declared as ignored: there is nothing to bin")
    cell_texts = as_text(cells)
    missing = is_missing(cell_texts)
    counts_by_level = {level: int((cell_texts == level).sum()) for level in column.texts}
    counts_by_level["anything else"] = int((~missing).sum()) - sum(counts_by_level.values())
    counts_by_level["missing"] = int(missing.sum())
    return pd.DataFrame({"rows": counts_by_level}).rename_axis(column.name)


def plot_column(cells: pd.Series, column: Column) -> go.Figure:
    """Plot the distribution of a column over its declared bounds or levels."""
    table = column_table(cells, column)
    figure = theme.new_figure(f"Distribution of {column.name}", _column_note(cells, column))
    row_counts = table["rows"].head(_MOST_LEVELS)
    edges = table.attrs.get("edges")
    positions = row_counts.index if edges is None else (edges[:-1] + edges[1:]) / 2
    figure.add_bar(
        x=text.short_names(positions) if edges is None else positions,
        y=row_counts.to_numpy(),
        name="rows",
        marker={"color": theme.BLUE},
        hovertext=[f"{name}: {text.plural(int(n), 'row')}" for name, n in row_counts.items()],
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
        return f"{text.plural(len(getattr(column, 'levels', ())), 'declared level')}"
    numbers, _ = read_numbers(cells)
    low, high = column.bounds
    n_clipped = int(((numbers < low) | (numbers > high)).sum())
    missing = int(np.isnan(numbers).sum())
    notes = [f"declared {text.number(low)} to {text.number(high)}"]
    notes.append(
        f"{text.plural(n_clipped, 'value')} beyond, counted at the ends"
        if n_clipped
        else "none beyond"
    )
    return " · ".join([*notes, *[f"{missing:,} missing"] * bool(missing)])


FIGURES = (
    registry.on_demand_figure(
        name="profile",
        title="Partial dependence of all good models",
        short="Profile of a feature",
        label="Band of partial dependence on one feature over the models inside the set",
        definition=(
            "Partial dependence: PD<sub>f</sub>(v) = mean over people of f(x with x<sub>j</sub> = "
            "v), for every model f within ψ; the band covers the models. It also evaluates people "
            "who do not exist: interpret correlated features with care."
        ),
        measure=profiles,
        result="found",
        plot=profile_figure,
        table=lambda found: found[1],
        code=plot_profile,
        needs=("models", "selection", "people", "rows", "inside"),
        of_people=True,
    ),
    registry.FigureSpec(
        name="shapes",
        title="Function of a column in all good models",
        short="Function of a column",
        label="Function of a column in an audited model, with its exact band over all good models",
        definition=(
            "f<sub>j</sub>(v): what the value v of column j adds to the score, minus its mean over "
            "rows. The band is the range of f<sub>j</sub>(v) over all models with "
            "L(θ) ≤ min L + ψ, by two convex programmes at each value; each end is certified."
        ),
        plot=plot_shapes,
        table=lambda shapes: shapes,
        families=(*registry.LINEAR, "other"),
        needs=("models", "fitted"),
        marks=("exact",),
        slow=True,
        on_demand=True,
    ),
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
