"""Measures by name, and the terms of the glossary."""

from collections.abc import Mapping
from typing import Any

from rashomon_explorer.measures.multiplicity import capacity, labels, pairs, scores
from rashomon_explorer.measures.multiplicity.measure import Measure

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        labels.AMBIGUITY,
        labels.DISCREPANCY,
        pairs.ANY_PAIR_DISCREPANCY,
        labels.OBSCURITY,
        labels.DISAGREEMENT,
        labels.SELF_CONSISTENCY,
        labels.ABSTENTION,
        pairs.COHEN_KAPPA,
        pairs.PATTERN_COUNT,
        pairs.PATTERN_DIVERSITY,
        scores.DELTA_AMBIGUITY,
        scores.DELTA_DISCREPANCY,
        scores.DELTA_OBSCURITY,
        scores.RANGE_WIDTH,
        scores.SCORE_VARIANCE,
        scores.SCORE_STD,
        capacity.RASHOMON_CAPACITY,
    )
}


def get_measure(name: str) -> Measure:
    """Measure by its name."""
    if name not in MEASURES:
        raise ValueError(f"measure must be one of {sorted(MEASURES)}, got {name!r}")
    return MEASURES[name]


def refuse_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise TypeError for options that the measure does not take."""
    allowed = get_measure(name).options
    strange = sorted(set(options) - set(allowed))
    if strange:
        raise TypeError(f"{name} takes the options {list(allowed)}, got {strange}")
    if "tolerance" in allowed and "tolerance" not in options:
        raise TypeError(f"{name} needs tolerance=, the smallest score change that is counted")


TERMS = {
    "Rashomon set": (
        "G = {θ ∈ C : L(θ) ≤ min L + ψ}, where L is the mean loss over the rows plus the ridge "
        "penalty, and C is the declared set of models"
    ),
    "Excess": "L(θ) − min L, with the certified minimum",
    "Hit rate": "share of the draws whose excess is at most ψ",
    "Draw": (
        "a model drawn with density ∝ exp(−β·max{L, min L + ψ}) on C (Ganesh, Thakurta and "
        "Upadhyay 2023); β is the inverse temperature"
    ),
    "Sparse tree": (
        "a tree with few leaves over declared yes-or-no questions, none repeated on a path; two "
        "sibling leaves predict different labels; a leaf may predict any label and may contain no "
        "rows"
    ),
    "Draw of a tree": (
        "a tree with probability ∝ exp(−β·max{L, min L + s}) among all sparse trees, where L is "
        "the share of errors plus a penalty per leaf, and s ≤ ψ is the threshold of the mechanism"
    ),
    "(ε, δ)-DP": (
        "for data sets that differ in one record and every event E: "
        "P(E) ≤ e^ε·P'(E) + δ (Dwork, McSherry, Nissim and Smith 2006)"
    ),
    "Bounded range": (
        "log-density ratios of neighbours lie in an interval of width η, which is η-DP and "
        "η²/8-zCDP (Cesar and Rogers 2021)"
    ),
    "Trade-off": (
        "least type II error of a test between neighbours at each type I error (Dong, Roth and Su "
        "2022); μ-GDP is that of two unit normal distributions with means μ apart"
    ),
    "Exact range": "[min, max] over the whole of G, by convex programmes with proved bounds",
    "Permutation importance": "increase of the loss when a feature is shuffled",
    "Model class reliance": (
        "[min, max] over G of the loss with a feature switched between rows, minus the loss "
        "(Fisher, Rudin and Dominici 2019)"
    ),
}
