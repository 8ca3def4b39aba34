"""How much the models differ: each measure with its definition, over ψ, and by group."""

import numpy as np
import pandas as pd

from rashomon_explorer.measures import exact_ambiguity, multiplicity_table
from rashomon_explorer.measures.glossary import MEASURES
from rashomon_explorer.measures.multiplicity.catalogue import LOWER_BOUND
from rashomon_explorer.plots.text import number
from rashomon_explorer.report.blocks import Block, Plot, Table, Words
from rashomon_explorer.report.figures import plot_curves
from rashomon_explorer.report.material import AnySet, Curator
from rashomon_explorer.report.sections.base import Skip
from rashomon_explorer.report.sections.rows import need_rows

_CURVES = {
    "classification": ["ambiguity", "discrepancy", "disagreement"],
    "regression": ["range_width", "score_std"],
}
_COLUMNS = ["measure", "value", "sampled", "note"]
_POINTS = 12
_ASKED = 20
_EVERYONE = "all rows"
_CAPTIONS = {True: "Multiplicity of the Rashomon set", False: "Multiplicity of all draws"}
_STRAYS = (
    "None of the draws lies in the Rashomon set. What follows is of all draws: it says what the "
    "mechanism gave, and neither bounds nor estimates the set's multiplicity."
)


def curator(given: Curator) -> list[Block]:
    """Table of all measures, curves over the threshold, and the measures of each group."""
    need_rows(given, inside=False)
    models = given.models
    if not np.isfinite(models.least):
        raise Skip("losses are not known, so that which models lie in the set is not")
    groups = None if given.groups is None else given.groups.to_numpy()
    inside = bool(given.members.n_draws)
    table = multiplicity_table(models, given.X, groups=groups, inside_only=inside)
    whole = table[table["group"] == _EVERYONE]
    blocks: list[Block] = [
        _counted(whole, models) if inside else Words(_STRAYS, "warning"),
        Table(_told(whole, given), _CAPTIONS[inside]),
    ]
    if inside:
        blocks.append(_curves(given))
    if groups is not None:
        blocks.append(_by_group(table, str(given.groups.name)))  # type: ignore[union-attr]
    return blocks


def _counted(whole: pd.DataFrame, models: AnySet) -> Words:
    told = (
        "The set is complete, so that its values are exact."
        if models.complete
        else "A lower bound only grows with more models; exact values, where there are any, are "
        "marked."
    )
    return Words(
        f"Over the {int(whole['models'].iloc[0]):,} models that lie within ψ = "
        f"{number(models.psi)}, on {int(whole['rows'].iloc[0]):,} rows. {told}"
    )


def _told(whole: pd.DataFrame, given: Curator) -> pd.DataFrame:
    rows = {
        name: [value, ", ".join(filter(None, [sampled, note])), MEASURES[name].meaning]
        for name, value, sampled, note in whole[_COLUMNS].itertuples(index=False)
    }
    if given.problem is not None and given.models.task == "classification":
        people = given.people.X
        few = people[:_ASKED] if given.whose else people  # in blocks each asks for all rows
        exact = exact_ambiguity(given.problem, given.models.psi, few)
        meaning = "share of rows whose label some model of the whole set flips"
        said = "exact" if exact.lower == exact.upper else f"at most {number(exact.upper, 4)}"
        said += f", of {len(few)} people of a fixed random sample" if given.whose else ""
        rows = {"ambiguity, exact": [exact.lower, said, meaning], **rows}
    columns = ["value", "what it is of the set", "definition"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return frame.rename_axis("measure")


def _curves(given: Curator) -> Plot:
    models = given.models
    names = _CURVES[models.task]
    least = float(models.excess.min())
    # No model lies below the best draw, and there would be nothing to measure.
    thresholds = np.linspace(min(max(least, 0.0) + 1e-12, models.psi), models.psi, _POINTS)
    table = multiplicity_table(models, given.X, psi=thresholds, measures=names)
    frame = table.pivot(index="psi", columns="measure", values="value")[names]
    frame.columns.name = None
    lower = [name for name in names if MEASURES[name].sampled == LOWER_BOUND]
    told = "of the complete set, exact" if models.complete else _bounded(lower)
    return Plot(
        plot_curves(frame, models.psi, guaranteed=models.guarantee.holds),
        f"Multiplicity over the threshold ψ, {told}.",
        Table(frame.rename_axis("ψ"), "Multiplicity over the threshold"),
    )


def _bounded(lower: list[str]) -> str:
    return f"of which {', '.join(lower) or 'none'} over draws are lower bounds"


def _by_group(table: pd.DataFrame, name: str) -> Table:
    frame = table.pivot(index="measure", columns="group", values="value")
    order = table["measure"].drop_duplicates()
    frame = frame.loc[order, [_EVERYONE, *(g for g in frame.columns if g != _EVERYONE)]]
    frame.columns = pd.Index([str(group) for group in frame.columns])
    counts = table.drop_duplicates("group").set_index("group")["rows"]
    sizes = ", ".join(f"{group}: {int(count):,}" for group, count in counts.items())
    return Table(frame, f"Who bears the multiplicity, by {name}", f"Rows of each: {sizes}.")
