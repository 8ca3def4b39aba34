"""Figure of Markov chains while they run."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.chains import ChainState
from rashomon_explorer.plots import marks, registry, text, theme

_MIXED = 1.05
_FEWEST_LOOKS = 4


def plot_chains(chains: Sequence[ChainState], psi: float) -> go.Figure:
    """Plot the excess loss of running chains by step.

    Parameters
    ----------
    chains : sequence of ChainState
        Looks at all chains, in the order of their steps (curator only).
    psi : float
        Threshold of the set.

    Returns
    -------
    plotly.graph_objects.Figure
        Band and mean over the chains, of their states and, if averages are released, of these. The
        line below the title has the step size, the rows of a step and the mixing.

    Raises
    ------
    ValueError
        If no chain was looked at.
    """
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
        uirevision="chains",
    )
    return theme.curator_band(figure)


def chains_table(chains: Sequence[ChainState]) -> pd.DataFrame:
    """Tabulate excess loss over the chains by step: mean, least and largest."""
    if not chains:
        raise ValueError("chains must hold at least one look at running chains, got none")
    rows = []
    for one in chains:
        row: dict[str, float] = {}
        for name, values in (("state", one.excess), ("average", one.averages)):
            if len(values):
                ends = {f"least {name}": values.min(), f"largest {name}": values.max()}
                row |= {name: values.mean(), **ends}
        rows.append(row)
    return pd.DataFrame(rows, index=pd.Index([one.step for one in chains], name="step"))


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
    late = np.array([one.excess for one in chains[len(chains) // 2 :]])
    if len(late) >= _FEWEST_LOOKS and late.shape[1] > 1:
        ratio = scale_reduction(late)
        mixed = "mixed" if ratio < _MIXED else "not mixed"
        notes.append(f"R̂ = {text.number(ratio, 3)} of the later half: {mixed}")
    return [*notes, "not private; the guarantee needs no mixing"]


FIGURES = (
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
