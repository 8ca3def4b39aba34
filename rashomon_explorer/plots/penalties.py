"""Private penalty selection: drawn penalties, and for the curator their validation losses."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.estimators.tuning_audit import TuningAudit, audit_tuning
from rashomon_explorer.plots import marks, registry, text
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


def penalties_table(found: TuningAudit) -> pd.DataFrame:
    """Tabulate validation loss and probability of a private draw over the grid: not private."""
    index = pd.Index(found.penalties.round(6), name="penalty")
    columns = {"validation loss": found.losses, "within ψ": found.good, "probability": found.law}
    return pd.DataFrame(columns, index=index)


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


def plot_drawn_penalties(
    drawn: Sequence[float], bounds: tuple[float, float], promised: str = ""
) -> go.Figure:
    """Plot only private draws of the penalty: the figure can be released."""
    figure = new_figure(_TITLE, promised, height=300)
    add_band(figure, "release", f"released: {text.plural(len(drawn), 'private draw')}")
    _add_draws(figure, drawn, 0.0)
    figure.update_layout(
        xaxis={"type": "log", "title": "penalty λ of the mean loss",
               "range": list(np.log10(bounds))},
        yaxis={"visible": False, "range": [-1, 1]},
    )  # fmt: skip
    return figure


def drawn_table(drawn: Sequence[float]) -> pd.DataFrame:
    """Count the draws of each penalty; the table can be released."""
    penalties, counts = np.unique(np.round(drawn, 9), return_counts=True)
    shares = [text.percent(count / len(drawn)) for count in counts]
    index = pd.Index(penalties.round(6), name="penalty")
    return pd.DataFrame({"draws": counts, "share": shares}, index=index)


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


FIGURES = (
    registry.on_demand_figure(
        name="penalties",
        title="Which penalty",
        label="Validation loss and probability of a private draw, for every penalty",
        definition=(
            "The loss on held-out rows of the fit with each penalty λ; green dots are within ψ of "
            "the least. A private draw selects λ with probability ∝ exp(−β·max(Φ − min Φ − ψ, "
            "0)). Ordinary tuning publishes the minimiser, which reveals each single row that "
            "moves it."
        ),
        measure=audit_tuning,
        result="found",
        plot=plot_penalties,
        release_plot=plot_drawn_penalties,
        table=penalties_table,
        audience=registry.BOTH,
        needs=("data", "penalties"),
        marks=(),
    ),
)
