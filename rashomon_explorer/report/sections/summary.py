"""First section of a report: what it is of, five sentences, and three figures."""

import math
import textwrap
from typing import Any

import numpy as np

from rashomon_explorer.measures import ambiguity, coefficient_spread
from rashomon_explorer.plots import text
from rashomon_explorer.plots.trees import tree_use_table
from rashomon_explorer.report.blocks import Block, Facts, Plot, Words, figure
from rashomon_explorer.report.material import Curator, PublicMaterial, Release
from rashomon_explorer.report.sections import document
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.models.trees import DecisionTrees

_HEIGHT = 235  # so that three figures, the facts and the sentences are on one printed page
_MOST_ROWS, _LETTERS = 20_000, 16


def summary_curator(material: Curator) -> list[Block]:
    models, rows = material.models, material.n_rows
    sentences = [
        _subject(material, rows),
        _hits(models),
        _cost(models),
        _conflicts(material),
        _widest(material),
    ]
    linear = isinstance(models, RashomonSet)
    names = ("losses", "coefficients") if linear else ("tree_use", "trees")
    plots = [_small(material, name) for name in names]
    if rows and models.n_draws and material.members.n_draws:
        plots.insert(1, _small(material.people, "people"))
    readers = (
        "It was computed from private rows: only people who may see the rows may see this file. "
        "For others, write the release edition (ReleasedSet.report)."
    )
    words = [Words(readers, "warning"), Words(" ".join(sentences))]
    return [_head(material), *words, *filter(None, plots)]


def summary_release(material: Release) -> list[Block]:
    models = material.models
    linear = isinstance(models, ReleasedSet)
    planned = getattr(models, "plan", None)
    sentences = [
        _subject(material, getattr(planned, "n", None)),
        f"{text.plural(models.n_draws, 'model')} of them {'is' if models.n_draws == 1 else 'are'} "
        "released here.",
        _cost(models),
        _proved(models, planned),
        _widest(material),
    ]
    plots = [_small(material, "coefficients" if linear else "tree_use")]
    if planned is not None:
        plots.append(_small(material, "plan", planned=planned, draws=(), clicked=False))
    plots.append(_small(material, "tradeoff", guarantee=models.guarantee, of="these models"))
    source = (
        "Everything in it follows from these models, public settings and the aggregates listed "
        "below, all released with privacy guarantees. Nothing else that was computed from the "
        "rows, such as a loss, went into it."
    )
    return [_head(material), Words(" ".join(sentences)), Words(source), *filter(None, plots)]


def _proved(models: Any, planned: Any) -> str:
    """State the guarantee of a draw, which is known before a row is read."""
    if planned is None or not models.as_drawn:
        return "Nothing is proved of how good these models are."
    if planned.hit_rate is not None:
        return (
            f"Each was within ψ = {text.number(planned.psi)} of the least loss with probability "
            f"{text.guaranteed_hits(planned)}, whatever the rows are."
        )
    return f"Of their excess loss it is proved: {text.guaranteed(planned)}."


def _head(material: PublicMaterial) -> Facts:
    classes = getattr(getattr(material, "models", None), "class_names", ())
    facts = {
        "Data set": material.table,
        "The models predict": material.target,
        "Author": material.author,
        "Date": material.date,
        "Written by": document.WRITER,
    }
    rows = [(name, value or "–", "") for name, value in facts.items()]
    if classes and material.target:
        rows[1] = (rows[1][0], material.target, f"classes: {', '.join(map(str, classes))}")
    return Facts(rows)


def _subject(material: PublicMaterial, rows: int | None) -> str:
    table = f"the table {material.table}" if material.table else "one table"
    size = "" if rows is None else f" of {rows:,} rows"
    return f"This report is about models that explain {table}{size} almost equally well."


def _hits(models: Any) -> str:
    count = text.plural(models.n_draws, "model")
    if not np.isfinite(models.least):
        return f"It has {count}, whose losses are not known."
    inside = round(models.hit_rate * models.n_draws)
    return (
        f"It has {count}: {inside:,} of them lie within ψ = {text.number(models.psi)} of the least "
        f"loss {text.number(models.least, 4)}."
    )


def _cost(models: Any) -> str:
    guarantee = models.guarantee
    if not guarantee.holds:
        return "The models have no privacy guarantee."
    planned = getattr(models, "plan", None)
    delta = 0.0 if planned is None else float(planned.delta)
    epsilon = guarantee.epsilon(delta)
    if not math.isfinite(epsilon):
        return "The models have a privacy guarantee, stated below."
    at = f" at δ = {text.number(delta, rounding='up')}" if delta else ""
    return f"Their privacy cost is {text.cost_text(epsilon)}{at}."


def _conflicts(material: Curator) -> str:
    members = material.members
    if material.X is None or not members.n_draws:
        return "Without rows or models within ψ, nothing is known of how they differ for people."
    people = material.people.X[:_MOST_ROWS]
    if members.task != "classification":
        scores = np.asarray(members.scores(people))
        width = float(np.median(np.ptp(scores, axis=0)))
        return f"For half of the people their predictions differ by more than {text.number(width)}."
    best = members.best_scores(people)
    best_codes = best.argmax(axis=-1) if best.ndim == 2 else (best > 0.5).astype(int)
    share = float(ambiguity(np.asarray(members.labels(people)), best_codes))
    return (
        f"For {text.percent(share)} of {len(best_codes):,} people, some of the models within ψ "
        "predict another class than the best model."
    )


def _widest(material: Any) -> str:
    """State the coefficient that varies most, or the most common question of trees."""
    models = material.models
    if not models.n_draws:
        return "There is no model to describe."
    if isinstance(getattr(models, "models", None), DecisionTrees):
        table = tree_use_table(models)
        if table.empty:
            return "No tree asks a question."
        share = text.percent(float(table["share"].iloc[0]))
        return f"{share} of the trees ask “{table.index[0]}”."
    if not isinstance(models, RashomonSet | ReleasedSet):
        return "Their multiplicity is described below."
    spread = coefficient_spread(models).drop("intercept", errors="ignore")
    low, high = spread["min"].to_numpy(float), spread["max"].to_numpy(float)
    row = int(np.argmax(high - low))
    name, ends, per = str(spread.index[row]), (low[row], high[row]), "per scaled unit"
    if material.units is not None:
        size, unit = material.units.loc[name, ["size", "unit"]]
        levels = unit in ("level", "missing")
        ends = tuple(end / size for end in ends) if levels else ends
        per = "where it holds" if levels else f"per {text.number(size, 3)} {unit or 'units'}"
    return (
        f"The coefficient of {text.short_name(name)} differs most between them: from "
        f"{text.number(float(ends[0]), 2)} to {text.number(float(ends[1]), 2)} {per}."
    )


def _small(material: Any, name: str, **arguments: Any) -> Plot | None:
    """Figure of a registered name, low enough for the first page; None if it does not apply."""
    try:
        plot = figure(material, name, **arguments)
    except (TypeError, ValueError):  # the section of the figure states the reason
        return None
    layout, height = plot.figure.layout, min(plot.height, _HEIGHT)
    edges = (layout.margin.t or 0) + (layout.margin.b or 0)
    # Below the axis by as many pixels as before; the template has it at -0.24.
    layout.legend.y = (layout.legend.y or -0.24) * (plot.height - edges) / (height - edges)
    plot.figure.update_layout(height=height)
    plot.figure.update_traces(marker_showscale=False, selector={"type": "scatter"})
    for axis in plot.figure.select_yaxes():
        if axis.title.text:
            axis.title.text = "<br>".join(textwrap.wrap(axis.title.text, _LETTERS))
            axis.title.font.size = 11
    return plot
