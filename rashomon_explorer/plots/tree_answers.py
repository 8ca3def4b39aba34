"""Figures of exact results about trees."""

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.sparse_trees import hit_rate_within
from rashomon_explorer.plots import registry, text, theme
from rashomon_explorer.plots.marks import add_marks
from rashomon_explorer.plots.trees import plot_trees
from rashomon_explorer.sets import PredictorSet

_MOST = 18


def plot_tree_sizes(sizes: pd.DataFrame, psi: float) -> go.Figure:
    """Plot the number of trees within every ψ, by leaves."""
    total = int(sizes[psi].sum())
    figure = theme.new_figure(
        f"{total:,} trees are within ψ = {text.number(psi)} of the best",
        "enumerated, not sampled; by leaves",
    )
    for colour_number, (leaves, row) in enumerate(sizes.iterrows()):
        counts = np.array([float(count) if count else np.nan for count in row])
        if np.isnan(counts).all():
            continue
        line = {"shape": "hv", "color": theme.CATEGORIES[colour_number % len(theme.CATEGORIES)]}
        hover = f"{leaves} leaves, ψ = %{{x:.4g}}: %{{y:,.0f}} trees"
        x, look = sizes.columns.to_numpy(dtype=float), {"mode": None, "line": line}
        add_marks(figure, x, counts, f"{leaves}", hover, **look)
    figure.add_vline(x=psi, line={"color": theme.GREY, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": "ψ: excess loss over the best tree"},
        yaxis={"title": "trees", "type": "log", "exponentformat": "power"},
        legend={"title": {"text": "leaves"}},
        showlegend=True,
    )
    return theme.curator_band(figure)


def plot_tree_questions(table: pd.DataFrame, psi: float) -> go.Figure:
    """Plot the least excess loss of trees with and without each question."""
    needed = int((table["psi_avoiding"] > psi).sum())
    ordered = table.sort_values(
        ["psi_avoiding", "psi_using"], ascending=[False, True], kind="stable"
    )
    figure_rows = ordered.iloc[:_MOST][::-1]
    cut = f"{_MOST} shown, the least important omitted · " if len(table) > _MOST else ""
    every = f"{needed} of {text.plural(len(table), 'question')} {'is' if needed == 1 else 'are'}"
    figure = theme.new_figure(
        f"{every if needed else 'No question is'} asked by every tree within ψ = "
        f"{text.number(psi)}",
        f"{cut}exact",
        height=max(360, 150 + 22 * len(figure_rows)),
    )
    names = [escape(str(name)) for name in figure_rows.index]
    for column, name, colour, symbol in (
        ("psi_using", "the best tree that asks it", theme.BLUE, "circle"),
        ("psi_avoiding", "the best tree that does not", theme.ORANGE, "diamond"),
    ):
        values = figure_rows[column].where(np.isfinite(figure_rows[column])).to_numpy(np.float32)
        hover = f"%{{y}}<br>{name}: %{{x:.4g}} above the best"
        marker = {"size": 9, "color": colour, "symbol": symbol}
        add_marks(figure, values, names, name, hover, marker=marker)
    figure.add_vline(x=psi, line={"color": theme.GREY, "dash": "dot"})
    figure.update_layout(xaxis={"title": "excess loss over the best tree"}, margin={"l": 170})
    return theme.curator_band(figure)


def plot_tree_parity(
    front: pd.DataFrame,
    psi: float,
    *,
    label: str = "1",
    column: str = "groups",
    exact: bool = True,
    drawn: pd.DataFrame | None = None,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the least gap between groups by loss of the trees."""
    how = "exact: no tree does better" if exact else "of 2,000 uniform draws: some trees do better"
    figure = theme.new_figure(
        _finding(front, psi), f"gap of the rate of {escape(label)}, by {escape(column)} · {how}"
    )
    if drawn is not None and len(drawn):
        ringed = np.isin(drawn.index.to_numpy(), list(highlight))
        dots = {
            "size": np.where(ringed, 10, 6),
            "color": np.where(ringed, theme.PURPLE, theme.GREY),
            "opacity": np.where(ringed, 1.0, 0.6),
        }
        look = {"marker": dots, "customdata": drawn.index.to_numpy()}
        hover = "draw %{customdata}: gap %{x:.3g}, %{y:.3g} above the best"
        add_marks(figure, drawn["gap"], drawn["beyond"], "drawn trees", hover, **look)
    gaps, excess = front["gap"].to_numpy(), front["beyond"].to_numpy()
    name = "least loss" if exact else "least loss of the draws"
    # A step function: a gap below that of a tree requires the loss of the next tree.
    look = {"line": {"shape": "vh", "color": theme.BLUE}, "marker": {"size": 7}}
    hover = "gap %{x:.3g}: %{y:.3g} above the best"
    add_marks(figure, gaps, excess, name, hover, mode="lines+markers", **look)
    for end, name, symbol, colour in (
        (0, "best tree", "x", theme.BEST_MODEL),
        (-1, "least gap", "diamond", theme.GREEN),
    ):
        hover = f"{name}: gap %{{x:.3g}}, %{{y:.3g}} above the best"
        marker = {"size": 12, "symbol": symbol, "color": colour}
        add_marks(figure, gaps[[end]], excess[[end]], name, hover, marker=marker)
    figure.add_hline(y=psi, line={"color": theme.GREY, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": "gap between groups (0 is equal)", "rangemode": "tozero"},
        yaxis={"title": "excess loss of a tree", "range": [-0.06 * psi, 1.08 * psi or 1e-6]},
        showlegend=True,
    )
    return theme.curator_band(figure)


def _finding(front: pd.DataFrame, psi: float) -> str:
    first, last = front.iloc[0], front.iloc[-1]
    if len(front) < 2:
        return (
            f"Within ψ = {text.number(psi)} no tree has a smaller gap than the best one's, "
            f"{text.number(float(first['gap']), 2)}"
        )
    ends = f"from {text.number(float(first['gap']), 2)} to {text.number(float(last['gap']), 2)}"
    return (
        f"Within ψ = {text.number(psi)} the gap falls {ends}, for "
        f"{text.number(float(last['beyond']), 2)} of loss"
    )


def plot_best_trees(models: PredictorSet, what: str) -> go.Figure:
    """Plot the best tree above the best one with a property, and state what the property costs."""
    excess = float(models.losses[1] - models.losses[0])
    much = f"{text.number(excess)} more" if excess > 0 else "no more"
    figure = plot_trees(models, [0, 1], columns=1)  # a phone has no room for two
    _, _, below = figure.layout.title.text.partition("<br>")
    figure.layout.title.text = f"The best tree {what} loses {much}<br>{below}"
    return registry.add_subtitle(figure, "the best above")


def plot_tree_list(models: PredictorSet, n_trees: int) -> go.Figure:
    """Plot the best of listed trees, and state how many there are within ψ."""
    within = f"{n_trees:,} trees are within ψ = {text.number(models.psi)}"
    if not models.n_draws:
        return text.models_band(
            theme.empty_figure(within, "No listed tree is of this kind."), models
        )
    figure = plot_trees(models, columns=2)
    chosen = "" if models.complete else f": {models.n_draws:,} of them listed"
    below = "the best of the list below, all in the table · yes to the left, no to the right"
    figure.layout.title.text = f"{within}{chosen}<br><span>{below}</span>"
    return figure


def tree_list_table(models: PredictorSet) -> pd.DataFrame:
    """Tabulate trees: leaves, loss and rules."""
    trees = range(models.n_draws)
    rules = ["; ".join(map(str.strip, models.text(tree).splitlines())) for tree in trees]
    columns = {"leaves": models.complexity(), "loss": models.losses, "tree": rules}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(trees), name="number"))


_POINTS = 121
_SURE = 0.9995


def tree_guarantee_table(planned: Plan) -> pd.DataFrame:
    """Tabulate the guaranteed share of draws within every ψ."""
    end = max(2 * planned.psi, planned.law_threshold, 1e-4)
    while hit_rate_within(planned, end) < _SURE and end < 1:
        end *= 1.5
    psis = np.unique([*np.linspace(0.0, min(end, 1.0), _POINTS), planned.psi, planned.law_psi])
    shares = [hit_rate_within(planned, float(psi)) for psi in psis]
    table = pd.DataFrame({"at least": shares}, index=pd.Index(psis, name="within ψ"))
    table.attrs["rounding"] = {"at least": "down"}
    return table


def plot_tree_guarantee(planned: Plan) -> go.Figure:
    """Plot the guaranteed share of drawn trees within every ψ."""
    table = tree_guarantee_table(planned)
    psis, shares = table.index.to_numpy(), table["at least"].to_numpy()
    finding = f"A drawn tree lies within ψ = {text.number(planned.psi)} with probability "
    finding += text.guaranteed_hits(planned)
    if planned.hit_rate is None:
        finding = (
            f"No hit rate is guaranteed for a drawn tree within ψ = {text.number(planned.psi)}"
        )
    n_trees = text.number(math.exp(min(planned.request.log_size, 700.0)), 2)
    figure = theme.new_figure(
        finding,
        f"of about {n_trees} trees · mean excess "
        f"{text.at_most(planned.excess_bound)} · no row is read",
    )
    hover, marker = "within ψ = %{x:.4g}: at least %{y:.1%}", {"size": 11, "symbol": "diamond"}
    look = {"mode": "lines", "line": {"color": theme.GREEN}}
    add_marks(figure, psis, shares, "guaranteed, at least", hover, **look)
    name, plan_point = f"ψ = {text.number(planned.psi)}", ([planned.psi], [planned.hit_rate_bound])
    add_marks(figure, *plan_point, name, hover, marker={"color": theme.GREEN, **marker})
    figure.add_vline(x=planned.psi, line={"color": theme.GREY, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": "ψ: excess loss over the best tree", "range": [0, float(psis[-1])]},
        yaxis={"title": "share of draws", "range": [-0.03, 1.03], "tickformat": ".0%"},
        showlegend=False,
        meta={"view": "plan"},
    )
    return figure


_SIZES = registry.FigureSpec(
    name="tree_sizes",
    title="How many trees are good",
    short="How many",
    label="Number of sparse trees within ψ of the best, by leaves",
    definition=(
        "Counts every tree within the leaf limit on the declared questions: |{t : L(t) ≤ min L + "
        "ψ}|, where L is the share of errors plus the penalty of each leaf. Nothing is drawn."
    ),
    plot=plot_tree_sizes,
    table=lambda sizes: sizes,
    families=registry.TREES,
    needs=("tree class",),
    marks=("exact",),
    slow=True,
    on_demand=True,
)
FIGURES = (
    _SIZES,
    replace(
        _SIZES,
        name="tree_questions",
        title="Which questions matter",
        short="Questions",
        label="Least loss of trees with and without each question",
        definition=(
            "For each question: excess loss of the best tree that asks it, and of the best tree "
            "that does not. The table adds the share of all trees within ψ that ask it."
        ),
        plot=plot_tree_questions,
        table=lambda table: table,
    ),
    replace(
        _SIZES,
        name="tree_parity",
        title="What do equal rates cost?",
        short="Exact gap against loss",
        label="Least loss of sparse trees against the gap between groups, and drawn trees",
        definition=(
            "The gap is the largest minus the smallest share of a group that gets the label. The "
            "line joins the trees within ψ that no other beats in both loss and gap: exact over "
            "all trees, or, if that is too expensive, over 2,000 uniform draws and marked as "
            "sampled. Dots are drawn trees. The tree with the least gap on these rows looks "
            "fairer than it is."
        ),
        plot=plot_tree_parity,
        table=lambda front: front,
        needs=("tree class", "column", "groups", "drawn", "selection"),
        selects="models",
    ),
    replace(
        _SIZES,
        name="witness",
        title="The best tree that …",
        short="",
        label="The best tree, and the best tree with the chosen property",
        definition=(
            "Above: the best tree. Below: the best tree that flips the label of the person "
            "selected last, or that asks or does not ask a question; or the tree within ψ whose "
            "rates of the last class differ least between groups. Exact unless marked as sampled: "
            "no tree of the class with this property has a lower loss."
        ),
        plot=plot_best_trees,
        table=None,
        code=plot_trees,
        needs=("tree class", "column"),
    ),
    replace(
        _SIZES,
        name="tree_list",
        title="All trees of the set",
        short="All trees",
        label="The best nine of all sparse trees within ψ, with their questions",
        definition=(
            "All trees within ψ, the best first: nine as figures, up to 100 in the table. Of more "
            "than 100 trees, 100 uniform draws. Filters choose by leaves and by a question that a "
            "tree asks or does not ask. No tree is charged, and none is part of a release."
        ),
        plot=plot_tree_list,
        table=tree_list_table,
        code=plot_trees,
        needs=("tree class",),
    ),
)
