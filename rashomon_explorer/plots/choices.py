"""Price of a preference: what the chosen good model reaches at each threshold ψ."""

from html import escape

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots import marks, text, theme
from rashomon_explorer.plots.registry import FigureSpec

_SAME_PSI = 1e-9


def plot_price(prices: pd.DataFrame, psi: float) -> go.Figure:
    """Plot what a preference reaches against ψ, between the value of a model and its bound.

    Parameters
    ----------
    prices : DataFrame
        As :meth:`rashomon_explorer.audits.Audit.price` returns it.
    psi : float
        Threshold of the model to mark.

    Examples
    --------
    >>> prices = pd.DataFrame(
    ...     {"value": [6, 4], "bound": [6, 4], "excess": [0.001, 0.003]}, index=[0.001, 0.004]
    ... )
    >>> prices.attrs.update(name="sparse", unit="of 9 features")
    >>> plot_price(prices, 0.004).layout.title.text.partition("<br>")[0]
    'From ψ = 0.003 on: 4 of 9 features'
    """
    table = prices[prices["value"].notna()]
    name = escape(str(prices.attrs.get("name", "")))
    at_psi = table[table.index <= psi * (1 + _SAME_PSI)]
    row = at_psi.iloc[-1] if len(at_psi) else table.iloc[0]
    from_psi = table["excess"][table["value"] <= row["value"]].min()
    reached = f"{text.number(row['value'])} {escape(prices.attrs['unit'])}"
    note = f"{name}: least value over all good models"
    figure = theme.new_figure(
        f"From ψ = {text.number(from_psi)} on: {reached}",
        text.join_notes(note, str(prices.attrs.get("mark", ""))),
    )
    for column, label, dash in (("value", "chosen model", "solid"), ("bound", "bound", "dot")):
        line = {"color": theme.BLUE, "dash": dash, "shape": "hv"}
        look = {"mode": "lines+markers", "line": line}
        hover = f"{label}<br>ψ = %{{x:.3g}}: %{{y:.3g}}"
        marks.add_marks(figure, table.index, table[column], label, hover, **look)
    figure.add_vline(x=float(psi), line={"color": theme.GREY, "dash": "dot"})
    figure.update_xaxes(title="ψ: largest excess loss of a good model", type="log")
    figure.update_yaxes(title=f"{name} {escape(prices.attrs['unit'])}", rangemode="tozero")
    return theme.curator_band(figure)


FIGURES = (
    FigureSpec(
        name="price",
        title="Price of a preference",
        label="what a preferred model reaches, by the largest excess loss",
        plot=plot_price,
        table=lambda prices: prices,
        short="Price",
        definition=(
            "Least value of the preference over all good models, at each ψ, and a proved bound. A "
            "click on a point takes its model."
        ),
        needs=("fitted", "choices"),
        marks=("exact",),
    ),
)
