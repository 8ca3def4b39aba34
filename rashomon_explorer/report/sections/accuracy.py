"""Facts about accuracy for single persons, for documentation under the EU AI Act."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rashomon_explorer._utils.arrays import likeliest
from rashomon_explorer.measures.multiplicity.scores import conflicts
from rashomon_explorer.plots.text import percent
from rashomon_explorer.report.blocks import Block, Facts, Table, Words
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections import document
from rashomon_explorer.sets.models.fitted import class_codes

TITLE = "Accuracy for single persons (EU AI Act, Art. 15)"

_RATIOS = (0.0, 0.05, 0.1, 0.25, 0.5)
_MOVES = (0.01, 0.05, 0.1, 0.2)
_EVERYONE = "everyone"
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
    """Tables of conflict ratios, ambiguity at a tolerance and accuracy by agreement.

    ``people`` has the columns ``conflict_ratio``, ``flips``, ``move`` (largest change of the
    score) and ``correct`` (of the model in use), one row a person.
    """
    split = {_EVERYONE: people}
    if groups is not None:
        own = groups.astype(str).to_numpy()
        split |= {f"{groups.name}={one}": people[own == one] for one in np.unique(own)}
    ratios = {
        "any" if least == 0 else f"at least {percent(least)}": [
            _count(one["flips"] if least == 0 else one["conflict_ratio"] >= least)
            for one in split.values()
        ]
        for least in _RATIOS
    }
    moves = {
        f"at least {least:g}": [_count(one["move"] >= least) for one in split.values()]
        for least in _MOVES
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
        _EVERYONE: people,
        "all good models agree": people[~people["flips"]],
        "some good model disagrees": people[people["flips"]],
    }
    rows = {
        name: [f"{len(one):,}", percent(float(one["correct"].mean())) if len(one) else "–"]
        for name, one in parts.items()
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
