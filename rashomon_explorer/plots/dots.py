"""One dot a person: whether good models agree on the label."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from rashomon_explorer.plots import marks, registry, text, theme

MOST_PEOPLE, _A_ROW = 100, 10
_COLOURS = (theme.BLUE, theme.ORANGE, theme.GREY)


def plot_dots(
    table: pd.DataFrame,
    psi: float,
    *,
    labels: Sequence[str] = ("0", "1"),
    note: str = "",
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot one dot a person: whether all models within ψ give it the last label, none or some.

    The table has the best model's ``label``, whether it is the last, and ``lower`` and ``upper``,
    bounds on the least ψ at which it flips; or the ``share`` of draws that give the last label.
    """
    kinds, people = label_kinds(table, psi), table.index.to_numpy()
    n_split = int((kinds == 1).sum())
    undecided = "upper" in table and ((table["lower"] < psi) & (psi < table["upper"])).any()
    how = "exact" if "upper" in table else "of the models on screen"
    figure = theme.new_figure(
        f"{'at least ' * bool(undecided)}{n_split} of {len(table)} people: good models disagree",
        text.join_notes(f"{how}, ψ = {text.number(psi)}", note),
    )
    first, last = (text.short_name(label) for label in labels)
    words = (f"always {last}", "depends on the model", f"always {first}")
    when = [f"flips from ψ = {text.number(least)} on" for least in table.get("upper", ())]
    when += [f"{last} by {text.percent(share)} of the models" for share in table.get("share", ())]
    hover = [f"<b>person {k}</b><br>{end}" for k, end in zip(people, when, strict=True)]
    ringed, place = np.isin(people, list(highlight)), np.arange(len(table))
    line = {"width": np.where(ringed, 3, 0), "color": theme.PURPLE}
    marker = {"size": 13, "color": [_COLOURS[kind] for kind in kinds], "line": line}
    look = {"marker": marker, "customdata": people, "showlegend": False}
    marks.add_marks(figure, place % _A_ROW, place // _A_ROW, "person", hover, **look)
    for colour, kind in zip(_COLOURS, words, strict=True):
        marks.add_marks(figure, [None], [None], kind, marker={"size": 13, "color": colour})
    axes = {"visible": False, "fixedrange": True}
    rows = max(1, -(-len(table) // _A_ROW))
    figure.update_xaxes(range=[-0.5, _A_ROW - 0.5], **axes)
    figure.update_yaxes(range=[rows - 0.5, -0.5], **axes).update_layout(margin={"l": 12})
    return theme.curator_band(figure)


def label_kinds(table: pd.DataFrame, psi: float) -> NDArray[np.intp]:
    """Kind (n,) of each person: 0 always the last label, 1 both, 2 never."""
    if "share" in table:
        return np.select([table["share"] == 1.0, table["share"] == 0.0], [0, 2], 1)
    return np.where(table["upper"] <= psi, 1, np.where(table["label"], 0, 2))


FIGURES = (
    registry.FigureSpec(
        name="dots",
        title="Good models disagree about some people",
        short="People, one by one",
        label="One dot a person: the same label from every good model, or not",
        definition=(
            "Rows from a fixed random sample. A label <b>depends on the model</b> if some model "
            "with L(θ) ≤ min L + ψ gives another one than the best: <b>exact</b> for convex losses "
            "and for trees; else by the models on screen, which can miss a flip."
        ),
        plot=plot_dots,
        table=lambda table: table,
        needs=("models", "fitted", "settings", "psi", "marked people", "rows"),
        selects="people",
        slow=True,
        of_people=True,
    ),
)
