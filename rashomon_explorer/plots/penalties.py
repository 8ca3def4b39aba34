"""Audit of penalty selection for the curator: validation losses and probabilities."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from rashomon_explorer.estimators.tuning_audit import TuningAudit
from rashomon_explorer.plots import marks, text
from rashomon_explorer.plots.theme import BLUE, GREEN, GREY, VERMILLION, add_band, new_figure

_TITLE = "Penalty selection"


def tuning_in_words(found: TuningAudit) -> str:
    """Compare ordinary tuning with a private draw in two sentences.

    Parameters
    ----------
    found : TuningAudit

    Returns
    -------
    str
        The two sentences.
    """
    odds = text.number(float(np.exp(found.odds)), rounding="up")
    allowed = text.number(float(np.exp(found.plan.eta)), rounding="up")
    return (
        f"Ordinary tuning is not private: changing one row changes its choice for "
        f"{found.plain_moved} of {found.plain_of} validation rows (RidgeCV: {found.ridge_moved} of "
        f"{found.ridge_of}). For a private draw the odds change at most {odds}-fold; "
        f"{allowed}-fold is covered by the privacy cost."
    )


def plot_penalties(found: TuningAudit, drawn: Sequence[float] = ()) -> go.Figure:
    """Plot validation loss and probability of a private draw by penalty, and ordinary choices.

    Parameters
    ----------
    found : TuningAudit
        Audit, for the curator only.
    drawn : sequence of float, optional
        Penalties that were drawn and charged.

    Returns
    -------
    plotly.graph_objects.Figure
        Bars are probabilities, on the right axis; dots are draws, on the axis of penalties.
    """
    figure = new_figure(_TITLE, _headline(found), height=330)
    add_band(figure, "curator", "curator view: not private")
    figure.add_bar(
        x=found.penalties, y=found.law, name="probability of a draw", yaxis="y2",
        marker={"color": BLUE, "opacity": 0.35}, hovertemplate="%{x:.3g}: %{y:.2f}<extra></extra>",
    )  # fmt: skip
    dots = {"color": [GREEN if good else GREY for good in found.good], "size": 7}
    look = {"mode": "lines+markers", "line": {"color": GREY}, "marker": dots}
    hover = "%{x:.3g}: loss %{y:.4f}"
    marks.add_marks(figure, found.penalties, found.losses, "validation loss", hover, **look)
    ends = [float(found.losses.min()), float(found.losses.max())]
    for name, penalty, dash, words in (
        ("selected by held-out rows", found.plain, "dot", ["held-out rows", ""]),
        ("selected by RidgeCV", found.ridge_cv, "dash", ["", "RidgeCV"]),
    ):
        look = {"mode": "lines+text", "line": {"color": VERMILLION, "dash": dash}, "text": words}
        look |= {"textposition": "middle right", "textfont": {"color": VERMILLION}}
        title = f"{name} {text.number(penalty)}"
        marks.add_marks(figure, [penalty, penalty], ends, title, hoverinfo="name", **look)
    if len(drawn):
        _add_draws(figure, drawn, ends[0])
    figure.update_layout(
        xaxis={"type": "log", "title": "penalty λ of the mean loss"},
        yaxis={"title": "validation loss"},
        yaxis2={"overlaying": "y", "side": "right", "showgrid": False, "title": "probability",
                "rangemode": "tozero", "tickformat": ".2f", "nticks": 4},
        margin={"r": 62},
        showlegend=False,
    )  # fmt: skip
    return figure


def _headline(found: TuningAudit) -> str:
    blind = float(found.losses.mean() - found.losses.min())
    excess = float(found.law @ (found.losses - found.losses.min()))
    odds = text.number(float(np.exp(found.odds)), rounding="up")
    return (
        f"Excess loss of a draw: {text.number(excess, rounding='up')}, of a random choice: "
        f"{text.number(blind)}. Rows that change the ordinary choice: {found.plain_moved} of "
        f"{found.plain_of}; RidgeCV: {found.ridge_moved} of {found.ridge_of}; odds of a draw: "
        f"{odds}-fold at most"
    )


def _add_draws(figure: go.Figure, drawn: Sequence[float], height: float) -> None:
    marker, hover = {"color": BLUE, "size": 13, "symbol": "diamond"}, "drawn: %{x:.3g}"
    look = {"marker": marker, "showlegend": False}
    marks.add_marks(figure, list(drawn), [height] * len(drawn), "private draws", hover, **look)
