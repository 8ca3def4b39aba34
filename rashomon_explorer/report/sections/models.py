"""Sections on the data, the set and its models."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures import coefficient_spread, draws_in_range, exact_coefficient_ranges
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.marks import range_bars
from rashomon_explorer.plots.text import (
    models_band,
    models_within_psi,
    number,
    percent,
    plural,
    sentence,
)
from rashomon_explorer.report.blocks import Block, Code, Facts, Table, Words, figure
from rashomon_explorer.report.kinds import Rows, are_networks, declared, model_kind
from rashomon_explorer.report.material import AnySet, Curator, Release
from rashomon_explorer.report.sections.document import Skip, hits_interval, need_linear
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.sets import RashomonSet
from rashomon_explorer.sets.models.trees import DecisionTrees


def data_curator(material: Curator) -> list[Block]:
    if material.X is None and material.y is None:
        raise Skip("no rows were given: report(path, X, y)")
    blocks: list[Block] = [Facts(_counts(material))]
    if material.X is not None:
        blocks.append(_columns(material))
    if material.y is not None and material.models.task == "classification":
        blocks.append(Table(_shares(pd.Series(material.y), "class"), "Classes"))
    if material.groups is not None:
        caption = f"Groups by {material.groups.name}"
        blocks.append(Table(_shares(material.groups, str(material.groups.name)), caption))
    return blocks


def data_release(material: Release) -> list[Block]:
    """List public facts about the data: size, columns and their declarations."""
    return model_kind(material.models).columns(material)


def _counts(material: Curator) -> list[tuple[str, str, str]]:
    models = material.models
    n_rows = material.n_rows
    if n_rows is None:
        n_rows = 0 if material.y is None else len(material.y)
    facts = [("Rows", f"{n_rows:,}", "given to the report")]
    facts += model_kind(models).rows(material)
    if material.y is not None and models.task == "regression":
        note = f"mean {number(float(np.mean(material.y)))}, std {number(float(np.std(material.y)))}"
        facts.append(("Target", note, ""))
    return facts


def _columns(material: Curator) -> Table:
    """Minimum, mean and maximum of each column, in units of the table if a schema is given."""
    if isinstance(material.X, ChunkedRows):
        lowest, sums, highest = material.X.reduce(_ends, merge=_wider)
        ends = lowest, sums / material.X.n, highest
        called: Any = [f"x{j}" for j in range(len(sums))]
    else:
        frame = pd.DataFrame(material.X).apply(pd.to_numeric, errors="coerce")
        ends = tuple(getattr(frame, name)().to_numpy(float) for name in ("min", "mean", "max"))
        called = frame.columns
    names = getattr(material.models, "feature_names", ())[:-1]
    table = declared(
        [str(label) for label in (names if len(names) == len(called) else called)], material.bounds
    )
    units = None if material.units is None or len(names) != len(called) else material.units
    for name, values in zip(("min", "mean", "max"), ends, strict=True):
        in_table = values if units is None else units["offset"] + units["size"] * values
        table[name] = np.asarray(in_table, dtype=float)
    if units is None:
        return Table(table, "Features, as the models take them")
    table["unit"] = units["unit"].to_numpy()
    return Table(table, "Features, clipped, in units of the table", _LEVELS)


def _ends(rows: FloatArray, targets: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    return rows.min(axis=0), rows.sum(axis=0), rows.max(axis=0)


def _wider(one: Any, other: Any) -> Any:
    sums = one[1] + other[1]
    return np.minimum(one[0], other[0]), sums, np.maximum(one[2], other[2])


def _shares(values: "pd.Series", name: str) -> pd.DataFrame:
    counts = values.value_counts(dropna=False).sort_index()
    shares = [percent(float(count) / len(values)) for count in counts]
    index = pd.Index([str(value) for value in counts.index], name=name)
    return pd.DataFrame({"rows": counts.to_numpy(), "share": shares}, index=index)


def the_set_curator(material: Curator) -> list[Block]:
    models = material.models
    origin = f"drawn by the sampler “{models.mechanism}”"
    if not isinstance(models, RashomonSet):
        imported = f"imported: {models.mechanism}"
        origin = f"independent draws: {models.models.kind}" if models.independent else imported
        if are_networks(models):
            origin = "states of one private path"
    facts: Rows = [("Models", f"{models.n_draws:,}", origin)]
    facts += _losses(models)
    facts += model_kind(models).settings(material, models)
    facts += [(f"Choice {number + 1}", step, "") for number, step in enumerate(models.steps)]
    blocks: list[Block] = [Facts(facts)]
    blocks += [Words(sentence(note), "note") for note in models.notes]
    if isinstance(models, RashomonSet) and models.n_draws:
        blocks.append(figure(material, "losses"))
        if models.as_drawn and models.plan.has_gibbs_law:
            blocks.append(figure(material, "bounds"))
    elif not isinstance(models, RashomonSet):
        drawn = _DRAWN if models.independent else _OTHERS
        if are_networks(models):
            drawn = _STATES
        blocks.append(Words(_COMPLETE if models.complete else drawn, "note"))
    return blocks


def the_set_release(material: Release) -> list[Block]:
    models = material.models
    facts: Rows = [
        ("Models", f"{models.n_draws:,}", _planned(models)),
        *model_kind(models).settings(material, models),
        *((f"Choice {number + 1}", step, "") for number, step in enumerate(models.steps)),
    ]
    return [Facts(facts), Words(f"{_UNKNOWN_INSIDE} {model_kind(models).inside}", "note")]


def _losses(models: AnySet) -> Rows:
    facts: Rows = [("Threshold ψ", number(models.psi), "in units of the loss")]
    if not np.isfinite(models.least):
        return [*facts, ("Losses", "not known", "so that the models in the set are unknown")]
    gap = getattr(getattr(models, "minimum", None), "gap", None)
    source = "the least of the source's models" if gap is None else f"certified to {gap:.1g}"
    facts.append(("Least loss", number(models.least, 4), source))
    if models.n_draws:
        facts.append(("Models within ψ", percent(models.hit_rate), hits_interval(models)))
    return facts


def _planned(models: Any) -> str:
    planned = getattr(models, "plan", None)
    return "" if planned is None else f"of {plural(planned.n_draws, 'planned draw')}"


_OTHERS = (
    "These models were imported: they need not cover the set, and models better than the best "
    "of them may exist. Extremes over them are lower bounds of the set's."
)
_DRAWN = (
    "These models are independent draws from one distribution on all models of the class: shares "
    "over them have intervals, and extremes over them are lower bounds of the set's."
)
_STATES = (
    "These models are states of one path: they need not cover the set, and better models than the "
    "best state may exist. Extremes over them are lower bounds of the set's."
)
_COMPLETE = (
    "These models are an enumeration of the source's class within ψ: measures over them are "
    "exact for this set on these rows."
)
_UNKNOWN_INSIDE = (
    "Only the curator knows which of the released draws lie in the Rashomon set, because that "
    "depends on the private rows."
)


def coefficients_curator(material: Curator) -> list[Block]:
    models = need_linear(material)
    blocks: list[Block] = [
        Words(
            "Ranges over the draws inside the Rashomon set; in the scatter plot those outside are "
            "diamonds."
        ),
        *(
            _in_units(material, models.inside())
            if models.hit_rate
            else [Words(f"None of {models.n_draws} draws lies inside, so there is no range.")]
        ),
        figure(material, "map"),
    ]
    return [_exact(material, models), *blocks] if material.problem is not None else blocks


def coefficients_release(material: Release) -> list[Block]:
    if not material.models.n_draws:
        raise Skip("the release holds no models")
    return [*_in_units(material, material.models), figure(material, "map")]


_LEVELS = "Of a level, 1 is its presence and 0 its absence."


_COMPARABLE = 20  # largest ratio of units for which one axis shows all coefficients


def _in_units(material: Any, models: Any) -> list[Block]:
    """Ranges of coefficients, per 1 unit of the table if a schema states the units."""
    spread = figure(material, "coefficient_spread")
    if material.units is None:
        return [spread]
    sizes = material.units["size"]
    table = coefficient_spread(models).drop("intercept", errors="ignore")
    table = table.div(sizes, axis=0).loc[material.units.index]
    if sizes.max() <= _COMPARABLE * sizes.min():
        counts = models_within_psi(material.models)
        words = spread.label, "coefficient, per 1 unit", counts.words
        ranges = range_bars(table, *words, of="coefficient", over=counts.span)
        ranges.layout.title.text = spread.figure.layout.title.text.split("<br>")[0]
        spread = replace(spread, figure=models_band(ranges, material.models))
    table = table.filter(["min", "median", "max", "best"])
    table["unit"] = material.units["unit"]
    note = f"Change of the linear score by 1 unit, in a row that is not clipped. {_LEVELS}"
    in_units = Table(table.rename_axis("feature"), "Coefficients per unit of the table", note)
    return [replace(spread, table=in_units), in_units]


def _exact(material: Curator, models: RashomonSet) -> Block:
    names = models.feature_names[:-1]
    exact = exact_coefficient_ranges(
        material.problem,  # type: ignore[arg-type]  # the section needs a problem
        models.psi,
        feature_names=names,
    )
    if not models.hit_rate:
        return Table(exact, "Exact ranges of the coefficients; no draw lies in the set")
    numbers = Table(draws_in_range(models, exact), FIGURES["ranges"].title)
    return figure(material, "ranges", exact=exact, numbers=numbers)


_MOST_WRITTEN, _MOST_DRAWN = 12, 4  # trees in words, and as a figure on one printed page
_SIZES = "Leaves of each tree, and the first question that it asks"


def states_release(material: Release) -> list[Block]:
    """List the released losses, and which states are within ψ of the best despite the noise."""
    models: Any = material.models
    index = np.flatnonzero(np.isfinite(models.released_losses))
    if not len(index):
        raise Skip("the release holds no losses")
    losses, margin = models.released_losses[index], models.plan.loss_margin()
    excess = losses - losses.min()
    unsure = np.where(excess <= models.psi + margin, "unknown", "no")
    table = pd.DataFrame(
        {
            "mean loss": losses,
            "above the least": excess,
            "within ψ": np.where(excess <= models.psi - margin, "yes", unsure),
        },
        index=pd.Index(index, name="state"),
    )
    return [
        Table(table, "Released mean losses of states, with noise", _NOISY.format(number(margin)))
    ]


_NOISY = (
    "With probability 95 %, the noise of no difference of two losses is above {}; “unknown” are "
    "states that it could move across ψ. The loss of each row is clipped."
)


def are_trees(models: Any) -> bool:
    """Whether a set, the curator's or a release, is of decision trees."""
    return isinstance(getattr(models, "models", None), DecisionTrees)


def are_no_trees(models: Any) -> bool:
    """Whether a curator's report has ranges of coefficients, or says why it has none."""
    return not are_trees(models)


def trees_section(material: Any) -> list[Block]:
    """Show trees, the curator's with their losses; a release is computed from the trees only."""
    models = material.models
    if not models.n_draws:
        raise Skip("the set holds no trees")
    note = "The following is computed from these trees only; no row was read."
    losses = models.losses if isinstance(material, Curator) else None
    firsts = [models.text(draw).splitlines()[0] for draw in range(models.n_draws)]
    table = pd.DataFrame({"leaves": models.complexity(), "first line": firsts})
    if losses is not None and not np.isnan(losses).any():
        table["loss"] = losses
    order = np.arange(models.n_draws) if losses is None else np.argsort(losses, kind="stable")
    shown: dict[str, Any] = {"draws": order[:_MOST_DRAWN].tolist()}
    if isinstance(material, Curator):
        shown["rows"] = material.people.X
    return [
        *([] if losses is not None else [Words(note, "note")]),
        figure(material, "trees", numbers=Table(table.rename_axis("tree"), _SIZES), **shown),
        figure(material, "tree_use", _INTERVALS),
        figure(material, "rules"),
        *_written(models),
    ]


def _written(models: Any) -> list[Block]:
    texts = pd.Series([models.text(draw) for draw in range(models.n_draws)])
    counts = texts.value_counts(sort=True)
    lines: list[str] = []
    for text, count in counts.iloc[:_MOST_WRITTEN].items():
        draws = ", ".join(map(str, texts.index[texts == text][:8]))
        lines += [f"# {plural(int(count), 'draw')}: {draws}", *str(text).splitlines(), ""]
    many = f"{plural(len(counts), 'different tree')} among {plural(models.n_draws, 'draw')}"
    cut = f"; {_MOST_WRITTEN} of them" if len(counts) > _MOST_WRITTEN else ""
    return [Words(f"{many}{cut}, in words:"), Code(lines)]


_INTERVALS = (
    "Intervals, if any, are of Clopper and Pearson (95 %) for the distribution of the drawn "
    "trees, not for the set of good trees."
)
