"""The measures that are one number, found by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.checks import as_probabilities, as_scores
from rashomon_explorer.measures.encoding import Labels
from rashomon_explorer.measures.multiplicity.capacity import capacity_tally
from rashomon_explorer.measures.multiplicity.consistency import abstention_tally, consistency_tally
from rashomon_explorer.measures.multiplicity.joined import (
    LARGEST,
    MEANS,
    PATTERN_COUNT,
    PATTERN_DIVERSITY,
    Joined,
    of_statistic,
)
from rashomon_explorer.measures.multiplicity.labels import (
    ambiguity_tally,
    disagreement_tally,
    discrepancy_tally,
    obscurity_tally,
)
from rashomon_explorer.measures.multiplicity.pairs import pair_tally
from rashomon_explorer.measures.multiplicity.patterns import count_tally, diversity_tally
from rashomon_explorer.measures.multiplicity.spread import Deviations, Moments, Range
from rashomon_explorer.measures.multiplicity.tolerance import (
    delta_ambiguity_tally,
    delta_discrepancy_tally,
    delta_obscurity_tally,
)
from rashomon_explorer.measures.nested import Tally

LOWER_BOUND = "lower bound"
ESTIMATE = "estimate"
OF_ALL = "all draws"
EXACT = "exact"


@dataclass(frozen=True)
class Measure:
    """A number that describes models on rows.

    Parameters
    ----------
    of : {"labels", "scores", "probabilities"}
        What it is computed from.
    tally : callable
        From coded labels or scores, and options, to a tally of models.
    sampled : {"lower bound", "estimate"}
        What the number over drawn models is for the set: extremes only grow with more draws.
    options : tuple of str
        Names of the options that ``tally`` takes.
    joined : Joined
        How it follows from blocks of rows.
    """

    of: str
    tally: Callable[..., Tally]
    sampled: str
    options: tuple[str, ...] = ()
    joined: Joined = MEANS

    def prepare(self, values: ArrayLike) -> "Labels | FloatArray":
        """Check labels or scores, and code labels.

        Raises
        ------
        ValueError
            If a shape or value is wrong.
        """
        return _PREPARE[self.of](values)

    def chosen(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of many options that this measure takes."""
        return {name: options[name] for name in self.options if name in options}


_PREPARE: dict[str, Callable[[ArrayLike], Any]] = {
    "labels": Labels.of,
    "scores": as_scores,
    "probabilities": as_probabilities,
}

MEASURES: dict[str, Measure] = {
    "ambiguity": Measure("labels", ambiguity_tally, LOWER_BOUND, ("baseline",)),
    "discrepancy": Measure("labels", discrepancy_tally, LOWER_BOUND, ("baseline",), LARGEST),
    "any_pair_discrepancy": Measure(
        "labels",
        lambda labels: pair_tally(labels, "largest"),
        LOWER_BOUND,
        joined=of_statistic("largest"),
    ),
    "obscurity": Measure("labels", obscurity_tally, ESTIMATE, ("baseline",)),
    "disagreement": Measure("labels", disagreement_tally, ESTIMATE),
    "self_consistency": Measure("labels", consistency_tally, ESTIMATE),
    "abstention": Measure("labels", abstention_tally, ESTIMATE, ("kappa",)),
    "cohen_kappa": Measure(
        "labels",
        lambda labels: pair_tally(labels, "kappa"),
        ESTIMATE,
        joined=of_statistic("kappa"),
    ),
    "pattern_count": Measure("labels", count_tally, LOWER_BOUND, joined=PATTERN_COUNT),
    "pattern_diversity": Measure("labels", diversity_tally, ESTIMATE, joined=PATTERN_DIVERSITY),
    "delta_ambiguity": Measure(
        "scores", delta_ambiguity_tally, LOWER_BOUND, ("tolerance", "baseline")
    ),
    "delta_discrepancy": Measure(
        "scores", delta_discrepancy_tally, LOWER_BOUND, ("tolerance", "baseline"), LARGEST
    ),
    "delta_obscurity": Measure(
        "scores", delta_obscurity_tally, ESTIMATE, ("tolerance", "baseline")
    ),
    "range_width": Measure("scores", lambda scores: Range(), LOWER_BOUND),
    "score_variance": Measure("scores", lambda scores: Moments(), ESTIMATE),
    "score_std": Measure("scores", lambda scores: Deviations(), ESTIMATE),
    "rashomon_capacity": Measure("probabilities", capacity_tally, LOWER_BOUND),
}


def get_measure(name: str) -> Measure:
    """Measure by its name.

    >>> get_measure("ambiguity").sampled
    'lower bound'
    """
    if name not in MEASURES:
        raise ValueError(f"measure must be one of {sorted(MEASURES)}, got {name!r}")
    return MEASURES[name]


def refuse_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the measure of that name does not take."""
    allowed = get_measure(name).options
    strange = sorted(set(options) - set(allowed))
    if strange:
        raise TypeError(f"{name} takes the options {list(allowed)}, got {strange}")
    if "tolerance" in allowed and "tolerance" not in options:
        raise TypeError(f"{name} needs tolerance=, the smallest change of score that counts")
