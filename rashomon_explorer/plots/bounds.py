"""What was measured beside what is promised: the excess losses of the draws and their bounds."""

import math
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.bounds import ExcessLaw, convex_law, quadratic_law
from rashomon_explorer.plots._checks import need_as_drawn, need_curator, need_exact_draws
from rashomon_explorer.plots.bands import models_band
from rashomon_explorer.plots.text import at_least, at_most, number, percent
from rashomon_explorer.plots.theme import (
    BLUE,
    GREEN,
    GREY,
    SKY,
    VERMILLION,
    new_figure,
)
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.samplers import traits_of

_POINTS = 241
_HEADROOM = 1.08
_LINE = 16  # pixels of a line under the title
_MOST_STEPS = 2_000


def plot_bounds(models: RashomonSet) -> go.Figure:
    """Plot the share of the draws below every excess loss beside the share that is promised.

    The promise is that of a convex loss (`rashomon_explorer.planning.bounds.convex_law`), known
    before any row was read: the curve of the draws may pass below it only by chance, within its 95
    % band (Dvoretzky, Kiefer and Wolfowitz). A quadratic loss, for which the law is exact, is drawn
    too: it shows how cautious the promise is.

    Parameters
    ----------
    models : RashomonSet
        The draws with their losses (curator only).

    Returns
    -------
    plotly.graph_objects.Figure
        Steps of the draws with their band, the promise, and ψ; the points are the hit rates,
        the ticks at the foot the mean excess losses.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, which has no losses.
    ValueError
        If some draws were chosen out, or were not an estimator's: nothing was promised of them.
    """
    models = need_curator(models, "plot_bounds")
    need_as_drawn(models, "plot_bounds")
    promise = promised_law(models.plan)
    excess = np.sort(np.maximum(models.excess, 0.0))
    end = _end(excess, models.plan, promise)
    found = _found(models, promise)
    figure = new_figure("What was measured, beside what is promised", "<br>".join(found))
    figure.update_layout(margin={"t": figure.layout.margin.t + _LINE * (len(found) - 1)})
    _add_measured(figure, excess, end)
    _add_laws(figure, models.plan, promise, end)
    if len(excess):
        psi = models.plan.psi  # of which it is promised, whatever the draws are held against now
        hits = models.share_within(psi)
        _add_marks(figure, "measured", hits, float(excess.mean()), psi)
    _finish(figure, models.plan, promise, end)
    return models_band(figure, models)


def plot_promise(planned: Plan) -> go.Figure:
    """Plot the share of draws that is promised below every excess loss; no row is read.

    Parameters
    ----------
    planned : Plan
        Before a draw, or of draws whose losses may not be shown.

    Returns
    -------
    plotly.graph_objects.Figure
        What `plot_bounds` shows without the draws.
    """
    promise = promised_law(planned)
    end = _end(np.zeros(0), planned, promise)
    figure = new_figure(
        "What is promised of a draw",
        f"within ψ {at_least(_hits(planned, promise))} · mean excess {at_most(promise.mean)}",
    )
    _add_laws(figure, planned, promise, end)
    _finish(figure, planned, promise, end)
    # Where other figures have their band: below the axis it would take half of a low card.
    legend = {"y": 1.0, "yanchor": "bottom"}
    return figure.update_layout(meta={"view": "plan"}, legend=legend, margin={"b": 52})


def promised_law(planned: Plan) -> ExcessLaw:
    """Return the law that the excess loss of a draw never exceeds; see `convex_law`."""
    need_exact_draws(planned, "a promised law")
    return convex_law(p=planned.p, beta=float(planned.beta), psi=float(planned.drawn_psi))


def _hits(planned: Plan, promise: ExcessLaw) -> float:
    """Promised share of draws within the ψ of the set, which may not be the law's own."""
    return float(promise.cdf(planned.psi))


def _add_laws(figure: go.Figure, planned: Plan, promise: ExcessLaw, end: float) -> None:
    places = np.linspace(0, end, _POINTS)
    usual = quadratic_law(p=planned.p, beta=promise.beta, psi=promise.psi)
    _add_law(figure, places, promise, "promised, at least", GREEN, "solid")
    _add_law(figure, places, usual, "a quadratic loss", GREY, "dot")
    figure.update_traces(
        selector={"name": "promised, at least"},
        hovertext=[_kept(*point) for point in zip(places, promise.cdf(places), strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _kept(place: float, share: float) -> str:
    promised = number(100 * share, rounding="down")
    return f"promised: at least {promised}% with excess loss {at_most(place)}"


def _finish(figure: go.Figure, planned: Plan, promise: ExcessLaw, end: float) -> None:
    _add_marks(figure, "promised", _hits(planned, promise), promise.mean, planned.psi)
    _add_psi(figure, planned.psi, end)
    figure.update_layout(
        xaxis={"title": "excess loss above the certified minimum", "range": [0, end]},
        yaxis={"title": "share of draws", "range": [-0.03, 1.03], "tickformat": ".0%"},
        margin={"b": 96},
    )


def _found(models: RashomonSet, promise: ExcessLaw) -> list[str]:
    """Say what was found, in lines short enough for a card."""
    promised = at_least(_hits(models.plan, promise))
    if not models.n_draws:
        return [f"no draws · promised {promised} in the set"]
    words = [
        f"in the set {percent(models.share_within(models.plan.psi))}, promised {promised}",
        f"mean excess {number(float(models.excess.mean()))}, promised {at_most(promise.mean)}",
    ]
    known = traits_of(models.sampler)
    if not known.planned_law:
        words.append(known.unplanned or f"promised of exact draws, not of {models.sampler}")
    return words


def _end(excess: FloatArray, planned: Plan, promise: ExcessLaw) -> float:
    # So far that the promise is nearly kept for all draws, but no farther than the eye needs.
    reach = promise.psi + (promise.shape + 2 * math.sqrt(promise.shape)) / promise.beta
    far = max(float(excess.max(initial=0.0)), min(reach, 4 * promise.mean))
    return _HEADROOM * (far if planned.law_psi is None else max(far, planned.psi))


def _add_measured(figure: go.Figure, excess: FloatArray, end: float) -> None:
    count = len(excess)
    if not count:
        return
    shown = np.unique(np.linspace(0, count - 1, min(count, _MOST_STEPS)).round().astype(int))
    places = np.concatenate([[0.0], excess[shown], [end]])
    shares = np.concatenate([[0.0], (shown + 1) / count, [1.0]])
    slack = math.sqrt(math.log(2 / 0.05) / (2 * count))
    for name, height, fill in (
        ("upper", np.minimum(shares + slack, 1), None),
        ("chance, 95 %", np.maximum(shares - slack, 0), "tonexty"),
    ):
        figure.add_scatter(
            x=places.astype(np.float32),
            y=height.astype(np.float32),
            mode="lines",
            line={"shape": "hv", "width": 0},
            fill=fill,
            fillcolor="rgba(86,180,233,0.25)",
            marker={"color": SKY},
            name=name,
            showlegend=fill is not None,
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=places.astype(np.float32),
        y=shares.astype(np.float32),
        mode="lines",
        line={"shape": "hv", "color": BLUE, "width": 2},
        name="draws",
        hovertemplate="%{y:.1%} of the draws have excess loss ≤ %{x:.4g}<extra></extra>",
    )


def _add_law(
    figure: go.Figure,
    places: FloatArray,
    law: ExcessLaw,
    name: str,
    colour: str,
    dash: str,
) -> None:
    figure.add_scatter(
        x=places.astype(np.float32),
        y=law.cdf(places).astype(np.float32),
        mode="lines",
        line={"color": colour, "width": 2, "dash": dash},
        name=name,
        hovertemplate=f"{name}: %{{y:.1%}} with excess loss ≤ %{{x:.4g}}<extra></extra>",
    )


_MARKS: dict[str, tuple[str, Callable[[float], str], Callable[[float], str]]] = {
    "measured": (BLUE, percent, number),
    "promised": (GREEN, at_least, at_most),
}


def _add_marks(figure: go.Figure, name: str, hit_rate: float, mean: float, psi: float) -> None:
    colour, share, loss = _MARKS[name]
    figure.add_scatter(
        x=[psi, mean],
        y=[hit_rate, 0],
        mode="markers",
        name=name,
        showlegend=False,
        cliponaxis=False,
        marker={
            "color": colour,
            "size": [9, 13],
            "symbol": ["circle", "line-ns"],
            "line": {"color": colour, "width": [1, 3]},
        },
        hovertext=[
            f"hit rate {name}: {share(hit_rate)}",
            f"mean excess loss {name}: {loss(mean)}",
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _add_psi(figure: go.Figure, psi: float, end: float) -> None:
    left = psi > 0.8 * end
    figure.add_vline(x=psi, line={"color": VERMILLION, "width": 2, "dash": "dash"})
    figure.add_annotation(
        x=psi,
        y=0.4,  # beyond ψ the curves have risen, so that the words stand clear
        yref="paper",
        text=f"ψ = {number(psi)}",
        showarrow=False,
        xanchor="right" if left else "left",
        yanchor="middle",
        xshift=-6 if left else 6,
        font={"size": 12},
    )
