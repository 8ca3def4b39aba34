"""Sections on multiplicity, people, groups and features."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer.measures import (
    disagreement_decomposition,
    exact_ambiguity,
    feature_groups,
    model_class_reliance,
    multiplicity_table,
    viable_prediction_range,
)
from rashomon_explorer.measures.decomposition import DisagreementDecomposition
from rashomon_explorer.measures.fairness import FairnessAudit, fairness_audit
from rashomon_explorer.measures.multiplicity import MEASURES, row_disagreement
from rashomon_explorer.measures.multiplicity.measure import LOWER_BOUND
from rashomon_explorer.plots import plot_decomposition, plot_fairness_range
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.text import number
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.report.blocks import Block, Plot, Table, Words, figure, plot_curves
from rashomon_explorer.report.kinds import model_kind
from rashomon_explorer.report.material import AnySet, Curator
from rashomon_explorer.report.sections.document import (
    Skip,
    need_linear,
    need_linear_or_trees,
    need_rows,
)
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


def multiplicity_curator(given: Curator) -> list[Block]:
    """Table of all measures, curves over the threshold, and measures by group."""
    need_rows(given, inside=False)
    models = given.models
    if not np.isfinite(models.least):
        raise Skip("losses are unknown, so that the models in the set are unknown")
    groups = None if given.groups is None else given.groups.to_numpy()
    inside = bool(given.members.n_draws)
    table = multiplicity_table(models, given.X, groups=groups, inside_only=inside)
    whole = table[table["group"] == _EVERYONE]
    blocks: list[Block] = [
        _counted(whole, models) if inside else Words(_STRAYS, "warning"),
        Table(_measure_table(whole, given), _CAPTIONS[inside]),
    ]
    if inside:
        blocks.append(_curves(given))
    if groups is not None:
        blocks.append(_by_group(table, str(given.groups.name)))  # type: ignore[union-attr]
    return blocks


def _counted(whole: pd.DataFrame, models: AnySet) -> Words:
    note = (
        "The set is complete: its values are exact."
        if models.complete
        else "A lower bound only grows with more models; exact values are marked."
    )
    return Words(
        f"Over the {int(whole['models'].iloc[0]):,} models that lie within ψ = "
        f"{number(models.psi)}, on {int(whole['rows'].iloc[0]):,} rows. {note}"
    )


def _measure_table(whole: pd.DataFrame, given: Curator) -> pd.DataFrame:
    rows = {
        name: [value, ", ".join(filter(None, [sampled, note])), MEASURES[name].meaning]
        for name, value, sampled, note in whole[_COLUMNS].itertuples(index=False)
    }
    if given.problem is not None and given.models.task == "classification":
        people = given.people.X
        few = (
            people[:_ASKED] if given.whose else people
        )  # with chunked rows each person needs a pass over all rows
        exact = exact_ambiguity(given.problem, given.models.psi, few)
        meaning = "share of rows whose label some model of the whole set flips"
        text = "exact" if exact.lower == exact.upper else f"at most {number(exact.upper, 4)}"
        text += f", of {len(few)} people of a fixed random sample" if given.whose else ""
        rows = {"ambiguity, exact": [exact.lower, text, meaning], **rows}
    columns = ["value", "relation to the set", "definition"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return frame.rename_axis("measure")


def _curves(given: Curator) -> Plot:
    models = given.models
    names = _CURVES[models.task]
    least = float(models.excess.min())
    # No model lies below the best draw, so that nothing could be measured.
    thresholds = np.linspace(min(max(least, 0.0) + 1e-12, models.psi), models.psi, _POINTS)
    table = multiplicity_table(models, given.X, psi=thresholds, measures=names)
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


def people_curator(given: Curator) -> list[Block]:
    """Show the prediction range of every person, and the rows with the most disagreement."""
    need_rows(given)
    blocks: list[Block] = [Words(given.whose)] if given.whose else []
    given = given.people
    if isinstance(given.models, RashomonSet):
        name = "group" if given.groups is None else str(given.groups.name)
        blocks.append(figure(given, "people", group_name=name))
    return [*blocks, Table(_most_affected(given), "Rows the models disagree about most", _NOTE)]


def _most_affected(given: Curator) -> pd.DataFrame:
    frame = pd.concat(_blocks(given), ignore_index=True).rename_axis("row")
    if given.groups is not None:
        frame[str(given.groups.name)] = given.groups.astype(str).to_numpy()
    width = frame["largest score"] - frame["least score"]
    first = frame["disagreement"] if "disagreement" in frame else width
    return frame.iloc[np.lexsort((-width, -first))[:MOST_PEOPLE]]


def _blocks(given: Curator) -> Iterator[pd.DataFrame]:
    """Score ranges of all rows, in chunks for which the scores of all models fit into memory."""
    models = given.members
    if isinstance(models, PredictorSet) and given.X is None:
        yield _ranges(models.scores(), models.task)
        return
    step = max(1, _MOST_SCORES // (models.n_draws * max(1, models.n_classes)))
    for start in range(0, len(given.X), step):
        yield _ranges(models.scores(given.rows(start, start + step)), models.task)


def _ranges(scores: FloatArray, task: str) -> pd.DataFrame:
    ends = viable_prediction_range(scores if scores.ndim == 2 else scores.max(axis=-1))
    columns = {"least score": ends[:, 0], "largest score": ends[:, 1]}
    if task == "classification" and len(scores) > 1:
        columns["disagreement"] = row_disagreement(likeliest(scores))
    return pd.DataFrame(columns)


def fairness_curator(given: Curator) -> list[Block]:
    """Range of every gap over the models inside ψ, and the fairest model by each."""
    need_rows(given, targets=True)
    if given.groups is None:
        raise Skip("no groups were given: report(path, X, y, groups=…)")
    try:
        audit = fairness_audit(given.models, given.X, given.y, given.groups.to_numpy())
        ranges = audit.ranges(given.problem)
    except ValueError as error:  # a group without rows for a rate, only one group, or no losses
        raise Skip(str(error)) from error
    spec = FIGURES["gaps"]
    return [
        Words(
            f"Gaps between the groups of {given.groups.name}, over the models within ψ = "
            f"{number(given.models.psi)}, on the rows of this report. "
            f"{_WHOLE if given.models.complete else _SAMPLE}"
        ),
        Plot(plot_fairness_range(audit), f"{spec.label}.", Table(ranges, spec.title)),
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


def importance_curator(given: Curator) -> list[Block]:
    """Show importances over the draws and, given the problem, the range of reliance in the set."""
    need_rows(given, targets=True)
    need_linear_or_trees(given)
    whose, problem, given = given.whose, given.problem, given.people
    blocks: list[Block] = [
        *([Words(whose)] if whose else []),
        Words(
            "Increase of a model's loss when a feature is shuffled. It shows what the model "
            "relies on, not what causes the target. Each of two correlated features can look "
            "unimportant, because the other one replaces it. The columns of one categorical "
            "feature are shuffled together."
        ),
        figure(given, "importance"),
    ]
    if problem is not None:
        blocks.append(_reliance(given, problem))
    return blocks


def _reliance(given: Curator, problem: Problem) -> Block:
    models = need_linear(given)
    names = models.feature_names[:-1]
    features = feature_groups(None, names, models.feature_groups)
    if problem.loss.name not in _RELIABLE or models.psi <= 0 or not problem.intercept:
        return Words("Model class reliance is known for logistic and squared loss and ψ > 0.")
    if len(features) > _MOST_FEATURES or problem.n > _MOST_ROWS:
        return Words(
            f"Model class reliance was omitted to save time: it is computed for up to "
            f"{_MOST_FEATURES} features and {_MOST_ROWS:,} rows; see measures.model_class_reliance."
        )
    table = model_class_reliance(
        problem,
        psi=models.psi,
        features={name: columns.tolist() for name, columns in features.items()},
        feature_names=names,
        draws=models.coef,
    )
    return figure(given, "class_reliance", table=table)


_MEASURES = {"classification": "disagreement", "regression": "score_variance"}
_PARTS = ("total", "width", "noise", "share_of_noise", "hit_rate")


def width_curator(given: Curator) -> list[Block]:
    """Decompose disagreement into model-set width and mechanism noise, with intervals."""
    models = need_linear_or_trees(given)
    need_rows(given, inside=False)
    groups = None if given.groups is None else given.groups.to_numpy()
    try:
        found = disagreement_decomposition(
            models,
            given.X,
            measure=_MEASURES[models.task],
            reference=model_kind(models).reference(given),
            groups=groups,
        )
    except ValueError as error:  # too few hits, selected draws, or draws that are dependent
        raise Skip(str(error)) from error
    spec = FIGURES["decomposition"]
    return [
        Words(str(found)),
        Plot(plot_decomposition(found), f"{spec.label}.", Table(_estimates(found), spec.title)),
    ]


def _estimates(found: DisagreementDecomposition) -> pd.DataFrame:
    every = [getattr(found, name) for name in _PARTS]
    ends = {end: [getattr(one, end) for one in every] for end in ("value", "low", "high")}
    names = [name.replace("_", " ") for name in _PARTS]
    return pd.DataFrame(ends, index=pd.Index(names, name=f"{found.confidence:.0%} intervals"))
