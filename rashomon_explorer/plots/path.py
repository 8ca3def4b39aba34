"""Released states of one Langevin path while it runs, in the plane in which they differ most."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.plots import marks, registry, text, theme


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


def plane(states: FloatArray) -> FloatArray:
    """Return two orthogonal directions (2, p) in which states (k, p) differ most."""
    _, _, directions = np.linalg.svd(states - states.mean(axis=0), full_matrices=False)
    # A sign that does not flip when a state is added: the largest entry is positive.
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return np.asarray((directions * signs[:, None])[:2])


def plot_path(path: PathView) -> go.Figure:
    """Plot the states that a path has released so far, and the way from one to the next.

    All of it is a function of released states: the figure is as private as these are.
    """
    states = path.states
    figure = theme.new_figure(_headline(path), _costs(path))
    if len(states) > 2 and states.shape[1] > 1:
        directions = plane(states)
        across, up = directions @ (states - states.mean(axis=0)).T
        titles = [_axis(direction, path.names) for direction in directions]
    else:
        across, up = np.arange(len(states)), states[:, 0]
        titles = ["state", path.names[0]]
    look = {"mode": "lines", "line": {"color": theme.GREY, "width": 1}, "opacity": 0.55}
    marks.add_marks(figure, across, up, "path", showlegend=False, **look)
    age = np.arange(len(states))
    colours = {"color": age, "colorscale": "Cividis", "cmin": 0, "cmax": path.n_draws, "size": 7}
    figure.add_trace(marks.dots(across, up, age, ": a state of the path", colours))
    if len(states):
        newest = {"color": theme.VERMILLION, "size": 13, "symbol": "circle-open", "line_width": 3}
        marks.add_marks(figure, across[-1:], up[-1:], "newest state", "newest state", marker=newest)
    figure.update_layout(
        xaxis={"title": titles[0]}, yaxis={"title": titles[1]}, showlegend=False, uirevision="path"
    )
    spent = text.cost_text(path.spent)
    return theme.add_band(figure, "release", f"released states, paid for: about {spent}")


def _headline(path: PathView) -> str:
    made, whole = f"{len(path.states):,}", text.plural(path.n_draws, "model")
    if path.step < path.n_steps:
        return f"{made} of {whole} of one path"
    return f"{made} models of one path"


def _costs(path: PathView) -> str:
    share = text.percent(path.step / path.n_steps)
    steps = f"step {path.step:,} of {path.n_steps:,}"
    cost = f"about {text.cost_text(path.spent)} of {text.cost_text(path.epsilon)}"
    return text.join_notes(steps, f"{cost} spent ({share} of the way)")


def _axis(direction: FloatArray, names: tuple[str, ...]) -> str:
    """Name a direction by the parameter that counts most in it; its sign is positive."""
    return f"mostly {names[int(np.abs(direction).argmax())]}"


def path_table(path: PathView) -> pd.DataFrame:
    """Tabulate the released states."""
    index = pd.RangeIndex(len(path.states), name="state")
    return pd.DataFrame(path.states, index=index, columns=list(path.names))


FIGURES = (
    registry.FigureSpec(
        name="path",
        title="One path of models",
        short="Path",
        label="Released states of the Langevin path, in the plane in which they differ most",
        definition=(
            "One <b>Langevin path</b>: a noisy gradient walk whose states are the models of the "
            "set. Each dot is a released state, from dark (early) to bright (late); the line is "
            "the way. The axes are the two directions in which the released states differ most. "
            "The privacy cost grows with the steps, not with the number of models; <b>Stop</b> "
            "ends it, and parts of the path that did not begin are not charged. While it runs, "
            "figures that read private rows wait: when to stop may depend on released states only."
        ),
        plot=plot_path,
        table=path_table,
        needs=("path",),
        families=registry.LINEAR,
    ),
)
"""Figures of this module."""
