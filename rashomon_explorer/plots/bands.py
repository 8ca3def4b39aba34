"""The band of a figure of models: who may see it, what it cost, and whether it may mean nothing."""

from typing import Any

import plotly.graph_objects as go

from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.planning.weakness import has_hit_rate, weakness
from rashomon_explorer.plots.text import at_most
from rashomon_explorer.plots.theme import add_band, curator_band
from rashomon_explorer.rounding import hit_rate_text


def models_band(figure: go.Figure, models: Any) -> go.Figure:
    """Mark a figure that was computed from private rows, and say if its draws may be useless.

    >>> from rashomon_explorer import RashomonClassifier
    >>> from rashomon_explorer.plots.theme import new_figure
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 2_500, [1, 1, 0, 0] * 2_500
    >>> models = RashomonClassifier(n_draws=5, random_state=0).fit(X, y).rashomon_set_
    >>> models_band(new_figure("Losses"), models).layout.shapes[0].label.text
    'curator view: not private'
    """
    guaranteed = models.guarantee.holds
    doubt = doubt_of(models) if guaranteed else ""
    if not doubt:
        return curator_band(figure, guaranteed=guaranteed)
    # A line of its own: cards of small windows are too narrow for both.
    return add_band(figure, "curator", f"curator view: not private<br>{doubt}")


def doubt_of(models: Any) -> str:
    """Say in a few words what little is promised of draws; empty where it is enough.

    Draws that were chosen are promised nothing, and models of other sources neither.

    >>> from rashomon_explorer.planning import plan
    >>> from rashomon_explorer.planning.warn_weak import said_elsewhere
    >>> with said_elsewhere():
    ...     doubt_of(plan(500, 11, 0.02, radius=4.0, row_norm=1.5, epsilon=1.0))
    'hit rate promised ≥ 0%: perhaps no use'
    """
    planned = models if isinstance(models, Plan | TreePlan) else getattr(models, "plan", None)
    chosen = planned is not models and not getattr(models, "as_drawn", True)
    if not isinstance(planned, Plan | TreePlan) or chosen or not weakness(planned):
        return ""
    if has_hit_rate(planned):
        return f"hit rate promised ≥ {hit_rate_text(planned.hit_rate_bound)}: perhaps no use"
    return f"excess promised {at_most(planned.weighed_excess)}: perhaps no use"
