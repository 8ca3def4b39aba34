"""Excess loss of each draw with the threshold ψ, and of Markov chains while they run."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import ChainState
from rashomon_explorer.networks.sets import NetworkSet
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
    figure = theme.new_figure(
        _headline(models), _found(models, note, text.selection_count_text(selected))
    )
    area = {"fillcolor": theme.SKY, "opacity": 0.13, "line_width": 0, "layer": "below"}
    figure.add_shape(type="rect", x0=0, x1=psi, y0=0, y1=1, yref="paper", **area)
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
    least = "best state" if isinstance(models, NetworkSet) else "certified minimum"
    xaxis = {"title": f"excess loss above the {least}", "anchor": "y2"}
    top = 1.25 * max(1, counts.max(initial=0))  # room for the text at the line
    # Counts are integers: ticks at halves would be rounded to two equal labels.
    ticks = {"nticks": 5} if counts.max(initial=0) > 2 else {"dtick": 1}
    yaxis = {"title": "draws", "domain": [0.26, 1], "range": [0, top], "tickformat": ",d"}
    figure.update_layout(
        xaxis={**xaxis, "range": [-0.02 * end, end]},
        yaxis={**yaxis, **ticks},
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
    guarantee = text.guaranteed(models.plan) if drawn else ""
    if drawn and models.psi != models.plan.psi:
        psi = text.number(models.plan.psi)
        guarantee = f"drawn for ψ = {psi}; another threshold has no privacy cost"
    return text.join_notes(hits, guarantee, *notes)


def _add_strip(figure: go.Figure, excess: np.ndarray, draws: np.ndarray, selected: Mask) -> None:
    height = (draws * _GOLDEN) % 1  # spreads overlapping points, identically at every redraw
    marker = {
        "color": theme.BLUE,
        **text.selection_look(selected, 4 if len(draws) > marks.MANY else 6.5),
        "line": {"color": theme.PURPLE, "width": np.where(selected, 3, 0)},
    }
    x, y, hover = excess[draws], height.astype(np.float32), ": excess loss %{x:.4g}"
    figure.add_trace(marks.dots(x, y, draws, hover, marker, yaxis="y2"))
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


_MIXED = 1.05
_FEWEST_LOOKS = 4


def plot_chains(chains: Sequence[ChainState], psi: float) -> go.Figure:
    """Plot excess loss of running chains by step: mean, least and largest (curator only)."""
    table, last = chains_table(chains), chains[-1]
    figure = theme.new_figure(_finding(last), text.join_notes(*_settings(chains)))
    steps = table.index.to_numpy()
    for name, colour, fill in (
        ("state", theme.GREY, "rgba(110,110,110,0.22)"),
        ("average", theme.BLUE, "rgba(0,114,178,0.25)"),
    ):
        if name not in table:
            continue
        ends = table[f"least {name}"], table[f"largest {name}"]
        if len(last.excess) > 1:
            marks.shade(figure, steps, ends, ("least", f"{name}s, least to largest"), fill)
        look = {"mode": "lines", "line": {"color": colour, "width": 2}}
        hover = f"step %{{x:,}}: mean excess loss of the {name}s %{{y:.4g}}"
        marks.add_marks(figure, steps, table[name], f"mean {name}", hover, **look)
    figure.add_hline(y=psi, line={"color": theme.VERMILLION, "width": 1.5, "dash": "dash"})
    where = {"x": 1, "xref": "paper", "xanchor": "right", "yanchor": "bottom", "showarrow": False}
    log = bool((table.drop(columns=["R̂"], errors="ignore") > 0).all(axis=None))
    height = math.log10(psi) if log and psi > 0 else psi
    figure.add_annotation(y=height, text=f"ψ = {text.number(psi)}", **where)
    figure.update_layout(
        xaxis={"title": "step", "range": [0, last.n_steps]},
        yaxis={"title": "excess loss", "type": "log" if log else "linear"},
        yaxis_exponentformat="none",
        uirevision="chains",
    )
    return theme.curator_band(figure)


def chains_table(chains: Sequence[ChainState]) -> pd.DataFrame:
    """Tabulate excess loss over the chains by step: mean, least and largest."""
    if not chains:
        raise ValueError("chains must hold at least one look at running chains, got none")
    rows = []
    for state in chains:
        row: dict[str, float] = {}
        for name, values in (("state", state.excess), ("average", state.averages)):
            if len(values):
                ends = {f"least {name}": values.min(), f"largest {name}": values.max()}
                row |= {name: values.mean(), **ends}
        rows.append(row)
    return pd.DataFrame(rows, index=pd.Index([state.step for state in chains], name="step"))


def scale_reduction(values: FloatArray) -> float:
    """R̂ of chains (n_looks, n_chains) by halves (Gelman et al. 2013); near 1 if they mixed."""
    half = len(values) // 2
    parts = np.hstack([values[:half], values[half : 2 * half]])
    within = parts.var(axis=0, ddof=1).mean()
    between = parts.mean(axis=0).var(ddof=1)
    if not within:
        return 1.0 if not between else math.inf
    return math.sqrt((half - 1) / half + between / within)


def _finding(last: ChainState) -> str:
    values = last.averages if len(last.averages) else last.excess
    what = "averages are" if len(last.averages) else "states are"
    mean = text.number(float(values.mean()), 2)
    return f"Step {last.step:,} of {last.n_steps:,}: {what} {mean} above the best model"


def _settings(chains: Sequence[ChainState]) -> list[str]:
    """Step size, rows of a step, acceptance and mixing, with what none of them proves."""
    last = chains[-1]
    notes = [text.plural(len(last.excess), "chain")]
    if math.isfinite(last.step_size):
        rows = f"{last.batch:,} rows" if last.batch else "all rows"
        notes.append(f"step size {text.number(last.step_size, 2)}, {rows} a step")
    if math.isfinite(last.acceptance):
        notes.append(f"acceptance {text.percent(last.acceptance)}")
    late = np.array([state.excess for state in chains[len(chains) // 2 :]])
    if len(late) >= _FEWEST_LOOKS and late.shape[1] > 1:
        ratio = scale_reduction(late)
        mixed = "mixed" if ratio < _MIXED else "not mixed"
        notes.append(f"R̂ = {text.number(ratio, 3)} of the later half: {mixed}")
    return [*notes, "not private; the guarantee needs no mixing"]


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
    registry.FigureSpec(
        name="chains",
        title="The chains while they run",
        short="Chains",
        label="Excess loss of the Markov chains by step",
        definition=(
            "Excess loss of the states of all chains, and of their averages where these are drawn. "
            "<b>R̂</b> compares the chains with each other and their halves (Gelman et al. 2013): "
            "near 1 if they mixed. All of this reads the rows and is <b>not private</b>: it is "
            "never part of a release. The privacy guarantee does not depend on mixing."
        ),
        plot=plot_chains,
        table=chains_table,
        needs=("chains",),
        families=registry.LINEAR,
        marks=("sampled",),
    ),
)
