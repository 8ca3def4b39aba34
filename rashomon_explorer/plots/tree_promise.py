"""What is promised of a drawn tree within every ψ; no row is read."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.planning.weakness import has_hit_rate
from rashomon_explorer.plots.text import at_most, number, promised_hits
from rashomon_explorer.plots.theme import GREEN, GREY, new_figure

_POINTS = 121
_SURE = 0.9995


def tree_promise_table(planned: TreePlan) -> pd.DataFrame:
    """List the share of draws that is promised within every ψ.

    Parameters
    ----------
    planned : TreePlan

    Returns
    -------
    pandas.DataFrame
        Column ``at least``, rounded down where it is shown; a row a ψ.
    """
    end = max(2 * planned.psi, planned.law_psi, 1e-4)
    while planned.hit_rate(end) < _SURE and end < 1:
        end *= 1.5
    psis = np.unique([*np.linspace(0.0, min(end, 1.0), _POINTS), planned.psi, planned.law_psi])
    found = [planned.hit_rate(float(psi)) for psi in psis]
    table = pd.DataFrame({"at least": found}, index=pd.Index(psis, name="within ψ"))
    table.attrs["rounding"] = {"at least": "down"}
    return table


def plot_tree_promise(planned: TreePlan) -> go.Figure:
    """Plot the share of drawn trees that is promised within every ψ of the best.

    Parameters
    ----------
    planned : TreePlan
        Known before a row is read.

    Returns
    -------
    plotly.graph_objects.Figure
        P(within ψ) ≥ 1/(1 + (T − 1)·e^(−β(ψ − s))) for T trees, with s where the law is flat.

    Examples
    --------
    >>> from rashomon_explorer.planning.trees import plan_trees
    >>> planned = plan_trees(6907, log_size=14.6, most_leaves=5, psi=0.02, epsilon=0.25)
    >>> plot_tree_promise(planned).layout.title.text.split("<br>")[0]
    'A drawn tree lies within ψ = 0.02 with probability ≥ 89%'
    """
    table = tree_promise_table(planned)
    psis, shares = table.index.to_numpy(), table["at least"].to_numpy()
    finding = f"A drawn tree lies within ψ = {number(planned.psi)} with probability "
    finding += promised_hits(planned)
    if not has_hit_rate(planned):
        finding = f"Within ψ = {number(planned.psi)} nothing can be promised of a drawn tree"
    figure = new_figure(
        finding,
        f"of e^{planned.log_size:.1f} trees · mean excess {at_most(planned.excess_bound)} · "
        "no row is read",
    )
    figure.add_scatter(
        x=psis,
        y=shares,
        mode="lines",
        name="promised, at least",
        line={"color": GREEN},
        hovertemplate="within ψ = %{x:.4g}: at least %{y:.1%}<extra></extra>",
    )
    figure.add_scatter(
        x=[planned.psi],
        y=[planned.hit_rate_bound],
        mode="markers",
        name=f"ψ = {number(planned.psi)}",
        marker={"size": 11, "color": GREEN, "symbol": "diamond"},
        hovertemplate="within ψ = %{x:.4g}: at least %{y:.1%}<extra></extra>",
    )
    figure.add_vline(x=planned.psi, line={"color": GREY, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": "ψ: loss beyond the best tree", "range": [0, float(psis[-1])]},
        yaxis={"title": "share of draws", "range": [-0.03, 1.03], "tickformat": ".0%"},
        showlegend=False,
        meta={"view": "plan"},
    )
    return figure
