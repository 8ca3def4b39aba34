"""Sections on multiplicity, people, groups, features, and accuracy for single persons."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from rashomon_explorer import measures
from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer.measures.fairness import FairnessAudit, fairness_audit
from rashomon_explorer.measures.multiplicity import MEASURES, row_disagreement
from rashomon_explorer.measures.multiplicity.measure import LOWER_BOUND
from rashomon_explorer.measures.multiplicity.scores import conflicts
from rashomon_explorer.measures.reliance.class_reliance import takes_seconds
from rashomon_explorer.plots.decomposition import decomposition_text
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.text import number, percent
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.report.blocks import Block, Facts, Plot, Table, Words, figure, plot_curves
from rashomon_explorer.report.material import EVERYONE, AnySet, Curator
from rashomon_explorer.report.sections import document
from rashomon_explorer.sets import PredictorSet, RashomonSet
from rashomon_explorer.sets.models.fitted import class_codes

_CURVES = {
    "classification": ["ambiguity", "discrepancy", "disagreement"],
    "regression": ["range_width", "score_std"],
}
_COLUMNS = ["measure", "value", "sampled", "note"]
_POINTS = 12
_ASKED = 20
_CAPTIONS = {True: "Multiplicity of the Rashomon set", False: "Multiplicity of all draws"}
_STRAYS = (
    "None of the draws lies in the Rashomon set. The following values are over all draws: they "
    "describe the mechanism's output, and neither bound nor estimate the set's multiplicity."
)


def multiplicity_curator(material: Curator) -> list[Block]:
    document.need_rows(material, inside=False)
    models = material.models
    if not np.isfinite(models.least):
        raise document.Skip("losses are unknown, so that the models in the set are unknown")
    inside, table = bool(material.members.n_draws), material.multiplicity
    overall = table[table["group"] == EVERYONE]
    blocks: list[Block] = [
        _counted(overall, models) if inside else Words(_STRAYS, "warning"),
        Table(_measure_table(overall, material), _CAPTIONS[inside]),
    ]
    if inside:
        blocks.append(_curves(material))
    if material.groups is not None:
        blocks.append(_by_group(table, str(material.groups.name)))
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
        # With chunked rows each person needs a pass over all rows.
        few = people[:_ASKED] if material.whose else people
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
    lowest = float(models.excess.min())
    # No model lies below the best draw, so that nothing could be measured.
    thresholds = np.linspace(min(max(lowest, 0.0) + 1e-12, models.psi), models.psi, _POINTS)
    table = measures.multiplicity_table(models, material.X, psi=thresholds, measures=names)
    frame = table.pivot(index="psi", columns="measure", values="value")[names]
    frame.columns.name = None
    lower = [name for name in names if MEASURES[name].sampled == LOWER_BOUND]
    note = f"lower bounds over draws: {', '.join(lower) or 'none'}"
    if models.complete:
        note = "of the complete set, exact"
    return Plot(
        plot_curves(frame, models.psi, guaranteed=models.guarantee.holds),
        f"Multiplicity over the threshold ψ, {note}.",
        Table(frame.rename_axis("ψ"), "Multiplicity over the threshold"),
    )


def _by_group(table: pd.DataFrame, name: str) -> Table:
    frame = table.pivot(index="measure", columns="group", values="value")
    order = table["measure"].drop_duplicates()
    frame = frame.loc[order, [EVERYONE, *(g for g in frame.columns if g != EVERYONE)]]
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
    document.need_rows(material)
    blocks: list[Block] = [Words(material.whose)] if material.whose else []
    if isinstance(material.models, RashomonSet):
        blocks.append(document.people_figure(material))
    return [
        *blocks,
        Table(_most_affected(material.people), "Rows the models disagree about most", _NOTE),
    ]


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


def importance_curator(material: Curator) -> list[Block]:
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
    if not takes_seconds(models.link, problem.n, problem.p, len(features)):
        return Words("Model class reliance takes minutes here: see measures.model_class_reliance.")
    table = measures.model_class_reliance(
        problem,
        psi=models.psi,
        features={name: columns.tolist() for name, columns in features.items()},
        feature_names=names,
        draws=models.coef,
    )
    return figure(material, "class_reliance", table=table)


_PARTS = ("total", "width", "noise", "share_of_noise", "hit_rate")


def width_curator(material: Curator) -> list[Block]:
    models = document.need_linear_or_trees(material)
    document.need_rows(material, inside=False)
    groups = None if material.groups is None else material.groups.to_numpy()
    try:
        decomposition = measures.disagreement_decomposition(models, material.X, groups=groups)
    except ValueError as error:  # too few hits, selected draws, or draws that are dependent
        raise document.Skip(str(error)) from error
    every = [getattr(decomposition, name) for name in _PARTS]
    ends = {end: [getattr(estimate, end) for estimate in every] for end in ("value", "low", "high")}
    names = [name.replace("_", " ") for name in _PARTS]
    index = pd.Index(names, name=f"{decomposition.confidence:.0%} intervals")
    numbers = Table(pd.DataFrame(ends, index), FIGURES["decomposition"].title)
    text = f"{decomposition_text(decomposition)}, for the set of ψ = {number(decomposition.psi)}."
    return [Words(text), figure(material, "decomposition", found=decomposition, numbers=numbers)]


ACCURACY_TITLE = "Accuracy for single persons (EU AI Act, Art. 15)"

_RATIOS = (0.0, 0.05, 0.1, 0.25, 0.5)
_MOVES = (0.01, 0.05, 0.1, 0.2)
_ALL_PEOPLE = "everyone"
_SCOPE = (
    "Facts for the documentation of accuracy of a high-risk AI system under Regulation (EU) "
    "2024/1689: Art. 15(1) and (3) on accuracy and its metrics, Art. 13(3)(b) and Annex IV(3) on "
    "performance regarding specific persons or groups. Conflict ratios and ambiguity at a "
    "tolerance are the two measures that Frohnapfel and others (arXiv 2602.11944) suggest for "
    "it. This is not legal advice: whether and how the regulation applies is for its reader to "
    "judge."
)
_USE = (
    "A person's conflict ratio is the share of the good models that give another label than the "
    "model in use. Where it is high, another model of similar accuracy would have decided "
    "otherwise: such cases are for a human, or for abstention."
)
_CONFLICTS = "People by the share of good models that give them another label"
_AMBIGUITY = "People whose score some good model moves by at least a tolerance"
_AGREEMENT = "Accuracy where all good models agree, and where they do not"


def accuracy_section(
    people: pd.DataFrame, facts: list[tuple[str, str, str]], groups: pd.Series | None, known: str
) -> list[Block]:
    """Tables by conflict ratio, ``move`` of the score, and ``flips`` of people (one row each)."""
    split = {_ALL_PEOPLE: people}
    if groups is not None:
        names = groups.astype(str).to_numpy()
        split |= {f"{groups.name}={part}": people[names == part] for part in np.unique(names)}
    ratios = {
        "any" if threshold == 0 else f"at least {percent(threshold)}": [
            _count(part["flips"] if threshold == 0 else part["conflict_ratio"] >= threshold)
            for part in split.values()
        ]
        for threshold in _RATIOS
    }
    moves = {
        f"at least {threshold:g}": [_count(part["move"] >= threshold) for part in split.values()]
        for threshold in _MOVES
    }
    return [
        Words(_SCOPE, "note"),
        Facts(facts),
        Words(_USE),
        Table(_frame(ratios, split, "conflict ratio"), _CONFLICTS, f"“Any”: {known}."),
        *(
            [Table(_frame(moves, split, "change of the score"), _AMBIGUITY, f"{known}.")]
            if people["move"].notna().any()  # margins have no such scale
            else []
        ),
        Table(_agreement(people), _AGREEMENT, "On these rows; for the rows of the fit optimistic."),
    ]


def _count(chosen: pd.Series) -> str:
    return f"{int(chosen.sum()):,} of {len(chosen):,} ({percent(float(chosen.mean()))})"


def _frame(rows: dict[str, list[str]], split: dict[str, pd.DataFrame], name: str) -> pd.DataFrame:
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(split)).rename_axis(name)


def _agreement(people: pd.DataFrame) -> pd.DataFrame:
    parts = {
        _ALL_PEOPLE: people,
        "all good models agree": people[~people["flips"]],
        "some good model disagrees": people[people["flips"]],
    }
    rows = {
        name: [f"{len(group):,}", percent(float(group["correct"].mean())) if len(group) else "–"]
        for name, group in parts.items()
    }
    columns = ["people", "correct labels of the model in use"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def accuracy_curator(material: Curator) -> list[Block]:
    """Show the facts over the models of a set: shares are estimates, extremes lower bounds."""
    document.need_rows(material, targets=True)
    if material.models.task != "classification":
        raise document.Skip("it is about labels, and these models predict numbers")
    material = material.people
    models = material.members
    scores, best = np.asarray(models.scores(material.X)), np.asarray(models.best_scores(material.X))
    codes = likeliest(best[None])[0]
    truth = class_codes(material.y, models.classes or tuple(range(models.n_classes)), "y")
    facts = [
        ("Models", f"{models.n_draws:,}", "within ψ of the least loss, if losses are known"),
        ("Model in use", "the best of the set", "with which others are compared"),
    ]
    people = conflicts(scores, best, codes)
    people["correct"] = codes == truth
    return accuracy_section(people, facts, material.groups, "over these models: at least")
