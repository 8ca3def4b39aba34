"""Figures and tables of what a plan guarantees."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import fitted_set
from rashomon_explorer.mechanisms import bounds
from rashomon_explorer.mechanisms.bounds import ExcessLaw, quadratic_law
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.plots import registry, text, theme
from rashomon_explorer.plots.marks import add_marks, shade, threshold_line
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.sets import RashomonSet

_POINTS = 241
_HEADROOM = 1.08
_LINE = 16  # height in pixels of a line under the title
_MOST_STEPS = 2_000


def plot_bounds(models: RashomonSet) -> go.Figure:
    """Plot the measured and the guaranteed share of draws below every excess loss.

    The guarantee is the law for convex losses (`rashomon_explorer.mechanisms.bounds.convex_law`),
    known before any row is read. The curve of the draws may be below it only by chance, within its
    95 % band (Dvoretzky, Kiefer and Wolfowitz). The law of a quadratic loss, which is exact, shows
    how conservative the guarantee is.

    Parameters
    ----------
    models : RashomonSet
        Draws with their losses (curator only).

    Returns
    -------
    plotly.graph_objects.Figure
        Steps of the draws with their band, the guarantee, and ψ. Points are hit rates; ticks at
        the bottom are mean excess losses.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, which has no losses.
    ValueError
        If draws were selected, or do not come from an estimator, because they have no guarantee.
    """
    models = text.need_curator(models, "plot_bounds")
    text.need_as_drawn(models, "plot_bounds")
    law = excess_law(models.plan)
    excess = np.sort(np.maximum(models.excess, 0.0))
    end = _end(excess, models.plan, law)
    notes = _found(models, law)
    figure = theme.new_figure("Measured and guaranteed excess loss", text.join_notes(*notes))
    figure.update_layout(margin={"t": figure.layout.margin.t + _LINE * (len(notes) - 1)})
    _add_measured(figure, excess, end)
    _add_laws(figure, models.plan, law, end)
    if len(excess):
        psi = models.plan.psi  # the ψ of the guarantee; the set may use another threshold
        hits = models.share_within(psi)
        _add_marks(figure, "measured", hits, float(excess.mean()), psi)
    _finish(figure, models.plan, law, end)
    return text.models_band(figure, models)


def plot_guarantee(planned: Plan) -> go.Figure:
    """Plot the guaranteed share of draws below every excess loss; no row is read.

    Parameters
    ----------
    planned : Plan
        Plan of future draws, or of draws whose losses must not be shown.

    Returns
    -------
    plotly.graph_objects.Figure
        The figure of `plot_bounds` without the draws.
    """
    law = excess_law(planned)
    end = _end(np.zeros(0), planned, law)
    figure = theme.new_figure(
        "Guarantee for one draw",
        f"within ψ {text.at_least(_hits(planned, law))} · mean excess {text.at_most(law.mean)}",
    )
    _add_laws(figure, planned, law, end)
    _finish(figure, planned, law, end)
    # At the place of the band in other figures; below the axis it would take half of a low card.
    legend = {"y": 1.0, "yanchor": "bottom"}
    return figure.update_layout(meta={"view": "plan"}, legend=legend, margin={"b": 52})


def excess_law(planned: Plan) -> ExcessLaw:
    """Return the law that stochastically bounds the excess loss of a draw; see `convex_law`."""
    text.need_exact_draws(planned, "excess_law")
    return bounds.convex_law(
        p=planned.p, beta=float(planned.beta), psi=float(planned.law_threshold)
    )


def _hits(planned: Plan, law: ExcessLaw) -> float:
    """Guaranteed share of draws within the ψ of the set, which can differ from that of the law."""
    return float(law.cdf(planned.psi))


def _add_laws(figure: go.Figure, planned: Plan, law: ExcessLaw, end: float) -> None:
    grid = np.linspace(0, end, _POINTS)
    usual = quadratic_law(p=planned.p, beta=law.beta, psi=law.psi)
    points = [
        f"guaranteed: at least {text.number(100 * share, rounding='down')}% with excess loss "
        f"{text.at_most(excess)}"
        for excess, share in zip(grid, law.cdf(grid), strict=True)
    ]
    quadratic = "a quadratic loss: %{y:.1%} with excess loss ≤ %{x:.4g}"
    for name, bound, hover, colour, dash in (
        ("guaranteed, at least", law, points, theme.GREEN, "solid"),
        ("a quadratic loss", usual, quadratic, theme.GREY, "dot"),
    ):
        x, y = grid.astype(np.float32), bound.cdf(grid).astype(np.float32)
        line = {"color": colour, "width": 2, "dash": dash}
        add_marks(figure, x, y, name, hover, mode="lines", line=line)


def _finish(figure: go.Figure, planned: Plan, law: ExcessLaw, end: float) -> None:
    _add_marks(figure, "guaranteed", _hits(planned, law), law.mean, planned.psi)
    # Above ψ the curves have risen, so that the text overlaps nothing.
    threshold_line(figure, planned.psi, left=planned.psi > 0.8 * end, y=0.4, yanchor="middle")
    figure.update_layout(
        xaxis={"title": "excess loss above the certified minimum", "range": [0, end]},
        yaxis={"title": "share of draws", "range": [-0.03, 1.03], "tickformat": ".0%"},
        margin={"b": 96},
    )


def _found(models: RashomonSet, law: ExcessLaw) -> list[str]:
    guarantee = text.at_least(_hits(models.plan, law))
    if not models.n_draws:
        return [f"no draws · guaranteed {guarantee} in the set"]
    words = [
        f"in the set {text.percent(models.share_within(models.plan.psi))}, guaranteed {guarantee}",
        f"mean excess {text.number(float(models.excess.mean()))}, guaranteed "
        f"{text.at_most(law.mean)}",
    ]
    traits = mechanism_traits(models.mechanism)
    if not traits.planned_law:
        words.append(traits.unplanned or f"guaranteed for exact draws, not for {models.mechanism}")
    return words


def _end(excess: FloatArray, planned: Plan, law: ExcessLaw) -> float:
    # Far enough that the guaranteed share is almost 1, but no farther than necessary.
    reach = law.psi + (law.shape + 2 * math.sqrt(law.shape)) / law.beta
    far = max(float(excess.max(initial=0.0)), min(reach, 4 * law.mean))
    return _HEADROOM * (far if planned.law_psi is None else max(far, planned.psi))


def _add_measured(figure: go.Figure, excess: FloatArray, end: float) -> None:
    count = len(excess)
    if not count:
        return
    steps = np.unique(np.linspace(0, count - 1, min(count, _MOST_STEPS)).round().astype(int))
    ends_of_steps = np.concatenate([[0.0], excess[steps], [end]])
    shares = np.concatenate([[0.0], (steps + 1) / count, [1.0]])
    slack = math.sqrt(math.log(2 / 0.05) / (2 * count))
    x, look = ends_of_steps.astype(np.float32), {"marker": {"color": theme.SKY}}
    upper, lower = np.minimum(shares + slack, 1), np.maximum(shares - slack, 0)
    ends = upper.astype(np.float32), lower.astype(np.float32)
    shade(figure, x, ends, ("upper", "chance, 95 %"), "rgba(86,180,233,0.25)", shape="hv", **look)
    hover = "%{y:.1%} of the draws have excess loss ≤ %{x:.4g}"
    line = {"shape": "hv", "color": theme.BLUE, "width": 2}
    add_marks(figure, x, shares.astype(np.float32), "draws", hover, mode="lines", line=line)


_MARKS: dict[str, tuple[str, Callable[[float], str], Callable[[float], str]]] = {
    "measured": (theme.BLUE, text.percent, text.number),
    "guaranteed": (theme.GREEN, text.at_least, text.at_most),
}


def _add_marks(figure: go.Figure, name: str, hit_rate: float, mean: float, psi: float) -> None:
    colour, share, loss = _MARKS[name]
    line = {"color": colour, "width": [1, 3]}
    symbols = {"color": colour, "size": [9, 13], "symbol": ["circle", "line-ns"], "line": line}
    hover = [f"hit rate {name}: {share(hit_rate)}", f"mean excess loss {name}: {loss(mean)}"]
    look = {"showlegend": False, "cliponaxis": False, "marker": symbols}
    add_marks(figure, [psi, mean], [hit_rate, 0], name, hover, **look)


GTU = "GTU: Ganesh, Thakurta and Upadhyay, COLT 2023"
"""Source of the theorems' abbreviation."""

_MISSING = float("nan")
_NO_RIDGE = "needs ridge > 0"
_PAPERS = ", by the paper"
_BOUND = {"≥": text.at_least, "≤": text.at_most}


@dataclass(frozen=True)
class GuaranteeRow:
    """Proved bound and the quantity that it bounds."""

    name: str
    theorem: str
    sense: str  # "≥" or "≤"
    bound: float  # NaN if the theorem's conditions fail
    measured: float = _MISSING  # from private rows; NaN if one table does not show it
    is_share: bool = False
    missing: str = ""  # why there is no bound

    @property
    def is_weaker(self) -> bool:
        """Whether the list has a stronger bound on the same quantity."""
        return self.name.endswith(_PAPERS)

    @property
    def promised(self) -> str:
        """Bound as text, rounded so that it stays true."""
        return self.missing or _BOUND[self.sense](self.bound, share=self.is_share)

    @property
    def found(self) -> str:
        """The measured value as text; a dash if there is none."""
        if math.isnan(self.measured):
            return "–"
        return text.percent(self.measured) if self.is_share else text.number(self.measured)


def list_guarantees(
    source: Plan | RashomonSet, constants: Constants | None = None
) -> list[GuaranteeRow]:
    """List the bounds proved for exact draws of a plan, with measured values of a set.

    Parameters
    ----------
    source : Plan or RashomonSet
        For a plan measured values are missing; those of a set are from private rows (curator).
    constants : Constants, optional
        Public constants, from an estimator's ``constants``, which the bounds on stability and
        population risk need.

    Returns
    -------
    list of GuaranteeRow
        Hit rate and mean excess loss, both by the sharp bounds and by GTU; with ``constants`` also
        uniform stability and population risk.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> clf = RashomonClassifier(epsilon=4.0, radius=4.0, ridge=0.1, n_draws=20)
    >>> for row in list_guarantees(clf.plan(50_000, 10), clf.constants(50_000, 10)):
    ...     print(row.promised, row.name)
    ≥ 88% Draws within ψ
    ≥ 0% Draws within ψ, by the paper
    ≤ 0.0186 Mean excess loss
    ≤ 0.0224 Mean excess loss, by the paper
    ≤ 4.58 Change of a row's mean loss
    ≤ 4.61 Mean excess loss on new rows
    """
    source = fitted_set(source)
    text.need_as_drawn(source, "list_guarantees")
    models = source if isinstance(source, RashomonSet) and source.n_draws else None
    planned = source.plan if isinstance(source, RashomonSet) else source
    text.need_exact_draws(planned, "list_guarantees")
    p, beta, psi = planned.p, planned.beta, planned.law_threshold
    psi_of_set = planned.psi  # the ψ of the guarantee; the set may use another threshold
    crowded = "" if planned.law_psi is None else "for the law with the set's ψ, not for that at 0"
    inside = models.share_within(psi_of_set) if models else _MISSING
    excess = float(models.excess.mean()) if models else _MISSING
    hits, mean = "Draws within ψ", "Mean excess loss"
    sharp = "sharp for convex losses: theory"
    by_paper = _MISSING if crowded else bounds.hit_probability_from_excess(p=p, beta=beta, psi=psi)
    sharp_mean, paper_mean = (
        excess_law(planned).mean,
        bounds.expected_excess(p=p, beta=beta, psi=psi),
    )
    return [
        GuaranteeRow(hits, f"{sharp} §2", "≥", planned.hit_rate_bound, inside, True),
        GuaranteeRow(f"{hits}{_PAPERS}", "GTU Theorem D.6", "≥", by_paper, inside, True, crowded),
        GuaranteeRow(mean, f"{sharp} §8", "≤", sharp_mean, excess),
        GuaranteeRow(f"{mean}{_PAPERS}", "p/β + ψ: GTU Theorem 2.4", "≤", paper_mean, excess),
        *(_on_new_rows(planned, constants) if constants is not None else []),
    ]


def _on_new_rows(planned: Plan, known: Constants) -> list[GuaranteeRow]:
    """Bounds on stability and population risk, which need a ridge."""
    moved = risk = _MISSING
    if known.m > 0:
        p, beta, psi = planned.p, planned.beta, planned.law_threshold
        constants: dict[str, Any] = {"L": known.L, "m": known.m, "n": known.n, "psi": psi}
        moved = bounds.uniform_stability(**constants)
        risk = bounds.population_risk(p=p, beta=beta, **constants)
    stable, new_rows = "Change of a row's mean loss", "Mean excess loss on new rows"
    replaced = "if one record is replaced: GTU Theorem 2.5"
    population = "of the same population: GTU Theorem 2.6"
    missing = "" if known.m > 0 else _NO_RIDGE
    return [
        GuaranteeRow(stable, replaced, "≤", moved, missing=missing),
        GuaranteeRow(new_rows, population, "≤", risk, missing=missing),
    ]


def excess_table(source: Plan | RashomonSet) -> pd.DataFrame:
    """Tabulate excess losses and the guaranteed share of draws with at most each of them."""
    text.need_as_drawn(source, "excess_table")
    planned = source.plan if isinstance(source, RashomonSet) else source
    law = excess_law(planned)
    grid = np.unique([*np.linspace(0, 4 * law.mean, 13), planned.psi])
    shares = {"guaranteed, at least": law.cdf(grid)}
    if isinstance(source, RashomonSet) and source.n_draws:
        shares["draws"] = (source.excess[:, None] <= grid).mean(axis=0)
    frame = pd.DataFrame(shares, index=pd.Index(grid, name="excess loss at most"))
    frame.attrs["rounding"] = {"excess loss at most": "up", "guaranteed, at least": "down"}
    return frame


FIGURES = (
    registry.FigureSpec(
        name="bounds",
        title="Measured and guaranteed excess loss",
        short="Measured excess",
        label="Share of draws below each excess loss, and the guaranteed share",
        terms=("guaranteed hit rate", "expected excess loss", "hit rate"),
        plot=plot_bounds,
        release_plot=plot_guarantee,
        table=excess_table,
        audience=registry.BOTH,
        families=registry.LINEAR,
        needs=("plan", "drawn"),
    ),
    registry.FigureSpec(
        name="promise",
        title="Guarantees",
        label="Guaranteed share of draws below each excess loss",
        terms=("guaranteed hit rate", "expected excess loss"),
        plot=plot_guarantee,
        table=excess_table,
        audience=registry.BOTH,
        needs=("plan",),
    ),
)
