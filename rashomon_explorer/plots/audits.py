"""Figures of the audit of a fitted model: several tolerances, and two kinds of intervals."""

from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots import marks, text, theme
from rashomon_explorer.plots.registry import CURATOR, FigureSpec


def plot_tolerances(table: pd.DataFrame) -> go.Figure:
    """Plot the share of people who can flip and of settled signs against ψ."""
    shares = {}
    if "share" in table:
        shares["people who can flip"] = table["share"]
    if "settled_signs" in table:
        shares["settled signs"] = table["settled_signs"] / table["coefficients"].clip(lower=1)
    words = [f"{name} {text.percent(values.get(1.0, np.nan))}" for name, values in shares.items()]
    title = f"At the tolerance of the audit: {', '.join(words)}" if words else "No shares"
    half = table.attrs.get("half_settled_psi", np.nan)
    note = f"half of the signs are settled up to ψ = {text.number(half)}" if half == half else ""
    figure = theme.new_figure(title, text.join_notes(note, str(table.attrs.get("mark", ""))))
    colours = dict(zip(shares, (theme.VERMILLION, theme.BLUE), strict=False))
    for name, values in shares.items():
        figure.add_scatter(
            x=table["psi"],
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colours[name]},
            hovertemplate=f"ψ = %{{x:.3g}}: %{{y:.0%}}<extra>{escape(name)}</extra>",
        )
    if 1.0 in table.index:
        figure.add_vline(x=float(table["psi"][1.0]), line={"dash": "dash", "width": 1})
    figure.update_xaxes(title="ψ: largest excess loss of a good model", type="log")
    figure.update_yaxes(title="share", range=[0, 1.02], tickformat=".0%")
    return theme.curator_band(figure)


_INTERVALS = (
    ("data_low", "data_high", "data: another sample of people", theme.SKY, -0.18),
    ("models_low", "models_high", "choice of model: all good models", theme.BLUE, 0.18),
)


def plot_gap_intervals(table: pd.DataFrame, *, unit: str = "difference") -> go.Figure:
    """Plot two bars for each gap between groups: how it depends on the data and on the model."""
    largest = table["fitted"].abs().sort_values(ascending=False, kind="stable").index
    rows = table.loc[largest[: marks.MOST_FEATURES][::-1]]
    crossing = (rows["models_low"] <= 0) & (rows["models_high"] >= 0)
    cut = f"the {len(rows)} largest of {len(table):,}" if len(rows) < len(table) else ""
    title = f"{int((~crossing).sum())} of {len(rows)} gaps have one sign in every good model"
    height = 160 + 46 * len(rows)
    figure = theme.new_figure(title, text.join_notes(cut, escape(unit)))
    rows_at = np.arange(len(rows))
    for low, high, name, colour, shift in _INTERVALS:
        figure.add_bar(
            orientation="h",
            y=rows_at + shift,
            base=rows[low],
            x=rows[high] - rows[low],
            width=0.3,
            marker={"color": colour},
            name=name,
            customdata=np.column_stack([rows[low], rows[high]]),
            hovertemplate="%{customdata[0]:.3g} to %{customdata[1]:.3g}<extra></extra>",
        )
    figure.add_scatter(
        x=rows["fitted"],
        y=rows_at,
        mode="markers",
        marker={"symbol": "x", "color": theme.VERMILLION, "size": 9},
        name="fitted model",
        hovertemplate="%{x:.3g}<extra></extra>",
    )
    figure.add_vline(x=0, line={"width": 1})
    names = [escape(name) for name in text.short_names(rows.index)]
    marks.lay_out_rows(figure, names, height, title=escape(unit))
    return theme.curator_band(figure)


AUDIT_FIGURES = {
    spec.name: spec
    for spec in (
        FigureSpec(
            name="tolerances",
            title="How much depends on the tolerance?",
            label="Share of people who can flip and of settled signs, against ψ",
            definition="At each ψ: the share of people whose label some model of excess loss ≤ ψ "
            "flips, and the share of coefficients with one sign in all of them.",
            audience=CURATOR,
            needs=("table",),
            plot=plot_tolerances,
            table=lambda table: table,
        ),
        FigureSpec(
            name="gap_intervals",
            title="Do the data or the choice of model move a gap?",
            label="Two intervals of the gap between each two groups",
            definition="<b>Data</b>: confidence interval of the fitted model's gap for another "
            "sample of people. <b>Choice of model</b>: range over all good models on these people.",
            audience=CURATOR,
            needs=("table",),
            plot=plot_gap_intervals,
            table=lambda table: table,
        ),
    )
}
"""Figures of :meth:`Audit.plot` that need no set of models, by name."""
