"""The rows: how many, what columns, which groups (curator), or what is public of them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rashomon_explorer.plots.text import number, percent
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.report.blocks import Block, Facts, Table
from rashomon_explorer.report.material import Bounds, Curator, Release
from rashomon_explorer.report.sections.base import Skip


def curator(given: Curator) -> list[Block]:
    """Describe the rows the report was computed on."""
    if given.X is None and given.y is None:
        raise Skip("no rows were handed in: report(path, X, y)")
    blocks: list[Block] = [Facts(_counts(given))]
    if given.X is not None:
        blocks.append(_columns(given))
    if given.y is not None and given.models.task == "classification":
        blocks.append(Table(_shares(pd.Series(given.y), "class"), "Classes"))
    if given.groups is not None:
        caption = f"Groups by {given.groups.name}"
        blocks.append(Table(_shares(given.groups, str(given.groups.name)), caption))
    return blocks


def release(given: Release) -> list[Block]:
    """List what is public of the data: its size, its columns and their declared bounds."""
    models, plan = given.models, given.models.plan
    names = models.feature_names[:-1]
    facts = [
        ("Rows", f"{plan.n:,}", "public: neighbouring data sets have as many"),
        ("Features", f"{len(names):,}", "and an intercept"),
        ("Rows are shortened to norm", number(models.row_norm), "declared, never learnt from rows"),
    ]
    if models.task == "classification":
        facts.append(("Classes", ", ".join(models.class_names), "public"))
    else:
        low, high = models.target_bounds
        facts.append(("Targets are held between", f"{number(low)} and {number(high)}", "declared"))
    caption = "Features and their declared bounds"
    return [Facts(facts), Table(_declared(names, given.bounds), caption)]


def _counts(given: Curator) -> list[tuple[str, str, str]]:
    models = given.models
    n_rows = len(given.X) if given.X is not None else len(given.y if given.y is not None else ())
    facts = [("Rows", f"{n_rows:,}", "those that were handed to the report")]
    if isinstance(models, RashomonSet):
        drawn = "those that were drawn from; public"
        facts.append(("Rows of the plan", f"{models.plan.n:,}", drawn))
        norm = f"to the declared norm {number(models.row_norm)}"
        facts.append(("Rows shortened", percent(models.clipped_share), norm))
    if given.y is not None and models.task == "regression":
        told = f"mean {number(float(np.mean(given.y)))}, std {number(float(np.std(given.y)))}"
        facts.append(("Target", told, ""))
    return facts


def _columns(given: Curator) -> Table:
    frame = pd.DataFrame(given.X)
    names = getattr(given.models, "feature_names", (*map(str, frame.columns), "intercept"))[:-1]
    if len(names) == frame.shape[1]:
        frame.columns = pd.Index(names)
    table = _declared([str(name) for name in frame.columns], given.bounds)
    measured = frame.apply(pd.to_numeric, errors="coerce")
    for name in ("min", "mean", "max"):
        table[name] = getattr(measured, name)().to_numpy(dtype=float)
    return Table(table, "Features, as the models take them")


def _declared(names: Sequence[str], bounds: Bounds) -> pd.DataFrame:
    told = [
        f"{number(bounds[name][0])} to {number(bounds[name][1])}" if name in bounds else "–"
        for name in names
    ]
    index = pd.Index(names, name="feature")
    return pd.DataFrame({"declared bounds, own units": told}, index=index)


def _shares(values: "pd.Series", name: str) -> pd.DataFrame:
    counts = values.value_counts(dropna=False).sort_index()
    shares = [percent(float(count) / len(values)) for count in counts]
    index = pd.Index([str(value) for value in counts.index], name=name)
    return pd.DataFrame({"rows": counts.to_numpy(), "share": shares}, index=index)
