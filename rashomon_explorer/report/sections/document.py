"""Sections about the document: summary, caveats, definitions, reproduction."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import pandas as pd

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.measures import coefficient_spread
from rashomon_explorer.measures.multiplicity.measure import EXACT
from rashomon_explorer.measures.multiplicity.table import MEASURES, TERMS
from rashomon_explorer.measures.reliance.set_reliance import find_trees
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.plots import coefficients, text
from rashomon_explorer.plots.budget import charges_table
from rashomon_explorer.plots.people import multiplicity
from rashomon_explorer.plots.trees import tree_use_table
from rashomon_explorer.privacy.audit import binomial_interval
from rashomon_explorer.report import blocks, kinds
from rashomon_explorer.report.material import EVERYONE, Curator, PublicMaterial, Release
from rashomon_explorer.sets import RashomonSet, ReleasedSet, ReleasedTrees
from rashomon_explorer.sets.models.trees import DecisionTrees

View = Literal["curator", "internal", "release", "public"]


class Skip(Exception):
    """Raised if a section does not apply; the message states the reason for the reader."""


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    key: str  # anchor in the page
    title: str
    # who may see it; "internal": not computed from rows, but not for release
    view: View
    # from the edition's material to blocks. May raise `Skip`.
    make: Callable[[Any], Iterable[blocks.Block]]
    # whether this section exists for such models; if not, it is not listed as omitted
    suits: Callable[[Any], bool] = lambda models: True


def need_rows(material: Curator, *, targets: bool = False, inside: bool = True) -> None:
    """Raise `Skip` unless there are models (inside ψ) and rows for their predictions."""
    if not material.models.n_draws:
        raise Skip("the set holds no models")
    if inside and not material.members.n_draws:
        raise Skip(f"none of {material.models.n_draws} models lies in the Rashomon set")
    if not material.readable:
        raise Skip("no rows were given: report(path, X, y)")
    if targets and material.y is None:
        raise Skip("no targets were given: report(path, X, y)")


def need_linear_or_trees(material: Curator) -> Any:
    """Return a set of linear draws, or of decision trees."""
    return material.models if find_trees(material.models) is not None else need_linear(material)


def need_linear(material: Curator) -> RashomonSet:
    """Return a set of linear draws."""
    if not isinstance(material.models, RashomonSet):
        raise Skip(
            f"it needs linear models with a certified best model, and these are "
            f"{material.models.mechanism}"
        )
    if not material.models.n_draws:
        raise Skip("the set holds no models")
    return material.models


WRITER = f"rashomon-explorer {version('rashomon-explorer')}"

_COMMON = {
    "Sampled extremes are lower bounds": (
        "Ambiguity, discrepancy and ranges over drawn models can only grow with more draws. They "
        "underestimate those of the set more, the more parameters there are."
    ),
    "Draws may lie outside the set": (
        "The guarantees bound the probability that a private draw exceeds ψ. Such a draw reflects "
        "the mechanism's noise, not the set."
    ),
    "No causal reading": (
        "Coefficients and importances describe models. That a good model relies on a feature does "
        "not imply that changing the feature would change the outcome."
    ),
    "Correlated features": (
        "Models can split their effect differently and fit equally well. The range of each one is "
        "wide even if together they are indispensable."
    ),
    "Within one class of models": (
        "The set depends on the declared class, loss and bounds. With another class, loss or a "
        "larger ball the set differs, and the best loss here may be far from the best possible."
    ),
}
# Neither applies to an enumerated set.
_OF_DRAWS = ("Sampled extremes are lower bounds", "Draws may lie outside the set")
_CURATOR = {
    "Selecting reads rows": (
        "Which draws lie in the set is computed from the private rows. Selecting or publishing "
        "models by their loss voids the guarantee of the draws."
    ),
    "Not private, at any cost of the draws": (
        "Every measure, figure and table marked as the curator's was computed from private rows. "
        "Publishing one of them is a release without a privacy guarantee."
    ),
    "In-sample": (
        "Losses and measures are computed on the rows of this report. If the models were fitted "
        "to the same rows, losses on new rows will be larger."
    ),
}
_RELEASE = {
    "The guarantee is conditional": (
        "It holds under the assumptions listed with it, for one record and for the draws and "
        "aggregates of this file. The cost of other releases from the same rows adds to it."
    ),
    "Private rows add nothing here": (
        "Measures of these draws on your own rows need no budget. Measures on the private rows "
        "are part of a release only as released aggregates."
    ),
}


def caveats(material: Any) -> list[blocks.Items]:
    """List the caveats of an edition."""
    curator = isinstance(material, Curator)
    exact = _OF_DRAWS if curator and material.models.complete else ()
    common = {name: text for name, text in _COMMON.items() if name not in exact}
    edition = _CURATOR if curator else _RELEASE
    return [blocks.Items({**common, **kinds.model_kind(material.models).caveats, **edition})]


def definitions_curator(material: Curator) -> list[blocks.Block]:
    scored = ("range_width", "score_variance", "score_std")
    named = scored if material.models.task == "regression" else tuple(MEASURES)
    measures = [MEASURES[name] for name in named if not name.startswith("delta")]
    frame = pd.DataFrame(
        {
            "formula": [measure.formula for measure in measures],
            "over these models": [
                EXACT if material.models.complete else measure.sampled for measure in measures
            ],
            "source": [measure.source for measure in measures],
        },
        index=pd.Index([measure.name for measure in measures], name="measure"),
    )
    note = (
        "f, f' are models, f₀ the best one, s their scores, m the number of models, m_c of them "
        "predict class c, n the number of rows; all on the rows of this report."
    )
    return [blocks.Items(TERMS), blocks.Table(frame, "Measures", note)]


def definitions_release(material: Any) -> list[blocks.Block]:
    return [blocks.Items({name: TERMS[name] for name in kinds.model_kind(material.models).terms})]


def reproduce(material: Any) -> list[blocks.Block]:
    """Write the settings of the draws as Python; for the curator also the line of this file."""
    models, curator = material.models, isinstance(material, Curator)
    mechanism = getattr(models, "mechanism", "") if curator else ""
    lines = [f"# {WRITER}", *kinds.model_kind(models).estimator(material, models, mechanism)]
    if curator:
        inputs = [name for name in _INPUTS if getattr(material, name) is not None]
        call = ", ".join(["models", '"report.html"', *(_INPUTS[name] for name in inputs)])
        lines += ["", "from rashomon_explorer.report import report", "", f"report({call})"]
    noise = (
        "Without random_state the noise is new at every run, as privacy requires: the same "
        "settings give other draws with the same guarantees."
    )
    if models.guarantee.seeded:
        noise = "The draws used a known seed, which is not shown here; it reproduces them."
    return [blocks.Code(lines), blocks.Words(noise, "note")]


_INPUTS = {"X": "X", "y": "y", "groups": "groups=groups", "problem": "problem=problem"}


def summary_curator(material: Curator) -> list[blocks.Block]:
    models, linear = material.models, isinstance(material.models, RashomonSet)
    readers = (
        "It was computed from private rows: only people who may see the rows may see this file. "
        "For others, write the release edition (ReleasedSet.report)."
    )
    findings = {
        "How many models are as good as the best": _hits(models),
        "Whom another one would decide differently": _conflicts(material),
        "What they rely on": _widest(material),
    }
    plots = []
    if linear and material.X is not None and material.members.n_draws:
        plots = [people_figure(material)]
    elif models.n_draws and (linear or find_trees(models) is not None):
        plots = [blocks.figure(material, "losses" if linear else "tree_use")]
    return [
        _head(material),
        blocks.Words(readers, "warning"),
        blocks.Words(f"{_subject(material, material.n_rows)} {_cost(models)}"),
        blocks.Items(findings),
        *_charges(material),
        _limits(material),
        *plots,
    ]


def summary_release(material: Release) -> list[blocks.Block]:
    models = material.models
    planned = getattr(models, "plan", None)
    released = [number for value in material.aggregates for number in value]
    stated = [
        f"{number.name} {coefficients.released_number(number)}"
        for number in released
        if not coefficients.noise_exceeds(number)
    ]
    rows = material.aggregates[0].n_rows if material.aggregates else 0
    more = f", and {len(released) - 3} more below" if len(released) > 3 else ""
    findings = {
        "How good the models are": kinds.model_kind(models).closeness(models),
        "What was released of the rows": f"With 95 % intervals, noise included, of {rows:,} rows: "
        f"{'; '.join(stated[:3])}{more}.",
        "What they rely on": _widest(material),
    }
    if not stated:
        findings["What was released of the rows"] = (
            "No number above its noise." if released else "Nothing but these models."
        )
    source = (
        "Everything in it follows from these models, public settings and the aggregates listed "
        "below, all released with privacy guarantees. Nothing else that was computed from the "
        "rows, such as an exact loss, went into it."
    )
    shown = {ReleasedSet: "map", ReleasedTrees: "tree_use"}.get(type(models))
    return [
        _head(material),
        blocks.Words(f"{_subject(material, getattr(planned, 'n', None))} {_cost(models)} {source}"),
        blocks.Items(findings),
        *_charges(material, public=True),
        _limits(material),
        *([blocks.figure(material, shown)] if shown and models.n_draws else []),
    ]


def people_figure(material: Curator) -> blocks.Plot:
    """Figure of people without the shares of conflicts, which the report states of all rows."""
    name = "group" if material.groups is None else str(material.groups.name)
    plot = blocks.figure(material.people, "people", group_name=name)
    title = plot.figure.layout.title
    title.text = re.sub(r"(<span[^>]*>)ambiguity .*?<br>", r"\1", title.text, count=1)
    numbers = plot.table.frame.drop(columns="ambiguity", errors="ignore")
    return replace(plot, table=replace(plot.table, frame=numbers))


def _charges(material: PublicMaterial, *, public: bool = False) -> list[blocks.Block]:
    """Every ledger entry; for release those that count, without names, times and notes."""
    if material.ledger is None:
        return []
    entries, budget = material.ledger.entries(), material.ledger.budget
    epsilon, delta = (math.inf, 0.0) if budget is None else budget
    if public:
        entries = [entry for entry in entries if entry.counts]
    frame = charges_table(entries, delta, rule=material.ledger.totals, budget=epsilon)
    if public:
        notions = {"notion": [entry.mechanism for entry in entries]}
        totals = pd.DataFrame({**notions, "ε in total": frame["ε in total"]}, index=frame.index)
        totals.attrs = frame.attrs
        frame = totals
    spent = float(frame["ε in total"].iloc[-1]) if len(frame) else 0.0
    whole = "no budget" if budget is None else f"ε = {rounded_up(epsilon)}"
    caption = f"Ledger of the data: {text.cost_text(spent, delta)} spent, of {whole}"
    return [blocks.Table(frame, caption, "Every charge against these rows; totals are rounded up.")]


def _limits(material: Any) -> blocks.Words:
    (items,) = caveats(material)
    return blocks.Words(f"Limits, explained under Caveats: {'; '.join(items.rows)}.")


def _head(material: PublicMaterial) -> blocks.Facts:
    classes = getattr(getattr(material, "models", None), "class_names", ())
    facts = {
        "Data set": material.table,
        "The models predict": material.target,
        "Author": material.author,
        "Date": material.date,
        "Written by": WRITER,
    }
    rows = [(name, value or "–", "") for name, value in facts.items()]
    if classes and material.target:
        rows[1] = (rows[1][0], material.target, f"classes: {', '.join(map(str, classes))}")
    return blocks.Facts(rows)


def _subject(material: PublicMaterial, rows: int | None) -> str:
    table = f"the table {material.table}" if material.table else "one table"
    size = "" if rows is None else f" of {rows:,} rows"
    subject = kinds.model_kind(material.models).subject  # type: ignore[attr-defined]
    return f"This report is about {subject.format(table=table + size)}."


def _hits(models: Any) -> str:
    if not np.isfinite(models.least):
        return f"It has {text.plural(models.n_draws, 'model')}, whose losses are not known."
    return (
        f"{round(models.hit_rate * models.n_draws):,} of {text.plural(models.n_draws, 'model')} "
        f"lie within ψ = {text.number(models.psi)} of the least loss "
        f"{text.number(models.least, 4)}: {text.percent(models.hit_rate)}, {hits_interval(models)}."
    )


def hits_interval(models: Any) -> str:
    """Interval of the hit rate, or why it has none."""
    if not models.n_draws or not models.as_drawn:
        return "of these models only"
    if not mechanism_traits(models.mechanism).independent:
        return "without an interval, because the models are not an independent sample"
    hits = round(models.hit_rate * models.n_draws)
    low, high = binomial_interval(hits, models.n_draws, 0.95)
    return f"95 % interval of Clopper and Pearson {100 * low:.1f} % to {100 * high:.1f} %"


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
    if not material.readable or not members.n_draws:
        return "Without rows or models within ψ, nothing is known of how they differ for people."
    if members.task != "classification" or not np.isfinite(members.least):
        measured = multiplicity(members, material.people.X)
        width = text.number(float(np.median(measured.width)))
        return (
            f"For half of {len(measured.rows):,} people the predictions of "
            f"{text.plural(members.n_draws, 'model')} differ by more than {width}."
        )
    table = material.multiplicity
    overall = table[table["group"] == EVERYONE].set_index("measure")
    n_rows = int(overall["rows"].iloc[0])
    share = overall["value"].astype(float)["ambiguity"]
    low, high = text.wilson(share, n_rows)
    at_least = "" if members.complete else "at least "
    return (
        f"For {at_least}{text.percent(share)} of {n_rows:,} people, one of the "
        f"{text.plural(members.n_draws, 'model')} within ψ predicts another class than the best "
        f"model (95 % interval {100 * low:.1f} % to {100 * high:.1f} %, for a population of which "
        "they are a random sample)."
    )


_ON_YOUR_ROWS = (
    "They have no coefficients to compare: permutation importance on your own rows needs no budget."
)


def _widest(material: Any) -> str:
    """State the coefficient that varies most, or the most common question of trees."""
    models = getattr(material, "members", material.models)
    if not models.n_draws:
        return "There is no model to describe."
    if isinstance(getattr(models, "models", None), DecisionTrees):
        table = tree_use_table(models)
        if table.empty:
            return "No tree asks a question."
        share = text.percent(float(table["share"].iloc[0]))
        return f"{share} of the trees ask “{table.index[0]}”."
    if not isinstance(models, RashomonSet | ReleasedSet):
        described = "Their multiplicity is described below."
        return described if isinstance(material, Curator) else _ON_YOUR_ROWS
    spread = coefficient_spread(models).drop("intercept", errors="ignore")
    low, high = spread["min"].to_numpy(float), spread["max"].to_numpy(float)
    row = int(np.argmax(high - low))
    name, ends, per = str(spread.index[row]), (low[row], high[row]), "1 scaled unit"
    if material.units is not None:
        size, unit = material.units.loc[name, ["size", "unit"]]
        ends = tuple(end / size for end in ends)
        levels = unit in ("level", "missing")
        per = "1 level" if levels else f"1 {unit or 'unit'}"
    return (
        f"The coefficient of {text.short_name(name)} differs most between "
        f"{text.plural(models.n_draws, 'model')}: from {text.number(float(ends[0]), 3)} to "
        f"{text.number(float(ends[1]), 3)} per {per}."
    )
