"""The map of models: every model a dot, in the directions in which they differ most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.mechanisms.langevin.states import StatesDetails
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.plots.coefficients import coefficients_table
from rashomon_explorer.sets import RashomonSet, ReleasedSet

Label = tuple[str, FloatArray]
"""Words of a mark, and the points (k, 2) beside one of which they may stand."""


@dataclass(frozen=True, eq=False)
class Outline:
    """Exact outline of a Rashomon set in a plane, and its best model.  Curator: not private."""

    plane: FloatArray  # (2, p): directions of the axes
    edge: FloatArray  # (k, 2): vertices
    best: FloatArray  # (p,)
    names: tuple[str, ...]  # of the p parameters
    psi: float


def plot_map(
    models: RashomonSet | ReleasedSet | None,
    x: str | None = None,
    y: str | None = None,
    *,
    outline: Outline | None = None,
    highlight: Sequence[int] = (),
    inside_only: bool = False,
) -> go.Figure:
    """Plot every model as a dot, in the two directions in which the models differ most.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        The curator's draws, coloured by excess loss, or released ones. None: the outline alone.
    x, y : str, optional
        Parameters on the axes in place of the main directions of the draws.
    outline : Outline, optional
        Exact outline of the set, for the curator; its plane is then that of the figure.
    highlight : sequence of int
        Row numbers of draws to mark with rings; the others fade.
    inside_only : bool, default=False
        Whether to hide the curator's draws outside ψ; the figure states their number.

    Returns
    -------
    plotly.graph_objects.Figure
        One dot per draw, a line for the way of one path, and for the curator × for the best model.

    Raises
    ------
    TypeError
        If given models without coefficients, or a release with an outline, which is private.
    ValueError
        If the set has no such parameter.
    """
    if models is None and outline is not None:
        figure = theme.new_figure("The set before any draw", "every good model lies in the outline")
        labels = _mark_set(figure, outline.plane @ outline.best, outline)
        lay_out(figure, outline.plane, outline.names, labels).update_layout(uirevision=f"{x},{y}")
        return theme.curator_band(figure)
    models = text.need_linear(models, "plot_map")
    draws, inside = np.arange(models.n_draws), None
    if not isinstance(models, ReleasedSet):
        inside = np.isin(draws, text.models_within_psi(models).indices)
    elif outline is not None:
        raise TypeError("an outline is computed from private rows: a release has none")
    names, coef = models.parameter_names, np.asarray(models.coef)
    directions = map_plane(coef, names, x, y) if outline is None else outline.plane
    points = coef @ directions.T
    draws, note = text.subsample_points(models.n_draws)
    draws = draws[inside[draws]] if inside_only and inside is not None else draws
    selected = text.selection_mask(draws, highlight)
    heading, about = _finding(models, inside, hidden=inside_only)
    about = text.join_notes(about, note, text.selection_count_text(selected))
    figure = theme.new_figure(heading, about)
    is_path = isinstance(models.plan.details, StatesDetails) and models.as_drawn
    labels = add_way(figure, points) if is_path else []
    marker = text.selection_look(selected, 5 if len(draws) > marks.MANY else 8)
    hover, extra = "<br>%{x:.3f}, %{y:.3f}", dict[str, Any]()
    if is_path and inside is None:
        look = {"color": draws, "colorscale": theme.LOSS_SCALE}
    elif inside is None or math.isnan(models.least):
        look = {"color": theme.BLUE}
    else:
        symbol = np.where(inside[draws], "circle", "diamond")
        marker |= {"symbol": symbol, "colorscale": _IN_AND_OUTSIDE, "cmin": 0}
        excess = np.asarray(models.excess)[draws]
        look = {"color": excess.astype(np.float32), "cmax": 2 * max(models.psi, 1e-300)}
        hover += "<br>excess loss %{text}"
        extra = {"text": [text.number(float(value)) for value in excess]}
    across, up = points[draws].T
    figure.add_trace(marks.dots(across, up, draws, hover, marker | look, **extra))
    if inside is not None:
        labels += _mark_set(figure, directions @ models.best, outline)
    lay_out(figure, directions, names, labels, points[draws])
    return text.models_band(figure.update_layout(uirevision=f"{x},{y}"), models)


_WITHIN = "rgba(86,180,233,0.14)"
_UP_TO_PSI = [(at / 2, colour) for at, colour in theme.LOSS_SCALE]
_IN_AND_OUTSIDE = [*_UP_TO_PSI, (0.5, theme.GREY), (1.0, theme.GREY)]
"""Colours of losses up to ψ, and grey from there to 2ψ."""


def _finding(models: Any, inside: Mask | None, *, hidden: bool) -> tuple[str, str]:
    """Headline and the line below it; of a release what is public."""
    count = text.plural(models.n_draws, "model")
    if inside is None:
        return f"{count}, released", text.release_scope(models)
    if math.isnan(models.least):
        return f"{count}, of unknown loss", ""
    n_inside, n_outside = int(inside.sum()), int((~inside).sum())
    strays = f"{n_outside:,} outside ψ hidden" if hidden else f"◆ the {n_outside:,} outside ψ"
    about = text.join_notes("blue: lower loss", strays if n_outside else "")
    return f"{n_inside:,} of {count} {'is' if n_inside == 1 else 'are'} within ψ of the best", about


def _mark_set(figure: go.Figure, best: FloatArray, outline: Outline | None) -> list[Label]:
    """Add the exact outline and the best model; return their labels."""
    labels: list[Label] = []
    if outline is not None and len(outline.edge):
        edge = np.vstack([outline.edge, outline.edge[:1]]).T
        line = {"color": theme.SKY, "width": 1.5, "dash": "dash"}
        look: Any = {"mode": "lines", "line": line, "fill": "toself", "fillcolor": _WITHIN}
        marks.add_marks(figure, edge[0], edge[1], "exact outline", **look)
        figure.data = (figure.data[-1], *figure.data[:-1])  # below the dots
        labels.append((f"ψ = {text.number(outline.psi)}, exact", outline.edge))
    line = {"line": {"color": "white", "width": 1}}
    marks.mark_best(figure, best[:1], best[1:], "<br>%{x:.3f}, %{y:.3f}", 13, marker=line)
    return [("best model", best[None]), *labels]


def add_way(figure: go.Figure, points: FloatArray) -> list[Label]:
    """Add the way of one path from its public start, the model 0; return the label of the start."""
    way = np.vstack([np.zeros((1, 2)), points])
    look: Any = {"mode": "lines", "line": {"color": theme.GREY, "width": 1}, "opacity": 0.55}
    marks.add_marks(figure, way[:, 0], way[:, 1], "path", **look)
    return [("start", way[:1])]


def map_plane(
    coef: FloatArray, names: Sequence[str], x: str | None = None, y: str | None = None
) -> FloatArray:
    """Directions (2, p) of the axes: of the named parameters, or in which models differ most."""
    directions = plane(coef) if None in (x, y) else np.zeros((2, len(names)))
    for axis, name in enumerate((x, y)):
        if name not in (None, *names):
            raise ValueError(f"no feature is called {name!r}; the set has {', '.join(names)}")
        if name is not None:
            directions[axis] = np.equal(names, name)
    return directions


def plane(states: FloatArray) -> FloatArray:
    """Return two orthogonal directions (2, p) in which states (k, p) differ most."""
    if len(states) < 3 or states.shape[1] < 2:
        return np.eye(2, states.shape[1])
    _, _, directions = np.linalg.svd(states - states.mean(axis=0), full_matrices=False)
    # A sign that does not flip when a state is added: the largest entry is positive.
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return np.asarray((directions * signs[:, None])[:2])


_LONGEST = 16  # letters of each name beside an axis
_ALONE = 0.2  # of the largest weight: smaller ones of the other sign are not named
_ROOM = 0.08  # beside the outermost marks, as a share of an axis
_LETTER, _LINE = 0.024, 0.1  # of the least plot, 270 × 170 pixels
_GAP = np.array([0.04, 0.05])  # from a mark to its label, of the plot
_GRID = np.stack(np.meshgrid(*2 * [np.linspace(0.1, 0.9, 9)]), axis=-1).reshape(-1, 2)
_CROSSED, _COVERED = 9.0, 1.5  # costs of crossing a label or an edge, and of covering all dots
_MOST_DOTS = 500  # that are compared with a label
_SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0))


def lay_out(
    figure: go.Figure,
    directions: FloatArray,
    names: Sequence[str],
    labels: Sequence[Label],
    points: FloatArray | None = None,
) -> go.Figure:
    """Set the axes of a map, and write each label beside its mark where no other label stands."""
    groups = [places for _, places in labels] + ([] if points is None else [points])
    points = np.vstack(groups) if any(map(len, groups)) else np.zeros((1, 2))
    low, high = points.min(axis=0), points.max(axis=0)
    room = _ROOM * np.maximum(high - low, 1e-9)
    ends = np.stack([low - room, high + room], axis=1)
    for name, direction, end in zip(("xaxis", "yaxis"), directions, ends, strict=True):
        title = _axis_title(direction, names)
        figure.update_layout({name: {"title": title, "range": end.tolist(), "zeroline": False}})
    size = np.ptp(ends, axis=1)
    dots = (points[:: 1 + len(points) // _MOST_DOTS] - ends[:, 0]) / size
    boxes = list[tuple[FloatArray, FloatArray]]()
    for words, places in labels:
        half, marks_at = np.array([_LETTER * len(words), _LINE]) / 2, (places - ends[:, 0]) / size
        beside = [at + (half + _GAP) * side for at in marks_at for side in _SIDES]
        centres = np.vstack([beside, _GRID])
        nearest = np.linalg.norm(centres[:, None] - marks_at, axis=2).argmin(axis=1)
        away = np.linalg.norm(centres - marks_at[nearest], axis=1)
        crossed = [(np.abs(centres - at) < half + other).all(axis=1) for at, other in boxes]
        covered = (np.abs(centres[:, None] - dots) < half).all(axis=2).sum(axis=1)
        beyond = (np.abs(centres - 0.5) + half > 0.5).any(axis=1)
        cost = _CROSSED * (np.sum(crossed, axis=0) + beyond) + away
        cost += _COVERED * np.sqrt(covered / max(1, len(dots)))
        chosen = int(cost.argmin())
        boxes.append((centres[chosen], half))
        (x, y), (label_x, label_y) = places[nearest[chosen]], ends[:, 0] + centres[chosen] * size
        line = {"showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": theme.GREY}
        near = {"arrowcolor": "rgba(0,0,0,0)"} if chosen < len(beside) else {}
        figure.add_annotation(
            **{"x": x, "y": y, "text": words, "font": {"size": 12}, **line, **near},
            **{"ax": label_x, "ay": label_y, "axref": "x", "ayref": "y", "standoff": 6},
        )
    return figure.update_layout(showlegend=False)


def _axis_title(direction: FloatArray, names: Sequence[str]) -> str:
    """Name the parameter of an axis, or the two that count most to its left and right."""
    up, down = int(direction.argmax()), int(direction.argmin())
    if np.count_nonzero(direction) == 1:
        return f"coefficient of {text.short_name(names[up])}"
    right, left = text.short_names([names[up], names[down]], _LONGEST)
    return f"{left} ↔ {right}" if direction[down] < -_ALONE * direction[up] else f"mostly {right}"


def map_table(
    models: Any, x: str | None = None, y: str | None = None, *, outline: Outline | None = None
) -> pd.DataFrame:
    """Tabulate the place and the coefficients of every draw, or the vertices without draws."""
    if models is None and outline is not None:
        return pd.DataFrame(outline.edge, columns=["across", "up"]).rename_axis("vertex")
    table = coefficients_table(models)
    places = table.to_numpy() @ map_plane(table.to_numpy(), [*table], x, y).T
    for position, name in enumerate(("across", "up")):
        table.insert(position, name, places[:, position], allow_duplicates=True)
    return table


FIGURES = (
    registry.FigureSpec(
        name="map",
        title="Map of the models",
        short="Map",
        label="Models as dots in the two directions in which they differ most",
        definition=(
            "Each dot is a model, in the two directions in which the drawn models differ most, or "
            "by two coefficients. No model within ψ lies outside the <b>exact</b> outline. A line "
            "is the way of a <b>Langevin path</b> from the model 0: its cost grows with its steps, "
            "not with the number of models; <b>Stop</b> ends it."
        ),
        terms=("coefficient", "excess loss"),
        plot=plot_map,
        table=map_table,
        audience=registry.BOTH,
        families=registry.LINEAR,
        needs=("models", "path", "settings", "selection", "inside only"),
        selects="models",
    ),
)
