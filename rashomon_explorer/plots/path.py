"""One Langevin path: its released states while it runs, and its share in the set by its width."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.langevin.states import StatesDetails, dial
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.plots.map import add_way, lay_out, map_plane


@dataclass(frozen=True, eq=False)
class PathView:
    """What is public of a path that runs: its released states, steps and privacy cost so far."""

    states: FloatArray  # (k, p), in the order of the path
    names: tuple[str, ...]
    n_draws: int  # states of the whole path
    step: int
    n_steps: int
    spent: float  # ε of the steps so far, roughly
    epsilon: float  # of the whole path


def plot_path(path: PathView, x: str | None = None, y: str | None = None) -> go.Figure:
    """Plot on the map the states that a path has released so far, and nothing else."""
    states = path.states
    directions = map_plane(states, path.names, x, y)
    points, age = states @ directions.T, np.arange(len(states))
    across, up = points.T
    share = text.percent(path.step / path.n_steps)
    cost = f"about {text.cost_text(path.spent)} of {text.cost_text(path.epsilon)}"
    figure = theme.new_figure(
        f"{len(states):,} of {text.plural(path.n_draws, 'model')} of one path",
        f"step {path.step:,} of {path.n_steps:,} · {cost} spent ({share} of the way)",
    )
    labels = add_way(figure, points)
    look = {"color": age, "colorscale": theme.LOSS_SCALE, "cmax": path.n_draws, "size": 7}
    figure.add_trace(marks.dots(across, up, age, ": a state of the path", look))
    if len(states):
        newest = {"color": theme.VERMILLION, "size": 13, "symbol": "circle-open", "line_width": 3}
        marks.add_marks(figure, across[-1:], up[-1:], "newest state", "newest state", marker=newest)
        labels.append(("newest", points[-1:]))
    lay_out(figure, directions, path.names, labels, points).update_layout(uirevision=f"{x},{y}")
    return theme.add_band(figure, "release", f"released, for about {text.cost_text(path.spent)}")


def plot_share_and_width(planned: Plan) -> go.Figure:
    """Plot the guaranteed share of a path's states by their width, for every temperature."""
    table = share_table(planned)
    figure = theme.new_figure(
        f"At least {text.percent(planned.hit_rate_bound)} of the states in the set, "
        f"{text.percent(planned.details.expected_width(planned))} as wide as it",
        "a smaller share is warmer and wider; the width is only expected",
    )
    look = {"mode": "lines+markers", "line": {"color": theme.BLUE, "width": 2}}
    shares = [text.percent(share) for share in table["share"]]
    hover = [
        f"share={share}: β = {text.number(beta)}, costs {text.cost_text(cost)}"
        for share, beta, cost in zip(shares, table["beta"], table["epsilon"], strict=True)
    ]
    marks.add_marks(figure, table["width"], table["guaranteed"], "other shares", hover, **look)
    here = planned.details.expected_width(planned), planned.hit_rate_bound
    marker = {"color": theme.VERMILLION, "size": 14, "symbol": "circle-open", "line_width": 3}
    marks.add_marks(figure, [here[0]], [here[1]], "this plan", "this plan", marker=marker)
    figure.update_layout(
        xaxis={"title": "width, relative to uniform models", "tickformat": ".0%"},
        yaxis={"title": "guaranteed in the set", "tickformat": ".0%", "range": [-0.03, 1.03]},
        showlegend=False,
    )
    return theme.add_band(figure, "release", "from public numbers alone")


def share_table(planned: Plan) -> pd.DataFrame:
    """Tabulate width, guaranteed share, temperature and privacy cost by the wanted share."""
    if not isinstance(planned.details, StatesDetails):
        raise ValueError(
            f"this is a plan of {planned.mechanism!r}: only one Langevin path of several models "
            "has a share to choose"
        )
    plans = dial(planned)
    return pd.DataFrame(
        {
            "share": [plan.request.share for plan in plans],
            "width": [plan.details.expected_width(plan) for plan in plans],
            "guaranteed": [plan.hit_rate_bound for plan in plans],
            "beta": [plan.beta for plan in plans],
            "epsilon": [plan.cost[0] for plan in plans],
        }
    )


FIGURES = (
    registry.FigureSpec(
        name="path_width",
        title="Share in the set against width",
        short="Share and width",
        label="Guaranteed share of a path's states in the set by their expected width",
        definition=(
            "A path at inverse temperature β is expected to have the width "
            "√((p + 2)/(2ψβ)) of uniform models of a quadratic set, and has at least the share "
            "1 − bound/ψ of its states within ψ on average, where bound is that of their mean "
            "excess loss. The privacy cost is that of batches as large as the table."
        ),
        plot=plot_share_and_width,
        table=share_table,
        audience=registry.BOTH,
        needs=("plan",),
        families=registry.LINEAR,
    ),
)
"""Figures of this module."""
