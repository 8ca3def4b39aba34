"""Sections on multiplicity, people, groups and features."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from rashomon_explorer import measures
from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer.measures.decomposition import DisagreementDecomposition
from rashomon_explorer.measures.fairness import FairnessAudit, fairness_audit
from rashomon_explorer.measures.multiplicity import MEASURES, row_disagreement
from rashomon_explorer.measures.multiplicity.measure import LOWER_BOUND
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.text import number
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.report.blocks import Block, Plot, Table, Words, figure, plot_curves
from rashomon_explorer.report.kinds import model_kind
from rashomon_explorer.report.material import AnySet, Curator
from rashomon_explorer.report.sections import document
from rashomon_explorer.sets import PredictorSet, RashomonSet

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
    "None of the draws lies in the Rashomon set. The following values are over all draws: they "
    "describe the mechanism's output, and neither bound nor estimate the set's multiplicity."
)


def multiplicity_curator(material: Curator) -> list[Block]:
    """Table of all measures, curves over the threshold, and measures by group."""
    document.need_rows(material, inside=False)
    models = material.models
    if not np.isfinite(models.least):
        raise document.Skip("losses are unknown, so that the models in the set are unknown")
    groups = None if material.groups is None else material.groups.to_numpy()
    inside = bool(material.members.n_draws)
    table = measures.multiplicity_table(models, material.X, groups=groups, inside_only=inside)
    overall = table[table["group"] == _EVERYONE]
    blocks: list[Block] = [
        _counted(overall, models) if inside else Words(_STRAYS, "warning"),
        Table(_measure_table(overall, material), _CAPTIONS[inside]),
    ]
    if inside:
        blocks.append(_curves(material))
    if groups is not None:
        blocks.append(_by_group(table, str(material.groups.name)))  # type: ignore[union-attr]
    return blocks


def _counted(overall: pd.DataFrame, models: AnySet) -> Words:
    note = (
        "The set is complete: its values are exact."
        if models.complete
        else "A lower bound only grows with more models; exact values are marked."
    )
    return Words(
        f"Over the {int(overall['models'].iloc[0]):,} models that lie within ψ = "
        f"{number(models.psi)}, on {int(overall['rows'].iloc[0]):,} rows. {note}"
    )


def _measure_table(overall: pd.DataFrame, material: Curator) -> pd.DataFrame:
    rows = {
        name: [value, ", ".join(filter(None, [sampled, note])), MEASURES[name].meaning]
        for name, value, sampled, note in overall[_COLUMNS].itertuples(index=False)
    }
    if material.problem is not None and material.models.task == "classification":
        people = material.people.X
        few = (
            people[:_ASKED] if material.whose else people
        )  # with chunked rows each person needs a pass over all rows
        exact = measures.exact_ambiguity(material.problem, material.models.psi, few)
        meaning = "share of rows whose label some model of the whole set flips"
        text = "exact" if exact.lower == exact.upper else f"at most {number(exact.upper, 4)}"
        text += f", of {len(few)} people of a fixed random sample" if material.whose else ""
        rows = {"ambiguity, exact": [exact.lower, text, meaning], **rows}
    columns = ["value", "relation to the set", "definition"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return frame.rename_axis("measure")


def _curves(material: Curator) -> Plot:
    models = material.models
    names = _CURVES[models.task]
    least = float(models.excess.min())
    # No model lies below the best draw, so that nothing could be measured.
    thresholds = np.linspace(min(max(least, 0.0) + 1e-12, models.psi), models.psi, _POINTS)
    table = measures.multiplicity_table(models, material.X, psi=thresholds, measures=names)
    frame = table.pivot(index="psi", columns="measure", values="value")[names]
    frame.columns.name = None
    lower = [name for name in names if MEASURES[name].sampled == LOWER_BOUND]
    note = "of the complete set, exact" if models.complete else _bounded(lower)
    return Plot(
        plot_curves(frame, models.psi, guaranteed=models.guarantee.holds),
        f"Multiplicity over the threshold ψ, {note}.",
        Table(frame.rename_axis("ψ"), "Multiplicity over the threshold"),
    )


def _bounded(lower: list[str]) -> str:
    return f"lower bounds over draws: {', '.join(lower) or 'none'}"


def _by_group(table: pd.DataFrame, name: str) -> Table:
    frame = table.pivot(index="measure", columns="group", values="value")
    order = table["measure"].drop_duplicates()
    frame = frame.loc[order, [_EVERYONE, *(g for g in frame.columns if g != _EVERYONE)]]
    frame.columns = pd.Index([str(group) for group in frame.columns])
    counts = table.drop_duplicates("group").set_index("group")["rows"]
    sizes = ", ".join(f"{group}: {int(count):,}" for group, count in counts.items())
    return Table(frame, f"Multiplicity by {name}", f"Rows of each: {sizes}.")


MOST_PEOPLE = 10
_MOST_SCORES = 4_000_000
_NOTE = (
    "Over the models within ψ, if losses are known. Rows are numbered from 0 in the given order."
)


def people_curator(material: Curator) -> list[Block]:
    """Show the prediction range of every person, and the rows with the most disagreement."""
    document.need_rows(material)
    blocks: list[Block] = [Words(material.whose)] if material.whose else []
    material = material.people
    if isinstance(material.models, RashomonSet):
        name = "group" if material.groups is None else str(material.groups.name)
        blocks.append(figure(material, "people", group_name=name))
    return [*blocks, Table(_most_affected(material), "Rows the models disagree about most", _NOTE)]


def _most_affected(material: Curator) -> pd.DataFrame:
    frame = pd.concat(_blocks(material), ignore_index=True).rename_axis("row")
    if material.groups is not None:
        frame[str(material.groups.name)] = material.groups.astype(str).to_numpy()
    width = frame["largest score"] - frame["least score"]
    first = frame["disagreement"] if "disagreement" in frame else width
    return frame.iloc[np.lexsort((-width, -first))[:MOST_PEOPLE]]


def _blocks(material: Curator) -> Iterator[pd.DataFrame]:
    """Score ranges of all rows, in chunks for which the scores of all models fit into memory."""
    models = material.members
    if isinstance(models, PredictorSet) and material.X is None:
        yield _ranges(models.scores(), models.task)
        return
    step = max(1, _MOST_SCORES // (models.n_draws * max(1, models.n_classes)))
    for start in range(0, len(material.X), step):
        yield _ranges(models.scores(material.rows(start, start + step)), models.task)


def _ranges(scores: FloatArray, task: str) -> pd.DataFrame:
    ends = measures.viable_prediction_range(scores if scores.ndim == 2 else scores.max(axis=-1))
    columns = {"least score": ends[:, 0], "largest score": ends[:, 1]}
    if task == "classification" and len(scores) > 1:
        columns["disagreement"] = row_disagreement(likeliest(scores))
    return pd.DataFrame(columns)


def fairness_curator(material: Curator) -> list[Block]:
    """Range of every gap over the models inside ψ, and the fairest model by each."""
    document.need_rows(material, targets=True)
    if material.groups is None:
        raise document.Skip("no groups were given: report(path, X, y, groups=…)")
    try:
        audit = fairness_audit(material.models, material.X, material.y, material.groups.to_numpy())
        ranges = audit.ranges(material.problem)
    except ValueError as error:  # a group without rows for a rate, only one group, or no losses
        raise document.Skip(str(error)) from error
    numbers = Table(ranges, FIGURES["gaps"].title)
    return [
        Words(
            f"Gaps between the groups of {material.groups.name}, over the models within ψ = "
            f"{number(material.models.psi)}, on the rows of this report. "
            f"{_WHOLE if material.models.complete else _SAMPLE}"
        ),
        figure(material, "gaps", audit=audit, numbers=numbers),
        Table(_fairest(audit), "The fairest model by each gap, and its excess loss", _CHOSEN),
    ]


def _fairest(audit: FairnessAudit) -> pd.DataFrame:
    rows = {}
    for gap in audit.gaps:
        if audit.table[gap].notna().any():
            model = audit.least_unfair(gap)
            rows[gap] = {
                "model": model.name,
                "gap": float(model[gap]),
                "gap of the best model": float(audit.best[gap]),
                "excess loss": float(model["excess"]),
                audit.quality: float(model[audit.quality]),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("gap")


_CHOSEN = (
    "The gap of a model that was selected for its gap is optimistic: it is the smallest of "
    "many. The selection reads private rows, so no guarantee covers the selected model."
)
_SAMPLE = "Ranges over draws are inner bounds: the set's own are at least as wide."
_WHOLE = "The set is complete: its ranges are exact."


_RELIABLE = ("logistic", "squared")
_MOST_FEATURES = 12
_MOST_ROWS = 5_000


def importance_curator(material: Curator) -> list[Block]:
    """Show importances over the draws and, given the problem, the range of reliance in the set."""
    document.need_rows(material, targets=True)
    document.need_linear_or_trees(material)
    whose, problem, material = material.whose, material.problem, material.people
    blocks: list[Block] = [
        *([Words(whose)] if whose else []),
        Words(
            "Increase of a model's loss when a feature is shuffled. It shows what the model "
            "relies on, not what causes the target. Each of two correlated features can look "
            "unimportant, because the other one replaces it. The columns of one categorical "
            "feature are shuffled together."
        ),
        figure(material, "importance"),
    ]
    if problem is not None:
        blocks.append(_reliance(material, problem))
    return blocks


def _reliance(material: Curator, problem: Problem) -> Block:
    models = document.need_linear(material)
    names = models.feature_names[:-1]
    features = measures.feature_groups(None, names, models.feature_groups)
    if problem.loss.name not in _RELIABLE or models.psi <= 0 or not problem.intercept:
        return Words("Model class reliance is known for logistic and squared loss and ψ > 0.")
    if len(features) > _MOST_FEATURES or problem.n > _MOST_ROWS:
        return Words(
            f"Model class reliance was omitted to save time: it is computed for up to "
            f"{_MOST_FEATURES} features and {_MOST_ROWS:,} rows; see measures.model_class_reliance."
        )
    table = measures.model_class_reliance(
        problem,
        psi=models.psi,
        features={name: columns.tolist() for name, columns in features.items()},
        feature_names=names,
        draws=models.coef,
    )
    return figure(material, "class_reliance", table=table)


_MEASURES = {"classification": "disagreement", "regression": "score_variance"}
_PARTS = ("total", "width", "noise", "share_of_noise", "hit_rate")


def width_curator(material: Curator) -> list[Block]:
    """Decompose disagreement into model-set width and mechanism noise, with intervals."""
    models = document.need_linear_or_trees(material)
    document.need_rows(material, inside=False)
    groups = None if material.groups is None else material.groups.to_numpy()
    try:
        found = measures.disagreement_decomposition(
            models,
            material.X,
            measure=_MEASURES[models.task],
            reference=model_kind(models).reference(material),
            groups=groups,
        )
    except ValueError as error:  # too few hits, selected draws, or draws that are dependent
        raise document.Skip(str(error)) from error
    numbers = Table(_estimates(found), FIGURES["decomposition"].title)
    return [Words(str(found)), figure(material, "decomposition", found=found, numbers=numbers)]


def _estimates(found: DisagreementDecomposition) -> pd.DataFrame:
    every = [getattr(found, name) for name in _PARTS]
    ends = {end: [getattr(one, end) for one in every] for end in ("value", "low", "high")}
    names = [name.replace("_", " ") for name in _PARTS]
    return pd.DataFrame(ends, index=pd.Index(names, name=f"{found.confidence:.0%} intervals"))
