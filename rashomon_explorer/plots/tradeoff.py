"""What a test for one record can still do: misses against false alarms."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.text import percent
from rashomon_explorer.plots.theme import BLUE, GREY, new_figure
from rashomon_explorer.privacy import Guarantee, best_attack

USUAL = 0.05
"""False alarms at which an attack is told in words."""


def tradeoff_table(guarantee: Guarantee) -> pd.DataFrame:
    """Least type II error of any test between neighbours, at a few type I errors.

    Parameters
    ----------
    guarantee : Guarantee

    Returns
    -------
    DataFrame
        Index ``false alarms at most``, column ``misses at least``.
    """
    levels = np.concatenate([[0.0, 0.001, 0.01], np.linspace(0.02, 1.0, 50)])
    index = pd.Index(levels, name="false alarms at most")
    return pd.DataFrame({"misses at least": guarantee.tradeoff(levels)}, index=index)


def attack_in_words(guarantee: Guarantee, alarms: float = USUAL) -> str:
    """Say what the best attacker achieves who may raise so many false alarms.

    Parameters
    ----------
    guarantee : Guarantee
    alarms : float, default=0.05

    Returns
    -------
    str
        A sentence; its share is rounded up.

    Examples
    --------
    >>> from rashomon_explorer.privacy import pure
    >>> attack_in_words(pure(1.0))
    'with 5% false alarms the best attacker finds at most 14% of those who are in the table'
    """
    caught = best_attack(guarantee, alarms)
    return (
        f"with {percent(alarms)} false alarms the best attacker finds at most "
        f"{percent(caught, 'up')} of those who are in the table"
    )


def plot_tradeoff(guarantee: Guarantee | pd.DataFrame, of: str = "") -> go.Figure:
    """Plot what a test for one record can do: misses against false alarms.

    Below the curve no test gets.

    Parameters
    ----------
    guarantee : Guarantee or DataFrame
        What was paid for, or its `tradeoff_table`.
    of : str, optional
        What it is the guarantee of, in words.

    Returns
    -------
    plotly.graph_objects.Figure
        The proved curve, beside guessing.
    """
    said = "no test between neighbouring data sets gets below the curve; the diagonal is guessing"
    if isinstance(guarantee, Guarantee):
        said = f"{of}{': ' if of else ''}{attack_in_words(guarantee)}"
    table = tradeoff_table(guarantee) if isinstance(guarantee, Guarantee) else guarantee
    figure = new_figure("What can be told about one record", said)
    figure.add_scatter(
        x=[0, 1],
        y=[1, 0],
        mode="lines",
        name="guessing: nothing told",
        line={"color": GREY, "dash": "dot", "width": 2},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=table.index.to_numpy(),
        y=table["misses at least"].to_numpy(),
        mode="lines",
        name="proved",
        line={"color": BLUE, "width": 2.5},
        hovertemplate="false alarms %{x:.1%}: misses at least %{y:.1%}<extra></extra>",
    )
    figure.update_layout(
        xaxis={"title": "false alarms, type I", "range": [0, 1], "tickformat": ".0%"},
        yaxis={"title": "misses, type II", "range": [-0.02, 1.02], "tickformat": ".0%"},
        margin={"b": 96},
        meta={"view": "plan"},
    )
    return figure
