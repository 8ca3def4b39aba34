"""Figure of the excess loss of each draw, with the threshold ψ."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import Mask
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.sets import RashomonSet

_GOLDEN = 0.618033988749895
_HEADROOM = 1.08
_BINS, _MOST_BINS = 30, 40


def plot_losses(models: RashomonSet, *, highlight: Sequence[int] = ()) -> go.Figure:
    """Plot the excess loss of every draw with the threshold ψ.

    Parameters
    ----------
    models : RashomonSet
        Draws with their losses (curator only).
    highlight : sequence of int
        Row numbers of draws to mark with rings; the others fade.

    Returns
    -------
    plotly.graph_objects.Figure
        A histogram above a strip of the draws; the best model is the vermillion ×. The title
        states how many lie inside ψ.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, which has no losses.
    """
    models = text.need_curator(models, "plot_losses")
    excess = np.asarray(models.excess, dtype=np.float32)
    psi = float(models.psi)
    draws, note = text.subsample_points(len(excess))
    end = _HEADROOM * max(float(excess.max(initial=0.0)), psi)
    width = end / _BINS
    if psi > width / _MOST_BINS:  # a smaller ψ is at the edge of the figure
        width = psi / max(1, round(_BINS * psi / end))

    counts, _ = np.histogram(excess, np.arange(0, end + 2 * width, width))
    selected = text.selection_mask(draws, highlight)
    figure = theme.new_figure(_headline(models), _found(models, note, text.faded_words(selected)))
    figure.add_shape(
        type="rect",
        x0=0,
        x1=psi,
        y0=0,
        y1=1,
        yref="paper",
        fillcolor=theme.SKY,
        opacity=0.13,
        line_width=0,
        layer="below",
    )
    figure.add_histogram(
        x=excess,
        name="draws",
        marker={"color": theme.BLUE, "line": {"width": 0}},
        # ψ is an edge of a bin; otherwise a bar could cover both sides of the threshold.
        xbins={"start": 0, "end": end + width, "size": width},
        hovertemplate="%{y} draws with excess loss %{x}<extra></extra>",
        showlegend=False,
    )
    _add_strip(figure, excess, draws, selected)
    marks.threshold_line(figure, psi, left=psi > 0.7 * end, y=1, yanchor="top")
    figure.update_layout(
        xaxis={
            "title": "excess loss above the certified minimum",
            "range": [-0.02 * end, end],
            "anchor": "y2",
        },
        yaxis={
            "title": "draws",
            "domain": [0.26, 1],
            "range": [0, 1.25 * max(1, counts.max(initial=0))],  # room for the text at the line
            "tickformat": ",d",
            # Counts are integers: ticks at halves would be rounded to two equal labels.
            **({"nticks": 5} if counts.max(initial=0) > 2 else {"dtick": 1}),
        },
        yaxis2={"domain": [0, 0.2], "range": [-0.35, 1.25], "visible": False, "fixedrange": True},
        bargap=0.06,
        showlegend=False,
    )
    return text.models_band(figure, models)


def _headline(models: RashomonSet) -> str:
    inside = round(models.hit_rate * models.n_draws) if models.n_draws else 0
    lie = "lie" if inside > 1 else "lies"
    if models.n_draws == 1 and not inside:
        return f"The one model does not lie within ψ = {text.number(models.psi)}"
    of = f"{inside:,} of" if inside else "None of"
    return f"{of} {text.plural(models.n_draws, 'model')} {lie} within ψ = {text.number(models.psi)}"


def _found(models: RashomonSet, *notes: str) -> str:
    hits = f"hit rate {text.percent(models.hit_rate)}"
    # The guarantee is for all draws, not for a selection of them or for imported models.
    drawn = isinstance(models, RashomonSet) and models.as_drawn and models.guarantee.holds
    threshold_note = ""
    if drawn and models.psi != models.plan.psi:
        drawn, threshold_note = (
            False,
            f"drawn for ψ = {text.number(models.plan.psi)}; another threshold has no privacy cost",
        )
    guarantee = text.guaranteed(models.plan) if drawn else ""
    return text.join_notes(hits, guarantee, threshold_note, *notes)


def _add_strip(figure: go.Figure, excess: np.ndarray, draws: np.ndarray, selected: Mask) -> None:
    height = (draws * _GOLDEN) % 1  # spreads overlapping points, identically at every redraw
    many = len(draws) > 1000
    figure.add_trace(
        (go.Scattergl if many else go.Scatter)(
            x=excess[draws],
            y=height.astype(np.float32),
            customdata=draws,
            mode="markers",
            yaxis="y2",
            name="draw",
            marker={
                "color": theme.BLUE,
                "size": np.where(selected, 11, 4 if many else 6.5),
                "opacity": text.opacities(selected),
                "line": {"color": theme.PURPLE, "width": np.where(selected, 3, 0)},
            },
            hovertemplate="draw %{customdata}: excess loss %{x:.4g}<extra></extra>",
        )
    )
    marks.mark_best(figure, [0], [0.5], ": excess loss 0", yaxis="y2")


def losses_table(models: RashomonSet) -> pd.DataFrame:
    """Tabulate the loss of every draw."""
    return pd.DataFrame(
        {
            "loss": models.losses,
            "excess": models.excess,
            "within ψ": models.losses <= models.least + models.psi,
        },
        index=pd.RangeIndex(models.n_draws, name="draw"),
    )


FIGURES = (
    registry.FigureSpec(
        name="losses",
        title="Losses of the draws against the threshold",
        short="Losses",
        label="Histogram of the excess losses of the draws, with the threshold ψ",
        terms=("excess loss", "psi", "hit rate"),
        plot=plot_losses,
        table=losses_table,
        needs=("models", "selection"),
        selects="models",
    ),
)
