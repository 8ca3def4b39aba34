"""Figures of fairness gaps, and of multiplicity by group."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.measures import fairness_audit, multiplicity_by_person_group
from rashomon_explorer.measures.fairness import FairnessAudit
from rashomon_explorer.plots import marks, registry, text, theme

_MOST_DOTS = 4_000


def plot_frontier(
    audit: FairnessAudit,
    gap: str | None = None,
    *,
    by: str | None = None,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot accuracy (or loss) against a group gap, with one dot for each model inside ψ.

    Parameters
    ----------
    audit : FairnessAudit
        Result of ``measures.fairness_audit`` (curator only).
    gap : str, optional
        One of ``audit.gaps``; by default the first.
    by : str, optional
        ``"accuracy"`` or ``"loss"``, as in ``audit.frontier``.
    highlight : sequence of int
        Indices of models to mark with rings.

    Returns
    -------
    plotly.graph_objects.Figure
        The frontier is the line; × is the best model and ◇ the least unfair one.

    Raises
    ------
    TypeError
        If given any other type, because gaps are computed from private rows.
    ValueError
        If a name is unknown.
    """
    audit = _need_audit(audit, "plot_frontier")
    gap = audit.gaps[0] if gap is None else gap
    by = audit.quality if by is None else by
    fairest = audit.least_unfair(gap)
    draws, note = text.subsample_points(len(audit.table))
    note = text.join_notes("selected on these rows: optimistic for others", note)
    figure = theme.new_figure(_trade_off(audit, gap, by, fairest), note)
    figure.add_trace(_dots(audit.table.iloc[draws], gap, by, audit.psi, highlight))
    steps = audit.frontier(gap, by=by, with_best=True).iloc[
        ::-1
    ]  # from the least unfair on: the quality that a gap of at most x allows
    look = {"mode": "lines", "line": {"shape": "hv", "color": theme.GREY, "width": 1.6}}
    x, y = (steps[name].to_numpy(dtype=np.float32) for name in (gap, by))
    marks.add_marks(figure, x, y, "frontier", **look)
    edge = {"size": 13, "line": {"color": "white", "width": 1}}
    for name, model, symbol, colour in (
        ("best model", audit.best, "x", theme.BEST_MODEL),
        ("least unfair", fairest, "diamond", theme.GREEN),
    ):
        marker = {"symbol": symbol, "color": colour, **edge}
        hover = f"{name}<br>%{{x:.4f}}, %{{y:.4f}}"
        marks.add_marks(figure, [model[gap]], [model[by]], name, hover, marker=marker)
    equal = 1 if gap.endswith("_ratio") else 0
    xaxis = {"title": f"{_words(gap)} ({equal} is equal)", "zeroline": True}
    figure.update_layout(
        xaxis={**xaxis, "rangemode": "normal" if equal else "tozero"},
        yaxis={"title": _words(by), "tickformat": ".1%" if by == "accuracy" else None},
        uirevision=f"{gap},{by}",
    )
    return text.models_band(figure, audit.models)


def plot_fairness_range(audit: FairnessAudit, *, highlight: Sequence[int] = ()) -> go.Figure:
    """Plot the range of every gap over the models inside ψ, with one dot per model.

    Parameters
    ----------
    audit : FairnessAudit
        Result of ``measures.fairness_audit`` (curator only).
    highlight : sequence of int
        Indices of models to show in purple.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per gap; the bar is an inner bound of the range over the set, × the best model.

    Raises
    ------
    TypeError
        If given any other type, because gaps are computed from private rows.
    """
    audit = _need_audit(audit, "plot_fairness_range")
    ranges = audit.ranges().iloc[::-1]
    models = text.plural(len(audit.table), "model")
    first = ranges.iloc[-1]
    gap = _words(str(first.name).removesuffix("_difference"))
    ends = [text.number(float(first[end]), 2) for end in ("low", "high")]
    figure = theme.new_figure(
        f"The {gap} gap of good models is {' to '.join(dict.fromkeys(ends))}",
        f"{models} inside ψ = {text.number(audit.psi)} · ranges are inner bounds for the set",
    )
    hover = [
        f"<b>{_metric(str(name))}</b><br>models: {text.number(row['low'])} to "
        f"{text.number(row['high'])}, median {text.number(row['median'])} (inner bounds)"
        f"<br>best model: {text.number(row['best'])}"
        f"<br>{100 * row['share_fairer']:.0f} % of the models are fairer"
        for name, row in ranges.iterrows()
    ]
    look = {"name": "range over the models", "marker": {"color": theme.SKY, "opacity": 0.55}}
    marks.add_bars(figure, ranges["low"], ranges["high"], hover, width=0.42, **look)
    _columns_of_dots(figure, audit.table[ranges.index], highlight)
    marks.best_in_rows(figure, ranges["best"], 10)
    equal = "ratio between groups (1 is equal)"
    unequal = "gap between groups (0 is equal)"
    axis = {"title": equal if audit.task.agg == "ratio" else unequal, "zeroline": True}
    names = [_metric(name) for name in ranges.index]
    marks.lay_out_rows(figure, names, max(320, 170 + 34 * len(ranges)), **axis)
    return text.models_band(figure, audit.models)


def _need_audit(audit: object, plot: str) -> FairnessAudit:
    if isinstance(audit, FairnessAudit):
        return audit
    raise TypeError(
        f"{plot} shows values computed from private rows and needs a FairnessAudit, got "
        f"{type(audit).__name__}; call measures.fairness_audit on a RashomonSet and rows"
    )


def _trade_off(audit: FairnessAudit, gap: str, by: str, fairest: pd.Series) -> str:
    gaps = f"{text.number(fairest[gap], 2)} instead of {text.number(audit.best[gap], 2)}"
    if by != "accuracy":
        cost = text.number(fairest[by] - audit.best[by], 2)
        return f"Least unfair: {gaps}, for {_words(by)} {cost}"
    points = 100 * (audit.best[by] - fairest[by])
    return f"Least unfair: {gaps}, for {text.number(points, 2)} points of accuracy"


def _dots(
    table: pd.DataFrame, gap: str, by: str, psi: float, highlight: Sequence[int]
) -> go.Scatter | go.Scattergl:
    selected = table.index.isin(list(highlight))
    excess = table["excess"].to_numpy(np.float32)
    top = psi if np.isfinite(psi) else float(excess.max(initial=0.0))
    x, y = table[gap].to_numpy(np.float32), table[by].to_numpy(np.float32)
    hover = f"{_words(gap)} %{{x:.4f}}<br>{_words(by)} %{{y:.4f}}"
    marker = text.selection_look(selected, 7)
    dots = marks.excess_dots(x, y, table.index.to_numpy(), excess, top or 1.0, hover, **marker)
    return dots.update(showlegend=False)


def _columns_of_dots(figure: go.Figure, values: pd.DataFrame, highlight: Sequence[int]) -> None:
    max_models = max(1, _MOST_DOTS // values.shape[1])
    some = np.unique(np.linspace(0, len(values) - 1, min(max_models, len(values))).astype(int))
    selected = values.index.isin(list(highlight))
    for part, name, colour, size in (
        (values.iloc[some], "draw", theme.BLUE, 4),
        (values[selected], "selected draws", theme.PURPLE, 8),
    ):
        if len(part):
            each = np.repeat(part.index.to_numpy(), values.shape[1])
            dots, hover = part.to_numpy(np.float32), "draw %{customdata}: %{x:.4g}"
            marks.row_dots(figure, dots, name, size, size / 5, colour, hover, customdata=each)


def _metric(column: str) -> str:
    return _words(column.rsplit("_", 1)[0])


def _words(name: str) -> str:
    return escape(name.replace("_", " "))


MOST_GROUPS = 15
_ALL = "all rows"
_FEW = 5


def plot_burden(
    table: pd.DataFrame,
    measure: str | None = None,
    *,
    exact: pd.Series | None = None,
    highlight: Sequence[str] = (),
    guaranteed: bool = True,
    note: str = "",
) -> go.Figure:
    """Plot one measure of disagreement for every group, with its size and an interval.

    Parameters
    ----------
    table : pandas.DataFrame
        Result of ``measures.multiplicity_by_person_group`` (curator only).
    measure : str, optional
        One of its measures; by default the first.
    exact : pandas.Series, optional
        Exact ambiguity of each group, by name, shown next to the value for the draws.
    highlight : sequence of str
        Groups to show opaque; the others fade.
    guaranteed : bool
        Whether the draws have a guarantee.
    note : str
        Text to add to the line below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        One bar per group, dark for draws. For shares, whiskers are 95 % intervals (Wilson) for a
        population from which these individuals are a sample.

    Raises
    ------
    ValueError
        If the measure does not exist.

    Examples
    --------
    >>> from rashomon_explorer.measures import multiplicity_by_person_group
    >>> from rashomon_explorer.sets import from_predictions
    >>> chances = [[0.9, 0.4, 0.6, 0.1], [0.8, 0.6, 0.7, 0.2], [0.9, 0.7, 0.8, 0.1]]
    >>> models = from_predictions(chances, [1, 0, 1, 0], psi=1.0)
    >>> groups = ["a", "b", "a", "b"]
    >>> table = multiplicity_by_person_group(models, None, groups, measures=["ambiguity"])
    >>> plot_burden(table).layout.title.text.split("<br>")[0]
    'b: ambiguity 50% (1 of 2), others 0% (0 of 2)'
    """
    measures = [name for name in table if name != "rows" and not str(name).endswith("_ratio")]
    measure = str(measures[0]) if measure is None else measure
    if measure not in measures:
        raise ValueError(f"measure must be one of {measures}, got {measure!r}")
    share = measure in _SHARES
    groups = table.drop(index=_ALL).sort_values("rows", ascending=False)
    cut = f"{MOST_GROUPS} largest of {len(groups)} groups" if len(groups) > MOST_GROUPS else ""
    figure_rows = groups.head(MOST_GROUPS).sort_values(measure)
    figure = theme.new_figure(
        _finding(table, groups, measure, share),
        text.join_notes(cut or text.plural(len(groups), "group"), note),
    )
    _burden_bars(figure, figure_rows, measure, exact, share, highlight)
    line = {"color": theme.GREY, "dash": "dot", "width": 1.5}
    figure.add_vline(x=_overall(table, measure), line=line)
    names = zip(text.short_names(figure_rows.index), figure_rows["rows"], strict=True)
    axis = {
        "title": f"{measure.replace('_', ' ')} (dotted: all rows)",
        "tickformat": ".0%" if share else None,
        "rangemode": "tozero",
    }
    height = max(320, 150 + 26 * len(figure_rows))
    marks.lay_out_rows(figure, [f"{name} ({int(size):,})" for name, size in names], height, **axis)
    return theme.curator_band(figure, guaranteed=guaranteed)


_ALIKE = 1.05  # times the value of all rows, up to which a group's is hardly another
_SHARES = ("ambiguity", "discrepancy", "obscurity", "disagreement")


def _finding(table: pd.DataFrame, groups: pd.DataFrame, measure: str, share: bool) -> str:
    """State the group with the largest value if it is significantly above the overall value."""
    words = measure.replace("_", " ")
    write = text.percent if share else text.number
    position = int(groups[measure].to_numpy().argmax())
    first, largest = groups.index[position], float(groups[measure].to_numpy()[position])
    size, everyone = int(groups["rows"].to_numpy()[position]), _overall(table, measure)
    if share and size >= _FEW and text.wilson(largest, size)[0] <= everyone:
        return f"No group is clearly above the overall value: {words} {write(everyone)}"
    name = f"{'Group ' * str(first).isnumeric()}{escape(str(first))}"
    if not share and largest <= _ALIKE * everyone:
        return f"The groups hardly differ: {words} {write(everyone)}"
    if measure != "ambiguity":
        return f"{name} has the largest {words}: {write(largest)}; all rows {write(everyone)}"
    # With counts: a large group with a smaller share may have more people affected.
    n_rows, affected = int(table["rows"].to_dict()[_ALL]), round(largest * size)
    n_others, left = n_rows - size, round(everyone * n_rows) - affected
    rest = text.percent(left / n_others) if n_others else "–"
    return (
        f"{name}: ambiguity {write(largest)} ({affected:,} of {size:,}), others {rest} "
        f"({left:,} of {n_others:,})"
    )


def _overall(table: pd.DataFrame, measure: str) -> float:
    return float(table[measure].to_dict()[_ALL])


def _burden_bars(
    figure: go.Figure,
    table: pd.DataFrame,
    measure: str,
    exact: pd.Series | None,
    share: bool,
    highlight: Sequence[str],
) -> None:
    value, named = table[measure].to_numpy(float), [str(name) for name in table.index]
    full = np.isin(named, list(highlight)) if len(highlight) else np.ones(len(table), bool)
    opacity = np.where(full, 1.0, 0.3)
    common = {"orientation": "h", "y": np.arange(len(table)), "customdata": named}
    if exact is not None and measure == "ambiguity":
        figure.add_bar(
            x=exact.reindex(named).to_numpy(np.float32),
            width=0.62,
            marker={"color": theme.SKY, "opacity": opacity},
            name="▬ exact",
            hovertemplate="exact: %{x:.1%}<extra></extra>",
            **common,
        )
    error = None
    if share:
        ends = [text.wilson(v, int(n)) for v, n in zip(value, table["rows"], strict=True)]
        low, high = np.transpose(ends)
        error = marks.whiskers(value, np.minimum(low, value), np.maximum(high, value), 1.5)
    figure.add_bar(
        x=value.astype(np.float32),
        width=0.34,
        marker={"color": theme.BLUE, "opacity": opacity},
        error_x=error,
        name="∙∙∙ sampled, with 95 % interval" if share else "∙∙∙ sampled",
        hovertemplate="%{customdata}: %{x:.3g}<extra></extra>",
        **common,
    )


_GAPS = registry.FigureSpec(
    name="gaps",
    title="How unequal are almost equally good models?",
    short="Group gaps",
    label="Range of each fairness gap over the models inside the set",
    definition=(
        "A gap is the largest minus the smallest rate over the groups: <b>demographic parity</b> "
        "of P(ŷ = 1), <b>equal opportunity</b> of P(ŷ = 1 | y = 1), <b>equalised odds</b> the "
        "wider of that and of P(ŷ = 1 | y = 0), and so on; 0 is equal. The bar covers the draws "
        "within ψ; the range of the whole set is at least as wide."
    ),
    measure=fairness_audit,
    result="audit",
    plot=plot_fairness_range,
    table=lambda audit: audit.ranges(),
    needs=("models", "selection", "rows", "targets", "column", "groups", "inside"),
    marks=("sampled",),
    selects="models",
    slow=True,
    on_demand=True,
)
FIGURES = (
    _GAPS,
    replace(
        _GAPS,
        name="frontier",
        title="What does fairness cost?",
        short="Accuracy against a gap",
        label="Scatter plot of accuracy against a group gap over the models inside the set",
        definition=(
            "One dot per model within ψ; the line joins those that no other beats in both "
            "accuracy and gap. The model with the least gap on these rows looks fairer than it "
            "is: check it on other rows."
        ),
        plot=plot_frontier,
        table=lambda audit, gap: audit.frontier(gap),
    ),
    replace(
        _GAPS,
        name="burden",
        title="Who bears the multiplicity?",
        short="By group",
        label="A measure of disagreement for each group of people",
        definition=(
            "<b>Ambiguity</b>: share of the group with a conflicting prediction by some model "
            "within ψ; dark: observed in the draws, light: exact for the people listed. "
            "<b>Disagreement</b>: probability that two draws differ for a person. Whiskers: "
            "Wilson's 95 % interval, treating these people as a sample; it is wide for small "
            "groups."
        ),
        measure=multiplicity_by_person_group,
        result="table",
        plot=plot_burden,
        table=lambda table: table,
        selects="groups",
        needs=("models", "selection", "people", "rows", "column", "groups", "inside"),
    ),
)
